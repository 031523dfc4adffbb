#include "passes/raise/axis_classes.h"

#include "llvm/ADT/TypeSwitch.h"

#include <set>

using namespace mlir;

namespace smelt::passes {

AxisClasses::AxisClasses(ArrayRef<Operation *> ops, ArrayRef<Value> leaves)
    : ops(ops.begin(), ops.end()) {
  for (Value leaf : leaves)
    number(leaf);
  for (Operation *op : ops)
    llvm::for_each(op->getResults(), [&](Value result) { number(result); });
  for (size_t axis = 0; axis < original.size(); ++axis)
    parent.push_back(static_cast<int>(axis));
  kept.assign(original.size(), false);
  for (size_t axis = 0; axis < original.size(); ++axis)
    if (!original[axis].asConstant())
      keep(static_cast<int>(axis));
  llvm::for_each(ops, [&](Operation *op) { relate(op); });
}

void AxisClasses::number(Value value) {
  auto [entry, isNew] = axes.try_emplace(value);
  if (!isNew)
    return;
  for (Dim dim : tensorType(value).getShape()) {
    entry->second.push_back(dim.isConstant(1) ? kNone : static_cast<int>(original.size()));
    if (!dim.isConstant(1))
      original.push_back(dim);
  }
}

int AxisClasses::axisOf(Value value, size_t axis) const { return axes.find(value)->second[axis]; }

int AxisClasses::rootOf(int axis) const {
  while (parent[axis] != axis)
    axis = parent[axis] = parent[parent[axis]];
  return axis;
}

void AxisClasses::unite(int first, int second) {
  if (first == kNone || second == kNone) {
    keep(std::max(first, second));
    return;
  }
  bool differ = original[first] != original[second];
  first = rootOf(first), second = rootOf(second);
  kept[first] = kept[first] || kept[second] || differ;
  parent[second] = first;
}

void AxisClasses::keep(int axis) {
  if (axis != kNone)
    kept[rootOf(axis)] = true;
}

void AxisClasses::keep(ValueRange values) {
  for (Value value : values)
    llvm::for_each(axes.find(value)->second, [&](int axis) { keep(axis); });
}

void AxisClasses::keepCounted() {
  for (Operation *op : ops)
    if (isa<IotaOp>(op))
      keep(op->getResults());
}

void AxisClasses::broadcast(Value operand, Value result, size_t skipped) {
  ArrayRef<int> from = axes.find(operand)->second, to = axes.find(result)->second;
  size_t common = std::min(from.size(), to.size());
  for (size_t back = skipped + 1; back <= common; ++back)
    if (int axis = from[from.size() - back]; axis != kNone)
      unite(axis, to[to.size() - back]);
}

void AxisClasses::compose(int whole, ArrayRef<int> parts, bool isProduct) {
  compositions.push_back({whole, SmallVector<int>(parts), isProduct});
}

void AxisClasses::relate(Operation *op) {
  bool isRowwise = isa<SoftmaxOp, CumsumOp, CumprodOp, LayerNormOp, RmsNormOp>(op);
  if (op->hasTrait<Elementwise>() || isRowwise || isa<ExpandOp>(op)) {
    for (Value operand : op->getOperands())
      broadcast(operand, op->getResult(0));
    return;
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case<TransposeOp>([&](auto transpose) {
        for (auto [axis, from] : llvm::enumerate(transpose.getPermutation()))
          if (int source = axisOf(transpose.getInput(), from); source != kNone)
            unite(source, axisOf(transpose.getOutput(), axis));
      })
      .Case<ReduceOp>([&](auto reduce) {
        for (size_t axis = 0; axis < tensorType(reduce.getInput()).getRank(); ++axis)
          if (int source = axisOf(reduce.getInput(), axis);
              source != kNone && !llvm::is_contained(reduce.getAxes(), axis))
            unite(source, axisOf(reduce.getOutput(), axis));
      })
      .Case<ConstantOp>([&](auto constant) {
        auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
        if (!dense || !dense.isSplat())
          keep(op->getResults());
      })
      .Case<IotaOp>([](auto) {})
      .Case<ReshapeOp>(
          [&](auto reshape) { relateReshape(reshape.getInput(), reshape.getOutput()); })
      .Case<SliceOp>([&](auto) { relateSlice(op); })
      .Case<ConcatOp>([&](auto) { relateConcat(op); })
      .Case<MatmulOp>([&](auto) { relateMatmul(op); })
      .Case<AttentionOp>([&](auto) { relateAttention(op); })
      .Case<GatherOp>([&](auto) { relateGather(op); })
      .Default([&](Operation *) {
        keep(op->getOperands());
        keep(op->getResults());
      });
}

/// Splits both shapes into runs of axes with equal products: where one side has a single axis, it
/// is composed of the other side's.
void AxisClasses::relateReshape(Value input, Value output) {
  auto next = [&](Value value, size_t &axis, SmallVector<int> &run, Dim &product) {
    for (size_t rank = tensorType(value).getRank(); axis < rank;) {
      Dim dim = tensorType(value).getDim(axis);
      int added = axisOf(value, axis++);
      if (added == kNone)
        continue;
      run.push_back(added);
      product = product * dim;
      return true;
    }
    return false;
  };
  auto isShorter = [](Dim a, Dim b) {
    auto left = a.asConstant(), right = b.asConstant();
    return left && right ? *left < *right : b.exactDiv(a).has_value();
  };
  size_t i = 0, j = 0;
  Dim one = Dim::constant(input.getContext(), 1);
  for (bool more = true; more;) {
    SmallVector<int> from, to;
    Dim left = one, right = one;
    more = next(input, i, from, left);
    more = next(output, j, to, right) && more;
    while (more && left != right)
      more = isShorter(left, right) ? next(input, i, from, left) : next(output, j, to, right);
    if (left == right && from.size() == 1 && to.size() == 1)
      unite(from[0], to[0]);
    else if (left == right && from.size() == 1)
      compose(from[0], to, true);
    else if (left == right && to.size() == 1)
      compose(to[0], from, true);
    else
      for (int axis : llvm::concat<int>(from, to))
        keep(axis);
    if (!more && left != right)
      keep(ValueRange{input}), keep(ValueRange{output});
  }
}

void AxisClasses::relateSlice(Operation *op) {
  auto slice = cast<SliceOp>(op);
  for (auto [axis, start, step] : llvm::enumerate(slice.getStarts(), slice.getSteps())) {
    int from = axisOf(slice.getInput(), axis), to = axisOf(slice.getOutput(), axis);
    bool isWhole = step == 1 && Dim(cast<DimAttr>(start)).isConstant(0) && from != kNone &&
                   to != kNone && original[from] == original[to];
    if (isWhole)
      unite(from, to);
    else
      keep(from), keep(to);
  }
}

void AxisClasses::relateConcat(Operation *op) {
  auto concat = cast<ConcatOp>(op);
  SmallVector<int> parts;
  for (Value input : concat.getInputs())
    for (size_t axis = 0; axis < tensorType(input).getRank(); ++axis) {
      int from = axisOf(input, axis), to = axisOf(concat.getOutput(), axis);
      if (static_cast<int64_t>(axis) == static_cast<int64_t>(concat.getAxis()))
        parts.push_back(from);
      else if (from != kNone)
        unite(from, to);
    }
  int whole = axisOf(concat.getOutput(), concat.getAxis());
  if (whole != kNone)
    compose(whole, parts, false);
}

void AxisClasses::relateMatmul(Operation *op) {
  auto matmul = cast<MatmulOp>(op);
  Value lhs = matmul.getLhs(), rhs = matmul.getRhs(), output = matmul.getOutput();
  size_t left = tensorType(lhs).getRank(), right = tensorType(rhs).getRank(),
         rank = tensorType(output).getRank();
  broadcast(lhs, output, 2);
  broadcast(rhs, output, 2);
  unite(axisOf(lhs, left - 1), axisOf(rhs, right - 2));
  unite(axisOf(lhs, left - 2), axisOf(output, rank - 2));
  unite(axisOf(rhs, right - 1), axisOf(output, rank - 1));
}

void AxisClasses::relateAttention(Operation *op) {
  auto attention = cast<AttentionOp>(op);
  Value query = attention.getQuery(), key = attention.getKey(), value = attention.getValue(),
        output = attention.getOutput();
  for (Value operand : {key, value, output})
    unite(axisOf(query, 0), axisOf(operand, 0));
  unite(axisOf(query, 1), axisOf(output, 1));
  unite(axisOf(key, 1), axisOf(value, 1));
  unite(axisOf(query, 2), axisOf(output, 2));
  unite(axisOf(key, 2), axisOf(value, 2));
  unite(axisOf(query, 3), axisOf(key, 3));
  unite(axisOf(value, 3), axisOf(output, 3));
  if (Value bias = attention.getBias()) {
    std::array<int, 4> scores{axisOf(query, 0), axisOf(query, 1), axisOf(query, 2), axisOf(key, 2)};
    ArrayRef<int> from = axes.find(bias)->second;
    for (size_t back = 1; back <= from.size(); ++back)
      if (int axis = from[from.size() - back]; axis != kNone)
        unite(axis, scores[scores.size() - back]);
  }
}

/// Random indices must find an element, so that the axis that they count along keeps its size.
void AxisClasses::relateGather(Operation *op) {
  auto gather = cast<GatherOp>(op);
  size_t axis = gather.getAxis(), rank = tensorType(gather.getData()).getRank(),
         inner = tensorType(gather.getIndices()).getRank();
  keep(axisOf(gather.getData(), axis));
  for (size_t i = 0; i < inner; ++i)
    unite(axisOf(gather.getIndices(), i), axisOf(gather.getOutput(), axis + i));
  for (size_t i = 0; i < rank; ++i)
    if (i != axis)
      unite(axisOf(gather.getData(), i), axisOf(gather.getOutput(), i < axis ? i : i + inner - 1));
}

Dim AxisClasses::composed(const Composition &composition, ArrayRef<Dim> sizes) const {
  Dim result;
  for (int part : composition.parts) {
    Dim size =
        part == kNone ? Dim::constant(original.front().getContext(), 1) : sizes[rootOf(part)];
    result = !result ? size : composition.isProduct ? result * size : result + size;
  }
  return result;
}

/// One class that is split the same way twice has the same parts.
void AxisClasses::uniteParts() {
  auto sizesOf = [&](const Composition &composition) {
    return llvm::map_to_vector(composition.parts,
                               [&](int part) { return part == kNone ? Dim() : original[part]; });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [index, first] : llvm::enumerate(compositions))
      for (const Composition &second : ArrayRef<Composition>(compositions).drop_front(index + 1)) {
        if (rootOf(first.whole) != rootOf(second.whole) || first.isProduct != second.isProduct ||
            sizesOf(first) != sizesOf(second))
          continue;
        for (auto [one, other] : llvm::zip(first.parts, second.parts))
          if (one != kNone && rootOf(one) != rootOf(other))
            unite(one, other), changed = true;
      }
  }
}

void AxisClasses::keepParts() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Composition &composition : compositions) {
      if (!kept[rootOf(composition.whole)])
        continue;
      for (int part : composition.parts)
        if (part != kNone && !kept[rootOf(part)])
          keep(part), changed = true;
    }
  }
}

