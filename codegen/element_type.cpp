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
  if (type.isInteger(64))
    return plan::ElementType::i64;
  if (type.isInteger(32))
    return plan::ElementType::i32;
  if (type.isInteger(16))
    return plan::ElementType::i16;
  if (type.isInteger(1))
    return plan::ElementType::boolean;
  return type.isUnsignedInteger(8) ? plan::ElementType::u8 : plan::ElementType::i8;
}

} // namespace smelt::codegen
