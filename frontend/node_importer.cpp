#include "frontend/node_importer.h"

#include "frontend/element_type.h"
#include "frontend/node_reader.h"
#include "frontend/node_table.h"
#include "frontend/type_constraints.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace smelt::frontend {

/// Functions that reach themselves through a branch end here.
static constexpr size_t kMaxDepth = 32;
/// Nodes imported from branches and bodies: each is an op or several to compile.
static constexpr size_t kMaxUnrolledNodes = 50'000;

NodeImporter::NodeImporter(ImportState &state, const Graph &graph, NodeImporter *around,
                           std::string path)
    : shared(state), graph(graph), around(around), path(std::move(path)) {
  for (onnx_wire::Tensor &tensor : *graph.proto->mutable_initializer())
    initializers[tensor.name()] = &tensor;
}

bool NodeImporter::owns(StringRef name) const {
  return values.contains(name) || initializers.contains(name) || graph.producers.contains(name);
}

GraphValue NodeImporter::find(StringRef name) const {
  auto known = values.find(name);
  if (known != values.end())
    return known->second;
  return around && !owns(name) ? around->find(name) : GraphValue();
}

GraphValue NodeImporter::lookUp(StringRef name) {
  auto known = values.find(name);
  if (known != values.end())
    return known->second;
  auto initializer = initializers.find(name);
  if (initializer == initializers.end())
    return around && !owns(name) ? around->lookUp(name) : GraphValue();
  if (shared.isStructureOnly)
    TensorReader::drawUniformVector(name, *initializer->second, shared.seed);
  Value value = readTensor(name, *initializer->second);
  shared.failures += !value;
  return values[name] = value;
}

Value NodeImporter::readTensor(StringRef name, onnx_wire::Tensor &tensor) {
  Value &known = shared.read[&tensor];
  return known ? known : known = makeTensor(name, tensor);
}

Value NodeImporter::makeTensor(StringRef name, onnx_wire::Tensor &tensor) {
  // Names repeat between graphs, of two branches say; the names of weights may not.
  std::string unique = path + name.str();
  for (size_t count = 2; !shared.tensorNames.insert(unique).second; ++count)
    unique = path + name.str() + "#" + std::to_string(count);
  return shared.tensors.read(shared.build, unique, tensor);
}

LogicalResult NodeImporter::importNodes() {
  size_t before = shared.failures;
  for (const Node &node : graph.nodes) {
    if (around && ++shared.unrolled > kMaxUnrolledNodes)
      return ++shared.failures, emitError(shared.build.getLocation())
                                    << "has more than " << kMaxUnrolledNodes
                                    << " nodes once loops are unrolled, which is not supported";
    shared.failures += failed(importNode(node));
    if (around && shared.failures > before)
      return failure();
    if (shared.failures >= kMaxReports)
      return emitError(shared.build.getLocation()) << "too many errors, stopping here";
  }
  return success(shared.failures == before);
}

static LogicalResult checkInputs(NodeReader &reader, const Node &node, const NodeRule &rule) {
  size_t required = rule.requiredInputs == kEveryInput ? std::max<size_t>(reader.inputCount(), 1)
                                                       : rule.requiredInputs;
  for (size_t index = 0; index < required; ++index)
    if (!reader.value(index))
      return reader.error() << "needs at least " << required << " inputs; input " << index
                            << " is missing";
  for (size_t index = 0; index < reader.inputCount() && rule.takes == Operands::tensors; ++index)
    if (GraphValue given = reader.value(index); given && !given.isTensor())
      return reader.error() << "its input '" << node.proto->input(static_cast<int>(index))
                            << "' is " << given.kindName() << ", but must be a tensor";
  return checkTypes(reader);
}

LogicalResult importByRule(NodeReader &reader, const Node &node) {
  const NodeRule *rule = findRule(node.domain, node.proto->op_type(), node.opset);
  if (!rule)
    return reader.error() << "the op" << (node.domain.empty() ? "" : " of " + node.domain)
                          << " (opset " << node.opset << ") is not supported";
  if (failed(checkInputs(reader, node, *rule)) || failed(rule->handler(reader)) ||
      reader.hasFailed())
    return failure();
  for (auto [name, value] : llvm::zip(node.proto->output(), reader.results()))
    if (!name.empty() && !value)
      return reader.error() << "its output '" << name << "' is not supported";
  return success();
}

