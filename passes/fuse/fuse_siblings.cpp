// Merges elementwise trees of the same ops, over neighbouring parts of one tensor, into one tree.
//
//   q = rotate(y[:, :n])                 r = rotate(y[:, :n + m])
//   k = rotate(y[:, n:n + m])       =>   q = r[:, :n]  k = r[:, n:]
//   attention(q, k, v)                   attention(q, k, v)
//
// Problem: the rotary embeddings of queries and keys are one formula, x cos + rotate_half(x) sin,
// over the heads of one joined projection, and yet two kernels: each ends in a tensor of its own.
// The smaller one, of few heads of keys, is little more than its launch. Method: compare, from the
// results down, two trees whose results attentions read, op by op; what the one does with some
// heads, the other does with the next ones (sibling_trees.h). They become one tree over the part of
// the tensor that holds both; its parts are slices, which attention's loads take for nothing.
//
// Nothing else reads slices for nothing: trees stay two where one ends in a result of the function,
// in what is appended to a caller's buffer, or in another kernel. So they do where somebody reads an
// inner value of one, which would be computed twice, and where parts of rows would lose their
// alignment. Assumes that siblings are read by one attention, and that each would have been a
// kernel: no product has them as its epilogue, for the tensor below has several readers.
//
// Gain: one launch a layer, and what both trees read (cosines and sines) is read once. On an H100 the
// kernels of four layers, each by itself: Llama at 1x512 28 us, now 16, at 1x4096 78 and 63; Qwen2 at
// 4x512 32 and 20.
#include "passes/fuse/attention_rows.h"
#include "passes/fuse/fusion_group.h"
#include "passes/fuse/merge_cost.h"
#include "passes/fuse/sibling_trees.h"
#include "passes/passes.h"
#include "passes/remark.h"
#include "passes/view_shape.h"

#include "ir/element_bytes.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSESIBLINGS
#include "passes/passes.h.inc"

