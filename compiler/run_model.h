// Runs a model on the CPU, in the interpreter: slower by far than any GPU, and right.
#pragma once

#include "compiler/model.h"
#include "ir/interpret/interpret.h"

#include <span>

namespace smelt::compiler {

enum class CpuArithmetic {
  kFloat,
  kDouble, ///< of all floats but f64, which are double anyway
  kStored, ///< as kFloat, with 16-bit values rounded where a kernel stores them
};

/// A tensor in the caller's memory: row-major and little-endian; elements of fewer than 8 bits are one
/// byte each.
struct TensorView {
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// @main of a model as it stands, run many times; one run at a time.
class ModelRunner {
public:
  /// `model` must outlive the runner, and stay as it is.
  ModelRunner(Model &model, CpuArithmetic arithmetic);

  /// One tensor for each input, of its type; the outputs in order, of their declared types. Fails with
  /// kUsage where the tensors are not those that the model takes, kResources where memory does not
  /// suffice or `progress` stopped it, and kRunFailed.
  Result<std::vector<HostTensor>> run(std::span<const TensorView> inputs,
                                      StepHandler progress = nullptr);

private:
  Status checkInputs(std::span<const TensorView> inputs) const;

  Model &model;
  Precision precision;
  Interpreter interpreter;
};

/// "cpu, 2 threads"
std::string cpuName();

} // namespace smelt::compiler
