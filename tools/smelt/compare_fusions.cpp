#include "tools/smelt/compare_fusions.h"

#include "ir/interpret/interpret.h"
#include "runtime/text.h"
#include "tools/smelt/error_statistics.h"
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

namespace {

/// A fusion's output and the result of @main that has its elements.
struct Exposed {
  Value value;
  size_t result;
};

/// What `value` renames.
Value renamed(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

} // namespace

/// Makes those outputs of fusions that are no results of @main results behind those that it has.
/// Returns where each is found, in order.
static SmallVector<Exposed> exposeIntermediates(func::FuncOp main) {
  Operation *terminator = main.getBody().front().getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  size_t first = results.size();
  llvm::DenseMap<Value, size_t> resultOf;
  for (auto [index, result] : llvm::enumerate(results))
    resultOf.insert({renamed(result), index});
  SmallVector<Exposed> exposed;
  for (auto fusion : main.getOps<FusionOp>())
    for (Value output : fusion.getOutputs()) {
      auto [entry, isNew] = resultOf.insert({output, results.size()});
      if (isNew)
        results.push_back(output);
      exposed.push_back({output, entry->second});
    }
  terminator->setOperands(results);
  // setType, unlike setFunctionType, makes room for the new results' attributes.
  main.setType(FunctionType::get(main.getContext(), main.getArgumentTypes(),
                                 ValueRange(results).getTypes()));
  for (size_t i = first; i < results.size(); ++i)
    main.setResultAttr(static_cast<unsigned>(i), "smelt.name",
                       StringAttr::get(main.getContext(), joinText("intermediate ", i - first)));
  return exposed;
}

namespace {

/// Judges fusions one by one from the values that the GPU computed.
class FusionJudge {
public:
  FusionJudge(Model &fused, func::FuncOp main, bool tf32) : fused(fused), main(main), tf32(tf32) {}

  Status solve(ArrayRef<Shape> inputShapes) {
    FailureOr<Symbols> solved = solveSymbols(main, inputShapes);
    if (failed(solved))
      return failure("the symbols have no values");
    symbols = std::move(*solved);
    return {};
  }

  /// `array` holds the elements of `value`, under whatever shape. After solve().
  Status know(Value value, Array array) {
    array.shape.clear();
    for (Dim dim : tensorType(value).getShape())
      array.shape.push_back(*evaluateDim(dim, symbols));
    SMELT_ASSIGN_OR_RETURN(HostTensor tensor,
                           toInterpreter(array, value.getType(), Precision::f64));
    known.insert({value, tensor});
    arrays.insert({value, std::move(array)});
    return {};
  }

  Result<std::vector<FusionError>> judgeAll() {
    std::vector<FusionError> errors;
    size_t index = 0;
    for (auto fusion : main.getOps<FusionOp>())
      SMELT_RETURN_IF_ERROR(judge(fusion, index++, errors));
    return errors;
  }

private:
  Status failure(const char *what) const {
    return fused.diagnostics().asStatus(StatusCode::kInternal, what);
  }

  Status judge(FusionOp fusion, size_t index, std::vector<FusionError> &errors) {
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
      const Array &actual = arrays.at(output);
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
  Symbols symbols;
  llvm::DenseMap<Value, HostTensor> known;
  llvm::DenseMap<Value, Array> arrays;
};

} // namespace

Result<std::vector<FusionError>> compareFusions(Model &fused, const std::vector<Array> &inputs,
                                                bool tf32, const RunFused &run) {
  auto main = fused.module().lookupSymbol<func::FuncOp>("main");
  SmallVector<Exposed> exposed = exposeIntermediates(main);
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> outputs, run(fused, inputs));
  FusionJudge judge(fused, main, tf32);
  SmallVector<Shape> shapes;
  for (const Array &input : inputs)
    shapes.emplace_back(input.shape.begin(), input.shape.end());
  SMELT_RETURN_IF_ERROR(judge.solve(shapes));
  for (size_t i = 0; i < inputs.size(); ++i)
    SMELT_RETURN_IF_ERROR(judge.know(main.getArgument(static_cast<unsigned>(i)), inputs[i]));
  for (const Exposed &output : exposed)
    SMELT_RETURN_IF_ERROR(judge.know(output.value, outputs[output.result]));
  return judge.judgeAll();
}

} // namespace smelt::tools
