// GroupQueryAttention and RotaryEmbedding of the domain com.microsoft, which decoders are exported with.
//
// Each sequence of a batch has its own number of tokens: `seqlens_k` is that of all but the last. The new keys and
// values go behind those that the cache holds of a sequence, not behind the cache; a query sees what stands before it.
#include "frontend/node_table.h"
#include "frontend/ops/attention.h"
#include "frontend/ops/rotary.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr llvm::StringLiteral kMicrosoftDomain = "com.microsoft";

IntegerType longType(GraphBuilder &build) { return IntegerType::get(build.getContext(), 64); }

/// Rows of input `index`, a table [positions, half], for `positions`, [batch or 1, length]: [batch or 1, length, 1, half].
Value anglesFor(NodeReader &node, size_t index, Value positions) {
  GraphBuilder &build = node.build;
  Value table = node.input(index);
  if (!table || tensorType(table).getRank() != 2 || !tensorType(table).getDim(1).asConstant())
    return node.error() << "needs tables of cosines and sines, of two axes and a constant width",
           Value();
  Value rows = build.create<GatherOp>({table, positions}, build.attribute("axis", int64_t{0}));
  if (!rows)
    return {};
  SmallVector<Dim> shape = tensorType(rows).getShape();
  return build.reshape(rows, {shape[0], shape[1], build.size(1), shape[2]});
}

/// `heads`, [batch, length, heads, size], turned as inputs `tables` and `tables` + 1 say.
Value turnAt(NodeReader &node, Value heads, Value positions, size_t tables, bool areNeighbours) {
  if (!heads)
    return {};
  Value cosine = anglesFor(node, tables, positions), sine = anglesFor(node, tables + 1, positions);
  auto size = tensorType(heads).getDim(3).asConstant();
  if (!cosine || !sine)
    return {};
  if (!size || 2 * *tensorType(cosine).getDim(3).asConstant() > *size ||
      tensorType(cosine).getDim(3) != tensorType(sine).getDim(3))
    return node.error() << "its tables of cosines and sines do not fit heads of "
                        << tensorType(heads).getDim(3).toString() << " elements",
           Value();
  return turnHeads(node.build, heads, cosine, sine, areNeighbours);
}

/// [batch, length]: the given ones, or a first one and those after it.
Value readPositions(NodeReader &node, Dim length) {
  GraphBuilder &build = node.build;
  Value given = build.cast(node.input(1), longType(build));
  unsigned rank = tensorType(given).getRank();
  if (rank == 2)
    return given;
  if (rank != 1 || !tensorType(given).getDim(0).isConstant(1))
    return node.error() << "its positions " << node.describe(1)
                        << " must have two axes, or be the first one alone",
           Value();
  return build.create<AddOp>({iota(build, length, {build.size(1), length}),
                              build.reshape(given, {build.size(1), build.size(1)})});
}

LogicalResult importRotary(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value input = node.input(0);
  TensorType type = tensorType(input);
  if (failed(node.requireSameType({0, 2, 3})))
    return failure();
  if (node.real("scale", 1) != 1 || node.flag("is_packed_batching"))
    return node.error() << "a scale and packed batches are not supported";
  bool isSplit = type.getRank() == 4;
  int64_t heads = node.integer("num_heads", 0);
  if (heads == 0 && type.getRank() == 3 && tensorType(node.input(2)).getRank() == 2)
    if (auto count = type.getDim(2).exactDiv(tensorType(node.input(2)).getDim(1) * 2))
      heads = count->asConstant().value_or(0);
  Value split = isSplit ? input : splitHeads(build, input, heads);
  if (!split)
    return node.error() << "cannot split " << node.describe(0) << " into " << heads << " heads";
  Value rows = build.transpose(split, {0, 2, 1, 3});
  Value positions = readPositions(node, tensorType(rows).getDim(1));
  if (!positions)
    return failure();
  Value turned = turnAt(node, rows, positions, 2, node.flag("interleaved"));
  if (!turned)
    return failure();
  return node.output(isSplit ? build.transpose(turned, {0, 2, 1, 3})
                             : build.reshape(turned, type.getShape()));
}

/// What the op reads, and what follows from it.
struct GroupQuery {
  AttentionParts parts; ///< keys and values: the new ones, and then all
  Value past;           ///< tokens that the cache holds, [batch, 1, 1, 1]; null without a cache
};

