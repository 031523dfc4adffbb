#include "frontend/ops/window.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace smelt::frontend {

FailureOr<SmallVector<int64_t>> readSizes(NodeReader &node, StringRef name, size_t count,
                                          int64_t low, int64_t standard) {
  SmallVector<int64_t> values = node.integers(name).value_or(SmallVector<int64_t>(count, standard));
  bool fits = values.size() == count && llvm::all_of(values, [&](int64_t value) {
                return value >= low && value <= kLargestStep;
              });
  if (!fits)
    return node.error() << "its attribute '" << name << "' must hold " << count
                        << " values of at least " << low << ", at most " << kLargestStep;
  return values;
}

/// Pads so that each axis yields ceil(size / stride) elements; the odd one goes to the end (upper)
/// or the start.
static LogicalResult padSame(NodeReader &node, Window &window, ArrayRef<Dim> sizes,
                             ArrayRef<Dim> kernel, bool upper) {
  size_t spatial = sizes.size();
  for (size_t axis = 0; axis < spatial; ++axis) {
    int64_t stride = window.strides[axis];
    auto size = sizes[axis].asConstant(), reach = window.reach(axis, kernel[axis]).asConstant();
    if (!reach || (!size && stride != 1))
      return node.error() << "auto_pad SAME with a stride needs constant sizes, got "
                          << node.describe(0);
    int64_t total =
        stride == 1
            ? *reach - 1
            : std::max<int64_t>((llvm::divideCeil(*size, stride) - 1) * stride + *reach - *size, 0);
    window.pads[axis] = upper ? total / 2 : total - total / 2;
    window.pads[axis + spatial] = total - window.pads[axis];
  }
  return success();
}

FailureOr<Window> readExplicitWindow(NodeReader &node, size_t spatial) {
  auto strides = readSizes(node, "strides", spatial, 1, 1),
       dilations = readSizes(node, "dilations", spatial, 1, 1);
  auto pads = readSizes(node, "pads", 2 * spatial, 0, 0);
  if (failed(strides) || failed(dilations) || failed(pads))
    return failure();
  return Window{*strides, *dilations, *pads};
}

FailureOr<Window> readWindow(NodeReader &node, ArrayRef<Dim> sizes, ArrayRef<Dim> kernel) {
  size_t spatial = sizes.size();
  FailureOr<Window> read = readExplicitWindow(node, spatial);
  if (failed(read))
    return failure();
  Window window = std::move(*read);
  std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    if (failed(padSame(node, window, sizes, kernel, automatic == "SAME_UPPER")))
      return failure();
  } else if (automatic == "VALID") {
    window.pads.assign(2 * spatial, 0);
  } else if (automatic != "NOTSET") {
    return node.error() << "auto_pad '" << automatic << "' is unknown";
  }
  return window;
}

/// Behind the batch, the axes from `first` on come first.
static Value rotateAxes(GraphBuilder &build, Value value, int64_t first) {
  if (!value)
    return {};
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(value).getRank()));
  std::rotate(order.begin() + 1, order.begin() + first, order.end());
  return build.transpose(value, order);
}

Value channelsFirst(GraphBuilder &build, Value value) {
  return rotateAxes(build, value, value ? tensorType(value).getRank() - 1 : 0);
}

Value channelsLast(GraphBuilder &build, Value value) { return rotateAxes(build, value, 2); }

} // namespace smelt::frontend
