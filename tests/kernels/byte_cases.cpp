// Products of bytes, of integers and of floats of 8 bits, for the kernel tests.
#include <iterator>

#include "tests/kernels/variants.h"

namespace smelt::kernel_tests {

namespace {

/// Two types of bytes, of which operands are either: int8_t and uint8_t, or both floats of 8 bits.
using ByteTypes = Element[2];
constexpr ByteTypes kIntegers = {Element::kInt8, Element::kUint8},
                    kFloats8 = {Element::kFloat8E4M3, Element::kFloat8E5M2};

/// Others have no registers.
template <class Tiling> bool isChosen(const ByteTypes &types, const Tiling &tiling) {
  return !isFloat8(types[0]) || holdsSumsOfSteps(tiling);
}

/// Products of bytes: every tiling, type, layout of B and alignment.
void addBytes(std::vector<GemmCase> &cases, const ByteTypes &types) {
  const std::vector<GemmShape> shapes = {
      {1, 768, 768, 1}, {77, 400, 1536, 1}, {197, 208, 144, 1}, {513, 64, 64, 1}};
  GemmVariant v;
  v.aVector = v.bVector = 16;
  v.element = types[1], v.elementB = types[0];
  for (const GemmTiling &tiling : kGemmInt8)
    for (bool transposed : {true, false}) {
      v.tiling = tiling;
      v.bTransposed = v.bConstant = transposed;
      cases.push_back({v, shapes});
    }
  v.tiling = kGemmInt8[4];
  v.bConstant = false;
  for (Element a : types)
    for (Element b : types) {
      v.element = a, v.elementB = b;
      cases.push_back({v, {{77, 80, 64, 12}, {197, 208, 4096, 2}}});
    }
  for (bool transposed : {true, false})
    for (int width : {2, 4, 8}) { // K, and columns, that allow only narrow vectors
      v.bTransposed = transposed;
      v.aVector = v.bVector = v.width = width;
      cases.push_back({v, {{33, 101 * width, 77 * width, 3}}});
    }
  GemmVariant scattered = v;
  scattered.linear = false;
  cases.push_back({scattered, {{77, 200, 136, 2}}});
  addLayouts(cases, v);
}

/// Integers whose results are cut to bytes, by every tiling that takes tiles in turn: finished where the sums lie, and beside a
/// residual by way of shared memory.
void addStoredBytes(std::vector<GemmCase> &cases) {
  const std::vector<GemmShape> shapes = {
      {1, 8, 16, 1}, {77, 200, 528, 1}, {513, 1032, 1008, 1}, {2309, 2568, 144, 1}};
  GemmVariant v;
  v.aVector = v.bVector = 16;
  v.bTransposed = true;
  v.storesBytes = true;
  int next = 0;
  auto add = [&](const GemmTmaTiling &tiling) {
    std::vector<GemmShape> taken = shapes;
    if (tiling.residentSteps > 0)
      taken = {{1, 8, 16, 1}, {197, 200, 144, 1}, {2309, 1096, 48, 1}, {1027, 768, 768, 1}};
    for (bool residual : {false, true}) {
      v.tiling = tiling;
      v.element = kIntegers[next & 1], v.elementB = kIntegers[next >> 1 & 1];
      v.bConstant = (next++ >> 2 & 1) != 0;
      v.residual = residual;
      bool holdsEpilogue = tiling.consumers() <= 256 || (tiling.teams() > 1 && tiling.blockN < 128);
      if (holdsEpilogue || !residual) // beside bytes of a residual others spill
        cases.push_back({v, taken});
    }
  };
  for (const GemmTmaTiling &tiling : kGemmTmaTilings)
    add(tiling);
  for (const GemmTmaTiling &tiling : kGemmResidentTilings)
    add(tiling);
  for (const GemmTmaTiling &tiling : kGemmFragmentTilings)
    add(tiling);
}

/// Warpgroups that take no turns: results that are finished where the sums lie, of nothing else of their rows.
void addFree(std::vector<GemmCase> &cases, const ByteTypes &types) {
  GemmVariant v;
  v.aVector = v.bVector = 16;
  v.bTransposed = true;
  v.storesBytes = !isFloat8(types[0]);
  v.activation = v.residual = false;
  int next = 0;
  for (const GemmTmaTiling &tiling : kGemmFreeTilings)
    for (int i = 0; i < 4; ++i) {
      v.tiling = tiling;
      v.element = types[next & 1], v.elementB = types[next >> 1 & 1];
      v.bConstant = (next++ >> 1 & 1) != 0;
      cases.push_back({v,
                       {{1, 8, 16, 1},
                        {77, 64, 64, 1},
                        {197, 200, 144, 1},
                        {2309, 1096, 48, 1},
                        {1027, 768, 768, 1},
                        {9000, 136, 512, 1}}});
    }
}

/// The same on Hopper's own tensor cores, which read B along K alone.
void addBytesOnHopper(std::vector<GemmCase> &cases, const ByteTypes &types) {
  const std::vector<GemmShape> shapes = {
      {1, 768, 768, 1}, {77, 400, 1536, 1}, {197, 208, 144, 2}, {513, 64, 64, 1}};
  const std::vector<GemmShape> mapped = {
      {1, 8, 16, 1},     {1, 768, 768, 1},     {77, 200, 528, 1},    {197, 776, 80, 1},
      {513, 512, 64, 1}, {513, 1032, 1008, 1}, {2309, 2568, 144, 1}, {128, 256, 4096, 1}};
  const std::vector<GemmShape> resident = {
      {1, 8, 16, 1}, {77, 64, 64, 1}, {197, 200, 144, 1}, {2309, 1096, 48, 1}, {1027, 768, 768, 1}};
  GemmVariant v;
  v.aVector = v.bVector = 16;
  v.bTransposed = true;
  int next = 0;
  auto takeTurns = [&] { // all pairs of types, weights and activations
    v.element = types[next & 1], v.elementB = types[next >> 1 & 1];
    v.bConstant = (next++ >> 2 & 1) != 0;
  };
  std::vector<GemmWgmmaTiling> tilings(std::begin(kGemmWgmmaTilings), std::end(kGemmWgmmaTilings));
  tilings.insert(tilings.end(), std::begin(kMoreWgmmaTilings), std::end(kMoreWgmmaTilings));
  tilings.insert(tilings.end(), std::begin(kGemmShallowTilings), std::end(kGemmShallowTilings));
  for (const GemmWgmmaTiling &tiling : tilings) {
    v.tiling = tiling;
    takeTurns();
    if (isChosen(types, tiling))
      cases.push_back({v, shapes});
  }
  for (const GemmTmaTiling &tiling : kGemmTmaTilings)
    for (int i = 0; isChosen(types, tiling) && i < 4; ++i) {
      v.tiling = tiling;
      takeTurns();
      cases.push_back({v, mapped});
    }
  for (const GemmTmaTiling &tiling : kGemmResidentTilings)
    for (int i = 0; i < 4; ++i) {
      v.tiling = tiling;
      takeTurns();
      cases.push_back({v, resident});
    }
  v.tiling = withoutIdleStages(GemmTmaTiling{64, 64, 12, false}, kWgmmaStepBytes);
  cases.push_back({v, mapped});
  v.tiling = kGemmTmaTilings[1];
  v.width = 1;
  cases.push_back({v, {{77, 197, 144, 1}, {513, 513, 208, 1}, {1, 1, 16, 1}}});
  v.tiling = GemmWgmmaTiling{64, 64, 4, 1};
  v.bConstant = false;
  for (int width : {2, 4, 8}) { // K, and columns, that allow only narrow vectors
    v.aVector = v.bVector = v.width = width;
    cases.push_back({v, {{33, 101 * width, 77 * width, 3}}});
  }
  addLayouts(cases, v);
  v.a = v.b = Layout::kUnit;
  v.width = 8;
  v.linear = false;
  for (int vector : {16, 4}) { // windows of an image in zeros
    v.aVector = v.bVector = vector;
    v.padded = vector == 16;
    cases.push_back({v, {{197, 208, 144, 1}, {513, 200, 272, 1}}});
  }
}

/// Products of an encoder's layers and of ResNet's, at a batch of 32, among them.
void addTimings(std::vector<GemmCase> &cases) {
  auto add = [&](auto tiling, GemmShape shape) {
    GemmVariant v;
    v.tiling = tiling;
    v.element = kIntegers[1], v.elementB = kIntegers[0];
    v.aVector = v.bVector = 16;
    v.n = shape.n, v.k = shape.k;
    v.bTransposed = true;
    v.residual = false;
    cases.push_back({v, {shape}});
  };
  for (GemmShape shape : {GemmShape{1, 768, 768, 1},
                          {128, 768, 768, 1},
                          {128, 3072, 768, 1},
                          {4096, 768, 768, 1},
                          {4096, 3072, 768, 1},
                          {4096, 768, 3072, 1},
                          {4096, 4096, 4096, 1},
                          {4096, 2304, 768, 1},
                          {100352, 64, 64, 1},
                          {100352, 256, 64, 1},
                          {100352, 64, 256, 1},
                          {25088, 128, 512, 1},
                          {25088, 512, 128, 1},
                          {6272, 1024, 256, 1},
                          {6272, 256, 1024, 1},
                          {1568, 2048, 512, 1},
                          {1568, 512, 2048, 1}}) {
    if (shape.m <= 128) // no product of more rows is computed by mma here
      for (const GemmTiling &tiling : kGemmInt8)
        add(tiling, shape);
    if (shape.m == 1)
      continue;
    for (const GemmWgmmaTiling &tiling : kGemmWgmmaTilings)
      add(tiling, shape);
    if (shape.k <= kShallowBytes)
      for (const GemmWgmmaTiling &tiling : kGemmShallowTilings)
        add(tiling, shape);
    for (const GemmTmaTiling &tiling : kGemmTmaTilings)
      add(tiling, shape);
  }
}

/// Of many rows: the benchmark's.
void addTimingsOfManyRows(std::vector<GemmCase> &cases, const ByteTypes &types) {
  constexpr int kSizes[][2] = {{768, 768},   {2304, 768},   {3072, 768},  {768, 3072},
                               {4096, 4096}, {14336, 4096}, {4096, 14336}};
  GemmVariant v;
  v.aVector = v.bVector = 16;
  v.bTransposed = true;
  v.activation = v.residual = false;
  v.element = v.elementB.emplace(types[0]);
  auto add = [&](const GemmTmaTiling &tiling) {
    bool isOfManyRows = tiling.blockM == 128 || tiling.teams() == 3;
    for (auto [n, k] : kSizes) {
      v.tiling = tiling;
      v.n = n, v.k = k;
      bool stays = tiling.residentSteps == 0 || k <= tiling.residentSteps * kWgmmaStepBytes;
      if (isOfManyRows && stays && isChosen(types, tiling))
        cases.push_back({v, {{2048, n, k, 1}, {4096, n, k, 1}, {16384, n, k, 1}}});
    }
  };
  for (const GemmTmaTiling &tiling : kGemmTmaTilings)
    add(tiling);
  for (const GemmTmaTiling &tiling : kGemmResidentTilings)
    add(tiling);
}

} // namespace

std::vector<GemmCase> byteChecks() {
  std::vector<GemmCase> cases;
  for (const ByteTypes *types : {&kIntegers, &kFloats8}) {
    addBytes(cases, *types);
    addBytesOnHopper(cases, *types);
    addFree(cases, *types);
  }
  addStoredBytes(cases);
  return cases;
}

std::vector<GemmCase> byteTimings() {
  std::vector<GemmCase> cases;
  addTimings(cases);
  for (const ByteTypes *types : {&kIntegers, &kFloats8})
    addTimingsOfManyRows(cases, *types);
  return cases;
}

} // namespace smelt::kernel_tests
