// The way of a warpgroup's 64 rows from its registers to memory, normalised.
//
// Problem: of a row that wgmma leaves behind, a thread holds pairs of columns, eight apart: stores of 4 bytes. Method: rows
// leave by way of the place where their queries were, and from there in 16-byte pieces. Rows of another type than the
// operands' leave as pairs.
//
// Assumes: registers as attention_rows.cuh has them; the place of the warpgroup's queries, in panels of `PanelColumns`
// columns, which no warp of it still multiplies but for its own 16 rows.
#pragma once

#include "device/tile.cuh"
#include "device/vector.cuh"
#include "device/wgmma.cuh"
#include "kernels/attention/attention_block.cuh"
#include "kernels/attention/attention_config.cuh"

namespace smelt {

/// `Rows`: AttentionRows. The rows belong to a head of a batch.
template <class Problem, class Rows, int PanelColumns> struct AttentionOutput {
  using Element = typename Problem::Element;
  static constexpr int kValueSize = Problem::kValueSize;
  static constexpr int kChunk = 8; // elements of a 16-byte piece
  /// Panels are those of the queries, so that a warp writes over its own queries alone: it may be done while another warp
  /// of its warpgroup still multiplies (tests/emulator found rows of other widths wrong).
  using Panel = SharedTile<Element, AttentionTmaTiling::kGroupRows, PanelColumns>;

  const Problem &problem;
  const int batch, head;

  /// `row`: the warpgroup's first. `place`: of its queries, in shared memory.
  __device__ __forceinline__ void run(const Rows &rows, int row, uint32_t place) const {
    if constexpr (kIsSame<decltype(problem.out(0, 0, 0)), Element *>)
      storeByWayOf(place, rows, row);
    else
      storePairs(rows, row);
  }

  /// The warp's first row of its warpgroup's.
  __device__ __forceinline__ static int warpRow() { return threadIdx.x % 128 / 32 * 16; }

  /// Of another type than the operands': each thread the pairs that it has.
  __device__ __forceinline__ void storePairs(const Rows &rows, int row) const {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float scale = normalization(problem, rows.totalOf(h));
      int target = row + warpRow() + lane / 4 + 8 * h;
      if (target >= problem.queries())
        continue;
      auto *out = problem.out(batch, head, target) + lane % 4 * 2;
#pragma unroll
      for (int d = 0; d < kValueSize / 8; ++d) {
        float pair[2] = {rows.sums[4 * d + 2 * h] * scale, rows.sums[4 * d + 2 * h + 1] * scale};
        store<2>(out + 8 * d, pair);
      }
    }
  }

  /// Offset of piece `piece` of a row in its queries' place.
  __device__ __forceinline__ static uint32_t offsetOf(int row, int piece) {
    return piece / Panel::kChunks * Panel::kBytes + Panel::offset(row, piece % Panel::kChunks);
  }

  /// In rows of whole vectors.
  __device__ __forceinline__ void storeByWayOf(uint32_t place, const Rows &rows, int row) const {
    constexpr int kPieces = kValueSize / kChunk;
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float scale = normalization(problem, rows.totalOf(h));
      int target = warpRow() + lane / 4 + 8 * h;
#pragma unroll
      for (int d = 0; d < Rows::kValueTiles; ++d)
        ptx::storeShared(place + offsetOf(target, d) + lane % 4 * 4,
                         packPair<Element>(rows.sums[4 * d + 2 * h] * scale,
                                           rows.sums[4 * d + 2 * h + 1] * scale));
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < ceilDiv(16 * kPieces, 32); ++i) {
      int piece = lane + 32 * i, from = warpRow() + piece / kPieces;
      if (piece >= 16 * kPieces || row + from >= problem.queries())
        continue;
      union Registers {
        uint32_t words[4];
        Vector<Element, kChunk> vector;
        __device__ __forceinline__ Registers() {}
      } registers;
      ptx::loadShared(place + offsetOf(from, piece % kPieces), registers.words);
      storeVector<kChunk>(problem.out(batch, head, row + from) + piece % kPieces * kChunk,
                          registers.vector);
    }
    wgmma::publishShared(); // the next queries come by another way
    __syncwarp();
  }
};

} // namespace smelt
