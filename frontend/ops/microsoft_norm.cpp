// Norms of the domain com.microsoft: with what is added before them, and over groups of channels.
#include "frontend/node_table.h"
#include "frontend/ops/norm.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr llvm::StringLiteral kMicrosoft = "com.microsoft";

/// The input plus skip plus bias, in the shape of the input.
Value addSkip(NodeReader &node, size_t bias) {
  GraphBuilder &build = node.build;
  Value sum = build.create<AddOp>({node.input(0), node.input(1)});
  if (node.input(bias))
    sum = build.create<AddOp>({sum, node.input(bias)});
  if (sum && tensorType(sum).getShape() != tensorType(node.input(0)).getShape())
    return node.error() << "what is added to " << node.describe(0) << " does not broadcast to it",
           Value();
  return sum;
}

/// Of the sum, which is the fourth result; those between serve training alone.
template <bool isCentred> LogicalResult importSkipNorm(NodeReader &node) {
  GraphBuilder &build = node.build;
  float epsilon = node.real("epsilon", 1e-12f);
  int64_t axis = tensorType(node.input(0)).getRank() - 1;
  if (axis < 0)
    return node.error() << "needs at least one axis, got " << node.describe(0);
  if (failed(node.requireSameType()))
    return failure();
  Value sum = addSkip(node, isCentred ? 4 : 3);
  if (!sum)
    return failure();
  Value scale = fitToAxes(node, 2, sum, axis);
  Value shift = isCentred ? fitToAxes(node, 3, sum, axis) : Value();
  if (!scale || (isCentred && node.input(3) && !shift))
    return failure();
  if (node.outputCount() > 3 && failed(node.output(sum, 3)))
    return failure();
  return node.output(isCentred ? layerNorm(build, sum, scale, shift, axis, epsilon)
                               : rmsNorm(build, sum, scale, axis, epsilon));
}

/// Exchanges [N, spatial..., C] and [N, C, spatial...].
struct ChannelLayout {
  bool isLast;
  int64_t rank;

  Value toFirst(GraphBuilder &build, Value input) const { return move(build, input, rank - 1, 1); }
  Value restore(GraphBuilder &build, Value input) const { return move(build, input, 1, rank - 1); }

private:
  Value move(GraphBuilder &build, Value input, int64_t from, int64_t to) const {
    auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    permutation.erase(permutation.begin() + from);
    permutation.insert(permutation.begin() + to, from);
    return isLast ? build.transpose(input, permutation) : input;
  }
};

FailureOr<ChannelLayout> channelLayout(NodeReader &node) {
  int64_t rank = tensorType(node.input(0)).getRank();
  if (rank < 3)
    return node.error() << "needs a batch, channels and places, got " << node.describe(0);
  return ChannelLayout{node.integer("channels_last", 1) != 0, rank};
}

/// Of `input` as [N, C, spatial...], with an activation at the end; scale and shift may have a wider
/// type.
LogicalResult outputGroups(NodeReader &node, const ChannelLayout &layout, Value input) {
  GraphBuilder &build = node.build;
  int64_t groups = node.integer("groups", 0), activation = node.integer("activation", 0);
  if (groups < 1 || groups > kMaxElements || activation < 0 || activation > 1)
    return node.error() << groups << " groups with activation " << activation
                        << " are not supported";
  if (!input)
    return failure();
  Dim channels = tensorType(input).getDim(1);
  Value scale = build.widen(perChannel(node, 1, channels, 2)),
        shift = build.widen(perChannel(node, 2, channels, 2));
  Value normalised =
      normaliseGroups(node, build.widen(input), build.size(groups), node.real("epsilon", 1e-5f));
  Value result = build.create<MulOp>({normalised, spreadOverGroups(build, scale, normalised)});
  result = build.create<AddOp>({result, spreadOverGroups(build, shift, normalised)});
  if (activation == 1)
    result = build.unary<SiluOp>(result);
  result = build.reshape(result, tensorType(input).getShape());
  return node.output(layout.restore(build, build.cast(result, tensorType(input).getElementType())));
}

LogicalResult importChannelGroups(NodeReader &node) {
  FailureOr<ChannelLayout> layout = channelLayout(node);
  if (failed(layout))
    return failure();
  return outputGroups(node, *layout, layout->toFirst(node.build, node.input(0)));
}

