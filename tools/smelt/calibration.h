// Inputs to measure a narrowing on: those of a user's folder, or random ones.
#pragma once

#include "tools/smelt/model_flags.h"

namespace smelt::tools {

/// What --precision, --within and --calibrate ask of Model::fuse. Each of `folders` holds one set of
/// inputs (input_0.pb, ... as ONNX's test data, or NAME.npy for an input called NAME), or folders
/// that do; without any, two sets are drawn at the shapes that the model is compiled for. Inputs that
/// a set lacks are drawn. Fails with kUsage for files that do not fit the model, for a folder without
/// inputs, and for flags that need another.
Result<NarrowingOptions> narrowingOptions(Model &model, FloatPrecision precision,
                                          std::optional<double> within,
                                          const std::vector<std::string> &folders,
                                          const ModelFlags &flags);

/// "412 of 430 ops in 16 bits, outputs within 8.1e-04; in float32 stay:" and a line for each.
std::string reportText(const NarrowingReport &report);

} // namespace smelt::tools
