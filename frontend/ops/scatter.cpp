// Scatters: updates of single elements and of slices.
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// How attribute `reduction` combines an update with what is there; nothing for "none".
FailureOr<std::optional<ReductionKind>> readReduction(NodeReader &node) {
  std::string name = node.text("reduction", "none");
  if (name == "none")
    return std::optional<ReductionKind>();
  if (name == "add")
    return std::optional(ReductionKind::sum);
  if (name == "mul")
    return std::optional(ReductionKind::prod);
  if (name == "max")
    return std::optional(ReductionKind::max);
  if (name == "min")
    return std::optional(ReductionKind::min);
  return node.error() << "its reduction '" << name << "' is none of none, add, mul, max, min";
}

/// Logic on numbers: what sums, products and extremes of bools are has no arithmetic.
LogicalResult checkCombines(NodeReader &node, std::optional<ReductionKind> kind) {
  if (kind && tensorType(node.input(0)).getElementType().isInteger(1))
    return node.error() << "does not combine bools: " << node.describe(0);
  return success();
}

SmallVector<NamedAttribute> withReduction(GraphBuilder &build, std::optional<ReductionKind> kind,
                                          SmallVector<NamedAttribute> attributes = {}) {
  if (kind)
    attributes.push_back(
        build.attribute("reduction", ReductionKindAttr::get(build.getContext(), *kind)));
  return attributes;
}

/// Without elements on an axis no index is valid.
LogicalResult requireTargets(NodeReader &node, Dim size) {
  GraphBuilder &build = node.build;
  Dim updates = tensorType(node.input(1)).getNumElements().min(build.size(1));
  return build.getFacts().requireAtMost(build.getLocation(), updates, size,
                                        "the axis that is updated has an element");
}

LogicalResult importScatterElements(NodeReader &node) {
  GraphBuilder &build = node.build;
  unsigned rank = tensorType(node.input(0)).getRank();
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", 0), rank);
  auto kind = readReduction(node);
  if (failed(axis) || failed(kind) || failed(checkCombines(node, *kind)) ||
      failed(node.requireSameType({0, 2})))
    return failure();
  if (tensorType(node.input(1)).getRank() != rank || tensorType(node.input(2)).getRank() != rank)
    return node.error() << node.describe(0) << ", indices " << node.describe(1) << " and updates "
                        << node.describe(2) << " must have the same rank";
  ShapeFacts &facts = build.getFacts();
  for (unsigned other = 0; other < rank; ++other) {
    auto dimOf = [&](size_t input) { return tensorType(node.input(input)).getDim(other); };
    if (failed(facts.requireEqual(build.getLocation(), dimOf(1), dimOf(2),
                                  "there is an update for each index")))
      return failure();
    if (other != *axis &&
        failed(facts.requireAtMost(build.getLocation(), dimOf(1), dimOf(0),
                                   "the indices lie within the data outside the axis")))
      return failure();
  }
  if (failed(requireTargets(node, tensorType(node.input(0)).getDim(*axis))))
    return failure();
  return node.output(build.create<ScatterElementsOp>(
      {node.input(0), node.input(1), node.input(2)},
      withReduction(build, *kind, {build.attribute("axis", *axis)})));
}

