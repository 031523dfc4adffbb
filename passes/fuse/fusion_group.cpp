#include "passes/fuse/fusion_group.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace smelt::passes {

bool isFree(Operation *op) {
  return op && isa<func::FuncOp>(op->getParentOp()) && op->getNumResults() > 0 &&
         !isa<FusionOp, WeightOp, ConstantOp, BufferOp, ContentsOp>(op) &&
         !isWeightExpression(op->getResult(0));
}

/// The uses of `op`'s results by members of `group`.
static SmallVector<OpOperand *> usesInside(const FusionGroup &group, Operation *op) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : op->getUses())
    if (group.contains(use.getOwner()))
      uses.push_back(&use);
  return uses;
}

void FusionGroup::add(Operation *op) {
  if (members.insert(op))
    size.add(op, usesInside(*this, op));
}

void FusionGroup::removeLast() { size.removeLast(members.pop_back_val()); }

size_t FusionGroup::countInputs(Operation *added) const {
  llvm::SmallDenseSet<Value, 32> inputs;
  auto count = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          !isLiteral(operand) && (!producer || (producer != added && !contains(producer))))
        inputs.insert(operand);
  };
  llvm::for_each(members, count);
  count(added);
  return inputs.size();
}

bool FusionGroup::fits(Operation *op, ArrayRef<OpOperand *> uses) {
  // A concatenation of many becomes several kernels, each of a few inputs.
  bool isCut = isConcatenationOfMany(members.front());
  return size.fits(op, uses, isCut ? 0 : countInputs(op));
}

bool FusionGroup::fits(Operation *op) { return fits(op, usesInside(*this, op)); }

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
    // Rows whose moments are stored beside them are where a kernel ends.
    if (llvm::any_of(producer->getUsers(), llvm::IsaPred<RowMomentsOp>))
      return;
    bool source = isLiteral(operand->get()) || isa<IotaOp, DimsOp>(producer);
    if (!(source || producer->hasTrait<View>()) || (accept && !accept(producer)) ||
        !fits(producer, operand))
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
  while (!pending.empty()) {
    OpOperand &operand = *pending.pop_back_val();
    absorbViews(operand);
    Operation *op = operand.get().getDefiningOp();
    while (op && contains(op) && op->hasTrait<View>())
      op = op->getOperand(0).getDefiningOp();
    if (!isFree(op) || contains(op) || !isPointwise(op) || !accept(op) || !fits(op))
      continue;
    add(op);
    for (OpOperand &input : llvm::reverse(op->getOpOperands()))
      pending.push_back(&input);
  }
}

bool FusionGroup::isAcyclic() const {
  // Walk down from the users outside; reaching a member again is a cycle. What stands behind all
  // members leads to none of them.
  Operation *last = members.front();
  for (Operation *op : members)
    last = last->isBeforeInBlock(op) ? op : last;
  SmallVector<Operation *> pending;
  llvm::DenseSet<Operation *> seen;
  auto follow = [&](Operation *op) {
    for (Operation *user : op->getUsers())
      if (!last->isBeforeInBlock(user) && seen.insert(user).second)
        pending.push_back(user);
  };
  for (Operation *op : members)
    for (Operation *user : op->getUsers())
      if (!contains(user) && user->isBeforeInBlock(last) && seen.insert(user).second)
        pending.push_back(user);
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (contains(op))
      return false;
    follow(op);
  }
  return true;
}

std::string describe(const FusionGroup &group) {
  llvm::SetVector<StringRef> names;
  for (Operation *op : group.ops())
    if (!op->hasTrait<View>() && !isa<ConstantOp>(op))
      names.insert(op->getName().stripDialect());
  return names.empty() ? "views" : llvm::join(names, ", ");
}

void moveBefore(Value value, Operation *point) {
  SmallVector<Operation *> late;
  llvm::SmallPtrSet<Operation *, 8> seen;
  auto collect = [&](Value operand) {
    Operation *op = operand.getDefiningOp();
    if (op && point->isBeforeInBlock(op) && seen.insert(op).second)
      late.push_back(op);
  };
  collect(value);
  for (size_t i = 0; i < late.size(); ++i)
    llvm::for_each(late[i]->getOperands(), collect);
  llvm::sort(late, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : late) {
    op->remove();
    point->getBlock()->getOperations().insert(Block::iterator(point), op);
  }
}

