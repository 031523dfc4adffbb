#include "tests/generate/tensor_bytes.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace smelt::generate {

namespace {

const llvm::fltSemantics &semantics(ElementType type) {
  switch (type) {
  case Wire::FLOAT16:
    return llvm::APFloat::IEEEhalf();
  case Wire::BFLOAT16:
    return llvm::APFloat::BFloat();
  case Wire::FLOAT:
    return llvm::APFloat::IEEEsingle();
  default:
    return llvm::APFloat::IEEEdouble();
  }
}

uint64_t bitsOf(ElementType type, double value) {
  constexpr double kHalf = 0x1p63; // of the range of uint64; all of it is one too many
  if (type == Wire::UINT64 && value >= kHalf)
    return value < 2 * kHalf ? static_cast<uint64_t>(value) : std::numeric_limits<uint64_t>::max();
  if (!isFloat(type))
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  llvm::APFloat number(value);
  bool lost;
  number.convert(semantics(type), llvm::APFloat::rmNearestTiesToEven, &lost);
  return number.bitcastToAPInt().getZExtValue();
}

} // namespace

double rounded(ElementType type, double value) {
  llvm::APFloat number(value);
  bool lost;
  number.convert(semantics(type), llvm::APFloat::rmNearestTiesToEven, &lost);
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

double drawElement(Random &random, ElementType type, Bounds bounds) {
  if (!isFloat(type))
    return static_cast<double>(random.integer(static_cast<int64_t>(std::ceil(bounds.low)),
                                              static_cast<int64_t>(std::floor(bounds.high)) + 1));
  return rounded(type, bounds.low + random.uniform() * (bounds.high - bounds.low));
}

std::string toBytes(ElementType type, const std::vector<double> &elements) {
  size_t width = elementBytes(type);
  std::string bytes(elements.size() * width, '\0');
  for (size_t i = 0; i < elements.size(); ++i) {
    uint64_t bits = bitsOf(type, elements[i]);
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

double elementAt(ElementType type, const char *bytes, size_t index) {
  uint64_t bits = 0;
  size_t width = elementBytes(type);
  std::memcpy(&bits, bytes + index * width, width);
  if (isFloat(type)) {
    llvm::APFloat number(semantics(type), llvm::APInt(static_cast<unsigned>(width * 8), bits));
    bool lost;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return number.convertToDouble();
  }
  if (!isSigned(type))
    return static_cast<double>(bits);
  unsigned shift = 64 - static_cast<unsigned>(width) * 8;
  return static_cast<double>(static_cast<int64_t>(bits << shift) >> shift);
}

} // namespace smelt::generate
