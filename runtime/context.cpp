#include "runtime/context.h"

#include "runtime/checked_math.h"
#include "runtime/nvtx.h"
#include "runtime/text.h"

#include <algorithm>

namespace smelt::runtime {

/// The right to use a context, held by one call at a time.
class Context::Turn {
public:
  explicit Turn(std::atomic_flag &busy) : busy(busy), isTaken(!busy.test_and_set()) {}
  ~Turn() {
    if (isTaken)
      busy.clear();
  }
  Turn(const Turn &) = delete;

  Status status() const {
    if (isTaken)
      return {};
    return Status(StatusCode::kUsage, "another thread is using this context; make one context for "
                                      "each thread, they can share the engine");
  }

private:
  std::atomic_flag &busy;
  bool isTaken;
};

Result<std::unique_ptr<Context>> Context::create(SharedEngine engine,
                                                 const ContextOptions &options) {
  if (options.cachedShapes == 0)
    return Status(StatusCode::kUsage, "a context must keep the graph of at least one shape");
  std::unique_ptr<Context> context(new Context(std::move(engine), options));
  SMELT_RETURN_IF_ERROR(context->createEvent());
  return context;
}

Context::Context(SharedEngine engine, const ContextOptions &options)
    : sharedEngine(std::move(engine)), options(options),
      inputs(sharedEngine->metadata().inputs.size()),
      outputs(sharedEngine->metadata().outputs.size()),
      addresses(sharedEngine->program().buffers.size()) {
  for (const auto &buffer : sharedEngine->program().buffers) {
    if (buffer->kind == plan::BufferKind::input)
      inputs[buffer->index].isUsed = true;
    if (buffer->kind == plan::BufferKind::output)
      outputs[buffer->index].isUsed = true;
  }
  presetStaticShapes();
}

Context::~Context() {
  if (lastRun == nullptr)
    return;
  Result<CurrentContext> current = CurrentContext::enter(*engine().device());
  RelaxedCapture relaxed(engine().api());
  Status waited = waitForLastRun();
  static_cast<void>(waited); // a destructor has nobody to tell
  engine().api().cuEventDestroy(lastRun);
}

Status Context::createEvent() {
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine().device()));
  SMELT_RETURN_IF_CUDA_ERROR(engine().api(), "creating an event", cuEventCreate, &lastRun,
                             CU_EVENT_DISABLE_TIMING);
  return {};
}

/// Waits for this context's run and nobody else's: waiting for the whole device would break every
/// stream capture that is under way on it.
Status Context::waitForLastRun() {
  if (hasEnqueued)
    SMELT_RETURN_IF_CUDA_ERROR(engine().api(), "waiting for the former run", cuEventSynchronize,
                               lastRun);
  hasEnqueued = false;
  return {};
}

void Context::presetStaticShapes() {
  const plan::MetadataT &metadata = sharedEngine->metadata();
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape shape;
    for (uint32_t dim : metadata.inputs[i]->dims) {
      const auto &program = metadata.dims[dim]->program;
      if (program.size() == 1 && program[0].opcode() == plan::DimOpcode::constant)
        shape.push_back(program[0].operand());
    }
    inputs[i].hasShape = shape.size() == metadata.inputs[i]->dims.size();
    inputs[i].shape = std::move(shape);
  }
}

static Result<size_t> findTensor(const std::vector<std::unique_ptr<plan::TensorT>> &tensors,
                                 const char *role, const std::string &name) {
  std::string known;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]->name == name)
      return i;
    known += (i > 0 ? ", '" : "'") + tensors[i]->name + "'";
  }
  return Status(StatusCode::kUsage, joinText("the model has no ", role, " '", name, "'; its ", role,
                                             "s are ", known.empty() ? "none" : known));
}

Status Context::setInputShape(const std::string &name, const Shape &shape) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_ASSIGN_OR_RETURN(size_t index, findTensor(engine().metadata().inputs, "input", name));
  Slot &slot = inputs[index];
  if (slot.hasShape && slot.shape == shape)
    return {};
  slot.shape = shape;
  slot.hasShape = true;
  values.reset();
  pending.reset();
  isPrepared = false;
  return {};
}

Status Context::bindInput(const std::string &name, const Binding &binding) {
  return bind(inputs, engine().metadata().inputs, "input", name, binding);
}

Status Context::bindOutput(const std::string &name, const Binding &binding) {
  return bind(outputs, engine().metadata().outputs, "output", name, binding);
}

