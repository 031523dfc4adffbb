#include "passes/coordinates.h"

#include "ir/dim_values.h"
#include "passes/constants.h"
#include "passes/view_shape.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// Ops are visited in order, so that chains are short; this only bounds the stack.
constexpr int kMaxDepth = 128;
/// Tables of position ids have a few thousand entries.
constexpr int64_t kMaxTableElements = 1 << 16;

using Expression = std::optional<Dim>;

Dim number(MLIRContext *context, int64_t value) { return Dim::constant(context, value); }

/// The coordinates at which an operand that broadcasts to `rank` axes is read.
SmallVector<Dim> broadcastCoordinates(Value operand, unsigned rank) {
  SmallVector<Dim> shape = shapeOf(operand), result;
  for (auto [axis, size] : llvm::enumerate(shape))
    result.push_back(size.isConstant(1)
                         ? number(operand.getContext(), 0)
                         : coordinate(operand.getContext(), axis + rank - shape.size()));
  return result;
}

/// Exact decision of a comparison from the sign of a difference; none where the sign varies or is
/// unknown.
Expression decide(MLIRContext *context, bool provenTrue, bool provenFalse) {
  if (provenTrue || provenFalse)
    return number(context, provenTrue);
  return std::nullopt;
}

struct Binary {
  Operation *op;
  Dim a, b;
  const Bounds &bounds;

  bool atLeastZero(Dim value) const { return value.isKnownNonNegative(bounds); }
  bool isTrue(Dim value) const { return value.isConstant(1); }

  Expression evaluate() const {
    MLIRContext *context = op->getContext();
    return llvm::TypeSwitch<Operation *, Expression>(op)
        .Case<AddOp>([&](auto) { return a + b; })
        .Case<SubOp>([&](auto) { return a - b; })
        .Case<MulOp>([&](auto) { return a * b; })
        .Case<DivOp>([&](auto) { return divide(false); })
        .Case<ModOp>([&](auto) { return divide(true); })
        .Case<MinOp>([&](auto) { return choose(b - a); })
        .Case<MaxOp>([&](auto) { return choose(a - b); })
        .Case<EqualOp>([&](auto) {
          return decide(context, a == b, atLeastZero(a - b - 1) || atLeastZero(b - a - 1));
        })
        .Case<LessOp>(
            [&](auto) { return decide(context, atLeastZero(b - a - 1), atLeastZero(a - b)); })
        .Case<LessEqualOp>(
            [&](auto) { return decide(context, atLeastZero(b - a), atLeastZero(a - b - 1)); })
        .Case<AndOp>([&](auto) { return a * b; })
        .Case<OrOp>([&](auto) { return a + b - a * b; })
        .Case<XorOp>([&](auto) { return a + b - a * b * 2; })
        .Default(std::nullopt);
  }

  /// a where `difference` is never negative, b where it is never positive.
  Expression choose(Dim difference) const {
    if (atLeastZero(difference))
      return a;
    return atLeastZero(difference * -1) ? Expression(b) : std::nullopt;
  }

  Expression divide(bool remainder) const {
    if (!atLeastZero(a) || !atLeastZero(b - 1))
      return std::nullopt;
    return remainder ? a.mod(b, bounds) : a.floorDiv(b, bounds);
  }
};

/// An element cast to another integer type or to bool.
Expression castElement(CastOp op, Dim value, const Bounds &bounds) {
  Type type = tensorType(op.getOutput()).getElementType();
  if (type.isInteger(1) && !tensorType(op.getInput()).getElementType().isInteger(1)) {
    bool isTrue =
        (value - 1).isKnownNonNegative(bounds) || (value * -1 - 1).isKnownNonNegative(bounds);
    return decide(op.getContext(), isTrue, value.isConstant(0));
  }
  // Positions fit 32 bits; in fewer they may wrap.
  std::optional<int64_t> constant = value.asConstant();
  bool fits =
      type.getIntOrFloatBitWidth() >= 32 || (constant && (*constant == 0 || *constant == 1));
  return fits ? Expression(value) : std::nullopt;
}

