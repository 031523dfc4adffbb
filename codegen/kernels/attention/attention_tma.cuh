// softmax(Q K^T) V on Hopper's tensor cores, with operands that arrive by tensor maps (TMA).
//
// Problem: where there are rows enough to fill the chip, attention.cuh is bound by its own instructions:
// warps copy, load fragments and multiply with mma.sync, which reaches two thirds of what the tensor
// cores do, and every warp's softmax stands between its own products.
//
// Method
//   - Roles: one thread asks for boxes of Q, K and V; two or three warpgroups compute 64 rows each with
//     wgmma, sharing the keys; three warps compute what is added to the scores by key alone (padding
//     masks), once for all rows. They meet at pairs of barriers ("full", "empty") only. Registers go from
//     the ones to the others (setmaxnreg).
//   - A warpgroup starts Q K^T of the next step and P V of this one together, and computes softmax
//     (attention_rows.cuh) of the next while P V is under way and while others multiply. (Taking turns, Q in
//     registers, and starting the next tile's scores before this one is finished made no difference in nine
//     shapes; but then ptxas let softmax wait for P V, see awaitValues().) P goes from the scores' registers
//     straight into the multiplication.
//   - Biases of single scores come in boxes too where a map can describe them, for each warpgroup by
//     itself, and leave shared memory as matrices, in the order of wgmma's scores; all heads that have
//     them in common are at the same rows.
//   - A block takes tile after tile (causal ones by attention_order.cuh); the next tile's operands arrive
//     while this one is finished. Of causal tiles that all run at once, two warpgroups take rows from
//     both ends of a head. Rows leave as attention_output.cuh says.
//
// Assumes: sm_90a; 16-bit operands; maps of Q, K and V with the axes (column, row, head, batch) and
// boxes of AttentionTmaTiling::panel() columns by 64 (Q) or blockKV rows, swizzled over the panel's
// width; rows of the output in vectors of eight; keys() > 0; Config::kThreads threads; any grid in x up
// to the number of tiles; Config::sharedBytes(kHeadSize, kValueSize) of shared memory, aligned to 1024
// bytes. Masked rows and Problem::bias as in attention.cuh; with kBiasByKey it is asked for query 0. With
// Config::kTiling.biasStages, a map of BiasElements, 16-bit floats, with the axes (key, row, head, batch) and
// boxes of kBiasPanel columns by 64 rows, swizzled over 128 bytes; axes without kBiasByHead, kBiasByBatch are
// asked for 0.
// Cost: as attention.cuh, products at 4096 a clock and multiprocessor, exponentials at 16.
// Gain over attention.cuh, on one H200: 8 x 12 heads, 512 x 512 22 us (28), with a padding mask 24 (33);
// 64 x 12 heads, 197 x 197 39 (59); 8 x 12 heads, 1024 x 1024, causal 43 (74); 4 x 16 heads, 4096 x 4096,
// causal 366 (550); head size 128 970 (1550), 256, causal, 8 heads, 2048 x 2048 55 (136).
// Those of 128 and 256 were measured before their rows left in panels. Softmax beside P V, in models, by turns on an H200:
// Whisper's encoder 1.8 %, Qwen2 at 4x512 0.9, Llama at 1x512 0.5; at the power limit (BERT, GPT-2, T5 of eight) nothing.
// Rows from both ends, of 32 heads of 64, 512 x 512,
// causal: 9.3 us (11.2).
#pragma once

#include "device/direction.cuh"
#include "device/mbarrier.cuh"
#include "device/tile.cuh"
#include "device/tma.cuh"
#include "kernels/attention/attention_block.cuh"
#include "kernels/attention/attention_config.cuh"
#include "kernels/attention/attention_order.cuh"
#include "kernels/attention/attention_output.cuh"
#include "kernels/attention/attention_rows.cuh"

