#include "runtime/graph.h"

#include "runtime/nvtx.h"
#include "runtime/text.h"

#include <algorithm>

namespace smelt::runtime {

constexpr int kFirstProgrammaticCapability = 90;

Result<std::unique_ptr<ModelGraph>> ModelGraph::build(SharedEngine engine, Schedule schedule,
                                                      std::span<const uint64_t> addresses) {
  std::unique_ptr<ModelGraph> built(new ModelGraph(std::move(engine), std::move(schedule)));
  SMELT_RETURN_IF_ERROR(built->create(addresses));
  return built;
}

ModelGraph::~ModelGraph() {
  Result<CurrentContext> current = CurrentContext::enter(*engine->device());
  RelaxedCapture relaxed(api());
  if (executable != nullptr)
    api().cuGraphExecDestroy(executable);
  if (graph != nullptr)
    api().cuGraphDestroy(graph);
}

Status ModelGraph::create(std::span<const uint64_t> addresses) {
  SMELT_RETURN_IF_CUDA_ERROR(api(), "creating the CUDA graph", cuGraphCreate, &graph, 0);
  for (size_t i = 0; i < plannedLaunches.launches.size(); ++i) {
    plannedLaunches.launches[i].setAddresses(addresses);
    SMELT_RETURN_IF_ERROR(addLaunch(i));
  }
  SMELT_RETURN_IF_CUDA_ERROR(api(), "instantiating the CUDA graph", cuGraphInstantiateWithFlags,
                             &executable, graph, 0);
  templateAddresses.assign(addresses.begin(), addresses.end());
  executableAddresses = templateAddresses;
  return {};
}

/// An edge that lets the later kernel start before the earlier one has ended; it waits by itself.
static CUgraphEdgeData programmaticEdge() {
  CUgraphEdgeData edge = {};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  return edge;
}

Status ModelGraph::addLaunch(size_t index) {
  const plan::LaunchT &planned = *engine->program().launches[index];
  const ScheduledLaunch &launch = plannedLaunches.launches[index];
  bool canOverlap = planned.programmatic && !launch.isEmpty &&
                    engine->device()->computeCapability() >= kFirstProgrammaticCapability;
  std::vector<CUgraphNode> dependencies;
  std::vector<CUgraphEdgeData> edges;
  for (uint32_t earlier : planned.depends_on) {
    dependencies.push_back(nodes[earlier]);
    bool overlaps = canOverlap && !plannedLaunches.launches[earlier].isEmpty;
    edges.push_back(overlaps ? programmaticEdge() : CUgraphEdgeData{});
  }
  CUgraphNodeParams parameters = {};
  parameters.type = CU_GRAPH_NODE_TYPE_EMPTY;
  if (!launch.isEmpty) {
    CUDA_KERNEL_NODE_PARAMS kernel = nodeParameters(launch);
    static_assert(sizeof(kernel) == sizeof(parameters.kernel));
    std::memcpy(&parameters.kernel, &kernel, sizeof(kernel));
    parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
  }
  NvtxRange range(labelOf(index));
  CUgraphNode node = nullptr;
  SMELT_RETURN_IF_CUDA_ERROR(api(), joinText("adding ", labelOf(index), " to the CUDA graph"),
                             cuGraphAddNode, &node, graph, dependencies.data(), edges.data(),
                             dependencies.size(), &parameters);
  nodes.push_back(node);
  return setCluster(node, launch);
}

Status ModelGraph::setCluster(CUgraphNode node, const ScheduledLaunch &launch) const {
  if (launch.isEmpty || launch.cluster[0] == 0)
    return {};
  CUkernelNodeAttrValue value = {};
  value.clusterDim.x = launch.cluster[0];
  value.clusterDim.y = launch.cluster[1];
  value.clusterDim.z = launch.cluster[2];
  SMELT_RETURN_IF_CUDA_ERROR(api(), "setting the cluster of a kernel",
                             cuGraphKernelNodeSetAttribute, node,
                             CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value);
  return {};
}

CUDA_KERNEL_NODE_PARAMS ModelGraph::nodeParameters(const ScheduledLaunch &launch) {
  parameterPointers.clear();
  for (const uint64_t &cell : launch.cells)
    parameterPointers.push_back(const_cast<uint64_t *>(&cell));
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  parameters.func = engine->function(launch.kernel);
  parameters.gridDimX = launch.grid[0];
  parameters.gridDimY = launch.grid[1];
  parameters.gridDimZ = launch.grid[2];
  parameters.blockDimX = launch.block[0];
  parameters.blockDimY = launch.block[1];
  parameters.blockDimZ = launch.block[2];
  parameters.sharedMemBytes = launch.sharedBytes;
  parameters.kernelParams = parameterPointers.data();
  return parameters;
}

Status ModelGraph::update(Face face, std::span<const uint64_t> addresses) {
  std::vector<uint64_t> &known = addressesOf(face);
  if (std::equal(known.begin(), known.end(), addresses.begin(), addresses.end()))
    return {};
  for (size_t i = 0; i < plannedLaunches.launches.size(); ++i) {
    Status updated = updateLaunch(face, i, addresses);
    if (!updated.isOk()) {
      known.clear(); // half of the nodes moved: the next update sets them all
      return updated;
    }
  }
  known.assign(addresses.begin(), addresses.end());
  return {};
}

Status ModelGraph::updateLaunch(Face face, size_t index, std::span<const uint64_t> addresses) {
  ScheduledLaunch &launch = plannedLaunches.launches[index];
  const std::vector<uint64_t> &known = addressesOf(face);
  auto moved = [&](const ScheduledLaunch::Pointer &pointer) {
    return known.empty() || known[pointer.buffer] != addresses[pointer.buffer];
  };
  if (launch.isEmpty || std::none_of(launch.pointers.begin(), launch.pointers.end(), moved))
    return {};
  launch.setAddresses(addresses);
  CUDA_KERNEL_NODE_PARAMS parameters = nodeParameters(launch);
  if (face == Face::kTemplate)
    SMELT_RETURN_IF_CUDA_ERROR(api(), "moving buffers of " + labelOf(index),
                               cuGraphKernelNodeSetParams, nodes[index], &parameters);
  else
    SMELT_RETURN_IF_CUDA_ERROR(api(), "moving buffers of " + labelOf(index),
                               cuGraphExecKernelNodeSetParams, executable, nodes[index],
                               &parameters);
  return {};
}

Status ModelGraph::launch(std::span<const uint64_t> addresses, CUstream stream) {
  SMELT_RETURN_IF_ERROR(update(Face::kExecutable, addresses));
  SMELT_RETURN_IF_CUDA_ERROR(api(), "running '" + engine->metadata().model_name + "'",
                             cuGraphLaunch, executable, stream);
  return {};
}

Status ModelGraph::addTo(CUgraph capture, std::span<const CUgraphNode> dependencies,
                         std::span<const uint64_t> addresses, CUstream stream) {
  SMELT_RETURN_IF_ERROR(update(Face::kTemplate, addresses));
  CUgraphNode node = nullptr;
  SMELT_RETURN_IF_CUDA_ERROR(api(), "adding the model to the stream's capture",
                             cuGraphAddChildGraphNode, &node, capture, dependencies.data(),
                             dependencies.size(), graph);
  SMELT_RETURN_IF_CUDA_ERROR(api(), "ordering the model within the stream's capture",
                             cuStreamUpdateCaptureDependencies, stream, &node, nullptr, 1,
                             CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  return {};
}

Status ModelGraph::launchOne(size_t index, std::span<const uint64_t> addresses, CUstream stream) {
  ScheduledLaunch &launch = plannedLaunches.launches[index];
  if (launch.isEmpty)
    return {};
  launch.setAddresses(addresses);
  NvtxRange range(labelOf(index));
  CUDA_KERNEL_NODE_PARAMS node = nodeParameters(launch);
  CUlaunchAttribute cluster = {};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = launch.cluster[0];
  cluster.value.clusterDim.y = launch.cluster[1];
  cluster.value.clusterDim.z = launch.cluster[2];
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
  config.numAttrs = launch.cluster[0] != 0 ? 1 : 0;
  SMELT_RETURN_IF_CUDA_ERROR(api(), "running " + labelOf(index), cuLaunchKernelEx, &config,
                             node.func, node.kernelParams, nullptr);
  return {};
}

std::string ModelGraph::labelOf(size_t index) const {
  const plan::LaunchT &launch = *engine->program().launches[index];
  std::string label;
  for (const std::string &node : launch.onnx_nodes)
    label += (label.empty() ? "" : " ") + node;
  return label.empty() ? launch.name : label;
}

} // namespace smelt::runtime
