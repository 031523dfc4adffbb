// Makes each matrix product one kernel, with the views before it and the elementwise ops after it.
//
//   gelu(x W + b), (x W + b) + residual, ...   =>   one GEMM whose epilogue computes on the
//   accumulators
//
// Every elementwise op drawn into the epilogue saves writing and reading the product once. Grows
// forward while the result keeps one reader (diamonds such as x * sigmoid(x) included) and its
// number of elements; reads of other tensors (bias, residual) become loads of the epilogue, through
// views where there are any.
//
// Two products of one left operand whose results meet (gated MLPs) are one kernel: their weights
// become one, with columns that take turns, so that the epilogue finds both sums side by side. A
// weight that only single elements could be loaded of is turned round, and so are most of 16 bits, which is
// faster (ir/weight_layout.h).
//
//   silu(x Wg) * (x Wu)   =>   one GEMM with [Wg|Wu], twice as wide as what it stores
//
// Merged side by side instead, the product goes through memory: 2 N columns are stored and loaded
// and N stored, five times N, where the pair stores N.
//
// What scales the sums of a product of 8-bit integers, and takes zero points out of them, is computed
// in the epilogue, and so is the widening of bytes that it adds. What it computes for others to widen is
// stored as bytes.
//
// The zeros around an image whose windows are multiplied (a convolution) have no address: the main
// loop fills them in.
//
// Norms between two products reach both epilogues (fuse_norm.cpp): the row moments of the value at
// which an epilogue ends are its second result, and what an epilogue computes of the moments of
// other rows (mean, root, a normalised residual) is drawn in, a copy for each reader. What counts the
// infinities or NaNs of all that an epilogue stores is drawn in as well (gemm_totals.h).
#include "ir/refit.h"
#include "passes/dead_ops.h"
#include "passes/fuse/columnwise_group.h"
#include "passes/fuse/dequantization.h"
#include "passes/fuse/gemm_group.h"
#include "passes/fuse/gemm_totals.h"
#include "passes/fuse/lay_out_weights.h"
#include "passes/fuse/merge_cost.h"
#include "passes/fuse/row_order.h"
#include "passes/passes.h"
#include "passes/remark.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEGEMM
#include "passes/passes.h.inc"

namespace {

/// Forms all kernels of a function.
class GemmFusion {
public:
  /// Every kernel is planned before any op moves: what one draws in must not be another's.
  GemmFusion(func::FuncOp function, bool isRefit, Remarks &remarks)
      : plan(function), isRefit(isRefit), remarks(remarks) {
    for (GemmKernel &kernel : plan.kernels()) {
      absorbTotals(kernel);
      taken.insert(kernel.group.ops().begin(), kernel.group.ops().end());
    }
    // Nor what leads to rows whose moments a kernel of columns stores.
    for (const ColumnwiseKernel &kernel : planColumnwise(function, plan))
      if (!momentsOfRows(kernel.group).empty())
        taken.insert(kernel.group.ops().begin(), kernel.group.ops().end());
  }

  void run() {
    for (GemmKernel &kernel : plan.kernels())
      remark(kernel);
    for (GemmKernel &kernel : plan.kernels())
      fuse(kernel);
  }

private:
  void absorbTotals(GemmKernel &kernel) {
    std::string product = nodeName(kernel.products.front().getLoc());
    for (const Total &total : passes::absorbTotals(kernel.group))
      if (total.obstacle.empty())
        remarks.taken(ReduceOp(total.op).getLoc(), "gemm total",
                      "counted by the kernel that stores " + product);
      else
        remarks.refused(ReduceOp(total.op).getLoc(), "gemm total", total.obstacle,
                        "it counts what the kernel of " + product + " stores");
  }

  void remark(GemmKernel &kernel) {
    for (MatmulOp matmul : kernel.products)
      remarks.taken(matmul.getLoc(), "gemm",
                    kernel.products.size() > 1
                        ? "two products of one left operand, then " + describe(kernel.group) +
                              ": " + describeSaving(savingOf(kernel))
                        : describe(kernel.group));
    Operation *reader = kernel.boundary.reader;
    if (reader && !reader->hasTrait<OpTrait::IsTerminator>() && !kernel.group.contains(reader))
      remarks.refused(reader->getLoc(), "gemm epilogue", kernel.boundary.predicate,
                      "it reads the result of " + nodeName(kernel.products.front().getLoc()));
  }

  /// Against a kernel for each product, where the second reads what the first stored.
  static KernelCost savingOf(GemmKernel &kernel) {
    MatmulOp first = kernel.products.front();
    TensorType output = tensorType(first.getOutput()), rhs = tensorType(first.getRhs());
    Dim rows = product(ArrayRef(output.getShape()).drop_back(), first.getContext());
    BranchShape branch{typicalSize(rhs.getDim(1)), false};
    SharedProduct shape{typicalSize(rows), typicalSize(rhs.getDim(0)),
                        rhs.getElementType().getIntOrFloatBitWidth() / 8,
                        SmallVector<BranchShape>(kernel.products.size(), branch)};
    return shape.chained() - shape.combined();
  }

