#include "compiler/diagnostics.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace smelt::compiler {

static std::string escape(StringRef text, bool lineEndsToo) {
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    bool isLineEnd = byte == '\n' && !lineEndsToo;
    bool isSecondSet = byte == 0xc2 && next >= 0x80 && next < 0xa0; // U+0080 to U+009F in UTF-8
    if ((byte < 0x20 && !isLineEnd) || byte == 0x7f || isSecondSet)
      escaped += "\\x" + llvm::toHex(text.substr(isSecondSet ? ++i : i, 1), true);
    else
      escaped += text[i];
  }
  return escaped;
}

std::string printable(StringRef text) { return escape(text, false); }

std::string oneLine(StringRef text) { return escape(text, true); }

std::string locationText(Location location) {
  llvm::SmallSetVector<llvm::StringRef, 4> names;
  location->walk([&](Location inner) {
    if (auto name = dyn_cast<NameLoc>(inner))
      names.insert(name.getName().getValue());
    return WalkResult::advance();
  });
  return llvm::join(names, " + ");
}

DiagnosticCollector::DiagnosticCollector(MLIRContext &context, std::string modelPath,
                                         DiagnosticHandler onDiagnostic)
    : modelPath(std::move(modelPath)), onDiagnostic(std::move(onDiagnostic)),
      handler(&context, [this](Diagnostic &diagnostic) { return handle(diagnostic); }) {}

LogicalResult DiagnosticCollector::handle(Diagnostic &diagnostic) {
  Problem problem{locationText(diagnostic.getLocation()), diagnostic.str(), {}};
  if (problem.place.empty())
    problem.place = modelPath;
  for (Diagnostic &detail : diagnostic.getNotes())
    problem.notes.push_back(detail.str());
  problem.isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
  if (!problem.isError && diagnostic.getSeverity() != DiagnosticSeverity::Warning)
    return success();
  std::scoped_lock lock(mutex);
  if (onDiagnostic)
    onDiagnostic(problem);
  if (problem.isError)
    collected.push_back(std::move(problem));
  return success();
}

std::vector<Problem> DiagnosticCollector::problems() const {
  std::scoped_lock lock(mutex);
  return collected;
}

void DiagnosticCollector::forget() {
  std::scoped_lock lock(mutex);
  collected.clear();
}

std::string problemText(const Problem &problem, const std::string &modelPath) {
  StringRef place = problem.place;
  bool isNode =
      place != modelPath && !place.starts_with("input '") && !place.starts_with("tensor '");
  std::string text = oneLine(isNode ? "node '" + problem.place + "'" : problem.place) + ": " +
                     oneLine(problem.message);
  for (const std::string &note : problem.notes)
    text += "\n  note: " + oneLine(note);
  return text;
}

Status DiagnosticCollector::asStatus(StatusCode code, const std::string &fallback) const {
  std::string text;
  for (const Problem &problem : problems())
    text += (text.empty() ? "" : "\n") + problemText(problem, modelPath);
  return Status(code, text.empty() ? fallback : text);
}

} // namespace smelt::compiler
