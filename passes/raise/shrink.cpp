#include "passes/raise/shrink.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <set>

using namespace mlir;

namespace smelt::passes {

namespace {

/// Sizes up to this stay: heads, kernels, and what else gives a pattern its shape.
constexpr int64_t kKeptSize = 16;

using SizeMap = std::map<int64_t, int64_t>;

TensorType shrunk(TensorType type, const SizeMap &sizes) {
  SmallVector<Dim> shape = type.getShape();
  for (Dim &dim : shape)
    if (std::optional<int64_t> size = dim.asConstant())
      if (auto found = sizes.find(*size); found != sizes.end())
        dim = Dim::constant(type.getContext(), found->second);
  return type.withShape(shape);
}

TensorType shrunk(Value value, const SizeMap &sizes) { return shrunk(tensorType(value), sizes); }

bool sliceFits(SliceOp op, const SizeMap &sizes) {
  TensorType input = shrunk(op.getInput(), sizes), output = shrunk(op.getOutput(), sizes);
  for (auto [axis, start, step] : llvm::enumerate(op.getStarts(), op.getSteps())) {
    Dim first = Dim(cast<DimAttr>(start)), last = first + (output.getDim(axis) - 1) * step;
    bool whole = input.getDim(axis) == output.getDim(axis) && first.isConstant(0) && step == 1;
    if (!whole && (!first.isKnownLessEqual(input.getDim(axis) - 1) ||
                   !last.isKnownLessEqual(input.getDim(axis) - 1) || !last.isKnownNonNegative()))
      return false;
  }
  return true;
}

/// The op is as well formed at the small sizes as it was.
bool fits(Operation *op, const SizeMap &sizes) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<ReshapeOp>([&](auto reshape) {
        return shrunk(reshape.getInput(), sizes).getNumElements() ==
               shrunk(reshape.getOutput(), sizes).getNumElements();
      })
      .Case<SliceOp>([&](auto slice) { return sliceFits(slice, sizes); })
      .Case<ConcatOp>([&](auto concat) {
        Dim total = Dim::constant(op->getContext(), 0);
        for (Value input : concat.getInputs())
          total = total + shrunk(input, sizes).getDim(concat.getAxis());
        return total == shrunk(concat.getOutput(), sizes).getDim(concat.getAxis());
      })
      .Case<ConstantOp>([&](auto constant) {
        auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
        return shrunk(constant.getOutput(), sizes) == constant.getOutput().getType() ||
               (dense && dense.isSplat());
      })
      .Default(true);
}

SizeMap chooseSizes(ArrayRef<Operation *> ops, ArrayRef<Value> leaves, int64_t firstSize) {
  std::set<int64_t, std::greater<>> large;
  auto visit = [&](Value value) {
    for (Dim dim : tensorType(value).getShape())
      if (std::optional<int64_t> size = dim.asConstant(); size && *size > kKeptSize)
        large.insert(*size);
  };
  llvm::for_each(leaves, visit);
  for (Operation *op : ops)
    llvm::for_each(op->getResults(), visit);
  SizeMap sizes;
  for (int64_t size : large) {
    sizes[size] = firstSize + static_cast<int64_t>(sizes.size());
    if (!llvm::all_of(ops, [&](Operation *op) { return fits(op, sizes); }))
      sizes.erase(size);
  }
  return sizes;
}

Operation *copyAt(Operation *op, IRMapping &mapping, const SizeMap &sizes) {
  Operation *copy = op->clone(mapping);
  for (Value result : copy->getResults())
    result.setType(shrunk(result, sizes));
  if (auto constant = dyn_cast<ConstantOp>(copy)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    if (dense.isSplat())
      constant.setValueAttr(dense.resizeSplat(toBuiltin(tensorType(constant.getOutput()))));
  }
  return copy;
}

} // namespace

std::optional<ShrunkOps> shrinkSizes(ArrayRef<Operation *> ops, ArrayRef<Value> leaves,
                                     ArrayRef<Value> roots, int64_t firstSize) {
  SizeMap sizes = chooseSizes(ops, leaves, firstSize);
  if (sizes.empty())
    return std::nullopt;
  ShrunkOps result{std::make_unique<Block>(), {}};
  IRMapping mapping;
  for (Value leaf : leaves)
    mapping.map(leaf, result.block->addArgument(shrunk(leaf, sizes), leaf.getLoc()));
  for (Operation *op : ops)
    result.block->push_back(copyAt(op, mapping, sizes));
  for (Value root : roots)
    result.roots.push_back(mapping.lookup(root));
  return result;
}

} // namespace smelt::passes
