#include "tools/smelt/compare_references.h"

#include "tools/smelt/compare_fusions.h"
#include "tools/smelt/model_flags.h"
#include "tools/smelt/onnxruntime.h"

#include <deque>

namespace smelt::tools {

Result<std::vector<Reference>> interpreterReferences(const Tolerances &tolerances, Model &imported,
                                                     const std::vector<Array> &inputs,
                                                     const std::vector<Array> &outputs) {
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> exact,
                         openCpuSession(imported, CpuArithmetic::kDouble)->run(inputs));
  std::vector<ElementType> computedIn = arithmeticOf(imported.module());
  auto agrees = [&](size_t i, const Array &reference) {
    double tolerance = tolerances.of(imported.signature().outputs[i].type, computedIn[i]);
    return outputs[i].shape == reference.shape &&
           compareTensors(outputs[i], reference).relativeNorm <= tolerance;
  };
  std::vector<Reference> chosen;
  std::vector<Array> single;
  for (size_t i = 0; i < exact.size(); ++i) {
    bool isExact = tolerances.given || agrees(i, exact[i]);
    if (!isExact && single.empty()) {
      SMELT_ASSIGN_OR_RETURN(single, openCpuSession(imported, CpuArithmetic::kFloat)->run(inputs));
    }
    if (isExact || !agrees(i, single[i]))
      chosen.push_back({std::move(exact[i])});
    else
      chosen.push_back({std::move(single[i]), "float32"});
  }
  return chosen;
}

Result<ForeignReferences> onnxRuntimeReferences(const Model &imported,
                                                const std::vector<Array> &inputs,
                                                const std::vector<std::string> &inputFlags) {
  const Signature &signature = imported.signature();
  std::vector<NamedArray> named;
  named.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    named.emplace_back(signature.inputs[i].name, &inputs[i]);
  std::deque<Array> fixed; // where they are, they stay
  for (const auto &[name, number] : signature.fixed) {
    SMELT_ASSIGN_OR_RETURN(std::optional<Array> value, readValue(inputFlags, name, number));
    if (value)
      named.emplace_back(name, &fixed.emplace_back(std::move(*value)));
  }
  SMELT_ASSIGN_OR_RETURN(OnnxRuntimeRun run,
                         runOnnxRuntime(imported.path(), named, signature.outputs));
  ForeignReferences references{{}, run.version};
  for (Array &output : run.outputs)
    references.outputs.push_back({std::move(output), "ONNX Runtime"});
  return references;
}

} // namespace smelt::tools
