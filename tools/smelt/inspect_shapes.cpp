#include "tools/smelt/inspect_shapes.h"

#include "compiler/resolve_shapes.h"
#include "runtime/text.h"
#include "tools/smelt/cuda_session.h"
#include "tools/smelt/kernel_sets.h"
#include "tools/smelt/model_flags.h"
#include "tools/smelt/prediction.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace smelt::tools {

static Status usage(const std::string &message) { return Status(StatusCode::kUsage, message); }

static std::string timeText(std::optional<double> microseconds) {
  return microseconds ? numberText(*microseconds, 2) : "-";
}

static llvm::json::Value timeJson(std::optional<double> microseconds) {
  return microseconds ? jsonNumber(*microseconds) : llvm::json::Value(nullptr);
}

static llvm::json::Object predictionJson(const Prediction &prediction) {
  return llvm::json::Object{{"launches", static_cast<int64_t>(prediction.launches.size())},
                            {"least_us", timeJson(prediction.microseconds())},
                            {"input_bytes", static_cast<int64_t>(prediction.inputBytes)},
                            {"output_bytes", static_cast<int64_t>(prediction.outputBytes)},
                            {"arena_bytes", static_cast<int64_t>(prediction.arenaBytes)},
                            {"shape_bytes", static_cast<int64_t>(prediction.shapeBytes)}};
}

static std::string blocksOf(const PredictedLaunch &launch) {
  if (!launch.planned->kernel())
    return "-";
  std::vector<std::string> extents;
  for (uint32_t extent : launch.grid)
    extents.push_back(std::to_string(extent));
  return blocksText(std::move(extents));
}

static void printPrediction(const plan::ProgramT &program, const Prediction &prediction) {
  std::optional<Peaks> peaks = peaksOfPart(program.arch);
  print(
      joinText(program.arch, ": ", prediction.launches.size(), " launches, ",
               timeText(prediction.microseconds()), " us by the roofline",
               peaks ? joinText(" of ", peaks->target.part.name) : ", whose peaks are not stated"));
  auto bytes = [](uint64_t count) { return bytesText(static_cast<double>(count)); };
  print(joinText("memory: ", bytes(prediction.inputBytes), " inputs, ",
                 bytes(prediction.outputBytes), " outputs, ", bytes(prediction.arenaBytes),
                 " between kernels, ", bytes(prediction.shapeBytes), " kept for the shape\n"));
  Table table({"#", "launch", "grid", "shared memory", "moves", "flops", "roofline, us", "bound by",
               "ONNX nodes"});
  for (const PredictedLaunch &launch : prediction.launches)
    table.add({launch.planned->number, launch.planned->launch->name, blocksOf(launch),
               launch.sharedBytes == 0 ? "-" : bytesText(launch.sharedBytes),
               bytesText(static_cast<double>(launch.bytes)), std::to_string(launch.flops),
               timeText(launch.microseconds),
               !launch.microseconds     ? "-"
               : launch.isBoundByMemory ? "memory"
                                        : "arithmetic",
               llvm::join(launch.planned->step->onnx_nodes, " ")});
  table.print();
}

static llvm::json::Array kernelsJson(const Prediction &prediction) {
  llvm::json::Array kernels;
  for (const PredictedLaunch &launch : prediction.launches) {
    llvm::json::Object object{{"number", launch.planned->number},
                              {"name", launch.planned->launch->name},
                              {"bytes", launch.bytes},
                              {"flops", launch.flops},
                              {"least_us", timeJson(launch.microseconds)},
                              {"onnx_nodes", llvm::json::Array(launch.planned->step->onnx_nodes)}};
    if (launch.planned->kernel()) {
      object["grid"] = llvm::json::Array{launch.grid[0], launch.grid[1], launch.grid[2]};
      object["shared_bytes"] = static_cast<int64_t>(launch.sharedBytes);
    }
    kernels.push_back(std::move(object));
  }
  return kernels;
}

Status inspectAt(const runtime::Plan &plan, const std::string &path,
                 const std::vector<std::string> &flags, bool json) {
  Signature signature = signatureOf(plan.metadata());
  SMELT_ASSIGN_OR_RETURN(NamedShapes given, parseShapes(flags));
  SMELT_ASSIGN_OR_RETURN(auto shapes, resolveShapes(signature, given));
  llvm::json::Object named;
  for (auto [port, shape] : llvm::zip(signature.inputs, shapes))
    named[port.name] = llvm::json::Array(shape);
  llvm::json::Array programs;
  for (const auto &program : plan.metadata().programs) {
    Predictor predictor(plan, *program);
    SMELT_ASSIGN_OR_RETURN(Prediction prediction, predictor.at(shapes));
    if (!json)
      printPrediction(*program, prediction);
    llvm::json::Object object = predictionJson(prediction);
    object["arch"] = program->arch;
    object["kernels"] = kernelsJson(prediction);
    programs.push_back(std::move(object));
  }
  if (json)
    printJson(llvm::json::Object{{"schema", "smelt.inspect_shape/1"},
                                 {"plan", path},
                                 {"shapes", std::move(named)},
                                 {"programs", std::move(programs)}});
  return {};
}

namespace {

/// "seq=1..512:8".
struct Sweep {
  std::string dimension;
  int64_t first = 0, last = 0, step = 1;
};

} // namespace

