#include "runtime/graph.h"

#include "runtime/nvtx.h"
#include "runtime/tensor_map.h"
#include "runtime/text.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace smelt::runtime {

/// Shapes of similar size can follow each other in the same memory.
constexpr uint64_t kMinShapeMemoryBytes = uint64_t(64) << 10;

ModelGraph::~ModelGraph() {
  if (graph == nullptr)
    return;
  Result<CurrentContext> current = CurrentContext::enter(*engine->device());
  RelaxedCapture relaxed(api());
  if (executable != nullptr)
    api().cuGraphExecDestroy(executable);
  api().cuGraphDestroy(graph);
}

bool ModelGraph::fits(const Schedule &schedule) const {
  auto isSame = [](const ScheduledLaunch &a, const ScheduledLaunch &b) { return a.id == b.id; };
  return std::equal(planned.launches.begin(), planned.launches.end(), schedule.launches.begin(),
                    schedule.launches.end(), isSame);
}

Status ModelGraph::provideShapeMemory() {
  if (planned.shapeBytes <= shapeMemory.bytes())
    return {};
  uint64_t bytes = std::max(std::bit_ceil(planned.shapeBytes), kMinShapeMemoryBytes);
  shapeMemory = DeviceMemory();
  SMELT_ASSIGN_OR_RETURN(shapeMemory,
                         DeviceMemory::allocate(engine->device(), engine->allocator(), bytes,
                                                "values that are kept for a shape"));
  return {};
}

Status ModelGraph::rebuild(std::span<const uint64_t> addresses) {
  if (executable == nullptr)
    return create(addresses);
  templateFace.addresses.clear();
  executableFace.addresses.clear();
  SMELT_RETURN_IF_ERROR(update(executableFace, addresses));
  return {};
}

Status ModelGraph::create(std::span<const uint64_t> addresses) {
  SMELT_RETURN_IF_CUDA_ERROR(api(), "creating the CUDA graph", cuGraphCreate, &graph, 0);
  nodes.reserve(planned.launches.size());
  templateFace.addresses.assign(addresses.begin(), addresses.end());
  for (size_t i = 0; i < planned.launches.size(); ++i) {
    SMELT_RETURN_IF_ERROR(setAddresses(planned.launches[i], addresses));
    SMELT_RETURN_IF_ERROR(addNode(i));
  }
  SMELT_RETURN_IF_CUDA_ERROR(api(), "instantiating the CUDA graph", cuGraphInstantiateWithFlags,
                             &executable, graph, 0);
  executableFace.addresses = templateFace.addresses;
  return {};
}

/// An edge that lets the later kernel start before the earlier one has ended; it waits by itself.
static CUgraphEdgeData programmaticEdge() {
  CUgraphEdgeData edge = {};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  return edge;
}

Status ModelGraph::addNode(size_t index) {
  const ScheduledLaunch &launch = planned.launches[index];
  std::vector<LineEnd> earlier;
  for (uint32_t i = 0; i < launch.dependencyCount; ++i) {
    uint32_t number = planned.dependencies[launch.firstDependency + i];
    earlier.push_back({nodes[number], plannedOf(planned.launches[number]).kernel() != nullptr});
  }
  SMELT_ASSIGN_OR_RETURN(CUgraphNode node,
                         addNodeTo(graph, index, earlier, templateFace.addresses));
  nodes.push_back(node);
  return {};
}

Result<CUgraphNode> ModelGraph::addNodeTo(CUgraph target, size_t index,
                                          std::span<const LineEnd> earlier,
                                          std::span<const uint64_t> addresses) {
  const ScheduledLaunch &launch = planned.launches[index];
  const plan::KernelNodeT *kernel = plannedOf(launch).kernel();
  bool canOverlap =
      kernel != nullptr && kernel->programmatic && engine->device()->startsKernelsEarly();
  std::vector<CUgraphNode> dependencies;
  std::vector<CUgraphEdgeData> edges;
  for (const LineEnd &each : earlier) {
    dependencies.push_back(each.node);
    edges.push_back(canOverlap && each.isKernel ? programmaticEdge() : CUgraphEdgeData{});
  }
  CUgraphNodeParams parameters = nodeParameters(launch, addresses);
  NvtxRange range(labelOf(index));
  CUgraphNode node = nullptr;
  SMELT_RETURN_IF_CUDA_ERROR(api(), joinText("adding ", labelOf(index), " to the CUDA graph"),
                             cuGraphAddNode, &node, target, dependencies.data(), edges.data(),
                             dependencies.size(), &parameters);
  if (kernel != nullptr)
    SMELT_RETURN_IF_ERROR(setCluster(node, *kernel));
  return node;
}

