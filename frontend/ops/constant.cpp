// Nodes without data inputs: constants, filled tensors, ranges, and the sizes of tensors.
#include "frontend/ops/constant.h"

#include "frontend/node_table.h"
#include "frontend/onnx.pb.h"

#include "ir/dim_values.h"

#include <cmath>

using namespace mlir;

namespace smelt::frontend {

namespace {

Value floats(NodeReader &node, ArrayRef<float> values, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, Float32Type::get(node.build.getContext()));
  return node.build.constant(DenseElementsAttr::get(type, values));
}

LogicalResult importConstant(NodeReader &node) {
  GraphBuilder &build = node.build;
  Type i64 = IntegerType::get(build.getContext(), 64);
  if (node.hasAttribute("value"))
    return node.output(node.tensor("value"));
  if (node.hasAttribute("value_int"))
    return node.output(build.dim(build.size(node.integer("value_int", 0)), i64));
  if (node.hasAttribute("value_float"))
    return node.output(floats(node, node.real("value_float", 0), {}));
  if (auto values = node.integers("value_ints"))
    return node.output(build.integers(*values, i64));
  if (auto values = node.reals("value_floats"))
    return node.output(floats(node, *values, static_cast<int64_t>(values->size())));
  return node.error() << "only the attributes value, value_int(s) and value_float(s) are supported";
}

/// Sizes that are to shape a tensor: constants must not be negative.
FailureOr<SmallVector<Dim>> readShape(NodeReader &node, size_t index) {
  FailureOr<SmallVector<Dim>> shape = node.dims(index, "the shape");
  if (failed(shape))
    return failure();
  for (Dim dim : *shape)
    if (failed(node.build.getFacts().requireAtMost(node.build.getLocation(), node.build.size(0),
                                                   dim, "a tensor's size is not negative")))
      return failure();
  return shape;
}

LogicalResult importConstantOfShape(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<SmallVector<Dim>> shape = readShape(node, 0);
  if (failed(shape))
    return failure();
  Value value = node.hasAttribute("value") ? node.tensor("value")
                                           : build.scalar(0, Float32Type::get(build.getContext()));
  if (!value)
    return failure();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || elements.getNumElements() != 1)
    return node.error() << "its value must have one element";
  Value scalar =
      build.constant(elements.reshape(RankedTensorType::get({}, elements.getElementType())));
  return node.output(build.expand(scalar, *shape));
}

/// `end` counts from the last axis where negative; both are clamped.
LogicalResult importShape(NodeReader &node) {
  TensorType type = tensorType(node.input(0));
  int64_t rank = type.getRank();
  auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  int64_t start = clamp(node.integer("start", 0)), end = clamp(node.integer("end", rank));
  SmallVector<Dim> dims = type.getShape();
  ArrayRef<Dim> selected = ArrayRef(dims).slice(start, std::max<int64_t>(end - start, 0));
  return node.output(node.build.dims(selected, IntegerType::get(node.build.getContext(), 64)));
}

LogicalResult importSize(NodeReader &node) {
  Type i64 = IntegerType::get(node.build.getContext(), 64);
  return node.output(node.build.dim(tensorType(node.input(0)).getNumElements(), i64));
}

/// start + delta * (0, 1, 2, ...), `count` elements.
Value makeRange(GraphBuilder &build, Type element, Dim count, Value start, Value delta,
                bool startIsZero, bool deltaIsOne) {
  Value range = build.createAs<IotaOp>(TensorType::get({count}, element), {});
  if (!deltaIsOne)
    range = build.create<MulOp>({range, delta});
  return startIsZero ? range : build.create<AddOp>({range, start});
}

/// A float scalar that is a whole number for all sizes: a constant, or the cast of a size. Sizes
/// that `element` would round are refused by a guard. Null where it is no such number.
FailureOr<Dim> wholeNumber(NodeReader &node, Value scalar) {
  GraphBuilder &build = node.build;
  while (auto reshape = scalar.getDefiningOp<ReshapeOp>())
    scalar = reshape.getInput();
  auto exact = [&](int64_t bits) { return int64_t{1} << std::min<int64_t>(bits, 62); };
  int64_t largest =
      exact(cast<FloatType>(tensorType(scalar).getElementType()).getFPMantissaWidth());
  if (auto value = constantFloat(scalar)) {
    bool isWhole = *value == std::floor(*value) && std::abs(*value) <= static_cast<double>(largest);
    return isWhole ? build.size(static_cast<int64_t>(*value)) : Dim();
  }
  auto cast = scalar.getDefiningOp<CastOp>();
  auto sizes = cast ? knownDims(cast.getInput()) : std::nullopt;
  if (!sizes || sizes->size() != 1)
    return Dim();
  Dim size = sizes->front();
  if (failed(build.getFacts().requireAtMost(build.getLocation(), size, build.size(largest),
                                            "the range's type must hold the size exactly")))
    return failure();
  return size;
}

