// Do the cost models of Hopper's tilings choose well? They are held against times measured on an H200
// (h200_gemm_wgmma.txt, h200_gemm_tma.txt): for every product, the tiling that a model would choose
// among the measured ones that are offered, against the best of all that were measured.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/kernels/gemm/gemm_config.cuh"

namespace {

using namespace smelt;

constexpr int kMultiprocessors = 132, kElementBytes = 2; // of the GPU and of what was measured

/// One tiling of a product.
struct Measured {
  std::string tiling;
  bool isOffered;
  double estimatedClocks, microseconds;
};
using Products = std::map<std::string, std::vector<Measured>>;

/// Reads all lines but comments; nothing where there is one that `parse` does not understand.
Products readMeasurements(const char *name,
                          const std::function<bool(std::istream &, Products &)> &parse) {
  Products products;
  std::ifstream file(std::string(SMELT_KERNEL_TESTS_DIR "/../") + name);
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    if (line[0] != '#' && !parse(in, products)) {
      std::printf("%s: '%s' is no measurement\n", name, line.c_str());
      return {};
    }
  }
  return products;
}

std::string describe(int m, int n, int k) {
  return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

bool parseWgmma(std::istream &in, Products &products) {
  int m, n, k;
  GemmWgmmaTiling t{};
  double time;
  if (!(in >> m >> n >> k >> t.blockM >> t.blockN >> t.stages >> t.clusterK >> t.helpers >> time))
    return false;
  bool isOffered = std::any_of(
      std::begin(kGemmWgmmaTilings), std::end(kGemmWgmmaTilings), [&](const GemmWgmmaTiling &o) {
        return t.blockM == o.blockM && t.blockN == o.blockN && t.stages == o.stages &&
               t.clusterK == o.clusterK && t.helpers == o.helpers;
      });
  products[describe(m, n, k)].push_back(
      {describe(t.blockM, t.blockN, t.stages) + " cluster " + std::to_string(t.clusterK), isOffered,
       estimatedClocks(t, kMultiprocessors, m, n, kElementBytes * k), time});
  return true;
}

bool parseTma(std::istream &in, Products &products) {
  int m, n, k;
  GemmTmaTiling t{};
  bool storesMoments;
  double time;
  if (!(in >> m >> n >> k >> t.blockN >> t.stages >> t.pingPong >> storesMoments >> time))
    return false;
  bool isOffered = std::any_of(
      std::begin(kGemmTmaTilings), std::end(kGemmTmaTilings), [&](const GemmTmaTiling &o) {
        return t.blockN == o.blockN && t.stages == o.stages && t.pingPong == o.pingPong;
      });
  products[describe(m, n, k) + (storesMoments ? " with moments" : "")].push_back(
      {describe(t.blockM, t.blockN, t.stages) + (t.pingPong ? " ping-pong" : ""), isOffered,
       estimatedClocks(t, kMultiprocessors, m, n, kElementBytes * k, 1,
                       gemmTmaCosts(/*isBytes=*/false, storesMoments)),
       time});
  return true;
}

/// Whether the model's choices are within 3 % of the best on average, and each within 15 %.
bool choosesWell(const char *title, const Products &products) {
  constexpr double kMostForOne = 1.15, kMostOnAverage = 1.03;
  double logSum = 0, worst = 1;
  std::printf("%s\n", title);
  for (const auto &[product, measured] : products) {
    const Measured *chosen = nullptr, *best = nullptr;
    for (const Measured &each : measured) {
      if (!best || each.microseconds < best->microseconds)
        best = &each;
      if (each.isOffered && (!chosen || each.estimatedClocks < chosen->estimatedClocks))
        chosen = &each;
    }
    if (!chosen) {
      std::printf("  %s: no offered tiling was measured\n", product.c_str());
      return false;
    }
    double loss = chosen->microseconds / best->microseconds;
    logSum += std::log(loss);
    worst = std::max(worst, loss);
    std::printf("  %-28s chosen %-24s %8.2f us, best %8.2f us\n", product.c_str(),
                chosen->tiling.c_str(), chosen->microseconds, best->microseconds);
  }
  double mean = std::exp(logSum / double(products.size()));
  std::printf("  %zu products: chosen over best %.3f on average, %.3f at worst\n", products.size(),
              mean, worst);
  return !products.empty() && mean <= kMostOnAverage && worst <= kMostForOne;
}

} // namespace

int main() {
  bool wgmma = choosesWell("gemm_wgmma", readMeasurements("h200_gemm_wgmma.txt", parseWgmma));
  bool tma = choosesWell("gemm_tma", readMeasurements("h200_gemm_tma.txt", parseTma));
  return wgmma && tma ? 0 : 1;
}
