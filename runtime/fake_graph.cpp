#include "runtime/fake_graph.h"

#include <algorithm>

namespace smelt::runtime {

FakeNode *FakeGraph::add(std::unique_ptr<FakeNode> node) {
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

size_t FakeGraph::indexOf(const FakeNode *node) const {
  auto isNode = [node](const std::unique_ptr<FakeNode> &held) { return held.get() == node; };
  return static_cast<size_t>(std::find_if(nodes.begin(), nodes.end(), isNode) - nodes.begin());
}

std::unique_ptr<FakeGraph> FakeGraph::clone() const {
  auto copy = std::make_unique<FakeGraph>();
  for (const auto &node : nodes) {
    FakeNode *added = copy->add(std::make_unique<FakeNode>());
    added->type = node->type;
    added->kernel = node->kernel;
    added->child = node->child ? node->child->clone() : nullptr;
    added->copy = node->copy;
    added->dependencies = node->dependencies;
  }
  return copy;
}

void FakeGraph::run(const std::function<void(const FakeKernelCall &)> &runKernel) const {
  for (const auto &node : nodes) {
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL)
      runKernel(node->kernel);
    if (node->copy)
      node->copy();
    if (node->child)
      node->child->run(runKernel);
  }
}

} // namespace smelt::runtime
