// Nodes that add elements around a tensor, or take some away.
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// One axis of a Pad: what is added at its ends.
struct AxisPad {
  int64_t axis;
  Dim before, after;
};

/// The axes that are named, or all.
FailureOr<SmallVector<int64_t>> paddedAxes(NodeReader &node) {
  int64_t rank = tensorType(node.input(0)).getRank();
  if (!node.input(3))
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  FailureOr<SmallVector<int64_t>> axes = node.constants(3, "the list of axes");
  if (failed(axes) || failed(node.normalAxes(*axes, rank)))
    return failure();
  for (int64_t &axis : *axes)
    axis = axis < 0 ? axis + rank : axis;
  return axes;
}

FailureOr<SmallVector<Dim>> readPads(NodeReader &node) {
  if (node.opset() >= 11)
    return node.dims(1, "the list of pads");
  auto given = node.integers("pads");
  if (!given)
    return node.error() << "needs pads";
  return llvm::map_to_vector(*given, [&](int64_t value) { return node.build.size(value); });
}

/// A pad that is a size is taken to add elements; a constant may take some away.
LogicalResult checkAxisPad(NodeReader &node, const AxisPad &pad) {
  GraphBuilder &build = node.build;
  for (Dim count : {pad.before, pad.after}) {
    auto constant = count.asConstant();
    if (constant && (*constant > kMaxElements || *constant < -kMaxElements))
      return node.error() << "cannot pad by " << *constant << " elements";
    if (!constant && failed(build.getFacts().requireAtMost(build.getLocation(), build.size(0),
                                                           count, "a pad is not negative")))
      return failure();
  }
  return success();
}

FailureOr<SmallVector<AxisPad>> readAxisPads(NodeReader &node) {
  FailureOr<SmallVector<Dim>> counts = readPads(node);
  FailureOr<SmallVector<int64_t>> axes = paddedAxes(node);
  if (failed(counts) || failed(axes))
    return failure();
  if (counts->size() != 2 * axes->size())
    return node.error() << "has " << counts->size() << " pads for " << axes->size() << " axes of "
                        << node.describe(0);
  SmallVector<AxisPad> pads;
  for (auto [index, axis] : llvm::enumerate(*axes)) {
    pads.push_back({axis, (*counts)[index], (*counts)[axes->size() + index]});
    if (failed(checkAxisPad(node, pads.back())))
      return failure();
  }
  return pads;
}

/// The element that surrounds the input: an attribute at first, an optional input later.
Value readFill(NodeReader &node) {
  GraphBuilder &build = node.build;
  Type element = tensorType(node.input(0)).getElementType();
  if (node.opset() < 11)
    return build.scalar(node.real("value", 0), element);
  if (!node.input(2))
    return build.scalar(0, element);
  if (failed(node.requireSameType({0, 2})))
    return {};
  if (!tensorType(node.input(2)).getNumElements().isConstant(1)) {
    node.error() << "its constant_value must be a scalar, got " << node.describe(2);
    return {};
  }
  return build.reshape(node.input(2), {});
}

/// Which of `size` elements stands at each of `positions`, which reach beyond both ends.
Value positionWithin(GraphBuilder &build, StringRef mode, Value positions, Dim size) {
  Type i64 = IntegerType::get(build.getContext(), 64);
  Value zero = build.scalar(0, i64), last = build.dim(size - 1, i64);
  if (mode == "edge")
    return build.create<MinOp>({build.create<MaxOp>({positions, zero}), last});
  if (mode == "wrap")
    return build.create<ModOp>({positions, build.dim(size, i64)});
  // There and back, without either end twice; one element reflects itself.
  Value period = build.create<MaxOp>({build.dim((size - 1) * 2, i64), build.scalar(1, i64)});
  Value there = build.create<ModOp>({positions, period});
  return build.create<MinOp>({there, build.create<SubOp>({period, there})});
}

