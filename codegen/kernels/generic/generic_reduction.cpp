// Plain loops of reductions, softmax, norms over any axes and moments of rows (one element a thread)
// and of running sums (one line a thread).
#include "codegen/element_type.h"
#include "codegen/kernels/generic/generic.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

/// "r0 * ..." names of the loops over `axes`; opens them.
SmallVector<std::string> openLoops(GenericText &text, ArrayRef<Dim> shape, ArrayRef<int64_t> axes,
                                   ArrayRef<std::string> at) {
  SmallVector<std::string> position(at);
  for (int64_t axis : axes) {
    position[axis] = "r" + std::to_string(axis);
    text.open(position[axis], shape[axis]);
  }
  return position;
}

void closeLoops(GenericText &text, size_t count) {
  while (count-- > 0)
    text.close();
}

/// Elements that are reduced to one.
Dim reducedCount(ArrayRef<Dim> shape, ArrayRef<int64_t> axes, MLIRContext *context) {
  return product(llvm::map_to_vector(axes, [&](int64_t axis) { return shape[axis]; }), context);
}

/// What a reduction of no elements yields, as text of type `sum`.
std::string identityOf(ReduceOp op, const std::string &sum) {
  ReductionKind kind = op.getKind();
  if (kind != ReductionKind::max && kind != ReductionKind::min)
    return kind == ReductionKind::prod ? "1" : "0";
  Type type = tensorType(op.getInput()).getElementType();
  std::string extreme = isa<FloatType>(type) ? sum : storageType(type).str();
  return sum + (kind == ReductionKind::max ? "(Max" : "(Min") + "::identity<" + extreme + ">())";
}

Dim writeReduce(ReduceOp op, GenericText &text) {
  SmallVector<Dim> shape = tensorType(op.getInput()).getShape();
  std::string sum = text.sumType();
  SmallVector<std::string> at = text.unravel("o", tensorType(op.getOutput()).getShape());
  ReductionKind kind = op.getKind();
  bool picks = kind == ReductionKind::max || kind == ReductionKind::min;
  text.line(sum + " result = " + identityOf(op, sum) + ";");
  if (picks)
    text.line("bool first = true;");
  SmallVector<std::string> position = openLoops(text, shape, op.getAxes(), at);
  text.line(sum + " value = " + text.read(op.getInput(), position) + ";");
  if (picks) {
    // A NaN wins and stays.
    text.line(std::string("if (first || value != value || value ") +
              (kind == ReductionKind::max ? ">" : "<") +
              " result) result = result != result && !first ? result : value;");
    text.line("first = false;");
  } else {
    text.line(kind == ReductionKind::prod ? "result *= value;" : "result += value;");
  }
  closeLoops(text, op.getAxes().size());
  if (kind == ReductionKind::mean) {
    std::string count = text.size(reducedCount(shape, op.getAxes(), op.getContext()));
    bool isFloat = isa<FloatType>(tensorType(op.getOutput()).getElementType());
    text.line((isFloat ? "" : "if (" + count + " != 0) ") + ("result /= " + sum) + "(" + count +
              ");");
  }
  text.line("write(out0 + e, result);");
  return tensorType(op.getOutput()).getNumElements();
}

Dim writeSoftmax(SoftmaxOp op, GenericText &text) {
  SmallVector<Dim> shape = tensorType(op.getInput()).getShape();
  std::string sum = text.sumType();
  int64_t axis = op.getAxis();
  SmallVector<std::string> at = text.unravel("o", shape);
  text.line(sum + " largest = -infinity(), total = 0;");
  SmallVector<std::string> position = openLoops(text, shape, axis, at);
  text.line(sum + " value = " + text.read(op.getInput(), position) + ";");
  text.line("largest = value > largest || value != value ? value : largest;");
  text.close();
  openLoops(text, shape, axis, at);
  text.line("total += exp(" + text.read(op.getInput(), position) + " - largest);");
  text.close();
  text.line("write(out0 + e, exp(" + text.read(op.getInput(), at) + " - largest) / total);");
  return tensorType(op.getInput()).getNumElements();
}

