// One run of an engine's model at a time: shapes, bindings, workspace and graphs.
#pragma once

#include "runtime/bindings.h"
#include "runtime/context_options.h"
#include "runtime/engine.h"
#include "runtime/graph.h"
#include "runtime/retired_owners.h"

#include <atomic>
#include <list>
#include <optional>

namespace smelt::runtime {

/// Cheap; make one for each concurrent run. Not for several threads at once, which is noticed and
/// refused. At most one run may be in flight: order runs on one stream, or wait for the former.
/// Destroying a context waits for its last enqueue() alone.
///
/// Set shapes, bind tensors, prepare() once for the shapes, then enqueue() any number of times.
/// Bound memory may change between runs without preparing again, as long as host memory is not
/// bound where device memory was, and capacities stay. What keeps it (Binding::owner) is dropped in a
/// later call, once the runs that may use it are over; that of captured runs with the context.
///
/// An output may take over the memory of an input (plan::TensorT::alias), such as a cache that
/// grows. Bound to the same device address, it is updated in place. Bound elsewhere, the input is
/// copied there first and stays as it is. Any other overlap of device memory in which something is
/// written is refused.
class Context {
public:
  using Stream = CUstream;

  static Result<std::unique_ptr<Context>> create(SharedEngine engine,
                                                 const ContextOptions &options);
  ~Context();
  Context(const Context &) = delete;

  const Engine &engine() const { return *sharedEngine; }
  const plan::MetadataT &metadata() const { return engine().metadata(); }
  const Logger &logger() const { return options.logger ? *options.logger : engine().logger(); }

  /// Inputs whose shape is fixed in the model need no call.
  Status setInputShape(const std::string &name, const Shape &shape);
  Status bindInput(const std::string &name, const Binding &binding);
  Status bindOutput(const std::string &name, const Binding &binding);

  /// Needs the shapes of all inputs, nothing else.
  Result<Shape> outputShape(const std::string &name);

  /// Bytes that the current shapes and bindings take: intermediate values, and copies of tensors
  /// bound to host memory.
  Result<uint64_t> workspaceBytes();

  /// Device memory of the caller to use instead of the context's own, aligned to
  /// plan::kWeightBytes; null gives it back. prepare() must follow.
  Status setWorkspace(void *data, uint64_t bytes);

  /// Makes the current shapes ready to run: allocates and builds what is missing, and computes what
  /// depends on the shapes alone. May wait for this context's former run. Nothing happens when
  /// everything is ready.
  Status prepare();

  /// Runs the model on the stream: copies from host memory, one graph launch, copies to host
  /// memory. Allocates no device memory and waits for nothing. Host memory that is not page-locked
  /// may make the driver wait on its own.
  ///
  /// A capturing stream gets the run as a child graph. The captured run uses this context's
  /// workspace, so the context must outlive it and not prepare larger shapes meanwhile.
  Status enqueue(CUstream stream);

  /// prepare(), enqueue(), and waits until the outputs are there. A capturing stream is refused.
  Status run(CUstream stream);

  /// Waits until the run that was enqueued last is done.
  Status wait();

  /// The graph that the next enqueue launches, and the addresses it uses; for measurements, after
  /// prepare().
  struct Ready {
    ModelGraph *graph;
    std::span<const uint64_t> addresses;
  };
  Result<Ready> ready();

private:
  /// A graph and the shapes and capacities that it was made for.
  struct Known {
    std::vector<Shape> shapes;
    std::vector<int64_t> capacities;
    std::unique_ptr<ModelGraph> graph;
    uint64_t weightsVersion = 0; ///< of the weights that the launches saw that run once
  };

  Context(SharedEngine engine, const ContextOptions &options);
  Status createEvent();
  Status waitForLastRun();
  void retireOwners();
  Status bind(bool isInput, const std::string &name, const Binding &binding);
  void forgetSizes();
  bool isCurrent(const Known &known) const;
  Known currentSizes() const;
  Status solve();
  ModelGraph *cachedGraph();
  Result<const Schedule *> currentSchedule();
  Result<uint64_t> layOutWorkspace(bool commit);
  Status provideWorkspace(uint64_t bytes);
  Status selectGraph();
  std::list<Known>::iterator findVictim();
  Status forgetLargeShapes();
  Status makeReady(ModelGraph &graph);
  Status prepareTurn();
  Status prepareShape();
  Status enqueueTurn(CUstream stream);
  Status checkBindings();
  void fillAddresses(const ModelGraph &graph);
  MemoryRange callerMemory() const;
  uint64_t workspaceAddress() const;
  Status refreshOnce(CUstream stream, bool isCaptured);
  Status launch(CUstream stream, bool isCaptured);
  Status issue(CUstream stream, bool isCaptured);

  SharedEngine sharedEngine;
  ContextOptions options;
  Bindings bindings;
  std::shared_ptr<const ShapeValues> values; ///< of the current shapes, once solved
  std::optional<Schedule> pending;           ///< of the current shapes, until its graph is built
  std::list<Known> graphs;                   ///< the most recently used first
  bool isPrepared = false;                   ///< graphs.front() is of the current shapes
  bool isChecked = false;    ///< bindings, and `addresses` holds what they and the graph make of it
  CUevent lastRun = nullptr; ///< recorded behind each run that is not captured
  bool hasEnqueued = false;  ///< the device may still use the workspace, until lastRun
  RetiredOwners retired;
  DeviceMemory ownWorkspace;
  uint64_t callerWorkspace = 0, callerWorkspaceBytes = 0;
  std::vector<uint64_t> addresses; ///< of Program.buffers
  std::atomic_flag busy;
};

} // namespace smelt::runtime
