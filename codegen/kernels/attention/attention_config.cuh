// Tilings of the attention templates: what they are, what they cost, which ones to choose from.
//
// Plain C++: the host's selection and the device templates read the same formulas.
//
// Choice (times on one H200, chains of dependent kernels; PyTorch's scaled_dot_product_attention in
// the same session in brackets; head size 64 unless said):
//   - 16 bits, blocks of 64 rows do not fill the multiprocessors once: kAttentionShort. 12 heads,
//     128 x 128 2.4 us (5.7), with head size 32 2.3 (5.7), causal 2.4 (6.2).
//   - they do not fill them twice: kAttentionMedium. 12 heads, 197 x 197 3.5 us (7.3).
//   - else kAttentionLong, or kAttentionLongBiased where every score has its own bias: 8 x 12 heads,
//     512 x 512 29 us (20); 64 x 12 heads, 197 x 197 61 us (46); 4 x 16 heads, 4096 x 4096, causal
//     570 us (359); head size 128 1550 us (975). wgmma would close this gap.
//   - 99 KB of shared memory (8.6, 8.9, 12.0): half the keys a step where a step does not fit.
//   - head sizes beyond 128: kAttentionWide. float: kAttentionSimt, 16 rows for short sequences
//     (12 heads of 32, 128 x 128 4.6 us), 64 for long ones (8 x 12 heads, 512 x 512 99 us).
#pragma once

namespace smelt {

/// A block of `warps` warps computes blockQ rows of the output, walking over the keys in steps of
/// blockKV with `stages` steps in shared memory. Where there are more warps than 16-row pieces of
/// blockQ, the spare ones share the keys of a step (a short sequence has few rows to hand out).
struct AttentionTiling {
  int blockQ, blockKV;
  int warps;
  int stages;

  constexpr int threads() const { return warps * 32; }
  constexpr int warpsQ() const { return blockQ / 16 < warps ? blockQ / 16 : warps; }
  constexpr int warpsKV() const { return warps / warpsQ(); }
  constexpr int rowTiles() const { return blockQ / 16 / warpsQ(); } // 16-row pieces of a warp
  constexpr int warpKeys() const { return blockKV / warpsKV(); }    // of a step

  /// Head sizes are padded to the depth of one mma.
  static constexpr int padded(int size) { return (size + 15) / 16 * 16; }

  /// Floats by which a row is padded in the exchange buffer.
  static constexpr int kRowPadding = 8;

  /// Unnormalised outputs of every warp, and the maximum and sum of each of their rows. Reuses the
  /// stages.
  constexpr int exchangeBytes(int valueSize) const {
    return warpsKV() * blockQ * (padded(valueSize) + kRowPadding + 2) * 4;
  }

  /// Dynamic shared memory of one block, for 16-bit elements.
  constexpr int sharedBytes(int headSize, int valueSize) const {
    int queries = blockQ * padded(headSize) * 2;
    int keysValues = stages * blockKV * (padded(headSize) + padded(valueSize)) * 2;
    int exchange = exchangeBytes(valueSize);
    return queries + keysValues > exchange ? queries + keysValues : exchange;
  }
};

/// `Steps`: of keys, where a launch knows that a block never sees more; 0: any number. Code for one or two steps alone is half
/// as long, and a layer's kernels keep each other out of the instruction cache: with five kernels a layer, the steps of any
/// number took 0.7 us more at 77 keys.
template <int BlockQ, int BlockKV, int Warps, int Stages, int Steps = 0> struct AttentionConfig {
  static constexpr AttentionTiling kTiling{BlockQ, BlockKV, Warps, Stages};
  static constexpr int kSteps = Steps;
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kMinBlocks = 1;
  static constexpr int sharedBytes(int headSize, int valueSize) {
    return kTiling.sharedBytes(headSize, valueSize);
  }
};

/// The same for the 32-bit attention without tensor cores: blocks of 128 threads, 16 along the rows
/// by 8 along the keys or columns.
struct AttentionSimtTiling {
  int blockQ, blockKV;
  int stages;

  static constexpr int kThreadsQ = 16, kThreadsKV = 8;
  constexpr int threads() const { return kThreadsQ * kThreadsKV; }

  /// Head sizes are padded so that eight threads share a row in 16-byte pieces.
  static constexpr int padded(int size) { return (size + 31) / 32 * 32; }

  /// Dynamic shared memory of one block: queries, stages of keys and values, probabilities.
  constexpr int sharedBytes(int headSize, int valueSize) const {
    return (blockQ * padded(headSize) + stages * blockKV * (padded(headSize) + padded(valueSize)) +
            blockQ * blockKV) *
           4;
  }
};

template <int BlockQ, int BlockKV, int Stages> struct AttentionSimtConfig {
  static constexpr AttentionSimtTiling kTiling{BlockQ, BlockKV, Stages};
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kMinBlocks = 1;
  static constexpr int sharedBytes(int headSize, int valueSize) {
    return kTiling.sharedBytes(headSize, valueSize);
  }
};

/// Tilings by use; see the top of this file.
inline constexpr AttentionTiling kAttentionShort{16, 128, 4, 2};
inline constexpr AttentionTiling kAttentionMedium{32, 128, 4, 2};
inline constexpr AttentionTiling kAttentionLong{128, 64, 4, 2};
inline constexpr AttentionTiling kAttentionLongBiased{64, 64, 4, 2};
inline constexpr AttentionTiling kAttentionWide{64, 32, 4, 2};
inline constexpr AttentionSimtTiling kAttentionSimt[] = {{16, 64, 2}, {64, 64, 2}};
/// Head sizes beyond 128, or little shared memory; the second where that is 99 KB.
inline constexpr AttentionSimtTiling kAttentionSimtHuge[] = {{16, 32, 2}, {16, 32, 1}};

} // namespace smelt