/// Layer norm (with the mean subtracted) and RMS norm, over the axes from `first` on.
Dim writeNorm(Operation *op, Value scale, Value bias, int64_t first, FloatAttr epsilon,
              bool centred, GenericText &text) {
  Value input = op->getOperand(0);
  SmallVector<Dim> shape = tensorType(input).getShape();
  std::string sum = text.sumType();
  SmallVector<std::string> at = text.unravel("o", shape);
  SmallVector<int64_t> axes;
  for (int64_t axis = first; axis < static_cast<int64_t>(shape.size()); ++axis)
    axes.push_back(axis);
  std::string count = sum + "(" + text.size(reducedCount(shape, axes, op->getContext())) + ")";
  text.line(sum + " mean = 0, square = 0;");
  SmallVector<std::string> position;
  if (centred) {
    position = openLoops(text, shape, axes, at);
    text.line("mean += " + text.read(input, position) + ";");
    closeLoops(text, axes.size());
    text.line("mean /= " + count + ";");
  }
  position = openLoops(text, shape, axes, at);
  text.line(sum + " value = " + text.read(input, position) + " - mean;");
  text.line("square += value * value;");
  closeLoops(text, axes.size());
  text.line(sum + " result = (" + text.read(input, at) + " - mean) / sqrt(square / " + count +
            " + " + literal(epsilon, tensorType(input).getElementType()) + ");");
  auto aligned = [&](Value parameter) {
    return ArrayRef(at).take_back(tensorType(parameter).getRank());
  };
  if (scale)
    text.line("result *= " + text.read(scale, aligned(scale)) + ";");
  if (bias)
    text.line("result += " + text.read(bias, aligned(bias)) + ";");
  text.line("write(out0 + e, result);");
  return tensorType(input).getNumElements();
}

/// Either of a group's two numbers: its mean, of distances from the first column, which is exact where
/// all are equal, or its sum of squared deviations.
Dim writeRowMoments(RowMomentsOp op, GenericText &text) {
  TensorType type = tensorType(op.getOutput());
  Dim columns = Dim::constant(op.getContext(), RowMomentsOp::kGroup);
  SmallVector<std::string> at = text.unravel("o", type.getShape());
  std::string which = at.pop_back_val(), first = at.back() + " * " + text.size(columns);
  auto column = [&](const std::string &offset) {
    at.back() = first + offset;
    return text.read(op.getInput(), at);
  };
  text.line("float origin = " + column("") + ", mean = 0, squares = 0;");
  text.open("i", columns);
  text.line("mean += " + column(" + i") + " - origin;");
  text.close();
  text.line("mean = origin + mean / " + text.size(columns) + ";");
  text.open("i", columns);
  text.line("float deviation = " + column(" + i") + " - mean;");
  text.line("squares += deviation * deviation;");
  text.close();
  text.line("write(out0 + e, " + which + " == 0 ? mean : squares);");
  return type.getNumElements();
}

/// One thread walks one line: a running sum or product.
template <typename Op> Dim writeRunning(Op op, GenericText &text) {
  SmallVector<Dim> shape = tensorType(op.getInput()).getShape(), lines = shape;
  bool isProduct = isa<CumprodOp>(op);
  StringRef name = isProduct ? "product" : "sum";
  int64_t axis = op.getAxis();
  lines[axis] = Dim::constant(op.getContext(), 1);
  SmallVector<std::string> at = text.unravel("o", lines);
  text.line(text.sumType() + " " + name + " = " + (isProduct ? "1;" : "0;"));
  text.open("i", shape[axis]);
  at[axis] = op.getReverse() ? text.size(shape[axis]) + " - 1 - i" : "i";
  std::string combine =
      (name + (isProduct ? " *= " : " += ") + text.read(op.getInput(), at) + ";").str();
  std::string write = ("write(out0 + " + text.offset(at, shape) + ", " + name + ");").str();
  text.line(op.getExclusive() ? write : combine);
  text.line(op.getExclusive() ? combine : write);
  text.close();
  Dim count = Dim::constant(op.getContext(), 1);
  for (Dim dim : lines)
    count = count * dim;
  return count;
}

} // namespace

FailureOr<Dim> writeReduction(Operation *op, GenericText &text) {
  return llvm::TypeSwitch<Operation *, FailureOr<Dim>>(op)
      .Case<ReduceOp>([&](auto reduce) { return writeReduce(reduce, text); })
      .Case<SoftmaxOp>([&](auto softmax) { return writeSoftmax(softmax, text); })
      .Case<CumsumOp, CumprodOp>([&](auto running) { return writeRunning(running, text); })
      .Case<LayerNormOp>([&](auto norm) {
        return writeNorm(norm, norm.getScale(), norm.getBias(), norm.getAxis(),
                         norm.getEpsilonAttr(), true, text);
      })
      .Case<RmsNormOp>([&](auto norm) {
        return writeNorm(norm, norm.getScale(), Value(), norm.getAxis(), norm.getEpsilonAttr(),
                         false, text);
      })
      .Case<RowMomentsOp>([&](auto moments) { return writeRowMoments(moments, text); })
      .Default([](Operation *other) { return other->emitError("has no plain kernel"), failure(); });
}

} // namespace smelt::codegen
