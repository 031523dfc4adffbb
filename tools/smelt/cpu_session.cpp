// Sessions on the CPU: the interpreter.
#include "tools/smelt/interpreter_array.h"
#include "tools/smelt/session.h"

namespace smelt::tools {

namespace {

class CpuSession : public Session {
public:
  CpuSession(Model &model, CpuArithmetic arithmetic) : model(model), runner(model, arithmetic) {}

  const Signature &signature() const override { return model.signature(); }
  std::string deviceName() const override { return compiler::cpuName(); }

  Result<std::vector<Array>> run(const std::vector<Array> &inputs) override {
    SMELT_ASSIGN_OR_RETURN(std::vector<HostTensor> results, runOnCpu(runner, inputs));
    std::vector<Array> outputs;
    outputs.reserve(results.size());
    for (size_t i = 0; i < results.size(); ++i)
      outputs.push_back(toArray(results[i], model.signature().outputs[i].type));
    return outputs;
  }

private:
  Model &model;
  compiler::ModelRunner runner;
};

} // namespace

std::unique_ptr<Session> openCpuSession(Model &model, CpuArithmetic arithmetic) {
  return std::make_unique<CpuSession>(model, arithmetic);
}

} // namespace smelt::tools
