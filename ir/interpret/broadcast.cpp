#include "ir/interpret/broadcast.h"

namespace smelt::interpret {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// Strides of a contiguous operand along each axis of the result; 0 where it is repeated.
SmallVector<int64_t> alignedStrides(ArrayRef<int64_t> result, ArrayRef<int64_t> operand) {
  SmallVector<int64_t> strides(result.size(), 0);
  int64_t stride = 1;
  size_t offset = result.size() - operand.size();
  for (size_t axis = operand.size(); axis-- > 0; stride *= operand[axis])
    strides[offset + axis] = operand[axis] == 1 ? 0 : stride;
  return strides;
}

} // namespace

std::optional<Shape> broadcast(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape result(a);
  size_t offset = a.size() - b.size();
  for (auto [axis, size] : llvm::enumerate(b)) {
    int64_t &other = result[offset + axis];
    if (other == 1)
      other = size;
    else if (size != 1 && size != other)
      return std::nullopt;
  }
  return result;
}

Broadcast::Broadcast(ArrayRef<int64_t> result, ArrayRef<ArrayRef<int64_t>> operands) {
  SmallVector<SmallVector<int64_t>> full = llvm::map_to_vector(
      operands, [&](ArrayRef<int64_t> operand) { return alignedStrides(result, operand); });
  sizes.push_back(1);
  strides.assign(operands.size(), {0});
  for (size_t axis = 0; axis < result.size(); ++axis) {
    if (result[axis] == 1)
      continue;
    // An axis merges with the one before it where every operand walks both as one.
    bool merges = true;
    for (size_t operand = 0; operand < operands.size(); ++operand)
      merges &= strides[operand].back() == full[operand][axis] * result[axis];
    merges |= sizes.back() == 1;
    if (merges)
      sizes.back() *= result[axis];
    else
      sizes.push_back(result[axis]);
    for (size_t operand = 0; operand < operands.size(); ++operand) {
      if (!merges)
        strides[operand].push_back(0);
      strides[operand].back() = full[operand][axis];
    }
  }
}

} // namespace smelt::interpret
