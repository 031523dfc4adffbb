#include "runtime/context.h"

#include "runtime/binding_copies.h"
#include "runtime/block_placement.h"
#include "runtime/nvtx.h"
#include "runtime/text.h"
#include "runtime/turn.h"

#include <algorithm>

namespace smelt::runtime {

/// What the graphs of a context may keep for their shapes together.
constexpr uint64_t kMaxShapeMemoryBytes = uint64_t(256) << 20;

Result<std::unique_ptr<Context>> Context::create(SharedEngine engine,
                                                 const ContextOptions &options) {
  SMELT_RETURN_IF_ERROR(options.check());
  std::unique_ptr<Context> context(new Context(std::move(engine), options));
  SMELT_RETURN_IF_ERROR(context->createEvent());
  return context;
}

Context::Context(SharedEngine engine, const ContextOptions &options)
    : sharedEngine(std::move(engine)), options(options),
      bindings(sharedEngine->metadata(),
               usedPorts(sharedEngine->metadata(), sharedEngine->program())),
      addresses(sharedEngine->program().buffers.size()) {}

Context::~Context() {
  if (lastRun == nullptr)
    return;
  Result<CurrentContext> current = CurrentContext::enter(*engine().device());
  RelaxedCapture relaxed(engine().api());
  Status waited = waitForLastRun();
  static_cast<void>(waited); // a destructor has nobody to tell
  engine().api().cuEventDestroy(lastRun);
  retired.destroyEvent(engine().api());
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
  retired.dropAll();
  return {};
}

/// Drops what kept memory that is bound no more, as far as no run can use it. A driver that fails here
/// fails the run too: nothing is lost but that it is kept until the context has waited.
void Context::retireOwners() {
  std::vector<std::shared_ptr<const void>> former = bindings.takeFormerOwners();
  if (former.empty() && retired.isEmpty())
    return;
  if (!hasEnqueued)
    return retired.dropAll();
  Result<CurrentContext> current = CurrentContext::enter(*engine().device());
  RelaxedCapture relaxed(engine().api());
  retired.add(engine().api(), std::move(former));
  if (engine().api().cuEventQuery(lastRun) == CUDA_SUCCESS)
    retired.dropAll();
  else
    retired.dropUnused(engine().api());
}

Status Context::wait() {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine().device()));
  return waitForLastRun();
}

Status Context::setInputShape(const std::string &name, const Shape &shape) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_ASSIGN_OR_RETURN(bool isNew, bindings.setShape(name, shape));
  if (isNew)
    forgetSizes();
  return {};
}

void Context::forgetSizes() {
  values.reset();
  pending.reset();
  isPrepared = isChecked = false;
}

Status Context::bindInput(const std::string &name, const Binding &binding) {
  return bind(true, name, binding);
}

Status Context::bindOutput(const std::string &name, const Binding &binding) {
  return bind(false, name, binding);
}

Status Context::bind(bool isInput, const std::string &name, const Binding &binding) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_ASSIGN_OR_RETURN(Bindings::Change change, bindings.bind(isInput, name, binding));
  isChecked = false;
  if (change == Bindings::Change::kStaging)
    isPrepared = false;
  if (change == Bindings::Change::kCapacity)
    forgetSizes();
  retireOwners();
  return {};
}

bool Context::isCurrent(const Known &known) const {
  const std::vector<Slot> &inputs = bindings.allInputs(), &outputs = bindings.allOutputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (known.shapes[i] != inputs[i].shape)
      return false;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (known.capacities[i] != outputs[i].binding.capacity)
      return false;
  return true;
}

/// The sizes that are set, without a graph.
Context::Known Context::currentSizes() const {
  Known known;
  for (const Slot &input : bindings.allInputs())
    known.shapes.push_back(input.shape);
  for (const Slot &output : bindings.allOutputs())
    known.capacities.push_back(output.binding.capacity);
  return known;
}

Status Context::solve() {
  if (values)
    return {};
  for (const Slot &input : bindings.allInputs())
    if (!input.hasShape)
      return Status(StatusCode::kUsage,
                    joinText("input '", input.tensor->name, "' has no shape yet"));
  for (const Known &known : graphs)
    if (isCurrent(known)) {
      values = known.graph->schedule().shapes;
      return {};
    }
  Known known = currentSizes();
  SMELT_ASSIGN_OR_RETURN(ShapeValues solved,
                         solveShapes(engine().metadata(), known.shapes, known.capacities));
  values = std::make_shared<const ShapeValues>(std::move(solved));
  return {};
}

Result<Shape> Context::outputShape(const std::string &name) {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_ASSIGN_OR_RETURN(Slot * output, bindings.output(name));
  SMELT_RETURN_IF_ERROR(solve());
  return shapeOf(*output->tensor, *values);
}

ModelGraph *Context::cachedGraph() {
  for (const Known &known : graphs)
    if (known.graph->schedule().shapes == values)
      return known.graph.get();
  return nullptr;
}

