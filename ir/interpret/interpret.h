// The CPU interpreter: the meaning of the `smelt` dialect. It is the oracle of tests, the constant
// folder, the check of raised patterns, and the device of machines without a GPU.
//
// All functions report through MLIR diagnostics at the op that failed, and never stop at bad data.
#pragma once

#include "ir/interpret/host_tensor.h"
#include "ir/interpret/symbols.h"
#include "ir/weights.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <vector>

namespace smelt {

struct InterpretOptions {
  Precision precision = Precision::f32;
  unsigned threads = 0; // 0: as many as there are cores to run on
  /// Rounds the results of @main's ops to their declared type where that is f16 or bf16, as a GPU
  /// does with what one kernel stores for others. Values inside of fusions are not stored.
  bool roundStored = false;
};

/// Told on the calling thread how many ops of how many are done; false stops the run, which fails.
using StepHandler = llvm::function_ref<bool(size_t done, size_t total)>;

/// Runs `@main` of a module, many times. Values that depend on weights and constants alone are
/// computed in the first run and kept. The module and the store must outlive the interpreter and
/// stay as they are. One run at a time.
class Interpreter {
public:
  Interpreter(mlir::ModuleOp module, WeightStore &weights, InterpretOptions options = {});
  ~Interpreter();

  /// One tensor for each argument of @main, of the declared element type (any storage). Symbols are
  /// solved from the shapes, and the module's guards are checked. Results in the order of @main's.
  mlir::FailureOr<std::vector<HostTensor>> run(llvm::ArrayRef<HostTensor> inputs,
                                               StepHandler progress = nullptr);
  /// Whether the last run failed since there was no memory for a tensor.
  bool ranOutOfMemory() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

struct EvaluateOptions {
  Precision precision = Precision::f32;
  WeightStore *weights = nullptr; // without it, a `smelt.weight` is an error
  unsigned threads = 1;
};

/// The results of one op for given operands.
mlir::FailureOr<llvm::SmallVector<HostTensor>> evaluate(mlir::Operation *op,
                                                        llvm::ArrayRef<HostTensor> operands,
                                                        const Symbols &symbols = {},
                                                        const EvaluateOptions &options = {});

using KnownValues = llvm::DenseMap<mlir::Value, HostTensor>;

/// A value, by evaluating the ops that it depends on, back to the values that `known` gives.
/// Constant folding is the case where nothing is known.
mlir::FailureOr<HostTensor> evaluate(mlir::Value value, const KnownValues &known = KnownValues(),
                                     const Symbols &symbols = {},
                                     const EvaluateOptions &options = {});

/// What the terminator of a block (a function's or a fusion's) receives, for given block arguments.
mlir::FailureOr<llvm::SmallVector<HostTensor>> evaluate(mlir::Block &block,
                                                        llvm::ArrayRef<HostTensor> arguments,
                                                        const Symbols &symbols = {},
                                                        const EvaluateOptions &options = {});

} // namespace smelt