  bool isTaken(Operation *op) const { return !isFree(op) || taken.contains(op); }

  /// `op` computes elementwise from a statistic of rows, in no kernel so far.
  bool readsRowStatistic(Operation *op) const {
    SmallVector<Operation *> pending{op};
    llvm::DenseSet<Operation *> seen;
    while (!pending.empty()) {
      Operation *next = pending.pop_back_val();
      if (isRowStatistic(next))
        return true;
      if (isTaken(next) || !next->hasTrait<Elementwise>() || !seen.insert(next).second)
        continue;
      for (Value operand : next->getOperands())
        pending.push_back(operand.getDefiningOp());
    }
    return false;
  }

  /// Draws in what `operand` computes from row statistics, and the statistics; what others read too
  /// is cloned.
  void absorbNormalized(FusionGroup &group, OpOperand &operand) const {
    Operation *op = operand.get().getDefiningOp();
    if (isTaken(op) || group.contains(op))
      return;
    bool isStatistic = isRowStatistic(op);
    if (!isStatistic &&
        !(isa<CastOp>(op) || (op->hasTrait<Elementwise>() && readsRowStatistic(op))))
      return;
    if (!llvm::hasSingleElement(op->getUses())) {
      op = OpBuilder(operand.getOwner()).clone(*op);
      operand.set(op->getResult(0));
    }
    group.add(op);
    if (!isStatistic)
      for (OpOperand &input : op->getOpOperands())
        absorbNormalized(group, input);
  }

  /// Draws in the widening of constants: a load widens for free, and reads the fewer bytes.
  static void absorbWidening(FusionGroup &group, OpOperand &operand) {
    auto cast = operand.get().getDefiningOp<CastOp>();
    if (!cast || group.contains(cast) || !isWeightExpression(cast.getOutput()))
      return;
    auto from = dyn_cast<FloatType>(tensorType(cast.getInput()).getElementType());
    auto to = dyn_cast<FloatType>(tensorType(cast.getOutput()).getElementType());
    if (!from || !to || from.getWidth() >= to.getWidth())
      return;
    Operation *clone = OpBuilder(operand.getOwner()).clone(*cast);
    operand.set(clone->getResult(0));
    group.add(clone);
  }

  /// Draws in what an epilogue computes of zero points and scales, values of rows and of columns: a
  /// kernel of its own would take longer to start than to run, or store as much as the product.
  /// What others read too is cloned.
  void absorbFactors(FusionGroup &group, OpOperand &operand) const {
    group.absorbViews(operand, [&](Operation *op) { return !taken.contains(op); });
    OpOperand *source = &operand;
    for (Operation *view = source->get().getDefiningOp();
         view && group.contains(view) && view->hasTrait<View>();
         view = source->get().getDefiningOp())
      source = &view->getOpOperand(0);
    Operation *op = source->get().getDefiningOp();
    if (isTaken(op) || group.contains(op) || !op->hasTrait<Elementwise>() ||
        !llvm::all_of(op->getOperands(), isRowOrColumn))
      return;
    if (!llvm::hasSingleElement(op->getUses())) {
      op = OpBuilder(source->getOwner()).clone(*op);
      source->set(op->getResult(0));
    }
    group.add(op);
    for (OpOperand &input : op->getOpOperands())
      absorbFactors(group, input);
  }

  /// Draws in what is compared of positions alone: each thread knows its own.
  static void absorbPositions(FusionGroup &group, OpOperand &operand) {
    Operation *op = operand.get().getDefiningOp();
    if (!op || group.contains(op) || !isa<LessOp, LessEqualOp>(op) ||
        !llvm::all_of(op->getOperands(), isPosition))
      return;
    if (!llvm::hasSingleElement(op->getUses())) {
      op = OpBuilder(operand.getOwner()).clone(*op);
      operand.set(op->getResult(0));
    }
    group.add(op);
  }

  /// A literal, or counted along an axis.
  static bool isPosition(Value value) {
    while (value.getDefiningOp() && value.getDefiningOp()->hasTrait<View>())
      value = value.getDefiningOp()->getOperand(0);
    return isLiteral(value) || value.getDefiningOp<IotaOp>();
  }

  /// Has the weights stored as the templates ask for them.
  void layOut(GemmKernel &kernel) {
    WeightLayout layout = gemmWeightLayout(kernel.products, isRefit);
    if (layout == WeightLayout::asGiven)
      return;
    MatmulOp first = kernel.products.front();
    SmallVector<Value> weights;
    SmallVector<Location> locations;
    for (MatmulOp matmul : kernel.products) {
      moveBefore(matmul.getRhs(), first);
      weights.push_back(matmul.getRhs());
      locations.push_back(matmul.getLoc());
    }
    OpBuilder builder(first);
    LaidOutWeights laidOut =
        layOutWeights(builder, builder.getFusedLoc(locations), weights, layout);
    taken.insert(laidOut.stored.getDefiningOp()); // it is no view to draw in
    for (Operation *view : laidOut.views)
      kernel.group.add(view);
    for (auto [matmul, weight] : llvm::zip_equal(kernel.products, laidOut.weights))
      matmul.getRhsMutable().assign(weight);
  }

