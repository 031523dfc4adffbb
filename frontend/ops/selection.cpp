// Ops that pick elements by their order.
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// How many elements are asked for: an attribute at first, an input of one element later.
FailureOr<Dim> wantedCount(NodeReader &node) {
  if (node.opset() < 10)
    return node.build.size(node.integer("k", 0));
  FailureOr<SmallVector<Dim>> count = node.dims(1, "the number of elements");
  if (failed(count))
    return failure();
  if (count->size() != 1)
    return node.error() << "needs one number of elements, got " << node.describe(1);
  return count->front();
}

/// The axis moves to the end, where a row is contiguous; views fold into what reads them.
SmallVector<int64_t> axisLast(int64_t axis, int64_t rank) {
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[axis], permutation[rank - 1]);
  return permutation;
}

LogicalResult importTopK(NodeReader &node) {
  GraphBuilder &build = node.build;
  int64_t rank = tensorType(node.input(0)).getRank();
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", -1), rank);
  FailureOr<Dim> count = wantedCount(node);
  if (failed(axis) || failed(count) || failed(build.requireSizes(*count)) ||
      failed(build.getFacts().requireAtMost(build.getLocation(), *count,
                                            tensorType(node.input(0)).getDim(*axis),
                                            "as many elements are asked for as the axis has")))
    return failure();
  SmallVector<int64_t> permutation = axisLast(*axis, rank);
  Value input = build.transpose(node.input(0), permutation);
  if (!input)
    return failure();
  SmallVector<Dim> shape = tensorType(input).getShape();
  shape.back() = *count;
  TensorType values = tensorType(input).withShape(shape);
  SmallVector<NamedAttribute> attributes{build.attribute("axis", rank - 1)};
  if (!node.integer("largest", 1))
    attributes.push_back(build.flag("smallest"));
  SmallVector<Value> results = build.createAll<TopKOp>(
      {values, values.withElementType(IntegerType::get(build.getContext(), 64))}, input,
      attributes);
  for (auto [index, result] : llvm::enumerate(results))
    if (failed(node.output(build.transpose(result, permutation), index)))
      return failure();
  return success(!results.empty());
}

/// The first element along `axis`, the last one of a reversed axis: top_k with one result.
template <bool kLargest> LogicalResult importArg(NodeReader &node) {
  GraphBuilder &build = node.build;
  TensorType type = tensorType(node.input(0));
  int64_t rank = type.getRank();
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", 0), rank);
  if (failed(axis) ||
      failed(build.getFacts().requireAtMost(build.getLocation(), build.size(1), type.getDim(*axis),
                                            "the axis has an element")))
    return failure();
  bool takesLast = node.flag("select_last_index");
  Dim length = tensorType(node.input(0)).getDim(*axis);
  Value input =
      takesLast ? build.slice(node.input(0), *axis, length - 1, length, -1) : node.input(0);
  SmallVector<int64_t> permutation = axisLast(*axis, rank);
  input = build.transpose(input, permutation);
  if (!input)
    return failure();
  SmallVector<Dim> shape = tensorType(input).getShape();
  shape.back() = build.size(1);
  Type i64 = IntegerType::get(build.getContext(), 64);
  TensorType values = tensorType(input).withShape(shape);
  SmallVector<NamedAttribute> attributes{build.attribute("axis", rank - 1)};
  if (!kLargest)
    attributes.push_back(build.flag("smallest"));
  SmallVector<Value> results =
      build.createAll<TopKOp>({values, values.withElementType(i64)}, input, attributes);
  if (results.empty())
    return failure();
  Value position = build.transpose(results[1], permutation);
  if (takesLast)
    position = build.create<SubOp>({build.dim(length - 1, i64), position});
  if (!position)
    return failure();
  shape = tensorType(position).getShape();
  if (!node.integer("keepdims", 1))
    shape.erase(shape.begin() + *axis);
  return node.output(build.reshape(position, shape));
}

} // namespace

ArrayRef<NodeRule> selectionRules() {
  static constexpr NodeRule kRules[] = {
      {"ArgMax", 1, 1, importArg<true>},
      {"ArgMin", 1, 1, importArg<false>},
      {"TopK", 1, 1, importTopK},
      {"TopK", 10, 2, importTopK},
  };
  return kRules;
}

} // namespace smelt::frontend