bool AxisClasses::shrink(int64_t firstSize) {
  uniteParts();
  keepParts();
  std::set<int64_t> large;
  for (size_t axis = 0; axis < original.size(); ++axis)
    if (std::optional<int64_t> size = original[axis].asConstant())
      large.insert(*size);
  std::vector<Dim> sizes(original.size());
  for (size_t axis = 0; axis < original.size(); ++axis) {
    std::optional<int64_t> size = original[axis].asConstant();
    if (size && !kept[rootOf(static_cast<int>(axis))])
      size = std::min(*size, firstSize + std::distance(large.begin(), large.find(*size)));
    sizes[axis] = size ? Dim::constant(original[axis].getContext(), *size) : original[axis];
  }
  // In the order of the ops: what a composition is made of may be composed itself.
  for (size_t round = 0; round < compositions.size(); ++round) {
    bool changed = false;
    for (const Composition &composition : compositions) {
      int whole = rootOf(composition.whole);
      Dim size = kept[whole] ? sizes[whole] : composed(composition, sizes);
      changed |= size != sizes[whole];
      sizes[whole] = size;
    }
    if (!changed)
      break;
  }
  chosen = original;
  for (size_t axis = 0; axis < original.size(); ++axis)
    if (int root = rootOf(static_cast<int>(axis)); !kept[root])
      chosen[axis] = sizes[root];
  return chosen != original;
}

TensorType AxisClasses::typeOf(Value value) const {
  SmallVector<Dim> shape = tensorType(value).getShape();
  for (auto [dim, axis] : llvm::zip(shape, axes.find(value)->second))
    if (axis != kNone)
      dim = chosen[axis];
  return tensorType(value).withShape(shape);
}

} // namespace smelt::passes
