// The rewrite families of simplify_canonical, one file each. All keep the value exact in real
// arithmetic and move towards one normal form, so that they cannot undo each other:
//   * constants and scalars stand on the right, as rank-0 constants;
//   * a chain of views reads slice, splitting reshape, transpose, merging reshape, expand;
//   * elementwise ops stand before views, views as close as possible to the contraction that reads
//   them.
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
