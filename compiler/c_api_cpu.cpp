// smelt_compile_to_cpu_engine: the model itself as an engine of smelt.h, in the interpreter.
#include "compiler/c_api.h"
#include "compiler/cpu_engine.h"
#include "runtime/caller_options.h"

using smelt::Result;
using smelt::Status;
using smelt::StatusCode;
using smelt::api::guarded;
using smelt::api::required;
using smelt::runtime::Logger;
using namespace smelt::compiler;

// The runtime's: programs that only compile need not link it.
#pragma weak smelt_version

namespace {

/// The runtime calls the engine by engine_interface.h, of which both must have the same version.
Status checkRuntime() {
  if (smelt_version == nullptr)
    return Status(StatusCode::kUsage,
                  "an engine is used by the runtime, which the program does not link: "
                  "link smelt::runtime, or smelt::runtime_static");
  if (std::string(smelt_version()) != smelt::kVersion)
    return Status(StatusCode::kUsage, smelt::joinText("the runtime is of version ", smelt_version(),
                                                      ", the compiler of ", smelt::kVersion,
                                                      "; use both of one version"));
  return {};
}

/// What has no meaning on the CPU is refused where it is set.
Result<Logger> readLoggerAlone(const smelt_engine_options *given) {
  SMELT_ASSIGN_OR_RETURN(smelt_engine_options read,
                         smelt::api::readOptions(given,
                                                 smelt_engine_options(SMELT_ENGINE_OPTIONS_INIT),
                                                 "engine options"));
  const std::pair<bool, const char *> meaningless[] = {
      {read.device != 0, "device"},
      {read.allocator != nullptr, "allocator"},
      {read.cuda_context != nullptr, "cuda_context"},
      {read.share_weights_with != nullptr, "share_weights_with"}};
  for (auto [isSet, name] : meaningless)
    if (isSet)
      return Status(StatusCode::kUsage, smelt::joinText("engine options set ", name,
                                                        ", which is of GPUs; the engine runs on "
                                                        "the CPU"));
  return read.logger != nullptr ? smelt::api::readLogger(*read.logger) : Logger();
}

/// As it runs: as imported, or narrowed, which is decided on the way to fusions. Runs tell the logger and
/// their smelt_error what fails, not on_diagnostic.
Result<std::shared_ptr<CpuModel>> modelOf(smelt_compilation compilation, Logger logger) {
  auto isMade = std::make_shared<bool>(false);
  if (DiagnosticHandler given = compilation.model.onDiagnostic)
    compilation.model.onDiagnostic = [given, isMade](const Problem &problem) {
      if (!*isMade)
        given(problem);
    };
  bool isNarrow = narrows(compilation.precision);
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                         isNarrow ? compilation.fused() : Model::import(compilation.model));
  *isMade = true;
  return CpuModel::create(std::move(model),
                          isNarrow ? CpuArithmetic::kStored : CpuArithmetic::kFloat,
                          compilation.plan.progress, std::move(logger));
}

} // namespace

smelt_code smelt_compile_to_cpu_engine(smelt_compilation *compilation,
                                       const smelt_engine_options *options, smelt_engine **engine,
                                       smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(compilation, "compilation", engine, "engine"));
    SMELT_RETURN_IF_ERROR(checkRuntime());
    SMELT_ASSIGN_OR_RETURN(Logger logger, readLoggerAlone(options));
    Result<std::shared_ptr<CpuModel>> model = modelOf(*compilation, logger);
    SMELT_RETURN_IF_ERROR(smelt::api::loggedAs(logger, model.status()));
    *engine = new CpuEngine(std::move(*model));
    return {};
  });
}
