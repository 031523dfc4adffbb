// A call is expanded with an explicit stack, so that neither deep nor cyclic functions reach the
// machine's own. Inside a call, the function's formal names stand for the caller's values; every
// other name gets the call's name as a prefix, which keeps it unique.
#include "frontend/functions.h"

#include "frontend/inner_names.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr size_t kMaxCallDepth = 100;

using NodeList = google::protobuf::RepeatedPtrField<onnx_wire::Node>;
/// (domain, name, overload)
using FunctionKey = std::tuple<std::string, std::string, std::string>;

/// One list of nodes that is being walked: the graph itself, or the body of one call.
struct Frame {
  NodeList *nodes;
  int next = 0;
  OpsetMap opsets;
  onnx_wire::Function *function = nullptr; // null for the graph
  onnx_wire::Node call;                    // the call, already renamed
  std::string prefix;
  std::map<std::string, std::string> renamed; // formal name -> the caller's value
};

class Inliner {
public:
  Inliner(Location location, onnx_wire::Model &model, Graph &graph)
      : location(location), graph(graph) {
    for (onnx_wire::Function &function : *model.mutable_functions())
      functions[{normalDomain(function.domain()).str(), function.name(), function.overload()}] =
          &function;
  }

  LogicalResult run(const OpsetMap &opsets) {
    stack.push_back({graph.proto->mutable_node(), 0, opsets, nullptr, {}, "", {}});
    while (!stack.empty()) {
      if (stack.back().next == stack.back().nodes->size())
        stack.pop_back();
      else if (failed(visit(*stack.back().nodes->Mutable(stack.back().next++))))
        return failure();
    }
    return success();
  }

private:
  LogicalResult visit(onnx_wire::Node &node) {
    // Every expanded node counts, calls included, so that functions that call each other cannot
    // grow without bound.
    if (++visited > kMaxNodes)
      return emitError(location) << "has more than " << kMaxNodes
                                 << " nodes after inlining its functions";
    onnx_wire::Node *resolved = &node;
    if (stack.back().function) {
      copiedBytes += node.ByteSizeLong() + stack.back().call.ByteSizeLong();
      if (copiedBytes > kMaxInlinedBytes)
        return emitError(location) << "has functions whose inlined bodies take more than "
                                   << kMaxInlinedBytes << " bytes";
      resolved = &rename(node);
    }
    auto function =
        functions.find({normalDomain(node.domain()).str(), node.op_type(), node.overload()});
    if (function != functions.end())
      return enter(*resolved, *function->second);
    append(*resolved);
    return success();
  }

  void append(onnx_wire::Node &node) {
    std::string domain = normalDomain(node.domain()).str();
    auto version = stack.back().opsets.find(domain);
    std::string name = nodeName(node);
    Node &added = graph.nodes.emplace_back();
    added = {&node,  std::move(name),
             domain, version == stack.back().opsets.end() ? 0 : version->second,
             {},     nullptr};
    if (!holdsGraphs(node))
      return;
    added.captured = namesFromAround(node);
    added.opsets = std::make_shared<const OpsetMap>(stack.back().opsets);
  }

  std::string nodeName(const onnx_wire::Node &node) const {
    return node.name().empty() ? node.op_type() + "_" + std::to_string(graph.nodes.size())
                               : node.name();
  }

  LogicalResult enter(onnx_wire::Node &call, onnx_wire::Function &function) {
    Location where = NameLoc::get(StringAttr::get(location.getContext(), nodeName(call)));
    for (const Frame &frame : stack)
      if (frame.function == &function)
        return emitError(where) << "the local function '" << function.name() << "' calls itself";
    if (stack.size() > kMaxCallDepth)
      return emitError(where) << "calls local functions more than " << kMaxCallDepth << " deep";
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
      return emitError(where) << "calls the local function '" << function.name() << "' with "
                              << call.input_size() << " inputs and " << call.output_size()
                              << " outputs; it has " << function.input_size() << " and "
                              << function.output_size();
    FailureOr<OpsetMap> opsets = readOpsets(where, function.opset_import());
    if (failed(opsets))
      return failure();
    Frame frame{function.mutable_node(), 0, std::move(*opsets), &function, call, "", {}};
    frame.prefix = graph.path + nodeName(call) + "/" + std::to_string(calls++) + "/";
    bindNames(frame);
    stack.push_back(std::move(frame));
    return success();
  }

