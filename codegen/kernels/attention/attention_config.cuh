// Tilings of the attention templates: what they are, what they cost, which ones to choose from.
//
// Plain C++: the host's selection and the device templates read the same formulas.
//
// Choice (times on one H200, chains of dependent kernels; PyTorch's scaled_dot_product_attention on the
// same card in brackets; head size 64 unless said):
//   - 16 bits, blocks of 64 rows do not fill the multiprocessors once: kAttentionShort. 12 heads,
//     128 x 128 2.4 us (5.7), with head size 32 2.3 (5.7), causal 2.4 (6.2), 197 x 197 3.7 (7.3). Of 129 to 256 keys, where
//     blocks of 16 rows are more than multiprocessors, kAttentionShortWide, all keys at once: ViT-B of one image takes 1.7 % less.
//     (Elsewhere blocks of 32 and 64 rows by 4 to 16 warps lost: BERT-base 1x128 2 to 10 %, MiniLM 8 to 14.)
//   - many heads of up to 32 queries and 64 keys: kAttentionFew, a warp for 16 queries, with all keys at once, so that twelve
//     blocks hide each other's waiting. 4096 heads, causal, 1 x 1 8.5 us (kAttentionRows64 19, kAttentionMapped 50), 16 x 16 10.6
//     (22, 53), 32 x 32 20.5 (28, 54); head size 128 16, 23 and 44 (40, 49 and 58). Of up to 64 queries kAttentionRows64, whatever
//     the head size: 4096 heads, 50 x 50 34 (kAttentionMapped 54, kAttentionMedium 58); head size 128 71 (77, 184).
//   - else kAttentionMapped, where the operands can be described by tensor maps, sm_90a: 2 x 12 heads,
//     512 x 512 9.4 us, of Short 15; 8 x 12 22 (20); 64 x 12 heads, 197 x 197 39 (46); causal, from four
//     times as much work on, kAttentionMappedCausal: 4 x 16 heads, 4096 x 4096 366 (359); head size
//     128 970 (975). Biases of single scores by a map, kAttentionMappedBias: 8 x 8 heads, 512 x 512 18 us,
//     one by one 38; kAttentionMappedLargeBias, head size 128: 4 x 16 heads, 4096 x 4096 1210 us, with one
//     place for queries and two for biases 1250.
//   - before it, where every multiprocessor has two heads of at most 256 rows and 208 keys, none of them causal:
//     kAttentionMappedHeads, in steps of that many keys: 64 x 12 heads, 197 x 197 34 us.
//   - before kAttentionMapped, of heads of up to 32 elements and a known number of keys up to 128, kAttentionRows64 with code for two
//     steps: 32 x 12 heads, 128 x 128 9.9 us (kAttentionMapped 10.9).
//   - else, they do not fill them twice: kAttentionMedium, or kAttentionRows128, kAttentionRows64 where every score has its
//     own bias: 8 x 12 heads, 512 x 512 28 us; 64 x 12 heads, 197 x 197 59; 32 x 12 heads,
//     50 x 50 6.0 (by 128 rows 9.4). Windows of narrow heads, with a bias: 1024 x 3 heads of 32, 49 x 49, six blocks a
//     multiprocessor, 9.7 on average in Swin, four 10.5.
//   - few queries on many keys: AttentionDecodeTiling, two blocks on each multiprocessor, each with 64 KB of
//     keys and values on their way (attention_decode_choice.h).
//   - 99 KB of shared memory (8.6, 8.9, 12.0): half the keys a step where a step does not fit.
//   - head sizes beyond 128: kAttentionMappedHuge or kAttentionWide. float: kAttentionSimt, 16 rows for
//     short sequences (12 heads of 32, 128 x 128 4.6 us), 64 for long ones (8 x 12 heads, 512 x 512 99).
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
  static constexpr bool kPacksHeads = false;
  static constexpr bool kCopiesFirst = false; // before it multiplies: where reading takes the time
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kMinBlocks = 1;
  static constexpr int sharedBytes(int headSize, int valueSize) {
    return kTiling.sharedBytes(headSize, valueSize);
  }
};

/// Floats that a block leaves of its rows: their sums, and of each the maximum and the total.
constexpr int attentionRecord(int blockQ, int valueSize) { return blockQ * (valueSize + 2); }

