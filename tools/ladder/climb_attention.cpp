// The ladder of attention.
#include "tools/ladder/climb.h"
#include "tools/ladder/numbers.h"

#include <algorithm>
#include <cmath>

namespace smelt::ladder {

using kernel_tests::Buffer;
using kernel_tests::GpuError;
using kernel_tests::Launch;

// By relative norm; the first step rounds scores and weights to fp16.
static constexpr double kTolerance = 4e-3;
static constexpr int kHeads = 16, kHead = 128;
static constexpr float kScale = 0.08838834764831845f; // 1 / sqrt(kHead)
static constexpr float kQueryMagnitude = 4;           // so that weights differ
static constexpr size_t kCheckedRows = 32;            // of the first step, by the host

namespace {

/// In device memory, each [heads][tokens][kHead]; `scores` [heads][tokens][tokens].
struct Matrices {
  CUdeviceptr o, q, k, v, scores;
};

} // namespace

/// The rest of the launch of a step's kernel is its arguments.
static Launch launchOf(const StepKernel &kernel, CUfunction function, unsigned x, unsigned y,
                       unsigned z) {
  Launch launch;
  launch.function = function;
  launch.threads = kernel.threads;
  launch.sharedBytes = kernel.sharedBytes;
  launch.offsets.clear();
  launch.grid[0] = x;
  launch.grid[1] = y;
  launch.grid[2] = z;
  return launch;
}

static std::vector<Launch> materialisedLaunches(const Step &step,
                                                const std::vector<CUfunction> &functions,
                                                const Matrices &operands, int tokens) {
  unsigned rows = unsigned(tokens) / 8;
  Launch scores = launchOf(step.kernels[0], functions[0], unsigned(tokens) / 32, rows, kHeads);
  for (CUdeviceptr place : {operands.scores, operands.q, operands.k})
    pass(scores, place);
  pass(scores, tokens);
  pass(scores, kScale);
  Launch softmax = launchOf(step.kernels[1], functions[1], rows * kHeads, 1, 1);
  pass(softmax, operands.scores);
  pass(softmax, tokens * kHeads);
  pass(softmax, tokens);
  Launch values = launchOf(step.kernels[2], functions[2], kHead / 32, rows, kHeads);
  for (CUdeviceptr place : {operands.o, operands.scores, operands.v})
    pass(values, place);
  pass(values, tokens);
  return {scores, softmax, values};
}

static Launch fusedLaunch(const kernel_tests::Gpu &gpu, const Step &step, CUfunction function,
                          const Matrices &operands, int tokens) {
  constexpr unsigned kPanel = 64; // elements of a row of a box
  const StepKernel &kernel = step.kernels[0];
  Launch launch = launchOf(kernel, function, unsigned(tokens / kernel.rows), kHeads, 1);
  pass(launch, operands.o);
  auto rows = static_cast<uint64_t>(tokens) * kHeads;
  for (CUdeviceptr place : {operands.q, operands.k, operands.v}) {
    unsigned boxRows = unsigned(kernel.rows) / (place == operands.q ? 2 : 1); // of one warpgroup
    if (step.operands == Operands::kMaps)
      pass(launch, gpu.encode({place, {kHead, rows}, {kHead}, {kPanel, boxRows}}));
    else
      pass(launch, place);
  }
  pass(launch, tokens);
  pass(launch, kScale);
  return launch;
}

/// One row of the result, by double precision.
static std::vector<double> rowOf(const std::vector<double> &q, const std::vector<double> &k,
                                 const std::vector<double> &v, size_t head, size_t row,
                                 size_t tokens) {
  std::vector<double> weights(tokens), sums(kHead);
  double largest = -INFINITY, total = 0;
  for (size_t key = 0; key < tokens; ++key) {
    for (size_t d = 0; d < kHead; ++d)
      weights[key] += q[(head * tokens + row) * kHead + d] * k[(head * tokens + key) * kHead + d];
    weights[key] *= kScale;
    largest = std::max(largest, weights[key]);
  }
  for (size_t key = 0; key < tokens; ++key) {
    double weight = std::exp(weights[key] - largest);
    total += weight;
    for (size_t d = 0; d < kHead; ++d)
      sums[d] += weight * v[(head * tokens + key) * kHead + d];
  }
  for (double &sum : sums)
    sum /= total;
  return sums;
}

/// Of two rows of every head.
static double errorOfRows(const std::vector<double> &out, const std::vector<double> &q,
                          const std::vector<double> &k, const std::vector<double> &v,
                          size_t tokens) {
  std::vector<double> actual, expected;
  for (size_t checked = 0; checked < kCheckedRows; ++checked) {
    size_t head = checked % kHeads,
           row = (checked * 2 + 1) * tokens / (2 * kCheckedRows) + checked % 4;
    std::vector<double> sums = rowOf(q, k, v, head, row, tokens);
    expected.insert(expected.end(), sums.begin(), sums.end());
    auto own = out.begin() + static_cast<ptrdiff_t>((head * tokens + row) * kHead);
    actual.insert(actual.end(), own, own + kHead);
  }
  return normOfDifference(actual, expected);
}

std::vector<Result> Climb::attention(int tokens) {
  auto count = static_cast<size_t>(tokens) * kHeads * kHead;
  std::vector<uint16_t> hostQ = randomHalves(count, 3, kQueryMagnitude),
                        hostK = randomHalves(count, 4, 1), hostV = randomHalves(count, 5, 1),
                        reference;
  Buffer q = upload(hostQ), k = upload(hostK), v = upload(hostV), o = gpu.buffer(q.bytes());
  Buffer scores = gpu.buffer(q.bytes() / kHead * static_cast<size_t>(tokens));
  Matrices operands = {o.data(), q.data(), k.data(), v.data(), scores.data()};
  double flops = 4.0 * kHeads * kHead * tokens * tokens;
  return climb("attention", attentionSteps(), [&](const Step &step, bool isFirst) {
    if (!isFirst && reference.empty())
      throw GpuError("there is no first step to compare with");
    std::vector<CUfunction> functions = load(step);
    std::vector<Launch> launches =
        isFirst ? materialisedLaunches(step, functions, operands, tokens)
                : std::vector{fusedLaunch(gpu, step, functions[0], operands, tokens)};
    o.poison();
    Result result = measure(launches, o, flops, kTolerance, reference);
    if (isFirst)
      judgeFirst(result,
                 errorOfRows(decoded(reference), decoded(hostQ), decoded(hostK), decoded(hostV),
                             static_cast<size_t>(tokens)),
                 kTolerance);
    return result;
  });
}

} // namespace smelt::ladder