  /// The operand at the end of the chain of members that are views behind `operand`.
  static OpOperand *endOfViews(const FusionGroup &group, OpOperand *operand) {
    for (Operation *op = operand->get().getDefiningOp();
         op && group.contains(op) && op->hasTrait<View>(); op = operand->get().getDefiningOp())
      operand = &op->getOpOperand(0);
    return operand;
  }

  /// The image in zeros is read without them: its pixels lie as they are read, channel by channel, in
  /// whole words. Else one kernel that brings the image into that form costs less than reading it so
  /// for every window.
  static bool isReadInPlace(ConcatOp padding) {
    Value image = padding.getOutput();
    for (auto concat = padding; concat; concat = image.getDefiningOp<ConcatOp>()) {
      std::optional<unsigned> padded = operandPaddedByZeros(concat);
      bool alongChannels = concat.getAxis() + 1 == tensorType(image).getRank();
      if (!padded || alongChannels)
        return false;
      image = concat.getInputs()[*padded];
    }
    TensorType type = tensorType(image);
    std::optional<int64_t> channels = type.getDim(type.getRank() - 1).asConstant();
    while (auto reshape = image.getDefiningOp<ReshapeOp>())
      image = reshape.getInput();
    Operation *producer = image.getDefiningOp();
    return channels && *channels * type.getElementType().getIntOrFloatBitWidth() % 32 == 0 &&
           !(producer && producer->hasTrait<View>());
  }

  /// Draws in the zeros around an image that the left operand reads in windows.
  void absorbPadding(FusionGroup &group, OpOperand &operand) const {
    for (OpOperand *source = endOfViews(group, &operand);;) {
      auto padding = source->get().getDefiningOp<ConcatOp>();
      if (!padding || isTaken(padding) || !isReadInPlace(padding))
        return;
      if (!padding->hasOneUse()) {
        padding = cast<ConcatOp>(OpBuilder(source->getOwner()).clone(*padding));
        source->set(padding.getOutput());
      }
      group.add(padding);
      for (OpOperand &input : padding->getOpOperands())
        group.absorbViews(input, [&](Operation *op) { return !taken.contains(op); });
      source = endOfViews(group, &padding->getOpOperand(*operandPaddedByZeros(padding)));
    }
  }

  /// Draws in the views of what the members read. A pair goes on reading one left operand.
  void absorbViews(GemmKernel &kernel) {
    FusionGroup &group = kernel.group;
    MatmulOp first = kernel.products.front();
    auto absorb = [&](Operation *op, OpOperand &operand) {
      group.absorbViews(operand, [&](Operation *producer) {
        // The main loop reads tensors: a literal may only be part of an epilogue.
        bool isReadable = producer->hasTrait<View>() || !isa<MatmulOp>(op);
        return isReadable && !taken.contains(producer);
      });
    };
    SmallVector<Operation *> members(group.ops());
    bool isOrdered = isStoredInOrder(first.getLhs()); // by the norm that computes it
    if (!isOrdered) {
      absorb(first, first.getLhsMutable());
      absorbPadding(group, first.getLhsMutable());
    }
    for (MatmulOp matmul : kernel.products)
      matmul.getLhsMutable().assign(first.getLhs());
    for (Operation *op : members)
      for (OpOperand &operand : op->getOpOperands())
        if (!isOrdered || operand.get() != first.getLhs())
          absorb(op, operand);
  }

  void fuse(GemmKernel &kernel) {
    FusionGroup &group = kernel.group;
    SmallVector<Operation *> members(group.ops());
    for (Operation *op : members)
      for (OpOperand &operand : op->getOpOperands())
        if (!isa<MatmulOp>(op) && readsRowStatistic(operand.get().getDefiningOp()))
          absorbNormalized(group, operand);
    for (RowMomentsOp moments : momentsOfRows(group))
      group.add(moments);
    members.assign(group.ops().begin(), group.ops().end());
    bool multipliesBytes =
        tensorType(kernel.products.front().getLhs()).getElementType().isInteger(8);
    for (Operation *op : members)
      if (op->hasTrait<Elementwise>())
        for (OpOperand &operand : op->getOpOperands()) {
          absorbWidening(group, operand);
          absorbPositions(group, operand);
          absorbDequantization(group, operand,
                               [&](Operation *each) { return !taken.contains(each); });
          if (multipliesBytes)
            absorbFactors(group, operand);
        }
    layOut(kernel);
    absorbViews(kernel);
    for (Operation *op : group.ops())
      taken.erase(op);
    group.outline(FusionKind::gemm);
  }

  GemmPlan plan;
  bool isRefit;
  Remarks &remarks;
  llvm::DenseSet<Operation *> taken; // by kernels that are still to be formed, or by the plan
};

struct FuseGemm : impl::FuseGemmBase<FuseGemm> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    eraseDeadOps(getOperation()); // all that a kernel holds must lead to its result
    for (auto function : getOperation().getOps<func::FuncOp>())
      GemmFusion(function, getOperation()->hasAttr(kRefit), remarks).run();
  }
};

} // namespace
} // namespace smelt::passes
