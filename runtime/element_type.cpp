#include "runtime/element_type.h"

namespace smelt::runtime {

const char *elementTypeName(plan::ElementType type) {
  switch (type) {
  case plan::ElementType::f32:
    return "float32";
  case plan::ElementType::f16:
    return "float16";
  case plan::ElementType::bf16:
    return "bfloat16";
  case plan::ElementType::f64:
    return "float64";
  case plan::ElementType::i64:
    return "int64";
  case plan::ElementType::i32:
    return "int32";
  case plan::ElementType::i16:
    return "int16";
  case plan::ElementType::i8:
    return "int8";
  case plan::ElementType::u8:
    return "uint8";
  case plan::ElementType::boolean:
    return "bool";
  case plan::ElementType::u16:
    return "uint16";
  case plan::ElementType::u32:
    return "uint32";
  case plan::ElementType::u64:
    return "uint64";
  case plan::ElementType::f8e4m3fn:
    return "float8e4m3fn";
  case plan::ElementType::f8e4m3fnuz:
    return "float8e4m3fnuz";
  case plan::ElementType::f8e5m2:
    return "float8e5m2";
  case plan::ElementType::f8e5m2fnuz:
    return "float8e5m2fnuz";
  case plan::ElementType::f4e2m1:
    return "float4e2m1";
  case plan::ElementType::f8e8m0:
    return "float8e8m0";
  case plan::ElementType::i4:
    return "int4";
  case plan::ElementType::u4:
    return "uint4";
  case plan::ElementType::i2:
    return "int2";
  case plan::ElementType::u2:
    return "uint2";
  }
  return nullptr;
}

} // namespace smelt::runtime
