#include "frontend/respell.h"

#include <gtest/gtest.h>

namespace smelt::frontend {
namespace {

TEST(Respell, AnAttributeIsReplacedOrAdded) {
  onnx_wire::Node proto;
  setInteger(proto, "axis", 3);
  setReal(proto, "alpha", 0.5f);
  EXPECT_EQ(proto.attribute_size(), 2);
  setReal(proto, "axis", 1.5f);
  ASSERT_EQ(proto.attribute_size(), 2);
  EXPECT_EQ(proto.attribute(0).name(), "axis");
  EXPECT_EQ(proto.attribute(0).type(), onnx_wire::Attribute::FLOAT);
  EXPECT_EQ(proto.attribute(0).f(), 1.5f);
  EXPECT_FALSE(proto.attribute(0).has_i());
  EXPECT_EQ(attributeOf(proto, "alpha", onnx_wire::Attribute::INTS).ints_size(), 0);
  EXPECT_EQ(proto.attribute(1).type(), onnx_wire::Attribute::INTS);
}

} // namespace
} // namespace smelt::frontend
