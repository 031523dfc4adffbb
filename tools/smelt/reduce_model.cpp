#include "tools/smelt/reduce_model.h"

#include "codegen/output_file.h"
#include "compiler/run_model.h"
#include "frontend/model_file.h"
#include "frontend/tensor_reader.h"
#include "ir/dialect.h"
#include "runtime/text.h"
#include "tools/smelt/delta_debugging.h"
#include "tools/smelt/interpreter_array.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/npz.h"
#include "tools/smelt/report.h"
#include "tools/smelt/temporary_file.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace smelt::tools {

namespace {

/// A model of which parts can be written as models of their own.
class WholeModel {
public:
  Status read(const ModelFlags &flags, const std::vector<Array> &inputs);
  size_t nodeCount() const { return static_cast<size_t>(graph().node_size()); }
  /// The model of these nodes, and its inputs.
  Status write(const std::vector<size_t> &nodes, const std::string &model,
               const std::string &inputs) const;

private:
  const onnx_wire::Graph &graph() const { return file->graph(); }
  Status readFile(const std::string &path);
  Status record(const ModelFlags &flags, const std::vector<Array> &inputs);
  void addOutputs(onnx_wire::Graph &part, const llvm::StringSet<> &read) const;

  std::unique_ptr<onnx_wire::Model> file;
  std::map<std::string, Array> values; ///< of inputs, and of what nodes compute
};

} // namespace

/// With the weights of other files in it.
Status WholeModel::readFile(const std::string &path) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<SmeltDialect>();
  DiagnosticCollector problems(context, path, nullptr);
  mlir::Location location = UnknownLoc::get(&context);
  auto parsed = frontend::readModelFile(location, path);
  if (failed(parsed))
    return problems.asStatus(StatusCode::kInvalidModel, path + ": cannot be read");
  file = std::move(*parsed);
  frontend::ExternalFiles files(llvm::sys::path::parent_path(path).str());
  for (onnx_wire::Tensor &tensor : *file->mutable_graph()->mutable_initializer())
    if (failed(frontend::embedExternal(location, files, tensor)))
      return problems.asStatus(StatusCode::kInvalidModel, path + ": its weights cannot be read");
  return {};
}

/// What every tensor of the graph is, by the interpreter in double precision.
Status WholeModel::record(const ModelFlags &flags, const std::vector<Array> &inputs) {
  ModelFlags exposing = flags;
  exposing.exposesAll = exposing.isSilent = true;
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, importModel(exposing));
  const Signature &signature = model->signature();
  for (size_t i = 0; i < inputs.size(); ++i)
    values.emplace(signature.inputs[i].name, inputs[i]);
  for (const auto &[name, number] : signature.fixed) {
    SMELT_ASSIGN_OR_RETURN(std::optional<Array> value, readValue(flags.values, name, number));
    if (value)
      values.emplace(name, std::move(*value));
  }
  compiler::ModelRunner runner(*model, CpuArithmetic::kDouble);
  SMELT_ASSIGN_OR_RETURN(std::vector<HostTensor> results, runOnCpu(runner, inputs));
  for (size_t i = 0; i < results.size(); ++i)
    values.emplace(signature.outputs[i].name, toArray(results[i], signature.outputs[i].type));
  return {};
}

Status WholeModel::read(const ModelFlags &flags, const std::vector<Array> &inputs) {
  SMELT_RETURN_IF_ERROR(readFile(flags.path));
  return record(flags, inputs);
}

/// The names that a node reads, those that graphs in it read included.
static void addRead(const onnx_wire::Node &node, llvm::StringSet<> &read) {
  for (const std::string &name : node.input())
    read.insert(name);
  auto addGraph = [&](const onnx_wire::Graph &graph) {
    for (const onnx_wire::Node &inner : graph.node())
      addRead(inner, read);
    for (const onnx_wire::ValueInfo &output : graph.output())
      read.insert(output.name());
  };
  for (const onnx_wire::Attribute &attribute : node.attribute()) {
    if (attribute.has_g())
      addGraph(attribute.g());
    llvm::for_each(attribute.graphs(), addGraph);
  }
}

