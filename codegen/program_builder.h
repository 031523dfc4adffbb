// One architecture's program of a plan: a fused module becomes steps, their launches, buffers and
// the order between them.
//
// A fusion that depends on nothing but weights and sizes, such as a rotary table or a position
// mask, becomes a step that runs once for each shape; its results live as long as the shape's graph.
#pragma once

#include "codegen/cleared_results.h"
#include "codegen/dim_table.h"
#include "codegen/kernel.h"
#include "codegen/plan_memory.h"
#include "codegen/plan_weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace smelt::codegen {

class ProgramBuilder {
public:
  ProgramBuilder(mlir::func::FuncOp function, const Target &target, DimTable &dims,
                 PlanWeights &weights)
      : function(function), target(target), dims(dims), weights(weights), cleared(function) {}

  /// Selects the kernels of every fusion. Reports at the fusions that no template takes and fails.
  mlir::LogicalResult select(const Selection &selection);

  /// The CUDA text of every launch's kernel, in launch order; equal kernels occur several times.
  llvm::SmallVector<KernelText> texts() const;
  /// The fusion of each of texts().
  llvm::SmallVector<FusionOp> fusionsOfTexts() const;

  /// GeneratedKernel::tunedBy of all kernels that have one.
  std::set<std::string> tunedProducts() const;

  /// The program; kernels[i] and modules[i] belong to texts()[firstUse[i]] (equal kernels once).
  std::unique_ptr<plan::ProgramT> build(std::vector<size_t> &firstUse);

private:
  /// One fusion with the ways to run it.
  struct Step {
    FusionOp fusion;
    std::vector<KernelVariant> variants;
    bool runsOnce = false; ///< for each shape
    bool reversed = false; ///< the kernels that can start with the last of their rows
    llvm::SmallVector<unsigned> scratch =
        {}; ///< what the memory plan calls the variants' scratch buffers
  };

  void addBuffer(mlir::Value value, plan::BufferKind kind, uint32_t index);
  void addBuffers();
  void planArena();
  void chooseDirections();
  /// For each value in memory, what stands for it and for every other that may share its memory.
  using Hazards = llvm::DenseMap<mlir::Value, unsigned>;
  Hazards hazards(std::vector<Dim> &bytes);
  StepAccess accessOf(const Step &step, const Hazards &hazards) const;
  void addClearing(const Hazards &hazards, std::vector<StepAccess> &accesses) const;
  void addScratch(Step &step, std::vector<Dim> &bytes);
  uint32_t bufferOf(mlir::Value value);
  uint32_t bufferOf(const Step &step, const KernelVariant &variant, const LaunchBuffer &buffer);
  uint32_t scratchBuffer(const Step &step, const KernelVariant &variant, unsigned index);
  uint32_t kernelOf(const GeneratedKernel &kernel);
  uint32_t offsetOf(const Step &step, const LaunchBuffer &buffer);
  plan::Place place(const Step &step, const KernelVariant &variant, const LaunchBuffer &buffer);
  std::unique_ptr<plan::StepT> buildStep(const Step &step);
  void prependClearing(plan::StepT &first, bool runsOnce);
  std::unique_ptr<plan::LaunchT> buildSet(plan::Place target, uint8_t value, Dim bytes);
  std::unique_ptr<plan::LaunchT> buildLaunch(const Step &step, const KernelVariant &variant,
                                             const GeneratedLaunch &launch);
  std::unique_ptr<plan::LaunchT> buildLaunch(const Step &step, const KernelVariant &variant,
                                             const GeneratedKernel &kernel);
  std::unique_ptr<plan::LaunchT> buildLaunch(const Step &step, const KernelVariant &variant,
                                             const MemoryCopy &copy);
  std::unique_ptr<plan::LaunchT> buildLaunch(const Step &step, const KernelVariant &variant,
                                             const MemorySet &set);
  Dim directionOf(const Step &step, const GeneratedKernel &kernel);
  void addArgument(const Step &step, const KernelVariant &variant, const GeneratedKernel &kernel,
                   const KernelArgument &argument, plan::KernelNodeT &node);
  std::unique_ptr<plan::TensorMapT> describe(const Step &step, const KernelVariant &variant,
                                             const TensorMap &map);
  uint32_t dimOrNone(Dim dim) { return dim ? dims.index(dim) : plan::kNone; }

  mlir::func::FuncOp function;
  const Target &target;
  DimTable &dims;
  PlanWeights &weights;
  ClearedResults cleared;
  std::vector<Step> steps;
  std::unique_ptr<plan::ProgramT> program;
  llvm::DenseMap<mlir::Value, uint32_t> buffers;
  uint32_t commonBuffer = plan::kNone; // of `cleared`
  /// Of the scratch buffers that the launches name so far: (variant, index) to the plan's buffer.
  llvm::DenseMap<std::pair<const KernelVariant *, unsigned>, uint32_t> scratchBuffers;
  MemoryPlan memory;
  llvm::StringMap<uint32_t> kernelOfText;
  std::vector<size_t> firstUse;
  size_t textIndex = 0;
};

} // namespace smelt::codegen
