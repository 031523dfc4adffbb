// What `smelt bench` measures on a GPU: a plan's runs as a whole, one by one, and kernel by kernel.
#pragma once

#include "tools/smelt/cuda_session.h"
#include "tools/smelt/peaks.h"

#include "runtime/profile.h"

namespace smelt::tools {

/// One kernel, or copy, of a run.
struct KernelTime {
  std::string number; ///< plan::launchNumber()
  std::string name;
  std::string entry; ///< the machine code that it runs; "" of a copy
  std::vector<std::string> onnxNodes;
  double microseconds;
  int64_t bytes; ///< that it must move
  int64_t flops;
  plan::Arithmetic arithmetic; ///< of the flops

  /// As Peaks says.
  double leastMicroseconds(const Peaks &peaks) const {
    return peaks.leastMicroseconds(bytes, flops, arithmetic);
  }
};

/// Contexts of one engine, ready to run with the same inputs: each with a stream, memory and, for
/// transfers, pinned host memory of its own.
class GpuBench {
public:
  struct Options {
    size_t streams = 1;
    bool copies = false; ///< of the inputs before each run, of the outputs behind it
  };
  /// Copies the inputs to the device and makes everything ready. The session must outlive it.
  static Result<std::unique_ptr<GpuBench>>
  prepare(const CudaSession &session, const std::vector<Array> &inputs, Options options);

  /// One more context, of a session of the same plan, whose inputs and outputs lie where those of `other` do: only its
  /// weights are its own. Both must outlive it.
  static Result<std::unique_ptr<GpuBench>> prepareBeside(const GpuBench &other,
                                                         const CudaSession &session,
                                                         const std::vector<Array> &inputs);

  /// Milliseconds per graph launch on one stream, without transfers.
  Result<std::vector<double>> timeGraph(const runtime::TimingOptions &options);
  /// The context of the first stream, ready to run.
  runtime::Context &context() { return *workers[0]->context; }
  CUstream stream() const { return workers[0]->stream.get(); }
  Result<runtime::RunTimes> timeRuns(const runtime::RunOptions &options);
  /// Of one launch of the graph, the medians of so many.
  static constexpr size_t kUsualRepetitions = 50;
  Result<std::vector<KernelTime>> timeKernels(size_t repetitions = kUsualRepetitions,
                                              const runtime::TimingProgressHandler &progress = {});
  /// By the device's clocks; nothing for one whose architecture is not known.
  Result<std::optional<Peaks>> peaks() const;

private:
  struct Copy {
    CUdeviceptr device;
    runtime::PinnedMemory host;
    uint64_t bytes;
  };
  struct Worker {
    std::vector<runtime::DeviceMemory> memory;
    std::vector<Copy> in, out;
    runtime::OwnStream stream;
    std::unique_ptr<runtime::Context> context; ///< last: it waits for its run before anything goes
  };

  explicit GpuBench(const CudaSession &session)
      : signature(session.signature()), engine(session.sharedEngine()) {}
  Status addWorker(const std::vector<Array> &inputs, bool copies);
  Status addWorkerBeside(const Worker &other, const std::vector<Array> &inputs);
  Result<runtime::Binding> place(Worker &worker, plan::ElementType type, uint64_t bytes);
  Status bindInputs(Worker &worker, const std::vector<Array> &inputs, bool copies);
  Status bindOutputs(Worker &worker, bool copies);
  runtime::Lane laneOf(Worker &worker);

  const Signature &signature;
  runtime::SharedEngine engine;
  std::vector<std::unique_ptr<Worker>> workers;
};

} // namespace smelt::tools
