#include "tools/ladder/climb.h"

#include "ir/interpret/half.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <utility>

namespace smelt::ladder {

using kernel_tests::Buffer;
using kernel_tests::Compiled;
using kernel_tests::GpuError;
using kernel_tests::Launch;

static constexpr double kTolerance = 2e-3; // of fp16 results, by relative norm
static constexpr int kCheckedRows = 16;    // of the first step, by the host

Compiled compileStep(const kernel_tests::NvrtcCompiler &compiler, const std::string &source,
                     const Step &step, const std::string &architecture) {
  std::ifstream file(source + "/tools/ladder/" + step.file);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.empty())
    throw GpuError("there is no tools/ladder/" + step.file + " in " + source +
                   "; name the repository's root with --source");
  Compiled compiled =
      compiler.compile(text, architecture, {source + "/codegen", source + "/tools/ladder"});
  if (!compiled.succeeded)
    throw GpuError(step.file + " did not compile:\n" + compiled.log);
  return compiled;
}

std::string complaintOf(const Compiled &compiled) {
  if (kernel_tests::spilledBytes(compiled.log) != 0)
    return "registers spill";
  if (compiled.log.find("serialized") != std::string::npos)
    return "wgmma is serialised";
  return compiled.log.find("setmaxnreg") != std::string::npos ? "setmaxnreg is ignored" : "";
}

// --- Operands ---

/// Even values in [-1, 1).
static std::vector<uint16_t> randomHalves(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint16_t> values(count);
  for (uint16_t &value : values)
    value = floatToHalf(static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f);
  return values;
}

Buffer Climb::upload(const std::vector<uint16_t> &values) {
  Buffer buffer = gpu.buffer(values.size() * sizeof(uint16_t));
  buffer.upload(values.data());
  return buffer;
}

template <class T> static void pass(Launch &launch, const T &value) {
  std::vector<char> bytes = kernel_tests::bytesOf(value);
  launch.offsets.push_back(launch.parameters.size());
  launch.parameters.insert(launch.parameters.end(), bytes.begin(), bytes.end());
}

// --- Comparing ---

static double normOfDifference(const std::vector<double> &out,
                               const std::vector<double> &expected) {
  double difference = 0, square = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    difference += (out[i] - expected[i]) * (out[i] - expected[i]);
    square += expected[i] * expected[i];
  }
  return std::sqrt(difference / square); // a NaN, which poisoned memory holds, stays one
}

static std::vector<double> decoded(const std::vector<uint16_t> &halves) {
  std::vector<double> values(halves.size());
  for (size_t i = 0; i < halves.size(); ++i)
    values[i] = halfToFloat(halves[i]);
  return values;
}

/// Some rows of the product of two matrices of size x size, and the same rows of `out`, compared.
static double errorOfRows(const std::vector<uint16_t> &out, const std::vector<uint16_t> &a,
                          const std::vector<uint16_t> &b, size_t size) {
  std::vector<double> actual, expected, decodedB = decoded(b);
  for (size_t checked = 0; checked < kCheckedRows; ++checked) {
    size_t row = (checked * 2 + 1) * size / (2 * kCheckedRows) + checked % 8;
    std::vector<double> sums(size);
    for (size_t k = 0; k < size; ++k) {
      double factor = halfToFloat(a[row * size + k]);
      for (size_t column = 0; column < size; ++column)
        sums[column] += factor * decodedB[k * size + column];
    }
    expected.insert(expected.end(), sums.begin(), sums.end());
    for (size_t column = 0; column < size; ++column)
      actual.push_back(halfToFloat(out[row * size + column]));
  }
  return normOfDifference(actual, expected);
}

// --- Climbing ---

std::vector<CUfunction> Climb::load(const Step &step) {
  Compiled compiled = compileStep(compiler, source, step, gpu.hopper() ? "sm_90a" : "sm_80");
  std::vector<CUfunction> functions;
  for (const StepKernel &kernel : step.kernels)
    functions.push_back(gpu.load(compiled.cubin, kernel.entry, int(kernel.sharedBytes)));
  return functions;
}

Result Climb::measure(const std::vector<Launch> &launches, const Buffer &output, double flops,
                      std::vector<uint16_t> &reference) {
  constexpr double kFlopsPerClock = 4096, kClock = 1.83e9; // of a Hopper's multiprocessor, dense
  for (const Launch &launch : launches)
    gpu.run(launch);
  std::vector<uint16_t> out(output.bytes() / sizeof(uint16_t));
  output.download(out.data());
  Result result;
  if (reference.empty())
    reference = std::move(out);
  else
    result.error = normOfDifference(decoded(out), decoded(reference));
  if (!(result.error <= kTolerance))
    result.failure = "its result is not that of the first step";
  if (!output.guardsIntact())
    result.failure = "it writes outside its result";
  result.microseconds = gpu.timeChain(launches, false) * double(launches.size());
  result.teraflops = flops / result.microseconds * 1e-6;
  if (gpu.hopper())
    result.peakShare = result.teraflops * 1e12 / (kFlopsPerClock * kClock * gpu.multiprocessors());
  return result;
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
  std::vector<uint16_t> hostA = randomHalves(count * count, 1),
                        hostB = randomHalves(count * count, 2);
  Buffer a = upload(hostA), b = upload(hostB), c = gpu.buffer(a.bytes());
  std::vector<uint16_t> reference;
  std::vector<Result> results;
  for (const Step &step : gemmSteps()) {
    if (step.needsHopper && !gpu.hopper())
      continue;
    Launch launch = productLaunch(gpu, step, load(step)[0], size, a.data(), b.data(), c.data());
    c.poison();
    bool isFirst = reference.empty();
    Result result = measure({launch}, c, 2.0 * size * size * size, reference);
    if (isFirst && !((result.error = errorOfRows(reference, hostA, hostB, count)) <= kTolerance))
      result.failure = "its result is not the host's";
    result.family = "gemm";
    result.step = step.name;
    results.push_back(std::move(result));
  }
  return results;
}

} // namespace smelt::ladder
