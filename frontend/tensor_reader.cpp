#include "frontend/tensor_reader.h"

#include "frontend/element_type.h"
#include "ir/interpret/half.h"
#include "ir/interpret/host_tensor.h"
#include "ir/interpret/random.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/xxhash.h"

#include <cstring>

using namespace mlir;

namespace smelt::frontend {

namespace {

template <typename Element, typename Values> std::string pack(const Values &values) {
  std::string bytes(values.size() * sizeof(Element), '\0');
  char *out = bytes.data();
  for (auto value : values) {
    Element element = static_cast<Element>(value);
    std::memcpy(out, &element, sizeof(Element));
    out += sizeof(Element);
  }
  return bytes;
}

bool allEqual(ArrayRef<char> bytes, unsigned elementBytes) {
  return bytes.size() >= elementBytes &&
         std::memcmp(bytes.data(), bytes.data() + elementBytes, bytes.size() - elementBytes) == 0;
}

/// `bytes` holds all elements, or one that all of them equal.
DenseElementsAttr makeElements(TensorType type, ArrayRef<char> bytes) {
  RankedTensorType builtin = toBuiltin(type);
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(builtin, bytes);
  SmallVector<bool> values = llvm::map_to_vector(bytes, [](char byte) { return byte != 0; });
  return DenseElementsAttr::get(builtin, values);
}

std::string hashText(ArrayRef<char> bytes) {
  auto hash =
      llvm::xxh3_128bits(ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, /*LowerCase=*/true, 16);
}

uint64_t elementCountOf(TensorType type) {
  return static_cast<uint64_t>(*type.getNumElements().asConstant());
}

/// Bytes of raw data, where several elements may share one.
uint64_t rawByteCount(TensorType type, int32_t dataType) {
  uint64_t count = elementCountOf(type);
  unsigned perByte = elementsPerByte(dataType);
  return perByte == 1 ? count * elementBytes(type.getElementType())
                      : count / perByte + (count % perByte != 0);
}

template <typename Integer> bool isIota(ArrayRef<char> bytes) {
  for (size_t index = 0; index < bytes.size() / sizeof(Integer); ++index) {
    Integer value;
    std::memcpy(&value, bytes.data() + index * sizeof(Integer), sizeof(Integer));
    if (value != static_cast<Integer>(index))
      return false;
  }
  return true;
}

/// Whether the elements are 0, 1, 2, ..., as in the position tables that exporters store.
bool isIota(TensorType type, ArrayRef<char> bytes) {
  Type element = type.getElementType();
  return element.isInteger(64) ? isIota<int64_t>(bytes)
                               : element.isInteger(32) && isIota<int32_t>(bytes);
}

/// Adds noise of the deviation that weights are drawn with to elements that all are the same.
template <typename Element, typename ToFloat, typename FromFloat>
void perturb(std::string &bytes, Random &random, ToFloat toFloat, FromFloat fromFloat) {
  constexpr double kDeviation = 0.02;
  if (!allEqual(ArrayRef(bytes.data(), bytes.size()), sizeof(Element)))
    return;
  for (size_t at = 0; at + sizeof(Element) <= bytes.size(); at += sizeof(Element)) {
    Element element;
    std::memcpy(&element, bytes.data() + at, sizeof(Element));
    double value = static_cast<double>(toFloat(element)) + kDeviation * random.normal();
    element = fromFloat(static_cast<float>(value));
    std::memcpy(bytes.data() + at, &element, sizeof(Element));
  }
}

std::string unpacked(const onnx_wire::Tensor &tensor, std::string raw, TensorType type) {
  return elementsPerByte(tensor.data_type()) == 1
             ? raw
             : unpackElements(tensor.data_type(), raw, elementCountOf(type));
}

/// What needs no weight: small and uniform tensors, counting ones. Null for the others.
Value makeLiteral(GraphBuilder &build, TensorType type, ArrayRef<char> bytes) {
  unsigned width = elementBytes(type.getElementType());
  if (allEqual(bytes, width))
    return build.constant(makeElements(type, bytes.take_front(width)));
  if (bytes.size() <= kMaxConstantBytes)
    return build.constant(makeElements(type, bytes));
  if (!isIota(type, bytes))
    return {};
  return build.reshape(
      build.createAs<IotaOp>(TensorType::get(type.getNumElements(), type.getElementType()), {}),
      type.getShape());
}

/// Reads `offset` and `length`; a missing length means the tensor's own size.
FailureOr<ExternalRange> parseRange(Location location, const onnx_wire::Tensor &tensor,
                                    uint64_t bytes) {
  ExternalRange range;
  range.length = bytes;
  for (const onnx_wire::StringEntry &entry : tensor.external_data()) {
    if (entry.key() == "location")
      range.file = entry.value();
    bool isOffset = entry.key() == "offset";
    if (!isOffset && entry.key() != "length")
      continue;
    if (StringRef(entry.value()).getAsInteger(10, isOffset ? range.offset : range.length))
      return emitError(location) << "has the external " << entry.key() << " '" << entry.value()
                                 << "', which is no number";
  }
  if (range.length != bytes)
    return emitError(location) << "needs " << bytes << " bytes, but its external data has "
                               << range.length;
  return range;
}

} // namespace

std::string packTypedFields(const onnx_wire::Tensor &tensor) {
  using onnx_wire::Tensor;
  switch (tensor.data_type()) {
  case Tensor::FLOAT:
    return pack<float>(tensor.float_data());
  case Tensor::DOUBLE:
    return pack<double>(tensor.double_data());
  case Tensor::INT64:
    return pack<int64_t>(tensor.int64_data());
  case Tensor::INT32:
    return pack<int32_t>(tensor.int32_data());
  case Tensor::FLOAT16:
  case Tensor::BFLOAT16:
  case Tensor::INT16:
  case Tensor::UINT16:
    return pack<uint16_t>(tensor.int32_data());
  case Tensor::UINT32:
    return pack<uint32_t>(tensor.uint64_data());
  case Tensor::UINT64:
    return pack<uint64_t>(tensor.uint64_data());
  default: // BOOL, INT8, UINT8, and smaller types, packed as in raw data
    return pack<uint8_t>(tensor.int32_data());
  }
}

std::string unpackElements(int32_t dataType, ArrayRef<char> raw, uint64_t count) {
  unsigned perByte = elementsPerByte(dataType);
  if (perByte == 1)
    return std::string(raw.begin(), raw.end());
  unsigned bits = 8 / perByte;
  std::string codes(count, '\0');
  for (uint64_t i = 0; i < count; ++i) {
    unsigned shared = static_cast<unsigned char>(raw[i / perByte]) >> (i % perByte * bits);
    codes[i] = static_cast<char>(shared & ((1u << bits) - 1u));
  }
  return codes;
}

FailureOr<TensorType> tensorTypeOf(Location location, const onnx_wire::Tensor &tensor) {
  Type element = elementType(location.getContext(), tensor.data_type());
  if (!element)
    return emitError(location) << "tensors of type " << dataTypeName(tensor.data_type())
                               << " are not supported";
  if (tensor.dims_size() > kMaxRank)
    return emitError(location) << "has " << tensor.dims_size() << " dimensions, at most "
                               << kMaxRank << " are supported";
  SmallVector<Dim> shape;
  int64_t bytes = elementBytes(element);
  for (int64_t size : tensor.dims()) {
    if (size < 0)
      return emitError(location) << "has a negative dimension, " << size;
    if (size != 0 && __builtin_mul_overflow(bytes, size, &bytes))
      return emitError(location) << "has dimensions whose product overflows 64 bits";
    shape.push_back(Dim::constant(location.getContext(), size));
  }
  return TensorType::get(shape, element);
}

LogicalResult embedExternal(Location location, ExternalFiles &files, onnx_wire::Tensor &tensor) {
  if (tensor.data_location() != onnx_wire::Tensor::EXTERNAL)
    return success();
  FailureOr<TensorType> type = tensorTypeOf(location, tensor);
  if (failed(type))
    return failure();
  FailureOr<ExternalRange> range =
      parseRange(location, tensor, rawByteCount(*type, tensor.data_type()));
  if (failed(range))
    return failure();
  auto file = files.open(location, range->file);
  if (failed(file) || !*file)
    return success(succeeded(file));
  if (failed(checkRange(location, *range, (*file)->getBufferSize())))
    return failure();
  tensor.set_raw_data((*file)->getBufferStart() + range->offset, range->length);
  tensor.clear_external_data();
  tensor.clear_data_location();
  return success();
}

bool TensorReader::isMissing(const onnx_wire::Tensor &tensor) const {
  auto isLocation = [](const onnx_wire::StringEntry &entry) { return entry.key() == "location"; };
  auto location = llvm::find_if(tensor.external_data(), isLocation);
  return tensor.data_location() == onnx_wire::Tensor::EXTERNAL &&
         location != tensor.external_data().end() &&
         !llvm::sys::fs::exists(files.directoryName() + "/" + location->value());
}

void TensorReader::drawUniformVector(StringRef name, onnx_wire::Tensor &tensor, uint64_t seed) {
  using onnx_wire::Tensor;
  if (tensor.data_location() == Tensor::EXTERNAL || tensor.dims_size() != 1 || tensor.dims(0) < 2)
    return;
  std::string bytes = tensor.has_raw_data() ? tensor.raw_data() : packTypedFields(tensor);
  Random random(seed ^ llvm::xxh3_64bits(name));
  switch (tensor.data_type()) {
  case Tensor::FLOAT:
    perturb<float>(
        bytes, random, [](float value) { return value; }, [](float value) { return value; });
    break;
  case Tensor::FLOAT16:
    perturb<uint16_t>(bytes, random, halfToFloat, floatToHalf);
    break;
  case Tensor::BFLOAT16:
    perturb<uint16_t>(bytes, random, bfloat16ToFloat, floatToBfloat16);
    break;
  default:
    return;
  }
  tensor.set_raw_data(std::move(bytes));
}

void TensorReader::tellRead(TensorType type) {
  readBytesSoFar += elementCountOf(type) * elementBytes(type.getElementType());
  if (onRead)
    onRead(std::min(readBytesSoFar, expectedBytes),
           expectedBytes); // graphs in nodes have some, too
}

Value TensorReader::read(GraphBuilder &build, StringRef name, onnx_wire::Tensor &tensor) {
  auto scope = build.atStart(name);
  // No node's name, so that messages do not speak of one.
  Location location = NameLoc::get(StringAttr::get(build.getContext(), "tensor '" + name + "'"));
  FailureOr<TensorType> type = tensorTypeOf(location, tensor);
  if (failed(type))
    return {};
  if (tensor.data_location() == onnx_wire::Tensor::EXTERNAL) {
    Value value = readExternal(build, location, name, tensor, *type);
    tellRead(*type);
    return value;
  }
  std::string bytes =
      tensor.has_raw_data() ? std::move(*tensor.mutable_raw_data()) : packTypedFields(tensor);
  if (uint64_t wanted = rawByteCount(*type, tensor.data_type()); bytes.size() != wanted) {
    emitError(location) << dataTypeName(tensor.data_type()) << " " << toString(type->getShape())
                        << " needs " << wanted << " bytes, but its data has " << bytes.size();
    return {};
  }
  Value value = readBytes(build, name, unpacked(tensor, std::move(bytes), *type), *type);
  tellRead(*type);
  return value;
}

Value TensorReader::makeConstant(GraphBuilder &build, TensorType type, ArrayRef<char> bytes) const {
  bool isKept = refit && isa<FloatType>(type.getElementType()) && type.getRank() > 0 &&
                static_cast<int64_t>(elementCountOf(type)) > kMostLiterals;
  return isKept ? Value() : makeLiteral(build, type, bytes);
}

Value TensorReader::readBytes(GraphBuilder &build, StringRef name, std::string bytes,
                              TensorType type) {
  if (Value constant = makeConstant(build, type, bytes))
    return constant;
  ExternalRange source;
  source.length = bytes.size();
  Value weight = makeWeight(build, name, source, ArrayRef(bytes.data(), bytes.size()), type);
  weights.own(name, std::move(bytes));
  return weight;
}

Value TensorReader::readExternal(GraphBuilder &build, Location location, StringRef name,
                                 const onnx_wire::Tensor &tensor, TensorType type) {
  bool isPacked = elementsPerByte(tensor.data_type()) > 1;
  FailureOr<ExternalRange> range =
      parseRange(location, tensor, rawByteCount(type, tensor.data_type()));
  if (failed(range))
    return {};
  auto file = files.open(location, range->file);
  if (failed(file))
    return {};
  if (!*file && isPacked)
    range->length = elementCountOf(type); // of what is drawn
  if (!*file && drawMissing)
    return makeWeight(build, name, *range, std::nullopt, type);
  if (!*file) {
    emitError(location) << "its external file '" << range->file
                        << "' is missing from the model's folder; --random-weights SEED draws "
                           "weights that are missing";
    return {};
  }
  if (failed(checkRange(location, *range, (*file)->getBufferSize())))
    return {};
  ArrayRef<char> bytes((*file)->getBufferStart() + range->offset, range->length);
  if (isPacked) // kernels read one element a byte, which no range of the file has
    return readBytes(build, name, unpackElements(tensor.data_type(), bytes, elementCountOf(type)),
                     type);
  weights.addFile(range->file, *file);
  if (Value constant = makeConstant(build, type, bytes))
    return constant;
  return makeWeight(build, name, *range, bytes, type);
}

Value TensorReader::makeWeight(GraphBuilder &build, StringRef name, const ExternalRange &source,
                               std::optional<ArrayRef<char>> bytes, TensorType type) {
  MLIRContext *context = build.getContext();
  auto where = SourceAttr::get(context, source.file, source.offset, source.length,
                               bytes ? hashText(*bytes) : "");
  return build.createAs<WeightOp>(
      type, {},
      {build.attribute("name", StringAttr::get(context, name)), build.attribute("source", where)});
}

} // namespace smelt::frontend