  void bindNames(Frame &frame) {
    const onnx_wire::Function &function = *frame.function;
    for (int index = 0; index < function.input_size(); ++index)
      frame.renamed[function.input(index)] =
          index < frame.call.input_size() ? frame.call.input(index) : "";
    for (int index = 0; index < function.output_size(); ++index) {
      std::string actual = index < frame.call.output_size() ? frame.call.output(index) : "";
      if (actual.empty())
        continue;
      // An output that only hands an input, or an earlier output, through.
      auto [known, isNew] = frame.renamed.try_emplace(function.output(index), actual);
      if (!isNew)
        passThrough(known->second, actual, frame);
    }
  }

  void passThrough(const std::string &from, const std::string &to, const Frame &frame) {
    onnx_wire::Node &copy = graph.inlined.emplace_back();
    copy.set_op_type("Identity");
    copy.set_name(frame.call.name());
    copy.add_input(from);
    copy.add_output(to);
    graph.nodes.push_back({&copy, nodeName(copy), "", 13, {}, nullptr});
  }

  /// A copy of a body's node with the caller's names and attributes.
  onnx_wire::Node &rename(const onnx_wire::Node &node) {
    Frame &frame = stack.back();
    onnx_wire::Node &copy = graph.inlined.emplace_back(node);
    if (!node.name().empty())
      copy.set_name(frame.prefix + node.name());
    auto resolve = [&](const std::string &name) {
      auto formal = frame.renamed.find(name);
      return formal != frame.renamed.end() ? formal->second
             : name.empty()                ? name
                                           : frame.prefix + name;
    };
    for (std::string &input : *copy.mutable_input())
      input = resolve(input);
    for (std::string &output : *copy.mutable_output())
      output = resolve(output);
    copy.clear_attribute();
    for (const onnx_wire::Attribute &attribute : node.attribute())
      if (const onnx_wire::Attribute *value = resolveAttribute(attribute, frame)) {
        onnx_wire::Attribute &added = *copy.add_attribute() = *value;
        added.set_name(attribute.name());
        // What the call gave has the caller's names.
        if (added.has_g() && value == &attribute)
          renameInside(*added.mutable_g(), resolve, [&](const onnx_wire::Attribute &inner) {
            return resolveAttribute(inner, frame);
          });
      }
    return copy;
  }

  /// The attribute itself, or what `ref_attr_name` refers to: the call's attribute, else the
  /// function's default.
  static const onnx_wire::Attribute *resolveAttribute(const onnx_wire::Attribute &attribute,
                                                      const Frame &frame) {
    if (attribute.ref_attr_name().empty())
      return &attribute;
    for (const onnx_wire::Attribute &given : frame.call.attribute())
      if (given.name() == attribute.ref_attr_name())
        return &given;
    for (const onnx_wire::Attribute &standard : frame.function->attribute_proto())
      if (standard.name() == attribute.ref_attr_name())
        return &standard;
    return nullptr;
  }

  Location location;
  Graph &graph;
  std::map<FunctionKey, onnx_wire::Function *> functions;
  std::vector<Frame> stack;
  size_t visited = 0, calls = 0, copiedBytes = 0;
};

} // namespace

LogicalResult inlineFunctions(Location location, onnx_wire::Model &model, const OpsetMap &opsets,
                              Graph &graph) {
  return Inliner(location, model, graph).run(opsets);
}

} // namespace smelt::frontend
