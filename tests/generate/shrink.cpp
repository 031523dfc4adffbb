#include "tests/generate/shrink.h"

#include "tests/generate/data.h"

#include "llvm/Support/FileSystem.h"

#include <cctype>
#include <fstream>
#include <functional>
#include <set>

namespace smelt::generate {

namespace {

constexpr int kMostCandidates = 150;

/// Calls `visit` with the name of each value that a node reads; so do the nodes of its graphs.
void visitInputs(onnx_wire::Node &node, const std::function<void(std::string &)> &visit) {
  for (std::string &name : *node.mutable_input())
    visit(name);
  for (onnx_wire::Attribute &attribute : *node.mutable_attribute())
    if (attribute.has_g())
      for (onnx_wire::Node &inner : *attribute.mutable_g()->mutable_node())
        visitInputs(inner, visit);
}

/// Removes nodes, inputs and initializers that no output needs.
void dropUnneeded(onnx_wire::Model &model) {
  onnx_wire::Graph &graph = *model.mutable_graph();
  std::set<std::string> needed;
  for (const auto &output : graph.output())
    needed.insert(output.name());
  std::vector<onnx_wire::Node> kept;
  for (int i = graph.node_size(); i-- > 0;) {
    onnx_wire::Node &node = *graph.mutable_node(i);
    bool isNeeded = std::any_of(node.output().begin(), node.output().end(),
                                [&](const std::string &name) { return needed.contains(name); });
    if (!isNeeded)
      continue;
    visitInputs(node, [&](std::string &name) { needed.insert(name); });
    kept.insert(kept.begin(), node);
  }
  *graph.mutable_node() = {kept.begin(), kept.end()};
  auto dropFrom = [&](auto &list) {
    auto copy = list;
    list.Clear();
    for (const auto &entry : copy)
      if (needed.contains(entry.name()))
        *list.Add() = entry;
  };
  dropFrom(*graph.mutable_input());
  dropFrom(*graph.mutable_initializer());
}

/// Only output `index` is left.
Graph withOutput(const Graph &graph, const std::string &name) {
  Graph result = graph;
  onnx_wire::Graph &wire = *result.model.mutable_graph();
  wire.clear_output();
  for (const onnx_wire::ValueInfo &output : graph.model.graph().output())
    if (output.name() == name)
      *wire.add_output() = output;
  dropUnneeded(result.model);
  return result;
}

/// The first result of node `index` becomes an input of the graph; none where its sizes follow from others.
std::optional<Graph> withInputFor(const Graph &graph, int index) {
  const std::string &name = graph.model.graph().node(index).output(0);
  const Value &value = graph.values.at(name);
  onnx_wire::ValueInfo info;
  info.set_name(name);
  auto &tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(value.type);
  tensor.mutable_shape();
  for (const Size &size : value.shape) {
    if (size.isDerived())
      return std::nullopt;
    auto &dim = *tensor.mutable_shape()->add_dim();
    if (size.isConstant())
      dim.set_dim_value(size.values[0]);
    else
      dim.set_dim_param(size.symbol);
  }
  for (const auto &output : graph.model.graph().output())
    if (output.name() == name)
      return std::nullopt;
  Graph result = graph;
  onnx_wire::Graph &wire = *result.model.mutable_graph();
  wire.mutable_node(index)->set_output(0, name + "_unused");
  result.values[name + "_unused"] = value;
  *wire.add_input() = info;
  dropUnneeded(result.model);
  return result;
}

/// What reads node `index` reads one of its operands instead, where that has the same type and shape.
std::optional<Graph> withoutNode(const Graph &graph, int index) {
  const onnx_wire::Node &removed = graph.model.graph().node(index);
  const Value &value = graph.values.at(removed.output(0));
  for (const std::string &input : removed.input()) {
    auto operand = graph.values.find(input);
    if (operand == graph.values.end() || operand->second.type != value.type ||
        !(operand->second.shape == value.shape))
      continue;
    Graph result = graph;
    for (onnx_wire::Node &node : *result.model.mutable_graph()->mutable_node())
      visitInputs(node,
                  [&](std::string &name) { name = name == removed.output(0) ? input : name; });
    bool isOutput = false;
    for (const auto &output : graph.model.graph().output())
      isOutput |= output.name() == removed.output(0);
    if (isOutput)
      return std::nullopt;
    dropUnneeded(result.model);
    return result;
  }
  return std::nullopt;
}

class Shrinker {
public:
  Shrinker(Graph graph, const Failure &failure, const JudgeOptions &options)
      : best(std::move(graph)), wanted(signature(failure)), options(options) {}

