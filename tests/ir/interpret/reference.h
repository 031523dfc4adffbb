// Slow, plain references for the interpreter's tests: double arithmetic, one loop an axis, no
// shared code with ir/interpret.
#pragma once

#include "ir/interpret/host_tensor.h"

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace smelt::test {

using Index = std::vector<int64_t>;

/// A dense array of doubles, addressed by index.
struct Array {
  Index shape;
  std::vector<double> values;

  explicit Array(Index shape) : shape(std::move(shape)) {
    size_t count = 1;
    for (int64_t size : this->shape)
      count *= size;
    values.assign(count, 0.0);
  }
  explicit Array(const HostTensor &tensor)
      : Array(Index(tensor.getShape().begin(), tensor.getShape().end())) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = tensor.getDouble(i);
  }

  /// Axes of size 1 are broadcast; superfluous leading coordinates are dropped.
  double &at(const Index &index) {
    size_t offset = 0, skip = index.size() - shape.size();
    for (size_t axis = 0; axis < shape.size(); ++axis)
      offset = offset * shape[axis] + (shape[axis] == 1 ? 0 : index[skip + axis]);
    return values[offset];
  }

  /// Calls `body` with every index of `shape` in row-major order.
  static void forEach(const Index &shape, const std::function<void(const Index &)> &body) {
    Index index(shape.size(), 0);
    size_t count = 1;
    for (int64_t size : shape)
      count *= size;
    for (size_t i = 0; i < count; ++i) {
      body(index);
      for (size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];)
        index[axis] = 0;
    }
  }
};

inline Array softmaxReference(Array input, size_t axis) {
  Index outer = input.shape;
  outer[axis] = 1;
  Array::forEach(outer, [&](const Index &start) {
    Index at = start;
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (at[axis] = 0; at[axis] < input.shape[axis]; ++at[axis])
      largest = std::max(largest, input.at(at));
    for (at[axis] = 0; at[axis] < input.shape[axis]; ++at[axis])
      sum += std::exp(input.at(at) - largest);
    for (at[axis] = 0; at[axis] < input.shape[axis]; ++at[axis])
      input.at(at) = std::exp(input.at(at) - largest) / sum;
  });
  return input;
}

} // namespace smelt::test