/// max(ceil((limit - start) / step), 0). Fails where constant bounds are further apart than a tensor
/// can be long; their distance need not be an int64.
FailureOr<Dim> countSteps(NodeReader &node, Dim start, Dim limit, int64_t step) {
  GraphBuilder &build = node.build;
  Dim low = step > 0 ? start : limit, high = step > 0 ? limit : start;
  auto first = low.asConstant(), last = high.asConstant();
  if (first && last && *first >= *last)
    return build.size(0);
  int64_t distance;
  if (first && last &&
      (__builtin_sub_overflow(*last, *first, &distance) ||
       distance / std::abs(step) > kMaxElements))
    return node.error() << "from " << *start.asConstant() << " to " << *limit.asConstant() << " by "
                        << step << " has more elements than a tensor can have";
  return (high - low).max(build.size(0)).ceilDiv(build.size(std::abs(step)));
}

/// A range from and to whole numbers by a constant one is counted like one of integers.
FailureOr<Dim> wholeCount(NodeReader &node, ArrayRef<Value> scalars) {
  SmallVector<Dim> numbers;
  for (Value scalar : scalars) {
    FailureOr<Dim> number = wholeNumber(node, scalar);
    if (failed(number))
      return failure();
    numbers.push_back(*number);
  }
  std::optional<int64_t> step = numbers[2] ? numbers[2].asConstant() : std::nullopt;
  if (!numbers[0] || !numbers[1] || !step || *step == 0) {
    llvm::for_each(scalars, [&](Value scalar) { node.build.needValue(scalar); });
    return node.error() << "the bounds of a float range must be constants, or whole numbers made "
                           "of sizes with a constant whole step";
  }
  return countSteps(node, numbers[0], numbers[1], *step);
}

/// Ranges of 16-bit floats are made in float32, or in the type that 'stash_type' names.
FailureOr<Type> rangeType(NodeReader &node, Type element) {
  int64_t stash = node.integer("stash_type", onnx_wire::Tensor::FLOAT);
  if (!element.isF16() && !element.isBF16())
    return element;
  if (stash == onnx_wire::Tensor::FLOAT)
    return Type(Float32Type::get(element.getContext()));
  if (stash == onnx_wire::Tensor::DOUBLE)
    return Type(Float64Type::get(element.getContext()));
  return node.error() << "stash_type " << stash
                      << " is not supported; float (1) and double (11) are";
}

LogicalResult importFloatRange(NodeReader &node, SmallVector<Value> scalars) {
  Type element = tensorType(scalars[0]).getElementType();
  FailureOr<Type> wide = rangeType(node, element);
  if (failed(wide))
    return failure();
  auto output = [&](Dim count, bool startIsZero, bool deltaIsOne) {
    for (Value &scalar : scalars)
      scalar = node.build.cast(scalar, *wide);
    Value range =
        makeRange(node.build, *wide, count, scalars[0], scalars[2], startIsZero, deltaIsOne);
    return node.output(node.build.cast(range, element));
  };
  auto start = constantFloat(scalars[0]), limit = constantFloat(scalars[1]),
       delta = constantFloat(scalars[2]);
  if (!start || !limit || !delta) {
    FailureOr<Dim> count = wholeCount(node, scalars);
    if (failed(count))
      return failure();
    return output(*count, start && *start == 0, delta && *delta == 1);
  }
  double count = std::max(std::ceil((*limit - *start) / *delta), 0.0);
  if (!(count <= static_cast<double>(kMaxElements)))
    return node.error() << "from " << *start << " to " << *limit << " by " << *delta
                        << " has no finite length";
  Dim length = node.build.size(static_cast<int64_t>(count));
  return output(length, *start == 0, *delta == 1);
}

LogicalResult importRange(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (failed(node.requireSameType()))
    return failure();
  SmallVector<Value> scalars;
  for (size_t index = 0; index < 3; ++index) {
    if (!tensorType(node.input(index)).getNumElements().isConstant(1))
      return node.error() << "its bounds must be scalars, got " << node.describe(index);
    scalars.push_back(build.reshape(node.input(index), {}));
  }
  Type element = tensorType(scalars[0]).getElementType();
  if (!element.isInteger())
    return importFloatRange(node, scalars);
  FailureOr<SmallVector<Dim>> start = node.dims(0, "the start"), limit = node.dims(1, "the limit");
  FailureOr<SmallVector<int64_t>> delta = node.constants(2, "the step");
  if (failed(start) || failed(limit) || failed(delta))
    return failure();
  int64_t step = delta->front();
  if (step == 0 || step == std::numeric_limits<int64_t>::min())
    return node.error() << "its step must not be " << step;
  FailureOr<Dim> count = countSteps(node, start->front(), limit->front(), step);
  if (failed(count))
    return failure();
  return node.output(makeRange(build, element, *count, scalars[0], scalars[2],
                               start->front().isConstant(0), step == 1));
}

} // namespace

std::optional<double> constantFloat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  bool lost;
  llvm::APFloat number = *elements.begin();
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

ArrayRef<NodeRule> constantRules() {
  static constexpr NodeRule kRules[] = {
      {"Constant", 1, 0, importConstant}, {"ConstantOfShape", 9, 1, importConstantOfShape},
      {"Range", 11, 3, importRange},      {"Shape", 1, 1, importShape},
      {"Size", 1, 1, importSize},
  };
  return kRules;
}

} // namespace smelt::frontend
