// What a matrix product multiplies, as MatMul and its quantised relatives read it.
#pragma once

#include "frontend/node_reader.h"

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

} // namespace smelt::frontend