/// Whether the expression is what the elements of `value` are: what wraps around is not followed.
/// Positions fit 32 bits.
bool isFollowed(Dim expression, Value value) {
  Type type = tensorType(value).getElementType();
  unsigned width = type.getIntOrFloatBitWidth();
  if (std::optional<int64_t> constant = expression.asConstant())
    return hasInteger(type, *constant);
  bool mayWrap = value.getDefiningOp()->hasTrait<Elementwise>() && !value.getDefiningOp<SelectOp>();
  if (width > 1 && width < 32 && mayWrap)
    return false;
  return !type.isUnsignedInteger() ||
         expression.isKnownNonNegative(coordinateBounds(shapeOf(value)));
}

/// A table that is affine in its coordinates; checked at every element.
Expression affineTable(ArrayRef<int64_t> values, ArrayRef<int64_t> shape, MLIRContext *context) {
  if (values.empty())
    return std::nullopt;
  SmallVector<int64_t> slopes(shape.size(), 0);
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis])
    if (shape[axis] > 1 && llvm::SubOverflow(values[stride], values[0], slopes[axis]))
      return std::nullopt;
  SmallVector<int64_t> at(shape.size(), 0);
  for (int64_t value : values) {
    int64_t expected = values[0];
    for (auto [position, slope] : llvm::zip(at, slopes)) {
      int64_t moved;
      if (llvm::MulOverflow(position, slope, moved) || llvm::AddOverflow(expected, moved, expected))
        return std::nullopt;
    }
    if (value != expected)
      return std::nullopt;
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis])
        break;
      at[axis] = 0;
    }
  }
  Dim result = number(context, values[0]);
  for (auto [axis, slope] : llvm::enumerate(slopes))
    result = result + coordinate(context, axis) * slope;
  return result;
}

Expression constantTable(ConstantOp op) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense || !dense.getElementType().isInteger() ||
      dense.getElementType().getIntOrFloatBitWidth() > 64 ||
      dense.getNumElements() > kMaxTableElements)
    return std::nullopt;
  if (std::optional<int64_t> splat = splatInteger(op.getOutput()))
    return number(op.getContext(), *splat);
  bool isUnsigned =
      dense.getElementType().isInteger(1) || dense.getElementType().isUnsignedInteger();
  SmallVector<int64_t> values;
  for (const APInt &value : dense.getValues<APInt>())
    values.push_back(isUnsigned ? static_cast<int64_t>(value.getZExtValue())
                                : value.getSExtValue());
  return affineTable(values, dense.getType().getShape(), op.getContext());
}

Expression weightTable(WeightOp op, WeightStore &store) {
  TensorType type = tensorType(op.getOutput());
  Type elementType = type.getElementType();
  std::optional<int64_t> count = type.getNumElements().asConstant();
  if (!count || *count > kMaxTableElements ||
      !(elementType.isInteger(64) || elementType.isInteger(32)))
    return std::nullopt;
  FailureOr<ArrayRef<char>> bytes = store.bytes(op);
  unsigned width = elementType.getIntOrFloatBitWidth() / 8;
  bool isUnsigned = elementType.isUnsignedInteger();
  if (failed(bytes) || bytes->size() != static_cast<size_t>(*count) * width)
    return std::nullopt;
  SmallVector<int64_t> values;
  for (const char *at = bytes->begin(); at != bytes->end(); at += width)
    values.push_back(width == 8   ? static_cast<int64_t>(llvm::support::endian::read64le(at))
                     : isUnsigned ? llvm::support::endian::read32le(at)
                                  : static_cast<int32_t>(llvm::support::endian::read32le(at)));
  return affineTable(values, type.getStaticShape(), op.getContext());
}

} // namespace

Dim coordinate(MLIRContext *context, unsigned axis) {
  return Dim::symbol(context, "#" + std::to_string(axis));
}

Index coordinatesOf(ArrayRef<Dim> shape, MLIRContext *context) {
  Index result;
  for (auto [axis, size] : llvm::enumerate(shape))
    result.push_back(size.isConstant(1) ? number(context, 0) : coordinate(context, axis));
  return result;
}

std::optional<unsigned> coordinateAxis(StringRef symbol) {
  unsigned axis;
  if (!symbol.consume_front("#") || symbol.getAsInteger(10, axis))
    return std::nullopt;
  return axis;
}