Status ModelGraph::appendTo(CUgraph other, LineEnd &end, std::span<const uint64_t> addresses) {
  for (size_t i = 0; i < planned.launches.size(); ++i) {
    SMELT_RETURN_IF_ERROR(setAddresses(planned.launches[i], addresses));
    std::span<const LineEnd> earlier(&end, end.node != nullptr ? 1 : 0);
    SMELT_ASSIGN_OR_RETURN(end.node, addNodeTo(other, i, earlier, addresses));
    end.isKernel = plannedOf(planned.launches[i]).kernel() != nullptr;
  }
  return {};
}

static bool hasCluster(const plan::KernelNodeT &kernel) {
  return uint64_t(kernel.cluster.x()) * kernel.cluster.y() * kernel.cluster.z() > 1;
}

Status ModelGraph::setCluster(CUgraphNode node, const plan::KernelNodeT &kernel) const {
  if (!hasCluster(kernel))
    return {};
  CUkernelNodeAttrValue value = {};
  value.clusterDim.x = kernel.cluster.x();
  value.clusterDim.y = kernel.cluster.y();
  value.clusterDim.z = kernel.cluster.z();
  SMELT_RETURN_IF_CUDA_ERROR(api(), "setting the cluster of a kernel",
                             cuGraphKernelNodeSetAttribute, node,
                             CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value);
  return {};
}

uint64_t ModelGraph::addressOf(const plan::Place &place,
                               std::span<const uint64_t> addresses) const {
  uint64_t start = addresses[place.buffer()];
  if (place.offset() == plan::kNone)
    return start;
  return start + static_cast<uint64_t>(planned.shapes->dims[place.offset()]);
}

/// Fills in those parameters of a kernel that hold addresses.
Status ModelGraph::setAddresses(const ScheduledLaunch &launch,
                                std::span<const uint64_t> addresses) {
  const PlannedLaunch &shared = plannedOf(launch);
  const plan::KernelNodeT *kernel = shared.kernel();
  if (kernel == nullptr)
    return {};
  for (size_t i = 0; i < kernel->arguments.size(); ++i) {
    const plan::Argument &argument = kernel->arguments[i];
    if (argument.kind() == plan::ArgumentKind::pointer) {
      uint64_t address = addressOf({argument.index(), argument.detail()}, addresses);
      std::memcpy(planned.parametersOf(launch) + shared.offsets[i], &address, sizeof(address));
    } else if (argument.kind() == plan::ArgumentKind::tensor_map) {
      const plan::TensorMapT &map = *kernel->tensor_maps[argument.index()];
      SMELT_RETURN_IF_ERROR(encodeTensorMap(api(), map, planned.shapes->dims, addresses[map.buffer],
                                            planned.parametersOf(launch) + shared.offsets[i]));
    }
  }
  return {};
}

CUDA_KERNEL_NODE_PARAMS ModelGraph::kernelParameters(const ScheduledLaunch &launch) {
  const PlannedLaunch &shared = plannedOf(launch);
  const plan::KernelNodeT &kernel = *shared.kernel();
  parameterPointers.clear();
  for (uint32_t offset : shared.offsets)
    parameterPointers.push_back(planned.parametersOf(launch) + offset);
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  parameters.func = engine->function(kernel.kernel);
  parameters.gridDimX = launch.grid[0];
  parameters.gridDimY = launch.grid[1];
  parameters.gridDimZ = launch.grid[2];
  parameters.blockDimX = kernel.block.x();
  parameters.blockDimY = kernel.block.y();
  parameters.blockDimZ = kernel.block.z();
  parameters.sharedMemBytes = launch.sharedBytes;
  parameters.kernelParams = parameterPointers.data();
  return parameters;
}

