// Attention (opset 23 and later): 3-D and 4-D layouts, grouped heads, caches and masks become
// smelt.attention, whose queries, keys and values are [batch, heads, length, size] and whose masks
// are an additive bias.
#include "frontend/ops/attention.h"

#include "frontend/node_table.h"

#include <cmath>

using namespace mlir;

namespace smelt::frontend {

namespace {

enum Input : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kValidKeys };

Value minusInfinity(GraphBuilder &build, Type element) { return build.scalar(kHidden, element); }

/// [batch, length, heads * size] as [batch, heads, length, size].
Value readHeads(NodeReader &node, Input index, StringRef attribute) {
  if (tensorType(node.input(index)).getRank() == 4)
    return node.input(index);
  int64_t heads = node.integer(attribute, 0);
  Value split = splitHeads(node.build, node.input(index), heads);
  if (!split)
    return node.error() << "cannot split " << node.describe(index) << " into " << heads
                        << " heads (attribute '" << attribute << "')",
           Value();
  return split;
}

LogicalResult requireEqualAxes(NodeReader &node, Value a, unsigned axisA, Value b, unsigned axisB,
                               StringRef why) {
  GraphBuilder &build = node.build;
  return build.getFacts().requireEqual(build.getLocation(), tensorType(a).getDim(axisA),
                                       tensorType(b).getDim(axisB), why);
}

/// The cache comes before the new keys; the result is also the new cache.
Value withPast(NodeReader &node, Input past, Value fresh, size_t output) {
  Value cached = node.input(past);
  if (cached) {
    if (tensorType(cached).getRank() != 4)
      return node.error() << "its cache " << node.describe(past) << " must have four axes", Value();
    for (unsigned axis : {0, 1, 3})
      if (failed(requireEqualAxes(node, cached, axis, fresh, axis,
                                  "the cache fits the new keys and values")))
        return {};
    fresh = node.build.concat({cached, fresh}, 2);
  }
  if (fresh && output < node.outputCount() && failed(node.output(fresh, output)))
    return {};
  return fresh;
}

FailureOr<AttentionParts> readOperands(NodeReader &node) {
  for (Input index : {kQuery, kKey, kValue}) {
    unsigned rank = tensorType(node.input(index)).getRank();
    if ((rank != 3 && rank != 4) || rank != tensorType(node.input(kQuery)).getRank())
      return node.error() << "query, key and value must all have three or all four axes, got "
                          << node.describe(index);
  }
  if (!node.input(kPastKey) != !node.input(kPastValue))
    return node.error() << "needs both past_key and past_value, or neither";
  if (failed(node.requireSameType({kQuery, kKey, kPastKey})) ||
      failed(node.requireSameType({kQuery, kValue, kPastValue})))
    return failure();
  AttentionParts operands;
  operands.query = readHeads(node, kQuery, "q_num_heads");
  operands.key = readHeads(node, kKey, "kv_num_heads");
  operands.value = readHeads(node, kValue, "kv_num_heads");
  if (!operands.query || !operands.key || !operands.value)
    return failure();
  operands.key = withPast(node, kPastKey, operands.key, 1);
  operands.value = operands.key ? withPast(node, kPastValue, operands.value, 2) : Value();
  if (!operands.value || failed(requireSizesFit(node, operands)))
    return failure();
  return operands;
}

/// The mask as a bias of four axes; a mask over fewer keys than there are hides the rest.
Value readMask(NodeReader &node, const AttentionParts &operands) {
  GraphBuilder &build = node.build;
  Type element = tensorType(operands.query).getElementType();
  Value mask = node.input(kMask);
  SmallVector<Dim> shape = tensorType(mask).getShape();
  if (shape.empty() || shape.size() > 4)
    return node.error() << "its mask " << node.describe(kMask) << " must have one to four axes",
           Value();
  mask = tensorType(mask).getElementType().isInteger(1) ? biasFrom(build, mask, element)
                                                        : build.cast(mask, element);
  shape.insert(shape.begin(), 4 - shape.size(), build.size(1));
  mask = build.reshape(mask, shape);
  Dim keys = tensorType(operands.key).getDim(2), missing = keys - shape[3];
  if (shape[3].isConstant(1) || !(missing - 1).isKnownNonNegative())
    return mask;
  SmallVector<Dim> hidden(shape);
  hidden[3] = missing;
  return build.concat({mask, build.expand(minusInfinity(build, element), hidden)}, 3);
}

FailureOr<Sight> readSight(NodeReader &node) {
  int64_t left = node.integer("left_window_size", -1),
          right = node.integer("right_window_size", -1);
  if (left < -1 || right < -1)
    return node.error() << "its window of " << left << " and " << right
                        << " keys must be -1 or more on each side";
  Sight sight;
  if (left >= 0)
    sight.left = left;
  if (right >= 0)
    sight.right = right;
  if (node.flag("is_causal"))
    sight.right = 0;
  return sight;
}

/// Adds what `nonpad_kv_seqlen`, `is_causal` and the window hide. Query i stands at position i +
/// offset, with the cache's length as offset, or valid keys - queries, or 0.
LogicalResult addVisibility(NodeReader &node, AttentionParts &operands) {
  GraphBuilder &build = node.build;
  FailureOr<Sight> sight = readSight(node);
  if (failed(sight))
    return failure();
  bool isCausal = node.flag("is_causal") && !sight->left;
  Dim queries = tensorType(operands.query).getDim(2), keys = tensorType(operands.key).getDim(2);
  Dim past = node.input(kPastKey) ? tensorType(node.input(kPastKey)).getDim(2) : build.size(0);
  Value valid = node.input(kValidKeys);
  if (!valid && (!sight->isLimited() || (isCausal && keys - queries == past))) {
    operands.causal = isCausal;
    return success();
  }
  Type element = tensorType(operands.query).getElementType(),
       i64 = IntegerType::get(build.getContext(), 64);
  Dim one = build.size(1);
  Value key = iota(build, keys, {one, one, one, keys}),
        query = iota(build, queries, {one, one, queries, one});
  Value offset = build.dim(past, i64);
  if (valid) {
    if (tensorType(valid).getRank() != 1 || tensorType(valid).getElementType() != i64)
      return node.error() << "nonpad_kv_seqlen must be int64 [batch], got "
                          << node.describe(kValidKeys);
    valid = build.reshape(valid, {tensorType(valid).getDim(0), one, one, one});
    operands.bias =
        addBias(build, operands.bias, biasFrom(build, build.create<LessOp>({key, valid}), element));
    offset = build.create<SubOp>({valid, build.dim(queries, i64)});
  }
  if (sight->isLimited()) {
    Value position = build.create<AddOp>({query, offset});
    operands.bias = addBias(build, operands.bias, sightBias(build, *sight, position, key, element));
  }
  return success(operands.bias != nullptr);
}

FailureOr<float> readScale(NodeReader &node, Value query) {
  if (node.hasAttribute("scale"))
    return node.real("scale", 1);
  return standardScale(node, query);
}

/// scale * Q K^T, [batch, heads, queries, keys]; heads of queries that share keys are a fifth axis
/// meanwhile.
Value scoresOf(GraphBuilder &build, const AttentionParts &operands, float scale) {
  SmallVector<Dim> query = tensorType(operands.query).getShape(),
                   key = tensorType(operands.key).getShape();
  Value scaled = build.create<MulOp>(
      {operands.query, build.scalar(scale, tensorType(operands.query).getElementType())});
  auto share = query[1].exactDiv(key[1]);
  if (!share || share->isConstant(1))
    return build.create<MatmulOp>({scaled, build.transposeMatrix(operands.key)});
  Dim one = build.size(1);
  Value rows = build.reshape(scaled, {query[0], key[1], *share, query[2], query[3]});
  Value columns = build.reshape(operands.key, {key[0], key[1], one, key[2], key[3]});
  Value product = build.create<MatmulOp>({rows, build.transposeMatrix(columns)});
  return build.reshape(product, {query[0], query[1], query[2], key[2]});
}

/// Probabilities; zeros for a query from which every key is hidden.
Value probabilities(GraphBuilder &build, Value scores, Value bias) {
  Value result = build.unary<SoftmaxOp>(scores, build.attribute("axis", 3l));
  if (!bias)
    return result;
  Type element = tensorType(scores).getElementType();
  Value most = build.reduce(ReductionKind::max, bias, 3);
  Value isHidden = build.create<EqualOp>({most, minusInfinity(build, element)});
  return build.create<SelectOp>({isHidden, build.scalar(0, element), result});
}

/// What `qk_matmul_output_mode` asks for on the way to the probabilities.
LogicalResult outputScores(NodeReader &node, const AttentionParts &operands, float scale) {
  enum Mode { kRaw, kCapped, kBiased, kProbabilities };
  GraphBuilder &build = node.build;
  int64_t mode = node.integer("qk_matmul_output_mode", kRaw);
  if (mode < kRaw || mode > kProbabilities)
    return node.error() << "its qk_matmul_output_mode " << mode << " is none of 0 to 3";
  Value scores = scoresOf(build, operands, scale), bias = operands.bias;
  Type element = tensorType(operands.query).getElementType();
  if (float cap = node.real("softcap", 0); cap > 0) {
    Value limit = build.scalar(cap, element);
    scores =
        build.create<MulOp>({build.unary<TanhOp>(build.create<DivOp>({scores, limit})), limit});
  }
  if (operands.causal) {
    Dim queries = tensorType(operands.query).getDim(2), keys = tensorType(operands.key).getDim(2),
        one = build.size(1);
    Value position =
        build.create<AddOp>({iota(build, queries, {one, one, queries, one}),
                             build.dim(keys - queries, IntegerType::get(build.getContext(), 64))});
    bias = addBias(build, bias,
                   sightBias(build, {std::nullopt, 0}, position,
                             iota(build, keys, {one, one, one, keys}), element));
  }
  if (mode >= kBiased && bias)
    scores = build.create<AddOp>({scores, bias});
  if (mode == kProbabilities)
    scores = probabilities(build, scores, bias);
  return node.output(scores, 3);
}

LogicalResult importAttention(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<AttentionParts> operands = readOperands(node);
  if (failed(operands))
    return failure();
  FailureOr<float> scale = readScale(node, operands->query);
  if (failed(scale))
    return failure();
  if (node.input(kMask)) {
    operands->bias = readMask(node, *operands);
    if (!operands->bias)
      return failure();
  }
  if (failed(addVisibility(node, *operands)) || failed(requireBiasFits(node, *operands)))
    return failure();
  if (node.outputCount() > 3 && failed(outputScores(node, *operands, *scale)))
    return failure();
  // A query that sees no key yields zeros (only a mask can bring that about).
  operands->zeroesHidden = operands->bias != nullptr;
  Value result = attend(build, *operands, *scale, node.real("softcap", 0));
  return node.output(tensorType(node.input(kQuery)).getRank() == 4 ? result
                                                                   : mergeHeads(build, result));
}

} // namespace