/// Elements of the input itself, in another order, before and after it.
Value padByElements(NodeReader &node, Value input, StringRef mode, AxisPad pad) {
  GraphBuilder &build = node.build;
  for (Dim *count : {&pad.before, &pad.after})
    if (count->asConstant().value_or(0) < 0) {
      bool isBefore = count == &pad.before;
      input = build.pad(input, pad.axis, isBefore ? *count : build.size(0),
                        isBefore ? build.size(0) : *count, readFill(node));
      *count = build.size(0);
    }
  if (!input || (pad.before.isConstant(0) && pad.after.isConstant(0)))
    return input;
  Dim size = tensorType(input).getDim(pad.axis);
  if (failed(build.getFacts().requireAtMost(build.getLocation(), build.size(1), size,
                                            "an axis is padded with elements that it has")))
    return {};
  Type i64 = IntegerType::get(build.getContext(), 64);
  auto type = TensorType::get({size + pad.before + pad.after}, i64);
  Value positions = build.create<SubOp>({build.createAs<IotaOp>(type, {}), //
                                         build.dim(pad.before, i64)});
  return build.create<GatherOp>({input, positionWithin(build, mode, positions, size)},
                                build.attribute("axis", pad.axis));
}

LogicalResult importPad(NodeReader &node) {
  FailureOr<SmallVector<AxisPad>> pads = readAxisPads(node);
  if (failed(pads))
    return failure();
  std::string mode = node.text("mode", "constant");
  bool isKnown = mode == "constant" || mode == "reflect" || mode == "edge" ||
                 (mode == "wrap" && node.opset() >= 19);
  if (!isKnown)
    return node.error() << "mode '" << mode << "' is unknown";
  Value result = node.input(0), fill = mode == "constant" ? readFill(node) : Value();
  if (mode == "constant" && !fill)
    return failure();
  for (const AxisPad &pad : *pads)
    if (result)
      result = mode == "constant" ? node.build.pad(result, pad.axis, pad.before, pad.after, fill)
                                  : padByElements(node, result, mode, pad);
  return node.output(result);
}

/// One axis cut or filled with zeros to `target`, the odd element at its end.
Value centerAxis(GraphBuilder &build, Value input, int64_t axis, Dim target) {
  if (!input)
    return {};
  Dim size = tensorType(input).getDim(axis), two = build.size(2), zero = build.size(0);
  Dim kept = size.min(target), start = (size - target).max(zero).floorDiv(two),
      added = (target - size).max(zero), before = added.floorDiv(two);
  return build.pad(build.slice(input, axis, start, kept), axis, before, target - kept - before,
                   build.scalar(0, tensorType(input).getElementType()));
}

LogicalResult importCenterCropPad(NodeReader &node) {
  GraphBuilder &build = node.build;
  int64_t rank = tensorType(node.input(0)).getRank();
  FailureOr<SmallVector<Dim>> target = node.dims(1, "the target shape");
  SmallVector<int64_t> axes =
      node.integers("axes").value_or(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  if (failed(target) || failed(node.normalAxes(axes, rank)))
    return failure();
  if (target->size() != axes.size())
    return node.error() << "has " << target->size() << " sizes for " << axes.size() << " axes of "
                        << node.describe(0);
  Value result = node.input(0);
  for (auto [axis, size] : llvm::zip(axes, *target)) {
    if (failed(build.getFacts().requireAtMost(build.getLocation(), build.size(0), size,
                                              "a tensor's size is not negative")))
      return failure();
    result = centerAxis(build, result, axis < 0 ? axis + rank : axis, size);
  }
  return node.output(result);
}

} // namespace

ArrayRef<NodeRule> paddingRules() {
  static constexpr NodeRule kRules[] = {
      {"CenterCropPad", 18, 2, importCenterCropPad},
      {"Pad", 2, 1, importPad},
      {"Pad", 11, 2, importPad},
  };
  return kRules;
}

} // namespace smelt::frontend
