#include "codegen/element_type.h"

using namespace mlir;

namespace smelt::codegen {

static plan::ElementType planIntegerType(Type type) {
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return plan::ElementType::boolean;
  case 2:
    return isUnsigned ? plan::ElementType::u2 : plan::ElementType::i2;
  case 4:
    return isUnsigned ? plan::ElementType::u4 : plan::ElementType::i4;
  case 8:
    return isUnsigned ? plan::ElementType::u8 : plan::ElementType::i8;
  case 16:
    return isUnsigned ? plan::ElementType::u16 : plan::ElementType::i16;
  case 32:
    return isUnsigned ? plan::ElementType::u32 : plan::ElementType::i32;
  default:
    return isUnsigned ? plan::ElementType::u64 : plan::ElementType::i64;
  }
}

plan::ElementType planElementType(Type type) {
  if (type.isF32())
    return plan::ElementType::f32;
  if (type.isF16())
    return plan::ElementType::f16;
  if (type.isBF16())
    return plan::ElementType::bf16;
  if (type.isF64())
    return plan::ElementType::f64;
  if (isa<Float8E4M3FNType>(type))
    return plan::ElementType::f8e4m3fn;
  if (isa<Float8E4M3FNUZType>(type))
    return plan::ElementType::f8e4m3fnuz;
  if (isa<Float8E5M2Type>(type))
    return plan::ElementType::f8e5m2;
  if (isa<Float8E5M2FNUZType>(type))
    return plan::ElementType::f8e5m2fnuz;
  if (isa<Float4E2M1FNType>(type))
    return plan::ElementType::f4e2m1;
  if (isa<Float8E8M0FNUType>(type))
    return plan::ElementType::f8e8m0;
  return planIntegerType(type);
}

} // namespace smelt::codegen
