// The problem that tests of the GEMM templates solve: C = gelu(A * B + bias) + residual, batched;
// the activation and the residual can be left out.
#pragma once

#include "device/math.cuh"
#include "device/vector.cuh"
#include "kernels/gemm/gemm_epilogue.cuh"

namespace smelt {

/// Sizes that are not 0 are compile-time constants, as codegen makes them for static shapes.
template <class T, int AVector, int BVector, bool BTransposed, bool BConstant, int Width, int N,
          int K, bool Activation, bool Residual, bool Linear>
struct GemmTestProblem {
  using Element = T;
  static constexpr int kAVector = AVector, kBVector = BVector;
  static constexpr bool kBTransposed = BTransposed, kBConstant = BConstant;
  static constexpr bool kALinear = Linear, kBLinear = Linear;
  static constexpr int kEpilogueWidth = Width, kRowMoments = 0;

  const T *aData;        // (batches, m, k)
  const T *bData;        // (batches or 1 if constant, k, n) or (..., n, k)
  const T *biasData;     // (n)
  const T *residualData; // (batches, m, n)
  T *cData;              // (batches, m, n)
  int mSize, nSize, kSize, batchCount;

  __device__ int m() const { return mSize; }
  __device__ int n() const { return N == 0 ? nSize : N; }
  __device__ int k() const { return K == 0 ? kSize : K; }
  __device__ int batches() const { return batchCount; }

  __device__ const T *a(int batch, int row, int column) const {
    return aData + (int64_t(batch) * m() + row) * k() + column;
  }
  __device__ const T *b(int batch, int row, int column) const {
    const T *matrix = bData + (BConstant ? 0 : int64_t(batch) * k() * n());
    return BTransposed ? matrix + int64_t(column) * k() + row
                       : matrix + int64_t(row) * n() + column;
  }
  __device__ int64_t index(int batch, int row, int column) const {
    return (int64_t(batch) * m() + row) * n() + column;
  }

  template <int W> struct Inputs {
    Vector<T, W> bias, residual;
  };
  template <int W> __device__ Inputs<W> inputs(int batch, int row, int column) const {
    Inputs<W> in;
    in.bias = loadVector<W>(biasData + column);
    if constexpr (Residual)
      in.residual = loadVector<W>(residualData + index(batch, row, column));
    return in;
  }
  template <int W>
  __device__ void epilogue(int batch, int row, int column, const float (&sums)[W],
                           const Inputs<W> &in, const RowMoments (&)[1]) const {
    float bias[W], residual[W], result[W];
    unpack<W>(in.bias, bias);
    if constexpr (Residual)
      unpack<W>(in.residual, residual);
    for (int i = 0; i < W; ++i) {
      result[i] = sums[i] + bias[i];
      if constexpr (Activation)
        result[i] = kIsHalfWidth<T> ? approx::gelu(result[i]) : gelu(result[i]);
      if constexpr (Residual)
        result[i] += residual[i];
    }
    store<W>(cData + index(batch, row, column), result);
  }
};

/// The same in double, one thread an element.
template <class Problem>
__device__ void gemmReference(const Problem &problem, double *out, bool roundToTf32) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t perBatch = int64_t(problem.m()) * problem.n();
  if (i >= perBatch * problem.batches())
    return;
  int batch = i / perBatch, row = i % perBatch / problem.n(), column = i % problem.n();
  double sum = 0;
  for (int k = 0; k < problem.k(); ++k) {
    float a = convert<float>(*problem.a(batch, row, k));
    float b = convert<float>(*problem.b(batch, k, column));
    if (roundToTf32) {
      a = __uint_as_float(ptx::toTf32(__float_as_uint(a)));
      b = __uint_as_float(ptx::toTf32(__float_as_uint(b)));
    }
    sum += double(a) * double(b);
  }
  double x = sum + double(convert<float>(problem.biasData[column]));
  out[i] = gelu(x) + double(convert<float>(problem.residualData[i]));
}

} // namespace smelt
