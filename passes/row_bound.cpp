#include "passes/row_bound.h"

#include "ir/dialect.h"

#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <optional>

using namespace mlir;

namespace smelt::passes {

static bool isInteger(Value value) {
  Type element = tensorType(value).getElementType();
  return element.isInteger() && !element.isInteger(1);
}

/// Whether the op's result holds values of `operand` and nothing computed from them.
static bool passesOn(Operation *op, unsigned operand) {
  if (isa<SelectOp>(op))
    return operand > 0;
  if (isa<CastOp>(op) && !isInteger(op->getResult(0)))
    return false;
  return op->hasTrait<View>() || isa<CastOp, ConcatOp>(op);
}

/// The extent that the values of this operand index, where the op looks rows up with it.
static std::optional<int64_t> indexedExtent(OpOperand &use) {
  auto gather = dyn_cast<GatherOp>(use.getOwner());
  if (!gather || use.get() != gather.getIndices())
    return std::nullopt;
  return tensorType(gather.getData()).getDim(gather.getAxis()).asConstant();
}

/// The smallest number of rows that `input` indexes.
static std::optional<int64_t> rowBound(Value input) {
  std::optional<int64_t> bound;
  llvm::SetVector<Value> reached;
  reached.insert(input);
  for (size_t next = 0; next < reached.size(); ++next)
    for (OpOperand &use : reached[next].getUses()) {
      if (std::optional<int64_t> extent = indexedExtent(use))
        bound = std::min(bound.value_or(*extent), *extent);
      if (passesOn(use.getOwner(), use.getOperandNumber()))
        reached.insert(use.getOwner()->result_begin(), use.getOwner()->result_end());
    }
  return bound;
}

void markRowBounds(func::FuncOp main) {
  for (BlockArgument input : main.getArguments())
    if (std::optional<int64_t> bound = rowBound(input))
      main.setArgAttr(input.getArgNumber(), "smelt.row_bound",
                      Builder(main.getContext()).getI64IntegerAttr(*bound));
}

} // namespace smelt::passes
