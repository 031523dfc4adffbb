// The test data folders that ONNX ships with models: input_0.pb, input_1.pb, ..., output_0.pb, ...
#pragma once

#include "tools/smelt/array.h"

#include <string>
#include <vector>

namespace smelt::tools {

struct TestData {
  std::vector<Array> inputs;
  std::vector<Array> outputs;
};

/// Reads every input and output, each a serialised TensorProto. Fails with kUsage, naming the file,
/// where the folder holds no input, or a file is damaged or holds an element type without a
/// counterpart in ElementType.
Result<TestData> readTestData(const std::string &folder);

} // namespace smelt::tools
