// wgmma and TMA: the hardware computes addresses, and one thread asks.
//
// With cp.async every thread spends its instructions on addresses, and a barrier of the whole block stands
// between two steps. Here one thread of a third warpgroup asks for boxes of A and B, which arrive in the
// layout that wgmma reads; the two others multiply 64 rows of 128 x 256 each. They meet only at a pair of barriers
// a stage, "full" and "empty", and registers go from the one that asks to those that multiply. Larger
// tiles read less of L2, and so do tiles taken in bands of 16 rows of them. 128 divides m, 256 n, 64 k.
#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"
#include "fragments.cuh"

using namespace smelt;

constexpr int kBlockM = 128, kBlockN = 256, kDepth = 64, kStages = 4, kConsumers = 256, kBand = 16;
constexpr int kRowBytes = 128, kGroupRows = 8, kUnused = 16, kPanel = 64;
constexpr int kBytesA = kBlockM * kRowBytes, kPanelBytes = kDepth * kRowBytes;
constexpr int kStageBytes = kBytesA + kBlockN / kPanel * kPanelBytes;

struct Block {
  uint32_t shared; ///< stages, then barriers
  int row, column, steps;

  __device__ __forceinline__ uint32_t stage(int i) const { return shared + i * kStageBytes; }
  __device__ __forceinline__ uint32_t full(int i) const {
    return stage(kStages) + i * mbarrier::kBytes;
  }
  __device__ __forceinline__ uint32_t empty(int i) const { return full(kStages + i); }
};

__device__ __forceinline__ void produce(const Block &block, const TensorMap &a,
                                        const TensorMap &b) {
  RingPosition<kStages> ring;
#pragma unroll 1
  for (int step = 0; step < block.steps; ++step, ring.advance()) {
    uint32_t stage = block.stage(ring.stage), full = block.full(ring.stage);
    mbarrier::wait(block.empty(ring.stage), ring.parity ^ 1);
    mbarrier::arriveExpecting(full, kStageBytes);
    tma::copyBox(stage, a, step * kDepth, block.row, full);
#pragma unroll
    for (int panel = 0; panel < kBlockN / kPanel; ++panel)
      tma::copyBox(stage + kBytesA + panel * kPanelBytes, b, block.column + panel * kPanel,
                   step * kDepth, full);
  }
}

/// Starts the multiplication of one step for 64 rows.
__device__ __forceinline__ void multiply(float (&sums)[kBlockN / 2], uint32_t tileA,
                                         uint32_t tileB) {
  wgmma::Operand a = wgmma::describe<kRowBytes>(tileA, kGroupRows * kRowBytes, kUnused);
  wgmma::Operand b = wgmma::describe<kRowBytes>(tileB, kGroupRows * kRowBytes, kPanelBytes);
  wgmma::fence();
  staticFor<0, kDepth / 16>([&](auto d) {
    wgmma::Multiply<kBlockN, half, half, true>::run(sums, a.at(d * 32), b.at(d * 16 * kRowBytes));
  });
  wgmma::commit();
}

__device__ __forceinline__ void consume(const Block &block, half *c, int n, int group) {
  float sums[kBlockN / 2] = {};
  wgmma::pin(sums);
  RingPosition<kStages> ring;
  int last = 0;
#pragma unroll 1
  for (int step = 0; step < block.steps; ++step, ring.advance()) {
    mbarrier::wait(block.full(ring.stage), ring.parity);
    multiply(sums, block.stage(ring.stage) + group * 64 * kRowBytes,
             block.stage(ring.stage) + kBytesA);
    wgmma::wait<1>(); // the step before has been multiplied
    if (step > 0 && threadIdx.x % 32 == 0)
      mbarrier::arrive(block.empty(last));
    last = ring.stage;
  }
  wgmma::wait<0>();
  wgmma::pin(sums);
  int row = block.row + threadIdx.x / 32 * 16;
#pragma unroll
  for (int j = 0; j < kBlockN / 8; ++j)
    storeSums(c + int64_t(row) * n + block.column + 8 * j, n, sums + 4 * j);
}

extern "C" __global__ void __launch_bounds__(kConsumers + 128, 1)
    ladderGemm(half *c, const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
               int m, int n, int k) {
  alignas(1024) extern __shared__ char memory[];
  int tilesM = m / kBlockM, tilesN = n / kBlockN, band = blockIdx.x / (kBand * tilesN);
  int height = min(kBand, tilesM - band * kBand), within = blockIdx.x - band * kBand * tilesN;
  Block block = {ptx::sharedAddress(memory), (band * kBand + within % height) * kBlockM,
                 within / height * kBlockN, k / kDepth};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier::init(block.full(i), 1);
      mbarrier::init(block.empty(i), kConsumers / 32);
    }
    mbarrier::publishInit();
  }
  __syncthreads();
  int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  if (group == kConsumers / 128) {
    wgmma::lowerRegisters<24>();
    if (threadIdx.x == kConsumers)
      produce(block, a, b);
  } else {
    wgmma::raiseRegisters<240>();
    consume(block, c, n, group);
  }
}
