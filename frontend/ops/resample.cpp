#include "frontend/ops/resample.h"

#include <cmath>

using namespace mlir;

namespace smelt::frontend {

namespace {

/// More than so many neighbours are gathered along an axis of their own and summed.
constexpr int64_t kMostUnrolledTaps = 4;

/// The left neighbour, less than the position itself, as an integer, and how far behind it the
/// position lies: within (0, 1].
struct Split {
  Expression left, distance;
};

Split splitPositions(Expression positions) {
  Expression left = ceil(positions) - 1;
  return {left.as(IntegerType::get(positions.build().getContext(), 64)), positions - left};
}

/// Positions within an axis; those outside it become its ends.
Value clampTo(Expression positions, Dim size) {
  GraphBuilder &build = positions.build();
  Expression last = sizeAs(build, size - 1, IntegerType::get(build.getContext(), 64));
  return minimum(maximum(positions, last.number(0)), last).value();
}

Value readNearest(GraphBuilder &build, Value input, int64_t axis, Expression positions,
                  Nearest nearest) {
  Split split = splitPositions(positions);
  Expression right = split.left + 1, chosen = right, middle = split.distance.number(0.5);
  if (nearest == Nearest::floor)
    chosen = select(split.distance < 1, split.left, right);
  else if (nearest == Nearest::preferCeil)
    chosen = select(split.distance < middle, split.left, right);
  else if (nearest == Nearest::preferFloor)
    chosen = select(middle < split.distance, right, split.left);
  return build.create<GatherOp>({input, clampTo(chosen, tensorType(input).getDim(axis))},
                                build.attribute("axis", axis));
}

Value sumRows(Expression rows) {
  return rows.build().reduce(ReductionKind::sum, rows.value(), {1});
}

/// The neighbours of each position and their weights, both [positions, taps].
struct Taps {
  Value indices, weights;
  int64_t count;
};

Taps findTaps(GraphBuilder &build, Expression positions, Dim size, const Resampling &resampling) {
  bool isCubic = resampling.mode == Interpolation::cubic, isStretched = resampling.filterScale < 1;
  auto first = static_cast<int64_t>(std::floor((isCubic ? -2 : -1) / resampling.filterScale)) + 1;
  int64_t count = 2 - 2 * first;
  Type f64 = Float64Type::get(build.getContext()), i64 = IntegerType::get(build.getContext(), 64);
  Dim length = tensorType(positions.value()).getDim(0);
  Split split = splitPositions(positions.reshaped({length, build.size(1)}));
  Expression offset = countTo(build, build.size(count), i64) + static_cast<double>(first);
  Expression distance = abs(offset.as(f64) - split.distance) * resampling.filterScale;
  Expression weight = isCubic ? cubicWeight(distance, resampling.cubicCoefficient)
                              : maximum(1 - distance, distance.number(0));
  Expression position = split.left + offset;
  if (resampling.excludesOutside) {
    Expression last = sizeAs(build, size - 1, i64);
    weight = select(either(position < 0, last < position), weight.number(0), weight);
  }
  if (isStretched || resampling.excludesOutside) {
    Expression sum(build, sumRows(weight));
    Expression isNothing(build, build.create<EqualOp>({sum.value(), sum.number(0).value()}));
    weight = weight / select(isNothing, sum.number(1), sum);
  }
  return {clampTo(position, size), weight.value(), count};
}

/// [positions, n] with n axes of 1 behind it, to meet what was gathered at `axis`.
Value alignTable(GraphBuilder &build, Value table, int64_t axis, int64_t rank, Type type) {
  SmallVector<Dim> shape = tensorType(table).getShape();
  shape.append(rank - axis - 1, build.size(1));
  return build.reshape(build.cast(table, type), shape);
}

Value interpolate(GraphBuilder &build, Value input, int64_t axis, const Taps &taps) {
  Type type = tensorType(taps.weights).getElementType();
  int64_t rank = tensorType(input).getRank();
  auto gather = [&](Value indices) {
    Value read = build.create<GatherOp>({input, indices}, build.attribute("axis", axis));
    return build.cast(read, type);
  };
  if (taps.count > kMostUnrolledTaps) {
    Value weights = alignTable(build, taps.weights, axis, rank, type);
    Value products = build.create<MulOp>({gather(taps.indices), weights});
    Value sum = build.reduce(ReductionKind::sum, products, {axis + 1});
    if (!sum)
      return {};
    SmallVector<Dim> shape = tensorType(sum).getShape();
    shape.erase(shape.begin() + axis + 1);
    return build.reshape(sum, shape);
  }
  Value sum;
  for (int64_t tap = 0; tap < taps.count; ++tap) {
    auto column = [&](Value table) {
      Value sliced = build.slice(table, 1, build.size(tap), build.size(1));
      return sliced ? build.reshape(sliced, tensorType(sliced).getShape()[0]) : Value();
    };
    Value weight = column(taps.weights);
    if (!weight)
      return {};
    Value product = build.create<MulOp>(
        {gather(column(taps.indices)), alignTable(build, weight, axis, rank, type)});
    sum = sum ? build.create<AddOp>({sum, product}) : product;
  }
  return sum;
}

} // namespace

Value resample(GraphBuilder &build, Value input, int64_t axis, Expression positions,
               const Resampling &resampling) {
  if (!input || !positions.value())
    return {};
  if (resampling.mode == Interpolation::nearest)
    return readNearest(build, input, axis, positions, resampling.nearest);
  Taps taps = findTaps(build, positions, tensorType(input).getDim(axis), resampling);
  if (!taps.indices || !taps.weights)
    return {};
  Type element = tensorType(input).getElementType();
  bool isWide = element.isF64() || element.isInteger(32) || element.isInteger(64);
  taps.weights = build.cast(taps.weights, isWide ? Type(Float64Type::get(build.getContext()))
                                                 : Float32Type::get(build.getContext()));
  return interpolate(build, input, axis, taps);
}

Value backTo(GraphBuilder &build, Value value, Type elementType) {
  if (!value || tensorType(value).getElementType() == elementType)
    return value;
  Expression x(build, value);
  if (!elementType.isInteger())
    return x.as(elementType).value();
  int width = static_cast<int>(elementType.getIntOrFloatBitWidth());
  bool isUnsigned = elementType.isUnsignedInteger();
  double least = isUnsigned ? 0 : -std::ldexp(1, width - 1),
         most = std::ldexp(1, isUnsigned ? width : width - 1) - 1;
  x = x.apply<RoundOp>();
  return minimum(maximum(x, x.number(least)), x.number(most)).as(elementType).value();
}

} // namespace smelt::frontend
