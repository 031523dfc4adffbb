// One architecture's program of a plan: a fused module becomes launches, buffers and the order
// between them.
#pragma once

#include "codegen/dim_table.h"
#include "codegen/kernel.h"
#include "codegen/plan_weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smelt::codegen {

class ProgramBuilder {
public:
  ProgramBuilder(mlir::func::FuncOp function, const Target &target, DimTable &dims,
                 PlanWeights &weights)
      : function(function), target(target), dims(dims), weights(weights) {}

  /// Selects the kernels of every fusion. Reports at the fusions that no template takes and fails.
  mlir::LogicalResult select(bool tf32);

  /// The CUDA text of every launch's kernel, in launch order; equal kernels occur several times.
  llvm::SmallVector<KernelText> texts() const;

  /// The program; kernels[i] and modules[i] belong to texts()[firstUse[i]] (equal kernels once).
  std::unique_ptr<plan::ProgramT> build(std::vector<size_t> &firstUse);

private:
  /// One fusion with the kernels that may run it.
  struct Step {
    FusionOp fusion;
    std::vector<GeneratedKernel> kernels;
  };

  /// The tensor whose memory `value` is: reshapes at the top level only rename.
  static mlir::Value storage(mlir::Value value);
  void addBuffers(plan::ProgramT &program);
  void planArena(plan::ProgramT &program);
  uint32_t bufferOf(mlir::Value value, plan::ProgramT &program);
  std::unique_ptr<plan::LaunchT> buildLaunch(const Step &step, const GeneratedKernel &kernel,
                                             plan::ProgramT &program);

  mlir::func::FuncOp function;
  const Target &target;
  DimTable &dims;
  PlanWeights &weights;
  std::vector<Step> steps;
  llvm::DenseMap<mlir::Value, uint32_t> buffers;
  /// For each step, the steps that must complete before it.
  std::vector<std::vector<unsigned>> dependsOn;
};

} // namespace smelt::codegen
