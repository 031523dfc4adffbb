// smelt patch: one kernel of a plan from other CUDA text, if it still computes what it should.
#include "runtime/text.h"
#include "tools/smelt/check_kernel.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/environment.h"
#include "tools/smelt/load_plan.h"
#include "tools/smelt/report.h"

#include "llvm/Support/MemoryBuffer.h"

namespace smelt::tools {

namespace {
struct Flags {
  std::string plan;
  std::string change; ///< "KERNEL=FILE.cu"
  std::string output;
  bool isUnchecked = false;
  bool json = false;
};

/// How the patch was judged, and on which of the plan's programs.
struct Judgement {
  std::string architecture; ///< "": on none
  std::string device;
  KernelVerdict verdict;
};
} // namespace

static Result<std::string> readText(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return Status(StatusCode::kUsage, joinText(path, ": ", file.getError().message()));
  return (*file)->getBuffer().str();
}

/// On the first program with the kernel that a GPU here runs. Fails with kEnvironment where there is
/// none.
static Result<Judgement> judgePatch(const runtime::Plan &plan, const KernelPatch &patch) {
  Judgement judgement;
  auto run = [&](const runtime::Plan &lone,
                 const std::vector<Array> &inputs) -> Result<std::vector<Array>> {
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<CudaSession> session, CudaSession::open(lone, 0));
    judgement.device = session->deviceName();
    return session->run(inputs);
  };
  SMELT_RETURN_IF_ERROR(deviceArchitecture(0).status());
  Status unfit;
  for (const auto &program : plan.metadata().programs) {
    if (moduleOf(*program, patch.entry) == nullptr)
      continue;
    Result<KernelVerdict> verdict = checkKernel(plan, *program, patch, run);
    if (verdict.isOk()) {
      judgement.architecture = program->arch;
      judgement.verdict = std::move(*verdict);
      return judgement;
    }
    unfit = verdict.status();
    if (unfit.code() != StatusCode::kEnvironment)
      return unfit;
  }
  return unfit;
}

static void printVerdict(const Judgement &judgement) {
  Table table({"output", "shape", "relative error", "limit", "largest error", "before", ""});
  for (const OutputVerdict &output : judgement.verdict.outputs)
    table.add({output.name, shapeText(output.shape), scientificText(output.error.relativeNorm),
               scientificText(output.tolerance), scientificText(output.error.maxAbsolute),
               scientificText(output.before.relativeNorm), output.agrees() ? "ok" : "DIFFERS"});
  print(joinText("checked on ", judgement.device, ", ", judgement.architecture,
                 judgement.verdict.sizes.empty() ? "" : ", at ", judgement.verdict.sizes));
  table.print();
}

static llvm::json::Array outputsJson(const KernelVerdict &verdict) {
  llvm::json::Array list;
  for (const OutputVerdict &output : verdict.outputs)
    list.push_back(llvm::json::Object{{"name", output.name},
                                      {"shape", llvm::json::Array(output.shape)},
                                      {"relative_norm", jsonNumber(output.error.relativeNorm)},
                                      {"tolerance", output.tolerance},
                                      {"max_absolute", jsonNumber(output.error.maxAbsolute)},
                                      {"before", jsonNumber(output.before.relativeNorm)},
                                      {"agrees", output.agrees()}});
  return list;
}

/// "output 0: relative error 1 exceeds 2e-05" for each that differs.
static Status refusal(const KernelPatch &patch, const Judgement &judgement) {
  std::string text =
      joinText("the patched ", patch.entry, " disagrees with the interpreter; nothing is written:");
  for (const OutputVerdict &output : judgement.verdict.outputs)
    if (!output.agrees())
      text += joinText("\n", output.name, ": relative error ",
                       scientificText(output.error.relativeNorm), " exceeds ",
                       scientificText(output.tolerance), ", largest error ",
                       scientificText(output.error.maxAbsolute), " at ",
                       positionText(output.error.worstIndex, output.shape), ", is ",
                       shortText(output.error.worstOutput), ", should be ",
                       shortText(output.error.worstReference));
  if (!judgement.verdict.agreedBefore())
    text += "\nthe kernel as it was disagrees on these random inputs too";
  return Status(StatusCode::kAccuracy, text);
}

