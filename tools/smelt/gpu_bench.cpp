#include "tools/smelt/gpu_bench.h"

#include <algorithm>
#include <cstring>

namespace smelt::tools {

using runtime::Binding;
using runtime::Location;

Result<std::unique_ptr<GpuBench>>
GpuBench::prepare(const CudaSession &session, const std::vector<Array> &inputs, Options options) {
  std::unique_ptr<GpuBench> bench(new GpuBench(session));
  for (size_t i = 0; i < options.streams; ++i)
    SMELT_RETURN_IF_ERROR(bench->addWorker(inputs, options.copies));
  return bench;
}

Result<std::unique_ptr<GpuBench>> GpuBench::prepareBeside(const GpuBench &other,
                                                          const CudaSession &session,
                                                          const std::vector<Array> &inputs) {
  std::unique_ptr<GpuBench> bench(new GpuBench(session));
  SMELT_RETURN_IF_ERROR(bench->addWorkerBeside(*other.workers[0], inputs));
  return bench;
}

Status GpuBench::addWorkerBeside(const Worker &other, const std::vector<Array> &inputs) {
  SMELT_ASSIGN_OR_RETURN(runtime::OwnStream stream, runtime::OwnStream::create(engine->api()));
  SMELT_ASSIGN_OR_RETURN(auto made, runtime::Context::create(engine, {}));
  runtime::Context &context = *made;
  workers.emplace_back(new Worker{{}, {}, {}, std::move(stream), std::move(made)});
  auto at = other.memory.begin(); // of the inputs, then of the outputs
  auto next = [&](plan::ElementType type) {
    auto *address = reinterpret_cast<void *>(at->address());
    return Binding{type, Location::kDevice, address, (at++)->bytes()};
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string &name = signature.inputs[i].name;
    SMELT_RETURN_IF_ERROR(context.setInputShape(name, inputs[i].shape));
    SMELT_RETURN_IF_ERROR(context.bindInput(name, next(inputs[i].type)));
  }
  for (const Port &port : signature.outputs)
    SMELT_RETURN_IF_ERROR(context.bindOutput(port.name, next(port.type)));
  return context.prepare();
}

Status GpuBench::addWorker(const std::vector<Array> &inputs, bool copies) {
  SMELT_ASSIGN_OR_RETURN(runtime::OwnStream stream, runtime::OwnStream::create(engine->api()));
  SMELT_ASSIGN_OR_RETURN(auto context, runtime::Context::create(engine, {}));
  workers.emplace_back(new Worker{{}, {}, {}, std::move(stream), std::move(context)});
  SMELT_RETURN_IF_ERROR(bindInputs(*workers.back(), inputs, copies));
  SMELT_RETURN_IF_ERROR(bindOutputs(*workers.back(), copies));
  return workers.back()->context->prepare();
}

Result<Binding> GpuBench::place(Worker &worker, plan::ElementType type, uint64_t bytes) {
  SMELT_ASSIGN_OR_RETURN(
      runtime::DeviceMemory room,
      runtime::DeviceMemory::allocate(engine->device(), {}, bytes, "an input or output"));
  worker.memory.push_back(std::move(room));
  return Binding{type, Location::kDevice, reinterpret_cast<void *>(worker.memory.back().address()),
                 bytes};
}

Status GpuBench::bindInputs(Worker &worker, const std::vector<Array> &inputs, bool copies) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string &name = signature.inputs[i].name;
    uint64_t bytes = inputs[i].bytes.size();
    SMELT_RETURN_IF_ERROR(worker.context->setInputShape(name, inputs[i].shape));
    SMELT_ASSIGN_OR_RETURN(Binding binding, place(worker, inputs[i].type, bytes));
    SMELT_ASSIGN_OR_RETURN(runtime::PinnedMemory pinned,
                           runtime::PinnedMemory::allocate(engine->device(), bytes));
    if (bytes) {
      std::memcpy(pinned.data(), inputs[i].bytes.data(), bytes);
      SMELT_RETURN_IF_CUDA_ERROR(engine->api(), "copying input '" + name + "'", cuMemcpyHtoDAsync,
                                 worker.memory.back().address(), pinned.data(), bytes,
                                 worker.stream.get());
      SMELT_RETURN_IF_CUDA_ERROR(engine->api(), "copying input '" + name + "'", cuStreamSynchronize,
                                 worker.stream.get());
    }
    if (bytes && copies)
      worker.in.push_back({worker.memory.back().address(), std::move(pinned), bytes});
    SMELT_RETURN_IF_ERROR(worker.context->bindInput(name, binding));
  }
  return {};
}

