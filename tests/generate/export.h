// Graphs for other programs to judge: the model, inputs, and what Smelt's interpreter makes of them.
#pragma once

#include "tests/generate/run.h"

namespace smelt::generate {

/// Writes the task's graph into `folder`, which is made: model.onnx, test_data_set_0 with inputs and outputs, and limits.json
/// with the limit of each output's relative norm. False where nothing can be said of any of its drawings.
bool exportTask(const Task &task, const std::string &folder);

} // namespace smelt::generate
