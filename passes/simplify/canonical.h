// The rewrite families of simplify_canonical, one file each. All keep the value exact in real
// arithmetic and move towards one normal form, so that they cannot undo each other:
//   * constants and scalars stand on the right, as rank-0 constants;
//   * a chain of views reads slice, splitting reshape, transpose, merging reshape, expand;
//   * elementwise ops stand before views, views as close as possible to the contraction that reads
//   them;
//   * of tensors of more than three axes, transposes, products of batches and their scores have no
//   axes of size 1: a reshape that drops them moves up, one that adds them moves down. Each such
//   rewrite takes axes from an op and none gives it any, so that they end.
#pragma once

#include "ir/dialect.h"

#include "mlir/IR/PatternMatch.h"

namespace smelt::passes {

void populateArithmeticPatterns(mlir::RewritePatternSet &patterns);
void populateLogicPatterns(mlir::RewritePatternSet &patterns);
void populateViewPatterns(mlir::RewritePatternSet &patterns);
void populateBroadcastPatterns(mlir::RewritePatternSet &patterns);
void populateContractionPatterns(mlir::RewritePatternSet &patterns);
void populateConcatPatterns(mlir::RewritePatternSet &patterns);

} // namespace smelt::passes
