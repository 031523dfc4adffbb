// Convolution as a matrix product: each output position's window becomes a column, then filters x
// columns.
#include "ir/interpret/evaluator.h"
#include "ir/interpret/gemm.h"
#include "ir/interpret/strided.h"

using namespace mlir;

namespace smelt::interpret {

namespace {

/// Sizes of one group of one image.
struct Geometry {
  SmallVector<int64_t> input, kernel, output; // spatial sizes
  ArrayRef<int64_t> strides, dilations, pads;
  int64_t channels, filters, groups; // channels and filters of one group
  int64_t positions, window;         // product of output; channels * product of kernel

  unsigned rank() const { return input.size(); }
};

/// Splits a row-major position into coordinates.
void unravel(int64_t position, ArrayRef<int64_t> sizes, SmallVectorImpl<int64_t> &coordinates) {
  coordinates.resize(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0; position /= sizes[axis])
    coordinates[axis] = position % sizes[axis];
}

/// Where kernel tap `tap` reads for output position `at`, as an offset into one channel; -1 in the
/// padding.
int64_t sourceOffset(const Geometry &geometry, ArrayRef<int64_t> at, ArrayRef<int64_t> tap) {
  int64_t offset = 0;
  for (unsigned axis = 0; axis < geometry.rank(); ++axis) {
    int64_t x = at[axis] * geometry.strides[axis] - geometry.pads[axis] +
                tap[axis] * geometry.dilations[axis];
    if (x < 0 || x >= geometry.input[axis])
      return -1;
    offset = offset * geometry.input[axis] + x;
  }
  return offset;
}

/// columns[window, positions] of one group of one image.
template <typename T>
void fillColumns(const Geometry &geometry, const T *image, T *columns, ThreadPool &threads) {
  int64_t taps = product(geometry.kernel), pixels = product(geometry.input);
  threads.parallelFor(taps, 1, [&](int64_t begin, int64_t end) {
    SmallVector<int64_t> at, tap;
    for (int64_t t = begin; t < end; ++t) {
      unravel(t, geometry.kernel, tap);
      for (int64_t position = 0; position < geometry.positions; ++position) {
        unravel(position, geometry.output, at);
        int64_t source = sourceOffset(geometry, at, tap);
        for (int64_t channel = 0; channel < geometry.channels; ++channel)
          columns[(channel * taps + t) * geometry.positions + position] =
              source < 0 ? T(0) : image[channel * pixels + source];
      }
    }
  });
}

template <typename T>
void convolve(const Geometry &geometry, int64_t images, const T *input, const T *filter,
              const T *bias, T *output, ThreadPool &threads) {
  std::vector<T> columns(geometry.window * geometry.positions);
  int64_t inputSize = geometry.channels * product(geometry.input),
          outputSize = geometry.filters * geometry.positions;
  for (int64_t index = 0; index < images * geometry.groups; ++index) {
    int64_t group = index % geometry.groups;
    T *to = output + index * outputSize;
    fillColumns(geometry, input + index * inputSize, columns.data(), threads);
    parallelGemm(GemmProblem<T>{geometry.filters, geometry.positions, geometry.window,
                                filter + group * geometry.filters * geometry.window,
                                geometry.window, columns.data(), geometry.positions, false, to,
                                geometry.positions},
                 threads);
    for (int64_t row = 0; bias && row < geometry.filters; ++row)
      for (int64_t position = 0; position < geometry.positions; ++position)
        to[row * geometry.positions + position] += bias[group * geometry.filters + row];
  }
}

FailureOr<Geometry> makeGeometry(ConvOp op, Operands operands, ArrayRef<int64_t> output) {
  ArrayRef<int64_t> input = operands[0].getShape(), filter = operands[1].getShape();
  int64_t groups = op.getGroups();
  bool fits = input[1] == filter[1] * groups && filter[0] % groups == 0 &&
              (operands.size() < 3 || operands[2].getShape() == filter.take_front(1));
  if (!fits)
    return op.emitError("input ") << toString(input) << " and filter " << toString(filter)
                                  << " do not fit " << groups << " groups"
                                  << (operands.size() < 3
                                          ? ""
                                          : " and bias " + toString(operands[2].getShape()));
  Geometry geometry{SmallVector<int64_t>(input.drop_front(2)),
                    SmallVector<int64_t>(filter.drop_front(2)),
                    SmallVector<int64_t>(output.drop_front(2)),
                    op.getStrides(),
                    op.getDilations(),
                    op.getPads(),
                    filter[1],
                    filter[0] / groups,
                    groups,
                    product(output.drop_front(2)),
                    product(filter.drop_front(1))};
  return geometry;
}

} // namespace

Result evaluateOp(ConvOp op, Operands operands, Evaluator &evaluator) {
  FailureOr<Shape> shape = evaluator.resultShape(op);
  if (failed(shape))
    return failure();
  FailureOr<Geometry> geometry = makeGeometry(op, operands, *shape);
  if (failed(geometry))
    return failure();
  Result result = evaluator.allocate(op, *shape);
  if (failed(result))
    return failure();
  visitStorage(result->getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (!std::is_same_v<T, int64_t>)
      convolve<T>(*geometry, operands[0].getSize(0), operands[0].values<T>().data(),
                  operands[1].values<T>().data(),
                  operands.size() > 2 ? operands[2].values<T>().data() : nullptr,
                  result->template mutableValues<T>().data(), evaluator.threads);
  });
  return result;
}

} // namespace smelt::interpret
