#include "tools/smelt/compare_report.h"

#include "runtime/text.h"
#include "tools/smelt/report.h"

#include <algorithm>

namespace smelt::tools {

bool Comparison::agrees() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const OutputError &output) { return output.agrees(); });
}

static const char *mark(bool agrees) { return agrees ? "ok" : "DIFFERS"; }

static std::string place(const TensorError &tensor) {
  return joinText(tensor.isInside ? "inside kernel " : "left by kernel ", tensor.kernel);
}

static const TensorError *firstWrong(const std::vector<TensorError> &tensors) {
  auto found = std::find_if(tensors.begin(), tensors.end(),
                            [](const TensorError &tensor) { return !tensor.agrees(); });
  return found == tensors.end() ? nullptr : &*found;
}

static void printOutputs(const std::vector<OutputError> &outputs) {
  Table table(
      {"output", "shape", "relative error", "limit", "largest error", "at", "is", "should be", ""});
  for (const OutputError &output : outputs)
    if (output.shape == output.expectedShape)
      table.add({output.name, shapeText(output.shape), scientificText(output.error.relativeNorm),
                 scientificText(output.tolerance), scientificText(output.error.maxAbsolute),
                 positionText(output.error.worstIndex, output.shape),
                 shortText(output.error.worstOutput), shortText(output.error.worstReference),
                 output.agrees() ? "ok in " + output.reference : "DIFFERS"});
  table.print();
}

static void printFusions(const std::vector<FusionError> &fusions) {
  Table table({"kernel", "kind", "relative error", "largest error", "", "ONNX nodes"});
  for (const FusionError &fusion : fusions)
    table.add({std::to_string(fusion.index), fusion.kind, scientificText(fusion.relativeNorm),
               scientificText(fusion.maxAbsolute), mark(fusion.agrees()), fusion.nodes});
  print("\nevery fusion, on the inputs that it had:");
  table.print();
}

static void printTensors(const TensorErrors &errors, bool keepsBits) {
  Table table({"tensor", "shape", "relative error", "limit", "largest error", "", "where", "op"});
  for (const TensorError &tensor : errors.tensors)
    table.add({tensor.name, shapeText(tensor.shape), scientificText(tensor.error.relativeNorm),
               scientificText(tensor.tolerance), scientificText(tensor.error.maxAbsolute),
               mark(tensor.agrees()), place(tensor), tensor.op});
  print("\nevery tensor of the graph that the fused model has, in the order of the graph:");
  table.print();
  print(joinText(errors.unknown, " more are folded, moved or changed by passes; the outputs ",
                 keepsBits ? "kept their bits" : "DID NOT keep their bits",
                 " while these were looked at"));
}

void printComparison(const Comparison &comparison) {
  print("device: " + comparison.device);
  print("against: " + comparison.against);
  printOutputs(comparison.outputs);
  if (!comparison.fusions.empty())
    printFusions(comparison.fusions);
  if (comparison.tensors)
    printTensors(*comparison.tensors, comparison.keepsBits);
  if (comparison.reduction)
    print(joinText("\nthe smallest model that fails: ", comparison.reduction->model, ", ",
                   comparison.reduction->nodes, " of ", comparison.reduction->of,
                   " nodes; see it with the same flags and --input @",
                   comparison.reduction->inputs));
}

static llvm::json::Array outputsJson(const std::vector<OutputError> &outputs) {
  llvm::json::Array list;
  for (const OutputError &output : outputs)
    if (output.shape == output.expectedShape)
      list.push_back(llvm::json::Object{
          {"name", output.name},
          {"shape", llvm::json::Array(output.shape)},
          {"relative_norm", jsonNumber(output.error.relativeNorm)},
          {"tolerance", output.tolerance},
          {"max_absolute", jsonNumber(output.error.maxAbsolute)},
          {"worst_position", positionText(output.error.worstIndex, output.shape)},
          {"worst_output", jsonNumber(output.error.worstOutput)},
          {"worst_reference", jsonNumber(output.error.worstReference)},
          {"non_finite", static_cast<int64_t>(output.error.nonFiniteOutputs)},
          {"reference", output.reference},
          {"agrees", output.agrees()}});
  return list;
}

static llvm::json::Array fusionsJson(const std::vector<FusionError> &fusions) {
  llvm::json::Array list;
  for (const FusionError &fusion : fusions)
    list.push_back(llvm::json::Object{{"kernel", static_cast<int64_t>(fusion.index)},
                                      {"kind", fusion.kind},
                                      {"onnx_nodes", fusion.nodes},
                                      {"relative_norm", jsonNumber(fusion.relativeNorm)},
                                      {"max_absolute", jsonNumber(fusion.maxAbsolute)},
                                      {"agrees", fusion.agrees()}});
  return list;
}

