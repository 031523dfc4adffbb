#include "codegen/remove_on_signal.h"

#include "llvm/Support/Signals.h"

namespace smelt::codegen {

void removeOnSignal(const std::string &path) { llvm::sys::RemoveFileOnSignal(path); }

void keepOnSignal(const std::string &path) { llvm::sys::DontRemoveFileOnSignal(path); }

} // namespace smelt::codegen