Value biasFrom(GraphBuilder &build, Value keep, Type element, double hidden) {
  return build.create<SelectOp>({keep, build.scalar(0, element), build.scalar(hidden, element)});
}

Value addBias(GraphBuilder &build, Value bias, Value more) {
  return bias ? build.create<AddOp>({bias, more}) : more;
}

Value splitHeads(GraphBuilder &build, Value input, int64_t heads) {
  if (!input)
    return {};
  SmallVector<Dim> shape = tensorType(input).getShape();
  auto size = heads > 0 && shape.size() == 3 ? shape[2].exactDiv(build.size(heads)) : std::nullopt;
  return size
             ? build.transpose(build.reshape(input, {shape[0], shape[1], build.size(heads), *size}),
                               {0, 2, 1, 3})
             : Value();
}

Value mergeHeads(GraphBuilder &build, Value heads) {
  if (!heads)
    return {};
  SmallVector<Dim> shape = tensorType(heads).getShape();
  return build.reshape(build.transpose(heads, {0, 2, 1, 3}),
                       {shape[0], shape[2], shape[1] * shape[3]});
}

Value iota(GraphBuilder &build, Dim length, ArrayRef<Dim> shape) {
  Type i64 = IntegerType::get(build.getContext(), 64);
  return build.reshape(build.createAs<IotaOp>(TensorType::get({length}, i64), {}), shape);
}

