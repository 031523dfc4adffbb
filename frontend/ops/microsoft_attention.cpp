// Attention and MultiHeadAttention of the domain com.microsoft: with the projections of queries, keys and values, packed
// in several ways, with masks of padding as lengths or as 0 and 1, with a bias and with caches of keys and values.
#include "frontend/node_table.h"
#include "frontend/ops/attention.h"
#include "frontend/ops/contraction.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr llvm::StringLiteral kContrib = "com.microsoft";

bool hasRank(Value value, unsigned rank) { return value && tensorType(value).getRank() == rank; }

/// The mask's elements that are above 0, in four axes.
Value keepWhereSet(GraphBuilder &build, Value mask, ArrayRef<Dim> shape) {
  Value zero = build.scalar(0, tensorType(mask).getElementType());
  return build.reshape(build.create<LessOp>({zero, mask}), shape);
}

/// Of a list that has the end of each batch's keys and, in its second half, where there is one, their start.
Value keepBetween(NodeReader &node, Value mask, Dim batch, Dim keys) {
  GraphBuilder &build = node.build;
  Dim one = build.size(1);
  bool hasStarts = tensorType(mask).getDim(0) == batch * 2;
  if (!hasStarts &&
      failed(build.getFacts().requireEqual(build.getLocation(), tensorType(mask).getDim(0), batch,
                                           "the mask has an end of the keys for each batch")))
    return {};
  Value key = iota(build, keys, {one, one, one, keys});
  Value places = build.cast(mask, tensorType(key).getElementType());
  auto part = [&](Dim from) {
    return build.reshape(build.slice(places, 0, from, batch), {batch, one, one, one});
  };
  Value keep = build.create<LessOp>({key, part(build.size(0))});
  if (!hasStarts)
    return keep;
  return build.create<AndOp>({keep, build.create<LessEqualOp>({part(batch), key})});
}

/// Input `index`, a mask, as a bias: keys it hides are not out of sight, but get `mask_filter_value` added.
Value readPadding(NodeReader &node, size_t index, const AttentionParts &parts) {
  GraphBuilder &build = node.build;
  Value mask = node.input(index);
  Dim one = build.size(1), batch = tensorType(parts.query).getDim(0),
      keys = tensorType(parts.key).getDim(2);
  SmallVector<Dim> shape = tensorType(mask).getShape();
  Value keep;
  if (shape.size() == 1)
    keep = keepBetween(node, mask, batch, keys);
  else if (shape.size() == 2)
    keep = keepWhereSet(build, mask, {shape[0], one, one, shape[1]});
  else if (shape.size() == 3)
    keep = keepWhereSet(build, mask, {shape[0], one, shape[1], shape[2]});
  else
    return node.error() << "its mask " << node.describe(index)
                        << " must have one axis, two or three",
           Value();
  return biasFrom(build, keep, tensorType(parts.query).getElementType(),
                  node.real("mask_filter_value", -10000));
}

/// Adds input `index`, which is [batch or 1, heads or 1, queries, keys].
LogicalResult addGivenBias(NodeReader &node, size_t index, AttentionParts &parts) {
  if (!node.input(index))
    return success();
  if (!hasRank(node.input(index), 4))
    return node.error() << "its bias " << node.describe(index) << " must have four axes";
  parts.bias = addBias(node.build, parts.bias, node.input(index));
  return success(parts.bias != nullptr);
}

/// `past`, where there is one, before what is new.
Value afterPast(NodeReader &node, Value past, Value fresh) {
  GraphBuilder &build = node.build;
  if (!past || !fresh)
    return fresh;
  if (tensorType(past).getRank() != 4)
    return node.error() << "its cache must have four axes", Value();
  for (unsigned axis : {0, 1, 3})
    if (failed(build.getFacts().requireEqual(build.getLocation(), tensorType(past).getDim(axis),
                                             tensorType(fresh).getDim(axis),
                                             "the cache fits the new keys and values")))
      return {};
  return build.concat({past, fresh}, 2);
}

/// Masks and bias are inputs `mask` and `bias`. The result is [batch, queries, heads * size].
LogicalResult outputAttention(NodeReader &node, AttentionParts &parts, size_t mask, size_t bias) {
  parts.causal = node.flag("unidirectional");
  if (failed(requireSizesFit(node, parts)))
    return failure();
  if (node.input(mask) && !(parts.bias = readPadding(node, mask, parts)))
    return failure();
  if (failed(addGivenBias(node, bias, parts)) || failed(requireBiasFits(node, parts)))
    return failure();
  float scale = node.real("scale", 0);
  FailureOr<float> standard = scale == 0 ? standardScale(node, parts.query) : scale;
  if (failed(standard))
    return failure();
  return node.output(mergeHeads(node.build, attend(node.build, parts, *standard)));
}

LogicalResult refuseSharedBuffer(NodeReader &node) {
  if (node.flag("past_present_share_buffer"))
    return node.error() << "a cache with room for more than it holds (past_present_share_buffer) "
                           "is not supported";
  return success();
}

