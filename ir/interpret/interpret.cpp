#include "ir/interpret/interpret.h"

#include "ir/interpret/program.h"

using namespace mlir;

namespace smelt {

using interpret::Evaluator;
using interpret::Program;

namespace {

bool sameType(const HostTensor &tensor, TensorType type) {
  return tensor && tensor.getElementType() == type.getElementType();
}

/// The inputs in the storage of the arithmetic.
FailureOr<SmallVector<HostTensor>> convertInputs(func::FuncOp function, ArrayRef<HostTensor> inputs,
                                                 Precision precision) {
  SmallVector<HostTensor> converted;
  for (auto [index, input] : llvm::enumerate(inputs)) {
    auto type = cast<TensorType>(function.getArgumentTypes()[index]);
    if (!sameType(input, type))
      return function.emitError() << "input '" << argumentName(function, index)
                                  << "' must have element type " << type.getElementType()
                                  << ", got " << input.getElementType();
    converted.push_back(input.withStorage(storageFor(type.getElementType(), precision)));
  }
  return converted;
}

SmallVector<HostTensor> withPrecision(ArrayRef<HostTensor> tensors, Precision precision) {
  return llvm::map_to_vector(tensors, [&](const HostTensor &tensor) {
    return tensor.withStorage(storageFor(tensor.getElementType(), precision));
  });
}

/// What the one-shot evaluations set up and tear down.
struct Session {
  Session(const Symbols &symbols, const EvaluateOptions &options)
      : threads(std::max(1u, options.threads)),
        evaluator(symbols, options.precision, threads, options.weights) {}

  ThreadPool threads;
  Evaluator evaluator;
};

} // namespace

struct Interpreter::State {
  State(ModuleOp module, WeightStore &weights, InterpretOptions options)
      : module(module), weights(weights), options(options), threads(options.threads) {}

  ModuleOp module;
  WeightStore &weights;
  InterpretOptions options;
  ThreadPool threads;
  std::optional<Program> program; // made in the first run
  bool ranOutOfMemory = false;
};

Interpreter::Interpreter(ModuleOp module, WeightStore &weights, InterpretOptions options)
    : state(std::make_unique<State>(module, weights, options)) {}

Interpreter::~Interpreter() = default;

bool Interpreter::ranOutOfMemory() const { return state->ranOutOfMemory; }

FailureOr<std::vector<HostTensor>> Interpreter::run(ArrayRef<HostTensor> inputs,
                                                    StepHandler progress) {
  auto function = state->module.lookupSymbol<func::FuncOp>("main");
  if (!function || !function.getBody().hasOneBlock())
    return state->module.emitError("has no function @main of one block"), failure();
  SmallVector<Shape> shapes =
      llvm::map_to_vector(inputs, [](const HostTensor &input) { return Shape(input.getShape()); });
  FailureOr<Symbols> symbols = solveSymbols(function, shapes);
  if (failed(symbols) || failed(checkGuards(state->module, *symbols)))
    return failure();
  FailureOr<SmallVector<HostTensor>> arguments =
      convertInputs(function, inputs, state->options.precision);
  if (failed(arguments))
    return failure();
  if (!state->program)
    state->program.emplace(function.getBody().front(), state->options.roundStored);
  Evaluator evaluator(*symbols, state->options.precision, state->threads, &state->weights);
  FailureOr<SmallVector<HostTensor>> results = state->program->run(*arguments, evaluator, progress);
  state->ranOutOfMemory = evaluator.ranOutOfMemory;
  if (failed(results))
    return failure();
  return std::vector<HostTensor>(results->begin(), results->end());
}

FailureOr<SmallVector<HostTensor>> evaluate(Operation *op, ArrayRef<HostTensor> operands,
                                            const Symbols &symbols,
                                            const EvaluateOptions &options) {
  Session session(symbols, options);
  SmallVector<HostTensor> converted = withPrecision(operands, options.precision);
  return session.evaluator.evaluate(op, converted);
}

FailureOr<HostTensor> evaluate(Value value, const KnownValues &known, const Symbols &symbols,
                               const EvaluateOptions &options) {
  SmallVector<Value> arguments;
  SmallVector<HostTensor> tensors;
  for (const auto &[argument, tensor] : known) {
    arguments.push_back(argument);
    tensors.push_back(tensor);
  }
  FailureOr<Program> program = Program::slice(value, arguments);
  if (failed(program))
    return failure();
  Session session(symbols, options);
  FailureOr<SmallVector<HostTensor>> results =
      program->run(withPrecision(tensors, options.precision), session.evaluator);
  if (failed(results))
    return failure();
  return results->front();
}

FailureOr<SmallVector<HostTensor>> evaluate(Block &block, ArrayRef<HostTensor> arguments,
                                            const Symbols &symbols,
                                            const EvaluateOptions &options) {
  if (arguments.size() != block.getNumArguments())
    return block.getParentOp()->emitError("needs ")
           << block.getNumArguments() << " arguments, got " << arguments.size();
  Session session(symbols, options);
  return Program(block).run(withPrecision(arguments, options.precision), session.evaluator);
}

} // namespace smelt
