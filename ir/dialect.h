// The `smelt` dialect: every declaration that a reader or writer of the IR needs.
#pragma once

#include "ir/dim.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/dialect.h.inc"
#include "ir/enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/attributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/types.h.inc"

namespace smelt {

/// Marks ops that compute each element of the result from the elements of the operands at the same
/// (broadcast) position.
template <typename ConcreteType>
class Elementwise : public mlir::OpTrait::TraitBase<ConcreteType, Elementwise> {};

/// Marks ops that only rename positions: reshape, transpose, slice, expand. They move no data of
/// their own.
template <typename ConcreteType>
class View : public mlir::OpTrait::TraitBase<ConcreteType, View> {};

/// The type of `value`, which must be a smelt tensor.
inline TensorType tensorType(mlir::Value value) { return mlir::cast<TensorType>(value.getType()); }
inline llvm::SmallVector<Dim> shapeOf(mlir::Value value) { return tensorType(value).getShape(); }
inline mlir::Type elementType(mlir::Value value) { return tensorType(value).getElementType(); }

/// The shape that NumPy broadcasting gives, aligning trailing dimensions. A dimension of 1 yields
/// to the other; two different symbolic dimensions are taken to be equal (the caller records the
/// guard). Fails where two constants contradict.
mlir::FailureOr<llvm::SmallVector<Dim>> broadcastShapes(llvm::ArrayRef<Dim> lhs,
                                                        llvm::ArrayRef<Dim> rhs);

/// "[batch, seq, 768]", for messages.
std::string toString(llvm::ArrayRef<Dim> shape);

/// The product of some sizes; 1 of none.
Dim product(llvm::ArrayRef<Dim> sizes, mlir::MLIRContext *context);

/// The builtin tensor type with the static shape of `type`, as DenseElementsAttr needs it.
mlir::RankedTensorType toBuiltin(TensorType type);
/// The smelt type of a constant's builtin type.
TensorType fromBuiltin(mlir::ShapedType type);

} // namespace smelt

#include "ir/interfaces.h.inc"

#define GET_OP_CLASSES
#include "ir/ops.h.inc"
