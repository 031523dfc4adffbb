// The CUDA graph of one schedule: built node by node once, launched many times, updated in place
// when buffers move or when another shape runs the same kernels.
#pragma once

#include "runtime/engine.h"
#include "runtime/schedule.h"

#include <span>

namespace smelt::runtime {

class ModelGraph {
public:
  ModelGraph(SharedEngine engine, Schedule schedule)
      : engine(std::move(engine)), planned(std::move(schedule)) {}
  ~ModelGraph();
  ModelGraph(const ModelGraph &) = delete;

  const Schedule &schedule() const { return planned; }

  /// Whether a schedule runs the same launches in the same order as this graph's.
  bool fits(const Schedule &schedule) const;

  /// Exchanges the schedule for one that fits. rebuild() must follow. Memory that is kept for the
  /// shape is kept for the next where it is large enough.
  void take(Schedule schedule) { planned = std::move(schedule); }

  /// Memory for what the shape's launches compute once. The former content must not be in use.
  Status provideShapeMemory();
  uint64_t shapeAddress() const { return shapeMemory.address(); }
  uint64_t shapeMemoryBytes() const { return shapeMemory.bytes(); }

  /// Builds and instantiates the graph with these addresses of Program.buffers, or updates the one
  /// that there is. Edges are programmatic where the launch allows it and the device can (sm_90 and
  /// later). After a failure the graph is of no use.
  Status rebuild(std::span<const uint64_t> addresses);

  /// Runs what a shape computes once.
  Status runOnce(std::span<const uint64_t> addresses, CUstream stream);

  /// Launches on a stream that is not capturing, after updating the nodes whose buffers moved.
  Status launch(std::span<const uint64_t> addresses, CUstream stream);

  /// Appends to what a stream is capturing, as a child graph. `capture` and `dependencies` are what
  /// cuStreamGetCaptureInfo says of the stream.
  Status addTo(CUgraph capture, std::span<const CUgraphNode> dependencies,
               std::span<const uint64_t> addresses, CUstream stream);

  /// Where a line of launches ends, so far.
  struct LineEnd {
    CUgraphNode node = nullptr; ///< null: nowhere, the line begins
    bool isKernel = false;
  };
  /// Appends the launches to a line in another graph, which the engine must outlive. Edges as rebuild() makes them.
  Status appendTo(CUgraph other, LineEnd &end, std::span<const uint64_t> addresses);

  /// Runs schedule().launches[index] by itself, outside the graph; for measurements.
  Status launchOne(size_t index, std::span<const uint64_t> addresses, CUstream stream);

private:
  /// A graph has two faces that hold parameters of their own: the template, which children are
  /// cloned from, and the executable. `addresses` is empty where parameters are not those of the
  /// schedule.
  struct Face {
    bool isTemplate;
    std::vector<uint64_t> addresses = {};
  };

  Status create(std::span<const uint64_t> addresses);
  Status addNode(size_t index);
  Result<CUgraphNode> addNodeTo(CUgraph target, size_t index, std::span<const LineEnd> earlier,
                                std::span<const uint64_t> addresses);
  Status setCluster(CUgraphNode node, const plan::KernelNodeT &kernel) const;
  Status update(Face &face, std::span<const uint64_t> addresses);
  Status updateNode(const Face &face, size_t index, std::span<const uint64_t> addresses);
  Status runAlone(const ScheduledLaunch &launch, std::span<const uint64_t> addresses,
                  CUstream stream);
  Status launchKernel(const ScheduledLaunch &launch, CUstream stream);
  Status setAddresses(const ScheduledLaunch &launch, std::span<const uint64_t> addresses);
  bool hasMoved(const ScheduledLaunch &launch, std::span<const uint64_t> known,
                std::span<const uint64_t> addresses) const;
  CUDA_KERNEL_NODE_PARAMS kernelParameters(const ScheduledLaunch &launch);
  CUgraphNodeParams nodeParameters(const ScheduledLaunch &launch,
                                   std::span<const uint64_t> addresses);
  uint64_t addressOf(const plan::Place &place, std::span<const uint64_t> addresses) const;
  const PlannedLaunch &plannedOf(const ScheduledLaunch &launch) const {
    return engine->launches()[launch.id];
  }
  const std::string &labelOf(size_t index) const {
    return plannedOf(planned.launches[index]).label;
  }
  const DriverApi &api() const { return engine->api(); }

  SharedEngine engine;
  Schedule planned;
  DeviceMemory shapeMemory;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  std::vector<CUgraphNode> nodes; ///< of each of the schedule's launches
  Face templateFace{true}, executableFace{false};
  std::vector<void *> parameterPointers; ///< scratch that outlives driver calls
};

} // namespace smelt::runtime
