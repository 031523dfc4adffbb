// What matrix products and convolutions multiply, as MatMul, Conv and their quantised relatives read it.
#pragma once

#include "frontend/ops/window.h"

namespace smelt::frontend {

/// Two inputs of at least two axes: a vector on the left has become a row, on the right a column.
class Factors {
public:
  /// Inputs `left` and `right` of `node`. Reports and fails where one has no axes.
  static mlir::FailureOr<Factors> read(NodeReader &node, size_t left, size_t right);

  /// Their product; sizes that meet are made to agree. Null after a report.
  mlir::Value multiply(NodeReader &node) const;
  /// `product`, or something of its shape, without the axes that vectors lack.
  mlir::Value dropAddedAxes(NodeReader &node, mlir::Value product) const;

  mlir::Value lhs, rhs;

private:
  bool isRow = false, isColumn = false;
};

/// How a filter slides over its data, as Conv and its quantised relatives read it.
struct Convolution {
  int64_t groups;
  Window window;

  /// Of inputs `data` and `weight` of `node`. Reports and fails where they do not fit.
  static mlir::FailureOr<Convolution> read(NodeReader &node, size_t data, size_t weight);
};

/// `input` times a number, in its own type; null for null.
mlir::Value scale(GraphBuilder &build, mlir::Value input, float factor);

/// Input `bias` has a value for each filter of input `filter`; reports and fails where it has not.
mlir::LogicalResult requireBias(NodeReader &node, size_t bias, size_t filter);

} // namespace smelt::frontend
