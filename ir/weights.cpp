#include "ir/weights.h"

#include "ir/interpret/half.h"
#include "ir/interpret/random.h"
#include "ir/interpret/small_float.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;

namespace smelt {

namespace {

/// A file name that stays below the model's folder.
bool isContained(StringRef file) {
  if (file.empty() || llvm::sys::path::is_absolute(file))
    return false;
  return !llvm::is_contained(
      llvm::make_range(llvm::sys::path::begin(file), llvm::sys::path::end(file)), "..");
}

/// The deviation that public configurations start from; filters (rank 3 and up) by fan-in, which
/// keeps deep convolutional networks from fading.
double deviationOf(ArrayRef<int64_t> shape) {
  int64_t fanIn = 1;
  for (int64_t size : shape.drop_front(shape.size() < 3 ? shape.size() : 1))
    fanIn *= size;
  return shape.size() < 3 ? 0.02
                          : std::sqrt(2.0 / static_cast<double>(std::max<int64_t>(fanIn, 1)));
}

/// Quantiles of the standard normal distribution at (i + 0.5) / size: 16 random bits pick one,
/// which is many times faster than a logarithm and a cosine for each of a hundred million weights.
std::vector<float> normalQuantiles() {
  constexpr int kSize = 1 << 16;
  std::vector<float> quantiles(kSize);
  double low = -6;
  for (int i = 0; i < kSize / 2; ++i) {
    // The distribution function is increasing: bisect, from the last quantile on.
    double target = (i + 0.5) / kSize, high = 0, from = low;
    for (int step = 0; step < 40; ++step) {
      double middle = (from + high) / 2;
      (0.5 * std::erfc(-middle / std::sqrt(2.0)) < target ? from : high) = middle;
    }
    low = from;
    quantiles[i] = static_cast<float>(from);
    quantiles[kSize - 1 - i] = static_cast<float>(-from);
  }
  return quantiles;
}

/// Fills `bytes` with values that 16 random bits pick.
template <typename T, typename Pick> void fill(Random &random, std::string &bytes, Pick pick) {
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i, bits >>= 16) {
    if (i % 4 == 0)
      bits = random.bits();
    T value = pick(bits & 0xffff);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <typename T, typename Convert>
void drawFloats(Random &random, ArrayRef<float> quantiles, float deviation, std::string &bytes,
                Convert convert) {
  auto valueOf = [&](size_t index) -> T { return convert(quantiles[index] * deviation); };
  if (bytes.size() / sizeof(T) <= quantiles.size())
    return fill<T>(random, bytes, valueOf);
  // A large weight has every quantile many times: each is rounded once.
  std::vector<T> values(quantiles.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = valueOf(i);
  fill<T>(random, bytes, [&](size_t index) { return values[index]; });
}

std::string drawWeight(WeightOp weight, int64_t size, uint64_t seed) {
  TensorType type = tensorType(weight.getOutput());
  Type elementType = type.getElementType();
  static const std::vector<float> kQuantiles = normalQuantiles();
  Random random(seed ^ llvm::xxh3_64bits(weight.getName()));
  auto deviation = static_cast<float>(deviationOf(type.getStaticShape()));
  std::string bytes(size, 0);
  if (elementType.isF16())
    drawFloats<uint16_t>(random, kQuantiles, deviation, bytes, floatToHalf);
  else if (elementType.isBF16())
    drawFloats<uint16_t>(random, kQuantiles, deviation, bytes, floatToBfloat16);
  else if (elementType.isF32())
    drawFloats<float>(random, kQuantiles, deviation, bytes, [](float value) { return value; });
  else if (elementType.isF64())
    drawFloats<double>(random, kQuantiles, deviation, bytes,
                       [](float value) { return static_cast<double>(value); });
  else if (std::optional<SmallFloat> format = SmallFloat::of(elementType))
    drawFloats<uint8_t>(random, kQuantiles, deviation, bytes,
                        [&](float value) { return format->encode(value); });
  else
    for (int64_t i = 0, width = elementBytes(elementType); i < size; i += width)
      bytes[i] = static_cast<char>(random.bits() & 1);
  return bytes;
}

/// Bytes that the type takes; none where that overflows.
std::optional<int64_t> byteSize(TensorType type) {
  std::optional<int64_t> count = elementCount(type.getStaticShape());
  int64_t bytes;
  if (!count || __builtin_mul_overflow(*count, elementBytes(type.getElementType()), &bytes))
    return std::nullopt;
  return bytes;
}

} // namespace

Attribute contentKey(SourceAttr source) {
  return source.getHash().empty() ? Attribute(source)
                                  : StringAttr::get(source.getContext(), source.getHash());
}

WeightStore::WeightStore(std::string directory) : directory(std::move(directory)) {}

void WeightStore::drawMissing(uint64_t drawSeed) { seed = drawSeed; }

void WeightStore::own(StringRef name, std::string bytes) { owned[name] = std::move(bytes); }

void WeightStore::addFile(StringRef file, std::shared_ptr<llvm::MemoryBuffer> mapped) {
  files[file] = std::move(mapped);
}

std::vector<std::string> WeightStore::filePaths() const {
  std::vector<std::string> paths;
  for (StringRef name : files.keys())
    paths.push_back(pathOf(name));
  return paths;
}

std::string WeightStore::pathOf(StringRef file) const {
  SmallString<128> path(directory);
  llvm::sys::path::append(path, file);
  return path.str().str();
}

FailureOr<ArrayRef<char>> WeightStore::bytes(WeightOp weight) {
  read.insert(weight.getName());
  std::optional<int64_t> size = byteSize(tensorType(weight.getOutput()));
  if (!size)
    return weight.emitError("weight '")
           << weight.getName() << "' of type " << weight.getOutput().getType() << " is too large";
  auto found = owned.find(weight.getName());
  if (found == owned.end()) {
    FailureOr<ArrayRef<char>> mapped = mappedBytes(weight, *size);
    if (failed(mapped) || mapped->data())
      return mapped;
    found = owned.try_emplace(weight.getName(), drawWeight(weight, *size, *seed)).first;
  }
  const std::string &bytes = found->second;
  if (static_cast<int64_t>(bytes.size()) != *size)
    return weight.emitError("weight '")
           << weight.getName() << "' has " << bytes.size() << " bytes, its type "
           << weight.getOutput().getType() << " takes " << *size;
  return ArrayRef<char>(bytes.data(), bytes.size());
}

FailureOr<ArrayRef<char>> WeightStore::mappedBytes(WeightOp weight, int64_t size) {
  SourceAttr source = weight.getSource();
  if (source.getLength() != static_cast<uint64_t>(size))
    return weight.emitError("weight '")
           << weight.getName() << "' has " << source.getLength() << " bytes in " << source.getFile()
           << ", its type " << weight.getOutput().getType() << " takes " << size;
  FailureOr<llvm::MemoryBuffer *> file = open(weight);
  if (failed(file))
    return failure();
  if (!*file)
    return ArrayRef<char>();
  uint64_t available = (*file)->getBufferSize();
  if (source.getOffset() > available || source.getLength() > available - source.getOffset())
    return weight.emitError("weight '")
           << weight.getName() << "' needs bytes " << source.getOffset() << " to "
           << source.getOffset() + source.getLength() << " of " << source.getFile()
           << ", which has " << available;
  return ArrayRef<char>((*file)->getBufferStart() + source.getOffset(), size);
}

FailureOr<llvm::MemoryBuffer *> WeightStore::open(WeightOp weight) {
  StringRef name = weight.getSource().getFile();
  auto found = files.find(name);
  if (found != files.end())
    return found->second.get();
  if (!isContained(name))
    return weight.emitError("weight '") << weight.getName() << "' lies in '" << name
                                        << "', which is not a file below the model's folder";
  std::string path = pathOf(name);
  auto mapped =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (mapped)
    return (files[name] = std::move(*mapped)).get();
  if (seed)
    return nullptr;
  return weight.emitError("weight '") << weight.getName() << "' needs the file '" << path
                                      << "': " << mapped.getError().message();
}

} // namespace smelt
