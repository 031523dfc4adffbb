#include "tools/smelt/open.h"

#include "runtime/text.h"
#include "tools/smelt/report.h"
#include "tools/smelt/temporary_file.h"

#include <map>

namespace smelt::tools {

Result<DeviceChoice> parseDevice(const std::string &text) {
  static const std::map<std::string, DeviceChoice::Kind> kKinds = {
      {"auto", DeviceChoice::Kind::kAuto},
      {"cpu", DeviceChoice::Kind::kCpu},
      {"cuda", DeviceChoice::Kind::kCuda}};
  if (auto kind = kKinds.find(text); kind != kKinds.end())
    return DeviceChoice{kind->second};
  DeviceChoice choice{DeviceChoice::Kind::kCuda};
  llvm::StringRef number = text;
  number.consume_front("cuda:");
  if (number.getAsInteger(10, choice.number) || choice.number < 0)
    return Status(StatusCode::kUsage,
                  joinText("'", text, "' is no device; write auto, cpu, cuda, or a GPU's number"));
  return choice;
}

static Result<OpenModel> openPlan(const OpenFlags &flags) {
  for (auto [flag, isGiven] : {std::pair("--precision", flags.precision != FloatPrecision::fp32),
                               {"--random-weights", flags.model.randomWeights.has_value()},
                               {"--repair-types", flags.model.repairTypes}})
    if (isGiven)
      return Status(StatusCode::kUsage,
                    joinText(flag, " decides what is compiled, and ", flags.model.path,
                             " is a plan: give it to smelt compile"));
  if (flags.device.isCpu())
    return Status(
        StatusCode::kUsage,
        joinText(flags.model.path, ": a plan holds GPU code; give the .onnx to run on the CPU"));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<CudaSession> session,
                         CudaSession::open(flags.model.path, flags.device.number));
  CudaSession *cuda = session.get();
  return OpenModel{nullptr, std::move(session), cuda};
}

static Status fuseFor(Model &model, FloatPrecision precision) {
  FuseOptions options;
  options.narrowing.to = precision;
  return fuse(model, options);
}

static Result<OpenModel> openOnGpu(const OpenFlags &flags, const std::string &architecture) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, importModel(flags.model));
  SMELT_RETURN_IF_ERROR(fuseFor(*model, flags.precision));
  SMELT_ASSIGN_OR_RETURN(TemporaryFile plan, TemporaryFile::create("plan"));
  SMELT_RETURN_IF_ERROR(
      build(*model, {{architecture}, flags.precision, flags.tuning.get()}, plan.path()));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<CudaSession> session,
                         CudaSession::open(plan.path(), flags.device.number));
  session->setFixed(model->signature().fixed);
  CudaSession *cuda = session.get();
  return OpenModel{std::move(model), std::move(session), cuda};
}

Result<OpenModel> openModel(const OpenFlags &flags) {
  if (isPlan(flags.model.path))
    return openPlan(flags);
  if (!flags.device.isCpu()) {
    Result<std::string> architecture = deviceArchitecture(flags.device.number);
    if (architecture.isOk())
      return openOnGpu(flags, flags.architecture.empty() ? *architecture : flags.architecture);
    if (flags.device.kind == DeviceChoice::Kind::kCuda)
      return architecture.status();
    note("running on the CPU: " + architecture.status().message());
  }
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, importModel(flags.model));
  CpuArithmetic arithmetic = CpuArithmetic::kFloat;
  if (narrows(flags.precision)) { // which is decided on the way to fusions
    SMELT_RETURN_IF_ERROR(fuseFor(*model, flags.precision));
    arithmetic = CpuArithmetic::kStored;
  }
  std::unique_ptr<Session> session = openCpuSession(*model, arithmetic);
  return OpenModel{std::move(model), std::move(session), nullptr};
}

} // namespace smelt::tools