/// Moves what reads a result of `fusion` before it, and what depends on that, behind it.
static void moveReadersBehind(FusionOp fusion) {
  SmallVector<Operation *> early;
  llvm::SmallPtrSet<Operation *, 8> seen;
  auto collect = [&](Operation *op) {
    for (Operation *user : op->getUsers())
      if (user->isBeforeInBlock(fusion) && seen.insert(user).second)
        early.push_back(user);
  };
  collect(fusion);
  for (size_t i = 0; i < early.size(); ++i)
    collect(early[i]);
  llvm::sort(early, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  // By removal and insertion: moving within a block would renumber all of it.
  Block *block = fusion->getBlock();
  for (Operation *op : early) {
    op->remove();
    block->getOperations().insert(std::next(Block::iterator(fusion)), op);
  }
}

namespace {

/// What a fusion's results need, in the order of its data flow, wherever the ops stood: so equal
/// layers become equal kernels.
struct Flow {
  SmallVector<Operation *> ops;  // each behind its operands
  llvm::SetVector<Value> inputs; // from outside
};

Flow flowInto(ArrayRef<Value> results, const FusionGroup &group) {
  Flow flow;
  llvm::SmallPtrSet<Operation *, 16> entered;
  SmallVector<std::pair<Operation *, unsigned>> path; // with the operand that is next
  auto enter = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && group.contains(op) && entered.insert(op).second)
      path.push_back({op, 0});
  };
  for (Value result : results) {
    enter(result);
    while (!path.empty()) {
      auto &[op, next] = path.back();
      if (next < op->getNumOperands()) {
        enter(op->getOperand(next++));
      } else {
        flow.ops.push_back(op);
        path.pop_back();
      }
    }
  }
  for (Operation *op : flow.ops)
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp(); !producer || !group.contains(producer))
        flow.inputs.insert(operand);
  return flow;
}

} // namespace

FusionOp FusionGroup::outline(FusionKind kind) {
  SmallVector<Operation *> ordered(members.begin(), members.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  SmallVector<Value> results = liveOuts();
  Flow flow = flowInto(results, *this);
  SmallVector<Location> locations;
  for (Operation *op : ordered)
    if (!isa<ConstantOp>(op))
      locations.push_back(op->getLoc());
  OpBuilder builder(ordered.back());
  builder.setInsertionPointAfter(ordered.back());
  auto fusion =
      FusionOp::create(builder, builder.getFusedLoc(locations), TypeRange(ValueRange(results)),
                       kind, ValueRange(flow.inputs.getArrayRef()));
  Block &block = fusion.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : flow.inputs)
    mapping.map(input, block.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(&block);
  for (Operation *op : flow.ops)
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
  size = {};
  moveReadersBehind(fusion);
  return fusion;
}

namespace {

/// The first reader of `frontier` in the block that is not part of `group` but may be; one that
/// may not is `refused`.
Operation *nextReader(const FusionGroup &group, ArrayRef<Value> frontier,
                      llvm::function_ref<bool(Operation *)> accept, Operation *&refused) {
  Operation *next = nullptr;
  refused = nullptr;
  for (Value result : frontier)
    for (Operation *user : result.getUsers()) {
      if (group.contains(user))
        continue;
      if (!isFree(user) || !accept(user))
        refused = user;
      else if (!next || user->isBeforeInBlock(next))
        next = user;
    }
  return next;
}

} // namespace

Boundary growEpilogue(FusionGroup &group, llvm::function_ref<bool(Operation *)> accept,
                      GrowthLimits limits) {
  // Ops taken since the group last had one live-out; given back if it never has one again.
  SmallVector<Operation *> tentative;
  SmallVector<Value> frontier = group.liveOuts();
  Operation *refused = nullptr;
  Boundary boundary;
  while (Operation *next = nextReader(group, frontier, accept, refused)) {
    if (!group.fits(next)) {
      boundary = {next, "the kernel stays short enough for its compiler"};
      break;
    }
    group.add(next);
    tentative.push_back(next);
    if (!group.isAcyclic()) {
      boundary = {next, "no path leads from the kernel back into it"};
      break;
    }
    frontier = group.liveOuts();
    if (frontier.size() == 1)
      tentative.clear();
    if (frontier.size() > limits.liveOuts || tentative.size() > limits.ops)
      break;
  }
  if (!boundary.reader && !tentative.empty())
    boundary = {tentative.front(), "all readers of the result lead to one value near it"};
  if (!boundary.reader && refused)
    boundary = {refused, "computes element by element, and in no other kernel"};
  for (size_t i = 0; i < tentative.size(); ++i)
    group.removeLast();
  return boundary;
}

} // namespace smelt::passes
