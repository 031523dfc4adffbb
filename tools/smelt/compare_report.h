// What smelt compare found, and how it is told.
#pragma once

#include "tools/smelt/bisect_casts.h"
#include "tools/smelt/compare_fusions.h"
#include "tools/smelt/compare_tensors.h"
#include "tools/smelt/reduce_model.h"

#include "llvm/Support/JSON.h"

namespace smelt::tools {

/// One output beside its reference.
struct OutputError {
  std::string name;
  std::vector<int64_t> shape, expectedShape;
  std::string reference; ///< the arithmetic that says what it should be
  ErrorStatistics error; ///< where the shapes are the same
  double tolerance;

  bool agrees() const { return shape == expectedShape && error.relativeNorm <= tolerance; }
};

struct Comparison {
  std::string model, device, against;
  std::vector<OutputError> outputs;
  std::vector<FusionError> fusions = {}; ///< empty where none was judged
  std::optional<TensorErrors> tensors = {};
  std::optional<CastVerdict> casts = {};
  std::optional<Reduction> reduction = {};
  /// Whether the run that left every fusion's results gave the outputs the bits of the other.
  bool keepsBits = true;

  bool agrees() const;
};

/// As tables on stdout.
void printComparison(const Comparison &comparison);
/// {"schema": "smelt.compare/1", ...}
llvm::json::Object comparisonJson(const Comparison &comparison);
/// kAccuracy, with what differs first, unless all outputs agree.
Status verdictOf(const Comparison &comparison);

} // namespace smelt::tools