namespace {

/// What the templates load at once.
constexpr int64_t kAlignment = 16;

bool isComputed(Operation *op) {
  return isFree(op) && (op->hasTrait<Elementwise>() || isa<ConcatOp>(op));
}

/// The result of the tree that `operand` is a view of; none where it is no tree's.
Value treeBehind(Value operand) {
  Operation *op = operand.getDefiningOp();
  while (op && op->hasTrait<View>())
    op = (operand = op->getOperand(0)).getDefiningOp();
  return isComputed(op) ? operand : Value();
}

/// Where `value` is read, itself or through views.
SmallVector<OpOperand *> readersOf(Value value) {
  SmallVector<OpOperand *> readers;
  SmallVector<Value> pending{value};
  while (!pending.empty())
    for (OpOperand &use : pending.pop_back_val().getUses())
      if (use.getOwner()->hasTrait<View>())
        pending.push_back(use.getOwner()->getResult(0));
      else
        readers.push_back(&use);
  return readers;
}

/// Its kernel takes the views before `use` into its loads.
bool readsViews(OpOperand &use) {
  auto attention = dyn_cast<AttentionOp>(use.getOwner());
  return attention && isFree(attention) && use.getOperandNumber() < 3 &&
         hasAttentionTemplate(attention.getQuery(), attention.getValue());
}

/// One of two results, as a part of both: where it would start.
struct Part {
  Value result;
  unsigned axis;
  Dim start;
  TensorType whole;
};

/// `use` finds its rows in the part as it does in the result.
bool keepsRows(OpOperand &use, const Part &part) {
  AttentionRows rows(use.get(), RowDistance::constant);
  for (Value value = use.get(); value != part.result; value = value.getDefiningOp()->getOperand(0))
    if (!rows.keptBefore(value.getDefiningOp()))
      return false;
  return rows.keptWithin(part.whole.getShape(), part.result, part.axis, part.start);
}

/// The part begins, in each row, as aligned as the result does.
bool keepsAlignment(const Part &part) {
  if (part.axis + 1 < part.whole.getRank()) // of whole rows, as long as the result's
    return true;
  Dim unit =
      Dim::constant(part.start.getContext(),
                    std::max<int64_t>(kAlignment / elementBytes(part.whole.getElementType()), 1));
  return part.start.exactDiv(unit) && part.whole.getDim(part.axis).exactDiv(unit);
}

/// The predicate that keeps the trees two; empty where nothing does.
StringRef findObstacle(const SiblingTrees &trees, ArrayRef<Part> parts) {
  for (Operation *op : trees.ops())
    if (isComputed(op) && op != parts[0].result.getDefiningOp() &&
        op != parts[1].result.getDefiningOp() &&
        llvm::any_of(readersOf(op->getResult(0)),
                     [&](OpOperand *use) { return !trees.contains(use->getOwner()); }))
      return "nothing but the tree reads what it computes within";
  for (const Part &part : parts)
    for (OpOperand *use : readersOf(part.result)) {
      if (!readsViews(*use))
        return "attention alone reads both results";
      if (!keepsRows(*use, part) || !keepsAlignment(part))
        return "rows of the parts are as regular as those of the results";
    }
  return {};
}

/// One tree for both, where the first of them ends: all that it reads, the first one read.
void merge(const SiblingTrees &trees, ArrayRef<Part> parts) {
  Operation *low = parts[0].result.getDefiningOp(), *high = parts[1].result.getDefiningOp();
  OpBuilder builder(low->isBeforeInBlock(high) ? low : high);
  Value whole = trees.join(builder);
  for (Part part : parts)
    part.result.replaceAllUsesWith(partOf(builder, part.result.getLoc(), whole, part.axis,
                                          part.start, tensorType(part.result).getDim(part.axis)));
  for (Operation *op : llvm::reverse(trees.ops()))
    if (op->use_empty())
      op->erase();
}

KernelCost savedBy(const SiblingTrees &trees) {
  KernelCost saved{1, 0};
  for (Value input : trees.repeated())
    if (!isLiteral(input))
      saved.bytes +=
          typicalSize(tensorType(input).getNumElements()) * elementBytes(elementType(input));
  return saved;
}

void remark(Remarks &remarks, const SiblingTrees &trees, ArrayRef<Part> parts, StringRef obstacle) {
  for (auto [part, other] : {std::pair(parts[0], parts[1]), std::pair(parts[1], parts[0])}) {
    std::string sibling = nodeName(other.result.getLoc());
    if (obstacle.empty())
      remarks.taken(part.result.getLoc(), "siblings",
                    "one tree with " + sibling + ": " + describeSaving(savedBy(trees)));
    else
      remarks.refused(part.result.getLoc(), "siblings", obstacle,
                      "it computes the same as " + sibling + ", apart");
  }
}

struct FuseSiblings : impl::FuseSiblingsBase<FuseSiblings> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<AttentionOp> attentions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      llvm::append_range(attentions, function.getBody().front().getOps<AttentionOp>());
    for (AttentionOp attention : attentions)
      while (mergeTwo(findTrees(attention), remarks)) // and what they are now with the third
        ;
  }

private:
  static SmallVector<Value> findTrees(AttentionOp attention) {
    llvm::SetVector<Value> results;
    for (Value operand : attention->getOperands().take_front(3))
      if (Value result = treeBehind(operand))
        results.insert(result);
    return results.takeVector();
  }

  static bool mergeTwo(ArrayRef<Value> results, Remarks &remarks) {
    for (Value low : results)
      for (Value high : results)
        if (low != high && consider(low, high, remarks))
          return true;
    return false;
  }

  static bool consider(Value low, Value high, Remarks &remarks) {
    std::optional<SiblingTrees> trees = SiblingTrees::match(low, high);
    if (!trees)
      return false;
    unsigned axis = trees->axis();
    Part parts[] = {{low, axis, Dim::constant(low.getContext(), 0), trees->type()},
                    {high, axis, tensorType(low).getDim(axis), trees->type()}};
    StringRef obstacle = findObstacle(*trees, parts);
    remark(remarks, *trees, parts, obstacle);
    if (obstacle.empty())
      merge(*trees, parts);
    return obstacle.empty();
  }
};

} // namespace
} // namespace smelt::passes
