// The problems that tests of the split reduction solve: the sum, or the largest element, of each
// row of a matrix, its partial results in scratch memory between the two kernels.
#pragma once

#include "kernels/split_reduction/split_reduction.cuh"

namespace smelt {

/// The parameters of both kernels.
template <class T> struct ReductionTestArguments {
  const T *data;  // (rows, columns)
  float *scratch; // (rows, parts)
  float *out;     // (rows)
  int columns, parts;
};

template <class T, class Op, int Width> struct ReductionTestParts {
  ReductionTestArguments<T> arguments;

  template <class Block> __device__ __forceinline__ void run(const Block &block, int row) const {
    const T *elements = arguments.data + int64_t(row) * arguments.columns;
    float partial = Op::template identity<float>();
    block.template forEach<Width>([&](int column) {
      float values[Width];
      load<Width>(elements + column, values);
#pragma unroll
      for (int i = 0; i < Width; ++i)
        partial = Op::combine(partial, values[i]);
    });
    partial = block.template reduce<Op>(partial);
    if (threadIdx.x == 0)
      arguments.scratch[row * gridDim.x + blockIdx.x] = partial;
  }
};

template <class T, class Op> struct ReductionTestCombination {
  ReductionTestArguments<T> arguments;

  template <class Block> __device__ __forceinline__ void run(const Block &block, int row) const {
    float partial = Op::template identity<float>();
    block.template forEach<1>([&](int part) {
      partial = Op::combine(partial, arguments.scratch[row * arguments.parts + part]);
    });
    partial = block.template reduce<Op>(partial);
    if (threadIdx.x == 0)
      arguments.out[row] = partial;
  }
};

} // namespace smelt
