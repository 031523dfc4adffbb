// Gathers, and selections by position.
#include "frontend/node_table.h"

#include "ir/dim_values.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Reports a constant index outside an axis of constant size; others are checked when they run.
LogicalResult checkRange(NodeReader &node, Dim size) {
  auto bound = size.asConstant();
  auto known = knownDims(node.input(1));
  if (!bound || !known)
    return success();
  for (Dim index : *known)
    if (auto value = index.asConstant(); value && (*value < -*bound || *value >= *bound))
      return node.error() << "index " << *value << " is outside " << node.describe(0)
                          << ", whose axis has " << *bound << " elements";
  return success();
}

/// An axis without elements has none that an index could read.
LogicalResult requireElement(NodeReader &node, Dim size) {
  GraphBuilder &build = node.build;
  if ((size - 1).isKnownNonNegative())
    return success();
  Dim one = build.size(1), reads = tensorType(node.input(1)).getNumElements().min(one);
  return build.getFacts().requireAtMost(build.getLocation(), reads, size,
                                        "the axis that is read has an element");
}

LogicalResult importGather(NodeReader &node) {
  TensorType data = tensorType(node.input(0));
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", 0), data.getRank());
  if (failed(axis) || failed(checkRange(node, data.getDim(*axis))) ||
      failed(requireElement(node, data.getDim(*axis))))
    return failure();
  return node.output(node.build.create<GatherOp>({node.input(0), node.input(1)},
                                                 node.build.attribute("axis", *axis)));
}

LogicalResult importGatherElements(NodeReader &node) {
  GraphBuilder &build = node.build;
  unsigned rank = tensorType(node.input(0)).getRank();
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", 0), rank);
  if (failed(axis))
    return failure();
  if (tensorType(node.input(1)).getRank() != rank)
    return node.error() << node.describe(0) << " and indices " << node.describe(1)
                        << " must have the same rank";
  for (unsigned other = 0; other < rank; ++other) {
    Dim index = tensorType(node.input(1)).getDim(other),
        data = tensorType(node.input(0)).getDim(other);
    if (other != *axis &&
        failed(build.getFacts().requireAtMost(build.getLocation(), index, data,
                                              "the indices lie within the data outside the axis")))
      return failure();
  }
  if (failed(checkRange(node, tensorType(node.input(0)).getDim(*axis))) ||
      failed(requireElement(node, tensorType(node.input(0)).getDim(*axis))))
    return failure();
  return node.output(build.create<GatherElementsOp>({node.input(0), node.input(1)},
                                                    build.attribute("axis", *axis)));
}

LogicalResult importGatherNd(NodeReader &node) {
  GraphBuilder &build = node.build;
  int64_t batch = node.integer("batch_dims", 0);
  TensorType data = tensorType(node.input(0)), indices = tensorType(node.input(1));
  if (batch < 0 || batch >= std::min(data.getRank(), indices.getRank()))
    return node.error() << batch << " batch dimensions do not fit " << node.describe(0) << " and "
                        << node.describe(1);
  for (int64_t axis = 0; axis < batch; ++axis)
    if (failed(build.getFacts().requireEqual(
            build.getLocation(), tensorType(node.input(0)).getDim(axis),
            tensorType(node.input(1)).getDim(axis), "batch dimensions agree")))
      return failure();
  int64_t width = indices.getDim(indices.getRank() - 1).asConstant().value_or(0);
  for (int64_t axis = batch; axis < std::min<int64_t>(batch + width, data.getRank()); ++axis)
    if (failed(requireElement(node, tensorType(node.input(0)).getDim(axis))))
      return failure();
  return node.output(build.create<GatherNdOp>({node.input(0), node.input(1)},
                                              build.attribute("batch_dims", batch)));
}

/// Keeps the elements with column - row >= k (upper) or <= k (lower).
LogicalResult importTrilu(NodeReader &node) {
  GraphBuilder &build = node.build;
  TensorType type = tensorType(node.input(0));
  if (type.getRank() < 2)
    return node.error() << "needs a matrix, got " << node.describe(0);
  Type i64 = IntegerType::get(build.getContext(), 64);
  Dim rows = type.getDim(type.getRank() - 2), columns = type.getDim(type.getRank() - 1);
  Value row = build.reshape(build.createAs<IotaOp>(TensorType::get({rows}, i64), {}),
                            {rows, build.size(1)});
  Value column = build.createAs<IotaOp>(TensorType::get({columns}, i64), {});
  if (Value diagonal = node.input(1)) {
    if (!tensorType(diagonal).getNumElements().isConstant(1) ||
        tensorType(diagonal).getElementType() != i64)
      return node.error() << "its diagonal must be an int64 scalar, got " << node.describe(1);
    row = build.create<AddOp>({row, build.reshape(diagonal, {})});
  }
  bool upper = node.integer("upper", 1);
  Value keep =
      upper ? build.create<LessEqualOp>({row, column}) : build.create<LessEqualOp>({column, row});
  Value zero = build.scalar(0, type.getElementType());
  return node.output(build.create<SelectOp>({keep, node.input(0), zero}));
}

} // namespace

ArrayRef<NodeRule> indexingRules() {
  static constexpr NodeRule kRules[] = {
      {"Gather", 1, 2, importGather},
      {"GatherElements", 11, 2, importGatherElements},
      {"GatherND", 11, 2, importGatherNd},
      {"Trilu", 14, 1, importTrilu},
  };
  return kRules;
}

} // namespace smelt::frontend
