// The attention variants and shapes of the kernel tests.
#include "tests/kernels/variants.h"

namespace smelt::kernel_tests {

namespace {

// Block of queries, of keys, warps, stages.
constexpr AttentionTiling kPair{32, 128, 8, 2}; // two 16-row pieces, four warps on each
constexpr AttentionTiling kManyWarps{128, 64, 8, 2};

// batches, queries, keys, causal offset
const std::vector<AttentionShape> kPlainShapes = {
    {1, 128, 128, 0}, {3, 77, 77, 0}, {2, 197, 197, 0}, {1, 1, 513, 0}, {2, 33, 0, 0}};
const std::vector<AttentionShape> kCausalShapes = {
    {1, 128, 128, 0}, {2, 77, 77, 0}, {1, 33, 150, 117}, {1, 40, 24, -8}};
const std::vector<AttentionShape> kMaskedShapes = {{3, 77, 77, 0, 20, false, false},
                                                   {3, 77, 77, 0, 20, false, true},
                                                   {2, 130, 257, 0, 200, false, false}};
// For code of one step of 128 keys, and of two.
const std::vector<AttentionShape> kOneStepShapes = {
    {1, 128, 128, 0}, {3, 77, 77, 0}, {2, 197, 65, 0}, {1, 1, 1, 0}, {2, 33, 0, 0}};
const std::vector<AttentionShape> kTwoStepShapes = {
    {1, 128, 129, 0}, {2, 197, 197, 0}, {1, 1, 255, 0}, {1, 300, 256, 0}};
const std::vector<AttentionShape> kFullyMaskedShapes = {{3, 77, 77, 0, 20, true, false},
                                                        {3, 77, 77, 0, 20, true, true}};

// For attention_tma: keys() > 0; tiles whose second or third warpgroup has no rows, more tiles than
// multiprocessors, one step and many.
const std::vector<AttentionShape> kMappedShapes = {
    {1, 128, 128, 0}, {3, 77, 77, 0},   {2, 197, 197, 0}, {1, 1, 513, 0},
    {1, 1, 1, 0},     {50, 130, 40, 0}, {2, 513, 77, 0},  {9, 1000, 300, 0}};
const std::vector<AttentionShape> kMappedCausalShapes = {
    {1, 128, 128, 0}, {2, 77, 77, 0}, {1, 33, 150, 117}, {1, 40, 24, -8}, {30, 520, 520, 0}};

template <class Tiling> AttentionVariant variant(Tiling tiling, int head, Element element) {
  AttentionVariant v;
  v.tiling = tiling;
  v.headSize = v.valueSize = head;
  v.element = element;
  v.heads = 4;
  v.kvHeads = 2;
  v.vector = 16 / elementBytes(element);
  return v;
}

/// Plain, causal, and masked by biases of both kinds, with and without all keys masked.
void addKinds(std::vector<AttentionCase> &cases, AttentionVariant v) {
  cases.push_back({v, kPlainShapes});
  v.causal = v.zeroMaskedRows = true;
  cases.push_back({v, kCausalShapes});
  v.causal = v.zeroMaskedRows = false;
  v.bias = Bias::kPerKey;
  cases.push_back({v, kMaskedShapes});
  v.zeroMaskedRows = true;
  v.bias = Bias::kFull; // a bias for every element needs the registers of 32-row warps
  if (const auto *tiling = std::get_if<AttentionTiling>(&v.tiling);
      tiling && tiling->rowTiles() > 1)
    v.tiling = kAttentionRows64;
  cases.push_back({v, kFullyMaskedShapes});
}

/// One step of keys, plain, with a bias for every key, and causal; two steps, plain and with a bias.
void addFewSteps(std::vector<AttentionCase> &cases, AttentionVariant v) {
  for (int steps : {1, 2}) {
    v.steps = steps;
    for (Bias bias : {Bias::kNone, Bias::kPerKey}) {
      v.bias = bias;
      cases.push_back({v, steps == 1 ? kOneStepShapes : kTwoStepShapes});
    }
  }
  v.steps = 1, v.bias = Bias::kNone;
  v.causal = v.zeroMaskedRows = true;
  cases.push_back({v, {{1, 128, 128, 0}, {2, 77, 77, 0}, {1, 33, 100, 67}, {1, 40, 24, -8}}});
}

/// All keys at once, plain, with a bias for every key, and causal.
void addShortWide(std::vector<AttentionCase> &cases) {
  for (int head : {64, 40})
    for (Bias bias : {Bias::kNone, Bias::kPerKey}) {
      AttentionVariant v = variant(kAttentionShortWide, head, Element::kHalf);
      v.steps = 1, v.bias = bias;
      cases.push_back({v, {{2, 197, 197, 0}, {1, 256, 256, 0}, {3, 33, 129, 0}, {1, 1, 200, 0}}});
      v.causal = v.zeroMaskedRows = true;
      cases.push_back({v, {{2, 197, 197, 0}, {1, 33, 100, 67}, {1, 40, 24, -8}}});
    }
}

/// A warp for 16 queries, and as many keys as it holds: plain, causal, capped, with biases of both kinds, of padded heads and rows.
void addFewQueries(std::vector<AttentionCase> &cases) {
  const std::vector<AttentionShape> shapes = {
      {50, 1, 1, 0}, {40, 17, 64, 0}, {3, 32, 33, 0}, {2, 16, 5, 0}, {2, 9, 0, 0}};
  for (auto [head, element] : {std::pair(64, Element::kHalf),
                               {128, Element::kBfloat16},
                               {40, Element::kHalf},
                               {80, Element::kBfloat16}})
    for (Bias bias : {Bias::kNone, Bias::kPerKey, Bias::kFull}) {
      if (bias == Bias::kFull && head > 64)
        continue; // spills
      AttentionVariant v = variant(kAttentionFew, head, element);
      v.steps = 1, v.bias = bias;
      cases.push_back({v, shapes});
      v.softcap = bias == Bias::kNone ? 5 : 0;
      v.causal = v.zeroMaskedRows = true;
      cases.push_back({v, {{50, 1, 1, 0}, {40, 32, 32, 0}, {3, 5, 64, 59}, {2, 24, 16, -8}}});
    }
}

/// Heads of up to 32 elements: one and two steps of 64 keys, and any number.
void addNarrowSteps(std::vector<AttentionCase> &cases) {
  for (int head : {32, 24})
    for (Bias bias : {Bias::kNone, Bias::kPerKey}) {
      AttentionVariant v = variant(kAttentionRows64, head, Element::kHalf);
      v.bias = bias;
      cases.push_back({v, {{2, 49, 49, 0}, {3, 197, 513, 0}, {1, 33, 0, 0}}});
      v.steps = 1;
      cases.push_back({v, {{2, 64, 64, 0}, {3, 77, 49, 0}, {1, 1, 1, 0}}});
      v.steps = 2;
      cases.push_back({v, {{2, 128, 128, 0}, {3, 77, 77, 0}, {1, 65, 65, 0}, {2, 197, 3, 0}}});
    }
}

/// attention_tma: every tiling of head size 64 that is chosen from, plain, causal and masked.
void addMapped(std::vector<AttentionCase> &cases) {
  for (int step : kAttentionSteps) {
    AttentionVariant v = variant(kAttentionMapped, 64, Element::kHalf);
    std::get<AttentionTmaTiling>(v.tiling).blockKV = step;
    cases.push_back({v, kMappedShapes});
    v.element = Element::kBfloat16;
    v.bias = Bias::kPerKey;
    cases.push_back({v, kMaskedShapes});
    cases.push_back({v, kFullyMaskedShapes});
    v.zeroMaskedRows = v.causal = true;
    cases.push_back({v, {{3, 200, 200, 0, 20, true, false}}});
  }
  for (const AttentionTmaTiling &tiling : {kAttentionMapped, kAttentionMappedCausal}) {
    AttentionVariant v = variant(tiling, 64, Element::kHalf);
    v.causal = v.zeroMaskedRows = true;
    cases.push_back({v, kMappedCausalShapes});
    v.causal = false;
    v.bias = Bias::kPerKey;
    cases.push_back({v, kFullyMaskedShapes});
  }
}

AttentionTmaTiling heads(int blockKV) {
  AttentionTmaTiling tiling = kAttentionMappedHeads;
  tiling.blockKV = blockKV;
  return tiling;
}

/// attention_tma_heads: every step, with as many keys, fewer and one; heads of one block of rows, of two and of many, more of them
/// than multiprocessors; heads narrower than boxes; keys that heads share; a softcap.
void addMappedHeads(std::vector<AttentionCase> &cases) {
  for (int step : kAttentionSteps) {
    AttentionVariant v = variant(heads(step), 64, Element::kHalf);
    cases.push_back({v,
                     {{1, 128, step, 0},
                      {2, 197, step - 11, 0},
                      {1, 1, 1, 0},
                      {3, 577, step - 1, 0},
                      {50, 70, 40, 0}}});
    v.element = Element::kBfloat16;
    v.kvHeads = v.heads;
    cases.push_back({v, {{2, 77, step - 3, 0}, {40, 200, step, 0}}});
    v.bias = Bias::kPerKey;
    cases.push_back({v, {{3, 77, step - 3, 0, 20}, {40, 200, step, 0, 7, false, true}}});
    v.zeroMaskedRows = true, v.element = Element::kHalf;
    cases.push_back(
        {v, {{3, 200, step, 0, 20, true, false}, {3, 77, step - 1, 0, 20, true, true}}});
  }
  for (int size : {8, 24, 32, 56}) {
    AttentionVariant v = variant(kAttentionMappedHeads, size, Element::kHalf);
    v.valueSize = 64 - size;
    v.softcap = size == 24 ? 5 : 0;
    cases.push_back({v, {{2, 197, 197, 0}, {1, 65, 180, 0}}});
  }
  for (Element output : {Element::kFloat, Element::kBfloat16}) {
    AttentionVariant v = variant(kAttentionMappedHeads, 64, Element::kHalf);
    v.output = output;
    cases.push_back({v, {{2, 197, 197, 0}, {3, 130, 77, 0}}});
  }
}

/// The same with head sizes of every width of boxes, and biases of single scores.
void addMappedSizes(std::vector<AttentionCase> &cases) {
  struct Sizes {
    AttentionTmaTiling tiling, biased;
    int head, value;
  };
  for (const Sizes &sizes : {Sizes{kAttentionMapped, kAttentionMapped, 32, 32},
                             Sizes{kAttentionMapped, kAttentionMapped, 64, 64},
                             Sizes{kAttentionMapped, kAttentionMapped, 16, 48},
                             Sizes{kAttentionMapped, kAttentionMapped, 8, 56},
                             Sizes{kAttentionMappedLarge, kAttentionMappedLargeBiased, 112, 104},
                             Sizes{kAttentionMappedLarge, kAttentionMappedLargeBiased, 40, 72},
                             Sizes{kAttentionMappedLarge, kAttentionMappedLargeBiased, 80, 80},
                             Sizes{kAttentionMappedLarge, kAttentionMappedLargeBiased, 96, 128},
                             Sizes{kAttentionMappedLarge, kAttentionMappedLargeBiased, 128, 128},
                             Sizes{kAttentionMappedHuge, {}, 256, 256}}) {
    AttentionVariant v = variant(sizes.tiling, sizes.head, Element::kHalf);
    v.valueSize = sizes.value;
    cases.push_back({v, kMappedShapes});
    v.causal = true;
    v.bias = Bias::kPerKey;
    cases.push_back({v, {{3, 77, 77, 0, 20, false, true}}});
    if (sizes.biased.groups == 0)
      continue;
    v.tiling = sizes.biased;
    v.bias = Bias::kFull;
    cases.push_back({v, {{2, 77, 77, 0, 5}}});
    v.causal = false;
    v.softcap = 5;
    cases.push_back(
        {v, {{2, 77, 77, 0, 5}, {1, 197, 197, 0, 0}, {2, 130, 300, 0, 7, false, true}}});
  }
}

/// Biases of single scores that come by a map: of each kind, with rows and keys that cross the boxes' edges,
/// one step and many, causal steps that a warpgroup skips, all keys of a batch masked.
void addBiasMaps(std::vector<AttentionCase> &cases) {
  struct Sizes {
    AttentionTmaTiling tiling, capped;
    int head, value;
  };
  for (const Sizes &sizes :
       {Sizes{kAttentionMappedBias, kAttentionMappedBias, 64, 64},
        Sizes{kAttentionMappedBias, kAttentionMappedBias, 8, 56},
        Sizes{kAttentionMappedLargeBias, kAttentionMappedLargeBiased, 128, 128},
        Sizes{kAttentionMappedLargeBias, kAttentionMappedLargeBiased, 80, 104}})
    for (Element element : {Element::kHalf, Element::kBfloat16}) {
      AttentionVariant v = variant(sizes.tiling, sizes.head, element);
      v.valueSize = sizes.value;
      for (Bias bias : {Bias::kFull, Bias::kPerHead, Bias::kShared}) {
        v.bias = bias;
        v.causal = false;
        cases.push_back({v,
                         {{1, 1, 8, 0},
                          {3, 77, 72, 0, 5},
                          {2, 197, 200, 0, 0},
                          {2, 513, 136, 0, 7, false, true},
                          {40, 130, 520, 0, 0}}});
        v.causal = true;
        cases.push_back({v, {{2, 77, 80, 3, 5}, {5, 520, 520, 0, 0}, {1, 40, 24, -8}}});
      }
      v.tiling = sizes.capped;
      v.bias = Bias::kFull, v.softcap = 5, v.zeroMaskedRows = true, v.causal = false;
      cases.push_back({v, {{3, 77, 80, 0, 20, true, false}, {3, 130, 264, 0, 20, true, true}}});
      v.causal = true, v.zeroMaskedRows = false;
      cases.push_back({v, {{2, 77, 80, 3, 5}, {1, 520, 520, 0, 0}}});
    }
}

} // namespace

/// A cast that follows an attention is stored by it: floats of half operands, and the other way round.
static void addOutputs(std::vector<AttentionCase> &cases) {
  auto add = [&](auto tiling, int size, Element element, Element output) {
    AttentionVariant v = variant(tiling, size, element);
    v.output = output;
    cases.push_back({v, v.tensorMaps() ? kMappedShapes : kPlainShapes});
    v.causal = v.zeroMaskedRows = true;
    v.bias = Bias::kPerKey;
    v.heads = 8, v.kvHeads = 2;
    cases.push_back({v, {{2, 77, 197, 120, 5}, {1, 513, 513, 0, 0}}});
  };
  for (const AttentionTmaTiling &tiling : {kAttentionMapped, kAttentionMappedCausal}) {
    add(tiling, 64, Element::kHalf, Element::kFloat);
    add(tiling, 64, Element::kHalf, Element::kBfloat16);
  }
  add(kAttentionMappedLarge, 128, Element::kBfloat16, Element::kFloat);
  add(kAttentionMapped, 40, Element::kBfloat16, Element::kHalf);
  add(kAttentionRows128, 64, Element::kHalf, Element::kFloat);
  add(kAttentionShort, 64, Element::kBfloat16, Element::kHalf);
  add(kAttentionSimt[0], 64, Element::kFloat, Element::kHalf);
}

/// attention_decode: keys for one part of many, for some, and none at all.
static const std::vector<AttentionShape> kDecodeShapes = {
    {1, 1, 1, 0}, {5, 1, 77, 0}, {2, 1, 197, 0}, {5, 1, 513, 0}, {1, 1, 4099, 0}, {2, 1, 0, 0}};

static AttentionVariant decodeVariant(const AttentionDecodeTiling &tiling, int head, int group,
                                      Element element = Element::kHalf) {
  AttentionVariant v = variant(tiling, head, element);
  v.kvHeads = 3;
  v.heads = group * v.kvHeads;
  return v;
}

/// Every number of parts; groups of heads that fill the rows of a block, do not, or take several blocks; head
/// sizes.
static void addDecode(std::vector<AttentionCase> &cases) {
  for (int parts : {0, 1, 2, 4, 8}) {
    cases.push_back({decodeVariant({{16, 64, 4, 3}, parts}, 128, 8), kDecodeShapes});
    cases.push_back(
        {decodeVariant({{16, 128, 4, 3}, parts}, 64, 1, Element::kBfloat16), kDecodeShapes});
    cases.push_back({decodeVariant({{16, 64, 4, 3}, parts}, 80, 4), kDecodeShapes});
    cases.push_back({decodeVariant({{16, 64, 4, 2}, parts}, 256, 7), kDecodeShapes});
    // More rows than a block's, blocks that two or four warps share, steps that two warps do.
    const std::vector<AttentionShape> queries = {{2, 5, 513, 0}, {1, 16, 197, 0}};
    cases.push_back({decodeVariant({{16, 64, 4, 3}, parts}, 128, 7), queries});
    cases.push_back({decodeVariant({{32, 64, 4, 3}, parts}, 128, 6), queries});
    cases.push_back({decodeVariant({{64, 64, 4, 3}, parts}, 128, 4), queries});
    cases.push_back({decodeVariant({{16, 32, 2, 2}, parts}, 96, 3), queries});
  }
  const AttentionShape manyParts{1, 1, 20000, 0, 0, false, false, 39};
  cases.push_back({decodeVariant({{16, 64, 4, 3}, 0}, 128, 8), {manyParts}});
  // Batches that blocks take in turn.
  cases.push_back({decodeVariant({{16, 128, 4, 3}, 2}, 16, 2), {{65537, 1, 3, 0}}});
  cases.push_back(
      {decodeVariant({{16, 128, 4, 3}, 0}, 16, 2), {{65537, 1, 3, 0, 0, false, false, 2}}});
}

/// Masks, biases, caps, other outputs, rows that are not aligned, and values of another size than keys.
static void addDecodeKinds(std::vector<AttentionCase> &cases) {
  for (int parts : {0, 1, 4}) {
    AttentionVariant v = decodeVariant({{16, 64, 4, 3}, parts}, 128, 4);
    v.causal = v.zeroMaskedRows = true;
    cases.push_back({v, {{2, 4, 513, 509}, {1, 3, 4099, 4096}, {2, 4, 513, 300}, {1, 4, 3, -1}}});
    v.bias = Bias::kPerKey;
    cases.push_back({v, {{3, 1, 577, 576, 20, true}, {3, 4, 577, 573, 500, true, true}}});
    v.causal = v.zeroMaskedRows = false;
    cases.push_back({v, {{3, 1, 577, 0, 20}, {3, 2, 577, 0, 500, false, true}}});
    v.bias = Bias::kFull;
    v.softcap = 5;
    cases.push_back({v, {{2, 3, 1000, 0, 7}, {5, 1, 513, 0, 0}}});
    v.output = Element::kFloat;
    cases.push_back({v, {{2, 3, 300, 0, 7}}});
    AttentionVariant huge = decodeVariant({{16, 64, 4, 3}, parts}, 256, 3, Element::kBfloat16);
    huge.causal = huge.zeroMaskedRows = true;
    huge.bias = Bias::kFull;
    cases.push_back({huge, {{2, 3, 513, 510, 7, true}}});
    for (int vector : {4, 2, 1}) {
      AttentionVariant uneven = decodeVariant({{16, 64, 4, 3}, parts}, 27 * vector, 5);
      uneven.valueSize = 20 * vector;
      uneven.vector = vector;
      cases.push_back({uneven, {{2, 1, 513, 0}, {2, 7, 77, 0}}});
    }
  }
}

std::vector<AttentionCase> attentionChecks() {
  std::vector<AttentionCase> cases;
  addDecode(cases);
  addDecodeKinds(cases);
  addMapped(cases);
  addMappedHeads(cases);
  addMappedSizes(cases);
  addBiasMaps(cases);
  for (const AttentionTiling &tiling : {kAttentionShort, kAttentionRows128})
    addKinds(cases, variant(tiling, 64, Element::kHalf));
  addKinds(cases, variant(kAttentionRows64, 32, Element::kBfloat16));
  addKinds(cases, variant(kAttentionSimt[0], 64, Element::kFloat));
  addKinds(cases, variant(AttentionSimtTiling{32, 64, 2}, 32, Element::kFloat));
  for (const AttentionTiling &tiling : {kPair, kAttentionMedium})
    cases.push_back({variant(tiling, 64, Element::kHalf), kPlainShapes});
  cases.push_back({variant(kAttentionSimt[1], 64, Element::kFloat), kPlainShapes});
  for (const AttentionTiling &tiling : {kAttentionShort, kAttentionMedium})
    addFewSteps(cases, variant(tiling, 32, Element::kHalf));
  addShortWide(cases);
  addFewQueries(cases);
  addNarrowSteps(cases);

  for (const AttentionTiling &tiling : {kAttentionShort, kManyWarps}) {
    AttentionVariant v = variant(tiling, 128, Element::kHalf);
    v.softcap = 5;
    v.causal = true;
    v.bias = Bias::kFull;
    cases.push_back({v, {{2, 77, 77, 0, 5}, {1, 197, 197, 0, 0}}});
  }
  AttentionVariant large = variant(kAttentionWide, 256, Element::kBfloat16);
  cases.push_back({large, kPlainShapes});
  AttentionVariant uneven = variant(kAttentionRows64, 72, Element::kHalf); // padded, short vectors
  uneven.valueSize = 40;
  uneven.causal = true;
  cases.push_back({uneven, {{2, 77, 77, 0}}});
  uneven.vector = 4;
  cases.push_back({uneven, {{2, 77, 77, 0}}});
  uneven = variant(kAttentionRows64, 30, Element::kHalf);
  uneven.vector = 2;
  cases.push_back({uneven, {{1, 50, 70, 0}}});
  uneven.headSize = uneven.valueSize = 27;
  uneven.vector = 1;
  cases.push_back({uneven, {{1, 50, 70, 0}}});
  uneven = variant(AttentionSimtTiling{16, 32, 2}, 27, Element::kFloat);
  uneven.valueSize = 40;
  uneven.vector = 1;
  cases.push_back({uneven, {{1, 50, 70, 0}}});
  addOutputs(cases);
  return cases;
}

/// 8 heads of keys for 64 of queries: the tilings that are chosen, and their neighbours.
static void addDecodeTimings(std::vector<AttentionCase> &cases) {
  constexpr AttentionTiling kChosen{16, 64, 4, 3};
  struct Timing {
    AttentionShape shape;
    std::vector<AttentionDecodeTiling> tilings;
  };
  const std::vector<Timing> timings = {
      {{1, 1, 1024, 0}, {{kChosen, 4}, {kChosen, 8}}},
      {{1, 1, 4096, 0, 0, false, false, 32}, {{kChosen, 8}, {kChosen, 0}}},
      {{1, 1, 65536, 0, 0, false, false, 33}, {{kChosen, 8}, {kChosen, 0}}},
      {{4, 1, 16384, 0}, {{kChosen, 4}, {kChosen, 8}, {{16, 64, 4, 4}, 4}}},
      {{16, 1, 1024, 0}, {{kChosen, 1}, {kChosen, 2}, {kChosen, 4}}},
      {{16, 1, 16384, 0}, {{kChosen, 2}, {kChosen, 4}, {{16, 64, 4, 4}, 1}, {{16, 32, 2, 4}, 2}}},
      {{64, 1, 4096, 0}, {{kChosen, 1}, {kChosen, 2}, {{16, 64, 4, 4}, 1}, {{16, 32, 2, 4}, 1}}}};
  for (const Timing &timing : timings)
    for (const AttentionDecodeTiling &tiling : timing.tilings) {
      AttentionVariant v = variant(tiling, 128, Element::kHalf);
      v.heads = 64, v.kvHeads = 8;
      cases.push_back({v, {timing.shape}});
    }
}

std::vector<AttentionCase> attentionTimings() {
  struct Timing {
    AttentionShape shape;
    int heads, head;
    bool causal;
    Bias bias;
    std::vector<AttentionTiling> tilings;
    std::vector<AttentionTmaTiling> mapped = {};
  };
  const std::vector<AttentionTiling> latency = {kAttentionShort, kAttentionMedium, kPair};
  const std::vector<AttentionTiling> throughput = {
      kAttentionRows128, kAttentionRows64, {128, 64, 4, 3}, kManyWarps};
  const std::vector<AttentionTmaTiling> mapped = {kAttentionMapped, kAttentionMappedCausal};
  const std::vector<Timing> timings = {
      {{1, 128, 128, 0}, 12, 64, false, Bias::kPerKey, latency},
      {{1, 128, 128, 0}, 12, 32, false, Bias::kPerKey, latency},
      {{1, 128, 128, 0}, 12, 64, true, Bias::kNone, latency},
      {{1, 197, 197, 0}, 12, 64, false, Bias::kNone, latency, {{208, 2, 3, 2}}},
      {{32, 128, 128, 0}, 12, 32, false, Bias::kPerKey, latency, {kAttentionMapped, heads(128)}},
      {{2, 512, 512, 0}, 12, 64, false, Bias::kPerKey, latency, {kAttentionMapped}},
      {{1, 1024, 1024, 0}, 12, 64, true, Bias::kNone, latency, mapped},
      {{1, 1500, 1500, 0}, 8, 64, false, Bias::kNone, {kAttentionMedium}, mapped},
      {{8, 512, 512, 0}, 12, 64, false, Bias::kPerKey, throughput, mapped},
      {{8, 512, 512, 0}, 12, 64, false, Bias::kNone, throughput, mapped},
      {{8, 512, 512, 0},
       8,
       64,
       false,
       Bias::kFull,
       {kAttentionRows64},
       {kAttentionMapped, kAttentionMappedBias}},
      {{4, 4096, 4096, 0},
       32,
       64,
       false,
       Bias::kShared,
       {},
       {kAttentionMappedBias, {128, 2, 3, 2, 1}, {128, 2, 2, 2, 2}}},
      {{4, 4096, 4096, 0},
       16,
       128,
       false,
       Bias::kShared,
       {},
       {kAttentionMappedLargeBias, {128, 2, 2, 2, 1}}},
      {{32, 512, 512, 0},
       16,
       128,
       false,
       Bias::kShared,
       {},
       {kAttentionMappedLargeBias, {128, 2, 2, 2, 1}}},
      {{64, 197, 197, 0},
       12,
       64,
       false,
       Bias::kNone,
       throughput,
       {kAttentionMapped, {208, 2, 3, 2}, {112, 2, 3, 2}, kAttentionMappedHeads}},
      {{64, 160, 160, 0}, 12, 64, false, Bias::kNone, {}, {{176, 2, 3, 2}, heads(176)}},
      {{64, 128, 128, 0}, 12, 64, false, Bias::kNone, {}, {kAttentionMapped, heads(128)}},
      {{64, 77, 77, 0}, 12, 64, false, Bias::kNone, {}, {{96, 2, 3, 2}, heads(96)}},
      {{32, 50, 50, 0}, 12, 64, false, Bias::kNone, {kAttentionRows64}, {heads(64)}},
      {{64, 64, 64, 0}, 12, 64, false, Bias::kPerKey, {kAttentionRows64}, {heads(64)}},
      {{64, 128, 128, 0}, 12, 64, false, Bias::kPerKey, {}, {kAttentionMapped, heads(128)}},
      {{64, 140, 140, 0}, 12, 64, false, Bias::kPerKey, {}, {{144, 2, 3, 2}, heads(144)}},
      {{64, 160, 160, 0}, 12, 64, false, Bias::kPerKey, {}, {{176, 2, 3, 2}, heads(176)}},
      {{64, 192, 192, 0}, 12, 64, false, Bias::kPerKey, {}, {{96, 2, 3, 2}, heads(208)}},
      {{64, 128, 128, 0},
       12,
       32,
       false,
       Bias::kPerKey,
       {kAttentionRows64},
       {kAttentionMapped, heads(128)}},
      {{8, 1024, 1024, 0}, 12, 64, true, Bias::kNone, throughput, mapped},
      {{4, 4096, 4096, 0}, 16, 64, true, Bias::kNone, throughput, mapped},
      {{4, 4096, 4096, 0}, 16, 128, false, Bias::kNone, {kManyWarps}, {kAttentionMappedLarge}},
      {{1, 2048, 2048, 0}, 8, 256, true, Bias::kNone, {kAttentionWide}, {kAttentionMappedHuge}},
  };
  std::vector<AttentionCase> cases;
  for (const Timing &timing : timings) {
    auto add = [&](auto tiling) {
      AttentionVariant v = variant(tiling, timing.head, Element::kHalf);
      v.heads = v.kvHeads = timing.heads;
      v.causal = timing.causal;
      v.bias = timing.bias;
      cases.push_back({v, {timing.shape}});
    };
    for (const AttentionTiling &tiling : timing.tilings)
      add(tiling);
    for (const AttentionTmaTiling &tiling : timing.mapped)
      add(tiling);
  }
  addDecodeTimings(cases);
  for (const AttentionSimtTiling &tiling : kAttentionSimt) {
    AttentionVariant v = variant(tiling, 32, Element::kFloat);
    v.heads = v.kvHeads = 12;
    cases.push_back({v, {{1, 128, 128, 0}, {8, 512, 512, 0}}});
  }
  return cases;
}

} // namespace smelt::kernel_tests
