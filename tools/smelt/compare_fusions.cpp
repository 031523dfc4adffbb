#include "tools/smelt/compare_fusions.h"

#include "ir/interpret/interpret.h"
#include "runtime/text.h"
#include "tools/smelt/cuda_session.h"
#include "tools/smelt/error_statistics.h"
#include "tools/smelt/interpreter_array.h"
#include "tools/smelt/model_flags.h"
#include "tools/smelt/temporary_file.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace smelt::tools {

bool hasHalfFloats(ModuleOp module) {
  auto isHalf = [](Type type) {
    auto tensor = dyn_cast<TensorType>(type);
    return tensor && (tensor.getElementType().isF16() || tensor.getElementType().isBF16());
  };
  WalkResult result = module.walk([&](Operation *op) {
    bool found =
        llvm::any_of(op->getResultTypes(), isHalf) || llvm::any_of(op->getOperandTypes(), isHalf);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
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
  main.setFunctionType(FunctionType::get(main.getContext(), main.getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  for (size_t i = first; i < results.size(); ++i)
    main.setResultAttr(static_cast<unsigned>(i), "smelt.name",
                       StringAttr::get(main.getContext(), joinText("intermediate ", i - first)));
  return added;
}

static Result<std::vector<Array>> runOnGpu(Model &fused, const std::vector<Array> &inputs,
                                           bool tf32) {
  SMELT_ASSIGN_OR_RETURN(std::string architecture, deviceArchitecture());
  SMELT_ASSIGN_OR_RETURN(TemporaryFile plan, TemporaryFile::create("plan"));
  SMELT_RETURN_IF_ERROR(build(fused, {{architecture}, tf32}, plan.path()));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<CudaSession> session, CudaSession::open(plan.path()));
  return session->run(inputs);
}

namespace {

/// Judges fusions one by one from the values that the GPU computed.
class FusionJudge {
public:
  FusionJudge(Model &fused, func::FuncOp main) : fused(fused), main(main) {}

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
      errors.push_back({index, stringifyFusionKind(fusion.getKind()).str(),
                        locationText(fusion.getLoc()), error.relativeNorm, error.maxAbsolute});
    }
    return {};
  }

  Model &fused;
  func::FuncOp main;
  llvm::DenseMap<Value, HostTensor> known;
  llvm::DenseMap<Value, const Array *> arrays;
};

} // namespace

Result<std::vector<FusionError>> compareFusions(Model &fused, const std::vector<Array> &inputs,
                                                bool tf32) {
  auto main = fused.module().lookupSymbol<func::FuncOp>("main");
  size_t modelOutputs = main.getNumResults();
  SmallVector<Value> intermediates = exposeIntermediates(main);
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> outputs, runOnGpu(fused, inputs, tf32));
  FusionJudge judge(fused, main);
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