namespace smelt {

template <class Config, class Problem> struct AttentionTmaTask {
  using Element = typename Problem::Element;
  static constexpr AttentionTmaTiling kTiling = Config::kTiling;
  static constexpr int kBlockQ = kTiling.blockQ(), kBlockKV = kTiling.blockKV;
  static constexpr int kGroups = kTiling.groups, kGroupRows = AttentionTmaTiling::kGroupRows;
  static constexpr int kGroupWarps = 4;
  static constexpr int kConsumers = kTiling.consumers(), kPreparingThreads = 96;
  static constexpr int kStages = kTiling.stages, kQuerySlots = kTiling.querySlots;
  static constexpr int kHeadSize = Problem::kHeadSize, kValueSize = Problem::kValueSize;
  static constexpr int kHead = AttentionTmaTiling::padded(kHeadSize);
  static constexpr int kValue = AttentionTmaTiling::padded(kValueSize);
  static constexpr int kPanelQK = AttentionTmaTiling::panel(kHeadSize);
  static constexpr int kPanelV = AttentionTmaTiling::panel(kValueSize);
  static constexpr int kQueryBytes = kTiling.queryBytes(kHeadSize, kValueSize); // of a warpgroup
  static constexpr int kKeyBytes = kTiling.keyBytes(kHeadSize);
  static constexpr int kValueBytes = kTiling.keyBytes(kValueSize);
  static_assert(kIsHalfWidth<Element>, "operands are half or bfloat16");
  static_assert(kBlockKV % 16 == 0, "a multiplication of probabilities takes 16 keys");

  /// Biases of single scores come by a map: boxes of kBiasPanel columns of a warpgroup's rows.
  static constexpr bool kBiasByMap = kTiling.biasStages > 0;
  static constexpr int kBiasStages = kBiasByMap ? kTiling.biasStages : 1;
  static constexpr int kBiasPanel = AttentionTmaTiling::kBiasPanel;
  static_assert(!kBiasByMap || kBlockKV % kBiasPanel == 0, "boxes of biases tile a step");

  using Ring = RingPosition<kStages>;
  using BiasRing = RingPosition<kBiasStages>;
  using QueryRing = RingPosition<kQuerySlots>;
  using Rows = AttentionRows<Problem, kBlockKV, kValue>;
  using Output = AttentionOutput<Problem, Rows, kPanelQK>;
  static_assert(Problem::kVector == Output::kChunk && kValueSize % Output::kChunk == 0,
                "rows are whole pieces");

  const Problem &problem;
  const TensorMap &mapQ, &mapK, &mapV;
  const uint32_t shared;

  __device__ __forceinline__ AttentionTmaTask(const Problem &problem, const TensorMap &mapQ,
                                              const TensorMap &mapK, const TensorMap &mapV,
                                              uint32_t shared)
      : problem(problem), mapQ(mapQ), mapK(mapK), mapV(mapV), shared(shared) {}

  // --- The tiles of this block: one in gridDim.x ---

  struct Tile {
    int batch, head, row;
  };

  __device__ __forceinline__ int blocks() const { return ceilDiv(problem.queries(), kBlockQ); }
  __device__ __forceinline__ int tiles() const {
    return blocks() * problem.heads() * problem.batches();
  }
  __device__ __forceinline__ int tileCount() const {
    return (tiles() - int(blockIdx.x) + int(gridDim.x) - 1) / int(gridDim.x);
  }
  __device__ __forceinline__ Tile tileOf(int ordinal) const {
    int index = blockIdx.x + ordinal * gridDim.x;
    if constexpr (!Problem::kCausal)
      index = inDirection(problem.reversed, index, tiles());
    // The rows of one head together, which read the same keys; unless they differ in length.
    AttentionOrder::Place place = {index / blocks(), index % blocks()};
    if constexpr (Problem::kCausal || sharesBiases())
      place = AttentionOrder(blocks(), problem.heads() * problem.batches(), problem.keys(),
                             (kHeadSize + kValueSize) * int(sizeof(Element)), Problem::kHeadsOfKeys)
                  .at(index);
    return {place.head / problem.heads(), place.head % problem.heads(), place.row * kBlockQ};
  }

  /// The first row of a warpgroup. (Heads wider than 128 leave no registers for a choice.)
  __device__ __forceinline__ int rowOf(const Tile &tile, int group) const {
    if constexpr (Problem::kCausal && kGroups == 2 && kValue <= 128)
      if (tiles() <= int(gridDim.x))
        return AttentionOrder::rowFromBothEnds(tile.row, group, kGroupRows, blocks() * kBlockQ);
    return tile.row + group * kGroupRows;
  }

  /// Heads have their biases in common, which are more than the keys of one head.
  __device__ __forceinline__ static constexpr bool sharesBiases() {
    if constexpr (kBiasByMap)
      return !Problem::kBiasByHead;
    return false;
  }

  /// Steps of keys that the rows before `end` see.
  __device__ __forceinline__ int stepsOf(int end) const {
    int lastRow = min(end, problem.queries()) - 1;
    int visible = Problem::kCausal ? min(problem.keys(), lastRow + problem.causalOffset() + 1)
                                   : problem.keys();
    return visible > 0 ? ceilDiv(visible, kBlockKV) : 0;
  }
  /// The last warpgroup's, which see the most.
  __device__ __forceinline__ int stepsOf(const Tile &tile) const {
    return stepsOf(rowOf(tile, kGroups - 1) + kGroupRows);
  }

  // --- Shared memory ---

  __device__ __forceinline__ uint32_t queries(int slot, int group) const {
    return shared + (slot * kGroups + group) * kQueryBytes;
  }
  __device__ __forceinline__ uint32_t keys(int stage) const {
    return shared + kTiling.keysOffset(kHeadSize, kValueSize) + stage * kKeyBytes;
  }
  __device__ __forceinline__ uint32_t values(int stage) const {
    return shared + kTiling.valuesOffset(kHeadSize, kValueSize) + stage * kValueBytes;
  }
  __device__ __forceinline__ uint32_t biases(int stage) const {
    return shared + kTiling.biasOffset(kHeadSize, kValueSize) + stage * kBlockKV * 4;
  }

  __device__ __forceinline__ uint32_t biasTile(int stage, int group) const {
    return shared + kTiling.biasTilesOffset(kHeadSize, kValueSize) +
           (stage * kGroups + group) * kTiling.biasTileBytes();
  }

  // A pair of barriers for every stage of keys, of values, of biases, and every slot of queries; and
  // for every stage of every warpgroup's tiles of biases.

  enum Held { kKeys, kValues, kBiases };
  __device__ __forceinline__ uint32_t barrier(int index) const {
    return shared + kTiling.barriersOffset(kHeadSize, kValueSize) + index * mbarrier::kBytes;
  }
  __device__ __forceinline__ uint32_t full(Held ring, int stage) const {
    return barrier(2 * ring * kStages + stage);
  }
  __device__ __forceinline__ uint32_t empty(Held ring, int stage) const {
    return barrier((2 * ring + 1) * kStages + stage);
  }
  __device__ __forceinline__ uint32_t queriesFull(int slot) const {
    return barrier(6 * kStages + slot);
  }
  __device__ __forceinline__ uint32_t queriesEmpty(int slot) const {
    return barrier(6 * kStages + kQuerySlots + slot);
  }

  __device__ __forceinline__ uint32_t biasTileFull(int stage, int group) const {
    return barrier(6 * kStages + 2 * kQuerySlots + 2 * (stage * kGroups + group));
  }
  __device__ __forceinline__ uint32_t biasTileEmpty(int stage, int group) const {
    return biasTileFull(stage, group) + mbarrier::kBytes;
  }

  __device__ __forceinline__ void initBarriers() const {
    for (int stage = 0; stage < kStages; ++stage)
      for (Held ring : {kKeys, kValues, kBiases}) {
        mbarrier::init(full(ring, stage), ring == kBiases ? kPreparingThreads : 1);
        mbarrier::init(empty(ring, stage), ring == kBiases ? kConsumers : kConsumers / 32);
      }
    for (int slot = 0; slot < kQuerySlots; ++slot) {
      mbarrier::init(queriesFull(slot), 1);
      mbarrier::init(queriesEmpty(slot), kConsumers / 32);
    }
    if constexpr (kBiasByMap)
      for (int stage = 0; stage < kBiasStages; ++stage)
        for (int group = 0; group < kGroups; ++group) {
          mbarrier::init(biasTileFull(stage, group), 1);
          mbarrier::init(biasTileEmpty(stage, group), kGroupWarps);
        }
    mbarrier::publishInit();
  }

  // --- The thread that asks for boxes ---

  template <int Panel, int Size, int Rows>
  __device__ __forceinline__ void copyPanels(uint32_t target, const TensorMap &map, int row,
                                             int head, int batch, uint32_t barrier) const {
#pragma unroll
    for (int panel = 0; panel < Size / Panel; ++panel)
      tma::copyBox(target + panel * Rows * Panel * 2, map, panel * Panel, row, head, batch,
                   barrier);
  }

  __device__ __forceinline__ void copyQueries(const Tile &tile, int slot) const {
    mbarrier::arriveExpecting(queriesFull(slot), kGroups * kGroupRows * kHead * 2);
    for (int group = 0; group < kGroups; ++group)
      copyPanels<kPanelQK, kHead, kGroupRows>(queries(slot, group), mapQ, rowOf(tile, group),
                                              tile.head, tile.batch, queriesFull(slot));
  }

  /// One step of biases, for each warpgroup by itself.
  __device__ __forceinline__ void copyBiases(const TensorMap &mapBias, const Tile &tile, int step,
                                             BiasRing &ring) const {
    if constexpr (kBiasByMap) {
      for (int group = 0; group < kGroups; ++group) {
        uint32_t target = biasTile(ring.stage, group), full = biasTileFull(ring.stage, group);
        mbarrier::wait(biasTileEmpty(ring.stage, group), ring.parity ^ 1);
        mbarrier::arriveExpecting(full, kTiling.biasTileBytes());
#pragma unroll
        for (int panel = 0; panel < kBlockKV / kBiasPanel; ++panel)
          tma::copyBox(target + panel * kGroupRows * kBiasPanel * 2, mapBias,
                       step * kBlockKV + panel * kBiasPanel, rowOf(tile, group),
                       Problem::kBiasByHead ? tile.head : 0, Problem::kBiasByBatch ? tile.batch : 0,
                       full);
      }
      ring.advance();
    }
  }

  /// `mapBias` is no member: that spills.
  __device__ __forceinline__ void produce(const TensorMap &mapBias) const {
    for (const TensorMap *map : {&mapQ, &mapK, &mapV})
      tma::prefetch(*map);
    if constexpr (kBiasByMap)
      tma::prefetch(mapBias);
    ptx::gridDependencyWait();
    ptx::gridDependencyLaunch();
    Ring ring;
    BiasRing biasRing;
    QueryRing slot;
#pragma unroll 1
    for (int ordinal = 0; ordinal < tileCount(); ++ordinal) {
      Tile tile = tileOf(ordinal);
      int keyHead = tile.head / Problem::kHeadsOfKeys, steps = stepsOf(tile);
      mbarrier::wait(queriesEmpty(slot.stage), slot.parity ^ 1);
      copyQueries(tile, slot.stage);
      slot.advance();
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        mbarrier::wait(empty(kKeys, ring.stage), ring.parity ^ 1);
        mbarrier::arriveExpecting(full(kKeys, ring.stage), kKeyBytes);
        copyPanels<kPanelQK, kHead, kBlockKV>(keys(ring.stage), mapK, step * kBlockKV, keyHead,
                                              tile.batch, full(kKeys, ring.stage));
        copyBiases(mapBias, tile, step, biasRing);
        mbarrier::wait(empty(kValues, ring.stage), ring.parity ^ 1);
        mbarrier::arriveExpecting(full(kValues, ring.stage), kValueBytes);
        copyPanels<kPanelV, kValue, kBlockKV>(values(ring.stage), mapV, step * kBlockKV, keyHead,
                                              tile.batch, full(kValues, ring.stage));
        ring.advance();
      }
    }
  }

