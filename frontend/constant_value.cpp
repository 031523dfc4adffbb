#include "frontend/constant_value.h"

#include "frontend/graph_builder.h"
#include "ir/interpret/interpret.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr size_t kMostOps = 512;
/// What is kept as a constant in the IR.
constexpr int64_t kMostFoldedElements = 64;

bool isConstantTensor(Value value, int64_t mostElements) {
  TensorType type = tensorType(value);
  auto count = type.isStatic() ? type.getNumElements().asConstant() : std::nullopt;
  return count && *count <= mostElements && hasArithmetic(type.getElementType());
}

using Ops = llvm::SmallPtrSet<Operation *, 16>;

/// Fills `seen` with the ops that the value is computed by.
bool followsFromConstants(Value value, bool takesWeights, int64_t mostElements,
                          const ValueSet &varying, Ops &seen) {
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || varying.contains(next) || !isConstantTensor(next, mostElements) ||
        (isa<WeightOp>(op) && !takesWeights))
      return false;
    if (auto dims = dyn_cast<DimsOp>(op))
      for (Attribute dim : dims.getDims())
        if (!Dim(cast<DimAttr>(dim)).asConstant())
          return false;
    if (seen.insert(op).second)
      pending.append(op->operand_begin(), op->operand_end());
    if (seen.size() > kMostOps)
      return false;
  }
  return true;
}

} // namespace

std::optional<HostTensor> constantValue(Value value, WeightStore *weights, int64_t mostElements,
                                        const ValueSet &varying) {
  Ops ops;
  if (!value || !followsFromConstants(value, weights != nullptr, mostElements, varying, ops))
    return std::nullopt;
  ScopedDiagnosticHandler silence(value.getContext(), [](Diagnostic &) { return success(); });
  EvaluateOptions options;
  options.weights = weights;
  // While importing, constants stand in a block of their own; a value is evaluated inside one.
  KnownValues known;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (op->getBlock() != value.getParentBlock()) {
        FailureOr<HostTensor> constant = evaluate(result, KnownValues(), Symbols(), options);
        if (failed(constant))
          return std::nullopt;
        known[result] = *constant;
      }
  FailureOr<HostTensor> result = evaluate(value, known, Symbols(), options);
  return failed(result) ? std::nullopt : std::optional(std::move(*result));
}

std::optional<bool> constantBool(Value value) {
  std::optional<HostTensor> known = constantValue(value);
  if (!known || known->getNumElements() != 1)
    return std::nullopt;
  return known->getDouble(0) != 0;
}

Value CarriedConstants::fold(Value value) {
  if (!value || isa_and_present<ConstantOp, DimsOp, WeightOp, IotaOp>(value.getDefiningOp()))
    return value;
  auto count = tensorType(value).getNumElements().asConstant();
  if (!count || *count > kMostFoldedElements)
    return value;
  std::optional<HostTensor> known = constantValue(value, nullptr, kFewElements, varying);
  if (known)
    return build.constant(known->toAttribute());
  next.insert(value);
  return value;
}

} // namespace smelt::frontend
