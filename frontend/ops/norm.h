// Norms as handlers of several families make them. Null after a report, as everywhere.
#pragma once

#include "frontend/node_reader.h"

namespace smelt::frontend {

/// Over the axes from `axis` on; scale and bias, in the shape of these axes, may be null.
mlir::Value layerNorm(GraphBuilder &build, mlir::Value input, mlir::Value scale, mlir::Value bias,
                      int64_t axis, float epsilon);
mlir::Value rmsNorm(GraphBuilder &build, mlir::Value input, mlir::Value scale, int64_t axis,
                    float epsilon);

/// Input `index`, a scale or a bias, in the shape of the axes of `normalised` from `axis` on. Null
/// where it is omitted, too.
mlir::Value fitToAxes(NodeReader &node, size_t index, mlir::Value normalised, int64_t axis);

/// Input `index`, which has a value for each of `channels` along axis 1 of a tensor of `rank` axes,
/// in a shape that broadcasts to it.
mlir::Value perChannel(NodeReader &node, size_t index, Dim channels, size_t rank);

/// Mean 0 and variance 1 over each of `groups` groups of neighbouring channels, and all after them:
/// of [N, C, ...] as [N, groups, C / groups, ...], so that what follows is computed in one shape;
/// without the third axis where each channel is a group.
mlir::Value normaliseGroups(NodeReader &node, mlir::Value input, Dim groups, float epsilon);
/// A vector with a value for each channel, or for each group, in a shape that broadcasts to what
/// normaliseGroups gave.
mlir::Value spreadOverGroups(GraphBuilder &build, mlir::Value values, mlir::Value normalised);

} // namespace smelt::frontend
