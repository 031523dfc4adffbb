// How an offset behaves from lane to lane of a thread: contiguous? aligned? That decides the width
// of a kernel's access.
//
// A kernel walks an iteration space. Its coordinates are symbols of Dims with known bounds; they
// begin with '%', which no size symbol does.
#pragma once

#include "ir/view_index.h"

#include "llvm/ADT/StringSet.h"

namespace smelt::codegen {

/// A thread takes `width` neighbouring positions at a time: the coordinates `symbols` grow by one
/// from lane to lane and are multiples of `width` at the first. No symbols: one position.
struct Lanes {
  llvm::StringSet<> symbols = {};
  int64_t width = 1;
  /// Symbols whose value differs from lane to lane in no regular way (gathered indices).
  llvm::StringSet<> irregular = {};
};

/// How far `offset` moves from one lane to the next: 0 if not at all; none where the step is not
/// one constant.
std::optional<int64_t> laneStride(Dim offset, const Lanes &lanes);

/// A number that divides `offset` at the first lane whatever the coordinates and sizes are; 0 if
/// the offset is 0.
int64_t knownDivisor(Dim offset, const Lanes &lanes);

} // namespace smelt::codegen
