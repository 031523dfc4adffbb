// Chooses tilings of the attention templates.
//
// Tilings exclude each other by how often the work fills the multiprocessors: short sequences are cut
// into blocks of few rows, so that every multiprocessor has some (attention_config.cuh has the
// measurements). Code for one or two steps of keys goes before that for any number, and where these are
// known, for narrow heads before maps: a tile of theirs is over before the next one's operands are there.
// Few queries on many keys have tilings of their own, which go before all (attention_decode_choice.h); many heads of few queries, or of
// few keys, go before the rest (choicesOfManyHeads).
#include "codegen/kernels/attention/attention_choice.h"

#include "codegen/kernels/attention/attention_decode_choice.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr int kBlocksOfWindows = 6; // on a multiprocessor
constexpr char kBlocksUnit[] = "blocks of 64 queries";
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

std::string withNumbers(StringRef config, ArrayRef<int> numbers) {
  std::string text;
  for (int number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return config.str() + "<" + text + ">";
}

AttentionChoice choiceOf(AttentionTiling t, const AttentionShape &shape, int maxSteps) {
  SmallVector<int> numbers = {t.blockQ, t.blockKV, t.warps, t.stages};
  if (maxSteps > 0)
    numbers.push_back(maxSteps);
  AttentionChoice choice{"attention", "attention", withNumbers("AttentionConfig", numbers),
                         t.blockQ,    t.threads(), t.sharedBytes(shape.headSize, shape.valueSize)};
  choice.blockKV = t.blockKV, choice.maxSteps = maxSteps;
  return choice;
}

AttentionChoice choiceOf(AttentionSimtTiling t, const AttentionShape &shape) {
  return {"attention_simt",
          "attentionSimt",
          withNumbers("AttentionSimtConfig", {t.blockQ, t.blockKV, t.stages}),
          t.blockQ,
          t.threads(),
          t.sharedBytes(shape.headSize, shape.valueSize)};
}

AttentionChoice choiceOf(AttentionTmaTiling t, const AttentionShape &shape) {
  SmallVector<int> numbers = {t.blockKV, t.groups, t.stages, t.querySlots};
  if (!t.takesHeads)
    numbers.push_back(t.biasStages);
  AttentionChoice choice{
      t.takesHeads ? "attention_tma_heads" : "attention_tma",
      t.takesHeads ? "attentionTmaHeads" : "attentionTma",
      withNumbers(t.takesHeads ? "AttentionTmaHeadsConfig" : "AttentionTmaConfig", numbers),
      t.blockQ(),
      t.threads(),
      t.sharedBytes(shape.headSize, shape.valueSize)};
  choice.blockKV = t.blockKV;
  choice.mapped = t;
  return choice;
}

/// The choices of one shape, as they are found.
class Choices {
public:
  Choices(const AttentionShape &shape, const Target &target) : shape(shape), target(target) {}

  std::vector<AttentionChoice> run() {
    if (shape.isFloat)
      addSimt();
    else if (isHuge())
      addHuge();
    else
      addTensorCores();
    return std::move(all);
  }

private:
  bool isLarge() const { return shape.headSize > 64 || shape.valueSize > 64; }
  bool isHuge() const { return shape.headSize > 128 || shape.valueSize > 128; }
  bool isNarrow() const { return shape.headSize <= 32 && shape.valueSize <= 32; }
  /// One tile of narrow heads, of known size, with a bias of every score: it waits for its operands more than it computes, and
  /// needs few registers. (Biases by key spill 8 bytes so.)
  bool isWindow() const {
    return isNarrow() && !shape.isCausal && shape.isBiasedByQuery &&
           hasFewQueries(kAttentionRows64.blockQ) && hasFewKeys(kAttentionRows64.blockKV);
  }
  static bool isAtMost(Dim size, int64_t most) {
    std::optional<int64_t> known = size.asConstant();
    return known && *known <= most;
  }
  bool hasFewQueries(int64_t most) const { return isAtMost(shape.queries, most); }
  bool hasFewKeys(int64_t most) const { return isAtMost(shape.keys, most); }
  bool fits(const AttentionChoice &choice) const {
    return choice.sharedBytes <= target.limits.sharedBytesPerBlock;
  }

  /// The first of `choices`, best first, that fits; none fits: the use falls to the one before.
  void add(int64_t minWaves, ArrayRef<AttentionChoice> choices) {
    const AttentionChoice *choice =
        llvm::find_if(choices, [this](const AttentionChoice &c) { return fits(c); });
    if (choice == choices.end() || (!all.empty() && all.back().config == choice->config))
      return;
    all.push_back(*choice);
    all.back().minWaves = minWaves;
  }
  void add(int64_t minWaves, int maxSteps, ArrayRef<AttentionTiling> tilings) {
    add(minWaves, llvm::map_to_vector(tilings, [&](const AttentionTiling &t) {
          AttentionChoice choice = choiceOf(t, shape, maxSteps);
          if (t.blockQ == kAttentionRows64.blockQ && maxSteps == 0 && isWindow())
            choice.minBlocks = kBlocksOfWindows;
          return choice;
        }));
  }
  void add(int64_t minWaves, ArrayRef<AttentionSimtTiling> tilings) {
    add(minWaves, llvm::map_to_vector(
                      tilings, [&](const AttentionSimtTiling &t) { return choiceOf(t, shape); }));
  }

  void addSimt() {
    if (isHuge())
      return add(0, {kAttentionSimtHuge[0], kAttentionSimtHuge[1]});
    add(0, {kAttentionSimt[0], kAttentionSimtHuge[0]});
    add(1, {kAttentionSimt[1], AttentionSimtTiling{64, 32, 2}, AttentionSimtTiling{32, 32, 2}});
  }

  void addHuge() {
    add(0, 0, {AttentionTiling{16, 64, 4, 2}, AttentionTiling{16, 32, 2, 2}});
    if (!addMapped(1))
      add(1, 0, {kAttentionWide});
  }

  /// Half as many blocks bring all keys at once, where these are few and there are more blocks of 16 rows than multiprocessors.
  bool isShortWide() const {
    Dim rows = Dim::constant(shape.queries.getContext(), kAttentionShort.blockQ);
    std::optional<int64_t> blocks = (shape.queries.ceilDiv(rows) * shape.heads).asConstant();
    return !isLarge() && !shape.isBiasedByQuery && hasFewKeys(kAttentionShortWide.blockKV) &&
           !hasFewKeys(kAttentionShort.blockKV) && blocks && *blocks > target.part.multiprocessors;
  }

  void addTensorCores() {
    if (isShortWide())
      add(0, 1, {kAttentionShortWide});
    for (int most : {1, 2, 0})
      if (most != 2 || !shape.isCausal)
        add(0, most, {kAttentionShort, AttentionTiling{16, 64, 4, 2}});
    if (addMapped(1))
      return;
    for (int most : {1, 0})
      add(1, most, {kAttentionMedium, AttentionTiling{32, 64, 4, 2}});
    add(2, 0,
        {isLarge()               ? AttentionTiling{128, 64, 8, 2}
         : shape.isBiasedByQuery ? kAttentionRows64
                                 : kAttentionRows128});
  }

  /// False where tensor maps are not for this shape.
  bool addMapped(int64_t minWaves) {
    // Of huge heads 256 elements alone were run; biases of single scores and their sums do not fit in the
    // registers together. One warpgroup alone waits for itself.
    bool isOtherHuge = isHuge() && (shape.headSize != 256 || shape.valueSize != 256);
    if (!shape.allowsTensorMaps || isOtherHuge || (isHuge() && shape.isBiasedByQuery) ||
        hasFewQueries(AttentionTmaTiling::kGroupRows))
      return false;
    AttentionChoice choice = choiceOf(mappedTiling(), shape);
    if (!fits(choice))
      return false;
    // Of an unknown number of keys it holds 194 registers a thread, of a known one 155: MiniLM's plan for any shape took 2 %
    // longer by it at 32x128, that for the shape 1 to 2 % less.
    if (isNarrow() && !shape.isCausal && !shape.isBiasedByQuery &&
        hasFewKeys(int64_t{2} * kAttentionRows64.blockKV))
      add(minWaves, hasFewKeys(kAttentionRows64.blockKV) ? 1 : 2, {kAttentionRows64});
    if (std::optional<AttentionTmaTiling> biased = tilingOfBiasMap())
      all.push_back(choiceOf(*biased, shape)), all.back().minWaves = minWaves;
    if (all.empty() || !all.back().takesBiasMap() || !shape.biasMisfit->isConstant(0))
      add(minWaves, {choice});
    constexpr int kManyWaves = 4; // larger tiles, where not filling the last ones matters little
    if (shape.isCausal && !shape.isBiased && !shape.isCapped && !isLarge()) // capped, it spills
      add(kManyWaves, {choiceOf(kAttentionMappedCausal, shape)});
    return true;
  }

  /// Goes before the one that reads biases one by one.
  std::optional<AttentionTmaTiling> tilingOfBiasMap() const {
    if (!shape.isBiasedByQuery || !shape.biasMisfit)
      return std::nullopt;
    if (isLarge() &&
        shape.isCapped) // values of the softcap and 128 scores beside as many sums spill
      return std::nullopt;
    AttentionTmaTiling tiling = isLarge() ? kAttentionMappedLargeBias : kAttentionMappedBias;
    return fits(choiceOf(tiling, shape)) ? std::optional(tiling) : std::nullopt;
  }

  AttentionTmaTiling mappedTiling() const {
    if (isHuge())
      return kAttentionMappedHuge;
    if (isLarge())
      return shape.isBiasedByQuery ? kAttentionMappedLargeBiased : kAttentionMappedLarge;
    AttentionTmaTiling tiling = kAttentionMapped;
    if (std::optional<int64_t> keys = shape.keys.asConstant(); keys && !shape.isBiasedByQuery)
      tiling.blockKV = attentionStepOf(*keys);
    return tiling;
  }

  const AttentionShape &shape;
  const Target &target;
  std::vector<AttentionChoice> all;
};

/// Blocks of rows of a head of attention_tma_heads, at most; heads of a multiprocessor and blocks of rows, at least. Of ViT-B's of 16
/// images a multiprocessor has one head or two, which take 15.7 us, by attention_tma 14.4; of 32 22.1 and 25.4. Of one block of rows
/// 384 heads of 50 take as long as by kAttentionRows64, 4.2 us, and 768 of 64 6.9 for 9.7 (H200).
constexpr int64_t kMostBlocksOfHead = 4, kHeadsAtOnce = 2, kBlocksAtOnce = 4;

/// Of few blocks of rows whose keys are one step: those that are known, or as many as short sequences have.
std::optional<AttentionChoice> choiceOfHeads(const AttentionShape &shape, const Target &target) {
  if (shape.isFloat || !shape.allowsTensorMaps || shape.isCausal || shape.isBiasedByQuery ||
      shape.headSize > 64 || shape.valueSize > 64)
    return std::nullopt;
  constexpr int kShortKeys = 128;
  AttentionTmaTiling tiling = kAttentionMappedHeads;
  tiling.blockKV = oneAttentionStepOf(shape.keys.asConstant().value_or(kShortKeys));
  AttentionChoice choice = choiceOf(tiling, shape);
  if (tiling.blockKV == 0 || choice.sharedBytes > target.limits.sharedBytesPerBlock)
    return std::nullopt;
  choice.maxSteps = 1;
  return choice;
}

constexpr int64_t kFar = std::numeric_limits<int32_t>::max();

/// That count for fewer blocks than any: those of `size` beyond `most`.
Dim excess(Dim size, int64_t most) {
  auto constant = [&](int64_t number) { return Dim::constant(size.getContext(), number); };
  return (size.ceilDiv(constant(most)).max(constant(1)) - 1) * kFar;
}

/// Whose tiles of more queries would be mostly empty: of queries and keys that one warp holds.
std::optional<AttentionChoice> choiceOfFewQueries(const AttentionShape &shape) {
  constexpr int kMostBlocks = 2; // of a head
  bool isLarge = shape.headSize > 64 || shape.valueSize > 64;
  if (shape.isBiasedByQuery && (shape.isCapped || isLarge)) // which spill
    return std::nullopt;
  AttentionChoice few = choiceOf(kAttentionFew, shape, 1);
  few.mostQueries = int64_t{kMostBlocks} * kAttentionFew.blockQ;
  return few;
}

/// The same of queries that one block holds. Windows of narrow heads have more of these on a multiprocessor.
std::optional<AttentionChoice> choiceOfOneBlock(const AttentionShape &shape) {
  if (shape.headSize <= 32 && shape.valueSize <= 32 && shape.isBiasedByQuery)
    return std::nullopt;
  AttentionChoice block = choiceOf(kAttentionRows64, shape, 0);
  block.mostQueries = kAttentionRows64.blockQ;
  return block;
}

/// Whether that takes as many heads as there are multiprocessors at all numbers of queries and keys.
bool takesManyHeads(const AttentionChoice &choice, const AttentionShape &shape) {
  std::optional<int64_t> queries = shape.queries.asConstant(), keys = shape.keys.asConstant();
  return choice.mostQueries > 0 && queries && *queries <= choice.mostQueries &&
         (choice.maxSteps == 0 || (keys && *keys <= choice.maxSteps * choice.blockKV));
}

/// None where there are never so many heads, or always more queries or keys.
std::optional<SizeRule> ruleOfFewQueries(const AttentionChoice &choice, const AttentionShape &shape,
                                         const Target &target) {
  Dim heads = shape.heads * shape.batches;
  std::optional<int64_t> known = heads.asConstant(), queries = shape.queries.asConstant(),
                         keys = shape.keys.asConstant();
  int64_t multiprocessors = target.part.multiprocessors,
          mostKeys = choice.maxSteps * choice.blockKV;
  if ((known && *known < multiprocessors) || (queries && *queries > choice.mostQueries) ||
      (keys && mostKeys > 0 && *keys > mostKeys))
    return std::nullopt;
  std::string unit = "heads of at most " + std::to_string(choice.mostQueries) + " queries";
  heads = heads - excess(shape.queries, choice.mostQueries);
  if (mostKeys > 0) {
    heads = heads - excess(shape.keys, mostKeys);
    unit += " and " + std::to_string(mostKeys) + " keys";
  }
  return heads.asConstant() ? SizeRule{} : SizeRule{heads, multiprocessors, kNoLimit, unit};
}

/// None where there are never so many heads, or always more rows.
std::optional<SizeRule> ruleOfHeads(const AttentionChoice &choice, const AttentionShape &shape,
                                    const Target &target) {
  constexpr int64_t kRows = AttentionTmaTiling::kGroupRows;
  MLIRContext *context = shape.queries.getContext();
  auto constant = [&](int64_t number) { return Dim::constant(context, number); };
  std::optional<int64_t> queries = shape.queries.asConstant();
  int64_t multiprocessors = target.part.multiprocessors;
  Dim all = shape.heads * shape.batches, blocks = all * shape.queries.ceilDiv(constant(kRows)),
      heads = all.min(blocks.floorDiv(constant(kBlocksAtOnce / kHeadsAtOnce)));
  std::optional<int64_t> known = heads.asConstant();
  auto areTooFew = [&](std::optional<int64_t> count) {
    return count && *count < kHeadsAtOnce * multiprocessors;
  };
  if (areTooFew(known) || areTooFew(all.asConstant()) ||
      (queries && *queries > kMostBlocksOfHead * kRows))
    return std::nullopt;
  if (known && shape.keys.asConstant())
    return SizeRule{};
  if (!shape.keys.asConstant()) // a map describes no tensor without elements
    heads = heads.min(shape.keys * kFar);
  heads =
      heads - excess(shape.queries, kMostBlocksOfHead * kRows) - excess(shape.keys, choice.blockKV);
  return SizeRule{heads, kHeadsAtOnce * multiprocessors, kNoLimit,
                  "heads of at most " + std::to_string(choice.blockKV) + " keys"};
}

/// Of many heads, best first.
std::vector<AttentionChoice> choicesOfManyHeads(const AttentionShape &shape, const Target &target) {
  if (shape.isFloat || shape.headSize > 128 || shape.valueSize > 128)
    return {};
  std::vector<AttentionChoice> found;
  if (std::optional<AttentionChoice> few = choiceOfFewQueries(shape))
    found.push_back(*few);
  if (!found.empty() && takesManyHeads(found.back(), shape))
    return found;
  std::optional<AttentionChoice> heads = choiceOfHeads(shape, target);
  bool takeHeads = heads && ruleOfHeads(*heads, shape, target);
  if (takeHeads)
    found.push_back(*heads);
  // Of any number of queries, of which most heads are taken whole, one more kernel is not worth its time to compile.
  std::optional<AttentionChoice> block = choiceOfOneBlock(shape);
  if (block && (!takeHeads || shape.queries.asConstant()))
    found.push_back(*block);
  return found;
}

} // namespace

