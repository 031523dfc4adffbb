// The nodes of an ONNX file, whether or not Smelt supports them.
#pragma once

#include <string>
#include <vector>

namespace smelt::compiler {

struct ListedNode {
  std::string name;
  std::string op;
  bool hasHandler; ///< for this op at the opset of the model
};

/// In the order of computation, local functions inlined; empty where the file holds no graph that
/// can be walked, which an import reports.
std::vector<ListedNode> listNodes(const std::string &path);

} // namespace smelt::compiler
