#include "ir/dim_values.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt {

namespace {

constexpr int64_t kMaxElements = 64;
constexpr int kMaxDepth = 64;

using Elements = SmallVector<Dim>;
using Known = std::optional<Elements>;

Known evaluate(Value value, int depth);

int64_t elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

SmallVector<int64_t> unravel(int64_t index, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> coordinates(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; index /= shape[axis])
    coordinates[axis] = index % shape[axis];
  return coordinates;
}

/// Row-major position in `shape`, whose axes of size 1 are broadcast; extra leading coordinates are
/// dropped.
int64_t ravel(ArrayRef<int64_t> coordinates, ArrayRef<int64_t> shape) {
  int64_t index = 0;
  coordinates = coordinates.take_back(shape.size());
  for (auto [coordinate, size] : llvm::zip(coordinates, shape))
    index = index * size + (size == 1 ? 0 : coordinate);
  return index;
}

/// -1, 0 or 1 where both are constants: the difference of distant ones is no int64.
std::optional<int> compareConstants(Dim a, Dim b) {
  auto left = a.asConstant(), right = b.asConstant();
  if (!left || !right)
    return std::nullopt;
  return *left < *right ? -1 : *left > *right;
}

std::optional<bool> compareEqual(Dim a, Dim b) {
  if (a == b)
    return true;
  if (compareConstants(a, b))
    return false;
  // Sizes are never negative: this is what guards such as Where(shape == -1, ...) need.
  Dim difference = a - b;
  if ((difference - 1).isKnownNonNegative() || (difference * -1 - 1).isKnownNonNegative())
    return false;
  return std::nullopt;
}

std::optional<Dim> applyBinary(Operation *op, Dim a, Dim b) {
  MLIRContext *context = op->getContext();
  auto boolean = [&](bool value) { return Dim::constant(context, value); };
  return llvm::TypeSwitch<Operation *, std::optional<Dim>>(op)
      .Case<AddOp>([&](auto) { return a + b; })
      .Case<SubOp>([&](auto) { return a - b; })
      .Case<MulOp>([&](auto) { return a * b; })
      .Case<MinOp>([&](auto) { return a.min(b); })
      .Case<MaxOp>([&](auto) { return a.max(b); })
      .Case<DivOp>([&](auto) -> std::optional<Dim> {
        // Truncation is floor only where neither side is negative.
        bool positive = a.isKnownNonNegative() && (b - 1).isKnownNonNegative();
        return positive ? std::optional<Dim>(a.floorDiv(b)) : a.exactDiv(b);
      })
      .Case<ModOp>([&](ModOp mod) -> std::optional<Dim> {
        // The sign of the divisor is that of a Dim's remainder.
        bool positive = (!mod.getFmod() || a.isKnownNonNegative()) && (b - 1).isKnownNonNegative();
        return positive ? std::optional<Dim>(a.mod(b)) : std::nullopt;
      })
      .Case<EqualOp>([&](auto) -> std::optional<Dim> {
        auto equal = compareEqual(a, b);
        return equal ? std::optional<Dim>(boolean(*equal)) : std::nullopt;
      })
      .Case<LessOp>([&](auto) -> std::optional<Dim> {
        if (std::optional<int> order = compareConstants(a, b))
          return boolean(*order < 0);
        if ((b - a - 1).isKnownNonNegative())
          return boolean(true);
        return (a - b).isKnownNonNegative() ? std::optional<Dim>(boolean(false)) : std::nullopt;
      })
      .Case<LessEqualOp>([&](auto) -> std::optional<Dim> {
        if (std::optional<int> order = compareConstants(a, b))
          return boolean(*order <= 0);
        if ((b - a).isKnownNonNegative())
          return boolean(true);
        return (a - b - 1).isKnownNonNegative() ? std::optional<Dim>(boolean(false)) : std::nullopt;
      })
      .Case<AndOp>([&](auto) { return a * b; })
      .Default(std::nullopt);
}

Known elementwise(Operation *op, ArrayRef<int64_t> shape, int depth) {
  SmallVector<Elements> operands;
  SmallVector<SmallVector<int64_t>> shapes;
  for (Value operand : op->getOperands()) {
    Known known = evaluate(operand, depth);
    if (!known)
      return std::nullopt;
    operands.push_back(*known);
    shapes.push_back(tensorType(operand).getStaticShape());
  }
  Elements result;
  for (int64_t index = 0; index < elementCount(shape); ++index) {
    SmallVector<int64_t> at = unravel(index, shape);
    auto operand = [&](size_t i) { return operands[i][ravel(at, shapes[i])]; };
    std::optional<Dim> element;
    if (isa<SelectOp>(op)) {
      if (auto condition = operand(0).asConstant())
        element = operand(*condition ? 1 : 2);
      else if (operand(1) == operand(2))
        element = operand(1);
    } else if (isa<NotOp>(op)) {
      element = Dim::constant(op->getContext(), 1) - operand(0);
    } else if (isa<NegOp>(op)) {
      element = operand(0) * -1;
    } else if (operands.size() == 2) {
      element = applyBinary(op, operand(0), operand(1));
    }
    if (!element)
      return std::nullopt;
    result.push_back(*element);
  }
  return result;
}

Known constantElements(ConstantOp op) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense || !dense.getElementType().isInteger() || dense.getNumElements() > kMaxElements)
    return std::nullopt;
  bool isUnsigned =
      dense.getElementType().isInteger(1) || dense.getElementType().isUnsignedInteger();
  Elements result;
  for (const APInt &value : dense.getValues<APInt>()) {
    if (value.getBitWidth() > 64 || (isUnsigned && value.getActiveBits() > 63))
      return std::nullopt;
    result.push_back(
        Dim::constant(op.getContext(), isUnsigned ? value.getZExtValue() : value.getSExtValue()));
  }
  return result;
}