/// The columns of queries, keys and values in the weights.
FailureOr<SmallVector<Dim>> projectedSizes(NodeReader &node, Dim columns) {
  GraphBuilder &build = node.build;
  if (auto given = node.integers("qkv_hidden_sizes"); given && given->size() == 3) {
    if (llvm::any_of(*given, [](int64_t size) { return size < 1 || size > kMaxElements; }))
      return node.error() << "its qkv_hidden_sizes must be positive";
    return llvm::map_to_vector(*given, [&](int64_t size) { return build.size(size); });
  }
  auto third = columns.exactDiv(build.size(3));
  if (!third)
    return node.error() << "cannot cut " << node.describe(1) << " into three";
  return SmallVector<Dim>(3, *third);
}

/// The product with the weights, plus the bias, cut into queries, keys and values of several heads.
FailureOr<AttentionParts> project(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (!hasRank(node.input(0), 3) || !hasRank(node.input(1), 2))
    return node.error() << "needs an input of three axes and weights of two, got "
                        << node.describe(0) << " and " << node.describe(1);
  FailureOr<Factors> factors = Factors::read(node, 0, 1);
  if (failed(factors))
    return failure();
  Value product = factors->multiply(node);
  if (node.input(2) && product)
    product = build.create<AddOp>({product, node.input(2)});
  if (!product)
    return failure();
  Dim columns = tensorType(product).getDim(2), start = build.size(0);
  FailureOr<SmallVector<Dim>> sizes = projectedSizes(node, columns);
  if (failed(sizes) || failed(build.getFacts().requireEqual(
                           build.getLocation(), (*sizes)[0] + (*sizes)[1] + (*sizes)[2], columns,
                           "the weights are those of queries, keys and values")))
    return failure();
  int64_t heads = node.integer("num_heads", 0);
  Value cut[3];
  for (auto [part, size] : llvm::zip_equal(cut, *sizes)) {
    part = splitHeads(build, build.slice(product, 2, start, size), heads);
    if (!part)
      return node.error() << "cannot split " << size.toString() << " columns of "
                          << node.describe(1) << " into " << heads << " heads";
    start = start + size;
  }
  AttentionParts parts;
  parts.query = cut[0], parts.key = cut[1], parts.value = cut[2];
  return parts;
}

/// Keys and values with what input 4, [2, batch, heads, length, size], holds of both; output 1 is the same of all.
LogicalResult extendPacked(NodeReader &node, AttentionParts &parts) {
  GraphBuilder &build = node.build;
  auto withOne = [&](Value heads) {
    SmallVector<Dim> shape = tensorType(heads).getShape();
    shape.insert(shape.begin(), build.size(1));
    return build.reshape(heads, shape);
  };
  if (Value past = node.input(4)) {
    if (!hasRank(past, 5) || !tensorType(past).getDim(0).isConstant(2))
      return node.error() << "its cache " << node.describe(4)
                          << " must be [2, batch, heads, length, size]";
    SmallVector<Dim> shape = tensorType(past).getShape();
    auto half = [&](int64_t index) {
      return build.reshape(build.slice(past, 0, build.size(index), build.size(1)),
                           ArrayRef(shape).drop_front());
    };
    parts.key = afterPast(node, half(0), parts.key);
    parts.value = afterPast(node, half(1), parts.value);
  }
  if (!parts.key || !parts.value)
    return failure();
  return node.outputCount() > 1
             ? node.output(build.concat({withOne(parts.key), withOne(parts.value)}, 0), 1)
             : success();
}

LogicalResult importProjectedAttention(NodeReader &node) {
  if (failed(node.requireSameType({0, 1, 2, 4, 5})) || failed(refuseSharedBuffer(node)))
    return failure();
  if (node.flag("do_rotary"))
    return node.error() << "turning queries and keys (do_rotary) is not supported";
  FailureOr<AttentionParts> parts = project(node);
  if (failed(parts) || failed(extendPacked(node, *parts)))
    return failure();
  return outputAttention(node, *parts, 3, 5);
}

/// Part `index` of [batch, length, heads, parts, size] as [batch, length, heads * size].
Value unpack(GraphBuilder &build, Value packed, int64_t index) {
  SmallVector<Dim> shape = tensorType(packed).getShape();
  return build.reshape(build.slice(packed, 3, build.size(index), build.size(1)),
                       {shape[0], shape[1], shape[2] * shape[4]});
}

/// Queries, keys and values, each [batch, length, heads * size] or, keys and values, with heads split already.
FailureOr<AttentionParts> readPacked(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value query = node.input(0), key = node.input(1), value = node.input(2);
  auto holds = [&](Value packed, int64_t parts) {
    return hasRank(packed, 5) && tensorType(packed).getDim(3).isConstant(parts);
  };
  AttentionParts parts;
  if (!key && !value && holds(query, 3)) {
    parts.query = unpack(build, query, 0);
    parts.key = unpack(build, query, 1), parts.value = unpack(build, query, 2);
  } else if (hasRank(query, 3) && !value && holds(key, 2)) {
    parts.query = query, parts.key = unpack(build, key, 0), parts.value = unpack(build, key, 1);
  } else if (hasRank(query, 3) && key && value &&
             tensorType(key).getRank() == tensorType(value).getRank() &&
             (hasRank(key, 3) || hasRank(key, 4))) {
    parts.query = query, parts.key = key, parts.value = value;
  } else {
    return node.error() << "needs queries, keys and values of three axes, keys and values of four, "
                           "or packed ones of five; query is "
                        << node.describe(0);
  }
  return parts;
}

