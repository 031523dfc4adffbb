// Tilings of the GEMM templates: what they are and what they cost.
//
// Plain C++: the host's selection and the device template read the same formulas.
#pragma once

namespace smelt {

/// Floats by which a row is padded in an exchange buffer (see gemm_epilogue.cuh).
inline constexpr int kExchangePadding = 8;

/// One way of cutting C = A * B. A block of warpsM x warpsN warps computes blockM x blockN elements
/// of C in steps of blockK, with `stages` steps in shared memory. clusterK > 1: that many blocks, a
/// cluster, share one tile of C and each takes a part of K (sm_90 only).
struct GemmTiling {
  int blockM, blockN, blockK;
  int warpsM, warpsN;
  int stages;
  int clusterK;
  int warpsK = 1;

  constexpr int threads() const { return warpsM * warpsN * warpsK * 32; }

  constexpr int stageBytes(int elementBytes) const {
    return (blockM + blockN) * blockK * elementBytes;
  }

  /// Float tiles through which sums become rows for the epilogue, and reach the block of the
  /// cluster that owns them.
  constexpr int exchangeBytes() const { return warpsK * blockM * (blockN + kExchangePadding) * 4; }

  /// Dynamic shared memory of one block. The exchange buffer reuses the stages, except in a
  /// cluster, where peers may still be multiplying when the first sums arrive.
  constexpr int sharedBytes(int elementBytes) const {
    int pipeline = stages * stageBytes(elementBytes);
    if (clusterK > 1)
      return pipeline + exchangeBytes();
    return pipeline > exchangeBytes() ? pipeline : exchangeBytes();
  }
};

template <int BlockM, int BlockN, int BlockK, int WarpsM, int WarpsN, int Stages, int ClusterK,
          int WarpsK = 1>
struct GemmConfig {
  static constexpr GemmTiling kTiling{BlockM, BlockN, BlockK,   WarpsM,
                                      WarpsN, Stages, ClusterK, WarpsK};
  static constexpr int kThreads = kTiling.threads();
  static constexpr int sharedBytes(int elementBytes) { return kTiling.sharedBytes(elementBytes); }
};

/// The same for wgmma (sm_90a, 16-bit operands): every 64 rows belong to a warpgroup of four warps
/// that computes 64 x blockN elements; steps are 64 deep. blockN is 32, 48, 64, 96, 128, 192 or
/// 256.
struct GemmWgmmaTiling {
  int blockM, blockN;
  int stages;
  int clusterK;

  static constexpr int kBlockK = 64;
  constexpr int threads() const { return blockM * 2; }
  constexpr int stageBytes() const { return (blockM + blockN) * kBlockK * 2; }
  constexpr int exchangeBytes() const { return blockM * (blockN + kExchangePadding) * 4; }
  constexpr int sharedBytes() const {
    int pipeline = stages * stageBytes();
    if (clusterK > 1)
      return pipeline + exchangeBytes();
    return pipeline > exchangeBytes() ? pipeline : exchangeBytes();
  }
};

template <int BlockM, int BlockN, int Stages, int ClusterK> struct GemmWgmmaConfig {
  static constexpr GemmWgmmaTiling kTiling{BlockM, BlockN, Stages, ClusterK};
  static constexpr int kThreads = kTiling.threads();
  static constexpr int sharedBytes() { return kTiling.sharedBytes(); }
};

/// The same for the 32-bit GEMM without tensor cores: every thread computes threadM x threadN
/// elements. clusterK as above.
struct GemmSimtTiling {
  int blockM, blockN, blockK;
  int threadM, threadN;
  int stages;
  int clusterK;

  constexpr int threadsM() const { return blockM / threadM; }
  constexpr int threadsN() const { return blockN / threadN; }
  constexpr int threads() const { return threadsM() * threadsN(); }
  constexpr int stageBytes() const { return (blockM + blockN) * blockK * 4; }
  constexpr int exchangeBytes() const { return blockM * (blockN + kExchangePadding) * 4; }
  constexpr int sharedBytes() const {
    int pipeline = stages * stageBytes();
    if (clusterK > 1)
      return pipeline + exchangeBytes();
    return pipeline > exchangeBytes() ? pipeline : exchangeBytes();
  }
};

template <int BlockM, int BlockN, int BlockK, int ThreadM, int ThreadN, int Stages, int ClusterK>
struct GemmSimtConfig {
  static constexpr GemmSimtTiling kTiling{BlockM,  BlockN, BlockK,  ThreadM,
                                          ThreadN, Stages, ClusterK};
  static constexpr int kThreads = kTiling.threads();
  static constexpr int sharedBytes() { return kTiling.sharedBytes(); }
};

} // namespace smelt
