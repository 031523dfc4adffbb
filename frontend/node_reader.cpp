#include "frontend/node_reader.h"

#include "frontend/constant_value.h"
#include "frontend/element_type.h"
#include "frontend/fixing_flags.h"
#include "frontend/node_importer.h"
#include "ir/dim_values.h"

using namespace mlir;

namespace smelt::frontend {

NodeReader::NodeReader(NodeImporter &importer, const Node &node)
    : build(importer.state().build), importer(importer), node(node),
      produced(node.proto->output_size()) {}

InFlightDiagnostic NodeReader::error() {
  failed = true;
  return std::move(emitError(build.getLocation()) << opType() << ": ");
}

GraphValue NodeReader::value(size_t index) const {
  if (auto found = replaced.find(index); found != replaced.end())
    return found->second;
  if (index >= inputCount() || node.proto->input(static_cast<int>(index)).empty())
    return {};
  return importer.find(node.proto->input(static_cast<int>(index)));
}

SmallVector<Value> NodeReader::inputs() const {
  return llvm::map_to_vector(llvm::seq<size_t>(0, inputCount()),
                             [&](size_t index) { return input(index); });
}

std::string NodeReader::describe(size_t index) const {
  TensorType type = tensorType(input(index));
  return "'" + node.proto->input(static_cast<int>(index)) + "' (" +
         typeName(type.getElementType()) + " " + toString(type.getShape()) + ")";
}

void NodeReader::setInput(size_t index, Value value) { replaced[index] = value; }

SmallVector<GraphValue> NodeReader::importOther(int64_t opset, onnx_wire::Node &proto,
                                                ArrayRef<Value> inputs) {
  proto.mutable_input()->Clear();
  for (size_t index = 0; index < inputs.size(); ++index)
    proto.add_input(index < inputCount() ? node.proto->input(static_cast<int>(index))
                                         : node.name + "/computed");
  Node other{&proto, node.name, normalDomain(proto.domain()).str(), opset, {}, {}};
  NodeReader reader(importer, other);
  for (auto [index, value] : llvm::enumerate(inputs))
    reader.setInput(index, value);
  if (succeeded(importByRule(reader, other)))
    return reader.produced;
  failed = true;
  return {};
}

LogicalResult NodeReader::importAs(int64_t opset, onnx_wire::Node proto, ArrayRef<Value> inputs) {
  produced = importOther(opset, proto, inputs);
  return success(!failed);
}

Value NodeReader::resultOf(int64_t opset, onnx_wire::Node proto, ArrayRef<Value> inputs) {
  proto.clear_output();
  proto.add_output(node.name + "/computed");
  SmallVector<GraphValue> results = importOther(opset, proto, inputs);
  return results.empty() ? Value() : results.front().tensor();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static StringRef kindName(onnx_wire::Attribute::Kind kind) {
  switch (kind) {
  case onnx_wire::Attribute::FLOAT:
    return "a float";
  case onnx_wire::Attribute::INT:
    return "an integer";
  case onnx_wire::Attribute::STRING:
    return "a string";
  case onnx_wire::Attribute::TENSOR:
    return "a tensor";
  case onnx_wire::Attribute::GRAPH:
    return "a graph";
  case onnx_wire::Attribute::FLOATS:
    return "a list of floats";
  case onnx_wire::Attribute::INTS:
    return "a list of integers";
  case onnx_wire::Attribute::STRINGS:
    return "a list of strings";
  default:
    return "no number, string, tensor or graph";
  }
}

const onnx_wire::Attribute *NodeReader::find(StringRef name) const {
  for (const onnx_wire::Attribute &attribute : node.proto->attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

const onnx_wire::Attribute *NodeReader::find(StringRef name, onnx_wire::Attribute::Kind kind) {
  const onnx_wire::Attribute *attribute = find(name);
  // IR versions before 2 left the kind undefined.
  if (!attribute || attribute->type() == kind ||
      attribute->type() == onnx_wire::Attribute::UNDEFINED)
    return attribute;
  error() << "its attribute '" << name << "' is " << kindName(attribute->type()) << ", but must be "
          << kindName(kind);
  return nullptr;
}

bool NodeReader::hasAttribute(StringRef name) const { return find(name) != nullptr; }

int64_t NodeReader::integer(StringRef name, int64_t standard) {
  auto *attribute = find(name, onnx_wire::Attribute::INT);
  return attribute ? attribute->i() : standard;
}

float NodeReader::real(StringRef name, float standard) {
  auto *attribute = find(name, onnx_wire::Attribute::FLOAT);
  return attribute ? attribute->f() : standard;
}

std::string NodeReader::text(StringRef name, StringRef standard) {
  auto *attribute = find(name, onnx_wire::Attribute::STRING);
  return attribute ? attribute->s() : standard.str();
}

std::optional<SmallVector<int64_t>> NodeReader::integers(StringRef name) {
  auto *attribute = find(name, onnx_wire::Attribute::INTS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::optional<SmallVector<float>> NodeReader::reals(StringRef name) {
  auto *attribute = find(name, onnx_wire::Attribute::FLOATS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<float>(attribute->floats().begin(), attribute->floats().end());
}

std::optional<SmallVector<std::string>> NodeReader::texts(StringRef name) {
  auto *attribute = find(name, onnx_wire::Attribute::STRINGS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

Value NodeReader::tensor(StringRef name) {
  if (!find(name, onnx_wire::Attribute::TENSOR))
    return {};
  for (onnx_wire::Attribute &attribute : *node.proto->mutable_attribute()) {
    if (attribute.name() != name)
      continue;
    // Named by the node's output: unlike node names, it is unique.
    std::string tensorName = node.proto->output_size() > 0 ? node.proto->output(0) : node.name;
    Value value = importer.readTensor(tensorName, *attribute.mutable_t());
    failed |= !value;
    return value;
  }
  return {};
}

FailureOr<InnerGraph> NodeReader::graph(StringRef name, size_t inputs, size_t outputs) {
  const onnx_wire::Attribute *given = find(name, onnx_wire::Attribute::GRAPH);
  if (!given || !given->has_g())
    return failed ? failure() : LogicalResult(error() << "needs a graph '" << name << "'");
  for (onnx_wire::Attribute &attribute : *node.proto->mutable_attribute()) {
    if (attribute.name() != name)
      continue;
    const Graph *graph = importer.innerGraph(node, *attribute.mutable_g());
    failed |= !graph;
    if (!graph)
      return failure();
    InnerGraph inner(importer, node, *graph);
    if (inner.inputCount() != inputs || inner.outputCount() < outputs)
      return error() << "its graph '" << name << "' has " << inner.inputCount() << " inputs and "
                     << inner.outputCount() << " outputs, but must have " << inputs << " and "
                     << outputs;
    return inner;
  }
  return failure();
}

FailureOr<SmallVector<GraphValue>> InnerGraph::import(ArrayRef<GraphValue> inputs) const {
  NodeImporter inside(around->state(), *graph, around, around->pathInside(*node));
  for (auto [input, value] : llvm::zip_equal(graph->proto->input(), inputs))
    inside.define(input.name(), value);
  if (mlir::failed(inside.importNodes()))
    return failure();
  SmallVector<GraphValue> outputs;
  for (const onnx_wire::ValueInfo &output : graph->proto->output()) {
    outputs.push_back(inside.lookUp(output.name()));
    if (!outputs.back())
      return failure();
  }
  return outputs;
}

//===----------------------------------------------------------------------===//
// Known integers
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Dim>> NodeReader::dims(size_t index, StringRef what) {
  auto known = knownDims(input(index));
  if (known)
    return *known;
  build.needValue(input(index));
  return error() << what << ", " << describe(index)
                 << ", depends on the data of an input, not only on sizes; only "
                 << "what follows from the sizes of the inputs is supported"
                 << fixingFlags(input(index));
}

FailureOr<SmallVector<int64_t>> NodeReader::constants(size_t index, StringRef what) {
  auto known = knownDims(input(index));
  SmallVector<int64_t> result;
  if (known && llvm::all_of(*known, [](Dim dim) { return dim.asConstant().has_value(); })) {
    for (Dim dim : *known)
      result.push_back(*dim.asConstant());
    return result;
  }
  std::optional<HostTensor> computed = constantValue(input(index)); // from floats, say
  if (computed && computed->getStorage() == Storage::i64)
    return SmallVector<int64_t>(computed->values<int64_t>());
  build.needValue(input(index));
  return error() << what << ", " << describe(index) << ", must be constant"
                 << fixingFlags(input(index));
}

FailureOr<HostTensor> NodeReader::known(size_t index) {
  constexpr int64_t kMostElements = int64_t{1} << 22;
  std::optional<HostTensor> elements =
      constantValue(input(index), &importer.state().tensors.getWeights(), kMostElements);
  if (elements)
    return *elements;
  build.needValue(input(index));
  return error() << "its input " << describe(index)
                 << " must be constant: the shape of the result depends on its elements"
                 << fixingFlags(input(index));
}

Value NodeReader::integersOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> elements) {
  onnx_wire::Tensor tensor;
  tensor.set_data_type(onnx_wire::Tensor::INT64);
  *tensor.mutable_dims() = {shape.begin(), shape.end()};
  *tensor.mutable_int64_data() = {elements.begin(), elements.end()};
  return importer.makeTensor(node.name + "/computed", tensor);
}

FailureOr<int64_t> NodeReader::normalAxis(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  return error() << "axis " << axis << " is outside rank " << rank;
}

FailureOr<SmallVector<int64_t>> NodeReader::normalAxes(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> normal = normalAxis(axis, rank);
    if (mlir::failed(normal))
      return failure();
    result.push_back(*normal);
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return error() << "an axis is named twice";
  return result;
}

FailureOr<std::optional<SmallVector<int64_t>>> NodeReader::axes(size_t index) {
  if (!input(index))
    return integers("axes");
  FailureOr<SmallVector<int64_t>> values = constants(index, "the list of axes");
  if (mlir::failed(values))
    return failure();
  return std::optional(*values);
}

//===----------------------------------------------------------------------===//
// Types and results
//===----------------------------------------------------------------------===//

/// Walks from `value` back to where tensors of `elementType` first appear: "the float first appears
/// as ...".
std::string NodeReader::originOf(StringRef value, Type elementType) const {
  std::string type = typeName(elementType);
  const NodeImporter *scope = &importer;
  while (true) {
    while (scope->outer() && !scope->owns(value))
      scope = scope->outer();
    const Graph &graph = scope->getGraph();
    auto producer = graph.producers.find(value);
    if (producer == graph.producers.end()) {
      bool stored = llvm::any_of(graph.proto->initializer(), [&](const onnx_wire::Tensor &tensor) {
        return value == tensor.name();
      });
      return "the " + type + " first appears as the " + (stored ? "initializer" : "graph input") +
             " '" + value.str() + "'";
    }
    const Node &maker = graph.nodes[producer->second];
    const std::string *same = nullptr, *other = nullptr;
    for (const std::string &name : maker.proto->input()) {
      Value operand = scope->find(name).tensor();
      if (!operand)
        continue;
      bool isSame = tensorType(operand).getElementType() == elementType;
      (isSame ? same : other) = &name;
      if (isSame)
        break;
    }
    if (same) {
      value = *same;
      continue;
    }
    std::string from;
    if (other)
      from = ", which makes it from '" + *other + "' (" +
             typeName(tensorType(scope->find(*other).tensor()).getElementType()) + ")";
    return "the " + type + " first appears as '" + value.str() + "', the result of node '" +
           maker.name + "' (" + maker.proto->op_type() + ")" + from;
  }
}

/// The type that most of them have; of two that are as frequent, the narrower one. Null where one is no
/// float that is computed with.
static Type commonFloat(ArrayRef<Type> types) {
  Type best;
  for (Type type : types) {
    if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() < 16)
      return {};
    auto count = llvm::count(types, type), most = best ? llvm::count(types, best) : 0;
    if (count > most ||
        (count == most && type.getIntOrFloatBitWidth() < best.getIntOrFloatBitWidth()))
      best = type;
  }
  return best;
}

void NodeReader::repairTypes(ArrayRef<size_t> given) {
  Type common = commonFloat(llvm::map_to_vector(
      given, [&](size_t index) { return tensorType(input(index)).getElementType(); }));
  for (size_t index : given) {
    if (!common || tensorType(input(index)).getElementType() == common)
      continue;
    emitWarning(build.getLocation())
        << opType() << ": its input " << describe(index) << " is cast to " << typeName(common);
    setInput(index, build.cast(input(index), common));
  }
}

LogicalResult NodeReader::requireSameType(ArrayRef<size_t> indices) {
  auto given = llvm::to_vector(
      llvm::make_filter_range(indices, [&](size_t index) { return input(index) != nullptr; }));
  if (importer.state().repairTypes)
    repairTypes(given);
  for (size_t index : llvm::drop_begin(given)) {
    Type first = tensorType(input(given[0])).getElementType(),
         second = tensorType(input(index)).getElementType();
    if (first == second)
      continue;
    // The wider one is the intruder in half-precision exports.
    bool firstIsWider = first.getIntOrFloatBitWidth() > second.getIntOrFloatBitWidth();
    size_t odd = firstIsWider ? given[0] : index;
    return error() << "its inputs must have one type, but " << describe(given[0]) << " and "
                   << describe(index) << " differ; "
                   << originOf(node.proto->input(static_cast<int>(odd)),
                               firstIsWider ? first : second)
                   << (isa<FloatType>(first) && isa<FloatType>(second)
                           ? "; --repair-types casts such inputs"
                           : "");
  }
  return success();
}

LogicalResult NodeReader::requireSameType() {
  return requireSameType(llvm::to_vector(llvm::seq<size_t>(0, inputCount())));
}

/// Integers that are sizes or constants are computed here once, so that chains of shape arithmetic
/// never grow.
Value NodeReader::simplifyKnown(Value value) {
  TensorType type = tensorType(value);
  Operation *op = value.getDefiningOp();
  if (!op || isa<ConstantOp, DimsOp, WeightOp>(op) || !type.getElementType().isInteger())
    return value;
  auto known = knownDims(value);
  if (!known || llvm::any_of(*known, [](Dim dim) { return dim.getTerms().size() > kMaxDimTerms; }))
    return value;
  bool constant = llvm::all_of(*known, [](Dim dim) { return dim.asConstant().has_value(); });
  if (!constant && type.getElementType().isInteger(1))
    return value;
  return build.reshape(build.dims(*known, type.getElementType()), type.getShape());
}

LogicalResult NodeReader::output(Value value, size_t index) {
  if (!value) {
    failed = true;
    return failure();
  }
  if (index < produced.size())
    produced[index] = simplifyKnown(value);
  return success();
}

LogicalResult NodeReader::outputAny(GraphValue value, size_t index) {
  if (!value || value.isTensor())
    return output(value.tensor(), index);
  if (index < produced.size())
    produced[index] = std::move(value);
  return success();
}

} // namespace smelt::frontend
