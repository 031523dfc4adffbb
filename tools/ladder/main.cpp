// ladder: from the plainest kernel to what Hopper's hardware is made for, step by step.
//
// usage: ladder [--size N] [--json FILE] [--source ROOT]   runs and times every step on the first GPU
//        ladder --compile-only [--source ROOT]             compiles all of them; needs no GPU
//
// Prints each step's time, TFLOP/s and share of the dense peak. Exits with 1 where a step is wrong, spills
// registers or does not compile, and with 77 where there is no GPU or no NVRTC.
#include "tools/ladder/climb.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

using namespace smelt::ladder;
using smelt::kernel_tests::Gpu;
using smelt::kernel_tests::GpuError;
using smelt::kernel_tests::NvrtcCompiler;

namespace {

constexpr int kSkipped = 77;

struct Flags {
  int size = 4096;
  std::string json, source = SMELT_SOURCE_DIR;
  bool compileOnly = false;
};

/// An exit code.
int compileAll(const NvrtcCompiler &compiler, const std::string &source) {
  int failed = 0;
  std::vector<Step> steps = gemmSteps();
  steps.insert(steps.end(), attentionSteps().begin(), attentionSteps().end());
  for (const Step &step : steps)
    for (const char *architecture : {"sm_90a", "sm_80"}) {
      if (step.needsHopper && architecture != std::string("sm_90a"))
        continue;
      auto compiled = compileStep(compiler, source, step, architecture);
      std::string complaint = complaintOf(compiled);
      failed += !complaint.empty();
      std::printf("%-28s %-7s %3d registers  %s\n", step.file.c_str(), architecture,
                  smelt::kernel_tests::registers(compiled.log), complaint.c_str());
    }
  return failed ? 1 : 0;
}

void print(const Result &result) {
  std::printf("%-10s %-18s %10.1f us %8.1f TFLOP/s", result.family.c_str(), result.step.c_str(),
              result.microseconds, result.teraflops);
  if (result.peakShare > 0)
    std::printf(" %5.1f %%", 100 * result.peakShare);
  std::printf("  %s\n", result.failure.empty() ? "" : ("WRONG: " + result.failure).c_str());
}

/// The first line of a message, as a JSON string holds it.
std::string quotable(const std::string &text) {
  std::string line = text.substr(0, text.find('\n'));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '"' || c == '\\' || c < ' '; }, ' ');
  return line;
}

void write(const std::vector<Result> &results, const std::string &device, const Flags &flags) {
  std::ofstream out(flags.json);
  out << "{\"schema\": \"smelt.ladder/1\", \"gpu\": \"" << device << "\", \"size\": " << flags.size
      << ", \"rows\": [\n";
  for (size_t i = 0; i < results.size(); ++i) {
    const Result &r = results[i];
    out << "{\"family\": \"" << r.family << "\", \"step\": \"" << r.step
        << "\", \"us\": " << r.microseconds << ", \"tflops\": " << r.teraflops
        << ", \"peak_share\": " << r.peakShare << ", \"relative_error\": \"" << r.error
        << "\", \"failure\": \"" << quotable(r.failure) << "\"}"
        << (i + 1 < results.size() ? "," : "") << "\n";
  }
  out << "]}\n";
  if (!out.flush())
    throw GpuError(flags.json + " cannot be written");
}

/// An exit code.
int climb(Gpu &gpu, const NvrtcCompiler &compiler, const Flags &flags) {
  Climb ladder(gpu, compiler, flags.source);
  std::vector<Result> results = ladder.gemm(flags.size), more = ladder.attention(flags.size);
  results.insert(results.end(), more.begin(), more.end());
  bool isRight = true;
  for (const Result &result : results) {
    print(result);
    isRight &= result.failure.empty();
  }
  if (!flags.json.empty())
    write(results, gpu.name(), flags);
  return isRight ? 0 : 1;
}

int run(const Flags &flags) {
  NvrtcCompiler compiler;
  if (!compiler.available())
    return std::fprintf(stderr, "SKIPPED: %s\n", compiler.error().c_str()), kSkipped;
  if (flags.compileOnly)
    return compileAll(compiler, flags.source);
  std::unique_ptr<Gpu> gpu;
  try {
    gpu = std::make_unique<Gpu>();
  } catch (const GpuError &error) {
    return std::fprintf(stderr, "SKIPPED: %s\n", error.what()), kSkipped;
  }
  return climb(*gpu, compiler, flags);
}

} // namespace

int main(int count, char **values) {
  Flags flags;
  CLI::App app("From the plainest kernel to what Hopper's hardware is made for, step by step");
  app.add_option("--size", flags.size,
                 "rows and columns of matrices, and tokens: a multiple of 256 (default: 4096)")
      ->check([](const std::string &text) {
        long size = std::strtol(text.c_str(), nullptr, 10);
        return size > 0 && size % 256 == 0 ? "" : text + " is no multiple of 256";
      });
  app.add_option("--json", flags.json, "file for the results");
  app.add_option("--source", flags.source, "the repository's root, where the steps' files are");
  app.add_flag("--compile-only", flags.compileOnly, "compile every step and stop; needs no GPU");
  CLI11_PARSE(app, count, values);
  try {
    return run(flags);
  } catch (const GpuError &error) {
    std::fprintf(stderr, "ladder: %s\n", error.what());
    return 1;
  }
}