Status GpuBench::bindOutputs(Worker &worker, bool copies) {
  for (const Port &port : signature.outputs) {
    SMELT_ASSIGN_OR_RETURN(runtime::Shape shape, worker.context->outputShape(port.name));
    uint64_t bytes = byteCount(port.type, shape).value_or(0);
    SMELT_ASSIGN_OR_RETURN(Binding binding, place(worker, port.type, bytes));
    SMELT_RETURN_IF_ERROR(worker.context->bindOutput(port.name, binding));
    if (!copies || bytes == 0)
      continue;
    SMELT_ASSIGN_OR_RETURN(runtime::PinnedMemory pinned,
                           runtime::PinnedMemory::allocate(engine->device(), bytes));
    worker.out.push_back({worker.memory.back().address(), std::move(pinned), bytes});
  }
  return {};
}

runtime::Lane GpuBench::laneOf(Worker &worker) {
  runtime::Lane lane{worker.context.get(), worker.stream.get(), {}, {}};
  if (!worker.in.empty())
    lane.copyIn = [this, &worker](CUstream stream) -> Status {
      for (const Copy &copy : worker.in)
        SMELT_RETURN_IF_CUDA_ERROR(engine->api(), "copying an input", cuMemcpyHtoDAsync,
                                   copy.device, copy.host.data(), copy.bytes, stream);
      return {};
    };
  if (!worker.out.empty())
    lane.copyOut = [this, &worker](CUstream stream) -> Status {
      for (const Copy &copy : worker.out)
        SMELT_RETURN_IF_CUDA_ERROR(engine->api(), "copying an output", cuMemcpyDtoHAsync,
                                   copy.host.data(), copy.device, copy.bytes, stream);
      return {};
    };
  return lane;
}

Result<std::vector<double>> GpuBench::timeGraph(const runtime::TimingOptions &options) {
  return runtime::timeGraph(*workers[0]->context, workers[0]->stream.get(), options);
}

Result<runtime::RunTimes> GpuBench::timeRuns(const runtime::RunOptions &options) {
  std::vector<runtime::Lane> lanes;
  for (const std::unique_ptr<Worker> &worker : workers)
    lanes.push_back(laneOf(*worker));
  return runtime::timeRuns(lanes, options);
}

Result<std::vector<KernelTime>>
GpuBench::timeKernels(size_t repetitions, const runtime::TimingProgressHandler &progress) {
  runtime::Context &context = *workers[0]->context;
  SMELT_ASSIGN_OR_RETURN(
      std::vector<double> times,
      runtime::timeKernels(context, workers[0]->stream.get(), repetitions, progress));
  SMELT_ASSIGN_OR_RETURN(runtime::Context::Ready ready, context.ready());
  const runtime::Schedule &schedule = ready.graph->schedule();
  auto value = [&](uint32_t dim) { return dim == plan::kNone ? 0 : schedule.shapes->dims[dim]; };
  std::vector<KernelTime> kernels;
  for (size_t i = 0; i < times.size(); ++i) {
    const runtime::PlannedLaunch &planned = engine->launches()[schedule.launches[i].id];
    const plan::KernelNodeT *node = planned.kernel();
    kernels.push_back({planned.number, planned.launch->name,
                       node ? engine->program().kernels[node->kernel]->entry : "",
                       planned.step->onnx_nodes, times[i], value(planned.launch->bytes),
                       value(planned.launch->flops), planned.launch->arithmetic});
  }
  return kernels;
}

Result<std::optional<Peaks>> GpuBench::peaks() const {
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

} // namespace smelt::tools
