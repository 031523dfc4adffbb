// Sizes that a module's guards allow: those that follow from sizes that are given, and a choice for
// the rest.
#pragma once

#include "ir/interpret/symbols.h"

namespace smelt {

/// `left` equals `right`, or is at most `right`. `why` says who needs it.
struct SizeRelation {
  Dim left, right;
  bool isEquality = true;
  std::string why;
};

/// The relations that the module's guards record.
llvm::SmallVector<SizeRelation> guardRelations(mlir::ModuleOp module);

/// A symbol and the size that it should have where nothing speaks against it.
using PreferredSize = std::pair<std::string, int64_t>;

class SizeSolver {
public:
  explicit SizeSolver(llvm::SmallVector<SizeRelation> relations)
      : relations(std::move(relations)) {}

  /// Adds to `sizes` each symbol that an equality fixes, given the others: batch*seq = 512 with
  /// batch = 4 fixes seq. Returns a relation that then does not hold, null where all hold that can
  /// be told.
  const SizeRelation *follow(Symbols &sizes) const;

  /// `sizes` with a size, at least 1 where `sizes` do not say 0, for each of `open`, so that all relations hold that can be
  /// told. None where the search, which is bounded, finds no such choice.
  std::optional<Symbols> complete(const Symbols &sizes, llvm::ArrayRef<PreferredSize> open) const;

private:
  llvm::SmallVector<SizeRelation> relations;
};

} // namespace smelt
