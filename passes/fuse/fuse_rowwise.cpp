// Makes each norm, softmax or reduction over trailing axes one kernel that keeps its row on chip.
//
//   layer_norm(gather(word, ids) + gather(position, p) + type)   =>   one kernel: embedding lookup,
//   sum and norm
//
// Draws in the pointwise ops before it (a sum or looked up rows that a residual connection reads too
// become a second result), the elementwise ops after it, and another norm of its result (CLIP's towers:
// 1 % of 32 images on an H200). A kernel that only reads what the caller gives, an embedding's, computes what
// follows from that for each row too, such as the mask that attention adds: a kernel less (BERT-base at 1x128 0.2226
// ms on an H200, 0.2236 before). The row is read once and written once, where a product reads it (row_order.h).
// Reductions over other axes are left to `columnwise`, norms to `generic`.
#include "passes/fuse/dequantization.h"
#include "passes/fuse/row_order.h"
#include "passes/passes.h"
#include "passes/remark.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEROWWISE
#include "passes/passes.h.inc"

namespace {

/// Forms the kernels of one reduction after the other.
class RowwiseFusion {
public:
  explicit RowwiseFusion(Remarks &remarks) : remarks(remarks) {}

  void fuse(RowReduction anchor) {
    if (taken.contains(anchor))
      return;
    Dim elements = tensorType(anchor.getReduced()).getNumElements();
    FusionGroup group;
    group.add(anchor);
    for (OpOperand &operand : anchor->getOpOperands())
      group.absorbProducers(operand,
                            [&](Operation *op) { return acceptProducer(op, group, elements); });
    Boundary boundary = growEpilogue(group, [&](Operation *op) {
      return op->hasTrait<Elementwise>() &&
             tensorType(op->getResult(0)).getNumElements() == elements;
    });
    dropDequantization(group, 1);
    drawInNorm(group, anchor);
    drawInRounding(group);
    drawInSums(group, anchor);
    drawInOrder(group);
    drawInRowValues(group, anchor);
    SmallVector<Operation *> members(group.ops());
    for (Operation *op : members)
      for (OpOperand &operand : op->getOpOperands())
        group.absorbViews(operand);
    remarks.taken(anchor.getLoc(), "rowwise", describe(group));
    if (boundary.reader && !boundary.reader->hasTrait<OpTrait::IsTerminator>())
      remarks.refused(boundary.reader->getLoc(), "rowwise epilogue", boundary.predicate,
                      "it reads the result of " + nodeName(anchor.getLoc()));
    group.outline(FusionKind::rowwise);
  }

private:
  static constexpr size_t kMostResults = 3;

  /// Draws in a norm of what the kernel computes, which finds its rows on chip; they are a second result
  /// where a residual connection reads them.
  void drawInNorm(FusionGroup &group, RowReduction anchor) {
    for (Value rows : group.liveOuts())
      for (Operation *user : rows.getUsers()) {
        auto norm = dyn_cast<Normalization>(user);
        if (!norm || !isFree(user) || norm.getNormalized() != rows ||
            !readsSameRows(cast<RowReduction>(user), anchor) || !addAll(group, user))
          continue;
        taken.insert(user);
        return;
      }
  }

  /// Draws in what rounds the kernel's result to bytes while others read the result itself: the bytes are
  /// stored beside it, a quarter of what a kernel would read to compute them.
  static void drawInRounding(FusionGroup &group) {
    SmallVector<Value> ends = group.liveOuts();
    if (ends.size() != 1)
      return;
    for (Operation *user : ends.front().getUsers()) {
      SmallVector<Operation *> chain;
      for (Operation *op = user; isFree(op) && !group.contains(op) && op->hasTrait<Elementwise>();
           op = *op->user_begin()) {
        if (!computesAlone(op))
          break;
        chain.push_back(op);
        if (elementType(op->getResult(0)).isInteger(8) || !op->hasOneUse())
          break;
      }
      if (!chain.empty() && elementType(chain.back()->getResult(0)).isInteger(8) &&
          addAll(group, chain))
        return;
    }
  }

  /// Draws in the sums of the rows of bytes that the kernel rounds to, which correct for a zero point.
  void drawInSums(FusionGroup &group, RowReduction anchor) {
    for (Value bytes : group.liveOuts())
      for (Operation *user : bytes.getUsers()) {
        SmallVector<Operation *> chain{user};
        while (isFree(chain.back()) && isa<CastOp, MulOp>(chain.back()) &&
               computesAlone(chain.back()) && chain.back()->hasOneUse())
          chain.push_back(*chain.back()->user_begin());
        auto sum = dyn_cast<ReduceOp>(chain.back());
        if (!sum || !elementType(bytes).isInteger(8) || !isFree(sum) ||
            !readsSameRows(cast<RowReduction>(sum.getOperation()), anchor))
          continue;
        if (addAll(group, chain))
          taken.insert(sum);
        return;
      }
  }

  /// Draws in the views through which a product alone reads the kernel's rows: it stores them so.
  static void drawInOrder(FusionGroup &group) {
    for (Value rows : group.liveOuts())
      addAll(group, rowOrderBefore(rows));
  }

