#include "frontend/graph.h"

#include "frontend/functions.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

#include <queue>

using namespace mlir;

namespace smelt::frontend {

namespace {

Location at(Location location, StringRef name) {
  return NameLoc::get(StringAttr::get(location.getContext(), name));
}

/// Inputs and initializers: the names that are defined before the first node.
FailureOr<llvm::StringSet<>> definedOutside(Location location, const onnx_wire::Graph &graph) {
  llvm::StringSet<> inputs, initializers;
  for (const onnx_wire::ValueInfo &input : graph.input())
    if (input.name().empty() || !inputs.insert(input.name()).second)
      return emitError(location) << "the graph input '" << input.name() << "' is "
                                 << (input.name().empty() ? "nameless" : "declared twice");
  for (const onnx_wire::Tensor &tensor : graph.initializer())
    if (tensor.name().empty() || !initializers.insert(tensor.name()).second)
      return emitError(location) << "the initializer '" << tensor.name() << "' is "
                                 << (tensor.name().empty() ? "nameless" : "defined twice");
  if (graph.sparse_initializer_size() > 0)
    return emitError(location) << "sparse initializers are not supported; '"
                               << graph.sparse_initializer(0).values().name() << "' is one";
  // An initializer may also be an input, of which it is the default value.
  for (const auto &entry : initializers)
    inputs.insert(entry.getKey());
  return inputs;
}

/// A tensor that is listed as an output twice is one output.
void dropRepeatedOutputs(onnx_wire::Graph &graph) {
  llvm::StringSet<> seen;
  auto &outputs = *graph.mutable_output();
  auto isRepeated = [&](const onnx_wire::ValueInfo &output) {
    return !seen.insert(output.name()).second;
  };
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(), isRepeated), outputs.end());
}

/// What a node reads itself, and what the graphs that it holds read from around it.
SmallVector<std::string> namesRead(const Node &node) {
  SmallVector<std::string> names(node.proto->input().begin(), node.proto->input().end());
  llvm::append_range(names, node.captured);
  return names;
}

LogicalResult recordProducers(Location location, Graph &graph, const llvm::StringSet<> &outside) {
  for (auto [index, node] : llvm::enumerate(graph.nodes)) {
    if (node.proto->input_size() > kMaxInputsPerNode ||
        node.proto->output_size() > kMaxInputsPerNode)
      return emitError(at(location, node.name))
             << "has more than " << kMaxInputsPerNode << " inputs or outputs";
    for (const std::string &output : node.proto->output()) {
      if (output.empty())
        continue;
      auto [known, isNew] = graph.producers.try_emplace(output, index);
      if (isNew && !outside.contains(output))
        continue;
      InFlightDiagnostic error = emitError(at(location, node.name))
                                 << "defines '" << output << "', which is already ";
      if (isNew)
        return error << "a graph input or initializer";
      return error << "defined by node '" << graph.nodes[known->second].name << "'";
    }
  }
  return success();
}

using IsDefined = llvm::function_ref<bool(StringRef)>;

LogicalResult checkInputsAreDefined(Location location, const Graph &graph, IsDefined isDefined) {
  for (const Node &node : graph.nodes)
    for (const std::string &input : namesRead(node))
      if (!input.empty() && !isDefined(input))
        return emitError(at(location, node.name))
               << "reads '" << input << "', which no node, input or initializer defines";
  for (const onnx_wire::ValueInfo &output : graph.proto->output())
    if (!isDefined(output.name()))
      return emitError(location) << "the graph output '" << output.name()
                                 << "' is defined by no node";
  return success();
}

/// Names one cycle among the nodes that could not be ordered.
LogicalResult reportCycle(Location location, const Graph &graph, ArrayRef<size_t> waiting) {
  size_t current = 0;
  while (waiting[current] == 0)
    ++current;
  // Each waiting node has a waiting producer: following them must return to a node seen before.
  std::vector<bool> seen(graph.nodes.size());
  std::vector<size_t> path;
  while (!seen[current]) {
    seen[current] = true;
    path.push_back(current);
    for (const std::string &input : namesRead(graph.nodes[current])) {
      auto producer = graph.producers.find(input);
      if (producer != graph.producers.end() && waiting[producer->second] > 0) {
        current = producer->second;
        break;
      }
    }
  }
  InFlightDiagnostic error = emitError(at(location, graph.nodes[current].name))
                             << "depends on itself: ";
  size_t start = llvm::find(path, current) - path.begin();
  constexpr size_t kShown = 8;
  for (size_t index = start; index < path.size() && index < start + kShown; ++index)
    error << "'" << graph.nodes[path[index]].name << "' needs ";
  return error << (path.size() - start > kShown ? "... needs '" : "'") << graph.nodes[current].name
               << "'";
}