static Result<Sweep> parseSweep(llvm::StringRef text) {
  constexpr int64_t kMostSizes = 65536;
  Sweep sweep;
  auto [name, range] = text.rsplit('=');
  auto [bounds, step] = range.split(':');
  auto [first, last] = bounds.split("..");
  sweep.dimension = name.str();
  bool isSweep = !name.empty() && llvm::to_integer(first, sweep.first, 10) &&
                 llvm::to_integer(last, sweep.last, 10) &&
                 (step.empty() || llvm::to_integer(step, sweep.step, 10));
  if (!isSweep || sweep.first < 0 || sweep.last < sweep.first || sweep.step < 1)
    return usage(joinText("--sweep: '", text,
                          "' is no range of sizes; write seq=1..512 or, for "
                          "every eighth, seq=1..512:8"));
  if ((sweep.last - sweep.first) / sweep.step >= kMostSizes)
    return usage(joinText("--sweep: '", text, "' has more than ", kMostSizes,
                          " sizes; take steps, as in seq=1..512:8"));
  return sweep;
}

/// The shapes given, with `size` wherever an input has the dimension and no other size of its own.
static NamedShapes withSize(const Signature &signature, NamedShapes shapes,
                            const std::string &dimension, int64_t size, bool &isFound) {
  for (const Port &port : signature.inputs)
    for (size_t axis = 0; axis < port.shape.size(); ++axis) {
      if (port.shape[axis].text != dimension)
        continue;
      isFound = true;
      std::vector<int64_t> &shape =
          shapes.try_emplace(port.name, port.shape.size(), kAnyExtent).first->second;
      if (axis < shape.size() && shape[axis] == kAnyExtent)
        shape[axis] = size;
    }
  return shapes;
}

namespace {

/// What one program does at each size.
struct SweepResult {
  struct Point {
    int64_t size;
    Prediction prediction;
    size_t set; ///< of `sets`
  };
  std::vector<Point> points;
  std::vector<std::vector<std::string>> sets; ///< launches as "3 gemm+bias ...", each set once

  void add(int64_t size, Prediction prediction) {
    std::vector<std::string> set;
    for (const PredictedLaunch &launch : prediction.launches)
      set.push_back(launch.planned->number + " " + launch.planned->launch->name);
    size_t index = llvm::find(sets, set) - sets.begin();
    if (index == sets.size())
      sets.push_back(std::move(set));
    points.push_back({size, std::move(prediction), index});
  }
};

} // namespace

static void printSweep(const plan::ProgramT &program, const std::string &dimension,
                       const SweepResult &result) {
  std::optional<Peaks> peaks = peaksOfPart(program.arch);
  print(joinText(program.arch, ": ", result.sets.size(),
                 result.sets.size() == 1 ? " set of kernels" : " sets of kernels",
                 peaks ? joinText("; times by the roofline of ", peaks->target.part.name) : ""));
  Table table({dimension, "set", "launches", "roofline, us", "inputs", "outputs", "between kernels",
               "kept"});
  auto bytes = [](uint64_t count) { return bytesText(static_cast<double>(count)); };
  for (const SweepResult::Point &point : result.points) {
    const Prediction &prediction = point.prediction;
    table.add({std::to_string(point.size), std::to_string(point.set),
               std::to_string(prediction.launches.size()), timeText(prediction.microseconds()),
               bytes(prediction.inputBytes), bytes(prediction.outputBytes),
               bytes(prediction.arenaBytes), bytes(prediction.shapeBytes)});
  }
  table.print();
}

static llvm::json::Object sweepJson(const plan::ProgramT &program, const SweepResult &result) {
  llvm::json::Array points, sets;
  for (const SweepResult::Point &point : result.points) {
    llvm::json::Object object = predictionJson(point.prediction);
    object["size"] = point.size;
    object["set"] = static_cast<int64_t>(point.set);
    points.push_back(std::move(object));
  }
  for (const std::vector<std::string> &set : result.sets)
    sets.push_back(llvm::json::Array(set));
  return llvm::json::Object{
      {"arch", program.arch}, {"points", std::move(points)}, {"sets", std::move(sets)}};
}

Status sweepPlan(const runtime::Plan &plan, const std::string &path, const std::string &text,
                 const std::vector<std::string> &flags, bool json) {
  SMELT_ASSIGN_OR_RETURN(Sweep sweep, parseSweep(text));
  Signature signature = signatureOf(plan.metadata());
  SMELT_ASSIGN_OR_RETURN(NamedShapes given, parseShapes(flags));
  llvm::json::Array programs;
  for (const auto &program : plan.metadata().programs) {
    Predictor predictor(plan, *program);
    SweepResult result;
    for (int64_t size = sweep.first; size <= sweep.last; size += sweep.step) {
      bool isFound = false;
      NamedShapes named = withSize(signature, given, sweep.dimension, size, isFound);
      if (!isFound)
        return usage(joinText("--sweep: no input has a dimension '", sweep.dimension, "'"));
      SMELT_ASSIGN_OR_RETURN(auto shapes, resolveShapes(signature, named));
      SMELT_ASSIGN_OR_RETURN(Prediction prediction, predictor.at(shapes));
      result.add(size, std::move(prediction));
    }
    if (!json)
      printSweep(*program, sweep.dimension, result);
    programs.push_back(sweepJson(*program, result));
  }
  if (json)
    printJson(llvm::json::Object{{"schema", "smelt.sweep/1"},
                                 {"plan", path},
                                 {"dimension", sweep.dimension},
                                 {"programs", std::move(programs)}});
  return {};
}

} // namespace smelt::tools