  Graph run(const Task &task, uint64_t attempt) {
    for (int64_t extent : {2, 3, 4, 5, 8, 9, 16, 17, 33, 64, 129})
      if (auto smaller = drawTask(task, attempt, extent); smaller && accept(*smaller))
        break;
    for (bool improved = true; improved;) {
      improved = tryOutputs();
      for (int node = best.model.graph().node_size(); node-- > 0;)
        if (node < best.model.graph().node_size())
          improved |= tryNode(node);
    }
    return best;
  }

private:
  bool accept(const Graph &candidate) {
    bool isSomething =
        candidate.model.graph().node_size() > 0 && candidate.model.graph().output_size() > 0;
    if (!isSomething || ++judged > kMostCandidates)
      return false;
    Outcome outcome = judgeApart(candidate, options);
    if (!outcome.failure || signature(*outcome.failure) != wanted)
      return false;
    best = candidate;
    return true;
  }

  bool tryOutputs() {
    if (best.model.graph().output_size() < 2)
      return false;
    std::vector<std::string> names;
    for (const auto &output : best.model.graph().output())
      names.push_back(output.name());
    for (const std::string &name : names)
      if (accept(withOutput(best, name)))
        return true;
    return false;
  }

  bool tryNode(int node) {
    if (auto candidate = withInputFor(best, node);
        candidate && candidate->model.graph().node_size() < best.model.graph().node_size())
      if (accept(*candidate))
        return true;
    auto candidate = withoutNode(best, node);
    return candidate && accept(*candidate);
  }

  Graph best;
  std::string wanted;
  const JudgeOptions &options;
  int judged = 0;
};

} // namespace

std::string signature(const Failure &failure) {
  // The names, numbers and hashes of a message are of its graph. Of NVRTC's the first error counts.
  std::string text = failure.message;
  size_t error = text.find("error: ");
  if (failure.stage.starts_with("nvrtc") || failure.stage == "compile")
    text = error == std::string::npos ? text : text.substr(error);
  text = text.substr(0, text.find('\n'));
  if (failure.stage == "device" || failure.stage.starts_with("phase"))
    text.clear();
  std::string kept;
  for (char letter : text)
    if (!std::isdigit(static_cast<unsigned char>(letter)))
      kept += letter;
  return failure.stage + ": " + kept.substr(0, 60);
}

Graph shrink(const Task &task, uint64_t attempt, const Graph &graph, const Failure &failure,
             const JudgeOptions &options) {
  return Shrinker(graph, failure, options).run(task, attempt);
}

void saveFailure(const Graph &graph, const Failure &failure, const std::string &name,
                 const std::string &folder) {
  (void)llvm::sys::fs::create_directories(folder + "/test_data_set_0");
  std::ofstream(folder + "/model.onnx", std::ios::binary) << graph.bytes();
  std::ofstream(folder + "/failure.txt")
      << name << " (drawn with seed " << graph.seed << "): " << graph.summary() << "\n"
      << failure.stage << "\n"
      << failure.message << "\n";
  std::vector<Array> inputs = drawInputs(graph, 0, graph.seed);
  for (size_t i = 0; i < inputs.size(); ++i)
    std::ofstream(folder + "/test_data_set_0/input_" + std::to_string(i) + ".pb", std::ios::binary)
        << toWire(graph.model.graph().input(static_cast<int>(i)).name(), inputs[i])
               .SerializeAsString();
}

} // namespace smelt::generate
