#include "compiler/file_summary.h"

#include "frontend/element_type.h"
#include "frontend/graph.h"
#include "frontend/model_file.h"
#include "frontend/node_table.h"
#include "runtime/text.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;

namespace smelt::compiler {

namespace {

using BytesByType = std::map<std::string, uint64_t>;

/// "float32" rather than ONNX's "float": the names of NumPy, which the command line takes.
std::string elementName(int32_t dataType) {
  if (dataType == onnx_wire::Tensor::FLOAT)
    return "float32";
  return dataType == onnx_wire::Tensor::DOUBLE ? "float64" : frontend::dataTypeName(dataType);
}

std::string dimName(const onnx_wire::Shape::Dimension &dim) {
  if (dim.has_dim_value())
    return std::to_string(dim.dim_value());
  return dim.dim_param().empty() ? "?" : dim.dim_param();
}

DeclaredPort portOf(const onnx_wire::ValueInfo &info) {
  if (!info.type().has_tensor_type())
    return {info.name(), "no tensor", {}};
  const auto &tensor = info.type().tensor_type();
  std::string text = elementName(tensor.elem_type());
  if (!tensor.has_shape())
    return {info.name(), text + " of any shape", {}};
  DeclaredPort port{info.name(), "", {}};
  for (const onnx_wire::Shape::Dimension &dim : tensor.shape().dim())
    port.shape.push_back(dimName(dim));
  port.type = text + " [" + llvm::join(port.shape, ", ") + "]";
  return port;
}

/// What the tensor takes in a file; 0 for elements of no fixed size, and for sizes that overflow.
uint64_t bytesOf(MLIRContext *context, const onnx_wire::Tensor &tensor) {
  Type type = frontend::elementType(context, tensor.data_type());
  bool overflows = false;
  uint64_t count = 1;
  for (int64_t dim : tensor.dims())
    count = llvm::SaturatingMultiply<uint64_t>(count, std::max<int64_t>(dim, 0), &overflows);
  if (!type || overflows)
    return 0;
  unsigned shared = frontend::elementsPerByte(tensor.data_type());
  uint64_t width = llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
  return shared > 1 ? llvm::divideCeil(count, shared) : llvm::SaturatingMultiply(count, width);
}

void addWeights(MLIRContext *context, const onnx_wire::Graph &graph, BytesByType &bytes) {
  for (const onnx_wire::Tensor &tensor : graph.initializer())
    bytes[elementName(tensor.data_type())] += bytesOf(context, tensor);
  for (const onnx_wire::Node &node : graph.node())
    for (const onnx_wire::Attribute &attribute : node.attribute())
      if (attribute.has_g())
        addWeights(context, attribute.g(), bytes);
}

std::vector<TypeBytes> weightsOf(MLIRContext *context, const onnx_wire::Graph &graph) {
  BytesByType bytes;
  addWeights(context, graph, bytes);
  std::vector<TypeBytes> weights;
  for (auto &[type, count] : bytes)
    weights.push_back({type, count});
  llvm::sort(weights, [](const TypeBytes &left, const TypeBytes &right) {
    return std::tie(right.bytes, left.type) < std::tie(left.bytes, right.type);
  });
  return weights;
}

std::vector<DeclaredPort>
portsOf(const google::protobuf::RepeatedPtrField<onnx_wire::ValueInfo> &infos,
        const llvm::StringSet<> &initializers) {
  std::vector<DeclaredPort> ports;
  for (const onnx_wire::ValueInfo &info : infos)
    if (!initializers.contains(info.name()))
      ports.push_back(portOf(info));
  return ports;
}

std::vector<ListedNode> nodesOf(Location location, onnx_wire::Model &model) {
  auto graph = frontend::buildGraph(location, model);
  if (failed(graph))
    return {};
  std::vector<ListedNode> nodes;
  for (const frontend::Node &node : graph->nodes) {
    const std::string &op = node.proto->op_type();
    nodes.push_back({node.name, op, node.domain, node.opset,
                     frontend::findRule(node.domain, op, node.opset) != nullptr});
  }
  return nodes;
}

} // namespace

FileSummary summarizeFile(const std::string &path) {
  MLIRContext context;
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &) { return success(); });
  Location location = UnknownLoc::get(&context);
  auto file = frontend::readModelFile(location, path);
  if (failed(file))
    return {};
  FileSummary summary;
  std::map<std::string, int64_t> opsets;
  for (const onnx_wire::OperatorSet &import : (*file)->opset_import())
    opsets[frontend::normalDomain(import.domain()).str()] = import.version();
  summary.opsets.assign(opsets.begin(), opsets.end());
  const onnx_wire::Graph &graph = (*file)->graph();
  llvm::StringSet<> initializers;
  for (const onnx_wire::Tensor &tensor : graph.initializer())
    initializers.insert(tensor.name());
  summary.inputs = portsOf(graph.input(), initializers);
  summary.outputs = portsOf(graph.output(), {});
  summary.weights = weightsOf(&context, graph);
  summary.nodes = nodesOf(location, **file);
  return summary;
}

std::string weightPrecision(const FileSummary &summary) {
  for (const TypeBytes &weight : summary.weights)
    if (llvm::StringRef(weight.type).contains("float"))
      return weight.type;
  return "";
}

} // namespace smelt::compiler
