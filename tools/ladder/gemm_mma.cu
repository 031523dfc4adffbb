// mma.sync: tensor cores, fed through registers.
//
// A warp's instruction multiplies 16 x 16 by 16 x 8 elements. Eight warps compute a tile of 128 x 128, 64 x 32
// each, from fragments that ldmatrix brings from shared memory; chunks of 16 bytes lie there permuted, so that
// no bank is read twice at once (device/tile.cuh). Copies to shared memory are asynchronous (cp.async) and run
// two steps ahead in a ring of three stages: no register holds what is on its way. 128 divides m and n, 32 k.
#include "device/tile.cuh"
#include "fragments.cuh"

using namespace smelt;

constexpr int kBlock = 128, kDepth = 32, kThreads = 256, kStages = 3;
constexpr int kWarpM = 64, kWarpN = 32, kRows = kWarpM / 16, kColumns = kWarpN / 8;
using TileA = SharedTile<half, kBlock, kDepth>;
using TileB = SharedTile<half, kDepth, kBlock>;

extern "C" __global__ void __launch_bounds__(kThreads)
    ladderGemm(half *c, const half *a, const half *b, int m, int n, int k) {
  alignas(128) extern __shared__ char memory[];
  uint32_t shared = ptx::sharedAddress(memory);
  int row0 = blockIdx.y * kBlock, column0 = blockIdx.x * kBlock, steps = k / kDepth;
  int warp = threadIdx.x / 32, warpRow = warp % 2 * kWarpM, warpColumn = warp / 2 * kWarpN;
  auto stageA = [&](int step) { return shared + step % kStages * (TileA::kBytes + TileB::kBytes); };
  auto stageB = [&](int step) { return stageA(step) + TileA::kBytes; };
  auto copy = [&](int step) {
    auto ofA = [&](int row, int column) { return a + int64_t(row) * k + column; };
    auto ofB = [&](int row, int column) { return b + int64_t(row) * n + column; };
    if (step < steps) {
      copyTile<TileA, Along::kColumns, 8, kThreads, true, true>(stageA(step), ofA, row0,
                                                                step * kDepth, m, k);
      copyTile<TileB, Along::kRows, 8, kThreads, true, true>(stageB(step), ofB, step * kDepth,
                                                             column0, k, n);
    }
    ptx::copyAsyncCommit();
  };
  float sums[kRows][kColumns][4] = {};
  for (int step = 0; step < kStages - 1; ++step)
    copy(step);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    ptx::copyAsyncWait<kStages - 2>();
    __syncthreads(); // the step has arrived, and nobody reads the one before
    copy(step + kStages - 1);
#pragma unroll
    for (int d = 0; d < kDepth; d += 16) {
      uint32_t fragmentsA[kRows][4], fragmentsB[kColumns / 2][4];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        loadFragmentA<TileA>(stageA(step), warpRow + 16 * i, d / 8, fragmentsA[i]);
#pragma unroll
      for (int j = 0; j < kColumns / 2; ++j)
        loadFragmentB<TileB>(stageB(step), d, warpColumn / 8 + 2 * j, fragmentsB[j]);
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kColumns; ++j)
          ptx::mma(sums[i][j], fragmentsA[i], fragmentsB[j / 2][j % 2 * 2],
                   fragmentsB[j / 2][j % 2 * 2 + 1], half());
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      storeSums(c + int64_t(row0 + warpRow + 16 * i) * n + column0 + warpColumn + 8 * j, n,
                sums[i][j]);
}
