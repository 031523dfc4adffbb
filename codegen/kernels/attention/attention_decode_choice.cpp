// Chooses how few queries attend to many keys (attention_decode.cuh).
//
// All that counts is that every multiprocessor reads keys and values. Where the heads of keys are fewer,
// their keys are cut into parts. The blocks of a cluster merge theirs without another kernel: no more of them
// than there are multiprocessors, for on one H200 32 heads of 16,384 keys took 66 us in fours, 82 in eights,
// and 128 heads of 1,024 keys 17.4 us whole, 19.0 in twos. More parts than a cluster takes have one behind them, about as long as reading 2,000 keys, so that
// only long parts are worth it. Attention without a cache, whose keys are as many as its queries, is not asked
// for: at the lengths at which it has few queries it has few keys too.
#include "codegen/kernels/attention/attention_decode_choice.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

// Rows are the queries of all heads of a group; more of huge heads spill.
constexpr int64_t kMostQueries = 16, kMostGroupRows = 64, kMostHugeRows = 16;
constexpr int kHuge = 128;             // elements of a head, at most, of those that are not
constexpr int64_t kShortKeys = 128;    // one head's own code for a step of so many is no slower
constexpr int64_t kBlocksTogether = 2; // on a multiprocessor, of parts of any number
constexpr int64_t kKeysOfPart = 512, kKeysOfClusterPart = 128; // that are worth a block
constexpr int64_t kLargestCluster = 8;
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
constexpr int64_t kMany = 1 << 20; // heads of keys: no memory holds more with their cache

class DecodeChoices {
public:
  DecodeChoices(const AttentionShape &shape, const Target &target)
      : shape(shape), target(target), queries(shape.queries.asConstant()),
        keys(shape.keys.asConstant()) {
    blockQ = 16;
    while (queries && blockQ < kMostGroupRows && blockQ < *queries * shape.headsOfKeys)
      blockQ *= 2;
    rows = shape.queries * shape.headsOfKeys;
    blocks = shape.heads.floorDiv(size(shape.headsOfKeys)) * rows.ceilDiv(size(blockQ));
    allBlocks = shape.batches * blocks;
  }

  std::vector<AttentionChoice> run() {
    if (!suits())
      return {};
    int64_t slots = kBlocksTogether * target.part.multiprocessors;
    bool hasClusters = target.instructions.clusters;
    Dim parts =
        size(slots).floorDiv(allBlocks.max(size(1))).min(shape.keys.floorDiv(size(kKeysOfPart)));
    add(0, parts,
        {parts, hasClusters ? kLargestCluster * 3 / 2 : 2, kUnlimited, "parts of 512 keys"});
    int64_t first = 0;
    for (int64_t cluster : clusters(hasClusters)) {
      int64_t last = cluster > 1 ? target.part.multiprocessors / cluster
                     : queries   ? kUnlimited
                                 : kMany;
      add(static_cast<int>(cluster), size(cluster), {allBlocks, first, last, "heads of keys"});
      if (cluster > 1) // one alone comes last
        first = last + 1;
    }
    return fitsAll ? std::move(all) : std::vector<AttentionChoice>();
  }

private:
  Dim size(int64_t number) const { return Dim::constant(shape.queries.getContext(), number); }

  bool suits() const {
    bool areShort = shape.headsOfKeys == 1 && keys && *keys <= kShortKeys;
    bool isHuge = shape.headSize > kHuge || shape.valueSize > kHuge;
    int64_t mostRows = isHuge ? kMostHugeRows : kMostGroupRows;
    bool areFew = queries ? *queries <= kMostQueries && *queries * shape.headsOfKeys <= mostRows
                          : shape.headsOfKeys <= blockQ && shape.queries != shape.keys;
    return !shape.isFloat && !areShort && areFew;
  }

  /// Parts that blocks of a cluster share, most first; of open batches fewer kernels do.
  SmallVector<int64_t> clusters(bool hasClusters) const {
    SmallVector<int64_t> result;
    bool isKnown = allBlocks.asConstant().has_value();
    for (int64_t cluster = hasClusters ? kLargestCluster : 1; cluster >= 1; cluster /= 2) {
      bool isEnough = keys && *keys <= cluster / 2 * kKeysOfClusterPart; // half of them
      if (cluster == 1 || (!isEnough && (isKnown || cluster != kLargestCluster / 2)))
        result.push_back(cluster);
    }
    return result;
  }

  /// The first tiling that fits.
  std::optional<AttentionDecodeTiling> tilingOf(int cluster) const {
    int step = AttentionTiling::padded(shape.headSize) + AttentionTiling::padded(shape.valueSize);
    int keysOfStep = step <= 128 ? 128 : 64; // steps of 32 KB
    int narrowWarps = blockQ == 16 ? 2 : 4;
    for (AttentionTiling tiling :
         {AttentionTiling{blockQ, keysOfStep, 4, 3}, AttentionTiling{blockQ, keysOfStep, 4, 2},
          AttentionTiling{blockQ, 64, 4, 2}, AttentionTiling{blockQ, 32, narrowWarps, 2}}) {
      AttentionDecodeTiling decode{tiling, cluster};
      if (decode.sharedBytes(shape.headSize, shape.valueSize) <= target.limits.sharedBytesPerBlock)
        return decode;
    }
    return std::nullopt;
  }

  /// As far as the sizes are known, and no more queries than a block takes; none: never.
  std::optional<SizeRule> resolved(SizeRule rule) const {
    if (!queries) { // beyond both limits
      Dim tooMany = (rows.ceilDiv(size(blockQ)) - 1).min(size(1)).max(size(0));
      rule.value = rule.last == kUnlimited ? rule.value - tooMany * kMany
                                           : rule.value.max(tooMany * (2 * kMany));
      rule.unit += ", at most " + std::to_string(blockQ / shape.headsOfKeys) + " queries";
      return rule;
    }
    std::optional<int64_t> known = rule.value.asConstant();
    if (known && (*known < rule.first || *known > rule.last))
      return std::nullopt;
    bool isAlways = known || (rule.first == 0 && rule.last == kUnlimited);
    return isAlways ? SizeRule{} : rule;
  }

  void add(int cluster, Dim parts, SizeRule sizes) {
    std::optional<SizeRule> rule = resolved(std::move(sizes));
    if (!rule || (!all.empty() && !all.back().decode->rule.value))
      return;
    std::optional<AttentionDecodeTiling> t = tilingOf(cluster);
    fitsAll &= t.has_value();
    if (!t)
      return;
    AttentionChoice choice{"attention_decode", "attentionDecode",
                           configOf(*t),       t->blockQ,
                           t->threads(),       t->sharedBytes(shape.headSize, shape.valueSize)};
    choice.blockKV = t->blockKV;
    choice.decode = {blocks, parts, cluster, std::move(*rule)};
    all.push_back(std::move(choice));
  }

  static std::string configOf(const AttentionDecodeTiling &t) {
    std::string text = "AttentionDecodeConfig<";
    for (int number : {t.blockQ, t.blockKV, t.warps, t.stages})
      text += std::to_string(number) + ", ";
    return text + std::to_string(t.parts) + ">";
  }

  const AttentionShape &shape;
  const Target &target;
  std::optional<int64_t> queries, keys; // where they are known
  int blockQ;
  Dim rows, blocks, allBlocks; // blocks: of a batch
  std::vector<AttentionChoice> all;
  bool fitsAll = true;
};

} // namespace

std::vector<AttentionChoice> attentionDecodeChoices(const AttentionShape &shape,
                                                    const Target &target) {
  return DecodeChoices(shape, target).run();
}

} // namespace smelt::codegen
