#include "compiler/run_model.h"

#include "runtime/text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <thread>

using namespace mlir;

namespace smelt::compiler {

std::string cpuName() {
  unsigned threads = std::thread::hardware_concurrency();
  return joinText("cpu, ", threads, threads == 1 ? " thread" : " threads");
}

ModelRunner::ModelRunner(Model &model, CpuArithmetic arithmetic)
    : model(model),
      precision(arithmetic == CpuArithmetic::kDouble ? Precision::f64 : Precision::f32),
      interpreter(model.module(), model.weights(),
                  {precision, 0, arithmetic == CpuArithmetic::kStored}) {}

/// What the caller did wrong is told from what went wrong in the run.
Status ModelRunner::checkInputs(std::span<const TensorView> inputs) const {
  const std::vector<Port> &ports = model.signature().inputs;
  if (inputs.size() != ports.size())
    return Status(StatusCode::kUsage,
                  joinText("the model takes ", ports.size(), " inputs, not ", inputs.size()));
  std::vector<Shape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type != ports[i].type)
      return Status(StatusCode::kUsage,
                    joinText("input '", ports[i].name, "' is ", typeText(ports[i]), ", not ",
                             typeName(inputs[i].type)));
    shapes.emplace_back(inputs[i].shape.begin(), inputs[i].shape.end());
  }
  auto main = model.module().lookupSymbol<func::FuncOp>("main");
  FailureOr<Symbols> symbols = solveSymbols(main, shapes);
  if (succeeded(symbols) && succeeded(checkGuards(model.module(), *symbols)))
    return {};
  return model.diagnostics().asStatus(StatusCode::kUsage, "the shapes do not fit the model");
}

Result<std::vector<HostTensor>> ModelRunner::run(std::span<const TensorView> inputs,
                                                 StepHandler progress) {
  model.diagnostics().forget(); // of the run before
  SMELT_RETURN_IF_ERROR(checkInputs(inputs));
  auto main = model.module().lookupSymbol<func::FuncOp>("main");
  std::vector<HostTensor> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Type element = cast<TensorType>(main.getArgumentTypes()[i]).getElementType();
    ArrayRef<char> bytes(reinterpret_cast<const char *>(inputs[i].bytes.data()),
                         inputs[i].bytes.size());
    std::optional<HostTensor> tensor =
        HostTensor::fromBytes(inputs[i].shape, element, bytes, precision);
    if (!tensor)
      return Status(StatusCode::kResources, "a tensor does not fit into memory");
    arguments.push_back(std::move(*tensor));
  }
  bool isStopped = false;
  auto report = [&](size_t done, size_t total) {
    isStopped = progress && !progress(done, total);
    return !isStopped;
  };
  FailureOr<std::vector<HostTensor>> results = interpreter.run(arguments, report);
  if (succeeded(results))
    return std::move(*results);
  if (isStopped)
    return Status(StatusCode::kResources, "the run was stopped");
  return model.diagnostics().asStatus(interpreter.ranOutOfMemory() ? StatusCode::kResources
                                                                   : StatusCode::kRunFailed,
                                      "the run failed");
}

} // namespace smelt::compiler
