#include "ir/interpret/simd.h"

namespace smelt::interpret {

namespace baseline {
extern const SimdKernels kKernels;
}

#if defined(SMELT_SIMD_LEVELS)
namespace avx2 {
extern const SimdKernels kKernels;
}
namespace avx512 {
extern const SimdKernels kKernels;
}
#endif

int simdLevels(const SimdKernels *levels[3]) {
  int count = 0;
  levels[count++] = &baseline::kKernels;
#if defined(SMELT_SIMD_LEVELS)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    levels[count++] = &avx2::kKernels;
  if (count == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    levels[count++] = &avx512::kKernels;
#endif
  return count;
}

const SimdKernels &simdKernels() {
  static const SimdKernels *const kWidest = [] {
    const SimdKernels *levels[3];
    return levels[simdLevels(levels) - 1];
  }();
  return *kWidest;
}

} // namespace smelt::interpret
