// What a handler sees of one ONNX node: its inputs, its attributes with defaults, and where results
// go. Every miss is reported at the node: a handler never checks for absent or mistyped attributes
// itself.
#pragma once

#include "frontend/graph.h"
#include "frontend/graph_builder.h"

namespace smelt::frontend {

class TensorReader;
/// The values of the graph so far, by ONNX name. Null for values of nodes that failed.
using ValueMap = llvm::StringMap<mlir::Value>;

class NodeReader {
public:
  NodeReader(const Graph &graph, const Node &node, const ValueMap &values, TensorReader &tensors,
             GraphBuilder &build);

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
  mlir::Value input(size_t index) const;
  llvm::SmallVector<mlir::Value> inputs() const;
  /// "'x' (float16 [batch, 3])", for messages.
  std::string describe(size_t index) const;

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

  /// The elements of an integer input as sizes. `what` names them where they depend on data: "the
  /// target shape".
  mlir::FailureOr<llvm::SmallVector<Dim>> dims(size_t index, llvm::StringRef what);
  mlir::FailureOr<llvm::SmallVector<int64_t>> constants(size_t index, llvm::StringRef what);
  /// `axis`, counted from the end where negative, as an axis of a tensor of `rank` dimensions.
  mlir::FailureOr<int64_t> normalAxis(int64_t axis, int64_t rank);
  /// The same for a list without duplicates; sorted.
  mlir::FailureOr<llvm::SmallVector<int64_t>> normalAxes(llvm::ArrayRef<int64_t> axes,
                                                         int64_t rank);
  /// The list that opsets gave as attribute `axes` at first and as input `index` later; none where
  /// it is absent.
  mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>> axes(size_t index);

  /// Reports, with the origin of the odd one out, and fails where two of the inputs differ in
  /// element type.
  mlir::LogicalResult requireSameType(llvm::ArrayRef<size_t> indices);
  mlir::LogicalResult requireSameType();

  /// Records a result; fails for null. Sizes and other known integers become constants and
  /// smelt.dims.
  mlir::LogicalResult output(mlir::Value value, size_t index = 0);
  const llvm::SmallVector<mlir::Value> &results() const { return produced; }

private:
  /// The attribute if it has this kind; reports another kind.
  const onnx_wire::Attribute *find(llvm::StringRef name, onnx_wire::Attribute::Kind kind);
  const onnx_wire::Attribute *find(llvm::StringRef name) const;
  std::string originOf(llvm::StringRef value, mlir::Type elementType) const;
  mlir::Value simplifyKnown(mlir::Value value);

  const Graph &graph;
  const Node &node;
  const ValueMap &values;
  TensorReader &tensors;
  llvm::SmallVector<mlir::Value> produced;
  bool failed = false;
};

} // namespace smelt::frontend
