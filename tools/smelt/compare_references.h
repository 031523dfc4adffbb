// What the outputs of a model should be.
#pragma once

#include "tools/smelt/error_statistics.h"
#include "tools/smelt/session.h"

namespace smelt::tools {

/// What an output should be, and the arithmetic that says so.
struct Reference {
  Array array;
  std::string arithmetic = "float64";
};

/// The imported model in double precision; in float32 for outputs that only agree with that, unless
/// the user said how exact they must be.
Result<std::vector<Reference>> interpreterReferences(const Tolerances &tolerances, Model &imported,
                                                     const std::vector<Array> &inputs,
                                                     const std::vector<Array> &outputs);

struct ForeignReferences {
  std::vector<Reference> outputs;
  std::string version; ///< of what computed them
};

/// The model's file on ONNX Runtime; `inputFlags` give what the imported model takes no more, as it was
/// compiled for one value. Fails as runOnnxRuntime().
Result<ForeignReferences> onnxRuntimeReferences(const Model &imported,
                                                const std::vector<Array> &inputs,
                                                const std::vector<std::string> &inputFlags);

} // namespace smelt::tools