static llvm::json::Array tensorsJson(const TensorErrors &errors) {
  llvm::json::Array list;
  for (const TensorError &tensor : errors.tensors)
    list.push_back(llvm::json::Object{{"name", tensor.name},
                                      {"onnx_node", tensor.node},
                                      {"op", tensor.op},
                                      {"kernel", static_cast<int64_t>(tensor.kernel)},
                                      {"inside", tensor.isInside},
                                      {"shape", llvm::json::Array(tensor.shape)},
                                      {"relative_norm", jsonNumber(tensor.error.relativeNorm)},
                                      {"max_absolute", jsonNumber(tensor.error.maxAbsolute)},
                                      {"tolerance", tensor.tolerance},
                                      {"agrees", tensor.agrees()}});
  return list;
}

static llvm::json::Array castsJson(const std::optional<CastVerdict> &casts) {
  llvm::json::Array list;
  for (const auto &wide : casts ? casts->wide : std::vector<NarrowingReport::Wide>())
    list.push_back(llvm::json::Object{
        {"op", wide.op}, {"onnx_nodes", wide.nodes}, {"relative_norm", jsonNumber(wide.error)}});
  return list;
}

llvm::json::Object comparisonJson(const Comparison &comparison) {
  llvm::json::Object object{{"schema", "smelt.compare/1"},
                            {"model", comparison.model},
                            {"device", comparison.device},
                            {"against", comparison.against},
                            {"agrees", comparison.agrees()},
                            {"outputs", outputsJson(comparison.outputs)},
                            {"fusions", fusionsJson(comparison.fusions)},
                            {"casts", castsJson(comparison.casts)}};
  if (comparison.tensors) {
    const TensorError *first = firstWrong(comparison.tensors->tensors);
    object["tensors"] = tensorsJson(*comparison.tensors);
    object["unknown_tensors"] = static_cast<int64_t>(comparison.tensors->unknown);
    object["first_wrong_tensor"] = first ? llvm::json::Value(first->name) : nullptr;
    object["keeps_bits"] = comparison.keepsBits;
  }
  if (comparison.reduction)
    object["reduced"] =
        llvm::json::Object{{"model", comparison.reduction->model},
                           {"inputs", comparison.reduction->inputs},
                           {"nodes", static_cast<int64_t>(comparison.reduction->nodes)},
                           {"of", static_cast<int64_t>(comparison.reduction->of)}};
  return object;
}

/// "\noutput 'y': relative error 1 exceeds 2e-05", or what its shape should be.
static std::string failureText(const OutputError &output) {
  if (output.shape != output.expectedShape)
    return joinText("\noutput '", output.name, "' has shape ", shapeText(output.shape),
                    ", expected ", shapeText(output.expectedShape));
  return joinText("\noutput '", output.name, "': relative error ",
                  scientificText(output.error.relativeNorm), " exceeds ",
                  scientificText(output.tolerance));
}

/// "\nthe first fusion that differs is kernel 3, gemm of /layer.0/MatMul", or that none does.
static std::string firstWrongText(const std::vector<FusionError> &fusions) {
  for (const FusionError &fusion : fusions)
    if (!fusion.agrees())
      return joinText("\nthe first fusion that differs on the inputs that it had is kernel ",
                      fusion.index, ", ", fusion.kind, " of ", fusion.nodes, ": relative error ",
                      scientificText(fusion.relativeNorm));
  return fusions.empty() ? "" : "\nevery fusion agrees on the inputs that it had";
}

static std::string firstWrongText(const TensorErrors &errors) {
  const TensorError *first = firstWrong(errors.tensors);
  if (!first)
    return "\nno tensor between that the fused model has differs";
  return joinText("\nthe first tensor that differs is '", first->name, "' of ", first->op, " ",
                  first->node, ", ", place(*first), ": relative error ",
                  scientificText(first->error.relativeNorm));
}

Status verdictOf(const Comparison &comparison) {
  if (comparison.agrees())
    return {};
  std::string text = joinText("the device disagrees with ", comparison.against, ":");
  for (const OutputError &output : comparison.outputs)
    if (!output.agrees())
      text += failureText(output);
  text += firstWrongText(comparison.fusions);
  if (comparison.tensors)
    text += firstWrongText(*comparison.tensors);
  if (comparison.casts)
    text += "\n" + comparison.casts->text;
  return Status(StatusCode::kAccuracy, text);
}

} // namespace smelt::tools
