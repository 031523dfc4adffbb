// C = epilogue(A * B) on Hopper's tensor cores, with operands that arrive by tensor maps (TMA).
//
// Problem: in large products the threads of gemm_wgmma spend their issue slots on addresses and
// copies, a barrier of the block stands between any two steps, and a tile's epilogue holds up the
// copies of the next: 8192^3 runs at half of what the tensor cores can do.
//
// Method
//   - Roles: one thread asks for boxes of A and B, two warpgroups multiply 64 rows each. They meet
//     at a pair of barriers a stage ("full", "empty") only; one multiplication stays in flight.
//     Registers go from the one to the others (setmaxnreg).
//   - The hardware lays boxes out in the permutation that wgmma reads, 128 bytes a row: A and
//     B [n][k] in rows of 64 K (of bytes 128), B [k][n], which bytes cannot be, in panels of 64
//     columns. Edges are filled with zeros.
//   - A block takes tile after tile; the next tile's boxes arrive during the epilogue of this one.
//   - A warp's sums reach the generated epilogue through its own piece of shared memory, a few
//     columns at a time, so that no barrier of the block is needed and the stages stay whole.
//   - Weights (kBConstant) fill the ring before `griddepcontrol.wait`.
//
// Assumes: sm_90a; 16-bit operands or bytes; maps of the matrices with boxes of 128 bytes by blockM
// (A), blockN (B [n][k]) or 64 (B [k][n]), 128-byte swizzle; k() > 0; one batch; Config::kThreads threads; grid (any
// number of blocks up to that of tiles); Config::sharedBytes() of shared memory and kRowMoments *
// sizeof(RowMoments) for each row of the tile, 1024-byte aligned.
// Cost: 2 M N K FLOPs at 4096 a clock and multiprocessor, twice as many of bytes; bytes as gemm.cuh.
#pragma once

#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"
#include "kernels/gemm/gemm_block.cuh"
#include "kernels/gemm/gemm_config.cuh"

namespace smelt {

/// A place in a ring of stages, and the parity of the phase that its barriers are in.
template <int Stages> struct RingPosition {
  int stage = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// The way of one warp's sums, 16 rows, to the Problem's epilogue (gemm_epilogue.cuh says what that
/// is): `Columns` columns at a time, through `exchange`, which is this warp's own.
template <class Problem, int BlockN, int Columns> struct WarpEpilogue {
  static constexpr int kRows = 16, kWidth = Problem::kEpilogueWidth;
  static_assert(Problem::kProducts == 1, "two products go through gemm_epilogue.cuh");
  static constexpr int kStride = Columns + kExchangePadding;
  static constexpr int kVectors = Columns / kWidth; // of a row
  static constexpr int kPasses = ceilDiv(kRows * kVectors, 32);
  static constexpr int kPanels = BlockN / Columns;
  static constexpr int kMoments = Problem::kRowMoments;
  using Sum = typename Problem::Sum;
  using Inputs = typename Problem::template Inputs<kWidth>;
  static constexpr int kInputBytes = __is_empty(Inputs) ? 0 : int(sizeof(Inputs));
  // A pass is one vector a thread. Inputs are fetched for a group of passes; where one group makes
  // up all that the columns of a panel need and registers allow, while those before are computed.
  static constexpr int kFitting = kInputBytes == 0 ? 4 : kInputBytes < 96 ? 96 / kInputBytes : 1;
  static constexpr int kLimit = kFitting < 4 ? kFitting : 4;
  static constexpr int kGroup = kPasses < kLimit ? kPasses : kLimit;
  static constexpr int kGroups = ceilDiv(kPasses, kGroup);
  static constexpr bool kFetchAhead = kGroups == 1 && kGroup * kInputBytes <= 64;

  struct Group {
    Inputs inputs[kGroup];
  };

  const Problem &problem;
  const uint32_t exchange, rows; // shared memory; rows: RowMoments of the warp's rows
  const int row0, column0;       // of the warp's rows in C

  /// Position in the warp's rows and in the panel of this thread's vector; false if it has none in
  /// C.
  __device__ __forceinline__ bool locate(int first, int pass, int &row, int &column) const {
    int vector = threadIdx.x % 32 + pass * 32;
    row = vector / kVectors;
    column = vector % kVectors * kWidth;
    return row < kRows && row0 + row < problem.m() && first + column < problem.n();
  }

  __device__ __forceinline__ Group fetch(int first, int group = 0) const {
    Group result;
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      int row, column;
      if (locate(first, group * kGroup + i, row, column))
        result.inputs[i] = problem.template inputs<kWidth>(0, row0 + row, first + column);
    }
    return result;
  }

  template <int Panel> __device__ __forceinline__ void send(const Sum (&sums)[BlockN / 2]) const {
    int lane = threadIdx.x % 32;
    uint32_t target = exchange + (lane / 4 * kStride + lane % 4 * 2) * 4;
#pragma unroll
    for (int j = 0; j < Columns / 8; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        int sum = 4 * (Panel * (Columns / 8) + j) + 2 * h;
        ptx::storeShared(target + (8 * h * kStride + 8 * j) * 4, sums[sum], sums[sum + 1]);
      }
  }

  /// Brings the sums of a panel into rows. The panel before has been read.
  __device__ __forceinline__ void exchangeSums(int panel, const Sum (&sums)[BlockN / 2]) const {
    __syncwarp();
    staticFor<0, kPanels>([&](auto candidate) {
      if (candidate == panel)
        send<candidate>(sums);
    });
    __syncwarp();
  }

  __device__ __forceinline__ void finish(int first, const Group &fetched, int group = 0) const {
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      int row, column;
      if (!locate(first, group * kGroup + i, row, column))
        continue;
      Sum total[kWidth];
      loadSharedRow(exchange + (row * kStride + column) * 4, total);
      RowMoments combined[kMoments > 0 ? kMoments : 1];
#pragma unroll
      for (int m = 0; m < kMoments; ++m)
        ptx::loadShared(rows + (row * kMoments + m) * sizeof(RowMoments), combined[m].mean,
                        combined[m].variance);
      problem.template epilogue<kWidth>(0, row0 + row, first + column, total, fetched.inputs[i],
                                        combined);
    }
  }

