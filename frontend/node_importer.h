// Imports the nodes of a graph one by one, and the graphs that nodes hold as attributes: bodies and
// branches.
//
// A graph inside a node sees the names around it, and may be imported several times, with other
// inputs each: a loop is unrolled. Its constants are read once and stand at the function's start.
#pragma once

#include "frontend/declared_types.h"
#include "frontend/graph.h"
#include "frontend/graph_builder.h"
#include "frontend/graph_value.h"
#include "frontend/tensor_reader.h"

#include "llvm/ADT/StringSet.h"

#include <map>

namespace smelt::frontend {

class NodeReader;

/// Failing nodes are reported up to this number: the rest are mostly consequences.
constexpr size_t kMaxReports = 20;

/// What the graphs of one model share while it is imported.
struct ImportState {
  ImportState(onnx_wire::Model &model, GraphBuilder &build, TensorReader &tensors,
              const DeclaredTypes &declared)
      : model(model), build(build), tensors(tensors), declared(declared) {}

  onnx_wire::Model &model;
  GraphBuilder &build;
  TensorReader &tensors;
  const DeclaredTypes &declared; // of the outermost graph
  uint64_t seed = 0;
  bool isStructureOnly = false; ///< and its weights are to be drawn
  bool repairTypes = false;     ///< as ImportOptions
  bool namesShapes = false;     ///< of inputs, where they contradict what a node needs
  size_t failures = 0;

  /// Nodes that were imported from inner graphs, and nodes that those hold.
  size_t unrolled = 0, held = 0;
  std::map<const onnx_wire::Graph *, std::unique_ptr<Graph>> inner;
  llvm::DenseMap<const onnx_wire::Tensor *, mlir::Value> read;
  llvm::StringSet<> tensorNames;
};

class NodeImporter {
public:
  /// `around`: the importer of the graph whose node holds this one; `path` comes before its names.
  NodeImporter(ImportState &state, const Graph &graph, NodeImporter *around = nullptr,
               std::string path = "");

  ImportState &state() { return shared; }
  const Graph &getGraph() const { return graph; }
  const NodeImporter *outer() const { return around; }

  void define(llvm::StringRef name, GraphValue value) { values[name] = std::move(value); }
  /// The value of a name, here or in a graph around; an initializer becomes a constant or a weight
  /// when it is first read. None for what failed.
  GraphValue lookUp(llvm::StringRef name);
  /// The same, but only what was read before.
  GraphValue find(llvm::StringRef name) const;
  /// Whether the name belongs to this graph, rather than to one around it.
  bool owns(llvm::StringRef name) const;

  /// Reports what fails, and goes on with the next node; stops after kMaxReports. Failures are
  /// counted.
  mlir::LogicalResult importNodes();
  /// A tensor of the file; null after a report.
  mlir::Value readTensor(llvm::StringRef name, onnx_wire::Tensor &tensor);
  /// The same for one that was made while importing.
  mlir::Value makeTensor(llvm::StringRef name, onnx_wire::Tensor &tensor);
  /// The graph that `node` holds. Null after a report.
  const Graph *innerGraph(const Node &node, onnx_wire::Graph &proto);
  /// The path of a graph that `node` holds.
  std::string pathInside(const Node &node) const { return path + node.name + "/"; }

private:
  mlir::LogicalResult importNode(const Node &node);
  mlir::LogicalResult checkDeclared(const Node &node, llvm::StringRef name, GraphValue value);
  /// Notes the inputs of the graph with fixed sizes that the node reads.
  void nameShapes(const NodeReader &reader, mlir::InFlightDiagnostic &error) const;
  /// With repaired types: an output of the graph as the float that it is declared to be.
  GraphValue repaired(const Node &node, llvm::StringRef name, GraphValue value);

  ImportState &shared;
  const Graph &graph;
  NodeImporter *around;
  std::string path;
  llvm::StringMap<GraphValue> values;
  llvm::StringMap<onnx_wire::Tensor *> initializers;
};

/// Checks the node against the rule for its op, and calls its handler. A failure has been reported.
mlir::LogicalResult importByRule(NodeReader &reader, const Node &node);

/// Reports, and fails, where a node needs a version of an opset that is not known.
mlir::LogicalResult checkOpsets(mlir::Location location, const Graph &graph);

} // namespace smelt::frontend
