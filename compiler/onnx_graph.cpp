#include "compiler/onnx_graph.h"

#include "frontend/graph.h"
#include "frontend/model_file.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace smelt::compiler {

static GraphNode describe(const frontend::Node &node, const frontend::Graph &graph) {
  llvm::SetVector<size_t> inputs;
  auto add = [&](const std::string &value) {
    if (auto producer = graph.producers.find(value); producer != graph.producers.end())
      inputs.insert(producer->second);
  };
  for (const std::string &value : node.proto->input())
    add(value);
  for (const std::string &value : node.captured)
    add(value);
  return {node.name,
          node.proto->op_type(),
          {inputs.begin(), inputs.end()},
          {node.proto->output().begin(), node.proto->output().end()}};
}

std::vector<GraphNode> readOnnxGraph(const std::string &path) {
  MLIRContext context;
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &) { return success(); });
  Location location = UnknownLoc::get(&context);
  auto file = frontend::readModelFile(location, path);
  if (failed(file))
    return {};
  auto graph = frontend::buildGraph(location, **file);
  if (failed(graph))
    return {};
  std::vector<GraphNode> nodes;
  for (const frontend::Node &node : graph->nodes)
    nodes.push_back(describe(node, *graph));
  return nodes;
}

} // namespace smelt::compiler
