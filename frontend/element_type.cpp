#include "frontend/element_type.h"

#include "frontend/onnx.pb.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr llvm::StringLiteral kNames[] = {
    "undefined",      "float",    "uint8",        "int8",           "uint16",
    "int16",          "int32",    "int64",        "string",         "bool",
    "float16",        "double",   "uint32",       "uint64",         "complex64",
    "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
    "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
    "uint2",          "int2"};

} // namespace

Type elementType(MLIRContext *context, int32_t dataType) {
  using onnx_wire::Tensor;
  switch (dataType) {
  case Tensor::FLOAT:
    return Float32Type::get(context);
  case Tensor::DOUBLE:
    return Float64Type::get(context);
  case Tensor::FLOAT16:
    return Float16Type::get(context);
  case Tensor::BFLOAT16:
    return BFloat16Type::get(context);
  case Tensor::BOOL:
    return IntegerType::get(context, 1);
  case Tensor::INT8:
    return IntegerType::get(context, 8);
  case Tensor::UINT8:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case Tensor::INT16:
    return IntegerType::get(context, 16);
  case Tensor::INT32:
    return IntegerType::get(context, 32);
  case Tensor::INT64:
    return IntegerType::get(context, 64);
  case Tensor::UINT16:
    return IntegerType::get(context, 16, IntegerType::Unsigned);
  case Tensor::UINT32:
    return IntegerType::get(context, 32, IntegerType::Unsigned);
  case Tensor::UINT64:
    return IntegerType::get(context, 64, IntegerType::Unsigned);
  case Tensor::FLOAT8E4M3FN:
    return Float8E4M3FNType::get(context);
  case Tensor::FLOAT8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case Tensor::FLOAT8E5M2:
    return Float8E5M2Type::get(context);
  case Tensor::FLOAT8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case Tensor::FLOAT4E2M1:
    return Float4E2M1FNType::get(context);
  case Tensor::FLOAT8E8M0:
    return Float8E8M0FNUType::get(context);
  case Tensor::INT4:
    return IntegerType::get(context, 4);
  case Tensor::UINT4:
    return IntegerType::get(context, 4, IntegerType::Unsigned);
  case Tensor::INT2:
    return IntegerType::get(context, 2);
  case Tensor::UINT2:
    return IntegerType::get(context, 2, IntegerType::Unsigned);
  default:
    return {};
  }
}

unsigned elementsPerByte(int32_t dataType) {
  using onnx_wire::Tensor;
  switch (dataType) {
  case Tensor::INT4:
  case Tensor::UINT4:
  case Tensor::FLOAT4E2M1:
    return 2;
  case Tensor::INT2:
  case Tensor::UINT2:
    return 4;
  default:
    return 1;
  }
}

std::string dataTypeName(int32_t dataType) {
  if (dataType >= 0 && static_cast<size_t>(dataType) < std::size(kNames))
    return kNames[dataType].str();
  return "data type " + std::to_string(dataType);
}

std::optional<int32_t> dataTypeOf(StringRef name) {
  const auto *found = llvm::find(kNames, name);
  return found == std::end(kNames)
             ? std::nullopt
             : std::optional(static_cast<int32_t>(found - std::begin(kNames)));
}

std::string typeName(Type elementType) {
  MLIRContext *context = elementType.getContext();
  for (size_t dataType = 0; dataType < std::size(kNames); ++dataType)
    if (frontend::elementType(context, static_cast<int32_t>(dataType)) == elementType)
      return kNames[dataType].str();
  return "unknown";
}

} // namespace smelt::frontend
