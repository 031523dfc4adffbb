// Ops that ONNX's first opsets tried and dropped, of files that were never written anew: converters
// of Caffe2 and Core ML wrote them, at opset 7 and 8 too.
#include "frontend/node_table.h"
#include "frontend/ops/contraction.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// alpha * x + beta
LogicalResult importAffine(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value input = node.input(0);
  Value shift = build.scalar(node.real("beta", 0), tensorType(input).getElementType());
  return node.output(build.create<AddOp>({scale(build, input, node.real("alpha", 1)), shift}));
}

LogicalResult importScale(NodeReader &node) {
  return node.output(scale(node.build, node.input(0), node.real("scale", 1)));
}

/// alpha * f(beta * x)
template <typename Op> LogicalResult importScaled(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value inner = scale(build, node.input(0), node.real("beta", 1));
  return node.output(scale(build, build.unary<Op>(inner), node.real("alpha", 1)));
}

LogicalResult requireImage(NodeReader &node) {
  if (tensorType(node.input(0)).getRank() != 4)
    return node.error() << "needs images [N, C, H, W], got " << node.describe(0);
  return success();
}

/// scale * x, and a bias for each channel.
LogicalResult importImageScaler(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (failed(requireImage(node)))
    return failure();
  auto bias = node.reals("bias");
  Value scaled = scale(build, node.input(0), node.real("scale", 1));
  if (!bias)
    return node.output(scaled);
  auto count = static_cast<int64_t>(bias->size());
  TensorType type = tensorType(node.input(0));
  if (failed(build.getFacts().requireEqual(build.getLocation(), type.getDim(1), build.size(count),
                                           "each channel has a bias")))
    return failure();
  auto shape = RankedTensorType::get({count, 1, 1}, Float32Type::get(build.getContext()));
  Value shift = build.constant(DenseElementsAttr::get(shape, ArrayRef(*bias)));
  return node.output(build.create<AddOp>({scaled, build.cast(shift, type.getElementType())}));
}

/// `border` is what goes at the left, top, right and bottom; `scale`, the height and width that stay,
/// stands for the last two.
LogicalResult importCrop(NodeReader &node) {
  GraphBuilder &build = node.build;
  auto border = node.integers("border"), size = node.integers("scale");
  if (failed(requireImage(node)))
    return failure();
  if (!border || border->size() != 4 || (size && size->size() != 2))
    return node.error() << "needs four numbers in 'border', and two in 'scale' where it is given";
  Value result = node.input(0);
  for (auto [axis, before, after] : {std::tuple<int64_t, size_t, size_t>(2, 1, 3), {3, 0, 2}}) {
    Dim whole = tensorType(result).getDim(axis), start = build.size((*border)[before]);
    Dim length = size ? build.size((*size)[axis - 2]) : whole - start - (*border)[after];
    for (auto [low, high] :
         {std::pair(build.size(0), start), {build.size(0), length}, {start + length, whole}})
      if (failed(build.getFacts().requireAtMost(build.getLocation(), low, high,
                                                "what is cropped lies within the image")))
        return failure();
    result = build.slice(result, axis, start, length);
    if (!result)
      return failure();
  }
  return node.output(result);
}

} // namespace

ArrayRef<NodeRule> oldOpRules() {
  static constexpr NodeRule kRules[] = {
      {"Affine", 1, 1, importAffine},
      {"Crop", 1, 1, importCrop},
      {"ImageScaler", 1, 1, importImageScaler},
      {"ParametricSoftplus", 1, 1, importScaled<SoftplusOp>},
      {"Scale", 1, 1, importScale},
      {"ScaledTanh", 1, 1, importScaled<TanhOp>},
  };
  return kRules;
}

} // namespace smelt::frontend