LogicalResult importScatterNd(NodeReader &node) {
  GraphBuilder &build = node.build;
  auto kind = readReduction(node);
  if (failed(kind) || failed(checkCombines(node, *kind)) || failed(node.requireSameType({0, 2})))
    return failure();
  TensorType data = tensorType(node.input(0)), indices = tensorType(node.input(1)),
             updates = tensorType(node.input(2));
  std::optional<int64_t> width;
  if (indices.getRank() > 0)
    width = indices.getDim(indices.getRank() - 1).asConstant();
  if (!width)
    return node.error() << "the last size of its indices must be constant, got "
                        << node.describe(1);
  if (*width > static_cast<int64_t>(data.getRank()) ||
      updates.getRank() != indices.getRank() - 1 + data.getRank() - *width)
    return node.error() << node.describe(0) << ", indices " << node.describe(1) << " and updates "
                        << node.describe(2) << " do not fit each other";
  ShapeFacts &facts = build.getFacts();
  for (unsigned axis = 0; axis < updates.getRank(); ++axis) {
    unsigned tuples = indices.getRank() - 1;
    Dim expected = axis < tuples ? tensorType(node.input(1)).getDim(axis)
                                 : tensorType(node.input(0)).getDim(axis - tuples + *width);
    if (failed(facts.requireEqual(build.getLocation(), tensorType(node.input(2)).getDim(axis),
                                  expected, "there is an update for each index")))
      return failure();
  }
  for (int64_t axis = 0; axis < *width; ++axis)
    if (failed(requireTargets(node, tensorType(node.input(0)).getDim(axis))))
      return failure();
  return node.output(build.create<ScatterNdOp>({node.input(0), node.input(1), node.input(2)},
                                               withReduction(build, *kind)));
}

/// Rows of a cache from one position on, which differs between batches: circular, the position of row
/// s is (start + s) mod the cache's length.
LogicalResult importTensorScatter(NodeReader &node) {
  GraphBuilder &build = node.build;
  std::string mode = node.text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return node.error() << "its mode '" << mode << "' is neither linear nor circular";
  unsigned rank = tensorType(node.input(0)).getRank();
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", -2), rank);
  if (failed(axis) || failed(node.requireSameType({0, 1})))
    return failure();
  if (*axis == 0 || tensorType(node.input(1)).getRank() != rank)
    return node.error() << node.describe(0) << " and update " << node.describe(1)
                        << " must have the same rank, and a batch before axis " << *axis;
  ShapeFacts &facts = build.getFacts();
  for (unsigned other = 0; other < rank; ++other) {
    Dim update = tensorType(node.input(1)).getDim(other),
        cache = tensorType(node.input(0)).getDim(other);
    LogicalResult fits =
        other == *axis ? facts.requireAtMost(build.getLocation(), update, cache,
                                             "the update is no longer than the cache")
                       : facts.requireEqual(build.getLocation(), update, cache,
                                            "the update has the cache's shape outside the axis");
    if (failed(fits))
      return failure();
  }
  SmallVector<Dim> shape = tensorType(node.input(1)).getShape(), along(rank, build.size(1)),
                   batch(rank, build.size(1));
  along[*axis] = shape[*axis], batch[0] = shape[0];
  Type i64 = IntegerType::get(build.getContext(), 64);
  Value position =
      build.reshape(build.createAs<IotaOp>(TensorType::get({shape[*axis]}, i64), {}), along);
  if (Value start = node.input(2)) {
    if (tensorType(start).getRank() != 1 ||
        failed(facts.requireEqual(build.getLocation(), tensorType(start).getDim(0), shape[0],
                                  "there is a position for each batch")))
      return node.error() << "its positions " << node.describe(2)
                          << " must be a list with one for each batch";
    position = build.create<AddOp>({position, build.reshape(start, batch)});
  }
  if (mode == "circular")
    position =
        build.create<ModOp>({position, build.dim(tensorType(node.input(0)).getDim(*axis), i64)});
  return node.output(
      build.create<ScatterElementsOp>({node.input(0), build.expand(position, shape), node.input(1)},
                                      build.attribute("axis", *axis)));
}

} // namespace

ArrayRef<NodeRule> scatterRules() {
  static constexpr NodeRule kRules[] = {
      {"Scatter", 9, 3, importScatterElements},
      {"ScatterElements", 11, 3, importScatterElements},
      {"ScatterND", 11, 3, importScatterNd},
      {"TensorScatter", 24, 2, importTensorScatter},
  };
  return kRules;
}

} // namespace smelt::frontend
