#include "ir/number_range.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace smelt {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// What clips and rounds a number, and moves it by a zero point.
constexpr int kMostOps = 8;

NumberRange rangeOf(Value value, int mostOps) {
  constexpr NumberRange kUnknown{-kInfinity, kInfinity, false};
  Operation *op = value.getDefiningOp();
  if (!op || mostOps == 0)
    return kUnknown;
  auto input = [&] { return rangeOf(op->getOperand(0), mostOps - 1); };
  std::optional<double> number =
      op->getNumOperands() == 2 ? literalNumber(op->getOperand(1)) : std::nullopt;
  // What an op with a number makes of the bounds: whole ones stay whole where the number is.
  auto inputWith = [&](double (*compute)(double, double)) {
    if (!number)
      return kUnknown;
    NumberRange x = input();
    return NumberRange{compute(x.low, *number), compute(x.high, *number),
                       x.isWhole && *number == std::floor(*number)};
  };
  return TypeSwitch<Operation *, NumberRange>(op)
      .Case<RoundOp>([&](auto) {
        NumberRange x = input(); // infinities stay what they are
        return NumberRange{std::nearbyint(x.low), std::nearbyint(x.high), true};
      })
      .Case<ReluOp>([&](auto) {
        NumberRange x = input();
        return NumberRange{std::max(x.low, 0.0), std::max(x.high, 0.0), x.isWhole};
      })
      .Case<MinOp>([&](auto) {
        return inputWith([](double bound, double other) { return std::min(bound, other); });
      })
      .Case<MaxOp>([&](auto) {
        return inputWith([](double bound, double other) { return std::max(bound, other); });
      })
      .Case<AddOp>(
          [&](auto) { return inputWith([](double bound, double other) { return bound + other; }); })
      .Case<DivOp>([&](auto) {
        if (!number || *number <= 0)
          return kUnknown;
        NumberRange x = input();
        return NumberRange{x.low / *number, x.high / *number, false};
      })
      .Default([&](auto) { return kUnknown; });
}

} // namespace

std::optional<double> literalNumber(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat() || !elements.getElementType().isF32())
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToFloat();
}

bool isOnlyRounded(Value value) {
  return !value.use_empty() && llvm::all_of(value.getUsers(), [](Operation *user) {
    if (isa<RoundOp>(user))
      return true;
    return isa<MinOp, MaxOp, ReluOp>(user) && isOnlyRounded(user->getResult(0));
  });
}

NumberRange rangeOf(Value value) { return rangeOf(value, kMostOps); }

bool isByte(const NumberRange &range, Type type) {
  constexpr double kValues = 256;
  double low = type.isUnsignedInteger() ? 0 : -kValues / 2;
  return type.isInteger(8) && range.isWhole && range.isWithin(low, low + kValues - 1);
}

} // namespace smelt