Bounds coordinateBounds(ArrayRef<Dim> shape) {
  Bounds bounds;
  for (auto [axis, size] : llvm::enumerate(shape))
    bounds.try_emplace("#" + std::to_string(axis), size);
  return bounds;
}

bool usesCoordinates(Dim expression) {
  bool found = false;
  expression.forEachSymbol([&](StringRef name) { found |= coordinateAxis(name).has_value(); });
  return found;
}

Dim atCoordinates(Dim expression, ArrayRef<Dim> values, const Bounds &bounds) {
  return expression.replace(
      [&](StringRef name) {
        std::optional<unsigned> axis = coordinateAxis(name);
        return axis && *axis < values.size() ? values[*axis] : Dim();
      },
      bounds);
}

std::optional<Dim> CoordinateAnalysis::element(Value value) {
  auto type = dyn_cast<TensorType>(value.getType());
  if (!type || !type.getElementType().isInteger() || depth > kMaxDepth)
    return std::nullopt;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  ++depth;
  Expression result = compute(value);
  --depth;
  if (result && !isFollowed(*result, value))
    result = std::nullopt;
  known[value] = result;
  return result;
}

std::optional<Dim> CoordinateAnalysis::elementAt(Value value, unsigned axis, int64_t position) {
  if (Expression whole = element(value)) {
    SmallVector<Dim> at = coordinatesOf(shapeOf(value), value.getContext());
    at[axis] = number(value.getContext(), position);
    return atCoordinates(*whole, at);
  }
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat || concat.getAxis() != axis)
    return std::nullopt;
  for (Value piece : concat.getInputs()) {
    std::optional<int64_t> size = tensorType(piece).getDim(axis).asConstant();
    if (!size)
      return std::nullopt;
    if (position < *size)
      return elementAt(piece, axis, position);
    position -= *size;
  }
  return std::nullopt;
}

std::optional<Dim> CoordinateAnalysis::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  MLIRContext *context = value.getContext();
  return llvm::TypeSwitch<Operation *, Expression>(op)
      .Case<ConstantOp>([](auto constant) { return constantTable(constant); })
      .Case<WeightOp>(
          [&](auto weight) { return weights ? weightTable(weight, *weights) : std::nullopt; })
      .Case<IotaOp>([&](auto iota) { return coordinatesOf(shapeOf(iota.getOutput()), context)[0]; })
      .Case<DimsOp>([&](auto dims) -> Expression {
        if (!llvm::all_equal(dims.getDims()))
          return std::nullopt;
        return dims.getDims().empty() ? Expression() : Dim(cast<DimAttr>(dims.getDims()[0]));
      })
      .Case<ConcatOp>([&](auto concat) { return computeConcat(concat); })
      .Case<GatherOp, GatherElementsOp, GatherNdOp>(
          [&](Operation *gather) { return computeGather(gather); })
      .Case<CumsumOp>([&](auto cumsum) { return computeCumsum(cumsum); })
      .Default([&](Operation *other) -> Expression {
        if (other->hasTrait<View>())
          return computeView(other);
        return other->hasTrait<Elementwise>() ? computeElementwise(other) : std::nullopt;
      });
}

std::optional<Dim> CoordinateAnalysis::computeElementwise(Operation *op) {
  SmallVector<Dim> shape = shapeOf(op->getResult(0));
  Bounds bounds = coordinateBounds(shape);
  SmallVector<Expression> operands;
  for (Value operand : op->getOperands()) {
    Expression own = element(operand);
    operands.push_back(
        own ? atCoordinates(*own, broadcastCoordinates(operand, shape.size()), bounds) : own);
  }
  MLIRContext *context = op->getContext();
  auto isConstant = [&](unsigned index, int64_t value) {
    return operands[index] && operands[index]->isConstant(value);
  };
  // One known operand may decide alone.
  if (isa<SelectOp>(op) && operands[0] && operands[0]->asConstant())
    return operands[*operands[0]->asConstant() ? 1 : 2];
  if (isa<SelectOp>(op) && operands[1] && operands[1] == operands[2])
    return operands[1];
  if (isa<AndOp, MulOp>(op) && (isConstant(0, 0) || isConstant(1, 0)))
    return number(context, 0);
  if (isa<OrOp>(op) && (isConstant(0, 1) || isConstant(1, 1)))
    return number(context, 1);
  if (!llvm::all_of(operands, [](const Expression &e) { return e.has_value(); }))
    return std::nullopt;
  if (isa<NotOp>(op))
    return number(context, 1) - *operands[0];
  if (isa<NegOp>(op))
    return *operands[0] * -1;
  if (auto cast = dyn_cast<CastOp>(op))
    return castElement(cast, *operands[0], bounds);
  return operands.size() == 2 ? Binary{op, *operands[0], *operands[1], bounds}.evaluate()
                              : std::nullopt;
}