Known gatherElements(GatherOp op, int depth) {
  Known data = evaluate(op.getData(), depth), indices = evaluate(op.getIndices(), depth);
  if (!data || !indices || tensorType(op.getData()).getRank() != 1)
    return std::nullopt;
  Elements result;
  for (Dim index : *indices) {
    auto position = index.asConstant();
    int64_t size = data->size();
    if (!position || *position < -size || *position >= size)
      return std::nullopt;
    result.push_back((*data)[*position < 0 ? *position + size : *position]);
  }
  return result;
}

Known sliceElements(SliceOp op, int depth) {
  Known data = evaluate(op.getInput(), depth);
  if (!data)
    return std::nullopt;
  SmallVector<int64_t> input = tensorType(op.getInput()).getStaticShape(),
                       output = tensorType(op.getOutput()).getStaticShape();
  Elements result;
  for (int64_t index = 0; index < elementCount(output); ++index) {
    SmallVector<int64_t> at = unravel(index, output);
    for (size_t axis = 0; axis < at.size(); ++axis) {
      auto start = Dim(cast<DimAttr>(op.getStarts()[axis])).asConstant();
      if (!start)
        return std::nullopt;
      at[axis] = *start + at[axis] * op.getSteps()[axis];
      if (at[axis] < 0 || at[axis] >= input[axis])
        return std::nullopt;
    }
    result.push_back((*data)[ravel(at, input)]);
  }
  return result;
}

Known transposeElements(TransposeOp op, int depth) {
  Known data = evaluate(op.getInput(), depth);
  if (!data)
    return std::nullopt;
  SmallVector<int64_t> input = tensorType(op.getInput()).getStaticShape(),
                       output = tensorType(op.getOutput()).getStaticShape();
  Elements result;
  for (int64_t index = 0; index < elementCount(output); ++index) {
    SmallVector<int64_t> at = unravel(index, output), source(at.size());
    for (auto [axis, from] : llvm::enumerate(op.getPermutation()))
      source[from] = at[axis];
    result.push_back((*data)[ravel(source, input)]);
  }
  return result;
}

Known concatElements(ConcatOp op, int depth) {
  if (tensorType(op.getOutput()).getRank() != 1)
    return std::nullopt;
  Elements result;
  for (Value input : op.getInputs()) {
    Known known = evaluate(input, depth);
    if (!known)
      return std::nullopt;
    result.append(*known);
  }
  return result;
}