  // --- The warps that compute biases by key ---

  /// Keys beyond the last are hidden.
  __device__ __forceinline__ void prepareStep(const Tile &tile, int step, int stage) const {
    for (int j = threadIdx.x - kConsumers - 32; j < kBlockKV; j += kPreparingThreads) {
      int key = step * kBlockKV + j;
      ptx::storeShared(biases(stage) + j * 4, key < problem.keys()
                                                  ? problem.bias(tile.batch, tile.head, 0, key)
                                                  : -infinity());
    }
  }

  __device__ __forceinline__ void prepare() const {
    if constexpr (Rows::kBiasByKey) {
      ptx::gridDependencyWait();
      Ring ring;
#pragma unroll 1
      for (int ordinal = 0; ordinal < tileCount(); ++ordinal) {
        Tile tile = tileOf(ordinal);
        int steps = stepsOf(tile);
#pragma unroll 1
        for (int step = 0; step < steps; ++step) {
          mbarrier::wait(empty(kBiases, ring.stage), ring.parity ^ 1);
          prepareStep(tile, step, ring.stage);
          mbarrier::arrive(full(kBiases, ring.stage));
          ring.advance();
        }
      }
    }
  }

  // --- The warpgroups that compute ---

  /// This warp is done with the place.
  __device__ __forceinline__ static void release(uint32_t barrier) {
    if (threadIdx.x % 32 == 0)
      mbarrier::arrive(barrier);
  }

