// Matrix products of quantised bytes.
//
// Zero points are taken out of products, (a - za)(b - zb) = a b - za sum(b - zb) - zb sum(a) with
// sums over K: what is multiplied stays bytes, and sums of weights are constants.
#pragma once

#include "frontend/ops/contraction.h"
#include "frontend/ops/quantized.h"

namespace smelt::frontend {

/// A matrix operand of a quantised product.
struct QuantizedFactor {
  mlir::Value values;
  mlir::Value zeroPoint; ///< int32, broadcasts with `values`; null where it is 0
  int64_t depth;         ///< the axis of `values` that is summed

  mlir::Value inInt32(GraphBuilder &build) const { return build.cast(values, int32(build)); }
  mlir::Value centred(GraphBuilder &build) const {
    mlir::Value wide = inInt32(build);
    return zeroPoint ? build.create<SubOp>({wide, zeroPoint}) : wide;
  }
};

/// Input `index`, zero points or scales, in a shape that broadcasts with the factor: one for all, or
/// one for each row on the left, for each column on the right. A list, or of the factor's rank with
/// one value along K. Null after a report.
mlir::Value alignWithFactor(NodeReader &node, size_t index, const QuantizedFactor &factor);

/// The product of the factors' bytes, `product`, less what their zero points make of it: that of the
/// centred factors, in int32.
mlir::Value centreProduct(GraphBuilder &build, mlir::Value product, const QuantizedFactor &left,
                          const QuantizedFactor &right);

/// Where a node has its factors and their zero points.
struct ProductInputs {
  size_t left, leftZero, right, rightZero;
};

/// A product of bytes, in int32.
struct QuantizedProduct {
  Factors factors;
  QuantizedFactor left, right;
  mlir::Value sums; ///< of at least two axes; null after a report

  static mlir::FailureOr<QuantizedProduct> read(NodeReader &node, ProductInputs inputs);
  /// Of given factors, the left one with its zero point; that of the right one is an input.
  static mlir::FailureOr<QuantizedProduct> multiply(NodeReader &node, Factors factors,
                                                    const QuantizedFactor &left, size_t rightZero);
};

} // namespace smelt::frontend
