#include "ir/interpret/strided.h"

#include <cstring>

namespace smelt::interpret {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// Elements that one thread takes at least.
constexpr int64_t kStridedGrain = 32768;
/// Side of the square in which a transposition stays within the first-level cache.
constexpr int64_t kTile = 16;

struct Axes {
  SmallVector<int64_t> sizes, strides;
};

/// Drops axes of size 1 and merges axes that are walked as one; leaves at least two axes.
Axes mergeAxes(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  Axes axes;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1)
      continue;
    if (!axes.sizes.empty() && axes.strides.back() == strides[axis] * shape[axis]) {
      axes.sizes.back() *= shape[axis];
      axes.strides.back() = strides[axis];
    } else {
      axes.sizes.push_back(shape[axis]);
      axes.strides.push_back(strides[axis]);
    }
  }
  while (axes.sizes.size() < 2) {
    axes.sizes.insert(axes.sizes.begin(), 1);
    axes.strides.insert(axes.strides.begin(), 0);
  }
  return axes;
}

/// The last two axes, of which neither or the outer one may be contiguous in the input.
template <typename T>
void copyPlane(const T *input, const int64_t sizes[2], const int64_t strides[2], T *output) {
  if (strides[1] == 1) {
    for (int64_t row = 0; row < sizes[0]; ++row)
      std::memcpy(output + row * sizes[1], input + row * strides[0], sizes[1] * sizeof(T));
    return;
  }
  for (int64_t row = 0; row < sizes[0]; row += kTile)
    for (int64_t column = 0; column < sizes[1]; column += kTile)
      for (int64_t i = row; i < std::min(row + kTile, sizes[0]); ++i)
        for (int64_t j = column; j < std::min(column + kTile, sizes[1]); ++j)
          output[i * sizes[1] + j] = input[i * strides[0] + j * strides[1]];
}

} // namespace

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  return total;
}

SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis])
    strides[axis] = stride;
  return strides;
}

template <typename T>
void copyStrided(const T *input, int64_t offset, ArrayRef<int64_t> strides, ArrayRef<int64_t> shape,
                 T *output, ThreadPool &threads) {
  if (llvm::is_contained(shape, 0))
    return;
  Axes axes = mergeAxes(shape, strides);
  // The plane is the two innermost axes; where one outer axis is all there is, its rows are shared
  // out instead.
  size_t outer = axes.sizes.size() - 2;
  int64_t rows = axes.sizes[outer], columns = axes.sizes[outer + 1], planes = 1;
  for (size_t axis = 0; axis < outer; ++axis)
    planes *= axes.sizes[axis];
  int64_t grain = std::max<int64_t>(kStridedGrain / columns, 1);
  threads.parallelFor(planes * rows, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      int64_t row = begin % rows, rest = begin / rows, from = offset + row * axes.strides[outer];
      for (size_t axis = outer; axis-- > 0; rest /= axes.sizes[axis])
        from += rest % axes.sizes[axis] * axes.strides[axis];
      int64_t sizes[2] = {std::min(end - begin, rows - row), columns};
      copyPlane(input + from, sizes, &axes.strides[outer], output + begin * columns);
      begin += sizes[0];
    }
  });
}

void copyStrided(const HostTensor &input, int64_t offset, ArrayRef<int64_t> strides,
                 HostTensor &output, ThreadPool &threads) {
  visitStorage(input.getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    copyStrided(input.values<T>().data(), offset, strides, output.getShape(),
                output.mutableValues<T>().data(), threads);
  });
}

template void copyStrided(const float *, int64_t, ArrayRef<int64_t>, ArrayRef<int64_t>, float *,
                          ThreadPool &);
template void copyStrided(const double *, int64_t, ArrayRef<int64_t>, ArrayRef<int64_t>, double *,
                          ThreadPool &);
template void copyStrided(const int64_t *, int64_t, ArrayRef<int64_t>, ArrayRef<int64_t>, int64_t *,
                          ThreadPool &);

} // namespace smelt::interpret