  /// One panel after the other, by one text: unrolled, the compiler would compute the addresses of
  /// all panels at once, for which there are no registers.
  __device__ __forceinline__ void run(const Sum (&sums)[BlockN / 2]) const {
    Group fetched;
    if constexpr (kFetchAhead)
      fetched = fetch(column0);
#pragma unroll 1
    for (int panel = 0; panel < kPanels; ++panel) {
      int first = column0 + panel * Columns;
      if constexpr (kFetchAhead) {
        Group next;
        if (panel + 1 < kPanels)
          next = fetch(first + Columns);
        exchangeSums(panel, sums);
        finish(first, fetched);
        fetched = next;
      } else {
        exchangeSums(panel, sums);
#pragma unroll 1
        for (int group = 0; group < kGroups; ++group)
          finish(first, fetch(first, group), group);
      }
    }
  }
};

template <class Config, class Problem> struct GemmTmaTask {
  using ElementA = typename Problem::ElementA;
  using ElementB = typename Problem::ElementB;
  using Sum = typename Problem::Sum;
  static constexpr GemmTmaTiling kTiling = Config::kTiling;
  static constexpr int kBlockM = kTiling.blockM, kBlockN = kTiling.blockN;
  static constexpr int kBlockK = kWgmmaStepBytes / sizeof(ElementA), kStages = kTiling.stages;
  static constexpr int kConsumers = kTiling.kConsumers;
  static constexpr bool kBTransposed = Problem::kBTransposed;
  static constexpr bool kBytes = sizeof(ElementA) == 1;
  static constexpr int kStepK = 32 / sizeof(ElementA);  // of one multiplication
  static constexpr int kPanel = 64;                     // columns of a box of B [k][n]
  static constexpr int kBand = kBlockN > 128 ? 16 : 12; // rows of tiles that share columns of B
  static constexpr int kColumns = kTiling.exchangeColumns();
  static_assert(kBytes
                    ? sizeof(ElementB) == 1 && kIsSame<Sum, int32_t> && kBTransposed
                    : kIsHalfWidth<ElementA> && kIsSame<ElementA, ElementB> && kIsSame<Sum, float>,
                "operands are half or bfloat16 and sums float, or bytes along K and int32_t");
  static_assert(kBlockN % kPanel == 0 && kBlockN <= 256, "boxes tile the columns");

  using TileA = SharedTile<ElementA, kBlockM, kBlockK>;
  using TileB = Select<kBTransposed, SharedTile<ElementB, kBlockN, kBlockK>,
                       PanelTile<ElementB, kBlockK, kBlockN, kPanel>>;
  static constexpr int kStageBytes = TileA::kBytes + TileB::kBytes;
  static_assert(kStageBytes == kTiling.stageBytes(), "the host knows what a stage holds");
  using Ring = RingPosition<kStages>;
  using Epilogue = WarpEpilogue<Problem, kBlockN, kColumns>;

  const Problem &problem;
  const TensorMap &mapA, &mapB;
  const uint32_t shared;
  const int tilesM, tilesN, steps;

  __device__ __forceinline__ GemmTmaTask(const Problem &problem, const TensorMap &mapA,
                                         const TensorMap &mapB, uint32_t shared)
      : problem(problem), mapA(mapA), mapB(mapB), shared(shared),
        tilesM(ceilDiv(problem.m(), kBlockM)), tilesN(ceilDiv(problem.n(), kBlockN)),
        steps(ceilDiv(problem.k(), kBlockK)) {}

  // --- Shared memory: stages, exchange, barriers, moments ---

  __device__ __forceinline__ uint32_t stageA(int stage) const {
    return shared + stage * kStageBytes;
  }
  __device__ __forceinline__ uint32_t stageB(int stage) const {
    return stageA(stage) + TileA::kBytes;
  }
  __device__ __forceinline__ uint32_t exchange(int warp) const {
    return shared + kStages * kStageBytes + warp * Epilogue::kRows * Epilogue::kStride * 4;
  }
  __device__ __forceinline__ uint32_t full(int stage) const {
    return exchange(kConsumers / 32) + stage * mbarrier::kBytes;
  }
  __device__ __forceinline__ uint32_t empty(int stage) const { return full(kStages + stage); }
  __device__ __forceinline__ uint32_t rows() const { return shared + kTiling.sharedBytes(); }

  __device__ __forceinline__ void initBarriers() const {
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier::init(full(stage), 1);
      mbarrier::init(empty(stage), kConsumers / 32);
    }
    mbarrier::publishInit();
  }

  // --- The thread that asks for boxes ---

  __device__ __forceinline__ void copyA(int stage, int step, int tile) const {
    tma::copyBox(stageA(stage), mapA, step * kBlockK, tile * kBlockM, full(stage));
  }

  __device__ __forceinline__ void copyB(int stage, int step, int tile) const {
    if constexpr (kBTransposed) {
      tma::copyBox(stageB(stage), mapB, step * kBlockK, tile * kBlockN, full(stage));
    } else {
#pragma unroll
      for (int panel = 0; panel < kBlockN / kPanel; ++panel)
        tma::copyBox(stageB(stage) + panel * TileB::Panel::kBytes, mapB,
                     tile * kBlockN + panel * kPanel, step * kBlockK, full(stage));
    }
  }

  __device__ __forceinline__ void produce() const {
    tma::prefetch(mapA);
    tma::prefetch(mapB);
    int ahead = Problem::kBConstant ? min(kStages, steps) : 0; // steps of the first tile
    TileCoordinates first = rasterize<kBand>(blockIdx.x, tilesM, tilesN);
    for (int step = 0; step < ahead; ++step) {
      mbarrier::arriveExpecting(full(step), kStageBytes);
      copyB(step, step, first.n);
    }
    ptx::gridDependencyWait();
    ptx::gridDependencyLaunch();
    Ring ring;
#pragma unroll 1
    for (int index = blockIdx.x; index < tilesM * tilesN; index += gridDim.x) {
      TileCoordinates tile = rasterize<kBand>(index, tilesM, tilesN);
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        if (step >= ahead) {
          mbarrier::wait(empty(ring.stage), ring.parity ^ 1);
          mbarrier::arriveExpecting(full(ring.stage), kStageBytes);
          copyB(ring.stage, step, tile.n);
        }
        copyA(ring.stage, step, tile.m);
        ring.advance();
      }
      ahead = 0;
    }
  }

  // --- The warpgroups that multiply ---

  /// Starts the multiplication of one step for the 64 rows of `group`.
  __device__ __forceinline__ void multiplyStep(Sum (&sums)[kBlockN / 2], int stage,
                                               int group) const {
    constexpr int kGroupRows = 8, kUnused = 16, kRowBytes = 128;
    constexpr int kStepBytesA = kStepK * sizeof(ElementA);
    constexpr int kStepBytesB = kBTransposed ? kStepBytesA : kStepK * kRowBytes;
    wgmma::Operand a = wgmma::describe<kRowBytes>(stageA(stage) + group * 64 * kRowBytes,
                                                  kGroupRows * kRowBytes, kUnused);
    wgmma::Operand b = wgmma::describe<kRowBytes>(stageB(stage), kGroupRows * kRowBytes,
                                                  kBTransposed ? kUnused : kBlockK * kRowBytes);
    wgmma::fence();
    staticFor<0, kBlockK / kStepK>([&](auto step) {
      wgmma::Multiply<kBlockN, ElementA, ElementB, !kBTransposed>::run(
          sums, a.at(step * kStepBytesA), b.at(step * kStepBytesB));
    });
    wgmma::commit();
  }

  /// This warp reads the stage no more.
  __device__ __forceinline__ void release(int stage) const {
    if (threadIdx.x % 32 == 0)
      mbarrier::arrive(empty(stage));
  }

  __device__ __forceinline__ void multiply(Sum (&sums)[kBlockN / 2], Ring &ring, int group) const {
#pragma unroll
    for (int i = 0; i < kBlockN / 2; ++i)
      sums[i] = Sum(0);
    wgmma::pin(sums);
    int last = ring.stage;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      mbarrier::wait(full(ring.stage), ring.parity);
      multiplyStep(sums, ring.stage, group);
      wgmma::wait<1>();
      if (step > 0)
        release(last);
      last = ring.stage;
      ring.advance();
    }
    wgmma::wait<0>();
    wgmma::pin(sums);
    release(last);
  }

  /// The moments of the tile's rows, combined in shared memory for all warps.
  __device__ __forceinline__ void prepareMoments(int row0) const {
    if constexpr (Problem::kRowMoments > 0) {
      TileMoments<Problem, kBlockM, kConsumers> moments;
      moments.load(problem, 0, row0);
      ptx::barrierSync<1, kConsumers>(); // those of the tile before have been read
      moments.combine(rows());
      ptx::barrierSync<1, kConsumers>();
    }
  }

  __device__ __forceinline__ void consume(int group) const {
    ptx::gridDependencyWait();
    int warp = threadIdx.x / 32, warpRow = warp * Epilogue::kRows;
    Ring ring;
#pragma unroll 1
    for (int index = blockIdx.x; index < tilesM * tilesN; index += gridDim.x) {
      TileCoordinates tile = rasterize<kBand>(index, tilesM, tilesN);
      int row0 = tile.m * kBlockM;
      prepareMoments(row0);
      Sum sums[kBlockN / 2];
      multiply(sums, ring, group);
      constexpr int kMomentsBytes = Problem::kRowMoments * int(sizeof(RowMoments));
      Epilogue{problem, exchange(warp), rows() + warpRow * kMomentsBytes, row0 + warpRow,
               tile.n * kBlockN}
          .run(sums);
    }
  }
};

/// The kernel's body. The maps are parameters of the kernel.
template <class Config, class Problem>
__device__ __forceinline__ void gemmTma(const Problem &problem, const TensorMap &mapA,
                                        const TensorMap &mapB, char *sharedMemory) {
  using Task = GemmTmaTask<Config, Problem>;
  Task task(problem, mapA, mapB, ptx::sharedAddress(sharedMemory));
  if (threadIdx.x == 0)
    task.initBarriers();
  __syncthreads();
  int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0); // the same for the whole warp
  if (group == Task::kConsumers / 128) {
    wgmma::lowerRegisters<Config::kProducerRegisters>();
    if (threadIdx.x == Task::kConsumers)
      task.produce();
  } else {
    wgmma::raiseRegisters<Config::kConsumerRegisters>();
    task.consume(group);
  }
}

} // namespace smelt
