#include "passes/remark.h"

#include "ir/decisions.h"

using namespace mlir;

namespace smelt::passes {

Remarks::~Remarks() {
  if (!records.empty())
    addRemarks(module, records);
}

void Remarks::taken(Location location, StringRef fusion, const Twine &message) {
  add(location, fusion, Decision::taken, "", message);
}

void Remarks::refused(Location location, StringRef fusion, StringRef predicate,
                      const Twine &message) {
  add(location, fusion, Decision::refused, predicate, message);
}

void Remarks::add(Location location, StringRef fusion, Decision decision, StringRef predicate,
                  const Twine &message) {
  records.push_back(RemarkAttr::get(module.getContext(), decision, fusion, nodeName(location),
                                    predicate, message.str()));
}

} // namespace smelt::passes