/// Orders the nodes so that each follows its producers; ties keep the file's order.
LogicalResult sortTopologically(Location location, Graph &graph) {
  size_t count = graph.nodes.size();
  std::vector<size_t> waiting(count);
  std::vector<std::vector<size_t>> consumers(count);
  for (size_t index = 0; index < count; ++index) {
    for (const std::string &input : namesRead(graph.nodes[index])) {
      auto producer = graph.producers.find(input);
      if (producer == graph.producers.end())
        continue;
      consumers[producer->second].push_back(index);
      ++waiting[index];
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t index = 0; index < count; ++index)
    if (waiting[index] == 0)
      ready.push(index);
  std::vector<Node> ordered;
  while (!ready.empty()) {
    size_t index = ready.top();
    ready.pop();
    for (size_t consumer : consumers[index])
      if (--waiting[consumer] == 0)
        ready.push(consumer);
    ordered.push_back(graph.nodes[index]);
  }
  if (ordered.size() != count)
    return reportCycle(location, graph, waiting);
  graph.nodes = std::move(ordered);
  for (auto [index, node] : llvm::enumerate(graph.nodes))
    for (const std::string &output : node.proto->output())
      if (!output.empty())
        graph.producers[output] = index;
  return success();
}

} // namespace

StringRef normalDomain(StringRef domain) { return domain == "ai.onnx" ? StringRef() : domain; }

FailureOr<OpsetMap>
readOpsets(Location location,
           const google::protobuf::RepeatedPtrField<onnx_wire::OperatorSet> &imports) {
  OpsetMap opsets;
  for (const onnx_wire::OperatorSet &import : imports) {
    StringRef domain = normalDomain(import.domain());
    if (import.version() < 1)
      return emitError(location) << "imports version " << import.version() << " of domain '"
                                 << domain << "'";
    auto [known, isNew] = opsets.try_emplace(domain, import.version());
    if (!isNew && known->second != import.version())
      return emitError(location) << "imports domain '" << domain << "' twice, at versions "
                                 << known->second << " and " << import.version();
  }
  opsets.try_emplace("com.microsoft", 1); // ONNX Runtime wants no import of its own domain
  return opsets;
}

FailureOr<Graph> buildInnerGraph(Location location, onnx_wire::Model &model,
                                 onnx_wire::Graph &proto, std::string path, const OpsetMap &opsets,
                                 IsDefined isDefined) {
  Graph graph;
  graph.proto = &proto;
  graph.path = std::move(path);
  if (failed(inlineFunctions(location, model, opsets, graph)))
    return failure();
  FailureOr<llvm::StringSet<>> outside = definedOutside(location, proto);
  if (failed(outside) || failed(recordProducers(location, graph, *outside)))
    return failure();
  auto isKnown = [&](StringRef name) {
    return outside->contains(name) || graph.producers.contains(name) || isDefined(name);
  };
  if (failed(checkInputsAreDefined(location, graph, isKnown)) ||
      failed(sortTopologically(location, graph)))
    return failure();
  return graph;
}

FailureOr<Graph> buildGraph(Location location, onnx_wire::Model &model) {
  FailureOr<OpsetMap> opsets = readOpsets(location, model.opset_import());
  if (failed(opsets))
    return failure();
  // Files of the first two IR versions name no version of ONNX's ops: theirs is the first.
  if (model.ir_version() == 1 || model.ir_version() == 2)
    opsets->try_emplace("", 1);
  dropRepeatedOutputs(*model.mutable_graph());
  return buildInnerGraph(location, model, *model.mutable_graph(), "", *opsets,
                         [](StringRef) { return false; });
}

} // namespace smelt::frontend
