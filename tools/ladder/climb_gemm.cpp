// The ladder of matrix products.
#include "tools/ladder/climb.h"
#include "tools/ladder/numbers.h"

#include <utility>

namespace smelt::ladder {

using kernel_tests::Buffer;
using kernel_tests::GpuError;
using kernel_tests::Launch;

static constexpr double kTolerance = 2e-3; // of fp16 results, by relative norm
static constexpr size_t kCheckedRows = 16; // of the first step, by the host

/// Some rows of the product of two matrices of size x size, and the same rows of `out`, compared.
static double errorOfRows(const std::vector<uint16_t> &out, const std::vector<uint16_t> &a,
                          const std::vector<uint16_t> &b, size_t size) {
  std::vector<double> actual, expected, decodedA = decoded(a), decodedB = decoded(b),
                                        all = decoded(out);
  for (size_t checked = 0; checked < kCheckedRows; ++checked) {
    size_t row = (checked * 2 + 1) * size / (2 * kCheckedRows) + checked % 8;
    std::vector<double> sums(size);
    for (size_t k = 0; k < size; ++k) {
      double factor = decodedA[row * size + k];
      for (size_t column = 0; column < size; ++column)
        sums[column] += factor * decodedB[k * size + column];
    }
    expected.insert(expected.end(), sums.begin(), sums.end());
    auto own = all.begin() + static_cast<ptrdiff_t>(row * size);
    actual.insert(actual.end(), own, own + static_cast<ptrdiff_t>(size));
  }
  return normOfDifference(actual, expected);
}

/// `size` x `size` matrices at `a`, `b` and `c`.
static Launch productLaunch(const kernel_tests::Gpu &gpu, const Step &step, CUfunction function,
                            int size, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c) {
  const StepKernel &kernel = step.kernels[0];
  Launch launch;
  launch.function = function;
  launch.threads = kernel.threads;
  launch.sharedBytes = kernel.sharedBytes;
  launch.offsets.clear();
  launch.grid[0] = unsigned(size / kernel.columns);
  launch.grid[1] = unsigned(size / kernel.rows);
  pass(launch, c);
  if (step.operands == Operands::kMaps) { // a tile a block, in an order of the kernel's own
    launch.grid[0] *= std::exchange(launch.grid[1], 1);
    auto extent = static_cast<uint64_t>(size);
    pass(launch, gpu.encode({a, {extent, extent}, {extent}, {64, unsigned(kernel.rows)}}));
    pass(launch, gpu.encode({b, {extent, extent}, {extent}, {64, 64}}));
  } else {
    pass(launch, a);
    pass(launch, b);
  }
  for (int i = 0; i < 3; ++i)
    pass(launch, size);
  return launch;
}

std::vector<Result> Climb::gemm(int size) {
  auto count = static_cast<size_t>(size);
  std::vector<uint16_t> hostA = randomHalves(count * count, 1, 1),
                        hostB = randomHalves(count * count, 2, 1);
  Buffer a = upload(hostA), b = upload(hostB), c = gpu.buffer(a.bytes());
  std::vector<uint16_t> reference;
  return climb("gemm", gemmSteps(), [&](const Step &step, bool isFirst) {
    if (!isFirst && reference.empty())
      throw GpuError("there is no first step to compare with");
    Launch launch = productLaunch(gpu, step, load(step)[0], size, a.data(), b.data(), c.data());
    c.poison();
    Result result = measure({launch}, c, 2.0 * size * size * size, kTolerance, reference);
    if (isFirst)
      judgeFirst(result, errorOfRows(reference, hostA, hostB, count), kTolerance);
    return result;
  });
}

} // namespace smelt::ladder
