// What a handler sees of one ONNX node: its inputs, its attributes with defaults, and where results
// go. Every miss is reported at the node: a handler never checks for absent or mistyped attributes
// itself.
#pragma once

#include "frontend/graph.h"
#include "frontend/graph_builder.h"
#include "frontend/graph_value.h"
#include "ir/interpret/host_tensor.h"

namespace smelt::frontend {

class NodeImporter;

/// A graph that a node holds, ready to be imported as often as it is needed.
class InnerGraph {
public:
  InnerGraph(NodeImporter &around, const Node &node, const Graph &graph)
      : around(&around), node(&node), graph(&graph) {}

  size_t inputCount() const { return graph->proto->input_size(); }
  size_t outputCount() const { return graph->proto->output_size(); }
  /// Its outputs for these inputs; a failure has been reported.
  mlir::FailureOr<llvm::SmallVector<GraphValue>> import(llvm::ArrayRef<GraphValue> inputs) const;

private:
  NodeImporter *around;
  const Node *node;
  const Graph *graph;
};

class NodeReader {
public:
  NodeReader(NodeImporter &importer, const Node &node);

  GraphBuilder &build;

  llvm::StringRef opType() const { return node.proto->op_type(); }
  int64_t opset() const { return node.opset; }
  /// Reports at the node, in the words "<op>: <message>", and fails.
  mlir::InFlightDiagnostic error();
  /// A report was made: by a handler or by an attribute of the wrong kind.
  bool hasFailed() const { return failed; }

  size_t inputCount() const { return node.proto->input_size(); }
  size_t outputCount() const { return node.proto->output_size(); }
  /// Null where the input is omitted. Never null for an input that the op's rule requires.
  mlir::Value input(size_t index) const { return value(index).tensor(); }
  /// The same for ops that take sequences and optionals too.
  GraphValue value(size_t index) const;
  /// All of them, omitted ones as null.
  llvm::SmallVector<mlir::Value> inputs() const;
  /// Input `index` is `value` from now on.
  void setInput(size_t index, mlir::Value value);
  /// "'x' (float16 [batch, 3])", for messages.
  std::string describe(size_t index) const;

  /// Imports the node as what another opset writes for it: `proto`, whose inputs these are, null
  /// for one that is omitted.
  mlir::LogicalResult importAs(int64_t opset, onnx_wire::Node proto,
                               llvm::ArrayRef<mlir::Value> inputs);
  /// The first result of such a node; null after a report.
  mlir::Value resultOf(int64_t opset, onnx_wire::Node proto, llvm::ArrayRef<mlir::Value> inputs);
  const onnx_wire::Node &proto() const { return *node.proto; }

  int64_t integer(llvm::StringRef name, int64_t standard);
  bool flag(llvm::StringRef name) { return integer(name, 0) != 0; }
  float real(llvm::StringRef name, float standard);
  std::string text(llvm::StringRef name, llvm::StringRef standard);
  std::optional<llvm::SmallVector<int64_t>> integers(llvm::StringRef name);
  std::optional<llvm::SmallVector<float>> reals(llvm::StringRef name);
  std::optional<llvm::SmallVector<std::string>> texts(llvm::StringRef name);
  bool hasAttribute(llvm::StringRef name) const;
  /// The tensor attribute as a value; null where there is none.
  mlir::Value tensor(llvm::StringRef name);
  /// The graph attribute, which must take `inputs` values and give `outputs` or more. A failure has
  /// been reported.
  mlir::FailureOr<InnerGraph> graph(llvm::StringRef name, size_t inputs, size_t outputs);

  /// The elements of an integer input as sizes. `what` names them where they depend on data: "the
  /// target shape".
  mlir::FailureOr<llvm::SmallVector<Dim>> dims(size_t index, llvm::StringRef what);
  mlir::FailureOr<llvm::SmallVector<int64_t>> constants(size_t index, llvm::StringRef what);
  /// The elements of an input, which must follow from constants and weights.
  mlir::FailureOr<HostTensor> known(size_t index);
  /// Integers that were computed while importing.
  mlir::Value integersOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> elements);
  /// `axis`, counted from the end where negative, as an axis of a tensor of `rank` dimensions.
  mlir::FailureOr<int64_t> normalAxis(int64_t axis, int64_t rank);
  /// The same for a list without duplicates; sorted.
  mlir::FailureOr<llvm::SmallVector<int64_t>> normalAxes(llvm::ArrayRef<int64_t> axes,
                                                         int64_t rank);
  /// The list that opsets gave as attribute `axes` at first and as input `index` later; none where
  /// it is absent.
  mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>> axes(size_t index);

  /// Reports, with the origin of the odd one out, and fails where two of the inputs differ in
  /// element type. With ImportOptions::repairTypes, floats are cast to the type of most of them, or
  /// to the narrower one, each with a warning.
  mlir::LogicalResult requireSameType(llvm::ArrayRef<size_t> indices);
  mlir::LogicalResult requireSameType();

  /// Records a result; fails for null. Sizes and other known integers become constants and
  /// smelt.dims.
  mlir::LogicalResult output(mlir::Value value, size_t index = 0);
  mlir::LogicalResult outputAny(GraphValue value, size_t index = 0);
  const llvm::SmallVector<GraphValue> &results() const { return produced; }

private:
  /// The attribute if it has this kind; reports another kind.
  const onnx_wire::Attribute *find(llvm::StringRef name, onnx_wire::Attribute::Kind kind);
  const onnx_wire::Attribute *find(llvm::StringRef name) const;
  /// Imports `proto`; none after a report.
  llvm::SmallVector<GraphValue> importOther(int64_t opset, onnx_wire::Node &proto,
                                            llvm::ArrayRef<mlir::Value> inputs);
  void repairTypes(llvm::ArrayRef<size_t> given);
  std::string originOf(llvm::StringRef value, mlir::Type elementType) const;
  mlir::Value simplifyKnown(mlir::Value value);

  NodeImporter &importer;
  const Node &node;
  llvm::SmallVector<GraphValue> produced;
  llvm::SmallDenseMap<size_t, mlir::Value> replaced; // inputs
  bool failed = false;
};

} // namespace smelt::frontend
