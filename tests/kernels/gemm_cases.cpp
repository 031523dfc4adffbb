// The GEMM variants and shapes of the kernel tests.
#include <iterator>

#include "tests/kernels/variants.h"

namespace smelt::kernel_tests {

namespace {

// Tilings beyond those that selection chooses from: clusters, warps that share K, large tiles.
// Block M, N, K, warps M, N, stages, cluster, warps K.
constexpr GemmTiling kTensor[] = {
    kGemmFewRows,
    kGemmSmall,
    kGemmPortable[0],
    kGemmPortable[1],
    kGemmPortable[2],
    kGemmPortable[3],
    {64, 64, 64, 2, 2, 4, 1, 2},
    {64, 64, 64, 2, 2, 4, 8, 2},
    {64, 64, 64, 2, 2, 4, 4},
    {64, 48, 64, 2, 3, 6, 1},
    kGemmFewRowsSplit,
    {128, 64, 64, 4, 2, 3, 8},
    {128, 128, 32, 2, 2, 4, 1},
};

const std::vector<GemmShape> kOddShapes = {
    {1, 768, 768, 1}, {77, 384, 1536, 1}, {197, 768, 768, 1}, {513, 200, 136, 1}, {128, 64, 64, 1}};

// Edges of every size that the hardware fills with zeros, in each dimension; more tiles than blocks;
// fewer steps than stages, and more. A map's rows are multiples of 16 bytes.
const std::vector<GemmShape> kTmaShapes = {
    {1, 8, 8, 1},      {1, 768, 768, 1},     {77, 200, 520, 1},    {197, 776, 72, 1},
    {513, 512, 64, 1}, {513, 1032, 1000, 1}, {2309, 2568, 136, 1}, {128, 256, 4096, 1}};

template <class Tiling> GemmVariant variant(Tiling tiling) {
  GemmVariant v;
  v.tiling = tiling;
  return v;
}

/// Of floats, in float's accuracy.
template <class Tiling> GemmVariant floatVariant(Tiling tiling) {
  GemmVariant v;
  v.tiling = tiling;
  v.element = Element::kFloat;
  v.aVector = v.bVector = 4;
  return v;
}

/// Moments of rows, stored by the epilogue and read by it.
void addMoments(std::vector<GemmCase> &cases, GemmVariant v) {
  const std::vector<GemmShape> kWholeGroups = {
      {1, 32, 64, 1}, {77, 192, 128, 1}, {197, 96, 512, 1}, {513, 1184, 136, 1}};
  v.storesMoments = true;
  cases.push_back({v, kWholeGroups});
  v.storesMoments = false;
  for (int groups : {1, 24, 37}) {
    v.rowGroups = groups;
    cases.push_back({v, kWholeGroups});
  }
}

} // namespace

/// Two products of one left operand: tilings of every template, clusters, warps that share K,
/// narrow epilogues, columns that end inside a tile.
static void addPairs(std::vector<GemmCase> &cases) {
  const std::vector<GemmShape> shapes = {
      {1, 768, 768, 1}, {77, 400, 136, 1}, {197, 1536, 384, 1}, {128, 112, 64, 1}};
  auto add = [&](GemmVariant v) {
    v.products = 2;
    cases.push_back({v, shapes});
  };
  // But for the largest tilings, which have no registers for it and are not chosen for pairs.
  for (const GemmTiling &tiling : kTensor)
    if (tiling.blockM * tiling.blockN < 128 * 128)
      add(variant(tiling));
  for (const GemmWgmmaTiling &tiling : kGemmWgmmaTilings)
    if (tiling.blockM < 256)
      add(variant(tiling));
  for (const GemmTmaTiling &tiling : kGemmTmaTilings) {
    GemmVariant v = variant(tiling);
    add(v);
    v.activation = false; // they are finished in fragments
    add(v);
    v.bTransposed = !v.bTransposed;
    add(v);
  }
  for (const GemmSimtTiling &tiling : kGemmSimtTilings)
    add(floatVariant(tiling));
  for (const GemmSplitTiling &tiling : kGemmSplitTilings)
    if (tiling.blockM < 128)
      add(floatVariant(tiling));
  for (int width : {1, 2, 4}) {
    GemmVariant v = variant(kGemmPortable[1]);
    v.element = Element::kBfloat16;
    v.width = width;
    add(v);
  }
  GemmVariant tf32 = variant(kGemmTf32[3]);
  tf32.element = Element::kFloat;
  tf32.aVector = tf32.bVector = 4;
  add(tf32);
}

/// Images in zeros, which have no address: every template, vectors of all widths.
void addPadded(std::vector<GemmCase> &cases) {
  const std::vector<GemmShape> shapes = {{197, 768, 768, 1}, {513, 200, 136, 1}};
  auto add = [&](GemmVariant v) {
    v.linear = false;
    v.padded = true;
    cases.push_back({v, shapes});
  };
  add(variant(kGemmPortable[1]));
  add(variant(kGemmFewRowsSplit));
  for (const GemmWgmmaTiling &tiling : kGemmWgmmaTilings)
    if (tiling.threads() <= 256) { // those that codegen gives scattered addresses
      add(variant(tiling));
      add(variant(tiling));
      cases.back().variant.bTransposed = true;
    }
  add(floatVariant(kGemmSimtTilings[0]));
  add(floatVariant(kGemmSplitTilings[0]));
  add(floatVariant(kGemmTf32[3]));
  for (int width : {1, 2, 4}) {
    GemmVariant v = variant(kGemmPortable[1]);
    v.aVector = width;
    add(v);
  }
}

/// A K of a single step, whole and in part, for which tilings are taken with two stages: weights, and the right operands
/// of batches.
static void addShort(std::vector<GemmCase> &cases) {
  for (const GemmTiling &tiling : {kGemmPortable[0], kGemmFewRows, kGemmSmall})
    for (int k : {tiling.blockK, tiling.blockK - 37, 8, 1}) {
      GemmVariant v = variant(withoutIdleStages(tiling, k));
      v.aVector = k % 8 == 0 ? 8 : 1;
      for (bool isConstant : {true, false}) {
        v.bConstant = isConstant;
        cases.push_back({v, {{1, 16, k, 1}, {513, 40, k, isConstant ? 1 : 3}, {197, 144, k, 1}}});
      }
    }
}

void addLayouts(std::vector<GemmCase> &cases, GemmVariant v) {
  const std::vector<GemmShape> kEdges = {
      {1, 77, 197, 2}, {77, 1, 513, 2}, {197, 513, 1, 2}, {513, 197, 77, 1}, {1, 1, 1, 1}};
  v.aVector = v.bVector = v.width = 1;
  v.bConstant = false;
  for (Layout layout : {Layout::kUnit, Layout::kOffset, Layout::kStrided, Layout::kZeroColumns,
                        Layout::kZeroRows, Layout::kTransposed})
    for (bool transposed : {false, true}) {
      v.bTransposed = transposed;
      v.a = Layout::kUnit;
      v.b = layout;
      cases.push_back({v, kEdges});
      std::swap(v.a, v.b);
      if (!transposed && layout != Layout::kUnit)
        cases.push_back({v, kEdges});
    }
  v.b = v.a = Layout::kTransposed;
  cases.push_back({v, kEdges});
}

std::vector<GemmCase> gemmChecks() {
  std::vector<GemmCase> cases = windowChecks();
  for (const std::vector<GemmCase> &more : {residentChecks(), byteChecks()})
    cases.insert(cases.end(), more.begin(), more.end());
  addPadded(cases);
  addShort(cases);
  for (const GemmTiling &tiling : kTensor)
    cases.push_back({variant(tiling), kOddShapes});

  GemmVariant scattered = variant(kGemmPortable[1]); // addresses that are asked for one by one
  scattered.linear = false;
  cases.push_back({scattered, kOddShapes});
  for (const GemmTiling &tiling : {kGemmPortable[1], kTensor[8], kGemmPortable[3]}) {
    GemmVariant v = variant(tiling); // B as [n][k], as tied embeddings have it
    v.bTransposed = true;
    cases.push_back({v, kOddShapes});
    v.element = Element::kBfloat16; // activations on both sides, batched
    v.bConstant = false;
    cases.push_back({v, {{77, 72, 64, 12}, {197, 200, 136, 3}}});
    v.bTransposed = false;
    cases.push_back({v, {{77, 72, 64, 12}, {197, 200, 136, 3}}});
  }
  for (int width : {1, 2, 4}) { // columns, and rows of B, that allow only narrow vectors
    GemmVariant v = variant(GemmTiling{64, 64, 32, 2, 2, 4, 1});
    v.width = v.bVector = width;
    v.bConstant = false;
    cases.push_back({v, {{77, 101 * width, 72, 2}}});
    v = variant(GemmTiling{64, 64, 32, 2, 2, 4, 4});
    v.bTransposed = true; // K that allows only narrow vectors
    v.aVector = v.bVector = v.width = width;
    cases.push_back({v, {{33, 101 * width, 77 * width, 1}}});
  }
  GemmVariant logits = variant(kGemmPortable[3]); // 50257 columns: only single elements are aligned
  logits.bTransposed = true;
  logits.width = 1;
  cases.push_back({logits, {{13, 50257, 768, 1}}});

  std::vector<GemmWgmmaTiling> wgmma(std::begin(kGemmWgmmaTilings), std::end(kGemmWgmmaTilings));
  wgmma.insert(wgmma.end(), std::begin(kMoreWgmmaTilings), std::end(kMoreWgmmaTilings));
  for (const GemmWgmmaTiling &tiling : wgmma)
    for (bool transposed : {false, true}) {
      GemmVariant v = variant(tiling);
      v.bTransposed = transposed;
      cases.push_back({v, kOddShapes});
    }
  for (bool transposed : {false, true})
    for (int width : {1, 2, 8}) { // batched, narrow vectors
      GemmVariant v = variant(GemmWgmmaTiling{64, 64, 4, 1});
      v.element = Element::kBfloat16;
      v.bTransposed = transposed;
      v.bConstant = false;
      v.aVector = v.bVector = v.width = width;
      cases.push_back({v, {{77, 11 * width, 13 * width, 3}, {197, 101 * width, 77 * width, 2}}});
    }

  for (const GemmTmaTiling &tiling : kGemmTmaTilings)
    for (bool transposed : {false, true})
      for (bool constant : {false, true}) {
        GemmVariant v = variant(tiling);
        v.element = constant ? Element::kHalf : Element::kBfloat16;
        v.bTransposed = transposed;
        v.bConstant = constant;
        cases.push_back({v, kTmaShapes});
        GemmVariant isShort = v; // of epilogue: finished where the sums lie
        isShort.activation = isShort.residual = false;
        cases.push_back({isShort, kTmaShapes});
        isShort.rowGroups = 24;
        cases.push_back({isShort, kTmaShapes});
        if (transposed) { // rows of B, and of C, that no vector access is aligned to
          v.width = 1;
          cases.push_back({v, {{77, 197, 136, 1}, {513, 513, 200, 1}, {1, 1, 8, 1}}});
        }
      }

  for (const GemmTmaTiling &tiling : kGemmFragmentTilings) // of the epilogues that they take
    for (bool transposed : {false, true})
      for (bool constant : {false, true})
        for (int groups : {0, 1, 24, 37}) {
          GemmVariant v = variant(tiling);
          v.element = constant ? Element::kHalf : Element::kBfloat16;
          v.bTransposed = transposed;
          v.bConstant = constant;
          v.activation = v.residual = false;
          v.rowGroups = groups;
          cases.push_back({v, kTmaShapes});
        }

  for (bool transposed : {false, true}) { // tf32
    GemmVariant v = variant(GemmTiling{64, 64, 32, 2, 2, 4, 1});
    v.element = Element::kFloat;
    v.aVector = v.bVector = 4;
    v.bTransposed = transposed;
    cases.push_back({v, kOddShapes});
    v.tiling = kGemmTf32[3];
    cases.push_back({v, {{197, 768, 768, 1}}});
    v.tiling = GemmTiling{64, 64, 16, 2, 2, 4, 1};
    v.aVector = v.bVector = v.width = 1;
    cases.push_back({v, {{77, 101, 77, 1}}});
  }
  addPairs(cases);
  for (const GemmSimtTiling &tiling : kGemmSimtTilings)
    for (bool transposed : {false, true}) {
      GemmVariant v = floatVariant(tiling);
      v.bTransposed = transposed;
      cases.push_back({v, kOddShapes});
    }
  for (const GemmSplitTiling &tiling : kGemmSplitTilings)
    for (bool transposed : {false, true}) {
      GemmVariant v = floatVariant(tiling);
      v.bTransposed = transposed;
      cases.push_back({v, kOddShapes});
    }
  for (GemmVariant narrow :
       {floatVariant(kGemmSimtTilings[1]), floatVariant(kGemmSplitTilings[0])}) {
    narrow.aVector = narrow.bVector = narrow.width = 1;
    narrow.bConstant = false;
    cases.push_back({narrow, {{77, 101, 77, 2}}});
    narrow.bTransposed = true;
    cases.push_back({narrow, {{77, 101, 77, 2}}});
  }

  GemmVariant tf32 = variant(kGemmTf32[0]);
  tf32.element = Element::kFloat;
  addLayouts(cases, tf32);
  for (const GemmSimtTiling &tiling : {kGemmSimtTilings[1], kGemmSimtTilings[3]})
    addLayouts(cases, floatVariant(tiling));
  addLayouts(cases, floatVariant(kGemmSplitTilings[0]));
  addLayouts(cases, variant(kGemmPortable[1]));
  GemmVariant wgmmaLayouts = variant(GemmWgmmaTiling{64, 64, 4, 1});
  wgmmaLayouts.element = Element::kBfloat16;
  addLayouts(cases, wgmmaLayouts);

  for (const GemmTiling &tiling : {kGemmSmall, kGemmPortable[1], kGemmPortable[3], kGemmFewRows})
    addMoments(cases, variant(tiling));
  for (const GemmWgmmaTiling &tiling :
       {kGemmWgmmaTilings[3], kGemmWgmmaTilings[1], kGemmWgmmaTilings[8]})
    addMoments(cases, variant(tiling));
  for (const GemmTmaTiling &tiling : kGemmTmaTilings)
    if (tiling.teams() <= 2) // others are not chosen for it
      addMoments(cases, variant(tiling));
  addMoments(cases, floatVariant(kGemmSimtTilings[1]));
  addMoments(cases, floatVariant(kGemmSplitTilings[2]));
  return cases;
}

/// Products whose tiles fill the multiprocessors about once: templates compete.
template <class Add> void addRowsOfOneWave(const Add &add) {
  for (GemmShape shape : {GemmShape{128, 2304, 768, 1},
                          {128, 3072, 768, 1},
                          {512, 2048, 2048, 1},
                          {512, 2048, 8192, 1},
                          {512, 3072, 2048, 1},
                          {1024, 768, 768, 1},
                          {1024, 768, 3072, 1},
                          {1500, 512, 512, 1},
                          {1500, 512, 2048, 1},
                          {1500, 1536, 512, 1},
                          {2048, 896, 896, 1},
                          {2048, 896, 4864, 1}}) {
    for (const GemmTmaTiling &tiling : kGemmTmaTilings)
      if (tiling.blockN <= 192)
        add(tiling, shape);
    for (const GemmWgmmaTiling &tiling :
         {GemmWgmmaTiling{64, 64, 7, 1, 1}, {64, 64, 5, 4, 1}, {128, 64, 5, 4}, {64, 128, 5, 1}})
      add(tiling, shape);
  }
}

/// Weights of BERT, and of Llama 3 at 8 billion, for few rows: templates, clusters and stages compete.
template <class Add> void addFewRows(const Add &add) {
  for (auto [n, k] : {std::pair(768, 768),
                      {2304, 768},
                      {3072, 768},
                      {768, 3072},
                      {4096, 4096},
                      {14336, 4096},
                      {4096, 14336}})
    for (int m : {1, 64, 128, 512, 2048}) {
      for (const GemmTmaTiling &tiling : kGemmTmaTilings)
        if (m > 512 || !tiling.pingPong)
          add(tiling, {m, n, k, 1});
      if (m < 512)
        for (const GemmWgmmaTiling &tiling : kGemmWgmmaTilings)
          if (tiling.blockM * tiling.blockN <= 64 * 128)
            add(tiling, {m, n, k, 1});
      if (m == 1)
        for (const GemmTiling &tiling : {kGemmFewRows, kGemmFewRowsSplit})
          add(tiling, {m, n, k, 1});
    }
}

/// The same for mma's tilings, which small batches choose from.
template <class Add> void addFewRowsOfMma(const Add &add) {
  for (auto [n, k] : {std::pair(384, 384),
                      {1536, 384},
                      {384, 1536},
                      {768, 768},
                      {2304, 768},
                      {3072, 768},
                      {768, 3072}})
    for (int m : {16, 32, 64, 128, 197, 256})
      for (const GemmTiling &tiling :
           {kGemmFewRows, kGemmFewRowsSplit, kGemmSmall, kGemmPortable[0], kGemmPortable[1]})
        add(tiling, {m, n, k, 1});
}

std::vector<GemmCase> gemmTimings() {
  std::vector<GemmCase> cases;
  auto add = [&cases](auto tiling, GemmShape shape) {
    GemmVariant v = variant(tiling);
    v.n = shape.n;
    v.k = shape.k;
    v.bTransposed = v.n % 8 != 0; // the tied embeddings
    v.width = v.n % 8 == 0 ? 8 : 1;
    v.activation = v.n == 4 * v.k; // what follows the product in an encoder layer
    v.residual = v.n <= v.k;
    cases.push_back({v, {shape}});
  };
  const std::vector<GemmShape> shapes = {
      {128, 768, 768, 1},   {128, 2304, 768, 1},   {128, 3072, 768, 1},  {128, 768, 3072, 1},
      {128, 384, 384, 1},   {128, 1152, 384, 1},   {128, 1536, 384, 1},  {128, 384, 1536, 1},
      {197, 768, 768, 1},   {197, 2304, 768, 1},   {197, 3072, 768, 1},  {197, 768, 3072, 1},
      {4096, 768, 768, 1},  {4096, 2304, 768, 1},  {4096, 3072, 768, 1}, {4096, 768, 3072, 1},
      {128, 50257, 768, 1}, {12608, 3072, 768, 1}, {4096, 4096, 4096, 1}};
  for (const GemmShape &shape : shapes)
    for (const GemmWgmmaTiling &tiling : kGemmWgmmaTilings)
      if ((tiling.blockM * tiling.blockN > 64 * 128) == (shape.m > 256) || shape.n > 50000)
        add(tiling, shape);
  for (GemmShape shape :
       {GemmShape{512, 3072, 768, 1}, {1024, 3072, 768, 1},  {4096, 768, 768, 1},
        {4096, 2304, 768, 1},         {4096, 3072, 768, 1},  {4096, 768, 3072, 1},
        {12608, 768, 768, 1},         {12608, 3072, 768, 1}, {12608, 768, 3072, 1},
        {12608, 2304, 768, 1},        {1024, 768, 768, 1},   {1024, 2304, 768, 1},
        {1024, 768, 3072, 1},         {2048, 768, 3072, 1},  {8192, 3072, 768, 1},
        {4096, 1536, 384, 1},         {2048, 2048, 2048, 1}, {2048, 4096, 4096, 1},
        {4096, 14336, 4096, 1},       {4096, 4096, 4096, 1}, {8192, 8192, 8192, 1}})
    for (const GemmTmaTiling &tiling : kGemmTmaTilings)
      add(tiling, shape);
  for (GemmShape shape : {GemmShape{128, 2304, 768, 1},
                          {1024, 2304, 768, 1},
                          {2048, 2304, 768, 1},
                          {4096, 2304, 768, 1},
                          {12608, 2304, 768, 1},
                          {512, 3072, 2048, 1},
                          {512, 14336, 4096, 1},
                          {2048, 14336, 4096, 1},
                          {4096, 14336, 4096, 1}})
    for (const GemmTmaTiling &tiling : kGemmFragmentTilings)
      add(tiling, shape); // n is neither k nor less, nor 4 k: neither an activation nor a residual
  add(GemmWgmmaTiling{128, 256, 4, 1}, {8192, 8192, 8192, 1});
  addRowsOfOneWave(add);
  addFewRows(add);
  addFewRowsOfMma(add);
  for (GemmShape shape :
       {GemmShape{512, 16384, 2048, 1}, {4096, 16384, 2048, 1}, {2048, 9728, 896, 1}}) {
    auto addPair = [&](auto tiling) {
      add(tiling, shape);
      GemmVariant &v = cases.back().variant;
      v.products = 2;
      v.activation = v.residual = false;
    };
    addPair(GemmWgmmaTiling{128, 256, 4, 1});
    for (const GemmTmaTiling &tiling : kGemmTmaTilings)
      addPair(tiling);
  }
  for (const GemmTmaTiling &tiling : kGemmTmaTilings) // with norms before and after
    for (GemmShape shape : {GemmShape{4096, 768, 768, 1},
                            {4096, 3072, 768, 1},
                            {4096, 768, 3072, 1},
                            {12608, 768, 768, 1},
                            {12608, 2304, 768, 1}}) {
      add(tiling, shape);
      GemmVariant &v = cases.back().variant;
      v.storesMoments = v.n <= v.k;
      v.rowGroups = v.n > v.k ? 24 : 0;
    }
  for (const GemmTiling &tiling : {kGemmFewRows, kGemmFewRowsSplit}) {
    add(tiling, {1, 768, 768, 1});
    add(tiling, {16, 3072, 768, 1});
  }
  for (int n : {384, 1152, 1536})
    add(kGemmSmall, {128, n, 384, 1});
  for (int m : {64, 128, 197})
    for (const GemmTiling &tiling : {kGemmSmall, kGemmPortable[0], kGemmPortable[1]})
      add(tiling, {m, 768, 768, 1});
  const std::vector<GemmCase> bytes = byteTimings();
  cases.insert(cases.end(), bytes.begin(), bytes.end());
  const std::vector<GemmShape> floats = {
      {128, 384, 384, 1},  {128, 1536, 384, 1},  {128, 384, 1536, 1}, {128, 768, 768, 1},
      {4096, 768, 768, 1}, {4096, 1536, 384, 1}, {4096, 384, 1536, 1}};
  for (const GemmSimtTiling &tiling : kGemmSimtTilings)
    cases.push_back({floatVariant(tiling), floats});
  for (const GemmSplitTiling &tiling : kGemmSplitTilings)
    cases.push_back({floatVariant(tiling), floats});
  return cases;
}

} // namespace smelt::kernel_tests
