#include "tools/ladder/steps.h"

namespace smelt::ladder {

static constexpr unsigned kBarrierBytes = 64; // a pair of 8 bytes for each of up to four stages

const std::vector<Step> &gemmSteps() {
  constexpr const char *kEntry = "ladderGemm";
  static const std::vector<Step> steps = {
      {"naive", "gemm_naive.cu", {{kEntry, 8, 32, 256}}},
      {"tiled", "gemm_tiled.cu", {{kEntry, 64, 64, 256}}},
      {"vectorised", "gemm_vectorised.cu", {{kEntry, 128, 128, 256}}},
      {"mma.sync", "gemm_mma.cu", {{kEntry, 128, 128, 256, 3 * 2 * 128 * 32 * 2}}},
      {"wgmma", "gemm_wgmma.cu", {{kEntry, 128, 128, 256, 4 * 2 * 128 * 64 * 2}}, true},
      {"wgmma and TMA",
       "gemm_tma.cu",
       {{kEntry, 128, 256, 384, 4 * (128 + 256) * 64 * 2 + kBarrierBytes}},
       true,
       Operands::kMaps},
  };
  return steps;
}

const std::vector<Step> &attentionSteps() {
  constexpr const char *kEntry = "ladderAttention";
  constexpr int kHead = 128, kHalfBytes = 2;
  static const std::vector<Step> steps = {
      {"materialised",
       "attention_materialised.cu",
       {{"ladderScores", 8, 32, 256}, {"ladderSoftmax", 8, 1, 256}, {"ladderValues", 8, 32, 256}}},
      {"online softmax", "attention_online.cu", {{kEntry, 8, kHead, 256}}},
      {"tiled", "attention_tiled.cu", {{kEntry, 64, kHead, 128, 5 * 64 * kHead * kHalfBytes}}},
      {"warp-specialised",
       "attention_warp_specialised.cu",
       {{kEntry, 128, kHead, 384, 5 * 128 * kHead * kHalfBytes + kBarrierBytes}},
       true,
       Operands::kMaps},
  };
  return steps;
}

} // namespace smelt::ladder