  /// Starts scores = Q K^T.
  __device__ __forceinline__ void startScores(Rows &rows, uint32_t queries, int stage) const {
    constexpr int kRowBytes = kPanelQK * 2, kUnused = 16;
    wgmma::Operand q = wgmma::describe<kRowBytes>(queries, 8 * kRowBytes, kUnused);
    wgmma::Operand k = wgmma::describe<kRowBytes>(keys(stage), 8 * kRowBytes, kUnused);
    wgmma::fence();
    staticFor<0, kHead / 16>([&](auto d) {
      constexpr int kPanel = d * 16 / kPanelQK, kInside = d * 16 % kPanelQK * 2;
      wgmma::Multiply<kBlockKV, Element, Element, false>::template run<(d > 0)>(
          rows.scores, q.at(kPanel * kGroupRows * kRowBytes + kInside),
          k.at(kPanel * kBlockKV * kRowBytes + kInside));
    });
    wgmma::commit();
  }

  /// Starts sums += P V.
  __device__ __forceinline__ void startValues(Rows &rows, int stage) const {
    constexpr int kRowBytes = kPanelV * 2;
    wgmma::Operand v =
        wgmma::describe<kRowBytes>(values(stage), 8 * kRowBytes, kBlockKV * kRowBytes);
    wgmma::fence();
    staticFor<0, kBlockKV / 16>([&](auto j) {
      wgmma::Multiply<kValue, Element, Element, true>::run(rows.sums, rows.probabilities[j],
                                                           v.at(j * 16 * kRowBytes));
    });
    wgmma::commit();
  }

