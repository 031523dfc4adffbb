#include "runtime/dlpack.h"

#include "runtime/checked_math.h"
#include "runtime/text.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

namespace smelt::dlpack {

namespace {

struct TypeRow {
  smelt_element_type type;
  uint8_t code, bits;
};
constexpr uint8_t kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kBool = 6;
constexpr TypeRow kTypes[] = {
    {SMELT_F32, kFloat, 32}, {SMELT_F16, kFloat, 16},   {SMELT_BF16, kBfloat, 16},
    {SMELT_F64, kFloat, 64}, {SMELT_I64, kInt, 64},     {SMELT_I32, kInt, 32},
    {SMELT_I16, kInt, 16},   {SMELT_I8, kInt, 8},       {SMELT_U8, kUint, 8},
    {SMELT_BOOL, kBool, 8},  {SMELT_U16, kUint, 16},    {SMELT_U32, kUint, 32},
    {SMELT_U64, kUint, 64},  {SMELT_F8E4M3FN, 10, 8},   {SMELT_F8E4M3FNUZ, 11, 8},
    {SMELT_F8E5M2, 12, 8},   {SMELT_F8E5M2FNUZ, 13, 8}, {SMELT_F8E8M0, 14, 8},
    {SMELT_F4E2M1, 17, 4},   {SMELT_I4, kInt, 4},       {SMELT_U4, kUint, 4},
    {SMELT_I2, kInt, 2},     {SMELT_U2, kUint, 2}};
static_assert(std::size(kTypes) == SMELT_U2 + 1);

Status refusal(std::string message, std::source_location where = std::source_location::current()) {
  return Status(StatusCode::kUsage, "the tensor " + std::move(message), where);
}

Result<smelt_element_type> elementTypeOf(DLDataType type, uint64_t flags) {
  const auto *row = std::find_if(std::begin(kTypes), std::end(kTypes), [type](const TypeRow &row) {
    return row.code == type.code && row.bits == type.bits;
  });
  if (row == std::end(kTypes))
    return refusal(joinText("has elements of a type that Smelt does not know (DLPack's code ",
                            type.code, ", ", type.bits, " bits); convert it"));
  if (type.lanes != 1)
    return refusal(
        joinText("has elements of ", type.lanes,
                 " lanes; give it elements of one lane, and the lanes as its last axis"));
  if (type.bits < 8 && (flags & kSubBytePadded) == 0)
    return refusal(
        joinText("packs several elements of ", type.bits,
                 " bits into a byte; give each a byte of its own, its code in the low bits, "
                 "and set DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED"));
  return row->type;
}

Result<smelt_location> locationOf(DLDevice device) {
  switch (device.device_type) {
  case kCpu:
  case kCudaHost:
    return SMELT_HOST;
  case kCuda:
  case kCudaManaged:
    return SMELT_DEVICE;
  default:
    return refusal(joinText("lies neither in host memory nor on a CUDA device, but on one of "
                            "DLPack's type ",
                            device.device_type, "; copy it there"));
  }
}

Result<std::vector<int64_t>> shapeOf(const DLTensor &tensor) {
  constexpr int32_t kMostAxes = 64; // PyTorch's and NumPy's limit
  if (tensor.ndim < 0 || tensor.ndim > kMostAxes)
    return refusal(joinText("has ", tensor.ndim, " dimensions: it was freed, or never filled in"));
  if (tensor.ndim > 0 && tensor.shape == nullptr)
    return refusal(joinText("has ", tensor.ndim, " dimensions and no shape (NULL)"));
  std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.ndim);
  if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; }))
    return refusal("has a negative extent: its shape is " + shapeText(shape));
  return shape;
}

std::optional<int64_t> times(std::optional<int64_t> left, int64_t right) {
  return left ? checkedMul(*left, right) : std::nullopt;
}

std::optional<int64_t> product(std::span<const int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), std::optional<int64_t>(1), times);
}

/// How much of the growing axis there is room for between one row before it and the next; 0: for no more than there is, or
/// strides that say no such thing.
int64_t capacityOf(std::span<const int64_t> shape, const int64_t *strides, size_t growingAxis) {
  size_t row = growingAxis;
  while (row > 0 && shape[row - 1] == 1)
    --row;
  int64_t unit = product(shape.subspan(growingAxis + 1)).value_or(0);
  if (strides == nullptr || row == 0 || unit == 0 || strides[row - 1] % unit != 0)
    return 0;
  int64_t capacity = strides[row - 1] / unit;
  return capacity > std::max<int64_t>(shape[growingAxis], 1) ? capacity : 0;
}

/// Whether elements lie as in a row-major tensor of the shape `room`, of which `shape` is a part. The strides of axes with
/// one element say nothing, nor do any of a tensor without elements.
bool isRowMajor(std::span<const int64_t> shape, const int64_t *strides,
                std::span<const int64_t> room) {
  if (strides == nullptr || std::find(shape.begin(), shape.end(), 0) != shape.end())
    return true;
  std::optional<int64_t> dense = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] > 1 && strides[axis] != dense)
      return false;
    dense = times(dense, room[axis]);
  }
  return true;
}

} // namespace

Result<View> view(const DLTensor &tensor, uint64_t flags, int64_t growingAxis) {
  SMELT_ASSIGN_OR_RETURN(std::vector<int64_t> shape, shapeOf(tensor));
  SMELT_ASSIGN_OR_RETURN(smelt_element_type type, elementTypeOf(tensor.dtype, flags));
  SMELT_ASSIGN_OR_RETURN(smelt_location location, locationOf(tensor.device));
  std::vector<int64_t> room = shape;
  int64_t capacity = 0;
  if (growingAxis >= 0 && growingAxis < tensor.ndim)
    capacity = capacityOf(shape, tensor.strides, static_cast<size_t>(growingAxis));
  if (capacity != 0)
    room[growingAxis] = capacity;
  if (!isRowMajor(shape, tensor.strides, room))
    return refusal(joinText("is not contiguous: its shape is ", shapeText(shape),
                            ", its strides are ", shapeText({tensor.strides, shape.size()}),
                            ", not row-major ones; make it so, which copies it"));
  std::optional<int64_t> bytes = times(product(room), (tensor.dtype.bits + 7) / 8);
  if (!bytes)
    return refusal(joinText("of shape ", shapeText(shape), " is too large"));
  if (tensor.data == nullptr && *bytes > 0)
    return refusal(joinText("of shape ", shapeText(shape),
                            " has no memory (data is NULL): it was freed, or never filled in"));
  auto data = reinterpret_cast<uint64_t>(tensor.data);
  return View{type,
              location,
              tensor.device.device_id,
              tensor.device.device_type == kCuda,
              std::move(shape),
              reinterpret_cast<void *>(data == 0 ? 0 : data + tensor.byte_offset),
              static_cast<uint64_t>(*bytes),
              capacity};
}

DLDataType typeOf(smelt_element_type type) {
  const auto *row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [type](const TypeRow &row) { return row.type == type; });
  return {row->code, row->bits, 1};
}

} // namespace smelt::dlpack
