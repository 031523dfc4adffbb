// Where outputs begin to differ: every tensor of the ONNX graph, against the interpreter.
//
// Problem: fusions leave few of the graph's tensors in memory, and passes change some of them. Method: the
// reference is the model imported with every tensor as an output, in double precision. A value of the fused
// module stands for the tensor of the last ONNX node among those that it was made of, if in double precision
// the two are the same, but for weights that were rounded. What the device left between its kernels is compared as it is; values inside a
// kernel are computed by the interpreter, in the kernel's precision, from the inputs that the kernel had on
// the device. The plan's kernels are those of every run, so that its outputs keep their bits.
#pragma once

#include "tools/smelt/error_statistics.h"
#include "tools/smelt/fused_run.h"
#include "tools/smelt/model_flags.h"

namespace smelt::tools {

struct TensorError {
  std::string name;     ///< in the ONNX graph
  std::string node, op; ///< that computes it
  size_t kernel;        ///< its number, as `explain` and `inspect` have it
  bool isInside;        ///< of the kernel, rather than what it leaves
  std::vector<int64_t> shape;
  ErrorStatistics error;
  double tolerance; ///< for the coarsest arithmetic on the way to it

  bool agrees() const { return error.relativeNorm <= tolerance; }
};

struct TensorErrors {
  std::vector<TensorError> tensors; ///< in the order of the graph
  size_t unknown = 0;               ///< tensors that passes folded, moved or changed
};

/// Compares every tensor that the fused model still has. Fails as importModel() does.
Result<TensorErrors> compareTensors(const ModelFlags &flags, FusedRun &seen,
                                    const std::vector<Array> &inputs, const Tolerances &tolerances);

} // namespace smelt::tools
