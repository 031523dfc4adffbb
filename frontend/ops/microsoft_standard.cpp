// Ops of the domain com.microsoft that ONNX took over later, under the same name or another.
#include "frontend/node_table.h"
#include "frontend/respell.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr llvm::StringLiteral kStandardDomain = "com.microsoft";

/// The op of the same name, as `opset` has it.
template <int64_t opset> LogicalResult importStandard(NodeReader &node) {
  return node.importAs(opset, asStandard(node, node.opType()), node.inputs());
}

/// Indices may be int32.
LogicalResult importGatherAll(NodeReader &node) {
  Value indices = node.build.cast(node.input(1), IntegerType::get(node.build.getContext(), 64));
  return node.importAs(13, asStandard(node, "GatherND"), {node.input(0), indices});
}

LogicalResult importExpandDims(NodeReader &node) {
  FailureOr<SmallVector<int64_t>> axis = node.constants(1, "the axis");
  if (failed(axis))
    return failure();
  if (axis->size() != 1)
    return node.error() << "needs one axis, got " << node.describe(1);
  return node.importAs(13, asStandard(node, "Unsqueeze"),
                       {node.input(0), node.integersOf(1, *axis)});
}

/// The list of pads may be a row of a matrix.
LogicalResult importPadList(NodeReader &node) {
  Value pads = node.input(1);
  Dim count = tensorType(pads).getNumElements();
  return node.importAs(13, asStandard(node, "Pad"),
                       {node.input(0), node.build.reshape(pads, count), node.input(2)});
}

/// The step may be omitted.
LogicalResult importRangeOfOnes(NodeReader &node) {
  Value step = node.input(2);
  if (!step)
    step = node.build.scalar(1, tensorType(node.input(0)).getElementType());
  return node.importAs(11, asStandard(node, "Range"), {node.input(0), node.input(1), step});
}

} // namespace

ArrayRef<NodeRule> microsoftStandardRules() {
  static constexpr NodeRule kRules[] = {
      {"ExpandDims", 1, 2, importExpandDims, kStandardDomain},
      {"GatherND", 1, 2, importGatherAll, kStandardDomain},
      {"GridSample", 1, 2, importStandard<16>, kStandardDomain},
      {"Pad", 1, 2, importPadList, kStandardDomain},
      {"Range", 1, 2, importRangeOfOnes, kStandardDomain},
      {"Trilu", 1, 1, importStandard<14>, kStandardDomain},
  };
  return kRules;
}

} // namespace smelt::frontend
