// trtexec's command line: what its flags mean here. Names and meanings are those of TensorRT's documentation of trtexec.
#pragma once

#include "tools/smelt/commands.h"

namespace smelt::tools {

struct TrtexecFlags {
  std::string onnx, saveEngine, loadEngine;
  std::vector<std::string> shapes, minShapes, optShapes, maxShapes; ///< "name:1x3x224x224"
  std::vector<std::string> loadInputs;                              ///< "name:file" of raw bytes
  bool fp16 = false, bf16 = false, best = false, noTf32 = false, stronglyTyped = false;
  bool refit = false;
  size_t iterations = 10, streams = 1, averageRuns = 10, warmupMilliseconds = 200;
  std::string duration = "3"; ///< seconds, 0 among them
  std::vector<std::string> percentiles = {"90", "95", "99"};
  DeviceChoice device{DeviceChoice::Kind::kCuda};
  bool skipInference = false;
  bool dumpProfile = false, dumpLayers = false, dumpOutput = false;
  std::string exportProfile, exportTimes, exportLayers, exportOutput;
  std::vector<std::string> ignored; ///< flags that were given and change nothing here, with why
};

/// Describes the flags. One that has no counterpart and would change results is refused when it is parsed, saying why.
void addTrtexecFlags(Command &command, TrtexecFlags &flags);

/// "a:1x2,b:3", as --shape takes it: "a=1x2" and "b=3". kUsage where one is malformed.
Result<std::vector<std::string>> shapesOfTrtexec(const std::vector<std::string> &shapes);

} // namespace smelt::tools