  /// Where it stands behind softmax in one sequence of instructions, ptxas waits first, and nothing overlaps: it has to
  /// stand behind a branch that softmax decides about.
  __device__ __forceinline__ static void awaitValues(Rows &rows) {
    wgmma::wait<0>();
    wgmma::pin(rows.sums);
    wgmma::pin(rows.probabilities);
  }

  /// First row and first column of a step that this thread holds.
  __device__ __forceinline__ static int threadRow() {
    return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  }
  __device__ __forceinline__ static int threadColumn() { return threadIdx.x % 4 * 2; }

  /// Finishes scores with the warpgroup's tile of biases. Matrices of eight rows by eight columns give
  /// a thread the elements that wgmma gave it of the scores; their rows lie in panels, swizzled.
  __device__ __forceinline__ void addBiasTile(Rows &rows, BiasRing &ring) const {
    using Bias = typename Problem::BiasElement;
    constexpr int kRowBytes = kBiasPanel * 2, kPanelTiles = kBiasPanel / 8;
    int lane = threadIdx.x % 32, group = threadIdx.x / 128;
    int row = threadIdx.x % 128 / 32 * 16 + lane % 16;
    uint32_t first = biasTile(ring.stage, group) + row * kRowBytes;
    uint32_t swizzle = lane % 8 * 16, piece = lane / 16 * 16;
    mbarrier::wait(biasTileFull(ring.stage, group), ring.parity);
    uint32_t pairs[4]; // of tiles j and j + 1, rows of both halves
    rows.finishScores([&](int j, int h, int c) {
      if (j % 2 == 0 && h == 0 && c == 0)
        ptx::loadMatrix(first + j / kPanelTiles * kGroupRows * kRowBytes +
                            ((j % kPanelTiles * 16 + piece) ^ swizzle),
                        pairs);
      return unpackPair<Bias>(pairs[j % 2 * 2 + h], c);
    });
    __syncwarp();
    release(biasTileEmpty(ring.stage, group));
    ring.advance();
  }

