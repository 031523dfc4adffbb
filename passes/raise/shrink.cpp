#include "passes/raise/shrink.h"

#include "passes/raise/axis_classes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace smelt::passes {

namespace {

Operation *copyAt(Operation *op, IRMapping &mapping, const AxisClasses &classes) {
  Operation *copy = op->clone(mapping);
  for (auto [result, own] : llvm::zip(copy->getResults(), op->getResults()))
    result.setType(classes.typeOf(own));
  if (auto constant = dyn_cast<ConstantOp>(copy)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (dense && dense.isSplat())
      constant.setValueAttr(dense.resizeSplat(toBuiltin(tensorType(constant.getOutput()))));
  }
  return copy;
}

/// The copies, and the first op that is not well formed at the new sizes.
std::pair<ShrunkOps, Operation *> copyAll(ArrayRef<Operation *> ops, ArrayRef<Value> leaves,
                                          ArrayRef<Value> roots, const AxisClasses &classes) {
  ShrunkOps result{std::make_unique<Block>(), {}};
  IRMapping mapping;
  for (Value leaf : leaves)
    mapping.map(leaf, result.block->addArgument(classes.typeOf(leaf), leaf.getLoc()));
  for (Operation *op : ops) {
    Operation *copy = copyAt(op, mapping, classes);
    result.block->push_back(copy);
    if (failed(verify(copy)))
      return {std::move(result), op};
  }
  for (Value root : roots)
    result.roots.push_back(mapping.lookup(root));
  return {std::move(result), nullptr};
}

} // namespace

std::optional<ShrunkOps> shrinkSizes(ArrayRef<Operation *> ops, ArrayRef<Value> leaves,
                                     ArrayRef<Value> roots, int64_t firstSize, bool keepsCounted) {
  AxisClasses classes(ops, leaves);
  if (keepsCounted)
    classes.keepCounted();
  while (classes.shrink(firstSize)) {
    auto [copies, misfit] = copyAll(ops, leaves, roots, classes);
    if (!misfit)
      return std::move(copies);
    classes.keep(misfit->getOperands());
    classes.keep(misfit->getResults());
  }
  return std::nullopt;
}

} // namespace smelt::passes
