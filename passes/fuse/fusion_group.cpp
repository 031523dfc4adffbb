#include "passes/fuse/fusion_group.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// Kernels of more ops gain nothing, and take their compiler ever longer.
constexpr size_t kMostFusedOps = 256;

/// A kernel that joins more tensors spends its time on comparing positions.
constexpr size_t kMostJoined = 16;

/// A bound on the walk behind each op: weights are cast, scaled, transposed and joined, in far
/// fewer ops; what is computed from constants at greater length is computed by kernels.
constexpr size_t kMostWeightOps = 128;

} // namespace

bool isLiteral(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return dense && (dense.isSplat() || dense.getNumElements() == 1);
}

bool isWeightExpression(Value value) {
  SmallVector<Value> pending{value};
  llvm::SmallDenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || op->getNumResults() != 1 || isa<FusionOp, DimsOp, IotaOp>(op) ||
        !tensorType(op->getResult(0)).isStatic() || seen.size() > kMostWeightOps)
      return false;
    if (seen.insert(op).second)
      pending.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

bool isConcatenationOfMany(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  return concat && concat.getInputs().size() > kMostJoined;
}

bool isPointwise(Operation *op) {
  if (isConcatenationOfMany(op))
    return false;
  return op->hasTrait<Elementwise>() || op->hasTrait<View>() ||
         isa<ConcatOp, GatherOp, GatherElementsOp, GatherNdOp, IotaOp, DimsOp>(op);
}

bool isFree(Operation *op) {
  return op && isa<func::FuncOp>(op->getParentOp()) && op->getNumResults() > 0 &&
         !isa<FusionOp, WeightOp, ConstantOp, BufferOp, ContentsOp>(op) &&
         !isWeightExpression(op->getResult(0));
}

SmallVector<Value> FusionGroup::liveOuts() const {
  SmallVector<Value> values;
  for (Operation *op : members)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !contains(user); }))
        values.push_back(result);
  llvm::sort(values, [](Value a, Value b) {
    if (a.getDefiningOp() == b.getDefiningOp())
      return cast<OpResult>(a).getResultNumber() < cast<OpResult>(b).getResultNumber();
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  return values;
}

void FusionGroup::absorbViews(OpOperand &first, llvm::function_ref<bool(Operation *)> accept) {
  for (OpOperand *operand = &first;;) {
    Operation *producer = operand->get().getDefiningOp();
    if (!producer || contains(producer))
      return;
    bool source = isLiteral(operand->get()) || isa<IotaOp, DimsOp>(producer);
    if (!(source || producer->hasTrait<View>()) || (accept && !accept(producer)))
      return;
    if (!llvm::hasSingleElement(producer->getUses())) {
      producer = OpBuilder(operand->getOwner()).clone(*producer);
      operand->set(producer->getResult(0));
    }
    add(producer);
    if (source)
      return;
    operand = &producer->getOpOperand(0);
  }
}

void FusionGroup::absorbProducers(OpOperand &first, llvm::function_ref<bool(Operation *)> accept) {
  SmallVector<OpOperand *> pending{&first};
  while (!pending.empty() && members.size() < kMostFusedOps) {
    OpOperand &operand = *pending.pop_back_val();
    absorbViews(operand);
    Operation *op = operand.get().getDefiningOp();
    while (op && contains(op) && op->hasTrait<View>())
      op = op->getOperand(0).getDefiningOp();
    if (!isFree(op) || contains(op) || !isPointwise(op) || !accept(op))
      continue;
    add(op);
    for (OpOperand &input : llvm::reverse(op->getOpOperands()))
      pending.push_back(&input);
  }
}

bool FusionGroup::isAcyclic() const {
  // Walk down from the users outside; reaching a member again is a cycle.
  SmallVector<Operation *> pending;
  for (Value value : liveOuts())
    for (Operation *user : value.getUsers())
      if (!contains(user))
        pending.push_back(user);
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (contains(op))
      return false;
    if (seen.insert(op).second)
      pending.append(op->user_begin(), op->user_end());
  }
  return true;
}

FusionOp FusionGroup::outline(FusionKind kind) {
  SmallVector<Operation *> ordered(members.begin(), members.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  SmallVector<Value> results = liveOuts();
  llvm::SetVector<Value> inputs;
  SmallVector<Location> locations;
  for (Operation *op : ordered) {
    if (!isa<ConstantOp>(op))
      locations.push_back(op->getLoc());
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp(); !producer || !contains(producer))
        inputs.insert(operand);
  }
  OpBuilder builder(ordered.back());
  builder.setInsertionPointAfter(ordered.back());
  auto fusion =
      FusionOp::create(builder, builder.getFusedLoc(locations), TypeRange(ValueRange(results)),
                       kind, ValueRange(inputs.getArrayRef()));
  Block &block = fusion.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, block.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(&block);
  for (Operation *op : ordered)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded =
      llvm::map_to_vector(results, [&](Value value) { return mapping.lookup(value); });
  YieldOp::create(builder, fusion.getLoc(), yielded);
  for (auto [value, replacement] : llvm::zip(results, fusion.getResults()))
    value.replaceUsesWithIf(replacement, [&](OpOperand &use) {
      return use.getOwner() != fusion && !contains(use.getOwner());
    });
  for (Operation *op : llvm::reverse(ordered)) {
    op->dropAllUses();
    op->erase();
  }
  members.clear();
  return fusion;
}

void growEpilogue(FusionGroup &group, Value value, llvm::function_ref<bool(Operation *)> accept) {
  // Ops taken since the group last had one live-out; given back if it never has one again.
  SmallVector<Operation *> tentative;
  SmallVector<Value> frontier{value};
  while (!frontier.empty()) {
    Operation *next = nullptr;
    for (Value result : frontier)
      for (Operation *user : result.getUsers())
        if (!group.contains(user) && isFree(user) && accept(user) &&
            (!next || user->isBeforeInBlock(next)))
          next = user;
    if (!next)
      break;
    group.add(next);
    tentative.push_back(next);
    if (!group.isAcyclic())
      break;
    frontier = group.liveOuts();
    if (frontier.size() == 1)
      tentative.clear();
    if (frontier.size() > 3 || tentative.size() > 16)
      break;
  }
  for (size_t i = 0; i < tentative.size(); ++i)
    group.removeLast();
}

LogicalResult sortFunction(func::FuncOp function) {
  return sortTopologically(&function.getBody().front())
             ? success()
             : function.emitError("fusions form a cycle; this is a bug in Smelt");
}

} // namespace smelt::passes
