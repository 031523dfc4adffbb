#include "codegen/element_type.h"

namespace smelt::codegen {

plan::ElementType planElementType(mlir::Type type) {
  if (type.isF32())
    return plan::ElementType::f32;
  if (type.isF16())
    return plan::ElementType::f16;
  if (type.isBF16())
    return plan::ElementType::bf16;
  if (type.isF64())
    return plan::ElementType::f64;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return plan::ElementType::boolean;
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

} // namespace smelt::codegen
