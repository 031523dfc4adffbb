// Where a row of a GEMM's sums lies in shared memory on its way to the epilogue.
//
// Problem: warps write sums as fragments have them, pairs of columns of eight rows, and read them as the epilogue wants
// them, eight columns of a row a thread, 16 bytes at a time. In the order of the columns the eight threads that read
// together ask for every other 16 bytes, half of the banks: reads take twice as long, and wgmma, which needs most of what
// shared memory moves (a tile of 128 x 128 reads 96 of 128 bytes a clock), waits for them. Method: where a thread reads
// eight columns, their first four lie in one half of the row and the others in the other half. Of two products that take
// turns, each one's groups of eight are neighbours. Where rows are shorter than eight readers, these read from rows that
// are two apart, whose banks differ (rowOfVector).
//
// Assumes: rows of whole pairs of groups; kExchangePadding, 8 mod 32, tells rows apart when fragments are written.
// Gain, in models, by turns on one H200: ViT-B of 64 images 1.6 %, of one 0.8, BERT-base 1x128 0.8, ResNet-50 of one image
// 1.3, of 64 1.0, EfficientNet-B0 1.2, Swin-T 0.9; DistilBERT at 8x128 lost 0.7, Llama at 1x512 0.5. In 8192x3072x768 with a
// norm and GELU, by 128 x 128 in turn, banks are busy in about 92 of 100 clocks, 71 of them for operands.
#pragma once

#include "device/tile.cuh"
#include "kernels/gemm/gemm_config.cuh"

namespace smelt {

/// A row of `Columns` sums of which `Products` products take turns, read `Width` columns at a time. Distances are in sums.
template <int Columns, int Width, int Products = 1> struct ExchangeRow {
  static constexpr int kStride = Columns + kExchangePadding;
  static constexpr bool kInHalves = Width == kTurnColumns;
  static constexpr int kHalf = kStride / 2;
  static constexpr int kGroups = Columns / kTurnColumns;
  static_assert(!kInHalves || Columns % (2 * kTurnColumns) == 0, "halves begin at whole 16 bytes");

  /// Of a group of eight columns: a sum of what its number's parts give, where one of them is even.
  __device__ __forceinline__ static constexpr int ofGroup(int group) {
    int place = Products == 1 ? group : group % Products * (kGroups / Products) + group / Products;
    return place * (kInHalves ? kTurnColumns / 2 : kTurnColumns);
  }

  /// Of a sum, from the first row on.
  __device__ __forceinline__ static constexpr int at(int row, int column) {
    int group = ofGroup(column / kTurnColumns), of = column % kTurnColumns;
    if constexpr (kInHalves)
      return (2 * row + of / 4) * kHalf + group + of % 4; // of few terms: registers are scarce here
    else
      return row * kStride + group + of;
  }

  /// The sums of `product` for a row's results from `column` on; `rows`: the address of the first row.
  template <class Sum>
  __device__ __forceinline__ static void load(uint32_t rows, int row, int product, int column,
                                              Sum (&sums)[Width]) {
    int group = ofGroup(column / kTurnColumns * Products + product);
    if constexpr (kInHalves) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Sum four[4];
        loadSharedRow(rows + ((2 * row + half) * kHalf + group) * 4, four);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          sums[4 * half + i] = four[i];
      }
    } else {
      loadSharedRow(rows + (row * kStride + group + column % kTurnColumns) * 4, sums);
    }
  }
};

/// The row of a vector, of `Vectors` each, in `Rows` rows.
template <int Vectors, int Rows> __device__ __forceinline__ int rowOfVector(int vector) {
  int row = vector / Vectors;
  if constexpr (Vectors == 4 && Rows % 4 == 0)
    row = (row & ~3) | (row & 1) << 1 | (row >> 1 & 1);
  return row;
}

} // namespace smelt
