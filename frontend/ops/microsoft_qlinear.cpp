// Ops of quantised bytes of the domain com.microsoft that are neither products nor convolutions:
// computed with the numbers that the bytes stand for.
#include "frontend/node_table.h"
#include "frontend/ops/quantized_product.h"
#include "frontend/ops/window.h"
#include "frontend/respell.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr llvm::StringLiteral kQLinearDomain = "com.microsoft";

/// Input `index` of one element, as a scalar; 0 where it may be omitted and is. Null after a report.
Value readSingle(NodeReader &node, size_t index) {
  GraphBuilder &build = node.build;
  Value given = node.input(index);
  if (!given)
    return build.scalar(0, float32(build));
  if (!tensorType(given).getNumElements().isConstant(1)) {
    node.error() << "needs one value for all, got " << node.describe(index);
    return {};
  }
  return build.reshape(given, {});
}

Value readNumber(NodeReader &node, size_t index) {
  return node.build.cast(readSingle(node, index), float32(node.build));
}

/// Input `index`, with its scale and its zero point behind it, as the numbers that it stands for.
Value readNumbers(NodeReader &node, size_t index) {
  GraphBuilder &build = node.build;
  Value scale = readNumber(node, index + 1), zeroPoint = readNumber(node, index + 2);
  Value centred = build.create<SubOp>({build.cast(node.input(index), float32(build)), zeroPoint});
  return build.create<MulOp>({centred, scale});
}

/// `numbers` as bytes of a type, by a scale and zero point from input `index` on.
LogicalResult outputBytes(NodeReader &node, Value numbers, size_t index, Type type) {
  GraphBuilder &build = node.build;
  Value scale = readNumber(node, index), zeroPoint = readSingle(node, index + 1);
  if (!numbers || !scale || !zeroPoint)
    return failure();
  return node.output(quantizeTo(build, build.create<DivOp>({numbers, scale}), zeroPoint, type));
}

Type typeOfFirst(NodeReader &node) { return tensorType(node.input(0)).getElementType(); }

/// Zero points may be omitted, what stands between and behind them may not.
LogicalResult requireInputs(NodeReader &node, ArrayRef<size_t> indices) {
  for (size_t index : indices)
    if (!node.input(index))
      return node.error() << "needs input " << index << ", which is missing";
  return success();
}

template <typename Op> LogicalResult importQLinearBinary(NodeReader &node) {
  if (failed(requireInputs(node, {3, 4, 6})) || failed(node.requireSameType({0, 3})))
    return failure();
  Value left = readNumbers(node, 0), right = readNumbers(node, 3);
  return outputBytes(node, node.build.create<Op>({left, right}), 6, typeOfFirst(node));
}

LogicalResult importQLinearSigmoid(NodeReader &node) {
  if (failed(requireInputs(node, {3})))
    return failure();
  Value numbers = readNumbers(node, 0);
  return outputBytes(node, numbers ? node.build.unary<SigmoidOp>(numbers) : Value(), 3,
                     typeOfFirst(node));
}

LogicalResult importQLinearLeakyRelu(NodeReader &node) {
  if (failed(requireInputs(node, {3})))
    return failure();
  GraphBuilder &build = node.build;
  Value numbers = readNumbers(node, 0), zero = build.scalar(0, float32(build));
  Value slope = build.scalar(node.real("alpha", 0.01f), float32(build));
  Value below = build.create<LessOp>({numbers, zero});
  return outputBytes(
      node, build.create<SelectOp>({below, build.create<MulOp>({numbers, slope}), numbers}), 3,
      typeOfFirst(node));
}

/// Scale and zero point of the result come first, then each input with its own.
LogicalResult importQLinearConcat(NodeReader &node) {
  constexpr size_t kFirst = 2;
  if (node.inputCount() < kFirst + 3 || (node.inputCount() - kFirst) % 3 != 0)
    return node.error() << "needs an array, a scale and a zero point of each input, got "
                        << node.inputCount() << " inputs";
  FailureOr<int64_t> axis = node.normalAxis(
      node.integer("axis", 0), node.input(kFirst) ? tensorType(node.input(kFirst)).getRank() : 0);
  if (failed(axis))
    return failure();
  SmallVector<Value> parts;
  for (size_t index = kFirst; index < node.inputCount(); index += 3) {
    if (failed(requireInputs(node, {index, index + 1})))
      return failure();
    parts.push_back(readNumbers(node, index));
    if (!parts.back() || tensorType(parts.back()).getRank() != tensorType(parts.front()).getRank())
      return node.error() << node.describe(index) << " is not of the rank of the first";
  }
  Value joined = node.build.concat(parts, *axis);
  return outputBytes(node, joined, 0, tensorType(node.input(kFirst)).getElementType());
}

