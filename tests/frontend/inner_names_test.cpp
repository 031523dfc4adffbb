#include "frontend/inner_names.h"

#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

/// Reads a and b from around it, defines c; the graph in it reads c, and b again.
ModelBuilder outerNode() {
  ModelBuilder innermost, body, model;
  innermost.node("Add", {"c", "b"}, {"d"}).output("d");
  body.node("Add", {"a", "b"}, {"c"}).node("If", {"c"}, {"e"});
  body.attribute("then_branch", innermost).output("e").output("handed");
  return model.node("Loop", {}, {"y"}).attribute("body", body);
}

TEST(InnerNames, NamesFromAround) {
  ModelBuilder model = outerNode();
  EXPECT_TRUE(frontend::holdsGraphs(model.lastNode()));
  EXPECT_EQ(frontend::namesFromAround(model.lastNode()),
            (std::vector<std::string>{"a", "b", "handed"}));
}

TEST(InnerNames, OnlyNamesFromAroundAreRenamed) {
  ModelBuilder model = outerNode();
  onnx_wire::Graph &body = *model.lastNode().mutable_attribute(0)->mutable_g();
  frontend::renameInside(
      body, [](const std::string &name) { return "f/" + name; },
      [](const onnx_wire::Attribute &attribute) { return &attribute; });
  EXPECT_EQ(frontend::namesFromAround(model.lastNode()),
            (std::vector<std::string>{"f/a", "f/b", "f/handed"}));
  EXPECT_EQ(body.node(0).output(0), "c");
}

} // namespace
} // namespace smelt::test
