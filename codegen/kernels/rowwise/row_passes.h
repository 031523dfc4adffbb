// The body of a row-wise kernel: passes over a row, each ended by a reduction.
//
//   layer_norm(gather(words, ids) + gather(places, p))
//
// becomes three passes: [load, add, sum] mean [square deviations, sum] 1/sqrt [normalise, scale,
// store]. Values that a later pass needs again stay in registers, or are computed again where the
// row does not fit.
#pragma once

#include "codegen/emit_expression.h"

namespace smelt::codegen {

/// How a row is spread over threads.
struct RowConfig {
  int64_t width;         ///< columns of one vector
  int64_t threadsPerRow; ///< a power of two
  int64_t chunks;        ///< vectors a thread; 0: the row is not kept but read again in each pass

  /// So many threads that two blocks share a multiprocessor only if a thread takes half of the
  /// registers that it may have: then one block's loads hide the other's reductions.
  bool isTight() const { return chunks > 0 && threadsPerRow >= 512; }
  /// "32 threads a row, 3 x 8 columns each".
  std::string describe() const;
};

/// "Sum", "Max", ...: the combining functions of device/reduce.cuh.
llvm::StringRef combiningFunction(ReductionKind kind);
/// The type in which elements of `value` are combined. Integers shorter than a register are kept in
/// a whole one: many of them in pieces spill.
std::string keptType(mlir::Value value);

class RowPasses {
public:
  /// Rows are the axes of `shape` before `axis`, columns the others.
  RowPasses(FusionOp fusion, llvm::ArrayRef<Dim> shape, int64_t axis, RowConfig config);

  /// Emits everything. Reports what cannot be emitted at the op.
  mlir::LogicalResult run();

  /// All accesses are whole vectors or broadcasts.
  bool isRegular() const { return emitter->isRegular(); }
  /// The statements of Problem::run, to be taken once.
  std::string body();
  DimPrinter &printer() { return emitter->printer(); }
  Dim getRows() const { return rows; }

private:
  using Term = llvm::function_ref<std::string(const std::string &value)>;

  /// The passes that a reduction needs.
  mlir::LogicalResult emitStatistics(RowReduction op);
  mlir::LogicalResult emitNormalization(Normalization op);
  mlir::LogicalResult emitSoftmax(SoftmaxOp op);
  mlir::LogicalResult emitReduce(ReduceOp op);
  /// A statistic of `op`, a value of the whole row, computed behind the last pass; its name.
  std::string define(mlir::Operation *op, llvm::StringRef prefix, const std::string &expression);
  /// The number of columns, in the type of the op's statistics.
  std::string count(mlir::Operation *op);
  /// A pass that combines `term` of every element of `input` by `function` (Sum, Max, ...); the
  /// result's name, known to all threads of the row.
  mlir::FailureOr<std::string> reduce(mlir::Value input, llvm::StringRef function, Term term);
  /// Emits the results for which `wanted` holds in the present pass.
  mlir::LogicalResult emitResults(llvm::function_ref<bool(mlir::Value)> wanted);
  /// Ends the present pass; `after` follows it.
  void endPass(llvm::StringRef before, llvm::StringRef after);
  /// A norm, softmax or reduce at a position, from the statistics of its row.
  mlir::FailureOr<Operand> resolve(mlir::Operation *op, llvm::ArrayRef<Dim> at);
  mlir::FailureOr<std::string> normalized(Normalization op, const std::string &x,
                                          llvm::ArrayRef<Dim> at);
  /// The result number `output` has one element a row.
  mlir::LogicalResult storeRowValue(unsigned output, mlir::Value value);
  /// The position of `value`, a tensor with as many elements as the iteration space, of this
  /// thread.
  Index indexOf(mlir::Value value) const;
  std::string loop(const std::string &chunk);
  /// Loads what does not depend on earlier kernels, then waits for them.
  std::string beforeFirstPass();

  struct Pass {
    std::string before, after;
  };

  FusionOp fusion;
  llvm::SmallVector<Dim> shape;
  int64_t axis;
  RowConfig config;
  Dim rows, columns;
  IterationSpace space;
  Index index;
  std::optional<ExpressionEmitter> emitter;
  std::vector<Pass> passes;
  std::string rowStores;
  /// What reductions left of each row: of a norm, the mean where it is centered, and the reciprocal
  /// deviation; of a softmax, maximum and reciprocal sum; of a reduce, its result.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<std::string, 2>> statistics;
};

} // namespace smelt::codegen
