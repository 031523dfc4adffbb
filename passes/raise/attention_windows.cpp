#include "passes/raise/attention_windows.h"

#include "passes/constants.h"
#include "passes/view_shape.h"

using namespace mlir;

namespace smelt::passes {

std::optional<Windows> matchWindows(ArrayRef<Dim> merged, ArrayRef<Dim> split) {
  if (merged.size() != 4 || split.size() != 5 || merged[0] != split[0] * split[1] ||
      merged.drop_front() != split.drop_front(2))
    return std::nullopt;
  return Windows{split[0], split[1], split[2]};
}

Value splitWindows(OpBuilder &builder, Location location, Value value, const Windows &windows) {
  SmallVector<Dim> shape = padShape(dropLeadingOnes(shapeOf(value)), 4, builder.getContext());
  Dim one = Dim::constant(builder.getContext(), 1);
  bool repeats = shape[0].isConstant(1);
  SmallVector<Dim> split = {repeats ? one : windows.batch, repeats ? one : windows.windows};
  llvm::append_range(split, ArrayRef<Dim>(shape).drop_front());
  return reshapeTo(builder, location, value, split);
}

/// `value` with other leading axes, by way of split windows, so that each reshape is one product of axes
/// (axis_classes.h).
static Value withLeading(OpBuilder &builder, Location location, Value value, const Windows &windows,
                         SmallVector<Dim> leading) {
  SmallVector<Dim> shape = shapeOf(value);
  ArrayRef<Dim> matrix = ArrayRef<Dim>(shape).take_back(2);
  SmallVector<Dim> split{windows.batch, windows.windows, windows.heads};
  llvm::append_range(split, matrix);
  llvm::append_range(leading, matrix);
  return reshapeTo(builder, location, reshapeTo(builder, location, value, split), leading);
}

Value flattenOperand(OpBuilder &builder, Location location, Value operand, const Windows &windows) {
  return withLeading(builder, location, operand, windows, windows.flat());
}

Value mergeResult(OpBuilder &builder, Location location, Value result, const Windows &windows) {
  return withLeading(builder, location, result, windows, windows.merged());
}

Value flattenBias(OpBuilder &builder, Location location, Value bias, const Windows &windows) {
  SmallVector<Dim> shape = padShape(dropLeadingOnes(shapeOf(bias)), 5, builder.getContext());
  bias = reshapeTo(builder, location, bias, shape);
  if (!shape[1].isConstant(1) || !shape[2].isConstant(1)) {
    shape[1] = windows.windows;
    shape[2] = windows.heads;
  }
  bias = broadcastTo(builder, location, bias, tensorType(bias).withShape(shape));
  return reshapeTo(builder, location, bias, {shape[0], shape[1] * shape[2], shape[3], shape[4]});
}

} // namespace smelt::passes
