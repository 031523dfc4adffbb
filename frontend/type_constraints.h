// The element types that ONNX defines each op for.
#pragma once

#include "frontend/node_reader.h"

namespace smelt::frontend {

/// Reports, and fails, where an input of the node has an element type that ONNX does not define its
/// op for: softmax of integers. The types are those of the newest opset, where an op has not lost some:
/// older ones are taken at their word.
mlir::LogicalResult checkTypes(NodeReader &node);

} // namespace smelt::frontend
