// Conditions on sizes, as exporters branch on them: a squeeze that happens where an axis has one element,
// a table that is computed anew where the sequence is longer than it.
#pragma once

#include "ir/interpret/size_solver.h"

#include <optional>

namespace smelt::frontend {

/// A condition that no one size decides.
struct SizeCondition {
  /// What sizes must be where it is true, and where it is false; none where no relation says so: sizes
  /// that must differ.
  std::optional<SizeRelation> whenTrue, whenFalse;

  /// The outcome that a model may be compiled for: the one that a relation says; of two, the one that
  /// holds for small sizes. Every condition has one.
  bool likely() const;
  const SizeRelation &relation(bool outcome) const { return outcome ? *whenTrue : *whenFalse; }
};

/// `condition`, of one element, as a condition on sizes; none where it is known, and where it is computed
/// from anything else.
std::optional<SizeCondition> sizeCondition(mlir::Value condition);

} // namespace smelt::frontend
