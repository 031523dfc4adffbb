// Windows that slide over spatial axes, as convolutions and pools read them.
#pragma once

#include "frontend/node_reader.h"

namespace smelt::frontend {

/// Larger strides, dilations and pads make sizes that overflow.
constexpr int64_t kLargestStep = 1 << 16;

/// Padding, strides and dilations of each spatial axis. Pads are all starts, then all ends.
struct Window {
  llvm::SmallVector<int64_t> strides, dilations, pads;

  /// Elements from the first to the last that a window of `taps` elements along `axis` reads.
  Dim reach(size_t axis, Dim taps) const { return (taps - 1) * dilations[axis] + 1; }
};

/// The window of `node` over axes of `sizes` elements, `kernel` elements each. Reports and fails
/// where an attribute does not fit, and where auto_pad needs sizes that are not constant.
mlir::FailureOr<Window> readWindow(NodeReader &node, llvm::ArrayRef<Dim> sizes,
                                   llvm::ArrayRef<Dim> kernel);

/// Its attributes alone, without auto_pad.
mlir::FailureOr<Window> readExplicitWindow(NodeReader &node, size_t spatial);

/// `count` integers from `low` to kLargestStep from attribute `name`; `standard` each where it is absent.
mlir::FailureOr<llvm::SmallVector<int64_t>> readSizes(NodeReader &node, llvm::StringRef name,
                                                      size_t count, int64_t low, int64_t standard);

/// [N, spatial..., C] as [N, C, spatial...], and back.
mlir::Value channelsFirst(GraphBuilder &build, mlir::Value value);
mlir::Value channelsLast(GraphBuilder &build, mlir::Value value);

} // namespace smelt::frontend
