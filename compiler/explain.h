// What became of every ONNX node of a model, and why.
#pragma once

#include "compiler/model.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/JSON.h"

#include <map>

namespace smelt::compiler {

/// One fusion of the fused module: one kernel.
struct Kernel {
  std::string kind;
  llvm::SetVector<llvm::StringRef> ops; ///< "layer_norm", "matmul", ... in order
  bool isOfShapesOnly;                  ///< computes from sizes alone, with no input and no weight
};

struct Counts {
  int64_t attention = 0, norm = 0, softmax = 0, gelu = 0;
};

/// What is known about one ONNX node: its kernels, and the decisions made about it.
struct NodeFate {
  std::string op;
  llvm::SetVector<size_t> kernels;
  std::vector<std::string> remarks;
};

using Fates = llvm::MapVector<std::string, NodeFate, std::map<std::string, unsigned>>;

/// What became of a model.
struct Explanation {
  std::vector<Kernel> kernels; ///< each at its number (codegen/fusion_numbers.h)
  Counts counts;
  Fates fates;
};

/// "became gemm", "no norm, since it fails 'axes are trailing': the axes are 0, 2".
std::string decisionText(bool isTaken, const std::string &fusion, const std::string &predicate,
                         const std::string &message);

/// How many there are: "nodes", "kernels", "attention", ...
llvm::json::Object countsJson(const Explanation &explanation);
/// Schema smelt.explain/1.
llvm::json::Object explanationJson(const Explanation &explanation, const std::string &modelPath);

/// Of a model after Model::fuse(), which must live as long as the explanation.
Explanation explainModel(Model &fused);

} // namespace smelt::compiler
