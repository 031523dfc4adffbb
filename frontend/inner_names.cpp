#include "frontend/inner_names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace smelt::frontend {

namespace {

/// The names that a graph defines, as a scope inside another.
struct NameScope {
  const NameScope *around;
  llvm::StringSet<> names;

  NameScope(const onnx_wire::Graph &graph, const NameScope *around) : around(around) {
    for (const onnx_wire::ValueInfo &input : graph.input())
      names.insert(input.name());
    for (const onnx_wire::Tensor &tensor : graph.initializer())
      names.insert(tensor.name());
    for (const onnx_wire::Node &node : graph.node())
      for (const std::string &output : node.output())
        names.insert(output);
  }
  bool defines(llvm::StringRef name) const {
    return names.contains(name) || (around && around->defines(name));
  }
};

void collectNames(const onnx_wire::Graph &graph, const NameScope *around, llvm::StringSet<> &seen,
                  std::vector<std::string> &result) {
  NameScope scope(graph, around);
  auto add = [&](const std::string &name) {
    if (!name.empty() && !scope.defines(name) && seen.insert(name).second)
      result.push_back(name);
  };
  for (const onnx_wire::Node &node : graph.node()) {
    llvm::for_each(node.input(), add);
    for (const onnx_wire::Attribute &attribute : node.attribute())
      if (attribute.has_g())
        collectNames(attribute.g(), &scope, seen, result);
  }
  for (const onnx_wire::ValueInfo &output : graph.output())
    add(output.name());
}

void renameGraph(onnx_wire::Graph &graph, const NameScope *around, Rename rename,
                 ResolveAttribute resolve) {
  NameScope scope(graph, around);
  for (onnx_wire::Node &node : *graph.mutable_node()) {
    for (std::string &name : *node.mutable_input())
      if (!scope.defines(name))
        name = rename(name);
    onnx_wire::Node original = node;
    node.clear_attribute();
    for (const onnx_wire::Attribute &attribute : original.attribute()) {
      const onnx_wire::Attribute *value = resolve(attribute);
      if (!value)
        continue;
      onnx_wire::Attribute &added = *node.add_attribute() = *value;
      added.set_name(attribute.name());
      if (added.has_g() && value == &attribute)
        renameGraph(*added.mutable_g(), &scope, rename, resolve);
    }
  }
  // A branch may hand a value of the graph around it on as it is.
  for (onnx_wire::ValueInfo &output : *graph.mutable_output())
    if (!scope.defines(output.name()))
      output.set_name(rename(output.name()));
}

} // namespace

bool holdsGraphs(const onnx_wire::Node &node) {
  return llvm::any_of(node.attribute(),
                      [](const onnx_wire::Attribute &attribute) { return attribute.has_g(); });
}

std::vector<std::string> namesFromAround(const onnx_wire::Node &node) {
  std::vector<std::string> result;
  llvm::StringSet<> seen;
  for (const onnx_wire::Attribute &attribute : node.attribute())
    if (attribute.has_g())
      collectNames(attribute.g(), nullptr, seen, result);
  return result;
}

void renameInside(onnx_wire::Graph &graph, Rename rename, ResolveAttribute resolve) {
  renameGraph(graph, nullptr, rename, resolve);
}

} // namespace smelt::frontend
