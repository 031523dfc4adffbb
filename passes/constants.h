// Constants as the passes see them: one value for all elements, and whether a type can hold a value
// exactly.
#pragma once

#include "ir/dialect.h"

#include "mlir/IR/Builders.h"

namespace smelt::passes {

/// The value of `constant` if all its elements are one number that the program means as such. A
/// float tensor of several equal elements is a weight that happens to be uniform, a fresh bias or
/// norm scale: the kernels must not be specialised to a model that is not trained yet.
mlir::DenseElementsAttr literalSplat(ConstantOp constant);

/// The float that every element of `value` is, through views; none for integers and for what is not
/// constant.
std::optional<double> splatFloat(mlir::Value value);

/// The integer (bool: 0 or 1) that every element of `value` is, through views.
std::optional<int64_t> splatInteger(mlir::Value value);

/// Every element of `value`, of integer or float type, is the same known number.
std::optional<double> splatNumber(mlir::Value value);
inline bool isSplat(mlir::Value value, double number) { return splatNumber(value) == number; }

/// The float `type` holds `number` without rounding.
bool isExactIn(double number, mlir::Type type);

/// A rank-0 constant of element type `type`; `number` must fit it (floats round to nearest).
mlir::Value makeScalar(mlir::OpBuilder &builder, mlir::Location location, double number,
                       mlir::Type type);
mlir::Value makeScalarInteger(mlir::OpBuilder &builder, mlir::Location location, int64_t number,
                              mlir::Type type);

/// `scalar` repeated to `type`: the scalar itself for rank 0, else an expand of it.
mlir::Value broadcastTo(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                        TensorType type);

/// Depends on constants and weights alone, through ops that move data: reading it costs what
/// reading a weight costs.
bool isWeightView(mlir::Value value);

} // namespace smelt::passes
