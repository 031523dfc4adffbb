#include "compiler/node_list.h"

#include "frontend/graph.h"
#include "frontend/model_file.h"
#include "frontend/node_table.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace smelt::compiler {

std::vector<ListedNode> listNodes(const std::string &path) {
  MLIRContext context;
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &) { return success(); });
  Location location = UnknownLoc::get(&context);
  auto file = frontend::readModelFile(location, path);
  if (failed(file))
    return {};
  auto graph = frontend::buildGraph(location, **file);
  if (failed(graph))
    return {};
  std::vector<ListedNode> nodes;
  for (const frontend::Node &node : graph->nodes) {
    const std::string &op = node.proto->op_type();
    nodes.push_back({node.name, op, frontend::findRule(node.domain, op, node.opset) != nullptr});
  }
  return nodes;
}

} // namespace smelt::compiler
