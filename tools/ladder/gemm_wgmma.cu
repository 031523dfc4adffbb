// wgmma: tensor cores that read shared memory themselves.
//
// mma.sync does not reach the rate of Hopper's tensor cores, and its fragments take registers and
// instructions. Here four warps together start a multiplication of 64 x 16 by 16 x 128 elements that reads both
// operands in shared memory and runs by itself; two such groups compute a tile of 128 x 128. One step stays
// in flight while the threads ask for the copies of a later one. B lies in panels of 64 columns, the form
// in which the hardware takes an operand along whose rows it does not sum. 128 divides m and n, 64 k.
#include "device/tile.cuh"
#include "device/wgmma.cuh"
#include "fragments.cuh"

using namespace smelt;

constexpr int kBlock = 128, kDepth = 64, kThreads = 256, kStages = 4, kAhead = kStages - 2;
constexpr int kRowBytes = 128, kGroupRows = 8, kUnused = 16;
using TileA = SharedTile<half, kBlock, kDepth>;
using TileB = PanelTile<half, kDepth, kBlock, 64>;

/// Starts the multiplication of one step.
__device__ __forceinline__ void multiply(float (&sums)[kBlock / 2], uint32_t tileA,
                                         uint32_t tileB) {
  wgmma::Operand a = wgmma::describe<kRowBytes>(tileA, kGroupRows * kRowBytes, kUnused);
  wgmma::Operand b = wgmma::describe<kRowBytes>(tileB, kGroupRows * kRowBytes, kDepth * kRowBytes);
  wgmma::fence();
  staticFor<0, kDepth / 16>([&](auto d) {
    wgmma::Multiply<kBlock, half, half, true>::run(sums, a.at(d * 32), b.at(d * 16 * kRowBytes));
  });
  wgmma::commit();
}

extern "C" __global__ void __launch_bounds__(kThreads)
    ladderGemm(half *c, const half *a, const half *b, int m, int n, int k) {
  alignas(1024) extern __shared__ char memory[];
  uint32_t shared = ptx::sharedAddress(memory);
  int row0 = blockIdx.y * kBlock, column0 = blockIdx.x * kBlock, steps = k / kDepth;
  int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
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
  float sums[kBlock / 2] = {};
  wgmma::pin(sums);
  for (int step = 0; step < kAhead; ++step)
    copy(step);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    ptx::copyAsyncWait<kAhead - 1>();
    wgmma::publishShared();
    __syncthreads(); // the step has arrived, and the one before the last has been multiplied
    multiply(sums, stageA(step) + group * 64 * kRowBytes, stageB(step));
    copy(step + kAhead);
    wgmma::wait<1>();
  }
  wgmma::wait<0>();
  wgmma::pin(sums);
  int row = row0 + threadIdx.x / 32 * 16; // 64 rows a group, 16 a warp
#pragma unroll
  for (int j = 0; j < kBlock / 8; ++j)
    storeSums(c + int64_t(row) * n + column0 + 8 * j, n, sums + 4 * j);
}
