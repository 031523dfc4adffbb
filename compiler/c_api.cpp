// smelt_compiler.h over the library.
#include "compiler/c_api.h"

#include "codegen/byte_output.h"
#include "compiler/explain.h"
#include "runtime/api_boundary.h"

#include "llvm/Support/FormatVariadic.h"

#include <mutex>

using smelt::Result;
using smelt::Status;
using smelt::StatusCode;
using smelt::api::guarded;
using smelt::api::required;
using namespace smelt::compiler;

struct smelt_compiled_plan {
  std::vector<std::byte> bytes;
};

namespace {

/// One callback at a time, whatever is done at once with a compilation and what was made of it.
using CallbackLock = std::shared_ptr<std::mutex>;

DiagnosticHandler diagnosticHandler(const smelt_compile_options &options,
                                    const CallbackLock &lock) {
  if (!options.on_diagnostic)
    return nullptr;
  return [options, lock](const Problem &problem) {
    std::string message = problem.message;
    for (const std::string &note : problem.notes)
      message += "\nnote: " + note;
    smelt_compile_diagnostic diagnostic = {sizeof(smelt_compile_diagnostic), problem.isError,
                                           problem.place.c_str(), message.c_str()};
    std::scoped_lock alone(*lock);
    options.on_diagnostic(options.user, &diagnostic);
  };
}

ProgressHandler progressHandler(const smelt_compile_options &options, const CallbackLock &lock) {
  if (!options.on_progress)
    return nullptr;
  return [options, lock](const Progress &progress) {
    std::string phase(progress.phase);
    smelt_compile_progress step = {sizeof(smelt_compile_progress), phase.c_str(), progress.done,
                                   progress.total};
    std::scoped_lock alone(*lock);
    return options.on_progress(options.user, &step) == 0;
  };
}

Result<FloatPrecision> precisionOf(const smelt_compile_options &options) {
  switch (options.precision) {
  case SMELT_PRECISION_FP32:
    return FloatPrecision::fp32;
  case SMELT_PRECISION_TF32:
    return FloatPrecision::tf32;
  case SMELT_PRECISION_FP16:
    return FloatPrecision::fp16;
  case SMELT_PRECISION_BF16:
    return FloatPrecision::bf16;
  }
  return Status(StatusCode::kUsage,
                smelt::joinText("there is no precision ", static_cast<int>(options.precision)));
}

Result<std::unique_ptr<smelt_compilation>> makeCompilation(const char *model,
                                                           const smelt_compile_options &options) {
  auto compilation = std::make_unique<smelt_compilation>();
  compilation->model.path = model;
  SMELT_ASSIGN_OR_RETURN(compilation->precision, precisionOf(options));
  if (options.random_weights)
    compilation->model.randomWeights = options.seed;
  compilation->model.refit = options.refit != 0;
  auto lock = std::make_shared<std::mutex>();
  compilation->model.onDiagnostic = diagnosticHandler(options, lock);
  PlanOptions &plan = compilation->plan;
  if (options.architectures)
    plan.architectures.clear();
  for (const char *const *name = options.architectures; name && *name; ++name)
    plan.architectures.emplace_back(*name);
  plan.tf32 = compilation->precision == FloatPrecision::tf32;
  plan.cacheDirectory = options.cache_directory ? options.cache_directory : "";
  plan.nvrtcPath = options.nvrtc_path ? options.nvrtc_path : "";
  plan.progress = progressHandler(options, lock);
  return compilation;
}

Status setShape(NamedShapes &shapes, const char *input, const smelt_int64 *extents, size_t rank) {
  std::vector<int64_t> shape(extents, extents + rank);
  for (int64_t extent : shape)
    if (extent < kAnyExtent)
      return Status(StatusCode::kUsage,
                    smelt::joinText("extent ", extent, " of input '", input, "' is negative"));
  shapes[input] = std::move(shape);
  return {};
}

} // namespace

Result<std::unique_ptr<Model>> smelt_compilation::fused() const {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> imported, Model::import(model));
  FuseOptions options;
  options.progress = plan.progress;
  options.narrowing.to = precision;
  SMELT_RETURN_IF_ERROR(imported->fuse(options));
  return imported;
}

extern "C" {

smelt_code smelt_compile_create(const char *model, const smelt_compile_options *options,
                                smelt_compilation **compilation, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(model, "model", compilation, "compilation"));
    SMELT_ASSIGN_OR_RETURN(
        smelt_compile_options read,
        smelt::api::readOptions(options, smelt_compile_options(SMELT_COMPILE_OPTIONS_INIT),
                                "compile options"));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<smelt_compilation> made, makeCompilation(model, read));
    *compilation = made.release();
    return {};
  });
}

void smelt_compile_destroy(smelt_compilation *compilation) { delete compilation; }

smelt_code smelt_compile_set_shape(smelt_compilation *compilation, const char *input,
                                   const smelt_int64 *extents, size_t rank, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(compilation, "compilation", input, "input"));
    SMELT_RETURN_IF_ERROR(required(extents || rank == 0, "extents"));
    return setShape(compilation->model.shapes, input, extents, rank);
  });
}

smelt_code smelt_compile_set_limits(smelt_compilation *compilation, const char *input,
                                    const smelt_int64 *smallest, const smelt_int64 *largest,
                                    size_t rank, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(compilation, "compilation", input, "input"));
    if (smallest)
      SMELT_RETURN_IF_ERROR(setShape(compilation->model.smallest, input, smallest, rank));
    return largest ? setShape(compilation->model.largest, input, largest, rank) : Status();
  });
}

smelt_code smelt_compile_to_file(smelt_compilation *compilation, const char *path,
                                 smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(compilation, "compilation", path, "path"));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, compilation->fused());
    SMELT_RETURN_IF_ERROR(refuseToReplace(model->filePaths(), path));
    return buildPlan(*model, compilation->plan, path);
  });
}

smelt_code smelt_compile_to_memory(smelt_compilation *compilation, smelt_compiled_plan **plan,
                                   smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(compilation, "compilation", plan, "plan"));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, compilation->fused());
    smelt::codegen::ByteBuffer buffer;
    SMELT_RETURN_IF_ERROR(buildPlan(*model, compilation->plan, buffer));
    *plan = new smelt_compiled_plan{buffer.take()};
    return {};
  });
}

const void *smelt_compiled_plan_data(const smelt_compiled_plan *plan) { return plan->bytes.data(); }

size_t smelt_compiled_plan_bytes(const smelt_compiled_plan *plan) { return plan->bytes.size(); }

void smelt_compiled_plan_destroy(smelt_compiled_plan *plan) { delete plan; }

smelt_code smelt_compile_explain(smelt_compilation *compilation, const char **json,
                                 smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(compilation, "compilation", json, "json"));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, compilation->fused());
    llvm::json::Value explanation = explanationJson(explainModel(*model), model->path());
    compilation->explanation = llvm::formatv("{0}", explanation).str();
    *json = compilation->explanation.c_str();
    return {};
  });
}

} // extern "C"