/// Queries, keys and values apart, [batch, length, heads * size].
FailureOr<AttentionParts> readApart(NodeReader &node, int64_t heads, int64_t groups) {
  GraphBuilder &build = node.build;
  AttentionParts parts;
  parts.query = node.input(0), parts.key = node.input(1), parts.value = node.input(2);
  if (tensorType(parts.query).getRank() != 3 || !parts.key != !parts.value)
    return node.error() << "needs queries of three axes, and both keys and values or neither; got "
                        << node.describe(0);
  if (parts.key)
    return parts;
  Value packed = parts.query;
  auto size = tensorType(packed).getDim(2).exactDiv(build.size(heads + 2 * groups));
  if (!size)
    return node.error() << "cannot cut " << node.describe(0) << " into " << heads << " and twice "
                        << groups << " heads";
  Dim wide = *size * heads, narrow = *size * groups;
  parts.query = build.slice(packed, 2, build.size(0), wide);
  parts.key = build.slice(packed, 2, wide, narrow);
  parts.value = build.slice(packed, 2, wide + narrow, narrow);
  return parts;
}

LogicalResult refuseExtras(NodeReader &node) {
  for (size_t index = 11; index < node.inputCount(); ++index)
    if (node.input(index))
      return node.error() << "its input " << index << ", " << node.describe(index)
                          << " (sinks of heads, norms, quantised caches), is not supported";
  if (node.integer("smooth_softmax", 0) > 0 || node.integer("qk_output", 0) > 0)
    return node.error() << "smooth_softmax and qk_output are not supported";
  return success();
}

LogicalResult splitParts(NodeReader &node, AttentionParts &parts, int64_t heads, int64_t groups) {
  for (auto [part, count] : {std::pair(&parts.query, heads), std::pair(&parts.key, groups),
                             std::pair(&parts.value, groups)}) {
    if (!*part)
      return failure();
    std::string size = tensorType(*part).getDim(2).toString();
    *part = splitHeads(node.build, *part, count);
    if (!*part)
      return node.error() << "cannot split " << size << " elements into " << count << " heads";
  }
  return success();
}

/// The tokens before the new ones, one number for each sequence; with none in the cache all are new.
Value countPast(NodeReader &node, Dim batch, Dim length) {
  GraphBuilder &build = node.build;
  Value last = node.input(5);
  if (tensorType(last).getRank() == 2)
    last = build.reshape(last, {tensorType(last).getDim(0) * tensorType(last).getDim(1)});
  if (!last || tensorType(last).getRank() != 1 ||
      failed(build.getFacts().requireEqual(build.getLocation(), tensorType(last).getDim(0), batch,
                                           "seqlens_k has a number for each sequence")))
    return node.error() << "its seqlens_k " << node.describe(5)
                        << " must be a list with one for each sequence",
           Value();
  Type i64 = longType(build);
  Value before = build.create<SubOp>({build.cast(last, i64), build.dim(length - 1, i64)});
  Dim one = build.size(1);
  return build.reshape(build.create<MaxOp>({before, build.scalar(0, i64)}), {batch, one, one, one});
}

/// The cache with `fresh` behind what it holds of each sequence, as long as all tokens need.
Value storeAt(NodeReader &node, size_t index, Value fresh, Value past, Dim total) {
  GraphBuilder &build = node.build;
  Value cache = node.input(index);
  if (tensorType(cache).getRank() != 4)
    return node.error() << "its cache " << node.describe(index) << " must have four axes", Value();
  for (unsigned axis : {0, 1, 3})
    if (failed(build.getFacts().requireEqual(build.getLocation(), tensorType(cache).getDim(axis),
                                             tensorType(fresh).getDim(axis),
                                             "the cache fits the new keys and values")))
      return {};
  Dim held = tensorType(cache).getDim(2), missing = total - held;
  if (!(held - total).isKnownNonNegative() &&
      failed(build.getFacts().requireAtMost(build.getLocation(), held, total,
                                            "total_sequence_length counts what the cache holds")))
    return {};
  if (!(held - total).isKnownNonNegative())
    cache = build.pad(cache, 2, build.size(0), missing,
                      build.scalar(0, tensorType(cache).getElementType()));
  SmallVector<Dim> shape = tensorType(fresh).getShape();
  Dim one = build.size(1);
  Value places = build.create<AddOp>({iota(build, shape[2], {one, one, shape[2], one}), past});
  return build.create<ScatterElementsOp>({cache, build.expand(places, shape), fresh},
                                         build.attribute("axis", int64_t{2}));
}

