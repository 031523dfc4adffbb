// A failing graph made small: the same failure with fewer nodes, fewer outputs and smaller sizes.
#pragma once

#include "tests/generate/run.h"

namespace smelt::generate {

/// What must stay the same: where it fails, and how.
std::string signature(const Failure &failure);

/// The smallest graph found that fails with the signature of `failure`; each candidate is judged in its own process.
Graph shrink(const Task &task, uint64_t attempt, const Graph &graph, const Failure &failure,
             const JudgeOptions &options);

/// Writes model.onnx, its inputs as an ONNX test data folder, and failure.txt into `folder`, which is made.
void saveFailure(const Graph &graph, const Failure &failure, const std::string &name,
                 const std::string &folder);

} // namespace smelt::generate
