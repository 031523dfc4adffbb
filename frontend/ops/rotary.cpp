// Rotary position embeddings: pairs of elements of each head turned by an angle that grows with the
// position.
#include "frontend/ops/rotary.h"

#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// [batch, length, heads, size], whatever the layout of the input.
Value headsLast(NodeReader &node) {
  GraphBuilder &build = node.build;
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
  if (shape.size() == 4)
    return build.transpose(node.input(0), {0, 2, 1, 3});
  int64_t heads = node.integer("num_heads", 0);
  auto size = shape.size() == 3 && heads > 0 ? shape[2].exactDiv(build.size(heads)) : std::nullopt;
  if (!size)
    return node.error() << "needs four axes, or three and the number of heads, got "
                        << node.describe(0) << " and " << heads << " heads",
           Value();
  return build.reshape(node.input(0), {shape[0], shape[1], build.size(heads), *size});
}

/// Cosines or sines for each position, [batch, length, 1, half]: rows of a table where positions are
/// given.
Value anglesAt(NodeReader &node, size_t index, TensorType heads, Dim half) {
  GraphBuilder &build = node.build;
  Value table = node.input(index), positions = node.input(3);
  if (tensorType(table).getRank() != (positions ? 2 : 3))
    return node.error() << node.describe(index) << " must have "
                        << (positions ? "two axes beside positions" : "three axes"),
           Value();
  if (positions)
    table = build.create<GatherOp>({table, positions}, build.attribute("axis", int64_t{0}));
  if (!table)
    return {};
  SmallVector<Dim> shape = tensorType(table).getShape();
  if (shape.size() != 3)
    return node.error() << "its positions " << node.describe(3) << " must have two axes", Value();
  for (auto [given, wanted] :
       llvm::zip_equal(shape, SmallVector<Dim>{heads.getDim(0), heads.getDim(1), half}))
    if (failed(build.getFacts().requireEqual(
            build.getLocation(), given, wanted,
            "there is an angle for each batch, position and pair of elements")))
      return {};
  shape = tensorType(table).getShape();
  return build.reshape(table, {shape[0], shape[1], build.size(1), shape[2]});
}

struct Pair {
  Value first, second;
};

/// The elements that are turned together: neighbours, or the same place in either half.
Pair splitPairs(GraphBuilder &build, Value input, int64_t half, bool areNeighbours) {
  if (areNeighbours)
    return {build.slice(input, 3, build.size(0), build.size(half), 2),
            build.slice(input, 3, build.size(1), build.size(half), 2)};
  return {build.slice(input, 3, build.size(0), build.size(half)),
          build.slice(input, 3, build.size(half), build.size(half))};
}

Value joinPairs(GraphBuilder &build, Pair pair, bool areNeighbours) {
  if (!areNeighbours || !pair.first || !pair.second)
    return pair.first && pair.second ? build.concat({pair.first, pair.second}, 3) : Value();
  SmallVector<Dim> shape = tensorType(pair.first).getShape(), whole(shape);
  shape.push_back(build.size(1));
  whole.back() = whole.back() * 2;
  return build.reshape(
      build.concat({build.reshape(pair.first, shape), build.reshape(pair.second, shape)}, 4),
      whole);
}

Pair turn(GraphBuilder &build, Pair pair, Value cosine, Value sine) {
  auto times = [&](Value a, Value b) { return build.create<MulOp>({a, b}); };
  return {build.create<SubOp>({times(cosine, pair.first), times(sine, pair.second)}),
          build.create<AddOp>({times(sine, pair.first), times(cosine, pair.second)})};
}

LogicalResult importRotaryEmbedding(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (failed(node.requireSameType({0, 1, 2})))
    return failure();
  Value heads = headsLast(node);
  if (!heads)
    return failure();
  auto size = tensorType(heads).getDim(3).asConstant();
  int64_t turned = node.integer("rotary_embedding_dim", 0);
  turned = turned == 0 && size ? *size : turned;
  if (!size || turned < 2 || turned % 2 != 0 || turned > *size)
    return node.error() << "cannot turn " << turned << " elements of a head of "
                        << tensorType(heads).getDim(3).toString();
  int64_t half = turned / 2;
  Value cosine = anglesAt(node, 1, tensorType(heads), build.size(half)),
        sine = anglesAt(node, 2, tensorType(heads), build.size(half));
  if (!cosine || !sine)
    return failure();
  Value result = turnHeads(build, heads, cosine, sine, node.flag("interleaved"));
  TensorType type = tensorType(node.input(0));
  return node.output(type.getRank() == 4 ? build.transpose(result, {0, 2, 1, 3})
                                         : build.reshape(result, type.getShape()));
}

} // namespace

Value turnHeads(GraphBuilder &build, Value heads, Value cosine, Value sine, bool areNeighbours) {
  if (!heads || !cosine || !sine)
    return {};
  int64_t half = *tensorType(cosine).getDim(3).asConstant(),
          size = *tensorType(heads).getDim(3).asConstant();
  Pair pair = turn(build, splitPairs(build, heads, half, areNeighbours), cosine, sine);
  Value result = joinPairs(build, pair, areNeighbours);
  if (result && 2 * half < size)
    result = build.concat(
        {result, build.slice(heads, 3, build.size(2 * half), build.size(size - 2 * half))}, 3);
  return result;
}

ArrayRef<NodeRule> rotaryRules() {
  static constexpr NodeRule kRules[] = {
      {"RotaryEmbedding", 23, 3, importRotaryEmbedding},
  };
  return kRules;
}

} // namespace smelt::frontend