/// Adds to each its part of input `index`: the biases of queries, keys and values, one after the
/// other.
LogicalResult addProjectionBias(NodeReader &node, AttentionParts &parts, size_t index) {
  GraphBuilder &build = node.build;
  Value bias = node.input(index);
  if (!bias)
    return success();
  if (!hasRank(bias, 1))
    return node.error() << "its bias " << node.describe(index) << " must have one axis";
  Dim start = build.size(0);
  for (Value *part : {&parts.query, &parts.key, &parts.value}) {
    if (!hasRank(*part, 3))
      continue;
    Dim size = tensorType(*part).getDim(2);
    *part = build.create<AddOp>({*part, build.slice(bias, 0, start, size)});
    start = start + size;
  }
  return build.getFacts().requireEqual(build.getLocation(), tensorType(bias).getDim(0), start,
                                       "the bias is that of queries, keys and values");
}

LogicalResult splitAll(NodeReader &node, AttentionParts &parts) {
  int64_t heads = node.integer("num_heads", 0);
  for (Value *part : {&parts.query, &parts.key, &parts.value}) {
    if (!*part)
      return failure();
    if (hasRank(*part, 4))
      continue;
    std::string size = tensorType(*part).getDim(2).toString();
    *part = splitHeads(node.build, *part, heads);
    if (!*part)
      return node.error() << "cannot split " << size << " elements into " << heads << " heads";
  }
  return success();
}

/// Puts inputs `past` and `past + 1`, caches, before keys and values; outputs 1 and 2 are both.
LogicalResult extendCaches(NodeReader &node, AttentionParts &parts, size_t past) {
  if (!node.input(past) != !node.input(past + 1))
    return node.error() << "needs both past_key and past_value, or neither";
  parts.key = afterPast(node, node.input(past), parts.key);
  parts.value = afterPast(node, node.input(past + 1), parts.value);
  if (!parts.key || !parts.value || (node.outputCount() > 1 && failed(node.output(parts.key, 1))))
    return failure();
  return node.outputCount() > 2 ? node.output(parts.value, 2) : success();
}

LogicalResult importMultiHeadAttention(NodeReader &node) {
  if (failed(node.requireSameType({0, 1, 2, 3, 5, 6, 7})))
    return failure();
  if (node.input(8) || node.input(9))
    return node.error() << "a cache with room for more than it holds (past_sequence_length, "
                           "cache_indirection) is not supported";
  FailureOr<AttentionParts> parts = readPacked(node);
  if (failed(parts) || failed(addProjectionBias(node, *parts, 3)) ||
      failed(splitAll(node, *parts)) || failed(extendCaches(node, *parts, 6)))
    return failure();
  return outputAttention(node, *parts, 4, 5);
}

/// Queries, keys and values of one token as three inputs or as one, [batch, 1, 3 * hidden]; keys and
/// values of another sequence as caches.
FailureOr<AttentionParts> readToken(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (node.input(1) || node.input(2) || !hasRank(node.input(0), 3))
    return readPacked(node);
  Dim all = tensorType(node.input(0)).getDim(2);
  auto size = all.exactDiv(build.size(3));
  if (!size)
    return node.error() << "cannot cut " << node.describe(0) << " into three";
  AttentionParts parts;
  Dim start = build.size(0);
  for (Value *part : {&parts.query, &parts.key, &parts.value}) {
    *part = build.slice(node.input(0), 2, start, *size);
    start = start + *size;
  }
  return parts;
}

/// MultiHeadAttention of one new token.
LogicalResult importDecoderAttention(NodeReader &node) {
  constexpr size_t kMask = 3, kBias = 4, kPast = 5, kIndirection = 9, kProjectionBias = 10;
  if (failed(node.requireSameType({0, 1, 2, kBias, kPast, kPast + 1, kProjectionBias})) ||
      failed(refuseSharedBuffer(node)))
    return failure();
  if (node.input(kIndirection))
    return node.error() << "a search over several beams (cache_indirection) is not supported";
  FailureOr<AttentionParts> parts = readToken(node);
  if (failed(parts) || failed(addProjectionBias(node, *parts, kProjectionBias)) ||
      failed(splitAll(node, *parts)) || failed(extendCaches(node, *parts, kPast)))
    return failure();
  return outputAttention(node, *parts, kMask, kBias);
}

} // namespace

ArrayRef<NodeRule> microsoftAttentionRules() {
  static constexpr NodeRule kRules[] = {
      {"Attention", 1, 2, importProjectedAttention, kContrib},
      {"DecoderMaskedMultiHeadAttention", 1, 1, importDecoderAttention, kContrib},
      {"MultiHeadAttention", 1, 1, importMultiHeadAttention, kContrib},
  };
  return kRules;
}

} // namespace smelt::frontend
