// The problem that tests of the GEMM templates solve: C = gelu(A * B + bias) + residual, batched;
// the activation and the residual can be left out, the operands lie in memory in any way, and the
// moments of C's rows can be stored. Of floats of 8 bits, all but A and B are halves. Of bytes, C = A * B + bias + residual in 32-bit integers, or
// their low 8 bits. Of two products whose columns take turns in B,
// C = gelu(A * B1 + bias) * (A * B2) + residual.
#pragma once

#include "device/arithmetic.cuh"
#include "device/math.cuh"
#include "device/moments.cuh"
#include "device/vector.cuh"
#include "kernels/gemm/gemm_epilogue.cuh"

namespace smelt {

/// How a matrix whose rows are read in vectors lies in memory (variants.h, stridesOf).
enum class Layout { kUnit, kOffset, kStrided, kZeroColumns, kZeroRows, kTransposed };

/// Distances in elements.
struct Strides {
  long long batch, row, column, start;
};

/// Sizes that are not 0 are compile-time constants, as codegen makes them for static shapes.
template <class A, class B, int AVector, int BVector, bool BTransposed, bool BConstant, int Width,
          int N, int K, bool Activation, bool Residual, bool Linear, Layout ALayout, Layout BLayout,
          bool StoresMoments, int RowGroups, int Products, bool Padded, bool StoresBytes>
struct GemmTestProblem {
  using ElementA = A;
  using ElementB = B;
  static constexpr bool kIntegers = kIsInteger<A> && !kIsFloat8<A>;
  using Sum = Select<kIntegers, int32_t, float>;
  // Of what is not an operand of the product.
  using T = Select<kIntegers, Select<StoresBytes, int8_t, int32_t>, Select<kIsFloat8<A>, half, A>>;
  static constexpr int kAVector = AVector, kBVector = BVector;
  static constexpr bool kBTransposed = BTransposed, kBConstant = BConstant;
  static constexpr bool kALinear = Linear, kBLinear = Linear, kAPadded = Padded;
  static constexpr bool isContiguous(Layout layout) {
    return layout == Layout::kUnit || layout == Layout::kOffset || layout == Layout::kZeroRows;
  }
  static constexpr bool kAContiguous = isContiguous(ALayout), kBContiguous = isContiguous(BLayout);
  static constexpr bool kStoresMoments = StoresMoments;
  static constexpr int kEpilogueWidth = Width, kRowMoments = RowGroups > 0;
  static constexpr int kProducts = Products;
  static constexpr bool kInFragments =
      Width == 8 && sizeof(T) <= 2 && !Activation && Residual == (Products == 2) && !StoresMoments;
  static constexpr int kInputPeriod = 0, kResultBytes = sizeof(T);
  static constexpr int kStepsOfPart = BConstant ? 2 : 1;

  const A *aData;              // (batches, m, k)
  const B *bData;              // (batches or 1 if constant, k, n) or (..., n, k)
  const T *biasData;           // (columns)
  const T *residualData;       // (batches, m, columns)
  T *cData;                    // (batches, m, columns)
  float *momentsData;          // (batches, m, columns / 32, 2), of the results
  const float *rowMomentsData; // (batches, m, RowGroups, 2), that the epilogue reads
  int mSize, nSize, kSize, batchCount, reversed;

  __device__ int m() const { return mSize; }
  __device__ int n() const { return N == 0 ? nSize : N; }
  __device__ int columns() const { return n() / Products; }
  __device__ int k() const { return K == 0 ? kSize : K; }
  __device__ int batches() const { return batchCount; }

  /// Element (row, column) of matrix number `batch` of rows x columns.
  template <Layout L>
  __device__ static int64_t place(int batch, int row, int column, int rows, int columns) {
    int64_t size = int64_t(rows) * columns;
    if constexpr (L == Layout::kUnit)
      return (int64_t(batch) * rows + row) * columns + column;
    else if constexpr (L == Layout::kOffset)
      return 1 + batch * size + int64_t(row) * columns + column;
    else if constexpr (L == Layout::kStrided)
      return 3 * (batch * size + int64_t(row) * columns + column);
    else if constexpr (L == Layout::kZeroColumns)
      return int64_t(batch) * rows + row;
    else if constexpr (L == Layout::kZeroRows)
      return int64_t(batch) * columns + column;
    else
      return batch * size + int64_t(column) * rows + row;
  }
  /// Padding has no address: diagonals of vectors, of as many elements as the widest has.
  __device__ static bool exists(int row, int column) {
    return !Padded || (row + column / 16) % 3 != 0;
  }
  __device__ const A *a(int batch, int row, int column) const {
    if (!exists(row, column))
      return nullptr;
    if constexpr (ALayout ==
                  Layout::kUnit) // as codegen prints it: large tiles have no register left
      return aData + (int64_t(batch) * m() + row) * k() + column;
    return aData + place<ALayout>(batch, row, column, m(), k());
  }
  __device__ const B *b(int batch, int row, int column) const {
    int matrix = BConstant ? 0 : batch;
    return bData + (BTransposed ? place<BLayout>(matrix, column, row, n(), k())
                                : place<BLayout>(matrix, row, column, k(), n()));
  }
  __device__ int64_t index(int batch, int row, int column) const {
    return (int64_t(batch) * m() + row) * columns() + column;
  }

  template <int> static constexpr __device__ int momentGroups() { return RowGroups; }
  template <int> static __device__ float rowScale(RowMoments row) { return row.variance; }
  template <int> __device__ const float *moments(int batch, int row) const {
    return rowMomentsData + (int64_t(batch) * m() + row) * RowGroups * 2;
  }

