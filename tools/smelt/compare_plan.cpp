#include "tools/smelt/compare_plan.h"

#include "runtime/text.h"
#include "tools/smelt/dump_kernels.h"
#include "tools/smelt/load_plan.h"
#include "tools/smelt/report.h"
#include "tools/smelt/temporary_file.h"

namespace smelt::tools {

Result<JudgedPlan> JudgedPlan::read(const std::string &path, const ModelFlags &model) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, readPlan(path));
  JudgedPlan judged(path, std::move(plan));
  if (judged.given.ir().empty()) {
    judged.reason = Status(StatusCode::kUsage,
                           joinText(path, " does not hold its fused IR, for Smelt ",
                                    judged.given.metadata().smelt_version,
                                    " kept none: what is inside its kernels cannot be told; "
                                    "compile the model again"));
    return judged;
  }
  Result<std::shared_ptr<const codegen::Tuning>> tuning =
      codegen::Tuning::parseIfAny(judged.given.metadata().tuning);
  if (!tuning.isOk()) {
    judged.reason = tuning.status().within(path);
    return judged;
  }
  judged.tuning = *tuning;
  ModelFlags silent = model;
  silent.isSilent = true;
  Result<std::unique_ptr<Model>> fused = reopenModel(silent, std::string(judged.given.ir()));
  if (fused.isOk())
    judged.model = std::move(*fused);
  else
    judged.reason = fused.status().within(path);
  return judged;
}

Status JudgedPlan::adjust(OpenFlags &flags) const {
  if (!model)
    return {};
  compiler::FusedWith with = compiler::fusedWith(model->module());
  FloatPrecision own = isTf32() ? FloatPrecision::tf32 : with.precision;
  if (flags.precision != FloatPrecision::fp32 && flags.precision != own)
    return Status(StatusCode::kUsage, joinText("--precision ", nameOf(flags.precision), ": ", path,
                                               " was compiled with ", nameOf(own),
                                               ", by which it is judged; leave out "
                                               "--precision"));
  flags.precision = own;
  flags.model.refit = with.refit;
  flags.tuning = tuning;
  return {};
}

Status JudgedPlan::checkReducible() const {
  SMELT_RETURN_IF_ERROR(reason);
  std::optional<double> within = compiler::fusedWith(model->module()).within;
  if (!within)
    return {};
  return Status(StatusCode::kUsage,
                joinText("--reduce compiles parts of the model as the plan was compiled, and what "
                         "stayed float32 there was measured on the whole model (--within ",
                         shortText(*within), "); compile without --within, or leave out --plan"));
}

/// The plan's code of each kernel, by its entry.
static std::map<std::string, std::string> codeOf(const runtime::Plan &plan,
                                                 const plan::ProgramT &program) {
  std::map<std::string, std::string> codes;
  for (const auto &kernel : program.kernels) {
    auto code = plan.code(*program.modules[kernel->module_index]);
    codes[kernel->entry].assign(reinterpret_cast<const char *>(code.data()), code.size());
  }
  return codes;
}

Result<std::vector<Array>> JudgedPlan::run(const plan::ProgramT &program, Model &exposed,
                                           const std::vector<Array> &inputs, int device) const {
  BuildFlags flags{{program.arch}, isTf32() ? FloatPrecision::tf32 : FloatPrecision::fp32};
  flags.given = codeOf(given, program);
  flags.tuning = tuning.get();
  SMELT_ASSIGN_OR_RETURN(auto kernels,
                         generateKernels(exposed, program.arch, {isTf32(), flags.tuning}));
  for (const codegen::ListedKernel &listed : kernels)
    if (const std::string &entry = listed.kernel.text.entry; !flags.given.contains(entry))
      return Status(StatusCode::kUsage,
                    joinText(path, " has no kernel ", entry,
                             ", which this Smelt chooses for its IR: ", "it was written by Smelt ",
                             given.metadata().smelt_version,
                             " with other kernels; compile the model again"));
  SMELT_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::create("plan"));
  SMELT_RETURN_IF_ERROR(build(exposed, flags, file.path()));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<CudaSession> session,
                         CudaSession::open(file.path(), device));
  return session->run(inputs);
}

} // namespace smelt::tools
