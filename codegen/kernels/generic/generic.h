// Plain kernels for single ops (kernels/generic/generic.cuh).
#pragma once

#include "codegen/kernel.h"
#include "codegen/kernel_text.h"

namespace smelt::codegen {

/// What runs a `generic` fusion, which holds one op: one kernel, behind a copy where the op changes
/// some elements of a tensor. Reports at the op and fails where there is none.
mlir::FailureOr<KernelVariant> emitGeneric(FusionOp fusion);

/// Loops of one op as CUDA text: what the op families write.
class GenericText {
public:
  explicit GenericText(FusionOp fusion);

  /// The type in which the op computes: float, double or a 64-bit integer for integers.
  std::string sumType() const;
  /// Prints a size.
  std::string size(Dim dim) { return dims.print(dim); }
  /// "read<float>(in2 + ...)": the element of operand `operand` at a position given as text; a
  /// literal where the operand is a constant inside the region. Axes of size 1 read position 0.
  std::string read(mlir::Value operand, llvm::ArrayRef<std::string> position);
  /// The same in a type of the caller's: "int64_t" of indices.
  std::string readAs(llvm::StringRef type, mlir::Value operand,
                     llvm::ArrayRef<std::string> position);
  /// Row-major offset of a position.
  std::string offset(llvm::ArrayRef<std::string> position, llvm::ArrayRef<Dim> shape);
  /// Defines one variable an axis, `prefix`0, `prefix`1, ..., from the flat number `e`; returns
  /// their names.
  llvm::SmallVector<std::string> unravel(llvm::StringRef prefix, llvm::ArrayRef<Dim> shape);
  /// "for (int name = 0; name < extent; ++name) {" and its end.
  void open(llvm::StringRef name, Dim extent);
  void close();
  void line(const llvm::Twine &text);

  FusionOp fusion;
  std::string body;
  DimPrinter dims;

private:
  Bounds bounds;
  unsigned depth = 0;
};

/// Write the statements of one element (cumsum, cumprod, scatter_elements: of one line) and return how many there are.
mlir::FailureOr<Dim> writeContraction(mlir::Operation *op, GenericText &text);
mlir::FailureOr<Dim> writeReduction(mlir::Operation *op, GenericText &text);
mlir::FailureOr<Dim> writeScatter(mlir::Operation *op, GenericText &text);

} // namespace smelt::codegen
