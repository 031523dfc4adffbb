// Sessions on the CPU: the interpreter.
#include "compiler/model.h"
#include "ir/interpret/interpret.h"
#include "tools/smelt/interpreter_array.h"
#include "tools/smelt/session.h"

#include "runtime/text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <thread>

using namespace mlir;

namespace smelt::tools {

namespace {

class CpuSession : public Session {
public:
  CpuSession(Model &model, CpuArithmetic arithmetic)
      : model(model),
        precision(arithmetic == CpuArithmetic::kDouble ? Precision::f64 : Precision::f32),
        interpreter(model.module(), model.weights(),
                    {precision, 0, arithmetic == CpuArithmetic::kStored}) {}

  const Signature &signature() const override { return model.signature(); }

  std::string deviceName() const override {
    unsigned threads = std::thread::hardware_concurrency();
    return joinText("cpu, ", threads, threads == 1 ? " thread" : " threads");
  }

  Result<std::vector<Array>> run(const std::vector<Array> &inputs) override {
    std::vector<HostTensor> arguments;
    auto main = model.module().lookupSymbol<func::FuncOp>("main");
    SMELT_RETURN_IF_ERROR(checkShapes(main, inputs));
    for (size_t i = 0; i < inputs.size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(HostTensor tensor,
                             toInterpreter(inputs[i], main.getArgumentTypes()[i], precision));
      arguments.push_back(std::move(tensor));
    }
    FailureOr<std::vector<HostTensor>> results = interpreter.run(arguments);
    if (failed(results))
      return model.diagnostics().asStatus(interpreter.ranOutOfMemory() ? StatusCode::kResources
                                                                       : StatusCode::kRunFailed,
                                          "the run failed");
    std::vector<Array> outputs;
    outputs.reserve(results->size());
    for (size_t i = 0; i < results->size(); ++i)
      outputs.push_back(toArray((*results)[i], model.signature().outputs[i].type));
    return outputs;
  }

private:
  /// What the caller did wrong is told from what went wrong in the run.
  Status checkShapes(func::FuncOp main, const std::vector<Array> &inputs) const {
    std::vector<Shape> shapes;
    shapes.reserve(inputs.size());
    for (const Array &input : inputs)
      shapes.emplace_back(input.shape.begin(), input.shape.end());
    FailureOr<Symbols> symbols = solveSymbols(main, shapes);
    if (succeeded(symbols) && succeeded(checkGuards(model.module(), *symbols)))
      return {};
    return model.diagnostics().asStatus(StatusCode::kUsage, "the shapes do not fit the model");
  }

  Model &model;
  Precision precision;
  Interpreter interpreter;
};

} // namespace

std::unique_ptr<Session> openCpuSession(Model &model, CpuArithmetic arithmetic) {
  return std::make_unique<CpuSession>(model, arithmetic);
}

} // namespace smelt::tools
