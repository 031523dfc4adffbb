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

  /// "declared int64 [2, 3], but it is float [2, 3]" where a declaration of `name` contradicts the
  /// inferred `type`, in what both know: element type, rank, constant sizes. "" where none does.
  std::string findContradiction(llvm::StringRef name, TensorType type) const;

private:
  bool contradicts(const onnx_wire::Type::TensorKind &declared, TensorType type) const;

  llvm::StringMap<llvm::SmallVector<const onnx_wire::ValueInfo *, 1>> infos;
  bool sizesCount;
};

} // namespace smelt::frontend
