// The GEMM variants and shapes of the kernel tests.
#include "tests/kernels/variants.h"

namespace smelt::kernel_tests {

namespace {

// Tilings by use; the numbers are block M, N, K, warps M, N, stages, cluster, warps K.
constexpr GemmTiling kLatency[] = {
    {64, 64, 64, 2, 2, 4, 1, 2}, {64, 64, 64, 2, 2, 4, 2, 2},  {64, 64, 64, 2, 2, 4, 4, 1},
    {64, 64, 64, 2, 2, 4, 8, 2}, {64, 32, 64, 2, 2, 6, 1, 1},  {64, 32, 64, 2, 2, 6, 2, 2},
    {32, 64, 64, 2, 2, 6, 2, 1}, {16, 64, 128, 1, 4, 4, 4},    {128, 64, 64, 4, 2, 3, 8},
    {64, 48, 64, 2, 3, 6, 1},    {32, 32, 128, 2, 2, 3, 1, 4},
};
constexpr GemmTiling kThroughput[] = {
    {128, 128, 32, 2, 2, 4, 1},
    {128, 128, 64, 2, 4, 3, 1},
    {128, 256, 32, 2, 4, 4, 1},
    {64, 128, 64, 2, 2, 4, 1},
};

const std::vector<GemmShape> kOddShapes = {
    {1, 768, 768, 1}, {77, 384, 1536, 1}, {197, 768, 768, 1}, {513, 200, 136, 1}, {128, 64, 64, 1}};

// Block M, N, stages, cluster.
constexpr GemmWgmmaTiling kWgmma[] = {
    {64, 32, 6, 2},   {64, 48, 5, 1},   {64, 64, 6, 4},   {64, 64, 6, 1},
    {64, 96, 5, 8},   {64, 128, 5, 1},  {128, 64, 5, 8},  {128, 128, 4, 1},
    {128, 192, 4, 1}, {128, 256, 4, 1}, {256, 128, 4, 1},
};

template <class Tiling> GemmVariant variant(Tiling tiling) {
  GemmVariant v;
  v.tiling = tiling;
  return v;
}

GemmVariant simtVariant(GemmSimtTiling tiling) {
  GemmVariant v;
  v.tiling = tiling;
  v.element = Element::kFloat;
  v.aVector = v.bVector = 4;
  return v;
}

// Block M, N, K, elements of a thread, stages, cluster.
constexpr GemmSimtTiling kSimt[] = {{128, 128, 16, 8, 8, 3, 1},
                                    {64, 64, 16, 8, 4, 4, 1},
                                    {64, 64, 32, 4, 8, 3, 4},
                                    {32, 64, 32, 4, 4, 4, 4},
                                    {16, 64, 32, 2, 4, 4, 8}};

} // namespace

std::vector<GemmCase> gemmChecks() {
  std::vector<GemmCase> cases;
  for (const GemmTiling &tiling : kLatency)
    cases.push_back({variant(tiling), kOddShapes});
  for (const GemmTiling &tiling : kThroughput)
    cases.push_back({variant(tiling), kOddShapes});

  GemmVariant scattered = variant(kLatency[0]); // addresses that are asked for one by one
  scattered.linear = false;
  cases.push_back({scattered, kOddShapes});
  for (const GemmTiling &tiling : {kLatency[0], kLatency[2], kThroughput[1]}) {
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
  GemmVariant logits = variant(kThroughput[1]); // 50257 columns: only single elements are aligned
  logits.bTransposed = true;
  logits.width = 1;
  cases.push_back({logits, {{13, 50257, 768, 1}}});

  for (const GemmWgmmaTiling &tiling : kWgmma)
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

  for (bool transposed : {false, true}) { // tf32
    GemmVariant v = variant(GemmTiling{64, 64, 32, 2, 2, 4, 1});
    v.element = Element::kFloat;
    v.aVector = v.bVector = 4;
    v.bTransposed = transposed;
    cases.push_back({v, kOddShapes});
    v.tiling = GemmTiling{64, 64, 16, 2, 2, 4, 1};
    v.aVector = v.bVector = v.width = 1;
    cases.push_back({v, {{77, 101, 77, 1}}});
  }
  for (const GemmSimtTiling &tiling : kSimt)
    for (bool transposed : {false, true}) {
      GemmVariant v = simtVariant(tiling);
      v.bTransposed = transposed;
      cases.push_back({v, kOddShapes});
    }
  GemmVariant narrow = simtVariant(kSimt[1]);
  narrow.aVector = narrow.bVector = narrow.width = 1;
  narrow.bConstant = false;
  cases.push_back({narrow, {{77, 101, 77, 2}}});
  narrow.bTransposed = true;
  cases.push_back({narrow, {{77, 101, 77, 2}}});
  return cases;
}

std::vector<GemmCase> gemmTimings() {
  using Tiling = decltype(GemmVariant::tiling);
  using Tensor = GemmTiling;
  using Wgmma = GemmWgmmaTiling;
  using Tilings = std::vector<Tiling>;
  struct Timing {
    GemmShape shape;
    Tilings tilings;
  };
  const Tilings large = {Wgmma{128, 128, 4, 1}, Wgmma{128, 128, 5, 1}, Wgmma{128, 192, 4, 1},
                         Wgmma{128, 256, 4, 1}, Wgmma{256, 128, 4, 1}, Wgmma{64, 256, 4, 1},
                         Wgmma{64, 128, 4, 1},  Wgmma{192, 128, 4, 1}};
  const Tilings square = {Tensor{64, 32, 64, 2, 2, 6, 2, 1},
                          Tensor{64, 48, 64, 2, 3, 4, 2, 1},
                          Wgmma{64, 32, 6, 1},
                          Wgmma{64, 32, 6, 2},
                          Wgmma{64, 32, 8, 2},
                          Wgmma{64, 48, 6, 2},
                          Wgmma{64, 64, 6, 2},
                          Wgmma{64, 64, 6, 4}};
  const Tilings wide = {Tensor{64, 48, 64, 2, 3, 6, 1, 1},
                        Wgmma{64, 48, 6, 1},
                        Wgmma{64, 64, 6, 1},
                        Wgmma{64, 64, 5, 1},
                        Wgmma{64, 64, 6, 2},
                        Wgmma{64, 96, 5, 1},
                        Wgmma{64, 96, 5, 2},
                        Wgmma{64, 128, 5, 1},
                        Wgmma{128, 48, 5, 1},
                        Wgmma{128, 64, 5, 1},
                        Wgmma{128, 96, 4, 1},
                        Wgmma{128, 96, 4, 2}};
  const Tilings deep = {Wgmma{64, 64, 6, 2},  Wgmma{64, 64, 6, 4}, Wgmma{64, 64, 6, 8},
                        Wgmma{64, 32, 6, 2},  Wgmma{64, 32, 6, 4}, Wgmma{64, 48, 6, 2},
                        Wgmma{64, 96, 5, 4},  Wgmma{64, 96, 5, 8}, Wgmma{128, 64, 5, 4},
                        Wgmma{128, 64, 5, 8}, Wgmma{64, 128, 5, 8}};
  const Tilings small = {Tensor{32, 32, 64, 2, 2, 6, 1, 2},
                         Tensor{64, 32, 64, 2, 2, 6, 1, 2},
                         Tensor{64, 32, 64, 2, 2, 6, 1, 1},
                         Tensor{32, 32, 64, 2, 2, 6, 1, 1},
                         Wgmma{64, 32, 6, 1},
                         Wgmma{64, 32, 6, 2},
                         Wgmma{64, 64, 6, 1},
                         Wgmma{64, 48, 6, 1}};
  const Tilings thin = {Tensor{16, 64, 128, 1, 4, 4, 4}, Tensor{16, 32, 128, 1, 2, 4, 4, 1},
                        Tensor{16, 64, 128, 1, 4, 4, 1, 1}, Tensor{16, 32, 256, 1, 2, 3, 1, 4},
                        Tensor{16, 32, 128, 1, 2, 6, 1, 2}};
  const std::vector<Timing> timings = {
      {{128, 768, 768, 1}, square},
      {{128, 2304, 768, 1}, wide},
      {{128, 3072, 768, 1}, wide},
      {{128, 768, 3072, 1}, deep},
      {{128, 384, 384, 1}, small},
      {{128, 1152, 384, 1}, small},
      {{128, 1536, 384, 1}, small},
      {{128, 384, 1536, 1}, deep},
      {{197, 768, 768, 1}, square},
      {{197, 2304, 768, 1}, wide},
      {{197, 3072, 768, 1}, wide},
      {{197, 768, 3072, 1}, deep},
      {{1, 768, 768, 1}, thin},
      {{16, 3072, 768, 1}, thin},
      {{4096, 768, 768, 1}, large},
      {{4096, 2304, 768, 1}, large},
      {{4096, 3072, 768, 1}, large},
      {{4096, 768, 3072, 1}, large},
      {{12608, 3072, 768, 1}, large},
      {{4096, 4096, 4096, 1}, large},
      {{128, 50257, 768, 1},
       {Wgmma{128, 128, 4, 1}, Wgmma{64, 128, 5, 1}, Wgmma{128, 64, 5, 1}, Wgmma{128, 256, 4, 1}}},
  };
  std::vector<GemmCase> cases;
  for (const Timing &timing : timings)
    for (const Tiling &tiling : timing.tilings) {
      GemmVariant v;
      v.tiling = tiling;
      v.n = timing.shape.n;
      v.k = timing.shape.k;
      v.bTransposed = v.n % 8 != 0; // the tied embeddings
      v.width = v.n % 8 == 0 ? 8 : 1;
      v.activation = v.n == 4 * v.k; // what follows the product in an encoder layer
      v.residual = v.n <= v.k;
      cases.push_back({v, {timing.shape}});
    }
  for (const GemmSimtTiling &tiling : kSimt) {
    GemmVariant v = simtVariant(tiling);
    cases.push_back({v,
                     {{128, 384, 384, 1},
                      {128, 1536, 384, 1},
                      {128, 384, 1536, 1},
                      {128, 768, 768, 1},
                      {4096, 768, 768, 1}}});
  }
  return cases;
}

} // namespace smelt::kernel_tests
