#include "runtime/fake_driver.h"

#include "runtime/launch_table.h"
#include "runtime/text.h"

#include <algorithm>

namespace smelt::runtime {

FakeDriver::FakeDriver(FakeDevice device) : device(device) {}

FakeDriver::~FakeDriver() { joinHostFunctions(); }

void FakeDriver::addKernel(const std::string &entry, FakeKernel kernel) {
  std::lock_guard lock(mutex);
  kernels[entry] = std::move(kernel);
}

void FakeDriver::addKernelIfNew(const std::string &entry, FakeKernel kernel) {
  std::lock_guard lock(mutex);
  kernels.try_emplace(entry, std::move(kernel));
}

void FakeDriver::addKernels(const plan::ProgramT &program) {
  LaunchTable table(program);
  for (const PlannedLaunch &launch : table.launches()) {
    const plan::KernelNodeT *node = launch.kernel();
    if (node == nullptr)
      continue;
    FakeKernel kernel;
    for (const plan::Argument &argument : node->arguments)
      kernel.parameterBytes.push_back(argumentBytes(argument));
    addKernel(program.kernels[node->kernel]->entry, std::move(kernel));
  }
}

void FakeDriver::failCall(const std::string &function, size_t n, CUresult result) {
  std::lock_guard lock(mutex);
  failure = Failure{function, n, result};
  failed = false;
}

void FakeDriver::failNothing() {
  std::lock_guard lock(mutex);
  failure.reset();
}

bool FakeDriver::hasFailed() const {
  std::lock_guard lock(mutex);
  return failed;
}

CUresult FakeDriver::enter(const char *function) {
  callNames.emplace_back(function);
  bool isMeant = failure && (failure->function.empty() || failure->function == function);
  if (!isMeant || failure->remaining-- > 0)
    return CUDA_SUCCESS;
  CUresult result = failure->result;
  failure.reset();
  failed = true;
  return result;
}

void FakeDriver::setKernelTimes(std::function<double(const FakeKernelCall &)> microseconds) {
  std::lock_guard lock(mutex);
  kernelTimes = std::move(microseconds);
}

std::vector<std::string> FakeDriver::calls() const {
  std::lock_guard lock(mutex);
  return callNames;
}

size_t FakeDriver::countOf(const std::string &function) const {
  std::lock_guard lock(mutex);
  return static_cast<size_t>(std::count(callNames.begin(), callNames.end(), function));
}

void FakeDriver::clearCalls() {
  std::lock_guard lock(mutex);
  callNames.clear();
  used.clear();
}

CUcontext FakeDriver::createContext() {
  std::lock_guard lock(mutex);
  callerContexts.push_back(std::make_unique<int>());
  return reinterpret_cast<CUcontext>(callerContexts.back().get());
}

std::vector<CUcontext> FakeDriver::usedContexts() const {
  std::lock_guard lock(mutex);
  return {used.begin(), used.end()};
}

/// The primary context is one while somebody holds it.
bool FakeDriver::isContext(CUcontext context) const {
  const void *handle = context;
  return (handle == &primaryContext && retained > 0) ||
         std::any_of(callerContexts.begin(), callerContexts.end(),
                     [&](const auto &made) { return made.get() == handle; });
}

std::vector<FakeKernelCall> FakeDriver::kernelCalls() const {
  std::lock_guard lock(mutex);
  return ranKernels;
}

std::shared_ptr<const FakeGraph> FakeDriver::lastInstantiated() const {
  std::lock_guard lock(mutex);
  return instantiated;
}

std::vector<std::string> FakeDriver::leaks() const {
  std::lock_guard lock(mutex);
  std::vector<std::string> leaks;
  leaks.reserve(memory.size());
  for (const auto &[address, held] : memory)
    leaks.push_back(joinText("memory of ", held.bytes, " bytes"));
  leaks.insert(leaks.end(), hostMemory.size(), "pinned memory");
  leaks.insert(leaks.end(), modules.size(), "module");
  leaks.insert(leaks.end(), streams.size(), "stream");
  leaks.insert(leaks.end(), events.size(), "event");
  leaks.insert(leaks.end(), graphs.size(), "graph");
  leaks.insert(leaks.end(), execs.size(), "executable graph");
  leaks.insert(leaks.end(), static_cast<size_t>(std::max(retained, 0)), "primary context");
  for (const auto &[thread, stack] : contextStacks)
    leaks.insert(leaks.end(), stack.size(), "current context");
  return leaks;
}

CUstream FakeDriver::stream() {
  std::lock_guard lock(mutex);
  auto stream = std::make_unique<Stream>();
  auto handle = reinterpret_cast<CUstream>(stream.get());
  callerStreams.emplace(handle, std::move(stream));
  return handle;
}

void FakeDriver::beginCapture(CUstream handle) {
  std::lock_guard lock(mutex);
  Stream *stream = streamOf(handle);
  stream->capture = std::make_unique<FakeGraph>();
  stream->captureDependencies.clear();
  stream->isBroken = false;
}

std::shared_ptr<const FakeGraph> FakeDriver::endCapture(CUstream handle) {
  std::lock_guard lock(mutex);
  Stream *stream = streamOf(handle);
  std::unique_ptr<FakeGraph> captured = std::move(stream->capture);
  return stream->isBroken ? nullptr : std::move(captured);
}

/// Breaks every capture under way where this thread calls what the real driver was seen to take
/// amiss meanwhile, and has not said that it knows better.
void FakeDriver::disturbCaptures(std::string_view function) {
  static constexpr std::string_view kUnsafe[] = {"cuMemAlloc",
                                                 "cuMemFree",
                                                 "cuModuleUnload",
                                                 "cuEventSynchronize",
                                                 "cuEventQuery",
                                                 "cuStreamSynchronize",
                                                 "cuGraphInstantiateWithFlags",
                                                 "cuGraphExecDestroy"};
  auto mode = captureModes.find(std::this_thread::get_id());
  if (mode != captureModes.end() && mode->second == CU_STREAM_CAPTURE_MODE_RELAXED)
    return;
  if (std::find(std::begin(kUnsafe), std::end(kUnsafe), function) != std::end(kUnsafe))
    for (auto &[handle, stream] : callerStreams)
      stream->isBroken = true;
}

void FakeDriver::launch(const FakeGraph &graph) {
  std::lock_guard lock(mutex);
  graph.run([this](const FakeKernelCall &call) { runKernel(call); });
}

FakeDriver::Stream *FakeDriver::streamOf(CUstream handle) {
  if (auto found = streams.find(handle); found != streams.end())
    return found->second.get();
  if (auto found = callerStreams.find(handle); found != callerStreams.end())
    return found->second.get();
  return nullptr;
}

CUresult FakeDriver::allocate(CUdeviceptr *address, size_t bytes) {
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes > device.memoryBytes - allocatedBytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  constexpr size_t kAlignment = 512; // the real driver's
  Memory held = {std::vector<std::byte>(bytes + kAlignment, std::byte(0xA5)), bytes};
  auto base = reinterpret_cast<CUdeviceptr>(held.room.data());
  *address = (base + kAlignment - 1) / kAlignment * kAlignment;
  memory.emplace(*address, std::move(held));
  allocatedBytes += bytes;
  return CUDA_SUCCESS;
}

CUresult FakeDriver::free(CUdeviceptr address) {
  auto found = memory.find(address);
  if (found == memory.end())
    return CUDA_ERROR_INVALID_VALUE;
  allocatedBytes -= found->second.bytes;
  memory.erase(found);
  return CUDA_SUCCESS;
}

bool FakeDriver::isMemory(CUdeviceptr address, size_t bytes) const {
  auto after = memory.upper_bound(address);
  if (after == memory.begin())
    return false;
  const auto &[base, held] = *std::prev(after);
  return address - base <= held.bytes && bytes <= held.bytes - (address - base);
}

FakeNode *FakeDriver::appendCaptured(Stream &stream, std::unique_ptr<FakeNode> node) {
  for (CUgraphNode dependency : stream.captureDependencies)
    node->dependencies.push_back(
        {stream.capture->indexOf(reinterpret_cast<FakeNode *>(dependency)), {}});
  FakeNode *added = stream.capture->add(std::move(node));
  stream.captureDependencies = {reinterpret_cast<CUgraphNode>(added)};
  return added;
}

CUresult FakeDriver::copy(void *target, const void *source, size_t bytes, CUstream stream) {
  return onStream([=] { std::memcpy(target, source, bytes); }, stream);
}

/// Does the work, or puts it into what the stream is capturing.
CUresult FakeDriver::onStream(std::function<void()> work, CUstream handle) {
  Stream *stream = streamOf(handle);
  if (stream == nullptr || !stream->capture) {
    work();
    return CUDA_SUCCESS;
  }
  auto node = std::make_unique<FakeNode>();
  node->type = CU_GRAPH_NODE_TYPE_MEMCPY;
  node->copy = std::move(work);
  appendCaptured(*stream, std::move(node));
  return CUDA_SUCCESS;
}

CUresult FakeDriver::fillCall(FakeKernelCall &call, CUfunction handle, void **parameters) {
  const auto *function = reinterpret_cast<const Function *>(handle);
  call.entry = function->entry;
  if (call.sharedBytes > static_cast<unsigned>(function->maxSharedBytes))
    return CUDA_ERROR_INVALID_VALUE;
  for (int axis = 0; axis < 3; ++axis)
    if (call.grid[axis] == 0 || call.block[axis] == 0)
      return CUDA_ERROR_INVALID_VALUE;
  const FakeKernel &kernel = kernels.at(call.entry);
  call.parameters.clear();
  for (size_t i = 0; i < kernel.parameterBytes.size(); ++i) {
    const auto *bytes = static_cast<const std::byte *>(parameters[i]);
    call.parameters.emplace_back(bytes, bytes + kernel.parameterBytes[i]);
  }
  return CUDA_SUCCESS;
}

CUresult FakeDriver::fillCall(FakeKernelCall &call, const CUDA_KERNEL_NODE_PARAMS &parameters) {
  call.grid = {parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ};
  call.block = {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ};
  call.sharedBytes = parameters.sharedMemBytes;
  return fillCall(call, parameters.func, parameters.kernelParams);
}

/// What a node does that is no kernel; false where its parameters make no sense.
bool FakeDriver::fillNode(FakeNode &node, const CUgraphNodeParams &parameters) {
  if (node.type == CU_GRAPH_NODE_TYPE_MEMSET) {
    const CUDA_MEMSET_NODE_PARAMS_v2 &set = parameters.memset;
    if (set.elementSize != 1 || set.height != 1 || !isMemory(set.dst, set.width))
      return false;
    node.copy = [set] {
      std::memset(reinterpret_cast<void *>(set.dst), static_cast<int>(set.value), set.width);
    };
    return true;
  }
  const CUDA_MEMCPY3D &move = parameters.memcpy.copyParams;
  if (move.srcMemoryType != CU_MEMORYTYPE_DEVICE || move.dstMemoryType != CU_MEMORYTYPE_DEVICE ||
      move.Height != 1 || move.Depth != 1 || !isMemory(move.srcDevice, move.WidthInBytes) ||
      !isMemory(move.dstDevice, move.WidthInBytes))
    return false;
  node.copy = [move] {
    std::memcpy(reinterpret_cast<void *>(move.dstDevice),
                reinterpret_cast<const void *>(move.srcDevice), move.WidthInBytes);
  };
  return true;
}

void FakeDriver::runKernel(const FakeKernelCall &call) {
  ranKernels.push_back(call);
  if (kernelTimes)
    kernelTime += std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double, std::micro>(kernelTimes(call)));
  if (const FakeKernel &kernel = kernels.at(call.entry); kernel.compute)
    kernel.compute(call);
}