/// The schedule of the current shapes, which must be solved.
Result<const Schedule *> Context::currentSchedule() {
  if (const ModelGraph *graph = cachedGraph())
    return &graph->schedule();
  if (!pending) {
    SMELT_ASSIGN_OR_RETURN(pending, makeSchedule(engine().metadata(), engine().launches(), values));
    if (engine().device()->startsKernelsEarly())
      spreadBlocks(engine().device()->multiprocessors(), engine().launches(), *pending);
  }
  return &*pending;
}

/// The arena lies first, then a copy of each tensor that is bound to host memory. Returns the bytes
/// of both; `commit` also remembers where the copies lie.
Result<uint64_t> Context::layOutWorkspace(bool commit) {
  SMELT_ASSIGN_OR_RETURN(const Schedule *schedule, currentSchedule());
  SMELT_RETURN_IF_ERROR(bindings.layOut(*values));
  return bindings.placeCopies(schedule->arenaBytes, commit);
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
  SMELT_RETURN_IF_ERROR(checkWorkspace(data));
  callerWorkspace = reinterpret_cast<uint64_t>(data);
  callerWorkspaceBytes = bytes;
  isPrepared = isChecked = false;
  return {};
}

MemoryRange Context::callerMemory() const {
  if (callerWorkspace == 0)
    return {};
  return {callerWorkspace, callerWorkspace + callerWorkspaceBytes};
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
  logger().log(Severity::kVerbose, "allocated ", bytes, " bytes of workspace");
  return {};
}

/// The graph to give up for a new shape: the least recently used, best one that can be updated to
/// run the pending schedule.
std::list<Context::Known>::iterator Context::findVictim() {
  auto fits = [this](const Known &known) { return known.graph->fits(*pending); };
  auto found = std::find_if(graphs.rbegin(), graphs.rend(), fits);
  return found == graphs.rend() ? std::prev(graphs.end()) : std::prev(found.base());
}

/// Memory that is kept for shapes is bounded by giving up the shapes used least recently.
Status Context::forgetLargeShapes() {
  uint64_t kept = 0;
  auto isWithin = [&](const Known &known) {
    kept += known.graph->shapeMemoryBytes();
    return kept <= kMaxShapeMemoryBytes;
  };
  auto first = std::find_if_not(std::next(graphs.begin()), graphs.end(), isWithin);
  if (first == graphs.end())
    return {};
  SMELT_RETURN_IF_ERROR(waitForLastRun());
  logger().log(Severity::kInfo, "gave up ", std::distance(first, graphs.end()),
               " known shapes: what is kept for shapes exceeds ", kMaxShapeMemoryBytes >> 20,
               " MiB");
  graphs.erase(first, graphs.end());
  return {};
}

/// A graph for the current shapes at the front of the list. While there is room it is a new one, so
/// that shapes that are known stay known; after that one is updated to run the same kernels for
/// other sizes, where there is such a one.
Status Context::selectGraph() {
  SMELT_RETURN_IF_ERROR(currentSchedule().status());
  if (ModelGraph *cached = cachedGraph()) {
    auto isCached = [cached](const Known &known) { return known.graph.get() == cached; };
    graphs.splice(graphs.begin(), graphs, std::find_if(graphs.begin(), graphs.end(), isCached));
    return {};
  }
  std::unique_ptr<ModelGraph> graph;
  if (graphs.size() >= options.cachedShapes) {
    auto victim = findVictim();
    if (victim->graph->shapeMemoryBytes() > 0)
      SMELT_RETURN_IF_ERROR(waitForLastRun());
    logger().log(Severity::kVerbose,
                 "gave up the shape that was used least recently: ", graphs.size(),
                 " are known, the most that the context keeps");
    if (victim->graph->fits(*pending))
      graph = std::move(victim->graph);
    graphs.erase(victim);
  }
  if (graph)
    graph->take(*std::exchange(pending, std::nullopt));
  else
    graph = std::make_unique<ModelGraph>(sharedEngine, *std::exchange(pending, std::nullopt));
  Known known = currentSizes();
  SMELT_RETURN_IF_ERROR(makeReady(*graph));
  known.graph = std::move(graph);
  graphs.push_front(std::move(known));
  return forgetLargeShapes();
}

/// Builds the graph and computes what depends on the shapes alone.
Status Context::makeReady(ModelGraph &graph) {
  SMELT_RETURN_IF_ERROR(graph.provideShapeMemory());
  fillAddresses(graph);
  SMELT_RETURN_IF_ERROR(graph.rebuild(addresses));
  logger().log(Severity::kVerbose,
               "made the graph of a new shape: ", graph.schedule().launches.size(), " launches, ",
               graph.schedule().once.size(), " more that run once");
  if (graph.schedule().once.empty())
    return {};
  SMELT_RETURN_IF_ERROR(waitForLastRun()); // which may use the same scratch memory
  SMELT_ASSIGN_OR_RETURN(OwnStream stream, OwnStream::create(engine().api()));
  SMELT_RETURN_IF_ERROR(graph.runOnce(addresses, stream.get()));
  SMELT_RETURN_IF_CUDA_ERROR(engine().api(), "computing what depends on the shapes alone",
                             cuStreamSynchronize, stream.get());
  return {};
}

Status Context::prepare() {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  return prepareTurn();
}

