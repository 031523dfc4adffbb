#include "tools/smelt/cuda_session.h"

#include "codegen/target.h"
#include "runtime/shape_program.h"
#include "runtime/text.h"
#include "tools/smelt/load_plan.h"

namespace smelt::tools {

using runtime::Binding;
using runtime::Location;

Result<DeviceIdentity> identifyDevice(int number) {
  SMELT_ASSIGN_OR_RETURN(runtime::Driver driver, runtime::openDriver());
  SMELT_ASSIGN_OR_RETURN(runtime::SharedDevice device, runtime::Device::open(driver, number));
  int capability = device->computeCapability();
  mlir::FailureOr<codegen::Target> target = codegen::Target::forCapability(capability);
  if (mlir::succeeded(target))
    return DeviceIdentity{device->name(), std::string(target->arch)};
  return Status(StatusCode::kEnvironment,
                joinText(device->name(), " has compute capability ", capability / 10, ".",
                         capability % 10, "; Smelt has kernels for ", codegen::Target::names()));
}

Result<std::string> deviceArchitecture(int number) {
  SMELT_ASSIGN_OR_RETURN(DeviceIdentity device, identifyDevice(number));
  return device.architecture;
}

Signature signatureOf(const plan::MetadataT &metadata) {
  Signature signature;
  auto portOf = [&](const plan::TensorT &tensor) {
    Port port{tensor.name, tensor.element_type, {}, {}};
    if (tensor.row_bound > 0)
      port.bound = tensor.row_bound;
    for (uint32_t dim : tensor.dims) {
      const auto &program = metadata.dims[dim]->program;
      bool isConstant = program.size() == 1 && program[0].opcode() == plan::DimOpcode::constant;
      port.shape.push_back({runtime::dimText(metadata, dim),
                            isConstant ? std::optional(program[0].operand()) : std::nullopt});
    }
    return port;
  };
  for (const auto &tensor : metadata.inputs)
    signature.inputs.push_back(portOf(*tensor));
  for (const auto &tensor : metadata.outputs)
    signature.outputs.push_back(portOf(*tensor));
  for (const auto &guard : metadata.guards)
    signature.rules.push_back({runtime::dimText(metadata, guard->left),
                               runtime::dimText(metadata, guard->right),
                               guard->relation == plan::Relation::equal, guard->message});
  return signature;
}

CudaSession::CudaSession(runtime::SharedEngine engine, std::unique_ptr<runtime::Context> context,
                         runtime::CurrentContext current)
    : engine(std::move(engine)), current(std::move(current)), context(std::move(context)),
      planSignature(signatureOf(this->engine->metadata())) {}

CudaSession::~CudaSession() {
  context.reset();
  if (stream)
    engine->api().cuStreamDestroy(stream);
}

Result<std::unique_ptr<CudaSession>> CudaSession::open(const std::string &path, int device) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, readPlan(path));
  return open(plan, device);
}

Result<std::unique_ptr<CudaSession>> CudaSession::open(const runtime::Plan &plan, int device) {
  SMELT_ASSIGN_OR_RETURN(runtime::Driver driver, runtime::openDriver());
  ProgressLine line;
  runtime::EngineOptions options;
  options.device = device;
  options.progress = shownOn(line);
  SMELT_ASSIGN_OR_RETURN(runtime::SharedEngine engine,
                         runtime::Engine::create(plan, driver, options));
  line.clear();
  SMELT_ASSIGN_OR_RETURN(runtime::CurrentContext current,
                         runtime::CurrentContext::enter(*engine->device()));
  SMELT_ASSIGN_OR_RETURN(auto context, runtime::Context::create(engine, {}));
  std::unique_ptr<CudaSession> session(
      new CudaSession(engine, std::move(context), std::move(current)));
  SMELT_RETURN_IF_CUDA_ERROR(engine->api(), "making a stream", cuStreamCreate, &session->stream,
                             CU_STREAM_NON_BLOCKING);
  return session;
}

std::string CudaSession::deviceName() const { return engine->device()->name(); }

Result<std::vector<Array>> CudaSession::run(const std::vector<Array> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string &name = planSignature.inputs[i].name;
    SMELT_RETURN_IF_ERROR(context->setInputShape(name, inputs[i].shape));
    auto *data = const_cast<std::byte *>(inputs[i].bytes.data()); // inputs are only read
    SMELT_RETURN_IF_ERROR(context->bindInput(
        name, Binding{inputs[i].type, Location::kHost, data, inputs[i].bytes.size()}));
  }
  std::vector<Array> outputs;
  for (const Port &port : planSignature.outputs) {
    SMELT_ASSIGN_OR_RETURN(runtime::Shape shape, context->outputShape(port.name));
    SMELT_ASSIGN_OR_RETURN(Array output, Array::zeros(port.type, shape));
    outputs.push_back(std::move(output));
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    SMELT_RETURN_IF_ERROR(context->bindOutput(
        planSignature.outputs[i].name, Binding{outputs[i].type, Location::kHost,
                                               outputs[i].bytes.data(), outputs[i].bytes.size()}));
  SMELT_RETURN_IF_ERROR(context->run(stream));
  return outputs;
}

} // namespace smelt::tools
