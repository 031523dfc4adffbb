// A model that is ready to run on one device.
#pragma once

#include "compiler/run_model.h"
#include "tools/smelt/array.h"

#include <memory>
#include <optional>

namespace smelt::tools {

class Session {
public:
  virtual ~Session() = default;
  virtual const Signature &signature() const = 0;
  /// "cpu, 2 threads", "NVIDIA H200"
  virtual std::string deviceName() const = 0;
  /// One array for each input, of its type and a shape that it takes; the outputs in order.
  virtual Result<std::vector<Array>> run(const std::vector<Array> &inputs) = 0;
};

using compiler::CpuArithmetic;

/// Runs @main of the model as it stands in the interpreter. `model` must outlive the session.
std::unique_ptr<Session> openCpuSession(Model &model, CpuArithmetic arithmetic);

} // namespace smelt::tools