/// Of x + skip + bias, which is the second result. The skip may have one value for all places of a
/// channel.
LogicalResult importSkipChannelGroups(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<ChannelLayout> layout = channelLayout(node);
  if (failed(layout) || failed(node.requireSameType({0, 3, 4})))
    return failure();
  Value skip = node.input(3);
  SmallVector<Dim> shape = tensorType(skip).getShape();
  if (shape.size() == 2) {
    shape.resize(layout->rank, build.size(1));
    skip = build.reshape(skip, shape);
  } else if (static_cast<int64_t>(shape.size()) == layout->rank) {
    skip = layout->toFirst(build, skip);
  } else {
    return node.error() << "its skip " << node.describe(3) << " does not fit " << node.describe(0);
  }
  Value input = layout->toFirst(build, node.input(0));
  Value sum = build.create<AddOp>({input, skip});
  if (node.input(4) && sum)
    sum = build.create<AddOp>({sum, perChannel(node, 4, tensorType(sum).getDim(1), layout->rank)});
  if (sum && tensorType(sum).getShape() != tensorType(input).getShape())
    return node.error() << "its skip " << node.describe(3) << " does not broadcast to "
                        << node.describe(0);
  if (node.outputCount() > 1 && failed(node.output(layout->restore(build, sum), 1)))
    return failure();
  return outputGroups(node, *layout, sum);
}

/// Rows `ids` of table `index`.
Value rowsOf(NodeReader &node, size_t index, Value ids) {
  return node.build.create<GatherOp>({node.input(index), ids},
                                     node.build.attribute("axis", int64_t{0}));
}

/// The sum of the embeddings of words, positions and, where there are any, segments.
Value sumEmbeddings(NodeReader &node) {
  enum Input : size_t { kIds, kSegments, kWords, kPositions, kSegmentTable, kGivenPositions = 8 };
  GraphBuilder &build = node.build;
  SmallVector<Dim> shape = tensorType(node.input(kIds)).getShape();
  Value positions = node.input(kPositions);
  if (shape.size() != 2 || tensorType(positions).getRank() != 2)
    return node.error() << "needs tokens of two axes and a table of positions, got "
                        << node.describe(kIds) << " and " << node.describe(kPositions),
           Value();
  if (node.input(kGivenPositions))
    positions = rowsOf(node, kPositions, node.input(kGivenPositions));
  else if (failed(build.getFacts().requireAtMost(build.getLocation(), shape[1],
                                                 tensorType(positions).getDim(0),
                                                 "there is a row for each position")))
    return {};
  else
    positions = build.slice(positions, 0, build.size(0), shape[1]);
  Value sum = build.create<AddOp>({rowsOf(node, kWords, node.input(kIds)), positions});
  if (!node.input(kSegments))
    return sum;
  if (!node.input(kSegmentTable))
    return node.error() << "needs a table of segments beside the segments", Value();
  return build.create<AddOp>({sum, rowsOf(node, kSegmentTable, node.input(kSegments))});
}

/// How many ones the mask, input 7, has in each batch; zeros without one.
Value countOnes(NodeReader &node) {
  GraphBuilder &build = node.build;
  Dim batch = tensorType(node.input(0)).getDim(0);
  Type i32 = IntegerType::get(build.getContext(), 32);
  Value mask = node.input(7);
  if (!mask)
    return build.expand(build.reshape(build.scalar(0, i32), {build.size(1)}), {batch});
  if (tensorType(mask).getRank() != 2)
    return node.error() << "its mask " << node.describe(7) << " must have two axes", Value();
  Value one = build.scalar(1, tensorType(mask).getElementType());
  Value ones = build.cast(build.create<EqualOp>({mask, one}), i32);
  return build.reshape(build.reduce(ReductionKind::sum, ones, 1), {batch});
}

/// A norm of the sum of embeddings; the second result counts the mask's ones, the third is the sum.
LogicalResult importEmbeddingNorm(NodeReader &node) {
  constexpr int64_t kAxis = 2;
  for (size_t index : {2, 3, 5, 6})
    if (!node.input(index))
      return node.error() << "needs tables of words and positions, a scale and a shift; input "
                          << index << " is missing";
  if (failed(node.requireSameType({2, 3, 4, 5, 6})))
    return failure();
  Value sum = sumEmbeddings(node);
  if (!sum)
    return failure();
  Value scale = fitToAxes(node, 5, sum, kAxis), shift = fitToAxes(node, 6, sum, kAxis);
  if (!scale || !shift || (node.outputCount() > 1 && failed(node.output(countOnes(node), 1))) ||
      (node.outputCount() > 2 && failed(node.output(sum, 2))))
    return failure();
  return node.output(layerNorm(node.build, sum, scale, shift, kAxis, node.real("epsilon", 1e-12f)));
}

} // namespace

ArrayRef<NodeRule> microsoftNormRules() {
  static constexpr NodeRule kRules[] = {
      {"EmbedLayerNormalization", 1, 1, importEmbeddingNorm, kMicrosoft},
      {"GroupNorm", 1, 3, importChannelGroups, kMicrosoft},
      {"SkipGroupNorm", 1, 4, importSkipChannelGroups, kMicrosoft},
      {"SkipLayerNormalization", 1, 3, importSkipNorm<true>, kMicrosoft},
      {"SkipSimplifiedLayerNormalization", 1, 3, importSkipNorm<false>, kMicrosoft},
  };
  return kRules;
}

} // namespace smelt::frontend
