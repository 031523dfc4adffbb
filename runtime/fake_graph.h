// The fake driver's graphs: nodes that can be added, changed, cloned and run on the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <cuda.h>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace smelt::runtime {

/// One launch of a kernel, with the parameters that it was given.
struct FakeKernelCall {
  std::string entry;
  std::array<unsigned, 3> grid = {};
  std::array<unsigned, 3> block = {};
  std::array<unsigned, 3> cluster = {};
  unsigned sharedBytes = 0;
  std::vector<std::vector<std::byte>> parameters;

  template <typename T> T parameter(size_t index) const {
    T value;
    std::memcpy(&value, parameters.at(index).data(), sizeof(value));
    return value;
  }
};

struct FakeGraph;

struct FakeEdge {
  size_t from; ///< index of a node of the same graph
  CUgraphEdgeData data;
};

struct FakeNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  FakeKernelCall kernel;            ///< of kernel nodes
  std::unique_ptr<FakeGraph> child; ///< of child graph nodes
  std::function<void()> copy;       ///< of memcpy nodes
  std::vector<FakeEdge> dependencies;
};

/// Nodes in the order in which they were added, which is an order in which they may run. Node
/// handles point to nodes, so nodes keep their place in memory.
struct FakeGraph {
  std::vector<std::unique_ptr<FakeNode>> nodes;

  FakeNode *add(std::unique_ptr<FakeNode> node);
  /// The index of a node of this graph; nodes.size() for a foreign one.
  size_t indexOf(const FakeNode *node) const;
  std::unique_ptr<FakeGraph> clone() const;
  /// Runs the nodes in order, children included; kernels through `runKernel`.
  void run(const std::function<void(const FakeKernelCall &)> &runKernel) const;
};

/// A graph made ready to run; `sources` are the nodes of the graph that it was made from.
struct FakeGraphExec {
  std::unique_ptr<FakeGraph> graph;
  std::vector<const FakeNode *> sources;
};

} // namespace smelt::runtime
