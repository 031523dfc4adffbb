// One run of a fused model on a device with what every fusion left, not only the model's outputs.
#pragma once

#include "ir/interpret/interpret.h"
#include "tools/smelt/session.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>

namespace smelt::tools {

/// Runs @main of a fused model on a device.
using RunFused =
    std::function<Result<std::vector<Array>>(Model &fused, const std::vector<Array> &inputs)>;

class FusedRun {
public:
  /// Makes every fusion's outputs results of @main, behind those that it has, and runs it. Changes the
  /// model's module, which nothing else can be done with afterwards; the model must outlive the object.
  static Result<FusedRun> make(Model &fused, const std::vector<Array> &inputs, const RunFused &run);

  Model &model() const { return *fused; }
  mlir::func::FuncOp main() const { return function; }
  /// The model's fusions, each at its number (codegen/fusion_numbers.h).
  llvm::ArrayRef<FusionOp> fusions() const { return numbered; }
  size_t numberOf(FusionOp fusion) const { return llvm::find(numbered, fusion) - numbered.begin(); }
  const Symbols &symbols() const { return solved; }
  /// The model's own outputs.
  const std::vector<Array> &outputs() const { return ownOutputs; }
  /// What the device left of an output of a fusion.
  const Array &arrayOf(mlir::Value output) const { return arrays.at(output); }
  /// The inputs that a fusion had on the device, in double precision.
  Result<llvm::SmallVector<HostTensor>> operandsOf(FusionOp fusion) const;
  /// An internal error with what the compiler said.
  Status failure(const char *what) const;

private:
  FusedRun(Model &fused, mlir::func::FuncOp function);
  Status know(mlir::Value value, Array array);

  Model *fused;
  mlir::func::FuncOp function;
  llvm::SmallVector<FusionOp> numbered;
  Symbols solved;
  KnownValues known;
  llvm::DenseMap<mlir::Value, Array> arrays;
  std::vector<Array> ownOutputs;
};

/// A RunFused without a GPU: the interpreter.
Result<std::vector<Array>> interpretFused(Model &fused, const std::vector<Array> &inputs,
                                          CpuArithmetic arithmetic);

} // namespace smelt::tools
