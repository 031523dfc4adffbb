#include "passes/view_shape.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace smelt::passes {

namespace {

SmallVector<unsigned> axesAboveOne(ArrayRef<Dim> shape) {
  SmallVector<unsigned> axes;
  for (auto [axis, size] : llvm::enumerate(shape))
    if (!size.isConstant(1))
      axes.push_back(axis);
  return axes;
}

bool hasZero(ArrayRef<Dim> shape) {
  return llvm::any_of(shape, [](Dim size) { return size.isConstant(0); });
}

} // namespace

std::optional<SmallVector<AxisGroup>> groupAxes(ArrayRef<Dim> input, ArrayRef<Dim> output) {
  if (hasZero(input) || hasZero(output))
    return std::nullopt;
  SmallVector<unsigned> in = axesAboveOne(input), out = axesAboveOne(output);
  SmallVector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < in.size() && j < out.size()) {
    AxisGroup group{{in[i]}, {out[j]}};
    Dim left = input[in[i++]], right = output[out[j++]];
    while (left != right) {
      // The side whose product divides the other's has not taken enough axes yet.
      bool extendLeft = right.exactDiv(left).has_value();
      bool extendRight = !extendLeft && left.exactDiv(right).has_value();
      bool both = !extendLeft && !extendRight;
      if (((extendLeft || both) && i == in.size()) || ((extendRight || both) && j == out.size()))
        return std::nullopt;
      if (extendLeft || both) {
        left = left * input[in[i]];
        group.input.push_back(in[i++]);
      }
      if (extendRight || both) {
        right = right * output[out[j]];
        group.output.push_back(out[j++]);
      }
    }
    groups.push_back(std::move(group));
  }
  return i == in.size() && j == out.size() ? std::optional(groups) : std::nullopt;
}

bool differInUnitAxes(ArrayRef<Dim> input, ArrayRef<Dim> output) {
  SmallVector<unsigned> in = axesAboveOne(input), out = axesAboveOne(output);
  return in.size() == out.size() && llvm::all_of(llvm::zip(in, out), [&](auto pair) {
           return input[std::get<0>(pair)] == output[std::get<1>(pair)];
         });
}

SmallVector<Dim> withoutUnitAxes(ArrayRef<Dim> shape) {
  return llvm::map_to_vector(axesAboveOne(shape), [&](unsigned axis) { return shape[axis]; });
}

std::optional<SmallVector<unsigned>> keptWhereUnitAxesDrop(ArrayRef<Dim> input,
                                                           ArrayRef<Dim> output) {
  SmallVector<unsigned> kept;
  // From the last axis, as broadcasting aligns shapes.
  for (size_t axis = input.size(); axis-- > 0;) {
    if (kept.size() < output.size() && input[axis] == output[output.size() - 1 - kept.size()])
      kept.push_back(axis);
    else if (!input[axis].isConstant(1))
      return std::nullopt;
  }
  if (kept.size() != output.size() || kept.size() == input.size())
    return std::nullopt;
  std::reverse(kept.begin(), kept.end());
  return kept;
}

bool dropsUnitAxes(ArrayRef<Dim> input, ArrayRef<Dim> output) {
  return input.size() > kMostTokenAxes && keptWhereUnitAxesDrop(input, output);
}

bool dropsUnitBatchAxes(ArrayRef<Dim> input, ArrayRef<Dim> output) {
  return input.size() > kMostTokenAxes && output.size() >= 2 &&
         input.take_back(2) == output.take_back(2) && keptWhereUnitAxesDrop(input, output);
}

SmallVector<Dim> padShape(ArrayRef<Dim> shape, unsigned rank, MLIRContext *context) {
  SmallVector<Dim> padded(rank > shape.size() ? rank - shape.size() : 0, Dim::constant(context, 1));
  padded.append(shape.begin(), shape.end());
  return padded;
}

SmallVector<Dim> dropLeadingOnes(ArrayRef<Dim> shape) {
  auto isUnit = [](Dim size) { return size.isConstant(1); };
  return SmallVector<Dim>(llvm::find_if_not(shape, isUnit), shape.end());
}

SmallVector<int64_t> invertPermutation(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [index, axis] : llvm::enumerate(permutation))
    inverse[axis] = index;
  return inverse;
}

SmallVector<Dim> permuteShape(ArrayRef<Dim> shape, ArrayRef<int64_t> permutation) {
  return llvm::map_to_vector(permutation, [&](int64_t axis) { return shape[axis]; });
}

FailureOr<SmallVector<Dim>> broadcastShape(ValueRange operands) {
  SmallVector<Dim> shape;
  for (Value operand : operands) {
    FailureOr<SmallVector<Dim>> next = broadcastShapes(shape, tensorType(operand).getShape());
    if (failed(next))
      return failure();
    shape = *next;
  }
  return shape;
}

Value cloneElementwise(OpBuilder &builder, Operation *op, ValueRange operands,
                       ArrayRef<Dim> shape) {
  Operation *clone = op->clone();
  clone->setOperands(operands);
  clone->getResult(0).setType(tensorType(op->getResult(0)).withShape(shape));
  builder.insert(clone);
  return clone->getResult(0);
}

std::optional<SmallVector<Dim>> readWithoutUnitAxes(Value value) {
  std::optional<SmallVector<Dim>> shape;
  for (Operation *user : value.getUsers()) {
    if (!isa<ReshapeOp>(user))
      return std::nullopt;
    SmallVector<Dim> read = tensorType(user->getResult(0)).getShape();
    if (shape ? *shape != read : !dropsUnitAxes(tensorType(value).getShape(), read))
      return std::nullopt;
    shape = read;
  }
  return shape;
}

Value reduceBeforeTranspose(OpBuilder &builder, ReduceOp op, TransposeOp transpose) {
  SmallVector<int64_t> axes = llvm::map_to_vector(
      op.getAxes(), [&](int64_t axis) { return transpose.getPermutation()[axis]; });
  llvm::sort(axes);
  Value inner = ReduceOp::create(builder, op.getLoc(), transpose.getInput(), op.getKind(), axes);
  return TransposeOp::create(builder, op.getLoc(), inner, transpose.getPermutation());
}

Value reshapeTo(OpBuilder &builder, Location location, Value value, ArrayRef<Dim> shape) {
  TensorType type = tensorType(value).withShape(shape);
  return value.getType() == type ? value
                                 : ReshapeOp::create(builder, location, type, value).getOutput();
}

Value partOf(OpBuilder &builder, Location location, Value value, unsigned axis, Dim start,
             Dim size) {
  TensorType type = tensorType(value);
  SmallVector<Attribute> starts(type.getRank(),
                                Dim::constant(builder.getContext(), 0).getAttribute());
  starts[axis] = start.getAttribute();
  SmallVector<Dim> shape = type.getShape();
  shape[axis] = size;
  return SliceOp::create(builder, location, type.withShape(shape), value,
                         builder.getArrayAttr(starts), SmallVector<int64_t>(type.getRank(), 1));
}

} // namespace smelt::passes
