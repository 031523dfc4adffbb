// Whether a changed kernel still computes what its fusion means.
//
// Problem: a kernel that was changed by hand compiles, and may be wrong. Method: the plan keeps the
// IR of the kernel's fusion (codegen/fusion_module.h). A plan of that fusion alone is made twice,
// with the kernel as it was and as it is now, and both run on random inputs at sizes at which the
// kernel runs; the interpreter says in double precision what should come out. Assumes that inputs on
// which the kernel as it was agrees are fit to judge the changed one: others are drawn anew.
#pragma once

#include "tools/smelt/array.h"
#include "tools/smelt/error_statistics.h"
#include "tools/smelt/patch_plan.h"

#include <functional>

namespace smelt::tools {

/// Runs a plan on a device.
using RunPlan =
    std::function<Result<std::vector<Array>>(const runtime::Plan &, const std::vector<Array> &)>;

/// One output of the fusion, as the changed kernel computes it.
struct OutputVerdict {
  std::string name;
  std::vector<int64_t> shape;
  ErrorStatistics error;
  ErrorStatistics before; ///< of the kernel as it was
  double tolerance;       ///< of the relative norm

  bool agrees() const { return error.relativeNorm <= tolerance; }
};

struct KernelVerdict {
  std::vector<OutputVerdict> outputs;
  std::string sizes; ///< that were judged, "batch = 3, seq = 17"; "" where all are fixed

  bool agrees() const;
  /// Whether the kernel as it was agrees on the same inputs.
  bool agreedBefore() const;
};

/// Judges the patch as `program` of the plan has it. Fails as `run` does, and with kUsage where the
/// plan does not say what the kernel computes.
Result<KernelVerdict> checkKernel(const runtime::Plan &plan, const plan::ProgramT &program,
                                  const KernelPatch &patch, const RunPlan &run);

} // namespace smelt::tools