Status Context::bind(std::vector<Slot> &slots,
                     const std::vector<std::unique_ptr<plan::TensorT>> &tensors, const char *role,
                     const std::string &name, const Binding &binding) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_ASSIGN_OR_RETURN(size_t index, findTensor(tensors, role, name));
  if (binding.elementType != tensors[index]->element_type)
    return Status(StatusCode::kUsage,
                  joinText(role, " '", name, "' has elements of type ",
                           plan::EnumNameElementType(tensors[index]->element_type), ", not ",
                           plan::EnumNameElementType(binding.elementType)));
  if (binding.data == nullptr && binding.bytes > 0)
    return Status(StatusCode::kUsage, joinText(role, " '", name, "' is bound to a null pointer"));
  if (binding.location == Location::kDevice &&
      reinterpret_cast<uint64_t>(binding.data) % kBindingAlignment != 0)
    return Status(StatusCode::kUsage,
                  joinText(role, " '", name, "' is bound to device memory that is not aligned to ",
                           kBindingAlignment, " bytes"));
  Slot &slot = slots[index];
  slot.binding = binding;
  slot.isBound = true;
  if (binding.location == Location::kHost && slot.isUsed && !slot.staging)
    isPrepared = false;
  return {};
}

Status Context::solve() {
  if (values)
    return {};
  const plan::MetadataT &metadata = engine().metadata();
  std::vector<Shape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].hasShape)
      return Status(StatusCode::kUsage,
                    joinText("input '", metadata.inputs[i]->name, "' has no shape yet"));
    shapes.push_back(inputs[i].shape);
  }
  SMELT_ASSIGN_OR_RETURN(values, solveShapes(metadata, shapes));
  return {};
}

Result<Shape> Context::outputShape(const std::string &name) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  const auto &tensors = engine().metadata().outputs;
  SMELT_ASSIGN_OR_RETURN(size_t index, findTensor(tensors, "output", name));
  SMELT_RETURN_IF_ERROR(solve());
  return shapeOf(*tensors[index], *values);
}

ModelGraph *Context::cachedGraph() {
  auto isCurrent = [this](const std::unique_ptr<ModelGraph> &graph) {
    return graph->schedule().shapes.symbols == values->symbols;
  };
  auto found = std::find_if(graphs.begin(), graphs.end(), isCurrent);
  return found == graphs.end() ? nullptr : found->get();
}

/// The schedule of the current shapes, which must be solved.
Result<const Schedule *> Context::currentSchedule() {
  if (const ModelGraph *graph = cachedGraph())
    return &graph->schedule();
  if (!pending) {
    SMELT_ASSIGN_OR_RETURN(pending, makeSchedule(engine().metadata(), engine().program(), *values));
  }
  return &*pending;
}

/// The arena lies first, then a copy of each tensor that is bound to host memory. Returns the bytes
/// of both; `commit` also remembers where the copies lie.
Result<uint64_t> Context::layOutWorkspace(bool commit) {
  SMELT_ASSIGN_OR_RETURN(const Schedule *schedule, currentSchedule());
  std::optional end(schedule->arenaBytes);
  auto place = [&](std::vector<Slot> &slots, const std::vector<uint64_t> &bytes) {
    for (size_t i = 0; i < slots.size(); ++i) {
      if (commit)
        slots[i].staging.reset();
      if (!end || !slots[i].isUsed || !slots[i].isBound ||
          slots[i].binding.location != Location::kHost)
        continue;
      if (commit)
        slots[i].staging = end;
      end = checkedAdd(*end, bytes[i]);
      end = end ? checkedAlign(*end, plan::kWeightBytes) : std::nullopt;
    }
  };
  place(inputs, schedule->inputBytes);
  place(outputs, schedule->outputBytes);
  if (!end)
    return Status(StatusCode::kUsage, "these shapes are too large: the workspace exceeds 64 bits");
  return *end;
}

Result<uint64_t> Context::workspaceBytes() {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_RETURN_IF_ERROR(solve());
  return layOutWorkspace(false);
}

Status Context::setWorkspace(void *data, uint64_t bytes) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  auto address = reinterpret_cast<uint64_t>(data);
  if (address % plan::kWeightBytes != 0)
    return Status(StatusCode::kUsage,
                  joinText("the workspace must be aligned to ", plan::kWeightBytes, " bytes"));
  callerWorkspace = address;
  callerWorkspaceBytes = bytes;
  isPrepared = false;
  return {};
}

