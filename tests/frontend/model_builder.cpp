#include "tests/frontend/model_builder.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

using namespace mlir;

namespace smelt::test {

ModelBuilder::ModelBuilder(int64_t opset) {
  model.set_ir_version(10);
  model.add_opset_import()->set_version(opset);
  graph().set_name("test");
}

ModelBuilder &ModelBuilder::opset(const std::string &domain, int64_t version) {
  onnx_wire::OperatorSet *import = model.add_opset_import();
  import->set_domain(domain);
  import->set_version(version);
  return *this;
}

ModelBuilder &ModelBuilder::input(const std::string &name, int32_t type, const std::string &shape) {
  onnx_wire::ValueInfo &info = *graph().add_input();
  info.set_name(name);
  auto &tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  std::istringstream words(shape);
  for (std::string word; words >> word;) {
    auto &dim = *tensor.mutable_shape()->add_dim();
    if (isdigit(word[0]) || word[0] == '-')
      dim.set_dim_value(std::stoll(word));
    else if (word != "?")
      dim.set_dim_param(word);
  }
  return *this;
}

ModelBuilder &ModelBuilder::output(const std::string &name) {
  graph().add_output()->set_name(name);
  return *this;
}

ModelBuilder &ModelBuilder::integers(const std::string &name, const std::vector<int64_t> &values) {
  integer(name, 0);
  onnx_wire::Tensor &tensor = *graph().mutable_initializer(graph().initializer_size() - 1);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  *tensor.mutable_int64_data() = {values.begin(), values.end()};
  return *this;
}

ModelBuilder &ModelBuilder::integer(const std::string &name, int64_t value) {
  onnx_wire::Tensor &tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(DataType::INT64);
  tensor.add_int64_data(value);
  return *this;
}

ModelBuilder &ModelBuilder::floats(const std::string &name, const std::vector<int64_t> &dims,
                                   const std::vector<float> &values) {
  onnx_wire::Tensor &tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(DataType::FLOAT);
  *tensor.mutable_dims() = {dims.begin(), dims.end()};
  *tensor.mutable_float_data() = {values.begin(), values.end()};
  return *this;
}

ModelBuilder &ModelBuilder::node(const std::string &op, const std::vector<std::string> &inputs,
                                 const std::vector<std::string> &outputs) {
  onnx_wire::Node &node = *graph().add_node();
  node.set_op_type(op);
  *node.mutable_input() = {inputs.begin(), inputs.end()};
  *node.mutable_output() = {outputs.begin(), outputs.end()};
  return *this;
}

ModelBuilder &ModelBuilder::named(const std::string &name) {
  lastNode().set_name(name);
  return *this;
}

static onnx_wire::Attribute &addAttribute(ModelBuilder &builder, const std::string &name,
                                          onnx_wire::Attribute::Kind kind) {
  onnx_wire::Attribute &attribute = *builder.lastNode().add_attribute();
  attribute.set_name(name);
  attribute.set_type(kind);
  return attribute;
}

ModelBuilder &ModelBuilder::attribute(const std::string &name, int64_t value) {
  addAttribute(*this, name, onnx_wire::Attribute::INT).set_i(value);
  return *this;
}

ModelBuilder &ModelBuilder::attribute(const std::string &name, float value) {
  addAttribute(*this, name, onnx_wire::Attribute::FLOAT).set_f(value);
  return *this;
}

ModelBuilder &ModelBuilder::attribute(const std::string &name, const std::string &value) {
  addAttribute(*this, name, onnx_wire::Attribute::STRING).set_s(value);
  return *this;
}

ModelBuilder &ModelBuilder::attribute(const std::string &name, const std::vector<int64_t> &values) {
  *addAttribute(*this, name, onnx_wire::Attribute::INTS).mutable_ints() = {values.begin(),
                                                                           values.end()};
  return *this;
}

ModelBuilder &ModelBuilder::attribute(const std::string &name, const std::vector<float> &values) {
  *addAttribute(*this, name, onnx_wire::Attribute::FLOATS).mutable_floats() = {values.begin(),
                                                                               values.end()};
  return *this;
}

ModelBuilder &ModelBuilder::attribute(const std::string &name, const ModelBuilder &inner) {
  *addAttribute(*this, name, onnx_wire::Attribute::GRAPH).mutable_g() = inner.model.graph();
  return *this;
}

std::vector<InputPort> halfPorts(const std::vector<std::pair<std::string, std::string>> &inputs) {
  std::vector<InputPort> ports;
  for (const auto &[name, shape] : inputs)
    ports.push_back({name, onnx_wire::Tensor::FLOAT16, shape});
  return ports;
}

ModelBuilder microsoftNode(const std::string &op, const std::vector<InputPort> &inputs,
                           const std::vector<std::string> &outputs) {
  ModelBuilder model(20);
  model.opset("com.microsoft", 1);
  std::vector<std::string> names;
  for (const InputPort &port : inputs) {
    names.push_back(port.name);
    if (!port.name.empty())
      model.input(port.name, port.type, port.shape);
  }
  model.node(op, names, outputs);
  model.lastNode().set_domain("com.microsoft");
  for (const std::string &output : outputs)
    if (!output.empty())
      model.output(output);
  return model;
}

Imported ModelBuilder::import(const ImportOptions &options) const {
  return importBytes(bytes(), ".", options);
}

static Imported runImport(const std::function<FailureOr<ImportedModel>(MLIRContext &)> &import) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Imported result;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream stream(result.diagnostics);
    stream << diagnostic.getLocation() << ": " << diagnostic << "\n";
    return success();
  });
  FailureOr<ImportedModel> model = import(context);
  result.succeeded = succeeded(model);
  if (result.succeeded) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    model->module->print(stream);
    // Runs of spaces say nothing.
    std::unique_copy(text.begin(), text.end(), std::back_inserter(result.text),
                     [](char a, char b) { return a == ' ' && b == ' '; });
  }
  return result;
}

Imported importBytes(const std::string &bytes, const std::string &directory,
                     const ImportOptions &options) {
  return runImport([&](MLIRContext &context) {
    return importModel(context, ArrayRef<char>(bytes.data(), bytes.size()), directory, options);
  });
}

Imported importFile(const std::string &path, const ImportOptions &options) {
  return runImport([&](MLIRContext &context) { return importModel(context, path, options); });
}

void expectImports(const Imported &imported, const std::vector<std::string> &parts) {
  ASSERT_TRUE(imported.succeeded) << imported.diagnostics;
  size_t position = 0;
  for (const std::string &part : parts) {
    size_t found = imported.text.find(part, position);
    ASSERT_NE(found, std::string::npos) << "no '" << part << "' (in this order) in:\n"
                                        << imported.text;
    position = found + part.size();
  }
}

void expectFails(const Imported &imported, const std::vector<std::string> &parts) {
  ASSERT_FALSE(imported.succeeded) << imported.text;
  for (const std::string &part : parts)
    EXPECT_NE(imported.diagnostics.find(part), std::string::npos) << "no '" << part << "' in:\n"
                                                                  << imported.diagnostics;
}

} // namespace smelt::test
