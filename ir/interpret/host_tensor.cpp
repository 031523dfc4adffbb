#include "ir/interpret/host_tensor.h"

#include "ir/dialect.h"
#include "ir/interpret/half.h"
#include "ir/interpret/small_float.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;

namespace smelt {

namespace {

/// No tensor of a real model comes near; a corrupt size does.
constexpr int64_t kMaxBytes = int64_t{1} << 38;
constexpr size_t kAlignment = 64;

int64_t storageBytes(Storage storage) { return storage == Storage::f32 ? 4 : 8; }

std::shared_ptr<void> allocateBytes(int64_t bytes) {
  constexpr std::align_val_t kAligned{kAlignment};
  size_t rounded =
      (static_cast<size_t>(std::max<int64_t>(bytes, 1)) + kAlignment - 1) / kAlignment * kAlignment;
  void *memory = ::operator new(rounded, kAligned, std::nothrow);
  auto release = [](void *allocated) { ::operator delete(allocated, kAligned); };
  return memory ? std::shared_ptr<void>(memory, release) : nullptr;
}

/// Reads `count` elements of type From, converts each and writes it: the one loop behind every
/// conversion.
template <typename From, typename To, typename Convert>
void convertRange(const char *from, char *to, int64_t count, Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, from + i * sizeof(From), sizeof(From));
    To converted = static_cast<To>(convert(element));
    std::memcpy(to + i * sizeof(To), &converted, sizeof(To));
  }
}

constexpr auto kIdentity = [](auto value) { return value; };

template <typename T> void readFloats(Type type, const char *from, char *to, int64_t count) {
  if (type.isF16())
    convertRange<uint16_t, T>(from, to, count, halfToFloat);
  else if (type.isBF16())
    convertRange<uint16_t, T>(from, to, count, bfloat16ToFloat);
  else if (type.isF32())
    convertRange<float, T>(from, to, count, kIdentity);
  else if (std::optional<SmallFloat> format = SmallFloat::of(type))
    convertRange<uint8_t, T>(from, to, count, [&](uint8_t code) { return format->decode(code); });
  else
    convertRange<double, T>(from, to, count, kIdentity);
}

template <typename T> void writeFloats(Type type, const char *from, char *to, int64_t count) {
  constexpr bool kSingle = std::is_same_v<T, float>;
  if (type.isF16())
    convertRange<T, uint16_t>(from, to, count, [](T value) {
      return kSingle ? floatToHalf(value) : doubleToHalf(value);
    });
  else if (type.isBF16())
    convertRange<T, uint16_t>(from, to, count, [](T value) {
      return kSingle ? floatToBfloat16(value) : doubleToBfloat16(value);
    });
  else if (type.isF32())
    convertRange<T, float>(from, to, count, kIdentity);
  else if (std::optional<SmallFloat> format = SmallFloat::of(type))
    convertRange<T, uint8_t>(from, to, count, [&](T value) {
      return format->encode(kSingle ? static_cast<float>(value) : doubleToOddFloat(value));
    });
  else
    convertRange<T, double>(from, to, count, kIdentity);
}

void readIntegers(Type type, const char *from, char *to, int64_t count) {
  bool isUnsigned = type.isUnsignedInteger();
  unsigned width = type.getIntOrFloatBitWidth();
  switch (width) {
  case 1:
    return convertRange<uint8_t, int64_t>(from, to, count,
                                          [](uint8_t value) { return value != 0; });
  case 2:
  case 4:
    return convertRange<uint8_t, int64_t>(from, to, count, [&](uint8_t value) {
      uint64_t bits = value & llvm::maskTrailingOnes<uint64_t>(width);
      return isUnsigned ? static_cast<int64_t>(bits) : llvm::SignExtend64(bits, width);
    });
  case 8:
    return isUnsigned ? convertRange<uint8_t, int64_t>(from, to, count, kIdentity)
                      : convertRange<int8_t, int64_t>(from, to, count, kIdentity);
  case 16:
    return isUnsigned ? convertRange<uint16_t, int64_t>(from, to, count, kIdentity)
                      : convertRange<int16_t, int64_t>(from, to, count, kIdentity);
  case 32:
    return isUnsigned ? convertRange<uint32_t, int64_t>(from, to, count, kIdentity)
                      : convertRange<int32_t, int64_t>(from, to, count, kIdentity);
  default:
    std::copy_n(from, count * sizeof(int64_t), to); // both may be null where the count is 0
  }
}

void writeIntegers(Type type, const char *from, char *to, int64_t count) {
  unsigned width = type.getIntOrFloatBitWidth();
  switch (width) {
  case 2:
  case 4:
    return convertRange<int64_t, uint8_t>(from, to, count, [&](int64_t value) {
      return static_cast<uint64_t>(value) & llvm::maskTrailingOnes<uint64_t>(width);
    });
  case 1:
  case 8:
    return convertRange<int64_t, uint8_t>(from, to, count, kIdentity);
  case 16:
    return convertRange<int64_t, uint16_t>(from, to, count, kIdentity);
  case 32:
    return convertRange<int64_t, uint32_t>(from, to, count, kIdentity);
  default:
    std::copy_n(from, count * sizeof(int64_t), to); // both may be null where the count is 0
  }
}

} // namespace

Storage storageFor(Type elementType, Precision precision) {
  if (!isa<FloatType>(elementType))
    return Storage::i64;
  return elementType.isF64() || precision == Precision::f64 ? Storage::f64 : Storage::f32;
}

bool hasArithmetic(Type type) {
  if (type.isF16() || type.isBF16() || type.isF32() || type.isF64() || SmallFloat::of(type))
    return true;
  auto integer = dyn_cast<IntegerType>(type);
  return integer && llvm::is_contained({1u, 2u, 4u, 8u, 16u, 32u, 64u}, integer.getWidth());
}