/// Turns queries and keys at their positions: after `past` tokens, or as input 9 says.
LogicalResult turnBoth(NodeReader &node, GroupQuery &group) {
  GraphBuilder &build = node.build;
  SmallVector<Dim> shape = tensorType(group.parts.query).getShape();
  Dim one = build.size(1);
  Value positions = iota(build, shape[2], {one, shape[2]});
  if (Value given = node.input(9))
    positions = build.cast(given, longType(build));
  else if (group.past)
    positions = build.create<AddOp>({positions, build.reshape(group.past, {shape[0], one})});
  if (!positions || tensorType(positions).getRank() != 2)
    return node.error() << "its positions must have two axes";
  bool areNeighbours = node.flag("rotary_interleaved");
  for (Value *part : {&group.parts.query, &group.parts.key}) {
    Value turned = turnAt(node, build.transpose(*part, {0, 2, 1, 3}), positions, 7, areNeighbours);
    *part = turned ? build.transpose(turned, {0, 2, 1, 3}) : Value();
    if (!*part)
      return failure();
  }
  return success();
}

/// Stores keys and values in their caches, and outputs them.
LogicalResult extend(NodeReader &node, GroupQuery &group) {
  if (group.past) {
    FailureOr<SmallVector<Dim>> total = node.dims(6, "total_sequence_length");
    if (failed(total) || total->size() != 1)
      return failure();
    group.parts.key = storeAt(node, 3, group.parts.key, group.past, total->front());
    group.parts.value = storeAt(node, 4, group.parts.value, group.past, total->front());
  }
  if (!group.parts.key || !group.parts.value ||
      (node.outputCount() > 1 && failed(node.output(group.parts.key, 1))))
    return failure();
  return node.outputCount() > 2 ? node.output(group.parts.value, 2) : success();
}

/// Each query sees the keys up to its own, at most `local_window_size` of them.
void addSight(NodeReader &node, GroupQuery &group) {
  GraphBuilder &build = node.build;
  int64_t window = node.integer("local_window_size", -1);
  if (!group.past && window <= 0) {
    group.parts.causal = true;
    return;
  }
  Dim one = build.size(1), queries = tensorType(group.parts.query).getDim(2),
      keys = tensorType(group.parts.key).getDim(2);
  Value position = iota(build, queries, {one, one, queries, one});
  if (group.past)
    position = build.create<AddOp>({position, group.past});
  Sight sight{std::nullopt, 0};
  if (window > 0)
    sight.left = window - 1;
  Value bias = sightBias(build, sight, position, iota(build, keys, {one, one, one, keys}),
                         tensorType(group.parts.query).getElementType());
  group.parts.bias = addBias(build, group.parts.bias, bias);
}

LogicalResult importGroupQuery(NodeReader &node) {
  int64_t heads = node.integer("num_heads", 0), groups = node.integer("kv_num_heads", 0);
  if (heads < 1 || groups < 1 || heads > kMaxElements || groups > kMaxElements)
    return node.error() << "needs its numbers of heads, num_heads and kv_num_heads";
  if (!node.input(3) != !node.input(4))
    return node.error() << "needs both past_key and past_value, or neither";
  if (failed(node.requireSameType({0, 1, 2, 3, 4, 7, 8, 10})) || failed(refuseExtras(node)))
    return failure();
  FailureOr<AttentionParts> parts = readApart(node, heads, groups);
  if (failed(parts) || failed(splitParts(node, *parts, heads, groups)))
    return failure();
  GroupQuery group{*parts, Value()};
  TensorType query = tensorType(group.parts.query);
  if (node.input(3) && !(group.past = countPast(node, query.getDim(0), query.getDim(2))))
    return failure();
  if ((node.flag("do_rotary") && failed(turnBoth(node, group))) || failed(extend(node, group)))
    return failure();
  group.parts.bias = node.input(10);
  if (group.parts.bias && tensorType(group.parts.bias).getRank() != 4)
    return node.error() << "its bias " << node.describe(10) << " must have four axes";
  addSight(node, group);
  if (failed(requireSizesFit(node, group.parts)) || failed(requireBiasFits(node, group.parts)))
    return failure();
  float scale = node.real("scale", 0);
  FailureOr<float> standard = scale == 0 ? standardScale(node, group.parts.query) : scale;
  if (failed(standard))
    return failure();
  return node.output(
      mergeHeads(node.build, attend(node.build, group.parts, *standard, node.real("softcap", 0))));
}

} // namespace

ArrayRef<NodeRule> microsoftGroupQueryRules() {
  static constexpr NodeRule kRules[] = {
      {"GroupQueryAttention", 1, 1, importGroupQuery, kMicrosoftDomain},
      {"RotaryEmbedding", 1, 4, importRotary, kMicrosoftDomain},
  };
  return kRules;
}

} // namespace smelt::frontend
