// What an ONNX file says of itself, whether or not Smelt supports it: opsets, inputs, outputs, weights
// and nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt::compiler {

struct ListedNode {
  std::string name;
  std::string op;
  std::string domain; ///< "" for ONNX's own
  int64_t opset;      ///< the version of the domain that holds for it
  bool hasHandler;    ///< for this op at this version
};

/// An input or output as the file declares it: "float32 [batch, 3, 224, 224]".
struct DeclaredPort {
  std::string name;
  std::string type;
  std::vector<std::string> shape; ///< "batch", "128", or "?"; empty where none is declared
};

/// Initializers of one element type, those of graphs in nodes included.
struct TypeBytes {
  std::string type;
  uint64_t bytes;
};

struct FileSummary {
  std::vector<std::pair<std::string, int64_t>> opsets; ///< by domain, ONNX's own ("") first
  std::vector<DeclaredPort> inputs, outputs;           ///< without initializers
  std::vector<TypeBytes> weights;                      ///< the most bytes first
  /// In the order of computation, local functions inlined; empty where the graph cannot be walked,
  /// which an import reports.
  std::vector<ListedNode> nodes;
};

/// Empty where the file cannot be read, which an import reports.
FileSummary summarizeFile(const std::string &path);

/// The floating-point type of most bytes of weights: "float32"; "" where no weight has one.
std::string weightPrecision(const FileSummary &summary);

} // namespace smelt::compiler
