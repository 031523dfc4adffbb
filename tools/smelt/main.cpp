// `smelt`: one binary, one subcommand a task. Results go to stdout, everything else to stderr; the
// exit code says whose fault a failure is (runtime/status.h).
#include "codegen/unfinished_files.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/crash_report.h"
#include "tools/smelt/interrupts.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/report.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

namespace smelt::tools {

static constexpr const char *kDescription =
    "Smelt compiles ONNX models into a few fused CUDA kernels and runs them from one CUDA graph.";

static constexpr const char *kFooter = R"(examples:
  smelt run model.onnx                             compile, run on random inputs, say what came out
  smelt run model.onnx --shape ids=1x128 --output-dir out
  smelt compile model.onnx -o model.plan --arch sm_90a
  smelt bench model.plan --shape ids=8x512
  smelt explain model.onnx                         which kernel each ONNX node went into, and why

exit codes: 0 ok, 1 run failed (smelt diff: the plans differ), 2 usage, 3 unsupported or invalid model, 4 accuracy or NaN,
5 out of memory, disk or time, 6 environment (driver, NVRTC, architecture),
7 plan or cache corrupt or incompatible, 70 internal error)";

/// Parses the command line and runs the command; `end` is for limits that are reached.
static Status execute(int argc, char **argv, Ending end) {
  CommandLine line(kDescription, kFooter, SMELT_VERSION, std::move(end));
  for (auto add : {addRun, addCompile, addBench, addCheck, addExplain, addInspect, addCompare,
                   addDiff, addTrtexec, addPatch, addKernel, addReport, addHelp, addTuneWorker})
    add(line);
  return line.parse(argc, argv);
}

/// For people on stderr; for --json on stdout too, unless a report is there that says what failed.
static void reportFailure(const Status &status, bool isJson) {
  llvm::errs() << "smelt: error: " << printable(status.message()) << '\n';
  if (isJson)
    llvm::outs() << errorJson(status);
}

/// Ends the process where a limit is reached, on whatever thread, while others go on: the standard streams are theirs.
[[noreturn]] static void endAtLimit(const Status &status, bool isJson) {
  llvm::raw_fd_ostream errors(STDERR_FILENO, /*shouldClose=*/false, /*unbuffered=*/true);
  errors << "smelt: error: " << printable(status.message()) << '\n';
  if (isJson) {
    llvm::raw_fd_ostream results(STDOUT_FILENO, /*shouldClose=*/false);
    results << errorJson(status);
  }
  codegen::removeUnfinishedFilesForGood(); // as late as can be
  std::_Exit(static_cast<int>(status.code()));
}

/// Returns the exit code.
static int run(int argc, char **argv, bool asksForJson) {
  Ending end = [=](const Status &reached) { endAtLimit(reached, asksForJson); };
  Status status = execute(argc, argv, end);
  llvm::outs().flush(); // a report comes before the error that it explains
  if (!status.isOk())
    reportFailure(status, asksForJson && llvm::outs().tell() == 0);
  llvm::errs().clear_error(); // what nobody can read is no failure of the run
  llvm::outs().flush();
  std::cout.flush(); // where --help and --version went
  if (llvm::outs().has_error() || !std::cout) {
    llvm::outs().clear_error();
    status = Status(StatusCode::kResources, "stdout cannot be written");
    reportFailure(status, false);
    llvm::errs().clear_error();
  }
  return static_cast<int>(status.code());
}

} // namespace smelt::tools

/// A standard stream that the caller closed stays closed to us: files that we open must not take
/// its number. Results that nobody can get are still noticed, since fd 1 cannot be written.
static void occupyStandardStreams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0)
      open("/dev/null", descriptor == 2 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
  occupyStandardStreams();
  bool asksForJson = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
  // Never destroyed: the process may crash while it exits.
  static const auto &crash = *new smelt::tools::CrashReport(SMELT_VERSION, argc, argv, asksForJson);
  smelt::tools::dieOfSignals(crash);
  std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow fails the write, as a full disk does
  return smelt::tools::run(argc, argv, asksForJson);
}