/// What the plan says of the patch, by architecture.
static std::map<std::string, std::string> recordOf(const KernelPatch &patch,
                                                   const Judgement &judgement) {
  std::map<std::string, std::string> record;
  double worst = 0;
  for (const OutputVerdict &output : judgement.verdict.outputs)
    worst = std::max(worst, output.error.relativeNorm);
  for (const auto &[architecture, code] : patch.compiled)
    record[architecture] =
        judgement.architecture.empty()
            ? "never run"
            : joinText(architecture == judgement.architecture ? "checked on "
                                                              : "never run; the same text on ",
                       judgement.device, ": relative error ", scientificText(worst));
  return record;
}

static void reportPatch(const Flags &flags, const KernelPatch &patch, const Judgement &judgement) {
  for (const auto &[architecture, code] : patch.compiled)
    if (code.spillBytes > 0)
      note(joinText("warning: ", patch.entry, " spills ", code.spillBytes,
                    " bytes of registers on ", architecture));
  if (flags.json) {
    llvm::json::Object architectures;
    for (const auto &[architecture, text] : recordOf(patch, judgement))
      architectures[architecture] = text;
    printJson(llvm::json::Object{{"schema", "smelt.patch/1"},
                                 {"plan", flags.output},
                                 {"kernel", patch.entry},
                                 {"checked", !judgement.architecture.empty()},
                                 {"architectures", std::move(architectures)},
                                 {"outputs", outputsJson(judgement.verdict)}});
    return;
  }
  print(joinText(flags.output, ": ", patch.entry, " is patched",
                 judgement.architecture.empty() ? ", compiled and never run" : ""));
}

static Status patchPlan(Flags flags) {
  size_t equals = flags.change.find('=');
  if (equals == std::string::npos || equals == 0)
    return Status(StatusCode::kUsage,
                  joinText("'", flags.change, "' names no change; write KERNEL=FILE.cu"));
  if (flags.output.empty())
    flags.output = flags.plan;
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, readPlan(flags.plan));
  SMELT_ASSIGN_OR_RETURN(std::string entry, findKernel(plan, flags.change.substr(0, equals)));
  SMELT_ASSIGN_OR_RETURN(std::string text, readText(flags.change.substr(equals + 1)));
  SMELT_ASSIGN_OR_RETURN(KernelPatch patch,
                         compilePatch(plan, entry, std::move(text), nvrtcPath()));
  Judgement judgement;
  if (!flags.isUnchecked) {
    Result<Judgement> judged = judgePatch(plan, patch);
    if (!judged.isOk() && judged.status().code() == StatusCode::kEnvironment)
      return Status(StatusCode::kEnvironment,
                    joinText(entry, " was compiled, but not run, and nothing is written: ",
                             judged.status().message(),
                             "\n--unchecked writes the plan all the same"));
    SMELT_ASSIGN_OR_RETURN(judgement, std::move(judged));
    if (!flags.json)
      printVerdict(judgement);
    if (!judgement.verdict.agrees())
      return refusal(patch, judgement);
  }
  SMELT_RETURN_IF_ERROR(writePatched(plan, patch, recordOf(patch, judgement), flags.output));
  reportPatch(flags, patch, judgement);
  return {};
}

void addPatch(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command = line.add(
      "patch", "Compile one kernel of a plan from other CUDA text, if it computes the same",
      [flags] { return patchPlan(*flags); });
  command.argument("plan", flags->plan, "The .plan file");
  command.argument("change", flags->change, "KERNEL=FILE.cu: the kernel's name and its new text");
  command.text("-o,--output", flags->output, "The new plan's file (default: the plan's own)");
  command.flag(
      "--unchecked", flags->isUnchecked,
      "Write the plan without running the kernel, as where there is no GPU; the plan says so");
  addJson(command, flags->json);
  command.footer(
      "The kernel runs on random inputs, and the interpreter says what its fusion should\n"
      "give: where it differs, the code is 4 and nothing is written.\n"
      "examples:\n"
      "  smelt inspect model.plan --source gemm_gelu > gelu.cu\n"
      "  smelt patch model.plan gemm_gelu=gelu.cu -o patched.plan");
}

} // namespace smelt::tools