std::vector<AttentionChoice> attentionChoices(const AttentionShape &shape, const Target &target) {
  std::vector<AttentionChoice> decode = attentionDecodeChoices(shape, target);
  if (!decode.empty() && shape.queries.asConstant())
    return decode;
  std::vector<AttentionChoice> all = Choices(shape, target).run();
  if (all.empty())
    return all;
  int64_t least = all.front().minWaves; // of those that fit: they take fewer blocks too
  for (AttentionChoice &choice : all)
    if (choice.minWaves == least)
      choice.minWaves = 0;
  std::vector<AttentionChoice> many = choicesOfManyHeads(shape, target);
  if (llvm::any_of(many, [&](const AttentionChoice &c) { return takesManyHeads(c, shape); }))
    llvm::erase_if(all, [](const AttentionChoice &c) { return c.minWaves > 0; }); // never run
  all.insert(all.begin(), many.begin(), many.end());
  all.insert(all.begin(), decode.begin(), decode.end());
  return all;
}

std::optional<SizeRule> ruleOf(const AttentionChoice &choice, ArrayRef<AttentionChoice> all,
                               const AttentionShape &shape, const Target &target) {
  if (choice.decode)
    return choice.decode->rule;
  if (choice.takesHeads())
    return ruleOfHeads(choice, shape, target);
  if (choice.mostQueries > 0)
    return ruleOfFewQueries(choice, shape, target);
  MLIRContext *context = shape.queries.getContext();
  auto constant = [&](int64_t number) { return Dim::constant(context, number); };
  Dim blocks = shape.queries.ceilDiv(constant(64)) * shape.heads * shape.batches;
  // A map describes no tensor without elements: without keys there is little work.
  bool isMapped = llvm::any_of(
      all, [](const AttentionChoice &c) { return c.mapped.has_value() && !c.takesHeads(); });
  if (isMapped && !shape.keys.asConstant())
    blocks = blocks.min(shape.keys * std::numeric_limits<int32_t>::max());
  int64_t first = choice.minWaves * target.part.multiprocessors, last = kNoLimit;
  std::string unit = kBlocksUnit;
  if (choice.takesBiasMap() && !shape.biasMisfit->isConstant(0)) {
    Dim fits = constant(1) - shape.biasMisfit->min(constant(1));
    blocks = blocks.min(fits * std::numeric_limits<int32_t>::max());
    first = std::max<int64_t>(first, 1);
    unit += ", rows of biases at multiples of 16 bytes";
  }
  for (const AttentionChoice &other : all)
    if (other.minWaves > choice.minWaves)
      last = std::min(last, other.minWaves * target.part.multiprocessors - 1);
  int64_t mostKeys = choice.maxSteps ? int64_t{choice.blockKV} * choice.maxSteps : kNoLimit;
  std::optional<int64_t> knownBlocks = blocks.asConstant(), knownKeys = shape.keys.asConstant();
  if ((knownBlocks && (*knownBlocks < first || *knownBlocks > last)) ||
      (knownKeys && *knownKeys > mostKeys))
    return std::nullopt;
  bool fitsBlocks = knownBlocks || (first == 0 && last == kNoLimit);
  if (knownKeys || mostKeys == kNoLimit)
    return fitsBlocks ? SizeRule{} : SizeRule{blocks, first, last, unit};
  if (fitsBlocks)
    return SizeRule{shape.keys, 0, mostKeys, "keys"};
  if (last == kNoLimit)
    return std::nullopt; // the same without a limit of steps takes it
  // Every step too many counts for more blocks than the rule takes.
  Dim tooMany = shape.keys.ceilDiv(constant(choice.blockKV)) - constant(choice.maxSteps);
  return SizeRule{blocks.max(tooMany * constant(last + 1)), first, last,
                  kBlocksUnit + (", at most " + std::to_string(mostKeys) + " keys")};
}

std::string attentionReasons(ArrayRef<AttentionChoice> all, const AttentionShape &shape,
                             const Target &target, ArrayRef<std::string> emitted) {
  std::string text = "by how far the work fills the " +
                     std::to_string(target.part.multiprocessors) + " multiprocessors of " +
                     target.part.name + ", and by the keys; best first:\n";
  for (const AttentionChoice &choice : all) {
    std::optional<SizeRule> rule = ruleOf(choice, all, shape, target);
    bool runs = rule && llvm::is_contained(emitted, choice.config);
    text += "  " + choice.config + ", " + std::to_string(choice.sharedBytes) +
            " bytes of shared memory: " +
            (runs ? rule->describe() : "never, one before it takes its sizes") + "\n";
  }
  return text;
}

} // namespace smelt::codegen
