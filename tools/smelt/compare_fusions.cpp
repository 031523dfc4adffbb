#include "tools/smelt/compare_fusions.h"

#include "ir/interpret/interpret.h"
#include "runtime/text.h"
#include "tools/smelt/error_statistics.h"
#include "tools/smelt/interpreter_array.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace smelt::tools {

constexpr ElementType kArithmetic[] = {ElementType::f64, ElementType::f64, ElementType::f32,
                                       ElementType::f16};

/// How coarse a type's values are: 16-bit floats, then float32, then float64, then the rest.
static int coarseness(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor || !isa<FloatType>(tensor.getElementType()))
    return 0;
  unsigned width = tensor.getElementType().getIntOrFloatBitWidth();
  return width == 64 ? 1 : width == 32 ? 2 : 3;
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

/// Makes every fusion's outputs results of @main, after those that it has. Returns them in order.
static SmallVector<Value> exposeIntermediates(func::FuncOp main) {
  Operation *terminator = main.getBody().front().getTerminator();
  SmallVector<Value> added;
  for (auto fusion : main.getOps<FusionOp>())
    llvm::append_range(added, fusion.getOutputs());
  size_t first = terminator->getNumOperands();
  SmallVector<Value> results(terminator->getOperands());
  llvm::append_range(results, added);
  terminator->setOperands(results);
  // setType, unlike setFunctionType, makes room for the new results' attributes.
  main.setType(FunctionType::get(main.getContext(), main.getArgumentTypes(),
                                 ValueRange(results).getTypes()));
  for (size_t i = first; i < results.size(); ++i)
    main.setResultAttr(static_cast<unsigned>(i), "smelt.name",
                       StringAttr::get(main.getContext(), joinText("intermediate ", i - first)));
  return added;
}

namespace {

/// Judges fusions one by one from the values that the GPU computed.
class FusionJudge {
public:
  FusionJudge(Model &fused, func::FuncOp main, bool tf32) : fused(fused), main(main), tf32(tf32) {}

  Status know(Value value, const Array &array) {
    SMELT_ASSIGN_OR_RETURN(HostTensor tensor,
                           toInterpreter(array, value.getType(), Precision::f64));
    known.insert({value, tensor});
    arrays.insert({value, &array});
    return {};
  }

  Result<std::vector<FusionError>> judgeAll(ArrayRef<Shape> inputShapes) {
    FailureOr<Symbols> symbols = solveSymbols(main, inputShapes);
    if (failed(symbols))
      return failure("the symbols have no values");
    std::vector<FusionError> errors;
    size_t index = 0;
    for (auto fusion : main.getOps<FusionOp>()) {
      SMELT_RETURN_IF_ERROR(judge(fusion, index++, *symbols, errors));
    }
    return errors;
  }

private:
  Status failure(const char *what) const {
    return fused.diagnostics().asStatus(StatusCode::kInternal, what);
  }

  Status judge(FusionOp fusion, size_t index, const Symbols &symbols,
               std::vector<FusionError> &errors) {
    EvaluateOptions options{Precision::f64, &fused.weights(), 0};
    SmallVector<HostTensor> operands;
    for (Value input : fusion.getInputs()) {
      FailureOr<HostTensor> operand = evaluate(input, known, symbols, options);
      if (failed(operand))
        return failure("an input of a fusion cannot be evaluated");
      operands.push_back(*operand);
    }
    auto references = evaluate(fusion.getOperation(), operands, symbols, options);
    if (failed(references))
      return failure("a fusion cannot be evaluated");
    for (auto [output, reference] : llvm::zip(fusion.getOutputs(), *references)) {
      const Array &actual = *arrays.at(output);
      ErrorStatistics error = compareTensors(actual, toArray(reference, actual.type));
      double tolerance =
          defaultTolerance(isFloat(actual.type) ? arithmeticOf(fusion) : actual.type, tf32);
      errors.push_back({index, stringifyFusionKind(fusion.getKind()).str(),
                        locationText(fusion.getLoc()), error.relativeNorm, error.maxAbsolute,
                        error.relativeNorm <= tolerance});
    }
    return {};
  }

  Model &fused;
  func::FuncOp main;
  bool tf32;
  llvm::DenseMap<Value, HostTensor> known;
  llvm::DenseMap<Value, const Array *> arrays;
};

} // namespace

Result<std::vector<FusionError>> compareFusions(Model &fused, const std::vector<Array> &inputs,
                                                bool tf32, const RunFused &run) {
  auto main = fused.module().lookupSymbol<func::FuncOp>("main");
  size_t modelOutputs = main.getNumResults();
  SmallVector<Value> intermediates = exposeIntermediates(main);
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> outputs, run(fused, inputs));
  FusionJudge judge(fused, main, tf32);
  SmallVector<Shape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    shapes.emplace_back(inputs[i].shape.begin(), inputs[i].shape.end());
    SMELT_RETURN_IF_ERROR(judge.know(main.getArgument(static_cast<unsigned>(i)), inputs[i]));
  }
  for (size_t i = 0; i < intermediates.size(); ++i)
    SMELT_RETURN_IF_ERROR(judge.know(intermediates[i], outputs[modelOutputs + i]));
  return judge.judgeAll(shapes);
}

} // namespace smelt::tools
