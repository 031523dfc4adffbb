#include "frontend/respell.h"

using namespace mlir;

namespace smelt::frontend {

onnx_wire::Attribute &attributeOf(onnx_wire::Node &proto, StringRef name,
                                  onnx_wire::Attribute::Kind kind) {
  onnx_wire::Attribute *found = nullptr;
  for (onnx_wire::Attribute &attribute : *proto.mutable_attribute())
    if (attribute.name() == name)
      found = &attribute;
  if (!found)
    found = proto.add_attribute();
  found->Clear();
  found->set_name(name.str());
  found->set_type(kind);
  return *found;
}

void setInteger(onnx_wire::Node &proto, StringRef name, int64_t value) {
  attributeOf(proto, name, onnx_wire::Attribute::INT).set_i(value);
}

void setReal(onnx_wire::Node &proto, StringRef name, float value) {
  attributeOf(proto, name, onnx_wire::Attribute::FLOAT).set_f(value);
}

onnx_wire::Node withoutAttributes(const NodeReader &node) {
  onnx_wire::Node proto = node.proto();
  proto.clear_attribute();
  return proto;
}

onnx_wire::Node asStandard(const NodeReader &node, StringRef op) {
  onnx_wire::Node proto = node.proto();
  proto.set_op_type(op.str());
  proto.clear_domain();
  return proto;
}

} // namespace smelt::frontend