  __device__ __forceinline__ void addBiasByKey(Rows &rows, int stage) const {
    uint32_t address = biases(stage) + threadColumn() * 4;
    float pair[2];
    rows.finishScores([&](int j, int h, int c) {
      if (h == 0 && c == 0)
        ptx::loadShared(address + j * 32, pair[0], pair[1]);
      return pair[c];
    });
  }

  /// From products of queries and keys to probabilities. `row`: the warpgroup's first.
  __device__ __forceinline__ void softmax(Rows &rows, const Tile &tile, int row, int step,
                                          const Ring &ring, BiasRing &biasRing) const {
    int key0 = step * kBlockKV;
    if constexpr (Rows::kBiasByKey) {
      mbarrier::wait(full(kBiases, ring.stage), ring.parity);
      addBiasByKey(rows, ring.stage);
      mbarrier::arrive(empty(kBiases, ring.stage));
    } else if constexpr (kBiasByMap) {
      addBiasTile(rows, biasRing);
    } else if constexpr (!Problem::kHasBias) {
      rows.finishScores([](int, int, int) { return 0.0f; });
    } else {
      rows.finishScores([&](int j, int h, int c) {
        return problem.bias(tile.batch, tile.head,
                            min(row + threadRow() + 8 * h, problem.queries() - 1),
                            min(key0 + threadColumn() + 8 * j + c, problem.keys() - 1));
      });
    }
    bool crossesEdge = !Rows::kBiasByKey && key0 + kBlockKV > problem.keys();
    if (crossesEdge || (Problem::kCausal && key0 + kBlockKV > row + problem.causalOffset() + 1)) {
      int visible[2];
      for (int h = 0; h < 2; ++h) {
        visible[h] = problem.keys();
        if constexpr (Problem::kCausal)
          visible[h] = min(visible[h], row + threadRow() + 8 * h + problem.causalOffset() + 1);
        visible[h] -= key0 + threadColumn();
      }
      rows.mask(visible);
    }
    rows.updateSoftmax();
  }

  /// All steps that the warpgroup's rows see: at least one.
  __device__ __forceinline__ void attend(Rows &rows, const Tile &tile, int row, int steps,
                                         uint32_t queries, Ring &ring, BiasRing &biasRing) const {
    mbarrier::wait(full(kKeys, ring.stage), ring.parity);
    startScores(rows, queries, ring.stage);
    wgmma::wait<0>();
    wgmma::pin(rows.scores);
    release(empty(kKeys, ring.stage));
    softmax(rows, tile, row, 0, ring, biasRing);
    rows.packProbabilities();
#pragma unroll 1
    for (int step = 1; step < steps; ++step) {
      Ring next = ring;
      next.advance();
      mbarrier::wait(full(kKeys, next.stage), next.parity);
      startScores(rows, queries, next.stage);
      mbarrier::wait(full(kValues, ring.stage), ring.parity);
      startValues(rows, ring.stage);
      wgmma::wait<1>();
      wgmma::pin(rows.scores);
      release(empty(kKeys, next.stage));
      softmax(rows, tile, row, step, next, biasRing);
      if (rows.hasMoved()) {
        awaitValues(rows);
        rows.rescaleSums();
      } else {
        awaitValues(rows);
      }
      release(empty(kValues, ring.stage));
      rows.packProbabilities();
      ring = next;
    }
    mbarrier::wait(full(kValues, ring.stage), ring.parity);
    startValues(rows, ring.stage);
    wgmma::wait<0>();
    wgmma::pin(rows.sums);
    release(empty(kValues, ring.stage));
    ring.advance();
  }

