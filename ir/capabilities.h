// What the kernel templates can take: asked by the passes that form fusions, by the verifier of
// the fused form, and by code generation.
#pragma once

#include "ir/view_index.h"

namespace smelt {

//===----------------------------------------------------------------------===//
// What a kernel reads and computes by itself
//===----------------------------------------------------------------------===//

/// A scalar or splat constant: emitted as a literal, so it is cloned into every fusion that uses
/// it.
bool isLiteral(mlir::Value value);

/// Depends on weights and constants alone, through a limited number of ops, and has a static shape:
/// evaluated once, at compile time. No kernel writes it.
bool isWeightExpression(mlir::Value value);

/// Elementwise ops and those that only choose where an element comes from: what a kernel computes
/// at one position. Not a concatenation of many.
bool isPointwise(mlir::Operation *op);

/// A concatenation of so many tensors that its kernels do nothing else: they would compare
/// positions for most of their time.
bool isConcatenationOfMany(mlir::Operation *op);

/// The operand that `concat` surrounds by zeros along its axis, where it does nothing else.
std::optional<unsigned> operandPaddedByZeros(ConcatOp concat);

/// The last axis that is not of size 1: along it neighbours in memory lie. None where all are.
std::optional<unsigned> innermostAxis(TensorType type);
/// Rows of `value` are rows of `other`: their innermost axes have one size.
bool haveSameColumns(mlir::Value value, mlir::Value other);

/// Statistics of a row behind a `smelt.row_moments`: what an epilogue reads once a row.
bool isRowStatistic(mlir::Operation *op);

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// Two products of one kernel store their weights as one, [K, N / 8, 2, 8]: so many columns of the
/// first, as many of the second, and so on. What an epilogue computes from both lies in one
/// thread's reach.
constexpr int64_t kInterleavedColumns = 8;

/// The GEMM templates take products of these element types: floats of 16 and 32 bits, integers of 8, and two floats of 8.
bool hasGemmTemplate(MatmulOp matmul);

/// The truth values of which `op`, a total, counts the true ones: it is a sum of integers over a whole tensor of them, which
/// does not depend on the order, so that many threads may add to it. Null for other reductions.
mlir::Value countedTest(ReduceOp op);
/// Of what `total` in a fusion counts elements: the result from which ops of one operand lead to the test. Null where
/// there is none.
mlir::Value countedResult(ReduceOp total);

/// The products can be one kernel: they have the same left operand, and matrices of one float type
/// whose columns can take turns on the right. (The kernels of bytes want the rows of their
/// right operand along K, where columns cannot.)
bool canShareRows(MatmulOp first, MatmulOp second);

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Largest head size that the attention templates take.
constexpr int64_t kMostHeadSize = 256;

/// The templates take an attention of these operands, by element type and head sizes. As one
/// `generic` kernel, an attention computes every score again for each element of its result.
bool hasAttentionTemplate(mlir::Value query, mlir::Value value);

/// How far the rows of a tensor [batch, head, row, element] may be apart: the templates read keys
/// and values many rows at a time, but find each row of a result by itself.
enum class RowDistance { any, constant };

/// The templates reach the rows of a tensor whose element (batch, head, `row`, `element`) lies at
/// `offset`: the elements of a row are neighbours.
bool hasRegularRows(Dim offset, Dim row, Dim element, RowDistance distance);

//===----------------------------------------------------------------------===//
// The fused form
//===----------------------------------------------------------------------===//

/// Checks that the templates of the fusion's kind take what its region holds; reports at the
/// fusion, or at the op that they do not take.
mlir::LogicalResult verifyFusedForm(FusionOp fusion);

} // namespace smelt