std::optional<Dim> CoordinateAnalysis::computeView(Operation *op) {
  Expression source = element(op->getOperand(0));
  if (!source)
    return std::nullopt;
  SmallVector<Dim> shape = shapeOf(op->getResult(0));
  Bounds bounds = coordinateBounds(shape);
  return atCoordinates(*source, operandIndex(op, coordinatesOf(shape, op->getContext()), bounds),
                       bounds);
}

/// Pieces that continue one function, e.g. concat(-1, 0, 1, 2, ...).
std::optional<Dim> CoordinateAnalysis::computeConcat(ConcatOp op) {
  MLIRContext *context = op.getContext();
  int64_t axis = op.getAxis();
  SmallVector<Dim> identity = coordinatesOf(shapeOf(op.getOutput()), context);
  // The function of the whole that each piece stands for: a piece with one element along the axis
  // fits any.
  Expression whole;
  for (bool verifies : {false, true}) {
    Dim offset = number(context, 0);
    for (Value piece : op.getInputs()) {
      Expression own = element(piece);
      Dim size = tensorType(piece).getDim(axis);
      if (!own)
        return std::nullopt;
      SmallVector<Dim> at = identity;
      if (!verifies && !size.isConstant(1) && !whole) {
        at[axis] = coordinate(context, axis) - offset;
        whole = atCoordinates(*own, at);
      } else if (verifies) {
        at[axis] = size.isConstant(1) ? offset : coordinate(context, axis) + offset;
        Dim expected = atCoordinates(*whole, at);
        if (expected != *own)
          return std::nullopt;
      }
      offset = offset + size;
    }
    if (!whole)
      return std::nullopt;
  }
  return whole;
}

std::optional<Dim> CoordinateAnalysis::computeGather(Operation *op) {
  Expression data = element(op->getOperand(0)), index = element(op->getOperand(1));
  // Data that is the same everywhere needs no index.
  if (data && !usesCoordinates(*data))
    return data;
  auto gather = dyn_cast<GatherOp>(op);
  if (!data || !index || !gather)
    return std::nullopt;
  MLIRContext *context = op->getContext();
  SmallVector<Dim> shape = shapeOf(op->getResult(0)), at, indexAt;
  Bounds bounds = coordinateBounds(shape);
  unsigned axis = gather.getAxis(), inserted = tensorType(gather.getIndices()).getRank();
  for (unsigned i = 0; i < inserted; ++i)
    indexAt.push_back(coordinate(context, axis + i));
  Dim position = atCoordinates(*index, indexAt, bounds);
  if (!position.isKnownNonNegative(bounds))
    return std::nullopt;
  for (unsigned i = 0; i < tensorType(gather.getData()).getRank(); ++i)
    at.push_back(i == axis ? position : coordinate(context, i < axis ? i : i - 1 + inserted));
  return atCoordinates(*data, at, bounds);
}

/// The running sum of what does not vary along the axis.
std::optional<Dim> CoordinateAnalysis::computeCumsum(CumsumOp op) {
  Expression input = element(op.getInput());
  Dim along = coordinate(op.getContext(), op.getAxis());
  if (!input || *input != input->replace([&](StringRef name) {
        return coordinateAxis(name) == op.getAxis() ? along + 1 : Dim();
      }))
    return std::nullopt;
  if (input->isConstant(0))
    return input;
  if (op.getReverse())
    return std::nullopt;
  return *input * (op.getExclusive() ? along : along + 1);
}

} // namespace smelt::passes
