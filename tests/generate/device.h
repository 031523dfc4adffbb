// A plan on a GPU, through the runtime as an application uses it.
#pragma once

#include "tests/generate/data.h"

#include "runtime/status.h"

namespace smelt::generate {

/// One set of inputs, and the shapes that the outputs must have.
struct DeviceRun {
  const std::vector<Array> *inputs;
  std::vector<std::vector<int64_t>> outputShapes;
};

/// The outputs of each run, all with one plan and one context. The caller's memory lies between zones that must stay as they
/// are, outputs hold a pattern beforehand that is no result (NaN in floats), inputs must be as given afterwards: anything
/// else is kRunFailed, as are shapes other than announced.
Result<std::vector<std::vector<Array>>> runPlan(const std::string &path, const Graph &graph,
                                                const std::vector<DeviceRun> &runs);

/// "sm_90a": the architecture of the first GPU.
Result<std::string> deviceArchitecture();

} // namespace smelt::generate
