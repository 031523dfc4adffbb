#include "compiler/remarks_file.h"

#include "ir/decisions.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace smelt::compiler {

// What stands around a remark where it is an attribute.
static constexpr StringLiteral kBefore = "#smelt.remark<", kBehind = ">";

std::string remarksText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (RemarkAttr remark : getRemarks(module)) {
    std::string attribute;
    llvm::raw_string_ostream(attribute) << remark;
    stream << StringRef(attribute).drop_front(kBefore.size()).drop_back(kBehind.size()) << "\n";
  }
  return text;
}

OwningOpRef<ModuleOp> withoutRemarks(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  (*copy)->removeAttr(kRemarks);
  if (size_t count = getRemarks(module).size())
    (*copy)->setAttr(kRemarkCount, Builder(module.getContext()).getI64IntegerAttr(count));
  return copy;
}

/// The first `count` remarks of the file; fewer where it holds no more.
static SmallVector<RemarkAttr> readRemarks(MLIRContext *context, StringRef path, size_t count) {
  SmallVector<RemarkAttr> remarks;
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return remarks;
  ScopedDiagnosticHandler silence(context, [](Diagnostic &) { return success(); });
  StringRef rest = (*file)->getBuffer();
  while (remarks.size() < count && !rest.empty()) {
    auto [line, behind] = rest.split('\n');
    auto attribute = parseAttribute((kBefore + line + kBehind).str(), context);
    auto remark = dyn_cast_or_null<RemarkAttr>(attribute);
    if (!remark)
      break;
    remarks.push_back(remark);
    rest = behind;
  }
  return remarks;
}

void restoreRemarks(ModuleOp dump, const std::string &path) {
  auto count = dump->getAttrOfType<IntegerAttr>(kRemarkCount);
  if (!count)
    return;
  dump->removeAttr(kRemarkCount);
  SmallString<128> beside(llvm::sys::path::parent_path(path));
  llvm::sys::path::append(beside, kRemarksFile);
  SmallVector<RemarkAttr> remarks =
      readRemarks(dump.getContext(), beside, static_cast<size_t>(count.getInt()));
  if (remarks.size() < static_cast<size_t>(count.getInt()))
    emitWarning(dump.getLoc()) << "what passes decided before " << path
                               << " was written is not known: " << beside << " should hold "
                               << count.getInt() << " remarks, and its first " << remarks.size()
                               << " can be read";
  llvm::append_range(remarks, getRemarks(dump)); // of passes that somebody ran since
  dump->removeAttr(kRemarks);
  addRemarks(dump, remarks);
}

} // namespace smelt::compiler
