#include "compiler/onnx_graph.h"

#include "frontend/onnx.pb.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::compiler;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

void addNode(onnx_wire::Graph &graph, const char *name, const char *op,
             std::initializer_list<const char *> inputs, const char *output) {
  onnx_wire::Node &node = *graph.add_node();
  node.set_name(name);
  node.set_op_type(op);
  for (const char *input : inputs)
    node.add_input(input);
  node.add_output(output);
}

std::string save(const std::string &bytes) {
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  std::string path = testing::TempDir() + "onnx_graph_" + test->name(); // tests run side by side
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(OnnxGraph, NodesTakeEachValueOnce) {
  onnx_wire::Model model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx_wire::Graph &graph = *model.mutable_graph();
  graph.add_input()->set_name("x");
  addNode(graph, "/square", "Mul", {"b", "b"}, "c"); // files need not be in order
  addNode(graph, "/bend", "Relu", {"x"}, "a");
  addNode(graph, "", "Add", {"a", "x"}, "b");
  addNode(graph, "/join", "Add", {"c", "a"}, "y");
  graph.add_output()->set_name("y");
  std::vector<GraphNode> nodes = readOnnxGraph(save(model.SerializeAsString()));
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[0].name, "/bend");
  EXPECT_EQ(nodes[1].op, "Add");
  EXPECT_NE(nodes[1].name, "");
  EXPECT_THAT(nodes[0].inputs, IsEmpty());
  EXPECT_THAT(nodes[1].inputs, ElementsAre(0));
  EXPECT_THAT(nodes[2].inputs, ElementsAre(1));
  EXPECT_THAT(nodes[3].inputs, ElementsAre(2, 0));
}

TEST(OnnxGraph, WhatIsNoModelHasNone) {
  EXPECT_THAT(readOnnxGraph(save("no model")), IsEmpty());
  EXPECT_THAT(readOnnxGraph(testing::TempDir() + "no_such_file"), IsEmpty());
}

} // namespace
