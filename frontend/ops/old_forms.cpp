// What ONNX's ops were before opset 7: attributes where inputs came later, and the second of two
// inputs spread over axes of the first. Each node is brought into the words of a later opset.
#include "frontend/element_type.h"
#include "frontend/node_table.h"
#include "frontend/respell.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// The first opset in which shapes broadcast as in NumPy and BatchNormalization has no `is_test`.
constexpr int64_t kLater = 7;

/// The sizes of input 1 with ones around them, so that they lie at the axes of input 0 from `axis`
/// on, or at its last ones; an input of one element has no axes.
FailureOr<SmallVector<Dim>> spreadShape(NodeReader &node) {
  TensorType to = tensorType(node.input(0)), from = tensorType(node.input(1));
  if (from.getNumElements().isConstant(1))
    return SmallVector<Dim>();
  int64_t free = static_cast<int64_t>(to.getRank()) - from.getRank(), axis = free;
  if (node.hasAttribute("axis")) {
    FailureOr<int64_t> normal = node.normalAxis(node.integer("axis", 0), to.getRank());
    if (failed(normal))
      return failure();
    axis = *normal;
  }
  if (free < 0 || axis > free)
    return node.error() << "its input " << node.describe(1) << " has no place from axis " << axis
                        << " on in " << node.describe(0);
  SmallVector<Dim> shape = from.getShape();
  shape.append(free - axis, node.build.size(1));
  return shape;
}

/// `broadcast` = 1 spreads input 1 over input 0, from `axis` on.
LogicalResult importSpread(NodeReader &node) {
  Value second = node.input(1);
  if (node.flag("broadcast")) {
    FailureOr<SmallVector<Dim>> shape = spreadShape(node);
    if (failed(shape))
      return failure();
    second = node.build.reshape(second, *shape);
  }
  return second ? node.importAs(kLater, withoutAttributes(node), {node.input(0), second})
                : failure();
}

/// A slope for each channel, or one for all.
LogicalResult importChannelPRelu(NodeReader &node) {
  Value slope = node.input(1);
  SmallVector<Dim> shape = tensorType(slope).getShape();
  int64_t rank = tensorType(node.input(0)).getRank();
  if (shape.size() == 1 && rank > 2 && !shape[0].isConstant(1)) {
    shape.append(rank - 2, node.build.size(1));
    slope = node.build.reshape(slope, shape);
  }
  return node.importAs(kLater, node.proto(), {node.input(0), slope});
}

/// The shape as an attribute.
LogicalResult importReshapeTo(NodeReader &node) {
  auto shape = node.integers("shape");
  if (!shape)
    return node.error() << "needs its attribute 'shape'";
  Value target = node.integersOf(static_cast<int64_t>(shape->size()), *shape);
  return node.importAs(kLater, withoutAttributes(node), {node.input(0), target});
}

/// Pads were named `paddings`.
LogicalResult importPaddings(NodeReader &node) {
  auto pads = node.integers("paddings");
  if (!pads)
    return node.error() << "needs its attribute 'paddings'";
  onnx_wire::Node proto = node.proto();
  *attributeOf(proto, "pads", onnx_wire::Attribute::INTS).mutable_ints() = {pads->begin(),
                                                                            pads->end()};
  return node.importAs(kLater, proto, {node.input(0)});
}

/// The target type by name: "FLOAT".
LogicalResult importCastByName(NodeReader &node) {
  std::string name = node.text("to", "");
  std::optional<int32_t> type = dataTypeOf(StringRef(name).lower());
  if (!type)
    return node.error() << "its attribute 'to' is '" << name << "', which names no data type";
  onnx_wire::Node proto = withoutAttributes(node);
  setInteger(proto, "to", *type);
  return node.importAs(kLater, proto, {node.input(0)});
}

