// A matrix product as the GEMM kernels see it, and where its operands lie.
//
// The product is C[m, n] += A[m, k] B[k, n]: leading axes of the left operand fold into m where the
// right operand has none (weights), else both run over batches. Views before the operands become
// addresses.
//
// Two products of one left operand are one of a right operand whose columns take turns, eight of
// each (kInterleavedColumns): n counts them all. Their results have half as many columns.
#pragma once

#include "codegen/iteration_space.h"

namespace smelt::codegen {

/// The address of an operand's element, and how wide its loads may be.
struct OperandAddress {
  unsigned input = 0;
  Dim offset;
  int alongK = 1, alongN = 1;
  bool isContiguousAlongK = false, isContiguousAlongN = false; ///< neighbours in memory
  bool isLinear = false; ///< a linear function of the matrix's row and column
  llvm::SmallVector<InputElement::Guard> guards = {}; ///< a 0 is read where they do not hold

  /// Of a right operand: it is read along K, as [n][k].
  bool isTransposed() const {
    return alongK > alongN || (alongK == alongN && isContiguousAlongK && !isContiguousAlongN);
  }
};

/// An operand as a matrix that lies in memory row by row, each row in one piece.
struct MatrixLayout {
  Dim offset;        ///< of its first element in the input, in elements
  Dim rowStride;     ///< in elements
  Dim rows, columns; ///< columns are neighbours in memory
};

struct GemmProduct {
  GemmProduct(FusionOp fusion, llvm::ArrayRef<MatmulOp> matmuls);

  mlir::FailureOr<OperandAddress> left();
  mlir::FailureOr<OperandAddress> right();
  int64_t products() const { return static_cast<int64_t>(matmuls.size()); }
  /// A result is moments of rows.
  bool storesMoments() const;
  /// The results that are totals (ir/capabilities.h).
  llvm::SmallVector<unsigned> totals() const;

  /// The operands as tensor maps can describe them: elements of a row are neighbours, rows start at
  /// multiples of 16 bytes, a constant distance apart, and there is one batch. None where that does
  /// not hold. The left one has rows of K; the right one rows of K where it is transposed, else of N.
  std::optional<MatrixLayout> leftMatrix(const OperandAddress &left) const;
  std::optional<MatrixLayout> rightMatrix(const OperandAddress &right) const;

  FusionOp fusion;
  llvm::SmallVector<MatmulOp, 2> matmuls;
  TensorType lhs, rhs, output; ///< of each product
  IterationSpace space;        ///< of the operands
  IterationSpace results;      ///< of what follows, the same rows
  Index rowIndex;              ///< position of the leading axes and of the row of the result
  Dim k, n;                    ///< coordinates: depth, and column of the results
  Dim rows, columns, depth, batches;

private:
  void addRows();
  Index batchOf(TensorType operand) const;
  /// `outer`: the operand's coordinate besides %k.
  mlir::FailureOr<OperandAddress> describe(const InputElement &element, llvm::StringRef outer);
  bool isLinear(Dim offset, llvm::StringRef row, llvm::StringRef column) const;
  /// As a matrix of `rows` by `columns`, coordinates of the space with these extents.
  std::optional<MatrixLayout> matrix(const OperandAddress &operand, llvm::StringRef row, Dim rows,
                                     llvm::StringRef column, Dim columns) const;
  int loadWidth(const OperandAddress &address, llvm::StringRef coordinate, Dim extent) const;

  Index columnIndex; ///< n of the operands, or the parts (group of columns, product, column in it)
};

} // namespace smelt::codegen