/// The same for few queries (attention_decode.cuh): the rows are those of all heads that read the same keys,
/// whose steps are cut into `parts` parts, one a block: 1; 2, 4 or 8, a cluster; 0: any number.
struct AttentionDecodeTiling : AttentionTiling {
  int parts;

  /// Dynamic shared memory: what blocks of a cluster send each other lies behind the rest.
  constexpr int sharedBytes(int headSize, int valueSize) const {
    constexpr int kVector = 8; // elements of 16 bits, at most: a block owns whole vectors
    int received = blockQ * padded(valueSize) + parts * (kVector + blockQ * 2);
    return AttentionTiling::sharedBytes(headSize, valueSize) + (parts > 1 ? received * 4 : 0);
  }

  /// Of the kernel that merges any number of parts: threads of a block, and vectors that they merge.
  static constexpr int kCombineThreads = 128, kCombinedVectors = 32;
};

template <int BlockQ, int BlockKV, int Warps, int Stages, int Parts>
struct AttentionDecodeConfig : AttentionConfig<BlockQ, BlockKV, Warps, Stages> {
  static constexpr bool kPacksHeads = true, kCopiesFirst = true;
  static constexpr int kParts = Parts;
  static constexpr int kCombineThreads = AttentionDecodeTiling::kCombineThreads;
  static constexpr int kCombinedVectors = AttentionDecodeTiling::kCombinedVectors;
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

/// The same for wgmma fed by tensor maps (sm_90a, attention_tma.cuh): `groups` warpgroups compute 64 rows
/// each, and share steps of blockKV keys, a multiple of 16, that one thread asks for. K, V and what depends
/// on keys alone have rings of `stages` steps, Q one of `querySlots` tiles. takesHeads: all keys are one step, and each
/// warpgroup has `querySlots` slots of its own (attention_tma_heads.cuh).
struct AttentionTmaTiling {
  int blockKV;
  int groups;
  int stages, querySlots;
  int biasStages =
      0; ///< of biases of single scores that come by a map; blockKV is a multiple of 64 then
  bool takesHeads = false;

  static constexpr int kGroupRows = 64;
  static constexpr int kBiasPanel = 64;                    ///< columns of a box of biases
  constexpr int consumers() const { return groups * 128; } // threads
  constexpr int threads() const { return consumers() + 128; }
  constexpr int blockQ() const { return groups * kGroupRows; }

  static constexpr int padded(int size) { return AttentionTiling::padded(size); }
  /// Columns of a box: the widest that tile the padded head size.
  static constexpr int panel(int size) {
    return padded(size) % 64 == 0 ? 64 : padded(size) % 32 == 0 ? 32 : 16;
  }

  // Bytes of one slot, of 16-bit elements. Rows of the output leave by their queries' place, in panels of their width.
  constexpr int queryBytes(int headSize, int valueSize) const {
    int width = panel(headSize), ofQueries = padded(headSize) / width,
        ofOutput = (padded(valueSize) + width - 1) / width;
    return kGroupRows * (ofQueries > ofOutput ? ofQueries : ofOutput) * width * 2;
  }
  constexpr int keyBytes(int size) const { return blockKV * padded(size) * 2; }
  static constexpr int aligned(int bytes) { return (bytes + 1023) / 1024 * 1024; }

