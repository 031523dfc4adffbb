// Sessions on a GPU: a plan, run by the runtime.
#pragma once

#include "tools/smelt/session.h"

#include "runtime/context.h"

namespace smelt::tools {

struct DeviceIdentity {
  std::string name;         ///< "NVIDIA H200"
  std::string architecture; ///< whose code it runs best: "sm_90a"
};

/// Fails with kEnvironment where there is no driver, no GPU of that number, or one that Smelt has no kernels for.
Result<DeviceIdentity> identifyDevice(int number);
/// Its architecture.
Result<std::string> deviceArchitecture(int number);

class CudaSession : public Session {
public:
  /// Loads the plan onto the GPU of that number, with progress on stderr; it is not needed afterwards.
  static Result<std::unique_ptr<CudaSession>> open(const runtime::Plan &plan, int device);
  /// The same for the plan at `path`.
  static Result<std::unique_ptr<CudaSession>> open(const std::string &path, int device);
  ~CudaSession() override;

  const Signature &signature() const override { return planSignature; }
  std::string deviceName() const override;
  Result<std::vector<Array>> run(const std::vector<Array> &inputs) override;

  /// Inputs of the model that the plan was compiled for the value of: they may be given, and are not read.
  void setFixed(decltype(Signature::fixed) fixed) { planSignature.fixed = std::move(fixed); }

  const runtime::SharedEngine &sharedEngine() const { return engine; }

private:
  CudaSession(runtime::SharedEngine engine, std::unique_ptr<runtime::Context> context,
              runtime::CurrentContext current);

  runtime::SharedEngine engine;
  runtime::CurrentContext current;
  CUstream stream = nullptr;
  std::unique_ptr<runtime::Context> context;
  Signature planSignature;
};

/// Inputs and outputs of a plan.
Signature signatureOf(const plan::MetadataT &metadata);

} // namespace smelt::tools
