// Runs the steps of a ladder on a GPU, each checked against the first, which is checked against the host.
#pragma once

#include "tests/kernels/gpu.h"
#include "tests/kernels/nvrtc_compiler.h"
#include "tools/ladder/steps.h"

#include <functional>

namespace smelt::ladder {

struct Result {
  std::string family, step;
  double microseconds = 0, teraflops = 0;
  double peakShare = 0; ///< of the dense fp16 peak; 0 where that is not known
  double error = 0;     ///< ||out - reference|| / ||reference||
  std::string failure;  ///< empty: it ran, and was right
};

/// Compiles a step of `source`, the repository's root; throws GpuError with the compiler's log.
kernel_tests::Compiled compileStep(const kernel_tests::NvrtcCompiler &compiler,
                                   const std::string &source, const Step &step,
                                   const std::string &architecture);

/// What the compiler's log says against a step: spilled registers, wgmma serialised, setmaxnreg ignored. Empty: nothing.
std::string complaintOf(const kernel_tests::Compiled &compiled);

/// Adds an argument to a launch whose `offsets` started empty.
template <class T> void pass(kernel_tests::Launch &launch, const T &value) {
  std::vector<char> bytes = kernel_tests::bytesOf(value);
  launch.offsets.push_back(launch.parameters.size());
  launch.parameters.insert(launch.parameters.end(), bytes.begin(), bytes.end());
}

/// Notes how far the first step's result is from the host's.
void judgeFirst(Result &result, double error, double tolerance);

class Climb {
public:
  Climb(kernel_tests::Gpu &gpu, const kernel_tests::NvrtcCompiler &compiler, std::string source)
      : gpu(gpu), compiler(compiler), source(std::move(source)) {}

  /// Products of `size` x `size` matrices; 256 divides it.
  std::vector<Result> gemm(int size);

  /// Attention of 16 heads of 128 elements over `tokens` tokens; 128 divides them.
  std::vector<Result> attention(int tokens);

private:
  /// `run(step, isFirst)` for every step that this GPU has the hardware for; one that fails says why, and the next one follows.
  std::vector<Result> climb(const std::string &family, const std::vector<Step> &steps,
                            const std::function<Result(const Step &, bool)> &run);
  std::vector<CUfunction> load(const Step &step);
  /// Runs, checks and times `launches`, which write `output`; an empty `reference`, of the first step, becomes what
  /// they wrote.
  Result measure(const std::vector<kernel_tests::Launch> &launches,
                 const kernel_tests::Buffer &output, double flops, double tolerance,
                 std::vector<uint16_t> &reference);
  kernel_tests::Buffer upload(const std::vector<uint16_t> &values);

  kernel_tests::Gpu &gpu;
  const kernel_tests::NvrtcCompiler &compiler;
  std::string source;
};

} // namespace smelt::ladder