  constexpr int keysOffset(int headSize, int valueSize) const {
    return aligned(querySlots * groups * queryBytes(headSize, valueSize));
  }
  constexpr int valuesOffset(int headSize, int valueSize) const {
    return aligned(keysOffset(headSize, valueSize) + stages * keyBytes(headSize));
  }
  constexpr int biasOffset(int headSize, int valueSize) const {
    return valuesOffset(headSize, valueSize) + stages * keyBytes(valueSize);
  }
  /// Biases of a warpgroup's rows in one step.
  constexpr int biasTileBytes() const { return kGroupRows * blockKV * 2; }
  constexpr int biasTilesOffset(int headSize, int valueSize) const {
    int end = biasOffset(headSize, valueSize) + stages * blockKV * 4;
    return biasStages == 0 ? end : aligned(end);
  }
  constexpr int barriersOffset(int headSize, int valueSize) const {
    return biasTilesOffset(headSize, valueSize) + biasStages * groups * biasTileBytes();
  }
  constexpr int barriers() const {
    return 6 * stages + 2 * querySlots * (takesHeads ? groups : 1) + 2 * biasStages * groups;
  }
  /// Dynamic shared memory of one block.
  constexpr int sharedBytes(int headSize, int valueSize) const {
    constexpr int kBarrierBytes = 8;
    return barriersOffset(headSize, valueSize) + barriers() * kBarrierBytes;
  }
};

template <int BlockKV, int Groups, int Stages, int QuerySlots, int BiasStages = 0,
          bool TakesHeads = false>
struct AttentionTmaConfig {
  static constexpr AttentionTmaTiling kTiling{BlockKV,    Groups,     Stages,
                                              QuerySlots, BiasStages, TakesHeads};
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kMinBlocks = 1;
  // Of a thread: together just below what a multiprocessor has.
  static constexpr int kProducerRegisters = Groups == 2 ? 56 : 32,
                       kConsumerRegisters = Groups == 2 ? 224 : 160;
  static constexpr int sharedBytes(int headSize, int valueSize) {
    return kTiling.sharedBytes(headSize, valueSize);
  }
};

template <int BlockKV, int Groups, int Stages, int QuerySlots>
using AttentionTmaHeadsConfig = AttentionTmaConfig<BlockKV, Groups, Stages, QuerySlots, 0, true>;

/// Tilings by use; see the top of this file.
inline constexpr AttentionTiling kAttentionFew{16, 64, 1, 1};
inline constexpr AttentionTiling kAttentionShort{16, 128, 4, 2};
inline constexpr AttentionTiling kAttentionShortWide{32, 256, 8, 1};
inline constexpr AttentionTiling kAttentionMedium{32, 128, 4, 2};
inline constexpr AttentionTiling kAttentionRows128{128, 64, 4, 2};
inline constexpr AttentionTiling kAttentionRows64{64, 64, 4, 2};
inline constexpr AttentionTiling kAttentionWide{64, 32, 4, 2};
inline constexpr AttentionTmaTiling kAttentionMapped{128, 2, 3, 2};
inline constexpr AttentionTmaTiling kAttentionMappedCausal{128, 3, 3, 2};
inline constexpr AttentionTmaTiling kAttentionMappedHeads{208, 3, 3, 2, 0, true};
inline constexpr AttentionTmaTiling kAttentionMappedLarge{128, 2, 2, 2};
inline constexpr AttentionTmaTiling kAttentionMappedLargeBiased{64, 2, 2, 2};
inline constexpr AttentionTmaTiling kAttentionMappedHuge{64, 2, 2, 1};
inline constexpr AttentionTmaTiling kAttentionMappedBias{128, 2, 3, 2, 2};
inline constexpr AttentionTmaTiling kAttentionMappedLargeBias{128, 2, 2, 2, 1};
inline constexpr AttentionSimtTiling kAttentionSimt[] = {{16, 64, 2}, {64, 64, 2}};
/// Head sizes beyond 128, or little shared memory; the second where that is 99 KB.
inline constexpr AttentionSimtTiling kAttentionSimtHuge[] = {{16, 32, 2}, {16, 32, 1}};

inline constexpr int kAttentionSteps[] = {128, 64, 96, 112, 144, 176, 208};

/// Keys of a step of kAttentionMapped for so many keys: those that waste least, if they take few steps.
constexpr int attentionStepOf(long long keys) {
  constexpr int kFewKeys = 448, kStepCost = 24; // a step more costs as much as so many keys more
  if (keys > kFewKeys)
    return kAttentionMapped.blockKV;
  long long best = 0;
  int found = 0;
  for (int step : kAttentionSteps) {
    long long count = (keys + step - 1) / step, cost = count * (step + kStepCost);
    if (found == 0 || cost < best)
      best = cost, found = step;
  }
  return found;
}

/// The same in one step; 0: they are too many.
constexpr int oneAttentionStepOf(long long keys) {
  int found = 0;
  for (int step : kAttentionSteps)
    if (step >= keys && (found == 0 || step < found))
      found = step;
  return found;
}

} // namespace smelt
