#include "compiler/file_summary.h"

#include "frontend/onnx.pb.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::compiler;
using onnx_wire::Tensor;

namespace {

void addTensor(onnx_wire::Graph &graph, const char *name, Tensor::DataType type,
               std::initializer_list<int64_t> dims) {
  Tensor &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
}

void addInput(onnx_wire::Graph &graph, const char *name, Tensor::DataType type, bool hasShape) {
  onnx_wire::ValueInfo &info = *graph.add_input();
  info.set_name(name);
  auto &tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  if (!hasShape)
    return;
  tensor.mutable_shape()->add_dim()->set_dim_param("batch");
  tensor.mutable_shape()->add_dim();
  tensor.mutable_shape()->add_dim()->set_dim_value(7);
}

void addNode(onnx_wire::Graph &graph, const char *op, const char *domain, const char *input,
             const char *output) {
  onnx_wire::Node &node = *graph.add_node();
  node.set_op_type(op);
  node.set_domain(domain);
  node.add_input(input);
  node.add_output(output);
}

FileSummary summaryOf(const onnx_wire::Model &model) {
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  std::string path = testing::TempDir() + "file_summary_" + test->name(); // tests run side by side
  std::ofstream(path, std::ios::binary) << model.SerializeAsString();
  return summarizeFile(path);
}

onnx_wire::Model mixedModel() {
  onnx_wire::Model model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx_wire::OperatorSet &contrib = *model.add_opset_import();
  contrib.set_domain("com.microsoft");
  contrib.set_version(1);
  onnx_wire::Graph &graph = *model.mutable_graph();
  addInput(graph, "x", Tensor::FLOAT, true);
  addInput(graph, "y", Tensor::STRING, false);
  addInput(graph, "half", Tensor::FLOAT16, true); // an initializer, which the file lists too
  addTensor(graph, "half", Tensor::FLOAT16, {3, 5});
  addTensor(graph, "single", Tensor::FLOAT, {100});
  addTensor(graph, "nibbles", Tensor::INT4, {3, 3});
  addTensor(graph, "words", Tensor::STRING, {3});
  addNode(graph, "Gelu", "com.microsoft", "x", "a");
  addNode(graph, "Gelu", "", "a", "b");
  return model;
}

TEST(FileSummary, PortsAsDeclaredWithoutInitializers) {
  FileSummary summary = summaryOf(mixedModel());
  ASSERT_EQ(summary.inputs.size(), 2u);
  EXPECT_EQ(summary.inputs[0].name, "x");
  EXPECT_EQ(summary.inputs[0].type, "float32 [batch, ?, 7]");
  EXPECT_EQ(summary.inputs[1].type, "string of any shape");
  EXPECT_TRUE(summary.outputs.empty());
}

TEST(FileSummary, BytesOfEachTypeTheMostFirst) {
  FileSummary summary = summaryOf(mixedModel());
  ASSERT_EQ(summary.weights.size(), 4u);
  EXPECT_EQ(summary.weights[0].type, "float32");
  EXPECT_EQ(summary.weights[0].bytes, 400u);
  EXPECT_EQ(summary.weights[1].type, "float16");
  EXPECT_EQ(summary.weights[1].bytes, 30u);
  EXPECT_EQ(summary.weights[2].type, "int4");
  EXPECT_EQ(summary.weights[2].bytes, 5u);
  EXPECT_EQ(summary.weights[3].bytes, 0u);
  EXPECT_EQ(weightPrecision(summary), "float32");
}

TEST(FileSummary, EachNodeWithTheVersionThatHoldsForIt) {
  FileSummary summary = summaryOf(mixedModel());
  ASSERT_EQ(summary.opsets.size(), 2u);
  EXPECT_EQ(summary.opsets[0], std::make_pair(std::string(), int64_t{17}));
  ASSERT_EQ(summary.nodes.size(), 2u);
  EXPECT_EQ(summary.nodes[0].domain, "com.microsoft");
  EXPECT_EQ(summary.nodes[0].opset, 1);
  EXPECT_TRUE(summary.nodes[0].hasHandler);
  EXPECT_EQ(summary.nodes[1].opset, 17);
  EXPECT_FALSE(summary.nodes[1].hasHandler) << "ONNX's own Gelu is of opset 20";
}

TEST(FileSummary, SizesThatOverflowCountNothing) {
  onnx_wire::Model model = mixedModel();
  int64_t huge = int64_t{1} << 40;
  addTensor(*model.mutable_graph(), "huge", Tensor::DOUBLE, {huge, huge, -1});
  FileSummary summary = summaryOf(model);
  EXPECT_THAT(summary.weights, testing::Contains(testing::Field(&TypeBytes::type, "float64")));
  EXPECT_EQ(summary.weights[0].type, "float32");
}

TEST(FileSummary, OfNoModelIsEmpty) {
  FileSummary summary = summarizeFile("no/such/file.onnx");
  EXPECT_TRUE(summary.nodes.empty() && summary.inputs.empty() && summary.opsets.empty());
  EXPECT_EQ(weightPrecision(summary), "");
}

} // namespace
