// A driver without a GPU: records calls, keeps device memory in host memory, runs kernels that are
// given as host functions, fails where it is told to, and knows what was never released.
#pragma once

#include "runtime/driver.h"
#include "runtime/fake_graph.h"
#include "runtime/plan_format.h"

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace smelt::runtime {

struct FakeDevice {
  int computeCapability = 90;            ///< ten times major plus minor
  size_t memoryBytes = size_t(16) << 30; ///< what cuMemAlloc hands out before it fails
};

/// What the fake knows of a kernel: its parameters, and optionally what it computes. Pointer
/// parameters are host pointers.
struct FakeKernel {
  std::vector<size_t> parameterBytes;
  std::function<void(const FakeKernelCall &)> compute;
};

/// Thread-safe. Everything that a call would do on a stream is done before the call returns.
class FakeDriver {
public:
  explicit FakeDriver(FakeDevice device = {});
  ~FakeDriver();
  FakeDriver(const FakeDriver &) = delete;

  /// The table to hand to an engine. The fake must outlive everything that uses it.
  Driver driver();

  void addKernel(const std::string &entry, FakeKernel kernel);
  /// The same, but a kernel that is known stays as it is.
  void addKernelIfNew(const std::string &entry, FakeKernel kernel);
  /// Declares the kernels of a program, which then compute nothing.
  void addKernels(const plan::ProgramT &program);

  /// The n-th call (counted from 0) of `function` from now on returns `result`; with an empty name,
  /// the n-th call of any function. Functions that release something do release it first.
  void failCall(const std::string &function, size_t n, CUresult result);
  void failNothing();
  /// Whether the call to fail has been reached.
  bool hasFailed() const;

  /// Called with every kernel that runs, before it computes; says by how many microseconds it moves the clock that
  /// events read, which else is the processor's.
  void setKernelTimes(std::function<double(const FakeKernelCall &)> microseconds);

  /// Names of the functions called, in order.
  std::vector<std::string> calls() const;
  size_t countOf(const std::string &function) const;
  void clearCalls();

  /// Kernels run so far, in order.
  std::vector<FakeKernelCall> kernelCalls() const;
  /// The graph that was instantiated last.
  std::shared_ptr<const FakeGraph> lastInstantiated() const;

  /// What was created and never released, e.g. "memory of 1024 bytes".
  std::vector<std::string> leaks() const;

  /// A context as an application makes one; not counted as a leak.
  CUcontext createContext();
  /// The contexts in which something was done since clearCalls.
  std::vector<CUcontext> usedContexts() const;

  /// A stream for callers; not counted as a leak.
  CUstream stream();
  void beginCapture(CUstream stream);
  /// Null where some thread meanwhile called what breaks captures, in the strictest mode.
  std::shared_ptr<const FakeGraph> endCapture(CUstream stream);
  /// Runs what was captured.
  void launch(const FakeGraph &graph);

private:
  struct Memory {
    std::vector<std::byte> room; ///< the bytes handed out, and what it took to align them
    size_t bytes = 0;
  };
  struct Stream {
    std::unique_ptr<FakeGraph> capture;
    std::vector<CUgraphNode> captureDependencies; ///< what cuStreamGetCaptureInfo points to
    bool isBroken = false;                        ///< the capture
  };
  struct Event {
    std::chrono::steady_clock::time_point recorded;
    bool isCaptured = false;
  };
  struct Function {
    std::string entry;
    int maxSharedBytes = 48 * 1024;
  };
  struct Module {
    std::map<std::string, std::unique_ptr<Function>> functions;
  };
  struct Failure {
    std::string function;
    size_t remaining = 0;
    CUresult result = CUDA_SUCCESS;
  };

  // What the table's entries are made of (fake_driver_table.cpp).
  void fillDevices(DriverApi &api);
  void fillContexts(DriverApi &api);
  void fillMemory(DriverApi &api);
  void fillCopies(DriverApi &api);
  void fillTensorMaps(DriverApi &api);
  void fillModules(DriverApi &api);
  void fillStreams(DriverApi &api);
  void fillEvents(DriverApi &api);
  void fillGraphs(DriverApi &api);
  void fillGraphNodes(DriverApi &api);
  enum class Context { kNeeded, kNotNeeded };
  template <typename Body>
  auto traced(const char *function, Body body, Context context = Context::kNeeded);
  template <typename Body> auto releasing(const char *function, Body body);

  CUresult enter(const char *function);
  bool isContext(CUcontext context) const;
  void disturbCaptures(std::string_view function);
  CUresult allocate(CUdeviceptr *address, size_t bytes);
  CUresult free(CUdeviceptr address);
  bool isMemory(CUdeviceptr address, size_t bytes) const;
  CUresult copy(void *target, const void *source, size_t bytes, CUstream stream);
  CUresult onStream(std::function<void()> work, CUstream stream);
  Stream *streamOf(CUstream handle);
  CUresult fillCall(FakeKernelCall &call, CUfunction function, void **parameters);
  CUresult fillCall(FakeKernelCall &call, const CUDA_KERNEL_NODE_PARAMS &parameters);
  bool fillNode(FakeNode &node, const CUgraphNodeParams &parameters);
  void runKernel(const FakeKernelCall &call);
  FakeNode *appendCaptured(Stream &stream, std::unique_ptr<FakeNode> node);
  CUresult addNode(FakeGraph &graph, std::unique_ptr<FakeNode> node, const CUgraphNode *from,
                   const CUgraphEdgeData *edges, size_t count, CUgraphNode *added);
  CUresult instantiate(CUgraphExec *exec, const FakeGraph &graph);
  FakeNode *execNodeOf(CUgraphExec exec, CUgraphNode source);
  void joinHostFunctions();

  mutable std::recursive_mutex mutex;
  FakeDevice device;
  std::map<std::string, FakeKernel> kernels;
  std::map<CUdeviceptr, Memory> memory;                      ///< keyed by the address handed out
  std::map<void *, std::unique_ptr<std::byte[]>> hostMemory; ///< pinned
  size_t allocatedBytes = 0;
  std::map<CUmodule, std::unique_ptr<Module>> modules;
  std::map<CUstream, std::unique_ptr<Stream>> streams, callerStreams;
  std::map<CUevent, std::unique_ptr<Event>> events;
  std::map<CUgraph, std::unique_ptr<FakeGraph>> graphs;
  std::map<CUgraphExec, std::unique_ptr<FakeGraphExec>> execs;
  std::map<std::thread::id, std::vector<CUcontext>> contextStacks;
  std::map<std::thread::id, CUstreamCaptureMode> captureModes; ///< global where there is none
  int primaryContext = 0; ///< its address is the context's handle
  int retained = 0;
  std::vector<std::unique_ptr<int>> callerContexts; ///< their addresses are the handles
  std::set<CUcontext> used;
  std::vector<std::thread> hostFunctions;

  std::function<double(const FakeKernelCall &)> kernelTimes;
  std::chrono::steady_clock::duration kernelTime{}; ///< of the kernels run so far

  std::optional<Failure> failure;
  bool failed = false;
  std::vector<std::string> callNames;
  std::vector<FakeKernelCall> ranKernels;
  std::shared_ptr<const FakeGraph> instantiated;
};

} // namespace smelt::runtime
