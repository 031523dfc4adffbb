// What a file declares about its values, beside what import infers: a claim to check, never a
// source.
#pragma once

#include "frontend/onnx.pb.h"
#include "ir/dialect.h"

#include "llvm/ADT/StringMap.h"

#include <string>

namespace smelt::frontend {

class DeclaredTypes {
public:
  /// Of the outputs and the `value_info` of `graph`, which must outlive this object. `sizesCount`
  /// is false where the caller gave shapes: sizes were declared for the shapes of the export.
  DeclaredTypes(const onnx_wire::Graph &graph, bool sizesCount);

  /// Reports at `location` where a declaration of `name`, which is `what`, contradicts the inferred
  /// `type`, in what both know: "the output 'y' is declared int64 [2, 3], but it is float [2, 3]". An
  /// error for the element type; files are often wrong about rank and sizes: a warning.
  mlir::LogicalResult check(mlir::Location location, llvm::StringRef what, llvm::StringRef name,
                            TensorType type) const;

private:
  bool contradictsShape(const onnx_wire::Type::TensorKind &declared, TensorType type) const;

  llvm::StringMap<llvm::SmallVector<const onnx_wire::ValueInfo *, 1>> infos;
  bool sizesCount;
};

} // namespace smelt::frontend
