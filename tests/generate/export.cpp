#include "tests/generate/export.h"

#include "tests/generate/reference.h"
#include "tests/generate/tensor_bytes.h"

#include "frontend/import.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <fstream>

using namespace mlir;

namespace smelt::generate {

namespace {

constexpr uint64_t kExportTries = 8;

std::optional<Reference> referenceOf(const Graph &graph, const std::vector<Array> &inputs) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  std::string bytes = graph.bytes();
  auto imported =
      importModel(context, ArrayRef<char>(bytes.data(), bytes.size()), ".", ImportOptions());
  if (failed(imported))
    return std::nullopt;
  return computeReference(*imported->module, *imported->weights, inputs).reference;
}

void writeTensor(const std::string &path, const std::string &name, const Array &array) {
  std::ofstream(path, std::ios::binary) << toWire(name, array).SerializeAsString();
}

void write(const Graph &graph, const std::vector<Array> &inputs, const Reference &reference,
           const std::string &folder) {
  std::string data = folder + "/test_data_set_0/";
  (void)llvm::sys::fs::create_directories(data);
  std::ofstream(folder + "/model.onnx", std::ios::binary) << graph.bytes();
  for (size_t i = 0; i < inputs.size(); ++i)
    writeTensor(data + "input_" + std::to_string(i) + ".pb",
                graph.model.graph().input(static_cast<int>(i)).name(), inputs[i]);
  llvm::json::Array limits;
  for (size_t i = 0; i < reference.outputs.size(); ++i) {
    const std::string &name = graph.model.graph().output(static_cast<int>(i)).name();
    ElementType type = graph.values.at(name).type;
    writeTensor(data + "output_" + std::to_string(i) + ".pb", name,
                {type, reference.outputs[i].shape, toBytes(type, reference.outputs[i].values)});
    limits.push_back(isFloat(type) ? reference.base + 6 * reference.sensitivities[i].relative
                                   : 0.0);
  }
  llvm::json::Value json = llvm::json::Object{
      {"limits", std::move(limits)}, {"ops", graph.summary()}, {"seed", graph.seed}};
  std::ofstream(folder + "/limits.json") << llvm::formatv("{0}", json).str();
}

} // namespace

bool exportTask(const Task &task, const std::string &folder) {
  for (uint64_t attempt = 0; attempt < kExportTries; ++attempt) {
    auto graph = drawTask(task, attempt, int64_t{1} << 12);
    if (!graph)
      continue;
    std::vector<Array> inputs = drawInputs(*graph, 0, graph->seed);
    if (auto reference = referenceOf(*graph, inputs)) {
      write(*graph, inputs, *reference, folder);
      return true;
    }
  }
  return false;
}

} // namespace smelt::generate
