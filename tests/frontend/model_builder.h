// Builds small ONNX models in memory and imports them, for the frontend's tests.
#pragma once

#include "frontend/import.h"
#include "frontend/onnx.pb.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace smelt::test {

using DataType = onnx_wire::Tensor;

/// What an import gave: the printed module, or the diagnostics of its failure.
struct Imported {
  bool succeeded = false;
  std::string text;
  std::string diagnostics; // one line each: "<location>: <message>"
};

class ModelBuilder {
public:
  explicit ModelBuilder(int64_t opset = 20);

  /// `shape`: dimensions separated by spaces, numbers or names: "batch 3 seq"; "?" is unnamed.
  ModelBuilder &input(const std::string &name, int32_t type, const std::string &shape);
  ModelBuilder &output(const std::string &name);
  /// An initializer; int64 values, or floats.
  ModelBuilder &integers(const std::string &name, const std::vector<int64_t> &values);
  ModelBuilder &integer(const std::string &name, int64_t value);
  ModelBuilder &floats(const std::string &name, const std::vector<int64_t> &dims,
                       const std::vector<float> &values);

  /// Starts a node; the attribute functions below add to the last one.
  ModelBuilder &node(const std::string &op, const std::vector<std::string> &inputs,
                     const std::vector<std::string> &outputs = {"y"});
  ModelBuilder &named(const std::string &name);
  ModelBuilder &attribute(const std::string &name, int64_t value);
  ModelBuilder &attribute(const std::string &name, int value) {
    return attribute(name, int64_t{value});
  }
  ModelBuilder &attribute(const std::string &name, float value);
  ModelBuilder &attribute(const std::string &name, const std::string &value);
  ModelBuilder &attribute(const std::string &name, const char *value) {
    return attribute(name, std::string(value));
  }
  ModelBuilder &attribute(const std::string &name, const std::vector<int64_t> &values);
  ModelBuilder &attribute(const std::string &name, const std::vector<float> &values);

  /// The graph of `inner` as an attribute: a branch or a body.
  ModelBuilder &attribute(const std::string &name, const ModelBuilder &inner);

  onnx_wire::Graph &graph() { return *model.mutable_graph(); }
  ModelBuilder &opset(const std::string &domain, int64_t version);
  onnx_wire::Tensor &lastInitializer() {
    return *graph().mutable_initializer(graph().initializer_size() - 1);
  }
  onnx_wire::Node &lastNode() { return *graph().mutable_node(graph().node_size() - 1); }
  std::string bytes() const { return model.SerializeAsString(); }
  Imported import(const ImportOptions &options = {}) const;

  onnx_wire::Model model;
};

/// An input of a model and of its node; one of no name is omitted.
struct InputPort {
  std::string name;
  int32_t type;
  std::string shape;
};

/// All of float16, by name and shape.
std::vector<InputPort> halfPorts(const std::vector<std::pair<std::string, std::string>> &inputs);

/// A model of opset 20 that is one op of com.microsoft; results of no name are omitted.
ModelBuilder microsoftNode(const std::string &op, const std::vector<InputPort> &inputs,
                           const std::vector<std::string> &outputs = {"y"});

Imported importBytes(const std::string &bytes, const std::string &directory = ".",
                     const ImportOptions &options = {});
Imported importFile(const std::string &path, const ImportOptions &options = {});

/// The import succeeds, and its text holds `parts` in this order.
void expectImports(const Imported &imported, const std::vector<std::string> &parts);
/// The import fails, and its diagnostics hold every one of `parts`.
void expectFails(const Imported &imported, const std::vector<std::string> &parts);

} // namespace smelt::test
