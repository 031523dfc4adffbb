#include "tests/generate/exactness.h"

#include <cmath>
#include <cstdint>

using namespace mlir;

namespace smelt::generate {

namespace {

/// Bits of a float's significand.
int significand(Type type) {
  if (type.isBF16())
    return 8;
  if (type.isF16())
    return 11;
  return type.isF32() ? 24 : 53;
}

/// The elements in units of a power of two, of which all are multiples.
struct Units {
  int exponent = 0; ///< of the unit
  double most = 0;  ///< the largest magnitude, in units; infinite where an element is not finite
};

/// The exponent of the lowest bit of a number that is not 0.
int lowestBit(double value) {
  int exponent;
  double fraction = std::frexp(std::abs(value), &exponent);
  auto bits = static_cast<uint64_t>(std::ldexp(fraction, 53));
  return exponent - 53 + __builtin_ctzll(bits);
}

Units unitsOf(const HostTensor &tensor) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  double largest = 0;
  int exponent = std::numeric_limits<int>::max();
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double value = tensor.getDouble(i);
    if (!std::isfinite(value))
      return {0, kInfinite};
    largest = std::max(largest, std::abs(value));
    if (value != 0)
      exponent = std::min(exponent, lowestBit(value));
  }
  return largest == 0 ? Units() : Units{exponent, std::ldexp(largest, -exponent)};
}

bool arePowersOfTwo(const HostTensor &tensor) {
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    int exponent;
    if (std::frexp(std::abs(tensor.getDouble(i)), &exponent) != 0.5)
      return false;
  }
  return true;
}

bool areEqual(const HostTensor &one, const HostTensor &other) {
  for (int64_t i = 0; i < one.getNumElements(); ++i)
    if (one.getDouble(i) != other.getDouble(i))
      return false;
  return true;
}

/// No number is so small, or so large, that its type has fewer bits for it, or none.
bool areNormal(const HostTensor &tensor) {
  bool isHalf = tensor.getElementType().isF16();
  double least = isHalf ? 0x1p-14 : 0x1p-126, most = isHalf ? 6e4 : 1e38;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    if (double size = std::abs(tensor.getDouble(i)); size != 0 && !(size >= least && size <= most))
      return false;
  return true;
}

HostTensor magnitudes(const HostTensor &tensor) {
  HostTensor result = tensor.withStorage(Storage::f64);
  for (double &value : result.mutableValues<double>())
    value = std::abs(value);
  return result;
}

/// The terms of a product's sums are multiples of the product of both units; their magnitudes sum to what the op makes of
/// the operands' magnitudes.
bool isExactProduct(Operation *op, ArrayRef<HostTensor> operands, int bits, const Symbols &symbols,
                    const EvaluateOptions &options) {
  Units left = unitsOf(operands[0]), right = unitsOf(operands[1]);
  double limit = std::ldexp(1.0, bits);
  if (!(left.most * right.most <= limit))
    return false;
  int unit = left.exponent + right.exponent;
  if (operands.size() > 2) { // the bias of a convolution
    Units bias = unitsOf(operands[2]);
    if (!std::isfinite(bias.most))
      return false;
    unit = bias.most == 0 ? unit : std::min(unit, bias.exponent);
  }
  auto sums = evaluate(op, llvm::map_to_vector(operands, magnitudes), symbols, options);
  return succeeded(sums) && llvm::all_of(sums->front().values<double>(), [&](double sum) {
           return std::ldexp(sum, -unit) <= limit;
         });
}

bool isExactSum(const HostTensor &left, const HostTensor &right, int bits) {
  Units a = unitsOf(left), b = unitsOf(right);
  if (a.most == 0 || b.most == 0)
    return a.most + b.most <= std::ldexp(1.0, bits);
  int unit = std::min(a.exponent, b.exponent);
  return std::ldexp(a.most, a.exponent - unit) + std::ldexp(b.most, b.exponent - unit) <=
         std::ldexp(1.0, bits);
}

} // namespace

bool isExactArithmetic(Operation *op, ArrayRef<HostTensor> operands, const HostTensor &result,
                       const Symbols &symbols, const EvaluateOptions &options) {
  int bits = significand(result.getElementType());
  if (isa<CastOp>(op))
    return areEqual(operands[0], result);
  if (isa<AddOp, SubOp>(op))
    return isExactSum(operands[0], operands[1], bits);
  if (isa<MulOp>(op))
    return (arePowersOfTwo(operands[0]) || arePowersOfTwo(operands[1])) && areNormal(result);
  if (isa<DivOp>(op))
    return arePowersOfTwo(operands[1]) && areNormal(result);
  return isa<MatmulOp, ConvOp>(op) && isExactProduct(op, operands, bits, symbols, options);
}

} // namespace smelt::generate
