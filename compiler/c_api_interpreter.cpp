// smelt_interpreter_*: models on the CPU.
#include "compiler/c_api.h"
#include "compiler/run_model.h"
#include "runtime/api_boundary.h"
#include "runtime/port_description.h"

#include <algorithm>

using smelt::HostTensor;
using smelt::Result;
using smelt::Status;
using smelt::StatusCode;
using smelt::api::describePort;
using smelt::api::guarded;
using smelt::api::PortDescription;
using smelt::api::required;
using namespace smelt::compiler;

namespace {

std::vector<PortDescription> describe(const std::vector<Port> &ports) {
  std::vector<PortDescription> described;
  for (const Port &port : ports) {
    PortDescription description;
    description.name = port.name;
    description.elementType = static_cast<int>(port.type);
    for (const Extent &extent : port.shape) {
      description.extents.push_back(extent.constant.value_or(-1));
      description.texts.push_back(extent.text);
    }
    described.push_back(std::move(description));
  }
  return described;
}

/// What a run gave, in bytes.
struct Output {
  std::vector<smelt_int64> extents;
  std::vector<char> bytes;
};

} // namespace

struct smelt_interpreter {
  smelt_interpreter(std::unique_ptr<Model> imported, CpuArithmetic arithmetic,
                    ProgressHandler progress)
      : model(std::move(imported)), runner(*model, arithmetic), progress(std::move(progress)),
        deviceName(cpuName()), inputs(describe(model->signature().inputs)),
        outputs(describe(model->signature().outputs)), given(inputs.size()) {
    smelt::api::pointToTexts(inputs);
    smelt::api::pointToTexts(outputs);
  }

  std::unique_ptr<Model> model;
  ModelRunner runner;
  ProgressHandler progress; ///< of the compilation; or none
  std::string deviceName;
  std::vector<PortDescription> inputs, outputs;
  std::vector<std::optional<TensorView>> given; ///< the inputs, as far as they are set
  std::vector<Output> results;                  ///< of the last run
};

namespace {

Result<std::unique_ptr<smelt_interpreter>> makeInterpreter(const smelt_compilation &compilation) {
  bool isNarrow = narrows(compilation.precision); // which is decided on the way to fusions
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                         isNarrow ? compilation.fused() : Model::import(compilation.model));
  CpuArithmetic arithmetic = isNarrow ? CpuArithmetic::kStored : CpuArithmetic::kFloat;
  return std::make_unique<smelt_interpreter>(std::move(model), arithmetic,
                                             compilation.plan.progress);
}

Result<size_t> indexOf(const std::vector<PortDescription> &ports, const char *role,
                       const char *name) {
  auto isNamed = [&](const PortDescription &port) { return port.name == name; };
  auto found = std::find_if(ports.begin(), ports.end(), isNamed);
  if (found != ports.end())
    return static_cast<size_t>(found - ports.begin());
  std::string names;
  for (const PortDescription &port : ports)
    names += smelt::joinText(names.empty() ? "'" : ", '", port.name, "'");
  return Status(StatusCode::kUsage,
                smelt::joinText("the model has no ", role, " '", name, "'; it has ", names));
}

/// As long as its shape says.
Result<TensorView> viewOf(const smelt_host_tensor &tensor, const std::string &name) {
  if (tensor.element_type < SMELT_F32 || tensor.element_type > SMELT_U2)
    return Status(StatusCode::kUsage,
                  smelt::joinText(tensor.element_type, " is not an element type"));
  if (tensor.rank > 0)
    SMELT_RETURN_IF_ERROR(required(tensor.extents, "extents"));
  TensorView view{static_cast<ElementType>(tensor.element_type),
                  {tensor.extents, tensor.extents + tensor.rank},
                  {static_cast<const std::byte *>(tensor.data), tensor.bytes}};
  std::optional<int64_t> count = smelt::elementCount(view.shape);
  uint64_t elementBytes = smelt::plan::elementBytes(view.type);
  if (count && *count > 0 && tensor.data == nullptr)
    return Status(StatusCode::kUsage,
                  smelt::joinText("the memory of input '", name, "' is NULL; was it freed?"));
  if (!count || static_cast<uint64_t>(*count) > tensor.bytes / elementBytes)
    return Status(StatusCode::kUsage, smelt::joinText("input '", name, "' has ", tensor.bytes,
                                                      " bytes, too few for its shape"));
  view.bytes = view.bytes.first(static_cast<uint64_t>(*count) * elementBytes);
  return view;
}

