// The CUDA graph of one schedule: built node by node once, launched many times, updated in place
// when buffers move.
#pragma once

#include "runtime/engine.h"
#include "runtime/schedule.h"

#include <span>

namespace smelt::runtime {

class ModelGraph {
public:
  /// Builds and instantiates the graph with these addresses of Program.buffers. Edges are
  /// programmatic where the launch allows it and the device can (sm_90 and later).
  static Result<std::unique_ptr<ModelGraph>> build(SharedEngine engine, Schedule schedule,
                                                   std::span<const uint64_t> addresses);
  ~ModelGraph();
  ModelGraph(const ModelGraph &) = delete;

  const Schedule &schedule() const { return plannedLaunches; }

  /// Launches on a stream that is not capturing, after updating the nodes whose buffers moved.
  Status launch(std::span<const uint64_t> addresses, CUstream stream);

  /// Appends to what a stream is capturing, as a child graph. `capture` and `dependencies` are what
  /// cuStreamGetCaptureInfo says of the stream.
  Status addTo(CUgraph capture, std::span<const CUgraphNode> dependencies,
               std::span<const uint64_t> addresses, CUstream stream);

  /// Runs one launch by itself, outside the graph; for measurements.
  Status launchOne(size_t index, std::span<const uint64_t> addresses, CUstream stream);

  /// What profilers and messages call a launch: its ONNX nodes.
  std::string labelOf(size_t index) const;

private:
  /// A graph has two faces that hold parameters of their own: the template, which children are
  /// cloned from, and the executable.
  enum class Face { kTemplate, kExecutable };

  ModelGraph(SharedEngine engine, Schedule schedule)
      : engine(std::move(engine)), plannedLaunches(std::move(schedule)) {}

  Status create(std::span<const uint64_t> addresses);
  Status addLaunch(size_t index);
  Status setCluster(CUgraphNode node, const ScheduledLaunch &launch) const;
  Status update(Face face, std::span<const uint64_t> addresses);
  Status updateLaunch(Face face, size_t index, std::span<const uint64_t> addresses);
  CUDA_KERNEL_NODE_PARAMS nodeParameters(const ScheduledLaunch &launch);
  std::vector<uint64_t> &addressesOf(Face face) {
    return face == Face::kTemplate ? templateAddresses : executableAddresses;
  }
  const DriverApi &api() const { return engine->api(); }

  SharedEngine engine;
  Schedule plannedLaunches;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  std::vector<CUgraphNode> nodes;          ///< of each launch
  std::vector<uint64_t> templateAddresses; ///< empty when not known
  std::vector<uint64_t> executableAddresses;
  std::vector<void *> parameterPointers; ///< scratch that outlives driver calls
};

} // namespace smelt::runtime
