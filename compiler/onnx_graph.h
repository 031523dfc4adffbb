// The graph of an ONNX file as people draw it: nodes, and which take values of which.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace smelt::compiler {

struct GraphNode {
  std::string name; ///< as remarks and kernels name it
  std::string op;
  std::vector<size_t> inputs; ///< nodes that it takes values of, those of graphs in it included
  std::vector<std::string> outputs; ///< names of the values that it computes
};

/// In the order of computation, local functions inlined. Empty where the file cannot be read or
/// walked, which an import reports.
std::vector<GraphNode> readOnnxGraph(const std::string &path);

} // namespace smelt::compiler