  /// Steps that only other warpgroups' rows see.
  __device__ __forceinline__ void skip(int steps, Ring &ring, BiasRing &biasRing) const {
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      for (Held of : {kKeys, kValues, kBiases})
        if (of != kBiases || Rows::kBiasByKey) {
          mbarrier::wait(full(of, ring.stage), ring.parity);
          __syncwarp(); // lanes that have not seen it might meet its next phase
          if (of == kBiases)
            mbarrier::arrive(empty(of, ring.stage));
          else
            release(empty(of, ring.stage));
        }
      ring.advance();
      if constexpr (kBiasByMap) {
        int group = threadIdx.x / 128;
        mbarrier::wait(biasTileFull(biasRing.stage, group), biasRing.parity);
        __syncwarp();
        release(biasTileEmpty(biasRing.stage, group));
        biasRing.advance();
      }
    }
  }

  __device__ __forceinline__ void consume(int group) const {
    ptx::gridDependencyWait();
    Ring ring;
    BiasRing biasRing;
    QueryRing slot;
#pragma unroll 1
    for (int ordinal = 0; ordinal < tileCount(); ++ordinal) {
      Tile tile = tileOf(ordinal);
      int row = rowOf(tile, group);
      bool hasRows = row < problem.queries();
      int steps = hasRows ? stepsOf(row + kGroupRows) : 0;
      uint32_t place = queries(slot.stage, group);
      Rows rows;
      rows.clear();
      mbarrier::wait(queriesFull(slot.stage), slot.parity);
      if (steps > 0)
        attend(rows, tile, row, steps, place, ring, biasRing);
      skip(stepsOf(tile) - steps, ring, biasRing);
      if (hasRows)
        Output{problem, tile.batch, tile.head}.run(rows, row, place);
      release(queriesEmpty(slot.stage));
      slot.advance();
    }
  }
};

/// The kernel's body. The maps are parameters of the kernel.
template <class Config, class Problem>
__device__ __forceinline__ void attentionTma(const Problem &problem, const TensorMap &mapQ,
                                             const TensorMap &mapK, const TensorMap &mapV,
                                             const TensorMap &mapBias, char *sharedMemory) {
  using Task = AttentionTmaTask<Config, Problem>;
  Task task(problem, mapQ, mapK, mapV, ptx::sharedAddress(sharedMemory));
  if (threadIdx.x == 0)
    task.initBarriers();
  __syncthreads();
  int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0); // the same for the whole warp
  if (group == Task::kGroups) {
    wgmma::lowerRegisters<Config::kProducerRegisters>();
    if (threadIdx.x == Task::kConsumers)
      task.produce(mapBias);
    else if (threadIdx.x >= Task::kConsumers + 32)
      task.prepare();
  } else {
    wgmma::raiseRegisters<Config::kConsumerRegisters>();
    task.consume(group);
  }
}

/// The same without a map of biases.
template <class Config, class Problem>
__device__ __forceinline__ void attentionTma(const Problem &problem, const TensorMap &mapQ,
                                             const TensorMap &mapK, const TensorMap &mapV,
                                             char *sharedMemory) {
  static_assert(Config::kTiling.biasStages == 0, "biases need their map");
  attentionTma<Config>(problem, mapQ, mapK, mapV, mapV, sharedMemory);
}

} // namespace smelt
