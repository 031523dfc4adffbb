#include "tools/smelt/compare_fusions.h"

#include "compiler/diagnostics.h"
#include "tools/smelt/interpreter_array.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace smelt::tools {

constexpr ElementType kArithmetic[] = {ElementType::f64, ElementType::f64, ElementType::f32,
                                       ElementType::f16, ElementType::f8e4m3fn};

/// How coarse a type's values are: floats of 8 bits, then of 16, then float32, then float64, then the rest.
static int coarseness(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor || !isa<FloatType>(tensor.getElementType()))
    return 0;
  unsigned width = tensor.getElementType().getIntOrFloatBitWidth();
  return width == 64 ? 1 : width == 32 ? 2 : width == 16 ? 3 : 4;
}

std::vector<ElementType> arithmeticOf(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  llvm::DenseMap<Value, int> coarsest;
  auto know = [&](Value value, int of) {
    coarsest[value] = std::max(of, coarseness(value.getType()));
  };
  for (BlockArgument argument : main.getArguments())
    know(argument, 0);
  for (Operation &op : main.getBody().front()) {
    int ofOperands = 0;
    for (Value operand : op.getOperands())
      ofOperands = std::max(ofOperands, coarsest.lookup(operand));
    for (Value result : op.getResults())
      know(result, ofOperands);
  }
  std::vector<ElementType> types;
  for (Value output : main.getBody().front().getTerminator()->getOperands())
    types.push_back(kArithmetic[coarsest.lookup(output)]);
  return types;
}

/// The coarsest float type that a fusion reads, computes in or writes.
static ElementType arithmeticOf(FusionOp fusion) {
  int coarsest = 0;
  auto see = [&](auto types) {
    for (Type type : types)
      coarsest = std::max(coarsest, coarseness(type));
  };
  fusion.walk([&](Operation *op) {
    see(op->getOperandTypes());
    see(op->getResultTypes());
  });
  return kArithmetic[coarsest];
}

static Status judge(FusedRun &seen, FusionOp fusion, size_t index, const Tolerances &tolerances,
                    std::vector<FusionError> &errors) {
  EvaluateOptions options{Precision::f64, &seen.model().weights(), 0};
  SMELT_ASSIGN_OR_RETURN(SmallVector<HostTensor> operands, seen.operandsOf(fusion));
  auto references = evaluate(fusion.getOperation(), operands, seen.symbols(), options);
  if (failed(references))
    return seen.failure("a fusion cannot be evaluated");
  for (auto [output, reference] : llvm::zip(fusion.getOutputs(), *references)) {
    const Array &actual = seen.arrayOf(output);
    ErrorStatistics error = compareTensors(actual, toArray(reference, actual.type));
    errors.push_back({index, stringifyFusionKind(fusion.getKind()).str(),
                      locationText(fusion.getLoc()), error.relativeNorm, error.maxAbsolute,
                      tolerances.of(actual.type, arithmeticOf(fusion))});
  }
  return {};
}

Result<std::vector<FusionError>> compareFusions(FusedRun &seen, const Tolerances &tolerances) {
  std::vector<FusionError> errors;
  for (auto [number, fusion] : llvm::enumerate(seen.fusions()))
    SMELT_RETURN_IF_ERROR(judge(seen, fusion, number, tolerances, errors));
  return errors;
}

} // namespace smelt::tools
