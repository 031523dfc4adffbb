// Tilings of the attention templates: what they are and what they cost.
//
// Plain C++: the host's selection and the device template read the same formulas.
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

template <int BlockQ, int BlockKV, int Warps, int Stages> struct AttentionConfig {
  static constexpr AttentionTiling kTiling{BlockQ, BlockKV, Warps, Stages};
  static constexpr int kThreads = kTiling.threads();
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
  static constexpr int sharedBytes(int headSize, int valueSize) {
    return kTiling.sharedBytes(headSize, valueSize);
  }
};

} // namespace smelt
