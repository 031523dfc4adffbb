// Rows of a unit matrix: EyeLike and OneHot.
#include "frontend/element_type.h"
#include "frontend/node_table.h"
#include "frontend/ops/expression.h"

#include "ir/dim_values.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Ones where column - row = k, of the input's shape.
LogicalResult importEyeLike(NodeReader &node) {
  GraphBuilder &build = node.build;
  TensorType type = tensorType(node.input(0));
  if (type.getRank() != 2)
    return node.error() << "needs a matrix, got " << node.describe(0);
  Type element = type.getElementType(), i64 = IntegerType::get(build.getContext(), 64);
  if (node.hasAttribute("dtype"))
    element = elementType(build.getContext(), static_cast<int32_t>(node.integer("dtype", 0)));
  if (!element)
    return node.error() << "results of "
                        << dataTypeName(static_cast<int32_t>(node.integer("dtype", 0)))
                        << " are not supported";
  Expression row = countTo(build, type.getDim(0), i64).reshaped({type.getDim(0), build.size(1)}),
             column = countTo(build, type.getDim(1), i64);
  Expression diagonal(build, build.dim(build.size(node.integer("k", 0)), i64));
  return node.output(
      build.cast(build.create<EqualOp>({(row + diagonal).value(), column.value()}), element));
}

/// The length of the new axis: a constant, of a float type perhaps, or a size.
FailureOr<Dim> readDepth(NodeReader &node) {
  Value depth = node.input(1);
  auto constant = depth.getDefiningOp<ConstantOp>();
  auto number = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
  if (number && number.getNumElements() == 1) {
    APSInt whole(64, /*isUnsigned=*/false);
    bool isExact;
    (*number.begin()).convertToInteger(whole, APFloat::rmTowardZero, &isExact);
    return node.build.size(whole.getSExtValue());
  }
  FailureOr<SmallVector<Dim>> known = node.dims(1, "the depth");
  if (failed(known))
    return failure();
  if (known->size() != 1)
    return node.error() << "needs one depth, got " << node.describe(1);
  return known->front();
}

/// The values are [off, on]. An index outside the axis, from either end, finds no element.
LogicalResult importOneHot(NodeReader &node) {
  GraphBuilder &build = node.build;
  int64_t rank = tensorType(node.input(0)).getRank();
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", -1), rank + 1);
  FailureOr<Dim> depth = readDepth(node);
  if (failed(axis) || failed(depth) ||
      failed(build.getFacts().requireAtMost(build.getLocation(), build.size(0), *depth,
                                            "a tensor's size is not negative")))
    return failure();
  if (tensorType(node.input(2)).getRank() != 1 ||
      failed(build.getFacts().requireEqual(build.getLocation(), tensorType(node.input(2)).getDim(0),
                                           build.size(2), "one value is off, the other on")))
    return node.error() << "its values must be two, got " << node.describe(2);
  Type i64 = IntegerType::get(build.getContext(), 64);
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape(),
                   positions(rank - *axis + 1, build.size(1));
  shape.insert(shape.begin() + *axis, build.size(1)), positions[0] = *depth;
  Expression index = Expression(build, node.input(0)).as(i64).reshaped(shape);
  if (node.opset() >= 11)
    index = select(index < 0, index + sizeAs(build, *depth, i64), index);
  Value isHot = build.create<EqualOp>(
      {index.value(), countTo(build, *depth, i64).reshaped(positions).value()});
  auto value = [&](int64_t at) {
    return build.reshape(build.slice(node.input(2), 0, build.size(at), build.size(1)), {});
  };
  return node.output(build.create<SelectOp>({isHot, value(1), value(0)}));
}

} // namespace

ArrayRef<NodeRule> oneHotRules() {
  static constexpr NodeRule kRules[] = {
      {"EyeLike", 9, 1, importEyeLike},
      {"OneHot", 9, 3, importOneHot},
  };
  return kRules;
}

} // namespace smelt::frontend
