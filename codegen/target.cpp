// The architectures that kernels are generated for, and their limits (CUDA C++ Programming Guide,
// compute capabilities).
#include "codegen/kernel.h"

using namespace mlir;

namespace smelt::codegen {

FailureOr<Target> Target::named(StringRef arch) {
  if (arch == "sm_90a")
    return Target{"sm_90a", 9, 132, 232448};
  if (arch == "sm_80")
    return Target{"sm_80", 8, 108, 166912};
  return failure();
}

} // namespace smelt::codegen
