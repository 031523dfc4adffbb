// FlexAttention (domain ai.onnx.preview): attention whose scores and probabilities pass through graphs
// that the node holds. Without them it is smelt.attention; with them the products and the softmax stand
// apart, and the passes find again what they know: a bias, a cap, a mask.
#include "frontend/element_type.h"
#include "frontend/node_table.h"

#include <cmath>

using namespace mlir;

namespace smelt::frontend {

namespace {

enum FlexInput : size_t { kFlexQuery, kFlexKey, kFlexValue };

LogicalResult checkFlexOperands(NodeReader &node) {
  GraphBuilder &build = node.build;
  for (size_t index : {kFlexQuery, kFlexKey, kFlexValue})
    if (tensorType(node.input(index)).getRank() != 4)
      return node.error() << "needs four axes, got " << node.describe(index);
  if (failed(node.requireSameType()))
    return failure();
  auto equal = [&](FlexInput a, FlexInput b, unsigned axis, StringRef why) {
    return build.getFacts().requireEqual(build.getLocation(),
                                         tensorType(node.input(a)).getDim(axis),
                                         tensorType(node.input(b)).getDim(axis), why);
  };
  if (failed(equal(kFlexQuery, kFlexKey, 0, "query and key have one batch")) ||
      failed(equal(kFlexKey, kFlexValue, 0, "key and value have one batch")) ||
      failed(equal(kFlexQuery, kFlexKey, 3, "query and key have one head size")) ||
      failed(equal(kFlexKey, kFlexValue, 1, "key and value have the same heads")) ||
      failed(equal(kFlexKey, kFlexValue, 2, "key and value have one length")))
    return failure();
  Dim heads = tensorType(node.input(kFlexQuery)).getDim(1);
  if (!heads.exactDiv(tensorType(node.input(kFlexKey)).getDim(1)))
    return node.error() << "the heads of " << node.describe(kFlexQuery)
                        << " must be a multiple of those of " << node.describe(kFlexKey);
  return success();
}

FailureOr<float> readFlexScale(NodeReader &node) {
  if (node.hasAttribute("scale"))
    return node.real("scale", 1);
  auto size = tensorType(node.input(kFlexQuery)).getDim(3).asConstant();
  if (!size || *size < 1)
    return node.error() << "needs a constant head size, or the attribute 'scale'; query is "
                        << node.describe(kFlexQuery);
  return static_cast<float>(1 / std::sqrt(static_cast<double>(*size)));
}

/// What scores and probabilities are computed in.
FailureOr<Type> readPrecision(NodeReader &node) {
  Type element = tensorType(node.input(kFlexQuery)).getElementType();
  if (!node.hasAttribute("softmax_precision"))
    return element.isF64() ? element : Type(Float32Type::get(node.build.getContext()));
  int64_t number = node.integer("softmax_precision", 0);
  Type precision = elementType(node.build.getContext(), static_cast<int32_t>(number));
  if (!isa_and_present<FloatType>(precision))
    return node.error() << "its softmax_precision " << number << " is no float type";
  return precision;
}

/// What a graph makes of the scores or probabilities; as they are where there is none.
Value modify(NodeReader &node, StringRef name, Value input) {
  if (!input || !node.hasAttribute(name))
    return input;
  FailureOr<InnerGraph> graph = node.graph(name, 1, 1);
  if (failed(graph))
    return {};
  FailureOr<SmallVector<GraphValue>> outputs = graph->import(GraphValue(input));
  if (failed(outputs))
    return {};
  Value result = outputs->front().tensor();
  if (!result || tensorType(result) != tensorType(input))
    return node.error() << "its graph '" << name << "' must give back the shape and type "
                        << "that it takes, " << toString(tensorType(input).getShape()),
           Value();
  return result;
}

/// Heads that share keys are a fifth axis during a product: [batch, groups, shared, rows, size].
Value groupHeads(GraphBuilder &build, Value input, Dim groups) {
  SmallVector<Dim> shape = tensorType(input).getShape();
  Dim shared = *shape[1].exactDiv(groups);
  return build.reshape(input, {shape[0], groups, shared, shape[2], shape[3]});
}

Value multiplyHeads(GraphBuilder &build, Value rows, Value shared) {
  if (!rows || !shared)
    return {};
  SmallVector<Dim> left = tensorType(rows).getShape();
  Dim groups = tensorType(shared).getDim(1), columns = tensorType(shared).getDim(3);
  if (left[1] == groups)
    return build.create<MatmulOp>({rows, shared});
  Value product =
      build.create<MatmulOp>({groupHeads(build, rows, groups), groupHeads(build, shared, groups)});
  return build.reshape(product, {left[0], left[1], left[2], columns});
}

LogicalResult importFlexAttention(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (failed(checkFlexOperands(node)))
    return failure();
  FailureOr<float> scale = readFlexScale(node);
  FailureOr<Type> precision = failed(scale) ? FailureOr<Type>(failure()) : readPrecision(node);
  if (failed(precision))
    return failure();
  Value query = node.input(kFlexQuery), key = node.input(kFlexKey), value = node.input(kFlexValue);
  Type element = tensorType(query).getElementType();
  bool isPlain = !node.hasAttribute("score_mod") && !node.hasAttribute("prob_mod") &&
                 (element.isF64() || !precision->isF64());
  if (isPlain)
    return node.output(build.create<AttentionOp>(
        {query, key, value}, {build.attribute("scale", *scale), build.attribute("softcap", 0.0f)}));
  Value scaled = build.create<MulOp>({query, build.scalar(*scale, element)});
  Value scores = multiplyHeads(build, scaled, build.transposeMatrix(key));
  scores = modify(node, "score_mod", build.cast(scores, *precision));
  Value probabilities =
      scores ? build.unary<SoftmaxOp>(scores, build.attribute("axis", 3l)) : scores;
  probabilities = modify(node, "prob_mod", probabilities);
  return node.output(
      build.cast(multiplyHeads(build, probabilities, build.cast(value, *precision)), element));
}

} // namespace

ArrayRef<NodeRule> flexAttentionRules() {
  static constexpr NodeRule kRules[] = {
      {"FlexAttention", 1, 3, importFlexAttention, "ai.onnx.preview"},
  };
  return kRules;
}

} // namespace smelt::frontend