CUresult FakeDriver::addNode(FakeGraph &graph, std::unique_ptr<FakeNode> node,
                             const CUgraphNode *from, const CUgraphEdgeData *edges, size_t count,
                             CUgraphNode *added) {
  for (size_t i = 0; i < count; ++i) {
    const auto *source = reinterpret_cast<const FakeNode *>(from[i]);
    size_t index = graph.indexOf(source);
    CUgraphEdgeData edge = edges ? edges[i] : CUgraphEdgeData{};
    bool isProgrammatic = edge.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    bool areKernels =
        node->type == CU_GRAPH_NODE_TYPE_KERNEL && source->type == CU_GRAPH_NODE_TYPE_KERNEL;
    if (index == graph.nodes.size() || edge.to_port != 0 ||
        isProgrammatic != (edge.from_port != CU_GRAPH_KERNEL_NODE_PORT_DEFAULT) ||
        (isProgrammatic && (!areKernels || device.computeCapability < 90)))
      return CUDA_ERROR_INVALID_VALUE;
    node->dependencies.push_back({index, edge});
  }
  *added = reinterpret_cast<CUgraphNode>(graph.add(std::move(node)));
  return CUDA_SUCCESS;
}

CUresult FakeDriver::instantiate(CUgraphExec *handle, const FakeGraph &graph) {
  auto exec = std::make_unique<FakeGraphExec>();
  for (const auto &node : graph.nodes) {
    for (int axis = 0; axis < 3; ++axis)
      if (node->kernel.cluster[axis] != 0 &&
          node->kernel.grid[axis] % node->kernel.cluster[axis] != 0)
        return CUDA_ERROR_INVALID_VALUE;
    exec->sources.push_back(node.get());
  }
  exec->graph = graph.clone();
  instantiated = graph.clone();
  *handle = reinterpret_cast<CUgraphExec>(exec.get());
  execs.emplace(*handle, std::move(exec));
  return CUDA_SUCCESS;
}

FakeNode *FakeDriver::execNodeOf(CUgraphExec handle, CUgraphNode source) {
  auto found = execs.find(handle);
  if (found == execs.end())
    return nullptr;
  const auto &sources = found->second->sources;
  auto position = std::find(sources.begin(), sources.end(), reinterpret_cast<FakeNode *>(source));
  if (position == sources.end())
    return nullptr;
  return found->second->graph->nodes[static_cast<size_t>(position - sources.begin())].get();
}

void FakeDriver::joinHostFunctions() {
  for (std::thread &function : hostFunctions)
    function.join();
  hostFunctions.clear();
}

} // namespace smelt::runtime