uint64_t Context::workspaceAddress() const {
  return callerWorkspace != 0 ? callerWorkspace : ownWorkspace.address();
}

Status Context::provideWorkspace(uint64_t bytes) {
  if (callerWorkspace != 0) {
    if (bytes <= callerWorkspaceBytes)
      return {};
    return Status(StatusCode::kUsage, joinText("the workspace has ", callerWorkspaceBytes,
                                               " bytes, these shapes take ", bytes));
  }
  if (bytes <= ownWorkspace.bytes())
    return {};
  SMELT_RETURN_IF_ERROR(waitForLastRun());
  ownWorkspace = DeviceMemory();
  SMELT_ASSIGN_OR_RETURN(ownWorkspace,
                         DeviceMemory::allocate(engine().device(), engine().allocator(), bytes,
                                                "intermediate values and copies"));
  return {};
}

Status Context::selectGraph() {
  SMELT_ASSIGN_OR_RETURN(const Schedule *schedule, currentSchedule());
  if (ModelGraph *cached = cachedGraph()) {
    auto isCached = [cached](const auto &graph) { return graph.get() == cached; };
    graphs.splice(graphs.begin(), graphs, std::find_if(graphs.begin(), graphs.end(), isCached));
    return {};
  }
  fillAddresses(*schedule);
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<ModelGraph> built,
                         ModelGraph::build(sharedEngine, *schedule, addresses));
  pending.reset();
  graphs.push_front(std::move(built));
  if (graphs.size() > options.cachedShapes)
    graphs.pop_back();
  return {};
}

Status Context::prepare() {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  return prepareTurn();
}

Status Context::prepareTurn() {
  if (isPrepared)
    return {};
  SMELT_RETURN_IF_ERROR(solve());
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine().device()));
  RelaxedCapture relaxed(engine().api());
  SMELT_ASSIGN_OR_RETURN(uint64_t bytes, layOutWorkspace(true));
  SMELT_RETURN_IF_ERROR(provideWorkspace(bytes));
  SMELT_RETURN_IF_ERROR(selectGraph());
  isPrepared = true;
  return {};
}

uint64_t Context::addressOf(const Slot &slot) const {
  if (!slot.isBound)
    return 0;
  if (slot.binding.location == Location::kHost)
    return slot.staging ? workspaceAddress() + *slot.staging : 0;
  return reinterpret_cast<uint64_t>(slot.binding.data);
}

void Context::fillAddresses(const Schedule &schedule) {
  const auto &buffers = engine().program().buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    uint32_t index = buffers[i]->index;
    switch (buffers[i]->kind) {
    case plan::BufferKind::input:
      addresses[i] = addressOf(inputs[index]);
      break;
    case plan::BufferKind::output:
      addresses[i] = addressOf(outputs[index]);
      break;
    case plan::BufferKind::weight:
      addresses[i] = engine().weightAddress(index);
      break;
    case plan::BufferKind::arena:
      addresses[i] = workspaceAddress() + schedule.slotOffsets[index];
      break;
    }
  }
}

Status Context::checkSlot(const plan::TensorT &tensor, const char *role, const Slot &slot,
                          uint64_t bytes) const {
  if (!slot.isUsed)
    return {};
  if (!slot.isBound)
    return Status(StatusCode::kUsage, joinText(role, " '", tensor.name, "' is not bound"));
  if (slot.binding.bytes < bytes)
    return Status(StatusCode::kUsage,
                  joinText(role, " '", tensor.name, "' of shape ",
                           shapeText(shapeOf(tensor, *values)), " takes ", bytes,
                           " bytes, the memory bound to it has ", slot.binding.bytes));
  return {};
}

Status Context::checkBindings() const {
  if (!isPrepared)
    return Status(StatusCode::kUsage, "the context is not prepared for its shapes and bindings; "
                                      "call prepare before enqueue");
  const plan::MetadataT &metadata = engine().metadata();
  const Schedule &schedule = graphs.front()->schedule();
  for (size_t i = 0; i < inputs.size(); ++i)
    SMELT_RETURN_IF_ERROR(
        checkSlot(*metadata.inputs[i], "input", inputs[i], schedule.inputBytes[i]));
  for (size_t i = 0; i < outputs.size(); ++i)
    SMELT_RETURN_IF_ERROR(
        checkSlot(*metadata.outputs[i], "output", outputs[i], schedule.outputBytes[i]));
  return {};
}

