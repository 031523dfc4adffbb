// Opens what the user named, an .onnx or a .plan, on the device that the user chose.
#pragma once

#include "codegen/tuning.h"
#include "tools/smelt/cuda_session.h"
#include "tools/smelt/model_flags.h"

namespace smelt::tools {

struct DeviceChoice {
  enum class Kind { kAuto, kCpu, kCuda };
  Kind kind = Kind::kAuto;
  int number = 0; ///< of the GPU, as CUDA counts them

  bool isCpu() const { return kind == Kind::kCpu; }
};

/// "auto", "cpu", "cuda", "cuda:1" or "1". kUsage for anything else.
Result<DeviceChoice> parseDevice(const std::string &text);

struct OpenFlags {
  ModelFlags model;
  DeviceChoice device;
  FloatPrecision precision = FloatPrecision::fp32;
  std::string architecture;                                ///< to compile for; "": that of the GPU
  std::shared_ptr<const codegen::Tuning> tuning = nullptr; ///< PlanOptions::tuning
};

/// A session, and the model that it runs where that is not a plan.
struct OpenModel {
  std::unique_ptr<Model> model;
  std::unique_ptr<Session> session;
  /// The session where it runs on a GPU, else null.
  CudaSession *cuda = nullptr;
};

/// `auto` is cuda where there is a driver and a first GPU that Smelt has kernels for. An .onnx for cuda
/// is compiled first (its kernels are kept in the cache). A plan runs on cuda only.
Result<OpenModel> openModel(const OpenFlags &flags);

} // namespace smelt::tools