/// One axis only, and how often it is repeated: two scalars.
LogicalResult importTileAxis(NodeReader &node) {
  FailureOr<SmallVector<Dim>> times = node.dims(1, "the number of tiles");
  FailureOr<SmallVector<int64_t>> axis = node.constants(2, "the axis");
  if (failed(times) || failed(axis))
    return failure();
  if (times->size() != 1 || axis->size() != 1)
    return node.error() << "needs one axis and one number of tiles, got " << node.describe(1)
                        << " and " << node.describe(2);
  int64_t rank = tensorType(node.input(0)).getRank();
  FailureOr<int64_t> normal = node.normalAxis(axis->front(), rank);
  if (failed(normal))
    return failure();
  SmallVector<Dim> repeats(rank, node.build.size(1));
  repeats[*normal] = times->front();
  Type i64 = IntegerType::get(node.build.getContext(), 64);
  return node.importAs(kLater, node.proto(), {node.input(0), node.build.dims(repeats, i64)});
}

/// Images of channels, with a scale for the height and one for the width.
LogicalResult importUpsampleImage(NodeReader &node) {
  onnx_wire::Node proto = node.proto();
  const float scales[] = {1, 1, node.real("height_scale", 1), node.real("width_scale", 1)};
  *attributeOf(proto, "scales", onnx_wire::Attribute::FLOATS).mutable_floats() = {
      std::begin(scales), std::end(scales)};
  if (node.text("mode", "nearest") == "bilinear")
    attributeOf(proto, "mode", onnx_wire::Attribute::STRING).set_s("linear");
  return node.importAs(kLater, proto, {node.input(0)});
}

/// Axis 1 unless it is named.
LogicalResult importConcatOfChannels(NodeReader &node) {
  onnx_wire::Node proto = node.proto();
  if (!node.hasAttribute("axis"))
    setInteger(proto, "axis", 1);
  return node.importAs(kLater, proto, node.inputs());
}

/// Its constants had fewer digits.
LogicalResult importRoundedSelu(NodeReader &node) {
  onnx_wire::Node proto = node.proto();
  setReal(proto, "alpha", node.real("alpha", 1.6732f));
  setReal(proto, "gamma", node.real("gamma", 1.0507f));
  return node.importAs(kLater, proto, {node.input(0)});
}

/// The power as a float, which only whole ones outlived.
LogicalResult importFloatPower(NodeReader &node) {
  float p = node.real("p", 2);
  if (p != static_cast<float>(static_cast<int64_t>(p)))
    return node.error() << "its attribute 'p' is " << p << "; only whole powers are supported";
  onnx_wire::Node proto = node.proto();
  setInteger(proto, "p", static_cast<int64_t>(p));
  return node.importAs(kLater, proto, {node.input(0)});
}

} // namespace

ArrayRef<NodeRule> oldFormRules() {
  static constexpr NodeRule kRules[] = {
      {"Add", 1, 2, importSpread},
      {"And", 1, 2, importSpread},
      {"Cast", 1, 1, importCastByName},
      {"Concat", 1, kEveryInput, importConcatOfChannels},
      {"Div", 1, 2, importSpread},
      {"Equal", 1, 2, importSpread},
      {"GlobalLpPool", 1, 1, importFloatPower},
      {"Greater", 1, 2, importSpread},
      {"Less", 1, 2, importSpread},
      {"LpPool", 1, 1, importFloatPower},
      {"Mul", 1, 2, importSpread},
      {"Or", 1, 2, importSpread},
      {"PRelu", 1, 2, importChannelPRelu},
      {"Pad", 1, 1, importPaddings},
      {"Pow", 1, 2, importSpread},
      {"Reshape", 1, 1, importReshapeTo},
      {"Selu", 1, 1, importRoundedSelu},
      {"Sub", 1, 2, importSpread},
      {"Tile", 1, 3, importTileAxis},
      {"Upsample", 1, 1, importUpsampleImage},
      {"Xor", 1, 2, importSpread},
  };
  return kRules;
}

} // namespace smelt::frontend