Status Context::copyInputs(CUstream stream) {
  const Schedule &schedule = graphs.front()->schedule();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Slot &slot = inputs[i];
    if (!slot.isUsed || slot.binding.location != Location::kHost || schedule.inputBytes[i] == 0)
      continue;
    SMELT_RETURN_IF_CUDA_ERROR(
        engine().api(), joinText("copying input '", engine().metadata().inputs[i]->name, "'"),
        cuMemcpyHtoDAsync, addressOf(slot), slot.binding.data, schedule.inputBytes[i], stream);
  }
  return {};
}

Status Context::copyOutputs(CUstream stream) {
  const Schedule &schedule = graphs.front()->schedule();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Slot &slot = outputs[i];
    if (!slot.isUsed || slot.binding.location != Location::kHost || schedule.outputBytes[i] == 0)
      continue;
    SMELT_RETURN_IF_CUDA_ERROR(
        engine().api(), joinText("copying output '", engine().metadata().outputs[i]->name, "'"),
        cuMemcpyDtoHAsync, slot.binding.data, addressOf(slot), schedule.outputBytes[i], stream);
  }
  return {};
}

/// The default stream cannot capture, and asking it would disturb captures of other threads.
Result<bool> Context::isCapturing(CUstream stream) const {
  if (stream == nullptr || stream == CU_STREAM_LEGACY)
    return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  SMELT_RETURN_IF_CUDA_ERROR(engine().api(), "asking whether the stream is capturing",
                             cuStreamGetCaptureInfo, stream, &status, nullptr, nullptr, nullptr,
                             nullptr, nullptr);
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/// One graph launch, or one child graph of what the stream is capturing.
Status Context::launch(CUstream stream, bool isCaptured) {
  ModelGraph &graph = *graphs.front();
  if (!isCaptured)
    return graph.launch(addresses, stream);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph capture = nullptr;
  const CUgraphNode *dependencies = nullptr;
  const CUgraphEdgeData *edges = nullptr;
  size_t count = 0;
  SMELT_RETURN_IF_CUDA_ERROR(engine().api(), "asking what the stream has captured",
                             cuStreamGetCaptureInfo, stream, &status, nullptr, &capture,
                             &dependencies, &edges, &count);
  return graph.addTo(capture, {dependencies, count}, addresses, stream);
}

Status Context::issue(CUstream stream, bool isCaptured) {
  SMELT_RETURN_IF_ERROR(copyInputs(stream));
  SMELT_RETURN_IF_ERROR(launch(stream, isCaptured));
  return copyOutputs(stream);
}

/// A captured run does not run yet, and an event recorded in a capture could not be waited for.
Status Context::enqueueTurn(CUstream stream) {
  SMELT_RETURN_IF_ERROR(checkBindings());
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine().device()));
  NvtxRange range(engine().metadata().model_name);
  fillAddresses(graphs.front()->schedule());
  SMELT_ASSIGN_OR_RETURN(bool isCaptured, isCapturing(stream));
  Status issued = issue(stream, isCaptured);
  if (isCaptured)
    return issued;
  hasEnqueued = true; // what was issued before a failure also runs
  SMELT_RETURN_IF_CUDA_ERROR(engine().api(), "marking the end of the run", cuEventRecord, lastRun,
                             stream);
  return issued;
}

Status Context::enqueue(CUstream stream) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  return enqueueTurn(stream);
}

Status Context::run(CUstream stream) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine().device()));
  SMELT_ASSIGN_OR_RETURN(bool isCaptured, isCapturing(stream));
  if (isCaptured) // nothing runs yet, and waiting would invalidate the caller's capture
    return Status(StatusCode::kUsage, "a run on a capturing stream cannot be waited for; prepare "
                                      "before the capture, and enqueue during it");
  SMELT_RETURN_IF_ERROR(prepareTurn());
  SMELT_RETURN_IF_ERROR(enqueueTurn(stream));
  RelaxedCapture relaxed(engine().api());
  SMELT_RETURN_IF_CUDA_ERROR(engine().api(), "waiting for the run", cuStreamSynchronize, stream);
  hasEnqueued = false;
  return {};
}

Result<Context::Ready> Context::ready() {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_RETURN_IF_ERROR(checkBindings());
  fillAddresses(graphs.front()->schedule());
  return Ready{graphs.front().get(), addresses};
}

} // namespace smelt::runtime
