#include "tools/ladder/climb.h"

#include "tools/ladder/numbers.h"

#include <fstream>
#include <iterator>
#include <utility>

namespace smelt::ladder {

using kernel_tests::Buffer;
using kernel_tests::Compiled;
using kernel_tests::GpuError;
using kernel_tests::Launch;

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

void judgeFirst(Result &result, double error, double tolerance) {
  result.error = error;
  if (!(error <= tolerance))
    result.failure = "its result is not the host's";
}

Buffer Climb::upload(const std::vector<uint16_t> &values) {
  Buffer buffer = gpu.buffer(values.size() * sizeof(uint16_t));
  buffer.upload(values.data());
  return buffer;
}

std::vector<Result> Climb::climb(const std::string &family, const std::vector<Step> &steps,
                                 const std::function<Result(const Step &, bool)> &run) {
  std::vector<Result> results;
  for (const Step &step : steps) {
    if (step.needsHopper && !gpu.hopper())
      continue;
    Result result;
    try {
      result = run(step, &step == &steps.front());
    } catch (const GpuError &error) {
      result.failure = error.what();
    }
    result.family = family;
    result.step = step.name;
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<CUfunction> Climb::load(const Step &step) {
  Compiled compiled = compileStep(compiler, source, step, gpu.hopper() ? "sm_90a" : "sm_80");
  std::vector<CUfunction> functions;
  functions.reserve(step.kernels.size());
  for (const StepKernel &kernel : step.kernels)
    functions.push_back(gpu.load(compiled.cubin, kernel.entry, int(kernel.sharedBytes)));
  return functions;
}

Result Climb::measure(const std::vector<Launch> &launches, const Buffer &output, double flops,
                      double tolerance, std::vector<uint16_t> &reference) {
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
  if (!(result.error <= tolerance))
    result.failure = "its result is not that of the first step";
  if (!output.guardsIntact())
    result.failure = "it writes outside its result";
  result.microseconds = gpu.timeChain(launches, false) * double(launches.size());
  result.teraflops = flops / result.microseconds * 1e-6;
  if (gpu.hopper())
    result.peakShare = result.teraflops * 1e12 / (kFlopsPerClock * kClock * gpu.multiprocessors());
  return result;
}

} // namespace smelt::ladder
