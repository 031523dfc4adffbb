#include "tools/smelt/fused_run.h"

#include "codegen/fusion_numbers.h"
#include "runtime/text.h"
#include "tools/smelt/interpreter_array.h"

using namespace mlir;

namespace smelt::tools {

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

/// Fusions are numbered as they run where nothing looks at what they leave.
FusedRun::FusedRun(Model &fused, func::FuncOp function)
    : fused(&fused), function(function), numbered(codegen::numberedFusions(function)) {}

/// `array` holds the elements of `value`, under whatever shape.
Status FusedRun::know(Value value, Array array) {
  array.shape.clear();
  for (Dim dim : tensorType(value).getShape())
    array.shape.push_back(*evaluateDim(dim, solved));
  SMELT_ASSIGN_OR_RETURN(HostTensor tensor, toInterpreter(array, value.getType(), Precision::f64));
  known.insert({value, tensor});
  arrays.insert({value, std::move(array)});
  return {};
}

Status FusedRun::failure(const char *what) const {
  return fused->diagnostics().asStatus(StatusCode::kInternal, what);
}

Result<FusedRun> FusedRun::make(Model &fused, const std::vector<Array> &inputs,
                                const RunFused &run) {
  FusedRun seen(fused, fused.module().lookupSymbol<func::FuncOp>("main"));
  size_t ownCount = seen.function.getNumResults();
  SmallVector<Exposed> exposed = exposeIntermediates(seen.function);
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> outputs, run(fused, inputs));
  SmallVector<Shape> shapes;
  for (const Array &input : inputs)
    shapes.emplace_back(input.shape.begin(), input.shape.end());
  FailureOr<Symbols> solved = solveSymbols(seen.function, shapes);
  if (failed(solved))
    return seen.failure("the symbols have no values");
  seen.solved = std::move(*solved);
  for (size_t i = 0; i < inputs.size(); ++i)
    SMELT_RETURN_IF_ERROR(
        seen.know(seen.function.getArgument(static_cast<unsigned>(i)), inputs[i]));
  for (const Exposed &output : exposed)
    SMELT_RETURN_IF_ERROR(seen.know(output.value, outputs[output.result]));
  outputs.resize(ownCount);
  seen.ownOutputs = std::move(outputs);
  return seen;
}

Result<SmallVector<HostTensor>> FusedRun::operandsOf(FusionOp fusion) const {
  EvaluateOptions options{Precision::f64, &fused->weights(), 0};
  SmallVector<HostTensor> operands;
  for (Value input : fusion.getInputs()) {
    FailureOr<HostTensor> operand = evaluate(input, known, solved, options);
    if (failed(operand))
      return failure("an input of a fusion cannot be evaluated");
    operands.push_back(*operand);
  }
  return operands;
}

Result<std::vector<Array>> interpretFused(Model &fused, const std::vector<Array> &inputs,
                                          CpuArithmetic arithmetic) {
  compiler::ModelRunner runner(fused, arithmetic);
  SMELT_ASSIGN_OR_RETURN(std::vector<HostTensor> results, runOnCpu(runner, inputs));
  std::vector<Port> ports =
      compiler::signatureOf(fused.module()).outputs; // those that were exposed too
  std::vector<Array> outputs;
  outputs.reserve(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    outputs.push_back(toArray(results[i], ports[i].type));
  return outputs;
}

} // namespace smelt::tools