  template <int W> struct Columns {
    Vector<T, W> bias;
  };
  template <int W> __device__ Columns<W> columns(int column) const {
    return {loadVector<W>(biasData + column)};
  }
  struct Nothing {};
  template <int W> struct ResidualOf {
    Vector<T, W> residual;
  };
  template <int W> using Inputs = Select<Residual, ResidualOf<W>, Nothing>;
  template <int W> __device__ Inputs<W> inputs(int batch, int row, int column) const {
    Inputs<W> in;
    if constexpr (Residual)
      in.residual = loadVector<W>(residualData + index(batch, row, column));
    return in;
  }
  __device__ void prefetch(int batch, int row, int column) const {
    if constexpr (Residual)
      prefetchToL2(residualData + index(batch, row, column));
  }
  struct Counts {};
  __device__ void addCounts(const Counts &) const {}
  template <int W, bool WholeWarps = false>
  __device__ void epilogue(int batch, int row, int column, const Sum (&sums)[Products * W],
                           const Columns<W> &of, const Inputs<W> &in,
                           const RowStatistics (&rows)[1], bool isOwner, Counts &counts) const {
    Sum result[W];
    compute<W>(sums, of, in, rows, result);
    store<W>(cData + index(batch, row, column), result);
    if constexpr (StoresMoments) {
      float stored[W];
      for (int i = 0; i < W; ++i)
        stored[i] = rounded<T>(result[i]);
      storeMoments<W, WholeWarps>(momentsData + index(batch, row, column) / kMomentsGroup * 2,
                                  stored);
    }
  }
  template <int W> struct Results {
    Vector<T, W> c;
  };
  template <int W>
  __device__ Results<W> results(int, int, int, const Sum (&sums)[Products * W],
                                const Columns<W> &of, const Inputs<W> &in,
                                const RowStatistics (&rows)[1]) const {
    Sum result[W];
    compute<W>(sums, of, in, rows, result);
    return {pack<T, W>(result)};
  }
  template <int W>
  __device__ void put(int batch, int row, int column, const Results<W> &results) const {
    storeVector<W>(cData + index(batch, row, column), results.c);
  }
  template <int W>
  __device__ void compute(const Sum (&sums)[Products * W], const Columns<W> &of,
                          const Inputs<W> &in, const RowStatistics (&rows)[1],
                          Sum (&result)[W]) const {
    Sum bias[W], residual[W];
    unpack<W>(of.bias, bias);
    if constexpr (Residual)
      unpack<W>(in.residual, residual);
    for (int i = 0; i < W; ++i) {
      result[i] = sums[i] + bias[i];
      if constexpr (RowGroups > 0)
        result[i] += rows[0].scale - rows[0].mean;
      if constexpr (Activation)
        result[i] = kIsHalfWidth<T> ? approx::gelu(result[i]) : gelu(result[i]);
      if constexpr (Products == 2)
        result[i] *= sums[W + i];
      if constexpr (Residual)
        result[i] += residual[i];
    }
  }
};

/// The same in double, one thread an element; operands lie as `a`, of (m, k), and `b`, of (k, n),
/// say.
template <class Problem>
__device__ void gemmReference(const Problem &problem, double *out, bool roundToTf32,
                              const Strides &aStrides, const Strides &bStrides, int rowGroups,
                              bool hasActivation, bool hasResidual) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t perBatch = int64_t(problem.m()) * problem.columns();
  if (i >= perBatch * problem.batches())
    return;
  int batch = i / perBatch, row = i % perBatch / problem.columns(), column = i % problem.columns();
  auto sum = [&](int n) {
    double total = 0;
    for (int k = 0; k < problem.k(); ++k) {
      float a = convert<float>(problem.aData[aStrides.start + batch * aStrides.batch +
                                             row * aStrides.row + k * aStrides.column]);
      if (!Problem::exists(row, k))
        a = 0;
      float b = convert<float>(problem.bData[bStrides.start + batch * bStrides.batch +
                                             k * bStrides.row + n * bStrides.column]);
      if (roundToTf32) {
        a = __uint_as_float(ptx::toTf32(__float_as_uint(a)));
        b = __uint_as_float(ptx::toTf32(__float_as_uint(b)));
      }
      total += double(a) * double(b);
    }
    return total;
  };
  constexpr int kProducts = Problem::kProducts;
  int first =
      kProducts == 1 ? column : column / kTurnColumns * 2 * kTurnColumns + column % kTurnColumns;
  double x = sum(first) + convert<double>(problem.biasData[column]);
  const float *groups =
      problem.rowMomentsData + (int64_t(batch) * problem.m() + row) * rowGroups * 2;
  double mean = 0, variance = 0;
  for (int g = 0; g < rowGroups; ++g)
    mean += double(groups[2 * g]) / rowGroups;
  for (int g = 0; g < rowGroups; ++g) {
    double distance = groups[2 * g] - mean;
    variance += (double(groups[2 * g + 1]) / kMomentsGroup + distance * distance) / rowGroups;
  }
  x += variance - mean;
  double gate = kProducts == 1 ? 1 : sum(first + kTurnColumns),
         residual = hasResidual ? convert<double>(problem.residualData[i]) : 0;
  if constexpr (kIsSame<typename Problem::Sum, int32_t>)
    out[i] = static_cast<typename Problem::T>(static_cast<int64_t>(x + residual)); // wraps around
  else
    out[i] = (hasActivation ? gelu(x) : x) * gate + residual;
}

} // namespace smelt