CUgraphNodeParams ModelGraph::nodeParameters(const ScheduledLaunch &launch,
                                             std::span<const uint64_t> addresses) {
  const plan::NodeUnion &node = plannedOf(launch).launch->node;
  CUgraphNodeParams parameters = {};
  if (const plan::CopyNodeT *copy = node.AsCopyNode()) {
    parameters.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    parameters.memcpy.copyCtx = engine->device()->context();
    CUDA_MEMCPY3D &move = parameters.memcpy.copyParams;
    move.srcMemoryType = move.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    move.srcDevice = addressOf(copy->source, addresses);
    move.dstDevice = addressOf(copy->target, addresses);
    move.WidthInBytes = launch.bytes;
    move.Height = move.Depth = 1;
  } else if (const plan::SetNodeT *set = node.AsSetNode()) {
    parameters.type = CU_GRAPH_NODE_TYPE_MEMSET;
    parameters.memset.ctx = engine->device()->context();
    parameters.memset.dst = addressOf(set->target, addresses);
    parameters.memset.value = set->value;
    parameters.memset.elementSize = 1;
    parameters.memset.width = launch.bytes;
    parameters.memset.height = 1;
  } else {
    CUDA_KERNEL_NODE_PARAMS kernel = kernelParameters(launch);
    static_assert(sizeof(kernel) == sizeof(parameters.kernel));
    std::memcpy(&parameters.kernel, &kernel, sizeof(kernel));
    parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
  }
  return parameters;
}

Status ModelGraph::update(Face &face, std::span<const uint64_t> addresses) {
  if (std::equal(face.addresses.begin(), face.addresses.end(), addresses.begin(), addresses.end()))
    return {};
  for (size_t i = 0; i < planned.launches.size(); ++i) {
    Status updated = updateNode(face, i, addresses);
    if (!updated.isOk()) {
      face.addresses.clear(); // half of the nodes moved: the next update sets them all
      return updated;
    }
  }
  face.addresses.assign(addresses.begin(), addresses.end());
  return {};
}

bool ModelGraph::hasMoved(const ScheduledLaunch &launch, std::span<const uint64_t> known,
                          std::span<const uint64_t> addresses) const {
  auto moved = [&](uint32_t buffer) { return known[buffer] != addresses[buffer]; };
  const plan::NodeUnion &node = plannedOf(launch).launch->node;
  if (const plan::CopyNodeT *copy = node.AsCopyNode())
    return moved(copy->target.buffer()) || moved(copy->source.buffer());
  if (const plan::SetNodeT *set = node.AsSetNode())
    return moved(set->target.buffer());
  const plan::KernelNodeT &kernel = *node.AsKernelNode();
  return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                     [&](const plan::Argument &argument) {
                       return argument.kind() == plan::ArgumentKind::pointer &&
                              moved(argument.index());
                     }) ||
         std::any_of(kernel.tensor_maps.begin(), kernel.tensor_maps.end(),
                     [&](const auto &map) { return moved(map->buffer); });
}

Status ModelGraph::updateNode(const Face &face, size_t index, std::span<const uint64_t> addresses) {
  const ScheduledLaunch &launch = planned.launches[index];
  if (!face.addresses.empty() && !hasMoved(launch, face.addresses, addresses))
    return {};
  SMELT_RETURN_IF_ERROR(setAddresses(launch, addresses));
  if (plannedOf(launch).kernel() != nullptr) {
    CUDA_KERNEL_NODE_PARAMS parameters = kernelParameters(launch);
    if (face.isTemplate)
      SMELT_RETURN_IF_CUDA_ERROR(api(), "updating " + labelOf(index), cuGraphKernelNodeSetParams,
                                 nodes[index], &parameters);
    else
      SMELT_RETURN_IF_CUDA_ERROR(api(), "updating " + labelOf(index),
                                 cuGraphExecKernelNodeSetParams, executable, nodes[index],
                                 &parameters);
    return {};
  }
  CUgraphNodeParams parameters = nodeParameters(launch, addresses);
  if (face.isTemplate)
    SMELT_RETURN_IF_CUDA_ERROR(api(), "updating " + labelOf(index), cuGraphNodeSetParams,
                               nodes[index], &parameters);
  else
    SMELT_RETURN_IF_CUDA_ERROR(api(), "updating " + labelOf(index), cuGraphExecNodeSetParams,
                               executable, nodes[index], &parameters);
  return {};
}

