// Sessions on a GPU: a plan, run by the runtime.
#pragma once

#include "codegen/target.h"
#include "tools/smelt/session.h"

#include "runtime/profile.h"

namespace smelt::tools {

/// The name of the architecture whose code the first GPU runs best ("sm_90a"). Fails with
/// kEnvironment where there is no driver, no GPU, or one that Smelt has no kernels for.
Result<std::string> deviceArchitecture();

class CudaSession : public Session {
public:
  /// Loads the plan; it is not needed afterwards.
  static Result<std::unique_ptr<CudaSession>> open(const runtime::Plan &plan);
  /// The same for the plan at `path`.
  static Result<std::unique_ptr<CudaSession>> open(const std::string &path);
  ~CudaSession() override;

  const Signature &signature() const override { return planSignature; }
  std::string deviceName() const override;
  Result<std::vector<Array>> run(const std::vector<Array> &inputs) override;

  /// Inputs of the model that the plan was compiled for the value of: they may be given, and are not read.
  void setFixed(decltype(Signature::fixed) fixed) { planSignature.fixed = std::move(fixed); }

  /// Copies the inputs to the device and makes the run ready, so that it can be measured alone.
  Status prepareOnDevice(const std::vector<Array> &inputs);
  /// Milliseconds per graph launch, after prepareOnDevice().
  Result<std::vector<double>> timeGraph(double seconds);

  /// One launch of the graph, after prepareOnDevice().
  struct KernelTime {
    std::string name;
    std::vector<std::string> onnxNodes;
    double microseconds;
    int64_t bytes; ///< that it must move
    int64_t flops;
    plan::Arithmetic arithmetic; ///< of the flops
  };
  Result<std::vector<KernelTime>> timeKernels();

  /// What the device can do at best, by its clocks, its multiprocessors and the rates of its
  /// architecture.
  struct Peaks {
    double bytesPerSecond = 0;
    double multiprocessorClocks = 0; ///< a second, of all multiprocessors
    codegen::Target target;

    /// 0 where the rate is not known.
    double flopsPerSecond(plan::Arithmetic arithmetic) const {
      return multiprocessorClocks * target.rate(arithmetic);
    }
  };
  /// Nothing for a device whose architecture is not known.
  Result<std::optional<Peaks>> peaks() const;

private:
  CudaSession(runtime::SharedEngine engine, std::unique_ptr<runtime::Context> context,
              runtime::CurrentContext current);

  runtime::SharedEngine engine;
  runtime::CurrentContext current;
  CUstream stream = nullptr;
  std::vector<runtime::DeviceMemory> memory;
  std::unique_ptr<runtime::Context> context;
  Signature planSignature;
};

/// Inputs and outputs of a plan.
Signature signatureOf(const plan::MetadataT &metadata);

} // namespace smelt::tools
