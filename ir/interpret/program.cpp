#include "ir/interpret/program.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace smelt::interpret {

namespace {

SmallVector<Operation *> opsOf(Block &block) {
  return llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
}

/// Whether the op's attributes mention a size symbol; types are looked at apart.
bool hasSymbolicAttributes(Operation *op) {
  auto isSymbolic = [](Attribute dim) { return !Dim(cast<DimAttr>(dim)).asConstant(); };
  if (auto dims = dyn_cast<DimsOp>(op))
    return llvm::any_of(dims.getDims(), isSymbolic);
  if (auto slice = dyn_cast<SliceOp>(op))
    return llvm::any_of(slice.getStarts(), isSymbolic);
  if (auto append = dyn_cast<AppendOp>(op))
    return isSymbolic(append.getStart());
  return false;
}

bool isStatic(Value value) {
  auto type = dyn_cast<TensorType>(value.getType());
  return type && type.isStatic();
}

/// Fails, with a diagnostic, where `output` depends on a block argument that is not known.
FailureOr<SmallVector<Operation *>> collectSlice(Value output, ArrayRef<Value> known) {
  llvm::SmallDenseSet<Value> stop(known.begin(), known.end());
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> open{output};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (stop.contains(value))
      continue;
    Operation *op = value.getDefiningOp();
    if (!op)
      return emitError(value.getLoc(),
                       "cannot evaluate a value that depends on an argument of unknown value"),
             failure();
    if (ops.insert(op))
      open.append(op->operand_begin(), op->operand_end());
  }
  SmallVector<Operation *> ordered = ops.takeVector();
  if (llvm::any_of(ordered,
                   [&](Operation *op) { return op->getBlock() != ordered.front()->getBlock(); }))
    return emitError(output.getLoc(), "cannot evaluate a value that depends on several blocks"),
           failure();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

} // namespace

Program::Program(Block &block, bool roundStored)
    : Program(opsOf(block), block.getArguments(), block.getTerminator()->getOperands()) {
  this->roundStored = roundStored;
}

FailureOr<Program> Program::slice(Value output, ArrayRef<Value> arguments) {
  FailureOr<SmallVector<Operation *>> ops = collectSlice(output, arguments);
  if (failed(ops))
    return failure();
  return Program(*ops, arguments, output);
}

Program::Program(ArrayRef<Operation *> ops, ValueRange arguments, ValueRange outputValues)
    : argumentCount(arguments.size()) {
  for (Value argument : arguments)
    addSlot(argument);
  for (Operation *op : ops)
    addStep(op);
  outputs = llvm::map_to_vector(outputValues, [&](Value value) { return slotOf.lookup(value); });
  findLastUses();
}

unsigned Program::addSlot(Value value) {
  slotOf[value] = isConstantSlot.size();
  isConstantSlot.push_back(false);
  return isConstantSlot.size() - 1;
}

void Program::addStep(Operation *op) {
  Step step{op, {}, static_cast<unsigned>(isConstantSlot.size()), false};
  for (Value operand : op->getOperands())
    step.operands.push_back({slotOf.lookup(operand), false});
  step.constant = llvm::all_of(step.operands, [&](Use use) { return isConstantSlot[use.slot]; }) &&
                  llvm::all_of(op->getResults(), isStatic) && op->getNumRegions() == 0 &&
                  !hasSymbolicAttributes(op);
  // A value that is an argument keeps the argument's slot, whatever op defines it.
  for (Value result : op->getResults()) {
    bool isArgument = slotOf.contains(result);
    unsigned argumentSlot = isArgument ? slotOf[result] : 0;
    isConstantSlot[addSlot(result)] = step.constant;
    if (isArgument)
      slotOf[result] = argumentSlot;
  }
  steps.push_back(std::move(step));
}

void Program::findLastUses() {
  // Constants outlive a run where anything but another constant step reads them.
  std::vector<bool> seen(isConstantSlot.size());
  for (unsigned slot : outputs)
    seen[slot] = true;
  for (const Step &step : steps)
    for (Use use : step.operands)
      if (!step.constant && isConstantSlot[use.slot])
        seen[use.slot] = true;
  for (Step &step : llvm::reverse(steps)) {
    for (Use &use : llvm::reverse(step.operands)) {
      use.last = !seen[use.slot];
      seen[use.slot] = true;
    }
  }
}

LogicalResult Program::execute(const Step &step, Evaluator &evaluator) {
  SmallVector<HostTensor> operands;
  for (Use use : step.operands)
    operands.push_back(use.last ? std::move(slots[use.slot]) : slots[use.slot]);
  FailureOr<SmallVector<HostTensor>> results = evaluator.evaluate(step.op, operands);
  if (failed(results))
    return failure();
  for (auto [index, result] : llvm::enumerate(*results)) {
    if (Type type = result.getElementType(); roundStored && (type.isF16() || type.isBF16()))
      roundValues(result, type);
    slots[step.firstResult + index] = std::move(result);
  }
  return success();
}

LogicalResult Program::executeAll(bool constant, Evaluator &evaluator, StepHandler progress,
                                  size_t &done) {
  for (const Step &step : steps) {
    if (step.constant != constant)
      continue;
    if (failed(execute(step, evaluator)))
      return failure();
    ++done;
    if (progress && !progress(done, steps.size()))
      return failure();
  }
  return success();
}

FailureOr<SmallVector<HostTensor>> Program::run(ArrayRef<HostTensor> arguments,
                                                Evaluator &evaluator, StepHandler progress) {
  size_t done = 0;
  slots.resize(isConstantSlot.size());
  if (!prepared && failed(executeAll(/*constant=*/true, evaluator, progress, done)))
    return failure();
  prepared = true;
  done = llvm::count_if(steps, [](const Step &step) { return step.constant; });
  llvm::copy(arguments, slots.begin());
  LogicalResult status = executeAll(/*constant=*/false, evaluator, progress, done);
  FailureOr<SmallVector<HostTensor>> results = failure();
  if (succeeded(status))
    results = llvm::map_to_vector(outputs, [&](unsigned slot) { return slots[slot]; });
  for (auto [slot, isConstant] : llvm::zip(slots, isConstantSlot))
    if (!isConstant)
      slot = HostTensor();
  return results;
}

} // namespace smelt::interpret