Status ModelGraph::launch(std::span<const uint64_t> addresses, CUstream stream) {
  SMELT_RETURN_IF_ERROR(update(executableFace, addresses));
  SMELT_RETURN_IF_CUDA_ERROR(api(), "running '" + engine->metadata().model_name + "'",
                             cuGraphLaunch, executable, stream);
  return {};
}

Status ModelGraph::addTo(CUgraph capture, std::span<const CUgraphNode> dependencies,
                         std::span<const uint64_t> addresses, CUstream stream) {
  SMELT_RETURN_IF_ERROR(update(templateFace, addresses));
  CUgraphNode node = nullptr;
  SMELT_RETURN_IF_CUDA_ERROR(api(), "adding the model to the stream's capture",
                             cuGraphAddChildGraphNode, &node, capture, dependencies.data(),
                             dependencies.size(), graph);
  SMELT_RETURN_IF_CUDA_ERROR(api(), "ordering the model within the stream's capture",
                             cuStreamUpdateCaptureDependencies, stream, &node, nullptr, 1,
                             CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  return {};
}

Status ModelGraph::runOnce(std::span<const uint64_t> addresses, CUstream stream) {
  for (const ScheduledLaunch &launch : planned.once)
    SMELT_RETURN_IF_ERROR(runAlone(launch, addresses, stream));
  return {};
}

Status ModelGraph::launchOne(size_t index, std::span<const uint64_t> addresses, CUstream stream) {
  return runAlone(planned.launches[index], addresses, stream);
}

Status ModelGraph::runAlone(const ScheduledLaunch &launch, std::span<const uint64_t> addresses,
                            CUstream stream) {
  const PlannedLaunch &shared = plannedOf(launch);
  NvtxRange range(shared.label);
  const plan::NodeUnion &node = shared.launch->node;
  if (const plan::CopyNodeT *copy = node.AsCopyNode()) {
    SMELT_RETURN_IF_CUDA_ERROR(api(), "running " + shared.label, cuMemcpyDtoDAsync,
                               addressOf(copy->target, addresses),
                               addressOf(copy->source, addresses), launch.bytes, stream);
  } else if (const plan::SetNodeT *set = node.AsSetNode()) {
    SMELT_RETURN_IF_CUDA_ERROR(api(), "running " + shared.label, cuMemsetD8Async,
                               addressOf(set->target, addresses), set->value, launch.bytes, stream);
  } else {
    SMELT_RETURN_IF_ERROR(setAddresses(launch, addresses));
    return launchKernel(launch, stream);
  }
  return {};
}

Status ModelGraph::launchKernel(const ScheduledLaunch &launch, CUstream stream) {
  const plan::KernelNodeT &kernel = *plannedOf(launch).kernel();
  CUDA_KERNEL_NODE_PARAMS node = kernelParameters(launch);
  CUlaunchAttribute cluster = {};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = kernel.cluster.x();
  cluster.value.clusterDim.y = kernel.cluster.y();
  cluster.value.clusterDim.z = kernel.cluster.z();
  CUlaunchConfig config = {};
  config.gridDimX = node.gridDimX;
  config.gridDimY = node.gridDimY;
  config.gridDimZ = node.gridDimZ;
  config.blockDimX = node.blockDimX;
  config.blockDimY = node.blockDimY;
  config.blockDimZ = node.blockDimZ;
  config.sharedMemBytes = node.sharedMemBytes;
  config.hStream = stream;
  config.attrs = &cluster;
  config.numAttrs = hasCluster(kernel) ? 1 : 0;
  SMELT_RETURN_IF_CUDA_ERROR(api(), "running " + plannedOf(launch).label, cuLaunchKernelEx, &config,
                             node.func, node.kernelParams, nullptr);
  return {};
}

} // namespace smelt::runtime