Known expandElements(ExpandOp op, ArrayRef<int64_t> shape, int depth) {
  Known known = evaluate(op.getInput(), depth);
  if (!known)
    return std::nullopt;
  SmallVector<int64_t> input = tensorType(op.getInput()).getStaticShape();
  Elements result;
  for (int64_t index = 0; index < elementCount(shape); ++index)
    result.push_back((*known)[ravel(unravel(index, shape), input)]);
  return result;
}

Known reduceElements(ReduceOp op, int depth) {
  Known known = evaluate(op.getInput(), depth);
  TensorType type = tensorType(op.getInput());
  if (!known || known->empty() || op.getAxes().size() != type.getRank())
    return std::nullopt;
  Dim total = known->front();
  for (Dim element : llvm::drop_begin(*known)) {
    if (op.getKind() == ReductionKind::sum)
      total = total + element;
    else if (op.getKind() == ReductionKind::prod)
      total = total * element;
    else if (op.getKind() == ReductionKind::max || op.getKind() == ReductionKind::min)
      total = op.getKind() == ReductionKind::max ? total.max(element) : total.min(element);
    else
      return std::nullopt;
  }
  return Elements{total};
}

/// Whether `element` was computed as a value of the type is: what wraps around is not followed.
bool isFollowed(Dim element, Type type) {
  if (std::optional<int64_t> constant = element.asConstant())
    return hasInteger(type, *constant);
  return type.getIntOrFloatBitWidth() >= 32 &&
         (!type.isUnsignedInteger() || element.isKnownNonNegative());
}

Known compute(Value value, int depth) {
  TensorType type = tensorType(value);
  Operation *op = value.getDefiningOp();
  if (!op || depth > kMaxDepth || !type.isStatic() || !type.getElementType().isInteger())
    return std::nullopt;
  SmallVector<int64_t> shape = type.getStaticShape();
  for (int64_t size : shape)
    if (size > kMaxElements)
      return std::nullopt;
  if (type.getRank() > 6 || elementCount(shape) > kMaxElements)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Known>(op)
      .Case<ConstantOp>([](auto constant) { return constantElements(constant); })
      .Case<DimsOp>([](auto dims) {
        return Elements(
            llvm::map_range(dims.getDims(), [](Attribute dim) { return Dim(cast<DimAttr>(dim)); }));
      })
      .Case<IotaOp>([&](auto) {
        Elements result;
        for (int64_t index = 0; index < shape[0]; ++index)
          result.push_back(Dim::constant(value.getContext(), index));
        return result;
      })
      .Case<GatherOp>([&](auto gather) { return gatherElements(gather, depth + 1); })
      .Case<SliceOp>([&](auto slice) { return sliceElements(slice, depth + 1); })
      .Case<TransposeOp>([&](auto transpose) { return transposeElements(transpose, depth + 1); })
      .Case<ConcatOp>([&](auto concat) { return concatElements(concat, depth + 1); })
      .Case<ExpandOp>([&](auto expand) { return expandElements(expand, shape, depth + 1); })
      .Case<ReduceOp>([&](auto reduce) { return reduceElements(reduce, depth + 1); })
      .Case<ReshapeOp>([&](auto reshape) { return evaluate(reshape.getInput(), depth + 1); })
      .Case<CastOp>([&](auto cast) -> Known {
        // To bool only where the source is one: a size is not its truth value.
        TensorType source = tensorType(cast.getInput());
        if (type.getElementType().isInteger(1) && !source.getElementType().isInteger(1))
          return std::nullopt;
        return evaluate(cast.getInput(), depth + 1);
      })
      .Default([&](Operation *other) -> Known {
        return other->hasTrait<Elementwise>() ? elementwise(other, shape, depth + 1) : std::nullopt;
      });
}

Known evaluate(Value value, int depth) {
  Known known = compute(value, depth);
  Type type = tensorType(value).getElementType();
  return known && llvm::all_of(*known, [&](Dim element) { return isFollowed(element, type); })
             ? known
             : std::nullopt;
}

} // namespace

bool hasInteger(Type type, int64_t value) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1 || type.isUnsignedInteger())
    return value >= 0 && llvm::isUIntN(std::min(width, 63u), value);
  return width >= 64 || llvm::isIntN(width, value);
}

std::optional<SmallVector<Dim>> knownDims(Value value) { return evaluate(value, 0); }

} // namespace smelt