Status Context::prepareTurn() {
  if (!isPrepared)
    SMELT_RETURN_IF_ERROR(prepareShape());
  return isChecked ? Status() : bindings.checkOverlaps(callerMemory());
}

Status Context::prepareShape() {
  SMELT_RETURN_IF_ERROR(solve());
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine().device()));
  RelaxedCapture relaxed(engine().api());
  SMELT_ASSIGN_OR_RETURN(uint64_t bytes, layOutWorkspace(true));
  SMELT_RETURN_IF_ERROR(provideWorkspace(bytes));
  isChecked = false;
  SMELT_RETURN_IF_ERROR(selectGraph());
  isPrepared = true;
  return {};
}

void Context::fillAddresses(const ModelGraph &graph) {
  const auto &buffers = engine().program().buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    uint32_t index = buffers[i]->index;
    switch (buffers[i]->kind) {
    case plan::BufferKind::input:
      addresses[i] = bindings.addressOf(bindings.allInputs()[index], workspaceAddress());
      break;
    case plan::BufferKind::output:
      addresses[i] = bindings.addressOf(bindings.allOutputs()[index], workspaceAddress());
      break;
    case plan::BufferKind::weight:
      addresses[i] = engine().weightAddress(index);
      break;
    case plan::BufferKind::arena:
      addresses[i] = workspaceAddress() + graph.schedule().slotOffsets[index];
      break;
    case plan::BufferKind::shape:
      addresses[i] = graph.shapeAddress() + graph.schedule().shapeOffsets[i];
      break;
    }
  }
}

/// Makes `addresses` what bindings and graph make of it, once they are fit for a run.
Status Context::checkBindings() {
  if (!isPrepared)
    return Status(StatusCode::kUsage, "the context is not prepared for its shapes and bindings; "
                                      "call prepare before enqueue");
  if (isChecked)
    return {};
  SMELT_RETURN_IF_ERROR(bindings.check(*values, callerMemory()));
  fillAddresses(*graphs.front().graph);
  isChecked = true;
  return {};
}

/// One graph launch, or one child graph of what the stream is capturing.
Status Context::launch(CUstream stream, bool isCaptured) {
  ModelGraph &graph = *graphs.front().graph;
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

/// After an update of weights, also one before the graph was made, computes in stream order what
/// depends on them and the shapes alone: prepare() does so on a stream that no update is ordered with.
/// In a capture it becomes part of what is captured, and stays out of date outside.
Status Context::refreshOnce(CUstream stream, bool isCaptured) {
  ModelGraph &graph = *graphs.front().graph;
  uint64_t version = engine().weightPool().version();
  if (graphs.front().weightsVersion == version)
    return {};
  SMELT_RETURN_IF_ERROR(graph.runOnce(addresses, stream));
  if (!isCaptured)
    graphs.front().weightsVersion = version;
  return {};
}

Status Context::issue(CUstream stream, bool isCaptured) {
  SMELT_RETURN_IF_ERROR(refreshOnce(stream, isCaptured));
  SMELT_RETURN_IF_ERROR(copyInputs(engine().api(), bindings, workspaceAddress(), stream));
  SMELT_RETURN_IF_ERROR(launch(stream, isCaptured));
  return copyOutputs(engine().api(), bindings, workspaceAddress(), stream);
}

/// A captured run does not run yet, and an event recorded in a capture could not be waited for.
Status Context::enqueueTurn(CUstream stream) {
  SMELT_RETURN_IF_ERROR(checkBindings());
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine().device()));
  NvtxRange range(engine().metadata().model_name);
  SMELT_ASSIGN_OR_RETURN(bool isCaptured, isCapturing(engine().api(), stream));
  retireOwners();
  Status issued = issue(stream, isCaptured);
  if (isCaptured) {
    retired.keepForGraph(bindings.owners());
    return issued;
  }
  hasEnqueued = true; // what was issued before a failure also runs
  SMELT_RETURN_IF_CUDA_ERROR(engine().api(), "marking the end of the run", cuEventRecord, lastRun,
                             stream);
  SMELT_RETURN_IF_ERROR(retired.mark(engine().api(), stream));
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
  SMELT_ASSIGN_OR_RETURN(bool isCaptured, isCapturing(engine().api(), stream));
  if (isCaptured) // nothing runs yet, and waiting would invalidate the caller's capture
    return Status(StatusCode::kUsage, "a run on a capturing stream cannot be waited for; prepare "
                                      "before the capture, and enqueue during it");
  SMELT_RETURN_IF_ERROR(prepareTurn());
  SMELT_RETURN_IF_ERROR(enqueueTurn(stream));
  RelaxedCapture relaxed(engine().api());
  SMELT_RETURN_IF_CUDA_ERROR(engine().api(), "waiting for the run", cuStreamSynchronize, stream);
  hasEnqueued = false;
  retired.dropAll();
  return {};
}

Result<Context::Ready> Context::ready() {
  Turn turn(busy);
  SMELT_RETURN_IF_ERROR(turn.status());
  SMELT_RETURN_IF_ERROR(checkBindings());
  return Ready{graphs.front().graph.get(), addresses};
}

} // namespace smelt::runtime
