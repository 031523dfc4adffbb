// What the handlers of attention in ONNX's own domain and in com.microsoft share. Null after a report, as everywhere,
// and where an operand is null.
#pragma once

#include "frontend/node_reader.h"

namespace smelt::frontend {

/// Queries, keys and values are [batch, heads, length, size]; the bias, where there is one, has four axes.
struct AttentionParts {
  mlir::Value query, key, value, bias;
  bool causal = false;
  bool zeroesHidden = false; // a query that sees no key yields zeros
};

/// What hides a key from a query altogether.
constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// 0 where `keep` holds, `hidden` elsewhere.
mlir::Value biasFrom(GraphBuilder &build, mlir::Value keep, mlir::Type element,
                     double hidden = kHidden);
mlir::Value addBias(GraphBuilder &build, mlir::Value bias, mlir::Value more);

/// [batch, length, heads * size] as [batch, heads, length, size]; null, without a report, where it cannot be split.
mlir::Value splitHeads(GraphBuilder &build, mlir::Value input, int64_t heads);
mlir::Value mergeHeads(GraphBuilder &build, mlir::Value heads);

/// 0 to length - 1, int64, in a shape with that many elements.
mlir::Value iota(GraphBuilder &build, Dim length, llvm::ArrayRef<Dim> shape);

/// Keys that a query sees around its own position; none: all on that side.
struct Sight {
  std::optional<int64_t> left, right;

  bool isLimited() const { return left || right; }
};

/// A bias that shows each query the keys in sight of `position`, its own among the keys.
mlir::Value sightBias(GraphBuilder &build, const Sight &sight, mlir::Value position,
                      mlir::Value key, mlir::Type element);

mlir::LogicalResult requireSizesFit(NodeReader &node, const AttentionParts &parts);
/// The bias may not widen the scores.
mlir::LogicalResult requireBiasFits(NodeReader &node, const AttentionParts &parts);

/// 1 / sqrt(size of a head)
mlir::FailureOr<float> standardScale(NodeReader &node, mlir::Value query);

/// [batch, heads, queries, size of a value]
mlir::Value attend(GraphBuilder &build, const AttentionParts &parts, float scale,
                   float softcap = 0);

} // namespace smelt::frontend
