// A list of ops with the lifetimes of their values, run as often as wanted.
#pragma once

#include "ir/interpret/evaluator.h"
#include "ir/interpret/interpret.h"

#include <vector>

namespace smelt::interpret {

class Program {
public:
  /// The whole of a block: its arguments are the program's, its terminator's operands the outputs.
  /// `roundStored`: see InterpretOptions.
  explicit Program(mlir::Block &block, bool roundStored = false);
  /// The ops that `output` depends on, back to the values in `arguments`. Fails, with a diagnostic,
  /// where it depends on a block argument that is not among them.
  static mlir::FailureOr<Program> slice(mlir::Value output, llvm::ArrayRef<mlir::Value> arguments);

  /// Each value is freed after its last use. What depends on constants alone is computed in the
  /// first run and kept.
  mlir::FailureOr<llvm::SmallVector<HostTensor>>
  run(llvm::ArrayRef<HostTensor> arguments, Evaluator &evaluator, StepHandler progress = nullptr);

private:
  struct Use {
    unsigned slot;
    bool last; // nothing reads the slot after this
  };
  struct Step {
    mlir::Operation *op;
    llvm::SmallVector<Use, 4> operands;
    unsigned firstResult; // results take consecutive slots
    bool constant;
  };

  Program(llvm::ArrayRef<mlir::Operation *> ops, mlir::ValueRange arguments,
          mlir::ValueRange outputs);
  unsigned addSlot(mlir::Value value);
  void addStep(mlir::Operation *op);
  void findLastUses();
  mlir::LogicalResult execute(const Step &step, Evaluator &evaluator);
  /// Those that depend on constants alone, or the others; `done` counts on.
  mlir::LogicalResult executeAll(bool constant, Evaluator &evaluator, StepHandler progress,
                                 size_t &done);

  std::vector<Step> steps;
  llvm::DenseMap<mlir::Value, unsigned> slotOf;
  std::vector<bool> isConstantSlot;
  unsigned argumentCount;
  llvm::SmallVector<unsigned> outputs;
  std::vector<HostTensor> slots;
  bool prepared = false;
  bool roundStored = false;
};

} // namespace smelt::interpret