Value sightBias(GraphBuilder &build, const Sight &sight, Value position, Value key, Type element) {
  Type i64 = tensorType(key).getElementType();
  auto moved = [&](int64_t distance) {
    return distance == 0
               ? position
               : build.create<AddOp>({position, build.scalar(static_cast<double>(distance), i64)});
  };
  Value bias;
  if (sight.right)
    bias = biasFrom(build, build.create<LessEqualOp>({key, moved(*sight.right)}), element);
  if (sight.left)
    bias = addBias(build, bias,
                   biasFrom(build, build.create<LessEqualOp>({moved(-*sight.left), key}), element));
  return bias;
}

LogicalResult requireSizesFit(NodeReader &node, const AttentionParts &parts) {
  auto equal = [&](Value a, Value b, unsigned axis, StringRef why) {
    return succeeded(requireEqualAxes(node, a, axis, b, axis, why));
  };
  return success(equal(parts.query, parts.key, 0, "query and key have one batch") &&
                 equal(parts.query, parts.key, 3, "query and key have one head size") &&
                 equal(parts.key, parts.value, 0, "key and value have one batch") &&
                 equal(parts.key, parts.value, 1, "key and value have the same heads") &&
                 equal(parts.key, parts.value, 2, "key and value have one length"));
}

LogicalResult requireBiasFits(NodeReader &node, const AttentionParts &parts) {
  if (!parts.bias)
    return success();
  TensorType query = tensorType(parts.query);
  Dim scores[] = {query.getDim(0), query.getDim(1), query.getDim(2),
                  tensorType(parts.key).getDim(2)};
  for (auto [size, into] : llvm::zip_equal(tensorType(parts.bias).getShape(), scores))
    if (!size.isConstant(1) &&
        failed(node.build.getFacts().requireEqual(node.build.getLocation(), size, into,
                                                  "the mask broadcasts to the scores")))
      return failure();
  return success();
}

FailureOr<float> standardScale(NodeReader &node, Value query) {
  auto size = tensorType(query).getDim(3).asConstant();
  if (!size || *size < 1)
    return node.error() << "needs a constant head size, or the attribute 'scale'; query is "
                        << node.describe(0);
  return static_cast<float>(1 / std::sqrt(static_cast<double>(*size)));
}

Value attend(GraphBuilder &build, const AttentionParts &parts, float scale, float softcap) {
  SmallVector<Value> values{parts.query, parts.key, parts.value};
  if (parts.bias)
    values.push_back(parts.bias);
  SmallVector<NamedAttribute> attributes{build.attribute("scale", scale),
                                         build.attribute("softcap", softcap)};
  if (parts.causal)
    attributes.push_back(build.flag("causal"));
  if (parts.zeroesHidden)
    attributes.push_back(build.flag("zero_masked_rows"));
  return build.create<AttentionOp>(values, attributes);
}

ArrayRef<NodeRule> attentionRules() {
  static constexpr NodeRule kRules[] = {
      {"Attention", 23, 3, importAttention},
  };
  return kRules;
}

} // namespace smelt::frontend