Status run(smelt_interpreter &interpreter) {
  std::vector<TensorView> views;
  for (size_t i = 0; i < interpreter.given.size(); ++i) {
    if (!interpreter.given[i])
      return Status(StatusCode::kUsage,
                    smelt::joinText("input '", interpreter.inputs[i].name, "' is not set"));
    views.push_back(*interpreter.given[i]);
  }
  interpreter.results.clear();
  auto report = [&](size_t done, size_t total) {
    return !interpreter.progress || interpreter.progress({"run", done, total});
  };
  SMELT_ASSIGN_OR_RETURN(std::vector<HostTensor> tensors, interpreter.runner.run(views, report));
  for (const HostTensor &tensor : tensors)
    interpreter.results.push_back({tensor.getShape().vec(), tensor.toBytes()});
  return {};
}

} // namespace

extern "C" {

smelt_code smelt_interpreter_create(const smelt_compilation *compilation,
                                    smelt_interpreter **interpreter, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(compilation, "compilation", interpreter, "interpreter"));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<smelt_interpreter> made, makeInterpreter(*compilation));
    *interpreter = made.release();
    return {};
  });
}

void smelt_interpreter_destroy(smelt_interpreter *interpreter) { delete interpreter; }

const char *smelt_interpreter_device_name(const smelt_interpreter *interpreter) {
  return interpreter ? interpreter->deviceName.c_str() : "";
}

size_t smelt_interpreter_input_count(const smelt_interpreter *interpreter) {
  return interpreter ? interpreter->inputs.size() : 0;
}

size_t smelt_interpreter_output_count(const smelt_interpreter *interpreter) {
  return interpreter ? interpreter->outputs.size() : 0;
}

smelt_code smelt_interpreter_input(const smelt_interpreter *interpreter, size_t index,
                                   smelt_tensor_info *info, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(interpreter, "interpreter", info, "info"));
    return describePort(interpreter->inputs, index, info);
  });
}

smelt_code smelt_interpreter_output(const smelt_interpreter *interpreter, size_t index,
                                    smelt_tensor_info *info, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(interpreter, "interpreter", info, "info"));
    return describePort(interpreter->outputs, index, info);
  });
}

smelt_code smelt_interpreter_set_input(smelt_interpreter *interpreter, const char *name,
                                       const smelt_host_tensor *given, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(interpreter, "interpreter", name, "name", given, "tensor"));
    SMELT_ASSIGN_OR_RETURN(
        smelt_host_tensor tensor,
        smelt::api::readOptions(given, smelt_host_tensor(SMELT_HOST_TENSOR_INIT), "tensor"));
    SMELT_ASSIGN_OR_RETURN(size_t index, indexOf(interpreter->inputs, "input", name));
    SMELT_ASSIGN_OR_RETURN(interpreter->given[index], viewOf(tensor, name));
    return {};
  });
}

smelt_code smelt_interpreter_run(smelt_interpreter *interpreter, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(interpreter, "interpreter"));
    return run(*interpreter);
  });
}

smelt_code smelt_interpreter_get_output(const smelt_interpreter *interpreter, const char *name,
                                        smelt_host_tensor *tensor, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(interpreter, "interpreter", name, "name", tensor, "tensor"));
    SMELT_ASSIGN_OR_RETURN(size_t index, indexOf(interpreter->outputs, "output", name));
    if (interpreter->results.empty())
      return Status(StatusCode::kUsage, "no run has given outputs");
    if (tensor->struct_size < sizeof(smelt_host_tensor))
      return Status(StatusCode::kUsage, "initialise tensor with SMELT_HOST_TENSOR_INIT");
    const Output &output = interpreter->results[index];
    tensor->element_type = interpreter->outputs[index].elementType;
    tensor->rank = output.extents.size();
    tensor->extents = output.extents.data();
    tensor->data = output.bytes.data();
    tensor->bytes = output.bytes.size();
    return {};
  });
}

} // extern "C"