/// The mean of each channel's bytes, whose sums are exact.
LogicalResult importQLinearGlobalAveragePool(NodeReader &node) {
  GraphBuilder &build = node.build;
  int64_t rank = tensorType(node.input(0)).getRank();
  if (rank < 3 || failed(requireInputs(node, {3})))
    return node.error() << "needs channels with spatial axes, got " << node.describe(0);
  bool isLast = node.flag("channels_last");
  auto axes = llvm::to_vector(llvm::seq<int64_t>(isLast ? 1 : 2, isLast ? rank - 1 : rank));
  Value mean = build.reduce(ReductionKind::mean, readNumbers(node, 0), axes);
  return outputBytes(node, mean, 3, typeOfFirst(node));
}

/// What an op of ONNX makes of the numbers, as bytes; scale and zero point of the result are inputs 3
/// and 4.
LogicalResult outputOf(NodeReader &node, int64_t opset, onnx_wire::Node proto) {
  if (failed(requireInputs(node, {3})))
    return failure();
  Value numbers = readNumbers(node, 0);
  return outputBytes(node, numbers ? node.resultOf(opset, std::move(proto), {numbers}) : Value(), 3,
                     typeOfFirst(node));
}

/// `opset` says which Softmax.
LogicalResult importQLinearSoftmax(NodeReader &node) {
  int64_t opset = node.integer("opset", 0);
  if (opset < 1 || opset > kMaxOpset)
    return node.error() << "its attribute 'opset' is " << opset << ", which is none";
  return outputOf(node, opset, asStandard(node, "Softmax"));
}

LogicalResult importQLinearReduceMean(NodeReader &node) {
  constexpr int64_t kAxesAreAttributes = 13;
  return outputOf(node, kAxesAreAttributes, asStandard(node, "ReduceMean"));
}

LogicalResult importQLinearAveragePool(NodeReader &node) {
  constexpr int64_t kOpset = 11;
  GraphBuilder &build = node.build;
  if (tensorType(node.input(0)).getRank() < 3 || failed(requireInputs(node, {3})))
    return node.error() << "needs an input with spatial axes, got " << node.describe(0);
  bool isLast = node.flag("channels_last");
  Value numbers = readNumbers(node, 0);
  if (isLast)
    numbers = channelsFirst(build, numbers);
  if (!numbers)
    return failure();
  Value mean = node.resultOf(kOpset, asStandard(node, "AveragePool"), {numbers});
  return outputBytes(node, isLast ? channelsLast(build, mean) : mean, 3, typeOfFirst(node));
}

LogicalResult importQLinearWhere(NodeReader &node) {
  if (failed(requireInputs(node, {1, 2, 4, 5, 7})) || failed(node.requireSameType({1, 4})))
    return failure();
  Value chosen =
      node.build.create<SelectOp>({node.input(0), readNumbers(node, 1), readNumbers(node, 4)});
  return outputBytes(node, chosen, 7, tensorType(node.input(1)).getElementType());
}

} // namespace

ArrayRef<NodeRule> microsoftQLinearRules() {
  static constexpr NodeRule kRules[] = {
      {"QLinearAdd", 1, 2, importQLinearBinary<AddOp>, kQLinearDomain},
      {"QLinearAveragePool", 1, 2, importQLinearAveragePool, kQLinearDomain},
      {"QLinearConcat", 1, 1, importQLinearConcat, kQLinearDomain},
      {"QLinearGlobalAveragePool", 1, 2, importQLinearGlobalAveragePool, kQLinearDomain},
      {"QLinearLeakyRelu", 1, 2, importQLinearLeakyRelu, kQLinearDomain},
      {"QLinearMul", 1, 2, importQLinearBinary<MulOp>, kQLinearDomain},
      {"QLinearReduceMean", 1, 2, importQLinearReduceMean, kQLinearDomain},
      {"QLinearSigmoid", 1, 2, importQLinearSigmoid, kQLinearDomain},
      {"QLinearSoftmax", 1, 2, importQLinearSoftmax, kQLinearDomain},
      {"QLinearWhere", 1, 2, importQLinearWhere, kQLinearDomain},
  };
  return kRules;
}

} // namespace smelt::frontend
