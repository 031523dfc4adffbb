// Evaluation of single ops: what the op families share, and their entry points.
#pragma once

#include "ir/interpret/host_tensor.h"
#include "ir/interpret/symbols.h"
#include "ir/interpret/thread_pool.h"
#include "ir/weights.h"

#include "llvm/ADT/DenseMap.h"

namespace smelt::interpret {

/// The operands of an op under evaluation. They are the evaluation's own: where one holds its
/// values alone, they may be overwritten with the result's.
using Operands = llvm::MutableArrayRef<HostTensor>;
using Result = mlir::FailureOr<HostTensor>;
/// Of an op with several results.
using Results = mlir::FailureOr<llvm::SmallVector<HostTensor>>;

/// Evaluates ops for one set of symbol values.
class Evaluator {
public:
  /// `weights` may be null where no `smelt.weight` is evaluated.
  Evaluator(const Symbols &symbols, Precision precision, ThreadPool &threads, WeightStore *weights)
      : threads(threads), weights(weights), precision(precision), symbols(symbols) {}

  /// The results of any op of the dialect, of the shapes that their types say.
  Results evaluate(mlir::Operation *op, Operands operands);

  // For the op families.
  mlir::FailureOr<int64_t> valueOf(mlir::Operation *op, Dim dim);
  /// The concrete shape of result 0.
  mlir::FailureOr<Shape> resultShape(mlir::Operation *op) {
    return shapeOf(op, tensorType(op->getResult(0)));
  }
  mlir::FailureOr<Shape> shapeOf(mlir::Operation *op, TensorType type);
  /// Uninitialised, of the element type of result 0.
  Result allocate(mlir::Operation *op, llvm::ArrayRef<int64_t> shape);
  Result allocate(mlir::Operation *op, llvm::ArrayRef<int64_t> shape, mlir::Type elementType);
  /// `candidate` itself where its values may be overwritten, else new memory; of the element type
  /// of result 0.
  Result reuseOrAllocate(mlir::Operation *op, llvm::ArrayRef<int64_t> shape, HostTensor &candidate);

  ThreadPool &threads;
  WeightStore *weights;
  Precision precision;
  bool ranOutOfMemory = false; // set by allocate()

private:
  const Symbols &symbols;
  llvm::DenseMap<mlir::Attribute, int64_t> values; // of dimensions already evaluated
};

// One file a family.
Result evaluateElementwise(mlir::Operation *op, Operands operands, Evaluator &evaluator);

Result evaluateOp(ConstantOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(WeightOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(DimsOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(IotaOp op, Operands operands, Evaluator &evaluator);

Result evaluateOp(ReshapeOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(ExpandOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(TransposeOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(SliceOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(WindowsOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(ConcatOp op, Operands operands, Evaluator &evaluator);

Result evaluateOp(BufferOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(AppendOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(ContentsOp op, Operands operands, Evaluator &evaluator);

Result evaluateOp(MatmulOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(ConvOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(AttentionOp op, Operands operands, Evaluator &evaluator);

Result evaluateOp(ReduceOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(SoftmaxOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(LayerNormOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(RmsNormOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(CumsumOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(CumprodOp op, Operands operands, Evaluator &evaluator);

Result evaluateOp(RowMomentsOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(MomentsMeanOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(MomentsRstdOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(MomentsRrmsOp op, Operands operands, Evaluator &evaluator);

Results evaluateOp(TopKOp op, Operands operands, Evaluator &evaluator);

Result evaluateOp(GatherOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(GatherElementsOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(GatherNdOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(ScatterElementsOp op, Operands operands, Evaluator &evaluator);
Result evaluateOp(ScatterNdOp op, Operands operands, Evaluator &evaluator);

Results evaluateFusion(FusionOp op, Operands operands, Evaluator &evaluator);

} // namespace smelt::interpret
