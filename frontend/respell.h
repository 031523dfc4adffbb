// A node in the words of another op or opset, for NodeReader::importAs: its protobuf is edited.
#pragma once

#include "frontend/node_reader.h"

namespace smelt::frontend {

/// The attribute, without a value; one that the node does not have is added.
onnx_wire::Attribute &attributeOf(onnx_wire::Node &proto, llvm::StringRef name,
                                  onnx_wire::Attribute::Kind kind);
void setInteger(onnx_wire::Node &proto, llvm::StringRef name, int64_t value);
void setReal(onnx_wire::Node &proto, llvm::StringRef name, float value);

/// The node without its attributes.
onnx_wire::Node withoutAttributes(const NodeReader &node);
/// The node, with its attributes, as an op of ONNX's own domain.
onnx_wire::Node asStandard(const NodeReader &node, llvm::StringRef op);

} // namespace smelt::frontend