std::optional<int64_t> elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return std::nullopt;
    empty |= size == 0;
    if (size != 0 && __builtin_mul_overflow(count, size, &count))
      return std::nullopt;
  }
  return empty ? 0 : count;
}

std::string toString(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [index, size] : llvm::enumerate(shape))
    text += (index ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::optional<HostTensor> HostTensor::allocate(ArrayRef<int64_t> shape, Type elementType,
                                               Storage storage) {
  std::optional<int64_t> count = elementCount(shape);
  if (!count || *count > kMaxBytes / storageBytes(storage) || !hasArithmetic(elementType))
    return std::nullopt;
  HostTensor tensor;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.count = *count;
  tensor.elementType = elementType;
  tensor.storage = storage;
  tensor.buffer = allocateBytes(*count * storageBytes(storage));
  return tensor.buffer ? std::optional<HostTensor>(std::move(tensor)) : std::nullopt;
}

std::optional<HostTensor> HostTensor::fromBytes(ArrayRef<int64_t> shape, Type elementType,
                                                ArrayRef<char> bytes, Precision precision) {
  std::optional<HostTensor> tensor =
      allocate(shape, elementType, storageFor(elementType, precision));
  if (!tensor || tensor->count * elementBytes(elementType) != static_cast<int64_t>(bytes.size()))
    return std::nullopt;
  char *to = static_cast<char *>(tensor->buffer.get());
  if (tensor->storage == Storage::f32)
    readFloats<float>(elementType, bytes.data(), to, tensor->count);
  else if (tensor->storage == Storage::f64)
    readFloats<double>(elementType, bytes.data(), to, tensor->count);
  else
    readIntegers(elementType, bytes.data(), to, tensor->count);
  return tensor;
}

std::optional<HostTensor> HostTensor::fromAttribute(ElementsAttr value, Precision precision) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  Type elementType = value.getElementType();
  if (!dense || !elementType.isIntOrFloat())
    return std::nullopt;
  std::optional<HostTensor> tensor =
      allocate(dense.getType().getShape(), elementType, storageFor(elementType, precision));
  if (!tensor)
    return std::nullopt;
  if (tensor->storage != Storage::i64) {
    visitStorage(tensor->storage, [&](auto *tag) {
      using T = std::remove_pointer_t<decltype(tag)>;
      llvm::transform(
          dense.getValues<APFloat>(), tensor->mutableValues<T>().begin(),
          [](const APFloat &element) { return static_cast<T>(element.convertToDouble()); });
    });
    return tensor;
  }
  bool zeroExtend = elementType.isInteger(1) || elementType.isUnsignedInteger();
  llvm::transform(dense.getValues<APInt>(), tensor->mutableValues<int64_t>().begin(),
                  [&](const APInt &element) {
                    return zeroExtend ? static_cast<int64_t>(element.getZExtValue())
                                      : element.getSExtValue();
                  });
  return tensor;
}

double HostTensor::getDouble(int64_t position) const {
  return visitNumbers(*this, [&](auto *tag) {
    return static_cast<double>(values<std::remove_pointer_t<decltype(tag)>>()[position]);
  });
}

HostTensor HostTensor::reshaped(ArrayRef<int64_t> newShape) const & {
  return HostTensor(*this).reshaped(newShape);
}

HostTensor HostTensor::reshaped(ArrayRef<int64_t> newShape) && {
  assert(elementCount(newShape) == count && "a reshape keeps the number of elements");
  shape.assign(newShape.begin(), newShape.end());
  return std::move(*this);
}

HostTensor HostTensor::withStorage(Storage wanted) const {
  if (wanted == storage)
    return *this;
  HostTensor result = *this;
  result.storage = wanted;
  result.buffer = allocateBytes(count * storageBytes(wanted));
  if (!result.buffer)
    llvm::report_bad_alloc_error("cannot convert a tensor's storage");
  visitNumbers(*this, [&](auto *from) {
    visitStorage(wanted, [&](auto *to) {
      using From = std::remove_pointer_t<decltype(from)>;
      using To = std::remove_pointer_t<decltype(to)>;
      llvm::transform(values<From>(), static_cast<To *>(result.buffer.get()),
                      [](From v) { return static_cast<To>(v); });
    });
  });
  return result;
}

HostTensor HostTensor::declaredAs(Type type) && {
  assert(isa<FloatType>(type) == (storage != Storage::i64) &&
         "the storage must fit the element type");
  elementType = type;
  return std::move(*this);
}

std::vector<char> HostTensor::toBytes() const {
  std::vector<char> bytes(count * elementBytes(elementType));
  const char *from = static_cast<const char *>(buffer.get());
  if (storage == Storage::f32)
    writeFloats<float>(elementType, from, bytes.data(), count);
  else if (storage == Storage::f64)
    writeFloats<double>(elementType, from, bytes.data(), count);
  else
    writeIntegers(elementType, from, bytes.data(), count);
  return bytes;
}

DenseElementsAttr HostTensor::toAttribute() const {
  auto type = RankedTensorType::get(shape, elementType);
  if (!elementType.isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, toBytes());
  SmallVector<bool> bools =
      llvm::map_to_vector(values<int64_t>(), [](int64_t value) { return value != 0; });
  return DenseElementsAttr::get(type, bools);
}

void HostTensor::unshare() {
  if (!buffer || buffer.use_count() == 1)
    return;
  int64_t bytes = count * storageBytes(storage);
  std::shared_ptr<void> copy = allocateBytes(bytes);
  if (!copy)
    llvm::report_bad_alloc_error("cannot copy a tensor");
  std::memcpy(copy.get(), buffer.get(), bytes);
  buffer = std::move(copy);
}

} // namespace smelt
