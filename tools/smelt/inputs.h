// The inputs of one run: read from files, or drawn at random.
#pragma once

#include "tools/smelt/array.h"

namespace smelt::tools {

/// The flags that decide the inputs.
struct InputFlags {
  std::vector<std::string> shapes; ///< "name=1x128"
  std::vector<std::string>
      inputs; ///< "name=@file.npy", "@file.npz", or one "@folder" of ONNX test data
  uint64_t seed = 0;
  std::vector<std::string> dimensions =
      {}; ///< "batch=8"; see nameShapes(), which makes shapes of them
};

struct RunInputs {
  std::vector<Array> inputs; ///< in the signature's order
  /// Outputs to compare with, in the signature's order; empty unless a test data folder has them.
  std::vector<Array> expected;
};

/// Reads what the flags name and draws the rest. Fails with kUsage for unknown names, files that
/// cannot be read, and element types or shapes that the model does not take.
Result<RunInputs> makeInputs(const Signature &signature, const InputFlags &flags);

/// Draws by `seed` and the input's name: floats from N(0, 1), bools and integers from {0, 1},
/// integers that index rows from [0, bound).
Result<Array> drawInput(const Port &port, const std::vector<int64_t> &shape, uint64_t seed);

} // namespace smelt::tools