/// A failure has been reported. A node that reads the result of a failed node is skipped in silence.
LogicalResult NodeImporter::importNode(const Node &node) {
  for (const std::string &name : node.proto->input())
    if (!name.empty() && !lookUp(name))
      return success();
  for (const std::string &name : node.captured)
    if (!lookUp(name))
      return success();
  auto scope = shared.build.at(path + node.name);
  NodeReader reader(*this, node);
  auto &explain = shared.build.getFacts().explain;
  auto outer =
      std::exchange(explain, [&](InFlightDiagnostic &error) { nameShapes(reader, error); });
  bool isImported = succeeded(importByRule(reader, node));
  explain = std::move(outer);
  if (!isImported)
    return failure();
  for (auto [name, value] : llvm::zip(node.proto->output(), reader.results())) {
    if (name.empty())
      continue;
    GraphValue result = shared.repairTypes && !around ? repaired(node, name, value) : value;
    if (failed(checkDeclared(node, name, result)))
      return failure();
    define(name, result);
  }
  return success();
}

void NodeImporter::nameShapes(const NodeReader &reader, InFlightDiagnostic &error) const {
  SmallVector<BlockArgument> named;
  for (size_t index = 0; index < reader.inputCount() && shared.namesShapes; ++index) {
    Value value = reader.value(index).tensor();
    for (BlockArgument input :
         value ? shared.build.inputsOf(value) : SmallVector<BlockArgument>()) {
      SmallVector<Dim> shape = tensorType(input).getShape();
      auto function = dyn_cast_or_null<func::FuncOp>(input.getOwner()->getParentOp());
      bool isFixed = llvm::any_of(shape, [](Dim dim) { return dim.asConstant().has_value(); });
      if (!isFixed || !function || llvm::is_contained(named, input))
        continue;
      named.push_back(input);
      auto name = function.getArgAttrOfType<StringAttr>(input.getArgNumber(), "smelt.name");
      std::string flag = llvm::join(
          llvm::map_range(shape, [](Dim dim) { return dim.asConstant() ? dim.toString() : "?"; }),
          "x");
      error.attachNote() << "it reads what is computed from input '" << name.getValue()
                         << "', declared " << toString(shape)
                         << "; where the model takes another shape, give that: --shape "
                         << name.getValue() << "=" << flag << " with other numbers";
    }
  }
}

GraphValue NodeImporter::repaired(const Node &node, StringRef name, GraphValue value) {
  GraphBuilder &build = shared.build;
  Type own = value.isTensor() ? tensorType(value.tensor()).getElementType() : Type();
  for (const onnx_wire::ValueInfo &output : graph.proto->output()) {
    if (output.name() != name || !own || !isa<FloatType>(own))
      continue;
    Type declared = elementType(build.getContext(), output.type().tensor_type().elem_type());
    if (!declared || declared == own || !isa<FloatType>(declared))
      continue;
    emitWarning(build.getLocation())
        << node.proto->op_type() << ": its output '" << name << "' is cast from " << typeName(own)
        << " to " << typeName(declared);
    value = build.cast(value.tensor(), declared);
    own = declared;
  }
  return value;
}

LogicalResult NodeImporter::checkDeclared(const Node &node, StringRef name, GraphValue value) {
  bool isRepaired = shared.repairTypes && value.isTensor() && // what lies between was declared too
                    isa<FloatType>(tensorType(value.tensor()).getElementType());
  if (around || !value.isTensor() || isRepaired)
    return success();
  return shared.declared.check(shared.build.getLocation(), node.proto->op_type() + ": its output",
                               name, tensorType(value.tensor()));
}

const Graph *NodeImporter::innerGraph(const Node &node, onnx_wire::Graph &proto) {
  std::unique_ptr<Graph> &known = shared.inner[&proto];
  if (known)
    return known.get();
  auto isDefined = [&](StringRef name) {
    for (const NodeImporter *scope = this; scope; scope = scope->around)
      if (scope->owns(name))
        return true;
    return false;
  };
  Location location = shared.build.getLocation();
  size_t depth = 0;
  for (const NodeImporter *scope = this; scope; scope = scope->around)
    if (++depth > kMaxDepth) {
      emitError(location) << "has graphs in graphs more than " << kMaxDepth
                          << " deep, which is not supported";
      return nullptr;
    }
  FailureOr<Graph> built =
      buildInnerGraph(location, shared.model, proto, pathInside(node), *node.opsets, isDefined);
  if (failed(built) || failed(checkOpsets(location, *built)))
    return nullptr;
  shared.held += built->nodes.size();
  if (shared.held > kMaxNodes) {
    emitError(location) << "has more than " << kMaxNodes << " nodes in its branches and bodies";
    return nullptr;
  }
  known = std::make_unique<Graph>(std::move(*built));
  return known.get();
}

LogicalResult checkOpsets(Location location, const Graph &graph) {
  for (const Node &node : graph.nodes)
    if (node.domain.empty() && (node.opset < kMinOpset || node.opset > kMaxOpset))
      return node.opset == 0
                 ? emitError(location) << "imports no version of the ONNX opset, which node '"
                                       << node.name << "' needs"
                 : emitError(location) << "needs ONNX opset " << node.opset << "; opsets "
                                       << kMinOpset << " to " << kMaxOpset << " are supported";
  return success();
}

} // namespace smelt::frontend
