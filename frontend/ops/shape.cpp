// Nodes that only rename or repeat positions: reshapes, transposes, broadcasts, concatenation.
#include "frontend/node_table.h"
#include "frontend/ops/random.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

LogicalResult importIdentity(NodeReader &node) { return node.outputAny(node.value(0)); }

/// In training: x / (1 - ratio) where the mask, drawn at random, keeps it, else 0.
LogicalResult importTraining(NodeReader &node) {
  GraphBuilder &build = node.build;
  TensorType type = tensorType(node.input(0));
  Type f32 = Float32Type::get(build.getContext());
  Value ratio = node.input(1) ? build.cast(node.input(1), f32) : build.scalar(0.5, f32);
  Value keep = build.create<LessEqualOp>({ratio, drawUniform(node, type.getShape())});
  Value left = build.create<SubOp>({build.scalar(1, f32), ratio});
  Value kept = build.create<DivOp>({build.cast(node.input(0), f32), left});
  Value result = build.create<SelectOp>({keep, kept, build.scalar(0, f32)});
  if (!result || (node.outputCount() > 1 && failed(node.output(keep, 1))))
    return failure();
  return node.output(build.cast(result, type.getElementType()));
}

/// Inference: the input, and a mask that keeps everything.
LogicalResult importDropout(NodeReader &node) {
  if (node.input(2)) {
    FailureOr<SmallVector<int64_t>> training = node.constants(2, "training_mode");
    if (failed(training))
      return failure();
    if (llvm::any_of(*training, [](int64_t value) { return value != 0; }))
      return importTraining(node);
  }
  if (node.outputCount() > 1) { // before opset 10 the mask had the input's type
    Type type = node.opset() < 10 ? tensorType(node.input(0)).getElementType()
                                  : IntegerType::get(node.build.getContext(), 1);
    Value keep = node.build.scalar(1, type);
    if (failed(node.output(node.build.expand(keep, tensorType(node.input(0)).getShape()), 1)))
      return failure();
  }
  return node.output(node.input(0));
}

LogicalResult importTranspose(NodeReader &node) {
  int64_t rank = tensorType(node.input(0)).getRank();
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  if (auto given = node.integers("perm"))
    permutation = *given;
  SmallVector<int64_t> sorted = llvm::to_vector(permutation);
  llvm::sort(sorted);
  if (sorted != llvm::to_vector(llvm::seq<int64_t>(0, rank)))
    return node.error() << "its permutation does not name every axis of " << node.describe(0)
                        << " once";
  return node.output(node.build.transpose(node.input(0), permutation));
}

/// Resolves 0 (keep) and -1 (what is left) in a target shape.
FailureOr<SmallVector<Dim>> resolveTarget(NodeReader &node, SmallVector<Dim> target) {
  GraphBuilder &build = node.build;
  TensorType type = tensorType(node.input(0));
  bool keepZero = node.flag("allowzero");
  std::optional<size_t> open;
  for (size_t axis = 0; axis < target.size(); ++axis) {
    auto size = target[axis].asConstant();
    if (size == 0 && !keepZero) {
      if (axis >= type.getRank())
        return node.error() << "its target " << toString(target) << " keeps axis " << axis
                            << ", which " << node.describe(0) << " does not have";
      target[axis] = type.getDim(axis);
    } else if (size == -1) {
      if (open)
        return node.error() << "its target " << toString(target) << " has two open dimensions";
      open = axis;
    } else if (size && *size < 0) {
      return node.error() << "its target " << toString(target) << " has a negative dimension";
    }
  }
  Dim total = type.getNumElements();
  if (open) {
    target[*open] = build.size(1);
    Dim rest = product(target, build.getContext());
    if (rest.isConstant(0))
      return node.error() << "its target has an open dimension beside one of size 0";
    target[*open] = total.floorDiv(rest);
  }
  if (failed(build.getFacts().requireEqual(build.getLocation(), product(target, build.getContext()),
                                           total, "a reshape keeps the number of elements")))
    return failure();
  return target;
}

LogicalResult importReshape(NodeReader &node) {
  FailureOr<SmallVector<Dim>> target = node.dims(1, "the target shape");
  if (failed(target))
    return failure();
  FailureOr<SmallVector<Dim>> shape = resolveTarget(node, *target);
  if (failed(shape))
    return failure();
  return node.output(node.build.reshape(node.input(0), *shape));
}

LogicalResult importFlatten(NodeReader &node) {
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
  int64_t rank = shape.size(), axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return node.error() << "axis " << axis << " is outside rank " << rank;
  axis = axis < 0 ? axis + rank : axis;
  Dim rows = product(ArrayRef(shape).take_front(axis), node.build.getContext());
  Dim columns = product(ArrayRef(shape).drop_front(axis), node.build.getContext());
  return node.output(node.build.reshape(node.input(0), {rows, columns}));
}

