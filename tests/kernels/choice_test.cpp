// Do the cost models of Hopper's tilings choose well? They are held against times measured on an H200
// (h200_gemm_wgmma.txt, h200_gemm_tma.txt, h200_gemm_bytes.txt, h200_gemm_integers.txt, h200_gemm_floats8*.txt,
// h200_gemm_many_rows*.txt): for every product, the tiling that a model would choose
// among the measured ones that are offered, against the best of all that were measured. Few rows, for which all
// templates compete: tests/codegen/gemm_choice_test.cpp.
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

#include "codegen/kernels/gemm/gemm_tma_costs.h"
#include "codegen/kernels/gemm/gemm_wgmma_costs.h"

namespace {

using namespace smelt;

constexpr int kMultiprocessors = 132;
constexpr long long kHalfBytes = 2; // of an operand's element

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

bool isSame(const GemmWgmmaTiling &a, const GemmWgmmaTiling &b) {
  return a.blockM == b.blockM && a.blockN == b.blockN && a.stages == b.stages &&
         a.clusterK == b.clusterK && a.helpers == b.helpers;
}

bool isSame(const GemmTmaTiling &a, const GemmTmaTiling &b) {
  return a.blockM == b.blockM && a.blockN == b.blockN && a.stages == b.stages &&
         a.pingPong == b.pingPong && a.clusterK == b.clusterK;
}

template <class Tiling, size_t Count>
bool isAmong(const Tiling (&offered)[Count], const Tiling &tiling) {
  return std::any_of(std::begin(offered), std::end(offered),
                     [&](const Tiling &each) { return isSame(each, tiling); });
}

/// C's rows, columns, and the bytes along K.
struct Product {
  int m, n, k;
};

bool read(std::istream &in, Product &p) { return bool(in >> p.m >> p.n >> p.k); }

bool read(std::istream &in, GemmWgmmaTiling &t) {
  return bool(in >> t.blockM >> t.blockN >> t.stages >> t.clusterK >> t.helpers);
}

bool read(std::istream &in, GemmTmaTiling &t) {
  t.blockM = 128;
  return bool(in >> t.blockN >> t.stages >> t.pingPong);
}

/// With all that a tiling is.
bool readWhole(std::istream &in, GemmTmaTiling &t) {
  return bool(in >> t.blockM >> t.blockN >> t.stages >> t.pingPong >> t.clusterK >> t.oneTile >>
              t.residentSteps);
}

std::string describe(const GemmWgmmaTiling &t) {
  return describe(t.blockM, t.blockN, t.stages) + " cluster " + std::to_string(t.clusterK);
}

std::string describe(const GemmTmaTiling &t) {
  return describe(t.blockM, t.blockN, t.stages) + (t.pingPong ? " ping-pong" : " by maps") +
         (t.clusterK > 1 ? " cluster " + std::to_string(t.clusterK) : "");
}

bool parseWgmma(std::istream &in, Products &products) {
  Product p{};
  GemmWgmmaTiling t{};
  double time;
  if (!read(in, p) || !read(in, t) || !(in >> time))
    return false;
  products[describe(p.m, p.n, p.k)].push_back(
      {describe(t), isAmong(kGemmWgmmaTilings, t),
       estimatedClocks(t, kMultiprocessors, p.m, p.n, kHalfBytes * p.k), time});
  return true;
}

bool parseTma(std::istream &in, Products &products) {
  Product p{};
  GemmTmaTiling t{};
  bool storesMoments;
  double time;
  if (!read(in, p) || !read(in, t) || !(in >> storesMoments >> time))
    return false;
  products[describe(p.m, p.n, p.k) + (storesMoments ? " with moments" : "")].push_back(
      {describe(t), isAmong(kGemmTmaTilings, t),
       estimatedClocks(
           t, kMultiprocessors, p.m, p.n, kHalfBytes * p.k, 1,
           gemmMapCosts(WgmmaOperands::halves, {storesMoments, /*isRightAlongK=*/false})),
       time});
  return true;
}

/// Both templates' tilings of products of bytes, by name: "wgmma" or "tma".
bool parseBytes(std::istream &in, Products &products) {
  std::string name;
  Product p{};
  if (!(in >> name) || !read(in, p))
    return false;
  auto add = [&](const auto &tiling, bool isOffered, const auto &costs) {
    double time, clocks = estimatedClocks(tiling, kMultiprocessors, p.m, p.n, p.k, 1, costs);
    if (!(in >> time))
      return false;
    products[describe(p.m, p.n, p.k)].push_back({describe(tiling), isOffered, clocks, time});
    return true;
  };
  if (GemmWgmmaTiling t{}; name == "wgmma")
    return read(in, t) && add(t,
                              isAmong(kGemmWgmmaTilings, t) ||
                                  (p.k <= kShallowBytes && isAmong(kGemmShallowTilings, t)),
                              gemmWgmmaCosts(WgmmaOperands::integers));
  GemmTmaTiling t{};
  return name == "tma" && read(in, t) &&
         add(t, isAmong(kGemmTmaTilings, t), gemmMapCosts(WgmmaOperands::integers));
}

/// Tilings of products of `operands`, which are all offered.
template <WgmmaOperands Operands> bool parseOfBytes(std::istream &in, Products &products) {
  std::string name;
  Product p{};
  if (!(in >> name) || !read(in, p))
    return false;
  auto add = [&](const std::string &tiling, double clocks) {
    double time;
    if (in >> time)
      products[describe(p.m, p.n, p.k)].push_back({tiling, true, clocks, time});
    return bool(in);
  };
  if (GemmWgmmaTiling t{}; name == "wgmma")
    return read(in, t) && add(describe(t), estimatedClocks(t, kMultiprocessors, p.m, p.n, p.k, 1,
                                                           gemmWgmmaCosts(Operands)));
  GemmTmaTiling t{};
  if (name != "tma" || !readWhole(in, t))
    return false;
  t = withoutIdleStages(t, p.k);
  GemmEnds ends;
  ends.isInFragments = true;
  return add(describe(t),
             estimatedClocks(t, kMultiprocessors, p.m, p.n, p.k, 1, gemmMapCosts(Operands, ends)));
}

/// The same of halves, by tensor maps; `IsPlain`: without anything that an epilogue reads of rows.
template <bool IsPlain> bool parseOfManyRows(std::istream &in, Products &products) {
  GemmEnds ends;
  ends.isInFragments = IsPlain;
  ends.readsRows = !IsPlain;
  std::string name;
  Product p{};
  GemmTmaTiling t{};
  double time;
  if (!(in >> name) || name != "tma" || !read(in, p) || !readWhole(in, t) || !(in >> time))
    return false;
  long long kBytes = kHalfBytes * p.k;
  double clocks = estimatedClocks(withoutIdleStages(t, kBytes), kMultiprocessors, p.m, p.n, kBytes,
                                  1, gemmMapCosts(WgmmaOperands::halves, ends));
  products[describe(p.m, p.n, p.k)].push_back({describe(t), true, clocks, time});
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
  bool bytes =
      choosesWell("products of bytes", readMeasurements("h200_gemm_bytes.txt", parseBytes));
  bool integers = choosesWell(
      "products of integers of many rows",
      readMeasurements("h200_gemm_integers.txt", parseOfBytes<WgmmaOperands::integers>));
  bool floats8 =
      choosesWell("products of floats of 8 bits",
                  readMeasurements("h200_gemm_floats8.txt", parseOfBytes<WgmmaOperands::floats8>));
  bool few = choosesWell(
      "the same of up to 256 rows",
      readMeasurements("h200_gemm_floats8_few_rows.txt", parseOfBytes<WgmmaOperands::floats8>));
  bool many = choosesWell("products of halves of many rows",
                          readMeasurements("h200_gemm_many_rows.txt", parseOfManyRows<true>));
  bool manyWithEpilogue =
      choosesWell("the same with bias, GELU and residual",
                  readMeasurements("h200_gemm_many_rows_epilogue.txt", parseOfManyRows<false>));
  return wgmma && tma && bytes && integers && floats8 && few && many && manyWithEpilogue ? 0 : 1;
}
