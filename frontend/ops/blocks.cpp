// Nodes that move elements between the channels and the surface, or along a sequence.
#include "frontend/node_table.h"
#include "frontend/ops/expression.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// The side of a block of an image [N, C, H, W].
FailureOr<int64_t> readBlockSize(NodeReader &node) {
  if (tensorType(node.input(0)).getRank() != 4)
    return node.error() << "needs a tensor of four axes, got " << node.describe(0);
  int64_t side = node.integer("blocksize", 0);
  constexpr int64_t kLargest = 1 << 14;
  if (side < 1 || side > kLargest)
    return node.error() << "cannot have blocks of " << side << " elements";
  return side;
}

/// Whether a block's elements come before the channels of the result, rather than behind them.
FailureOr<bool> readBlocksFirst(NodeReader &node) {
  std::string mode = node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return node.error() << "mode '" << mode << "' is unknown";
  return mode == "DCR";
}

/// A size that is `divisor` times another.
FailureOr<Dim> divideSize(NodeReader &node, Dim size, int64_t divisor) {
  Dim quotient = size.floorDiv(node.build.size(divisor));
  if (failed(node.build.getFacts().requireEqual(node.build.getLocation(), quotient * divisor, size,
                                                "the axis is divided into blocks")))
    return failure();
  return quotient;
}

LogicalResult importDepthToSpace(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<int64_t> side = readBlockSize(node);
  FailureOr<bool> isBlocksFirst = readBlocksFirst(node);
  if (failed(side) || failed(isBlocksFirst))
    return failure();
  FailureOr<Dim> channels = divideSize(node, tensorType(node.input(0)).getDim(1), *side * *side);
  if (failed(channels))
    return failure();
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
  Dim n = shape[0], c = *channels, h = shape[2], w = shape[3], b = build.size(*side);
  Value blocks =
      *isBlocksFirst
          ? build.transpose(build.reshape(node.input(0), {n, b, b, c, h, w}), {0, 3, 4, 1, 5, 2})
          : build.transpose(build.reshape(node.input(0), {n, c, b, b, h, w}), {0, 1, 4, 2, 5, 3});
  return node.output(build.reshape(blocks, {n, c, h * *side, w * *side}));
}

LogicalResult importSpaceToDepth(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<int64_t> side = readBlockSize(node);
  FailureOr<bool> isBlocksFirst = readBlocksFirst(node);
  if (failed(side) || failed(isBlocksFirst))
    return failure();
  FailureOr<Dim> rows = divideSize(node, tensorType(node.input(0)).getDim(2), *side),
                 columns = divideSize(node, tensorType(node.input(0)).getDim(3), *side);
  if (failed(rows) || failed(columns))
    return failure();
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
  Dim n = shape[0], c = shape[1], h = *rows, w = *columns, b = build.size(*side);
  Value blocks = build.reshape(node.input(0), {n, c, h, b, w, b});
  Value depth = *isBlocksFirst ? build.transpose(blocks, {0, 3, 5, 1, 2, 4})
                               : build.transpose(blocks, {0, 1, 3, 5, 2, 4});
  return node.output(build.reshape(depth, {n, c * (*side * *side), h, w}));
}

/// The first elements of each row of the batch, as many as it has, backwards.
LogicalResult importReverseSequence(NodeReader &node) {
  GraphBuilder &build = node.build;
  int64_t rank = tensorType(node.input(0)).getRank(), batch = node.integer("batch_axis", 1),
          time = node.integer("time_axis", 0);
  if (rank < 2 || std::min(batch, time) != 0 || std::max(batch, time) != 1)
    return node.error() << "needs a batch and a time axis, 0 and 1, of " << node.describe(0)
                        << ", got " << batch << " and " << time;
  if (tensorType(node.input(1)).getRank() != 1 ||
      failed(build.getFacts().requireEqual(build.getLocation(), tensorType(node.input(1)).getDim(0),
                                           tensorType(node.input(0)).getDim(batch),
                                           "each row of the batch has a length")))
    return node.error() << "its lengths " << node.describe(1) << " do not fit " << node.describe(0);
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape(), perRow(rank, build.size(1)),
                   perStep = perRow;
  perRow[batch] = shape[batch], perStep[time] = shape[time];
  Type i64 = IntegerType::get(build.getContext(), 64);
  Expression length = Expression(build, node.input(1)).reshaped(perRow),
             step = countTo(build, shape[time], i64).reshaped(perStep);
  Expression position = select(step < length, length - step - 1, step);
  return node.output(build.create<GatherElementsOp>(
      {node.input(0), build.expand(position.value(), shape)}, build.attribute("axis", time)));
}

} // namespace

ArrayRef<NodeRule> blockRules() {
  static constexpr NodeRule kRules[] = {
      {"DepthToSpace", 1, 1, importDepthToSpace},
      {"ReverseSequence", 10, 2, importReverseSequence},
      {"SpaceToDepth", 1, 1, importSpaceToDepth},
  };
  return kRules;
}

} // namespace smelt::frontend
