#include "runtime/tensor_map.h"

#include <array>

namespace smelt::runtime {

constexpr size_t kMaxRank = 5;

static CUtensorMapDataType dataType(plan::ElementType type) {
  switch (type) {
  case plan::ElementType::f32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case plan::ElementType::f16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case plan::ElementType::bf16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case plan::ElementType::f64:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  case plan::ElementType::i64:
    return CU_TENSOR_MAP_DATA_TYPE_INT64;
  case plan::ElementType::i32:
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
  case plan::ElementType::u64:
    return CU_TENSOR_MAP_DATA_TYPE_UINT64;
  case plan::ElementType::u32:
    return CU_TENSOR_MAP_DATA_TYPE_UINT32;
  case plan::ElementType::i16:
  case plan::ElementType::u16:
    return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  case plan::ElementType::i8:
  case plan::ElementType::u8:
  case plan::ElementType::boolean:
  case plan::ElementType::f8e4m3fn:
  case plan::ElementType::f8e4m3fnuz:
  case plan::ElementType::f8e5m2:
  case plan::ElementType::f8e5m2fnuz:
  case plan::ElementType::f4e2m1:
  case plan::ElementType::f8e8m0:
  case plan::ElementType::i4:
  case plan::ElementType::u4:
  case plan::ElementType::i2:
  case plan::ElementType::u2:
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

Status encodeTensorMap(const DriverApi &api, const plan::TensorMapT &map,
                       std::span<const int64_t> dims, uint64_t address, std::byte *target) {
  std::array<cuuint64_t, kMaxRank> sizes = {}, strides = {};
  for (size_t axis = 0; axis < map.sizes.size(); ++axis)
    sizes[axis] = static_cast<cuuint64_t>(dims[map.sizes[axis]]);
  for (size_t axis = 0; axis < map.byte_strides.size(); ++axis)
    strides[axis] = static_cast<cuuint64_t>(dims[map.byte_strides[axis]]);
  if (map.offset != plan::kNone)
    address += static_cast<uint64_t>(dims[map.offset]);
  // The plan's enumerations name the driver's values in the driver's order.
  auto *encoded = reinterpret_cast<CUtensorMap *>(target);
  auto rank = static_cast<cuuint32_t>(map.sizes.size());
  auto interleave = static_cast<CUtensorMapInterleave>(map.interleave);
  auto swizzle = static_cast<CUtensorMapSwizzle>(map.swizzle);
  auto promotion = static_cast<CUtensorMapL2promotion>(map.l2_promotion);
  auto fill = map.fills_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                            : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  if (map.windows)
    SMELT_RETURN_IF_CUDA_ERROR(api, "describing windows of images to a kernel",
                               cuTensorMapEncodeIm2col, encoded, dataType(map.element_type), rank,
                               reinterpret_cast<void *>(address), sizes.data(), strides.data(),
                               map.windows->lower_corner.data(), map.windows->upper_corner.data(),
                               map.windows->channels, map.windows->pixels,
                               map.element_strides.data(), interleave, swizzle, promotion, fill);
  else
    SMELT_RETURN_IF_CUDA_ERROR(api, "describing a tensor to a kernel", cuTensorMapEncodeTiled,
                               encoded, dataType(map.element_type), rank,
                               reinterpret_cast<void *>(address), sizes.data(), strides.data(),
                               map.box.data(), map.element_strides.data(), interleave, swizzle,
                               promotion, fill);
  return {};
}

} // namespace smelt::runtime
