// An ONNX graph in the form that the importer walks: local functions inlined, every name checked,
// nodes in topological order, each with the opset that gives it its meaning.
#pragma once

#include "frontend/onnx.pb.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringMap.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace smelt::frontend {

/// Limits that hold before anything is built: far above real models, low enough to bound time and
/// memory.
constexpr size_t kMaxNodes = 200'000;
/// Bytes of the nodes that inlining may copy.
constexpr size_t kMaxInlinedBytes = size_t{1} << 30;
constexpr int kMaxInputsPerNode = 20'000;

using OpsetMap = llvm::StringMap<int64_t>;

struct Node {
  onnx_wire::Node *proto; // owned by the model, or by Graph::inlined
  std::string name;       // the ONNX name, or <op>_<position> where it has none
  std::string domain;     // "" for ONNX's own ops
  int64_t opset;          // the version of `domain` that the model, or the node's function, imports
  // Of a node that holds graphs:
  std::vector<std::string> captured;      // names around it that they read
  std::shared_ptr<const OpsetMap> opsets; // the versions that hold for their nodes
};

struct Graph {
  onnx_wire::Graph *proto;
  std::string path;                    // of a graph in a node: comes before the names of calls
  std::vector<Node> nodes;             // in topological order
  std::deque<onnx_wire::Node> inlined; // bodies of local functions, renamed
  llvm::StringMap<size_t> producers;   // value name -> index of the node that computes it
};

/// The versions that a model or function imports, by domain ("ai.onnx" is ""). Reports versions
/// below 1 and a domain that is imported twice with different versions.
mlir::FailureOr<OpsetMap>
readOpsets(mlir::Location location,
           const google::protobuf::RepeatedPtrField<onnx_wire::OperatorSet> &imports);

/// "" for "ai.onnx".
llvm::StringRef normalDomain(llvm::StringRef domain);

/// Builds the walkable graph of `model`. Reports, at the node concerned, and fails for: names
/// defined twice, values that nothing defines, cycles, recursive functions, counts above the
/// limits.
mlir::FailureOr<Graph> buildGraph(mlir::Location location, onnx_wire::Model &model);

/// The same for a graph that a node holds: `isDefined` says which names the graphs around it define.
mlir::FailureOr<Graph> buildInnerGraph(mlir::Location location, onnx_wire::Model &model,
                                       onnx_wire::Graph &proto, std::string path,
                                       const OpsetMap &opsets,
                                       llvm::function_ref<bool(llvm::StringRef)> isDefined);

} // namespace smelt::frontend