static void describe(onnx_wire::ValueInfo &port, const std::string &name, const Array &value) {
  port.set_name(name);
  auto &type = *port.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnxDataType(value.type));
  onnx_wire::Shape &shape = *type.mutable_shape(); // of a scalar too
  for (int64_t size : value.shape)
    shape.add_dim()->set_dim_value(size);
}

/// What the part's nodes do not read, and what the model gives.
void WholeModel::addOutputs(onnx_wire::Graph &part, const llvm::StringSet<> &read) const {
  llvm::StringSet<> wanted;
  for (const onnx_wire::ValueInfo &output : graph().output())
    wanted.insert(output.name());
  for (const onnx_wire::Node &node : part.node())
    for (const std::string &name : node.output())
      if (auto value = values.find(name);
          value != values.end() && (wanted.contains(name) || !read.contains(name)))
        describe(*part.add_output(), name, value->second);
}

Status WholeModel::write(const std::vector<size_t> &nodes, const std::string &model,
                         const std::string &inputs) const {
  onnx_wire::Model small;
  small.set_ir_version(file->ir_version());
  *small.mutable_opset_import() = file->opset_import();
  *small.mutable_functions() = file->functions();
  onnx_wire::Graph &part = *small.mutable_graph();
  part.set_name(graph().name());
  llvm::StringSet<> read, known;
  for (size_t node : nodes) {
    *part.add_node() = graph().node(static_cast<int>(node));
    addRead(graph().node(static_cast<int>(node)), read);
    for (const std::string &output : graph().node(static_cast<int>(node)).output())
      known.insert(output);
  }
  for (const onnx_wire::Tensor &tensor : graph().initializer())
    if (read.contains(tensor.name())) {
      *part.add_initializer() = tensor;
      known.insert(tensor.name());
    }
  std::vector<NamedArray> given;
  for (const auto &[name, value] : values)
    if (read.contains(name) && !known.contains(name)) {
      describe(*part.add_input(), name, value);
      given.emplace_back(name, &value);
    }
  addOutputs(part, read);
  std::string bytes;
  if (!small.SerializeToString(&bytes))
    return Status(StatusCode::kResources, model + ": an ONNX file cannot be larger than 2 GB");
  SMELT_RETURN_IF_ERROR(codegen::writeText(bytes, model));
  return writeNpz(inputs, given);
}

std::string inputsBeside(const std::string &output) {
  llvm::SmallString<128> path(output);
  llvm::sys::path::replace_extension(path, "npz");
  return path.str().str();
}

Result<Reduction> reduceModel(const ModelFlags &flags, const std::vector<Array> &inputs,
                              const std::string &output, const FailsOn &fails) {
  setActivity("reducing the model");
  WholeModel whole;
  SMELT_RETURN_IF_ERROR(whole.read(flags, inputs));
  SMELT_ASSIGN_OR_RETURN(TemporaryFile model, TemporaryFile::create("onnx"));
  SMELT_ASSIGN_OR_RETURN(TemporaryFile given, TemporaryFile::create("npz"));
  ProgressLine line;
  size_t tried = 0, least = whole.nodeCount();
  auto failsWith = [&](const std::vector<size_t> &nodes) -> Result<bool> {
    line.show(joinText("reducing: ", least, " nodes fail, ", ++tried, " models tried"));
    SMELT_RETURN_IF_ERROR(whole.write(nodes, model.path(), given.path()));
    bool stillFails = fails(model.path(), given.path());
    if (stillFails)
      least = nodes.size();
    return stillFails;
  };
  std::vector<size_t> all(whole.nodeCount());
  std::iota(all.begin(), all.end(), size_t{0});
  SMELT_ASSIGN_OR_RETURN(bool failsAtAll, failsWith(all));
  if (!failsAtAll)
    return Status(StatusCode::kRunFailed,
                  flags.path + ": the model does not fail when it is written anew: nothing is "
                               "reduced");
  SMELT_ASSIGN_OR_RETURN(std::vector<size_t> nodes, smallestFailing(all.size(), failsWith));
  Reduction reduction{output, inputsBeside(output), nodes.size(), all.size()};
  SMELT_RETURN_IF_ERROR(whole.write(nodes, reduction.model, reduction.inputs));
  return reduction;
}

} // namespace smelt::tools
