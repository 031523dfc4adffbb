// Losses of classification: what each target says of the log-probabilities of its classes.
#include "frontend/node_table.h"
#include "frontend/ops/softmax.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// One target for each sample and place: [N, d...] for classes [N, C, d...].
LogicalResult checkTargets(NodeReader &node) {
  GraphBuilder &build = node.build;
  auto shape = [&](size_t index) { return tensorType(node.input(index)).getShape(); };
  size_t rank = shape(0).size();
  if (rank < 2 || shape(1).size() + 1 != rank)
    return node.error() << "its targets " << node.describe(1) << " do not fit " << node.describe(0);
  for (size_t axis = 0; axis + 1 < rank; ++axis)
    if (failed(build.getFacts().requireEqual(build.getLocation(),
                                             shape(0)[axis == 0 ? 0 : axis + 1], shape(1)[axis],
                                             "each place has a target")))
      return failure();
  if (node.input(2) && shape(2).size() != 1)
    return node.error() << "its weights " << node.describe(2) << " must be a vector";
  return node.requireSameType({0, 2});
}

/// The losses of all places, and their weights; no weights where all are 1.
struct Losses {
  Value losses, weights;
};

Losses weighLosses(NodeReader &node, Value logProbabilities) {
  GraphBuilder &build = node.build;
  Type element = tensorType(logProbabilities).getElementType(),
       i64 = IntegerType::get(build.getContext(), 64);
  Value target = build.cast(node.input(1), i64), ignored;
  if (node.hasAttribute("ignore_index")) {
    Value index = build.dim(build.size(node.integer("ignore_index", 0)), i64);
    ignored = build.create<EqualOp>({target, index});
    target = build.create<SelectOp>({ignored, build.scalar(0, i64), target}); // which is a class
  }
  if (!target)
    return {};
  SmallVector<Dim> shape = tensorType(target).getShape(), column = shape;
  column.insert(column.begin() + 1, build.size(1));
  Value picked = build.create<GatherElementsOp>({logProbabilities, build.reshape(target, column)},
                                                build.attribute("axis", int64_t{1}));
  Value losses = build.unary<NegOp>(build.reshape(picked, shape)), weights;
  if (node.input(2))
    weights = build.create<GatherOp>({build.cast(node.input(2), element), target},
                                     build.attribute("axis", int64_t{0}));
  if (weights)
    losses = build.create<MulOp>({losses, weights});
  if (ignored) {
    Value zero = build.scalar(0, element);
    losses = build.create<SelectOp>({ignored, zero, losses});
    weights = build.create<SelectOp>({ignored, zero, weights ? weights : build.scalar(1, element)});
  }
  return {losses, weights};
}

/// As the attribute `reduction` says; a mean is one by weights.
Value reduceLosses(NodeReader &node, const Losses &all) {
  GraphBuilder &build = node.build;
  std::string reduction = node.text("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return node.error() << "the reduction '" << reduction << "' is none of 'none', 'sum', 'mean'",
           Value();
  if (reduction == "none" || !all.losses)
    return all.losses;
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(all.losses).getRank()));
  auto total = [&](ReductionKind kind, Value value) {
    return build.reshape(build.reduce(kind, value, axes), {});
  };
  if (reduction == "mean" && !all.weights)
    return total(ReductionKind::mean, all.losses);
  Value sum = total(ReductionKind::sum, all.losses);
  return reduction == "sum" ? sum
                            : build.create<DivOp>({sum, total(ReductionKind::sum, all.weights)});
}

LogicalResult outputLoss(NodeReader &node, Value logProbabilities) {
  if (!logProbabilities)
    return failure();
  Value loss = reduceLosses(node, weighLosses(node, logProbabilities));
  return node.output(node.build.cast(loss, tensorType(node.input(0)).getElementType()));
}

LogicalResult importNegativeLogLikelihood(NodeReader &node) {
  if (failed(checkTargets(node)))
    return failure();
  return outputLoss(node, node.build.widen(node.input(0)));
}

LogicalResult importSoftmaxCrossEntropy(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (failed(checkTargets(node)))
    return failure();
  Value logProbabilities = logSoftmax(build, build.widen(node.input(0)), 1);
  Type element = tensorType(node.input(0)).getElementType();
  if (node.outputCount() > 1 && failed(node.output(build.cast(logProbabilities, element), 1)))
    return failure();
  return outputLoss(node, logProbabilities);
}

} // namespace

ArrayRef<NodeRule> lossRules() {
  static constexpr NodeRule kRules[] = {
      {"NegativeLogLikelihoodLoss", 12, 2, importNegativeLogLikelihood},
      {"SoftmaxCrossEntropyLoss", 12, 2, importSoftmaxCrossEntropy},
  };
  return kRules;
}

} // namespace smelt::frontend
