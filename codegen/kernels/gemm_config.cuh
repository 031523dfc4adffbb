// Tilings of the tensor-core GEMM: what they are, what they cost, which ones exist.
//
// Plain C++: the host's selection and the device template read the same formulas.
#pragma once

namespace smelt {

/// One way of cutting C = A * B. A block of warpsM x warpsN warps computes blockM x blockN elements
/// of C in steps of blockK, with `stages` steps in shared memory. clusterK > 1: that many blocks, a
/// cluster, share one tile of C and each takes a part of K (sm_90 only).
struct GemmTiling {
  int blockM, blockN, blockK;
  int warpsM, warpsN;
  int stages;
  int clusterK;

  constexpr int threads() const { return warpsM * warpsN * 32; }

  constexpr int stageBytes(int elementBytes) const {
    return (blockM + blockN) * blockK * elementBytes;
  }

  /// Elements by which a float row is padded in the exchange buffer.
  static constexpr int kExchangePadding = 8;

  /// Float tile through which sums become rows for the epilogue, and reach the block of the cluster
  /// that owns them.
  constexpr int exchangeBytes() const { return blockM * (blockN + kExchangePadding) * 4; }

  /// Dynamic shared memory of one block. The exchange buffer reuses the stages, except in a
  /// cluster, where peers may still be multiplying when the first sums arrive.
  constexpr int sharedBytes(int elementBytes) const {
    int pipeline = stages * stageBytes(elementBytes);
    if (clusterK > 1)
      return pipeline + exchangeBytes();
    return pipeline > exchangeBytes() ? pipeline : exchangeBytes();
  }
};

template <int BlockM, int BlockN, int BlockK, int WarpsM, int WarpsN, int Stages, int ClusterK>
struct GemmConfig {
  static constexpr GemmTiling kTiling{BlockM, BlockN, BlockK, WarpsM, WarpsN, Stages, ClusterK};
  static constexpr int kThreads = kTiling.threads();
  static constexpr int sharedBytes(int elementBytes) { return kTiling.sharedBytes(elementBytes); }
};

} // namespace smelt
