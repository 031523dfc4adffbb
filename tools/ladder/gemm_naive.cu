// Naive: a thread for each element of C.
//
// C [m][n] = A [m][k] B [k][n], rows one after the other, 16-bit floats and float sums, as in all steps. A
// thread walks along a row of A and a column of B, and reads each element of them for itself: two loads
// a multiplication. Neighbouring threads have neighbouring columns, so that a warp reads a row of B in
// one piece, and the same element of A.
#include "device/types.cuh"

using namespace smelt;

extern "C" __global__ void __launch_bounds__(256)
    ladderGemm(half *c, const half *a, const half *b, int m, int n, int k) {
  int row = blockIdx.y * 8 + threadIdx.x / 32, column = blockIdx.x * 32 + threadIdx.x % 32;
  if (row >= m || column >= n)
    return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += toFloat(a[int64_t(row) * k + i]) * toFloat(b[int64_t(i) * n + column]);
  c[int64_t(row) * n + column] = toHalf(sum);
}
