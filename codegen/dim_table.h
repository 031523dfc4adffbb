// The dims of a plan: each distinct Dim once, as a postfix program over the plan's symbols.
#pragma once

#include "ir/dim.h"
#include "runtime/plan_format.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace smelt::codegen {

class DimTable {
public:
  explicit DimTable(plan::MetadataT &metadata) : metadata(metadata) {}

  /// Index of `dim` in Metadata.dims; added, with its symbols, at the first call.
  uint32_t index(Dim dim);
  /// Index of a symbol in Metadata.symbols; added at the first call.
  uint32_t symbolIndex(llvm::StringRef name);

private:
  void append(Dim dim, std::vector<plan::DimInstruction> &program);
  void appendAtom(mlir::Attribute atom, std::vector<plan::DimInstruction> &program);

  plan::MetadataT &metadata;
  llvm::DenseMap<mlir::Attribute, uint32_t> indices;
  llvm::StringMap<uint32_t> symbols;
};

} // namespace smelt::codegen
