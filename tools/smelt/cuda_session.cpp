#include "tools/smelt/cuda_session.h"

#include "runtime/shape_program.h"
#include "runtime/text.h"

namespace smelt::tools {

using runtime::Binding;
using runtime::Location;

static constexpr size_t kKernelRepetitions = 50;

Result<std::string> deviceArchitecture() {
  SMELT_ASSIGN_OR_RETURN(runtime::Driver driver, runtime::openDriver());
  SMELT_ASSIGN_OR_RETURN(runtime::SharedDevice device, runtime::Device::open(driver, 0));
  int capability = device->computeCapability();
  mlir::FailureOr<codegen::Target> target = codegen::Target::forCapability(capability);
  if (mlir::succeeded(target))
    return std::string(target->arch);
  return Status(StatusCode::kEnvironment,
                joinText(device->name(), " has compute capability ", capability / 10, ".",
                         capability % 10, "; Smelt has kernels for ", codegen::Target::names()));
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

Result<std::unique_ptr<CudaSession>> CudaSession::open(const std::string &path) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, runtime::readPlan(path));
  return open(plan);
}

Result<std::unique_ptr<CudaSession>> CudaSession::open(const runtime::Plan &plan) {
  SMELT_ASSIGN_OR_RETURN(runtime::Driver driver, runtime::openDriver());
  SMELT_ASSIGN_OR_RETURN(runtime::SharedEngine engine, runtime::Engine::create(plan, driver, {}));
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

Status CudaSession::prepareOnDevice(const std::vector<Array> &inputs) {
  auto place = [&](ElementType type, uint64_t bytes) -> Result<Binding> {
    SMELT_ASSIGN_OR_RETURN(
        runtime::DeviceMemory room,
        runtime::DeviceMemory::allocate(engine->device(), {}, bytes, "an input or output"));
    memory.push_back(std::move(room));
    return Binding{type, Location::kDevice, reinterpret_cast<void *>(memory.back().address()),
                   bytes};
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string &name = planSignature.inputs[i].name;
    SMELT_RETURN_IF_ERROR(context->setInputShape(name, inputs[i].shape));
    SMELT_ASSIGN_OR_RETURN(Binding binding, place(inputs[i].type, inputs[i].bytes.size()));
    if (binding.bytes)
      SMELT_RETURN_IF_CUDA_ERROR(engine->api(), "copying input '" + name + "'", cuMemcpyHtoDAsync,
                                 memory.back().address(), inputs[i].bytes.data(), binding.bytes,
                                 stream);
    SMELT_RETURN_IF_ERROR(context->bindInput(name, binding));
  }
  for (const Port &port : planSignature.outputs) {
    SMELT_ASSIGN_OR_RETURN(runtime::Shape shape, context->outputShape(port.name));
    SMELT_ASSIGN_OR_RETURN(Binding binding,
                           place(port.type, byteCount(port.type, shape).value_or(0)));
    SMELT_RETURN_IF_ERROR(context->bindOutput(port.name, binding));
  }
  return context->prepare();
}

Result<std::optional<CudaSession::Peaks>> CudaSession::peaks() const {
  constexpr double kKilohertz = 1e3, kTransfersPerClock = 2, kBitsPerByte = 8;
  const runtime::Device &device = *engine->device();
  SMELT_ASSIGN_OR_RETURN(int clock, device.attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
  SMELT_ASSIGN_OR_RETURN(int count, device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  SMELT_ASSIGN_OR_RETURN(int memoryClock, device.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
  SMELT_ASSIGN_OR_RETURN(int busBits,
                         device.attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
  mlir::FailureOr<codegen::Target> target =
      codegen::Target::forCapability(device.computeCapability());
  if (mlir::failed(target) || codegen::Target::isPtx(target->arch))
    return std::optional<Peaks>();
  return std::optional(Peaks{memoryClock * kKilohertz * kTransfersPerClock * busBits / kBitsPerByte,
                             clock * kKilohertz * count, *target});
}

Result<std::vector<double>> CudaSession::timeGraph(double seconds) {
  runtime::TimingOptions options;
  options.seconds = seconds;
  return runtime::timeGraph(*context, stream, options);
}

Result<std::vector<CudaSession::KernelTime>> CudaSession::timeKernels() {
  SMELT_ASSIGN_OR_RETURN(std::vector<double> times,
                         runtime::timeKernels(*context, stream, kKernelRepetitions));
  SMELT_ASSIGN_OR_RETURN(runtime::Context::Ready ready, context->ready());
  const runtime::Schedule &schedule = ready.graph->schedule();
  auto value = [&](uint32_t dim) { return dim == plan::kNone ? 0 : schedule.shapes->dims[dim]; };
  std::vector<KernelTime> kernels;
  for (size_t i = 0; i < times.size(); ++i) {
    const runtime::PlannedLaunch &planned = engine->launches()[schedule.launches[i].id];
    kernels.push_back({planned.launch->name, planned.step->onnx_nodes, times[i],
                       value(planned.launch->bytes), value(planned.launch->flops),
                       planned.launch->arithmetic});
  }
  return kernels;
}

} // namespace smelt::tools
