// NumPy broadcasting as loops over runs in which every operand advances by 0 or 1.
#pragma once

#include "ir/interpret/symbols.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt::interpret {

/// The shape that both broadcast to; none where two sizes contradict.
std::optional<Shape> broadcast(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// Where the operands lie for each element of a contiguous result. Axes that all operands walk
/// alike are merged.
class Broadcast {
public:
  /// Each operand is contiguous and its shape broadcasts to `result`.
  Broadcast(llvm::ArrayRef<int64_t> result, llvm::ArrayRef<llvm::ArrayRef<int64_t>> operands);

  /// Step of an operand within a run: 0 or 1.
  int64_t innerStride(unsigned operand) const { return strides[operand].back(); }

  /// Calls `body(position, offsets, count)` for each run of result elements within [begin, end):
  /// `offsets[i]` is operand i's element for the run's first.
  template <typename Body> void forRuns(int64_t begin, int64_t end, Body body) const;

private:
  llvm::SmallVector<int64_t> sizes; // outermost first, at least one
  llvm::SmallVector<llvm::SmallVector<int64_t>> strides;
};

template <typename Body> void Broadcast::forRuns(int64_t begin, int64_t end, Body body) const {
  llvm::SmallVector<int64_t, 3> offsets(strides.size());
  while (begin < end) {
    int64_t inner = begin % sizes.back(), rest = begin / sizes.back();
    for (auto [operand, offset] : llvm::enumerate(offsets))
      offset = inner * strides[operand].back();
    for (size_t axis = sizes.size() - 1; axis-- > 0; rest /= sizes[axis])
      for (auto [operand, offset] : llvm::enumerate(offsets))
        offset += rest % sizes[axis] * strides[operand][axis];
    int64_t count = std::min(end - begin, sizes.back() - inner);
    body(begin, llvm::ArrayRef<int64_t>(offsets), count);
    begin += count;
  }
}

} // namespace smelt::interpret