LogicalResult importSqueeze(NodeReader &node) {
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
  auto given = node.axes(1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> axes;
  if (*given) {
    FailureOr<SmallVector<int64_t>> normal = node.normalAxes(**given, shape.size());
    if (failed(normal))
      return failure();
    axes = *normal;
  } else {
    for (auto [axis, dim] : llvm::enumerate(shape))
      if (dim.isConstant(1))
        axes.push_back(axis);
  }
  GraphBuilder &build = node.build;
  for (int64_t axis : axes)
    if (failed(build.getFacts().requireEqual(build.getLocation(), shape[axis], build.size(1),
                                             "the axis is squeezed")))
      return failure();
  shape = tensorType(node.input(0)).getShape();
  for (int64_t axis : llvm::reverse(axes))
    shape.erase(shape.begin() + axis);
  return node.output(build.reshape(node.input(0), shape));
}

LogicalResult importUnsqueeze(NodeReader &node) {
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
  auto given = node.axes(1);
  if (failed(given))
    return failure();
  if (!*given)
    return node.error() << "needs axes";
  FailureOr<SmallVector<int64_t>> axes = node.normalAxes(**given, shape.size() + (*given)->size());
  if (failed(axes))
    return failure();
  for (int64_t axis : *axes)
    shape.insert(shape.begin() + axis, node.build.size(1));
  return node.output(node.build.reshape(node.input(0), shape));
}

LogicalResult importExpand(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<SmallVector<Dim>> target = node.dims(1, "the target shape");
  if (failed(target))
    return failure();
  if (failed(build.getFacts().requireBroadcast(build.getLocation(),
                                               tensorType(node.input(0)).getShape(), *target)))
    return failure();
  FailureOr<SmallVector<Dim>> shape =
      broadcastShapes(tensorType(node.input(0)).getShape(), *target);
  if (failed(shape) ||
      llvm::any_of(*target, [](Dim dim) { return dim.asConstant().value_or(0) < 0; }))
    return node.error() << node.describe(0) << " cannot be expanded to " << toString(*target);
  return node.output(build.expand(node.input(0), *shape));
}

/// Sizes outside the axis must agree.
LogicalResult alignConcat(NodeReader &node, int64_t axis) {
  GraphBuilder &build = node.build;
  for (size_t index = 1; index < node.inputCount(); ++index) {
    unsigned rank = tensorType(node.input(0)).getRank();
    if (tensorType(node.input(index)).getRank() != rank)
      return node.error() << "its inputs differ in rank: " << node.describe(0) << " and "
                          << node.describe(index);
    for (unsigned other = 0; other < rank; ++other) {
      Dim first = tensorType(node.input(0)).getDim(other),
          next = tensorType(node.input(index)).getDim(other);
      if (other != axis &&
          failed(build.getFacts().requireEqual(build.getLocation(), first, next,
                                               "concatenated tensors agree outside the axis")))
        return failure();
    }
  }
  return success();
}

LogicalResult importConcat(NodeReader &node) {
  FailureOr<int64_t> axis =
      node.normalAxis(node.integer("axis", 0), tensorType(node.input(0)).getRank());
  if (failed(axis) || failed(node.requireSameType()) || failed(alignConcat(node, *axis)))
    return failure();
  SmallVector<Value> inputs = node.inputs();
  llvm::erase_if(inputs,
                 [&](Value input) { return tensorType(input).getDim(*axis).isConstant(0); });
  if (inputs.empty())
    inputs.push_back(node.input(0));
  return node.output(node.build.concat(inputs, *axis));
}

/// [d] repeated r times is [1, d] expanded to [r, d], as one axis.
LogicalResult importTile(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<SmallVector<Dim>> repeats = node.dims(1, "the list of repeats");
  if (failed(repeats))
    return failure();
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape(), split, repeated, result;
  if (repeats->size() != shape.size())
    return node.error() << "has " << repeats->size() << " repeats for " << node.describe(0);
  for (auto [dim, count] : llvm::zip(shape, *repeats)) {
    if (failed(build.getFacts().requireAtMost(build.getLocation(), build.size(0), count,
                                              "repeats are not negative")))
      return failure();
    if (!count.isConstant(1)) {
      split.push_back(build.size(1));
      repeated.push_back(count);
    }
    split.push_back(dim);
    repeated.push_back(dim);
    result.push_back(dim * count);
  }
  return node.output(
      build.reshape(build.expand(build.reshape(node.input(0), split), repeated), result));
}

} // namespace

ArrayRef<NodeRule> shapeRules() {
  static constexpr NodeRule kRules[] = {
      {"Concat", 4, kEveryInput, importConcat},
      {"Dropout", 1, 1, importDropout},
      {"Expand", 8, 2, importExpand},
      {"Flatten", 1, 1, importFlatten},
      {"Identity", 1, 1, importIdentity, "", Operands::any},
      {"Reshape", 5, 2, importReshape},
      {"Squeeze", 1, 1, importSqueeze},
      {"Tile", 6, 2, importTile},
      {"Transpose", 1, 1, importTranspose},
      {"Unsqueeze", 1, 1, importUnsqueeze},
  };
  return kRules;
}

} // namespace smelt::frontend
