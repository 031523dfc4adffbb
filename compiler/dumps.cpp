#include "compiler/dumps.h"

#include "codegen/output_file.h"
#include "compiler/fuse.h"
#include "compiler/model.h"
#include "compiler/remarks_file.h"
#include "runtime/text.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace smelt::compiler {

/// The text of a dump without what says how far the module has come.
static std::string unmarkedText(ModuleOp dump) {
  OwningOpRef<ModuleOp> unmarked = dump.clone();
  for (StringRef mark : {kPhase, kPass, kRemarkCount})
    (*unmarked)->removeAttr(mark);
  return moduleText(*unmarked);
}

Status Dumps::write(size_t number, StringRef name, ModuleOp module) {
  OwningOpRef<ModuleOp> dump = withoutRemarks(module);
  std::string text = unmarkedText(*dump);
  if (text == last)
    return {};
  last = std::move(text);
  lastFile = llvm::formatv("{0:2}_{1}.mlir", llvm::format("%02zu", number), name).str();
  return codegen::writeText(moduleText(*dump), folder + "/" + lastFile);
}

Status Dumps::endPass(StringRef pass, double seconds, ModuleOp module) {
  if (folder.empty())
    return {};
  pass.consume_front("smelt-");
  std::string before = lastFile;
  ++passes;
  if (everyPass) {
    module->setAttr(kPass, StringAttr::get(module.getContext(), pass));
    Status status = write(passes, pass, module);
    module->removeAttr(kPass);
    SMELT_RETURN_IF_ERROR(status);
  }
  StringRef shown = !everyPass ? "" : lastFile == before ? "changed nothing" : StringRef(lastFile);
  index += llvm::formatv("{0,9:F4} s  pass {1,-23} {2}", seconds, pass, shown).str();
  index = StringRef(index).rtrim().str() + "\n";
  return {};
}

Status Dumps::endPhase(StringRef phase, size_t number, ModuleOp module) {
  if (folder.empty())
    return {};
  std::string before = lastFile;
  SMELT_RETURN_IF_ERROR(
      codegen::writeText(remarksText(module), joinText(folder, "/", kRemarksFile.str())));
  SMELT_RETURN_IF_ERROR(write(everyPass ? passes : number, phase, module));
  // What its last pass wrote is from now on what the phase ends with, from which one can go on.
  if (everyPass && lastFile == before)
    SMELT_RETURN_IF_ERROR(
        codegen::writeText(moduleText(*withoutRemarks(module)), folder + "/" + lastFile));
  bool isNew = everyPass || lastFile != before;
  index += llvm::formatv("             phase {0,-22} {1}{2}\n", phase,
                         isNew ? "" : "changed nothing: ", lastFile)
               .str();
  return writeIndex();
}

Status Dumps::writeIndex() const { return codegen::writeText(index, folder + "/index.txt"); }

} // namespace smelt::compiler