  /// Draws in what has one element a row, is computed from what the caller gives alone, and would be a kernel
  /// of its own, where this one waits for no other either.
  static void drawInRowValues(FusionGroup &group, RowReduction anchor) {
    if (!llvm::all_of(group.ops(), [&](Operation *op) { return readsOnlyGiven(op, group); }))
      return;
    SmallVector<Dim> shape = tensorType(anchor.getReduced()).getShape();
    Dim rows =
        product(ArrayRef(shape).take_front(*anchor.getFirstReducedAxis()), anchor->getContext());
    SmallVector<Operation *> ends;
    for (Operation &op : *anchor->getBlock())
      if (isFree(&op) && !group.contains(&op) && op.hasTrait<Elementwise>() &&
          tensorType(op.getResult(0)).getNumElements() == rows && !op.use_empty() &&
          llvm::all_of(op.getUsers(), llvm::IsaPred<FusionOp>))
        ends.push_back(&op);
    for (Operation *end : ends)
      drawInGiven(group, end);
  }

  /// Its operands are the caller's, weights or literals, or members of the group.
  static bool readsOnlyGiven(Operation *op, const FusionGroup &group) {
    return llvm::all_of(op->getOperands(), [&](Value value) {
      Operation *producer = value.getDefiningOp();
      return !producer || group.contains(producer) || isWeightExpression(value) ||
             (producer->hasTrait<View>() && isFree(producer) && readsOnlyGiven(producer, group));
    });
  }

  /// Draws in `end` with all that only it reads, where that leads back to what the caller gives.
  static void drawInGiven(FusionGroup &group, Operation *end) {
    constexpr size_t kMostOps = 8;
    SmallVector<Operation *> chain{end};
    for (size_t i = 0; i < chain.size(); ++i)
      for (Value operand : chain[i]->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (!producer || isWeightExpression(operand) || llvm::is_contained(chain, producer))
          continue;
        if (!isFree(producer) || !producer->hasOneUse() || chain.size() == kMostOps ||
            !(producer->hasTrait<Elementwise>() || producer->hasTrait<View>()))
          return;
        chain.push_back(producer);
      }
    addAll(group, chain);
  }

  static bool readsSameRows(RowReduction one, RowReduction other) {
    return one.getFirstReducedAxis() && one.getFirstReducedAxis() == other.getFirstReducedAxis() &&
           tensorType(one.getReduced()).getShape() == tensorType(other.getReduced()).getShape();
  }

  /// Of its operands only one is no literal.
  static bool computesAlone(Operation *op) {
    return llvm::count_if(op->getOperands(), [](Value value) { return !isLiteral(value); }) == 1;
  }

  /// Takes all of `ops` where that leaves the kernel short and acyclic, else none.
  static bool addAll(FusionGroup &group, ArrayRef<Operation *> ops) {
    size_t added = 0;
    for (; added < ops.size() && group.fits(ops[added]); ++added)
      group.add(ops[added]);
    bool fits = added == ops.size() && group.isAcyclic() && group.liveOuts().size() <= kMostResults;
    for (; !fits && added > 0; --added)
      group.removeLast();
    return fits;
  }

  /// `op` computes what the row is read from. Ops that others read too are computed by themselves,
  /// but a tensor of the row's size may be a second result, if no path leads back.
  bool acceptProducer(Operation *op, FusionGroup &group, Dim elements) {
    auto isInside = [&](Operation *user) { return group.contains(user); };
    if (llvm::all_of(op->getUsers(), isInside))
      return true;
    StringRef obstacle;
    bool isStorable = op->hasTrait<Elementwise>() || isa<GatherOp>(op);
    if (!isStorable || tensorType(op->getResult(0)).getNumElements() != elements) {
      obstacle = "only the kernel reads it, or it has as many elements as the rows";
    } else {
      group.add(op);
      if (!group.isAcyclic())
        obstacle = "no path leads from the kernel back into it";
      else if (group.liveOuts().size() > 2)
        obstacle = "a kernel stores at most one tensor beside its result";
      group.removeLast();
    }
    if (!obstacle.empty())
      remarks.refused(op->getLoc(), "rowwise prologue", obstacle,
                      "a kernel reads what it computes");
    return obstacle.empty();
  }

  Remarks &remarks;
  llvm::SmallPtrSet<Operation *, 8> taken; ///< reductions that another's kernel has drawn in
};

struct FuseRowwise : impl::FuseRowwiseBase<FuseRowwise> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    RowwiseFusion fusion(remarks);
    SmallVector<RowReduction> anchors;
    getOperation().walk([&](RowReduction op) {
      if (isFree(op) && op.getFirstReducedAxis())
        anchors.push_back(op);
      else if (isFree(op))
        remarks.refused(op.getLoc(), "rowwise", "reduces trailing axes",
                        "others are columnwise or generic");
    });
    for (RowReduction anchor : anchors)
      fusion.fuse(anchor);
  }
};

} // namespace
} // namespace smelt::passes
