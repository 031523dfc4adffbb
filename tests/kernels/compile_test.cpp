// Compiles kernels of the test lists with NVRTC and fails on any error or spill. Needs no GPU. For
// sm_90a every configuration, and every form of every template in one configuration at least; for
// sm_80 one form of each configuration. With --all every kernel for sm_90a; with --output these,
// and their cubins are kept, for gpu_check on another machine; with --timings also the kernels that
// are only timed (sm_90a).
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "tests/kernels/nvrtc_compiler.h"
#include "tests/kernels/variants.h"

using namespace smelt::kernel_tests;

namespace {

struct Job {
  KernelText kernel;
  std::string architecture;
};

struct Options {
  std::string output;
  bool all = false, timings = false, verbose = false;
};

class CompileAll {
public:
  CompileAll(const NvrtcCompiler &compiler, std::vector<Job> jobs, Options options)
      : compiler(compiler), jobs(std::move(jobs)), options(std::move(options)) {}

  /// Number of kernels that failed.
  int run() {
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < std::min(2u, std::max(1u, std::thread::hardware_concurrency())); ++i)
      workers.emplace_back([this] {
        for (size_t job; (job = next++) < jobs.size();)
          compileOne(jobs[job]);
      });
    for (std::thread &worker : workers)
      worker.join();
    std::printf("%zu kernels, %d failed\n", jobs.size(), failed);
    return failed;
  }

private:
  void compileOne(const Job &job) {
    auto started = std::chrono::steady_clock::now();
    Compiled compiled = compiler.compile(job.kernel.text, job.architecture,
                                         {SMELT_SOURCE_DIR "/codegen", SMELT_KERNEL_TESTS_DIR});
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
    int spilled = spilledBytes(compiled.log);
    std::lock_guard<std::mutex> lock(mutex);
    bool serialized =
        compiled.log.find("serialized") != std::string::npos;            // wgmma, by the assembler
    bool ignored = compiled.log.find("setmaxnreg") != std::string::npos; // it says why
    if (!compiled.succeeded || spilled != 0 || serialized || ignored) {
      ++failed;
      std::printf("FAILED %s %s: %s\n%s\n%s\n", job.architecture.c_str(), job.kernel.name.c_str(),
                  !compiled.succeeded ? "did not compile"
                  : serialized        ? "wgmma was serialized"
                  : ignored           ? "setmaxnreg was ignored"
                                      : "registers spilled",
                  compiled.log.c_str(), job.kernel.text.c_str());
    } else if (options.verbose) {
      std::printf("%-7s %3d registers %5.2f s  %s\n", job.architecture.c_str(),
                  registers(compiled.log), seconds.count(), job.kernel.name.c_str());
    }
    if (!options.output.empty() && compiled.succeeded)
      std::ofstream(options.output + "/" + job.kernel.name + ".cubin", std::ios::binary)
          << compiled.cubin;
  }

  const NvrtcCompiler &compiler;
  std::vector<Job> jobs;
  Options options;
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  int failed = 0;
};

/// Template, tile, types and the width of copies: what follows in a name (masks, epilogues, how
/// operands lie) changes plain C++ only.
std::string configurationOf(const std::string &name) {
  return name.substr(0, std::min(name.find("_w"), name.find("_h4")));
}

/// Template and types, without the tile, and what follows the configuration.
std::string formOf(const std::string &name) {
  std::string configuration = configurationOf(name);
  size_t tile = configuration.find_first_of("0123456789");
  size_t types = std::min(configuration.find('_', tile), configuration.size());
  return configuration.substr(0, tile) + configuration.substr(types) +
         name.substr(configuration.size());
}

/// References run where the checks do, and are compiled for these alone.
std::vector<Job> jobsFor(const std::vector<KernelText> &kernels, const std::string &filter,
                         bool isForChecks) {
  std::vector<Job> jobs;
  std::set<std::string> configurations, forms;
  for (const KernelText &kernel : kernels) {
    if (kernel.name.find(filter) == std::string::npos)
      continue;
    bool isReference = kernel.name.find("reference") != std::string::npos;
    bool isNewForm = !isReference && forms.insert(formOf(kernel.name)).second;
    bool isNewConfiguration =
        !isReference && configurations.insert(configurationOf(kernel.name)).second;
    if (isForChecks || isNewForm || isNewConfiguration)
      jobs.push_back({kernel, "sm_90a"});
    if (!isForChecks && !kernel.needsHopper && isNewConfiguration)
      jobs.push_back({kernel, "sm_80"});
  }
  return jobs;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--output") && i + 1 < argc)
      options.output = argv[++i];
    else if (!std::strcmp(argv[i], "--filter") && i + 1 < argc)
      filter = argv[++i];
    else if (!std::strcmp(argv[i], "--all"))
      options.all = true;
    else if (!std::strcmp(argv[i], "--timings"))
      options.timings = true;
    else if (!std::strcmp(argv[i], "--verbose"))
      options.verbose = true;
    else
      return std::fprintf(stderr,
                          "usage: %s [--all] [--output DIR] [--filter TEXT] [--timings] "
                          "[--verbose]\n",
                          argv[0]),
             2;
  }
  NvrtcCompiler compiler;
  if (!compiler.available()) {
    std::printf("SKIPPED: %s; no kernel was compiled\n", compiler.error().c_str());
    return 77;
  }
  std::vector<Job> jobs =
      jobsFor(allKernels(options.timings), filter, options.all || !options.output.empty());
  return CompileAll(compiler, std::move(jobs), std::move(options)).run() == 0 ? 0 : 1;
}
