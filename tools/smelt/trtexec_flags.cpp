#include "tools/smelt/trtexec_flags.h"

#include "runtime/text.h"

namespace smelt::tools {

namespace {

/// A flag without a counterpart.
struct Unknown {
  const char *name;
  bool takesValue;
  bool isHarmless; ///< results are the same without it: it is named on stderr, else refused
  const char *why;
};

constexpr Unknown kUnknown[] = {
    {"--useCudaGraph", false, true, "every run is a launch of a CUDA graph"},
    {"--noDataTransfers", false, true, "runs are measured without copies"},
    {"--useSpinWait", false, true, "times are the device's own, however the processor waits"},
    {"--separateProfileRun", false, true, "kernels are always timed in runs of their own"},
    {"--noCudaGraph", false, true, "a run is one launch of a CUDA graph; there is no other way"},
    {"--int8", false, true, "QuantizeLinear and DequantizeLinear in the model say what is int8"},
    {"--fp8", false, true, "QuantizeLinear and DequantizeLinear in the model say what is fp8"},
    {"--profilingVerbosity", true, true, "a plan always knows its ONNX nodes"},
    {"--builderOptimizationLevel", true, true, "there is one level"},
    {"--timingCacheFile", true, true, "kernels are chosen by a cost model, without measuring"},
    {"--memPoolSize", true, true, "a plan's workspace follows from its shapes"},
    {"--workspace", true, true, "a plan's workspace follows from its shapes"},
    {"--allowGPUFallback", false, true, "everything runs on the GPU"},
    {"--sparsity", true, true, "weights are taken as dense"},
    {"--tacticSources", true, true, "all kernels are Smelt's own"},
    {"--explicitBatch", false, true, "every model has its batch among its dimensions"},
    {"--plugins", true, false,
     "Smelt loads no code into a model; `smelt check` names unsupported ops"},
    {"--staticPlugins", true, false, "Smelt loads no code into a model"},
    {"--dynamicPlugins", true, false, "Smelt loads no code into a model"},
    {"--useDLACore", true, false, "Smelt's kernels are for GPUs"},
    {"--inputIOFormats", true, false, "inputs have the model's types, row-major"},
    {"--outputIOFormats", true, false, "outputs have the model's types, row-major"},
    {"--calib", true, false, "give a model with QuantizeLinear and DequantizeLinear for int8"},
    {"--safe", false, false, "there is no safety runtime"},
};

void addUnknown(Command &command, const Unknown &unknown, TrtexecFlags &flags) {
  auto take = [&flags, &unknown](const std::string &) -> std::string {
    if (!unknown.isHarmless)
      return std::string("has no counterpart: ") + unknown.why;
    flags.ignored.push_back(std::string(unknown.name) + " changes nothing: " + unknown.why);
    return "";
  };
  if (unknown.takesValue)
    command.parsed(unknown.name, take, "VALUE", unknown.why);
  else
    command.called(unknown.name, take, unknown.why);
}

void addShapes(Command &command, TrtexecFlags &flags) {
  constexpr const char *kTakes = "NAME:1x3x224x224[,...]";
  command.list("--shapes", flags.shapes, kTakes, "Compile and run with these shapes");
  command.list("--minShapes", flags.minShapes, kTakes, "Smallest shapes that the plan takes");
  command.list("--optShapes", flags.optShapes, kTakes,
               "Shapes to run with; the plan is as fast at every other");
  command.list("--maxShapes", flags.maxShapes, kTakes, "Largest shapes that the plan takes");
  command.list("--loadInputs", flags.loadInputs, "NAME:FILE[,...]", "Inputs as raw bytes");
}

void addBuilding(Command &command, TrtexecFlags &flags) {
  command.text("--onnx", flags.onnx, "The model to compile");
  command.text("--saveEngine", flags.saveEngine, "Keep the plan in this file");
  command.text("--loadEngine", flags.loadEngine, "Run this plan");
  command.flag("--fp16", flags.fp16, "smelt compile --precision fp16");
  command.flag("--bf16", flags.bf16, "smelt compile --precision bf16");
  command.flag("--best", flags.best, "smelt compile --precision fp16");
  command.flag("--noTF32", flags.noTf32,
               "smelt compile --precision fp32; without any of these, tf32, as trtexec has it");
  command.flag("--stronglyTyped", flags.stronglyTyped, "smelt compile --precision fp32");
  command.flag("--refit", flags.refit, "smelt compile --refit");
  command.flag("--skipInference,--buildOnly", flags.skipInference, "Compile and do not run");
  addDevice(command, flags.device);
}

void addMeasuring(Command &command, TrtexecFlags &flags) {
  command.count("--iterations", flags.iterations, 1, "N", "Runs at least");
  command.text("--duration", flags.duration, "Seconds at least");
  command.count("--warmUp", flags.warmupMilliseconds, 0, "MS", "Milliseconds before measuring");
  command.count("--avgRuns", flags.averageRuns, 1, "N", "Runs in each printed average");
  command.list("--percentile", flags.percentiles, "P[,P...]", "Percentiles to print");
  command.count("--streams,--infStreams", flags.streams, 1, "N", "Streams that run side by side");
}

void addReports(Command &command, TrtexecFlags &flags) {
  command.flag("--dumpProfile", flags.dumpProfile, "Print the time of each kernel");
  command.text("--exportProfile", flags.exportProfile, "The same as JSON");
  command.text("--exportTimes", flags.exportTimes, "The times of each run as JSON");
  command.flag("--dumpLayerInfo", flags.dumpLayers, "Print the kernels with their ONNX nodes");
  command.text("--exportLayerInfo", flags.exportLayers, "The same as JSON");
  command.flag("--dumpOutput", flags.dumpOutput, "Print the outputs");
  command.text("--exportOutput", flags.exportOutput, "The same as JSON");
}

} // namespace

void addTrtexecFlags(Command &command, TrtexecFlags &flags) {
  addBuilding(command, flags);
  addShapes(command, flags);
  addMeasuring(command, flags);
  addReports(command, flags);
  for (const Unknown &unknown : kUnknown)
    addUnknown(command, unknown, flags);
}

Result<std::vector<std::string>> shapesOfTrtexec(const std::vector<std::string> &shapes) {
  std::vector<std::string> flags;
  for (const std::string &shape : shapes) {
    size_t colon = shape.rfind(':');
    if (colon == std::string::npos || colon == 0)
      return Status(StatusCode::kUsage,
                    joinText("'", shape, "' is no shape; write NAME:1x3x224x224"));
    flags.push_back(shape.substr(0, colon) + "=" + shape.substr(colon + 1));
  }
  return flags;
}

} // namespace smelt::tools
