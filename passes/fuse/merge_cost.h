// What a merge of kernels saves: bytes through memory and launches, in microseconds.
//
// Problem: a merge that saves a launch may cost more than it saves, where results must be copied
// out of the merged one. Method: count what the kernels move and how many there are, before and
// after, at the typical size of each symbol. Assumes that kernels depend on each other, as in a
// transformer's layer, and that products are bound by memory: their arithmetic is the same before
// and after, and so left out.
#pragma once

#include "ir/dialect.h"

namespace smelt::passes {

/// Per kernel of a chain, programmatic launches inside a CUDA graph over all multiprocessors of an
/// H200, and what one of its microseconds copies (read and written), as measured.
constexpr double kMicrosecondsPerLaunch = 0.8, kBytesPerMicrosecond = 4.25e6;

/// Stands for a size that is not known when compiling: batch and sequence give 256 rows.
constexpr int64_t kTypicalSize = 16;

/// `dim` with the typical size for each symbol; 1 where that has no value.
int64_t typicalSize(Dim dim);

/// What some kernels take.
struct KernelCost {
  int launches = 0;
  int64_t bytes = 0;

  double microseconds() const {
    return launches * kMicrosecondsPerLaunch + static_cast<double>(bytes) / kBytesPerMicrosecond;
  }
  KernelCost operator+(KernelCost other) const {
    return {launches + other.launches, bytes + other.bytes};
  }
  KernelCost operator-(KernelCost other) const {
    return {launches - other.launches, bytes - other.bytes};
  }
};

/// One of several products x W of the same x [rows, depth].
struct BranchShape {
  int64_t columns;
  /// Its reader needs a tensor of its own: of a wider product it must be copied out.
  bool isMaterialized = false;
};

/// Products of one left operand.
struct SharedProduct {
  int64_t rows, depth, elementBytes;
  llvm::SmallVector<BranchShape> branches;

  /// One kernel a branch.
  KernelCost apart() const;
  /// One kernel for the weights side by side; its results are parts of rows.
  KernelCost sideBySide() const;
  /// Branches of equal columns in one kernel that stores one value for the elements of all: what
  /// an epilogue computes from them.
  KernelCost combined() const;
  /// The same by a kernel each, where each but the first reads what the one before stored.
  KernelCost chained() const;

private:
  KernelCost product(int64_t columns, int64_t storedColumns) const;
};

/// "saves 1 launch and 3.0 KB (1.5 us at typical sizes)", of a cost that a merge takes away.
std::string describeSaving(KernelCost saved);

} // namespace smelt::passes
