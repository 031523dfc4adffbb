// Does the cost model of the wgmma tilings choose well? It is held against times measured on an
// H200 (h200_gemm_wgmma.txt): for every shape, the tiling that it would choose among the measured
// ones of kGemmWgmmaTilings, against the best of all that were measured.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <tuple>
#include <vector>

#include "codegen/kernels/gemm/gemm_config.cuh"

namespace {

struct Measured {
  smelt::GemmWgmmaTiling tiling;
  double microseconds;
};
using Shape = std::tuple<int, int, int>;

std::map<Shape, std::vector<Measured>> readMeasurements(const char *path) {
  std::map<Shape, std::vector<Measured>> shapes;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    int m, n, k;
    Measured x{};
    auto &t = x.tiling;
    if ((in >> m >> n >> k >> t.blockM >> t.blockN >> t.stages >> t.clusterK >> t.helpers >>
         x.microseconds))
      shapes[{m, n, k}].push_back(x);
  }
  return shapes;
}

bool isOffered(const smelt::GemmWgmmaTiling &t) {
  return std::any_of(std::begin(smelt::kGemmWgmmaTilings), std::end(smelt::kGemmWgmmaTilings),
                     [&](const smelt::GemmWgmmaTiling &other) {
                       return t.blockM == other.blockM && t.blockN == other.blockN &&
                              t.stages == other.stages && t.clusterK == other.clusterK &&
                              t.helpers == other.helpers;
                     });
}

} // namespace

int main() {
  constexpr double kMostForOne = 1.15, kMostOnAverage = 1.03;
  constexpr int kMultiprocessors = 132, kElementBytes = 2; // of the GPU and of what was measured
  auto shapes = readMeasurements(SMELT_KERNEL_TESTS_DIR "/../h200_gemm_wgmma.txt");
  double logSum = 0, worst = 1;
  for (const auto &[shape, measured] : shapes) {
    auto [m, n, k] = shape;
    const Measured *chosen = nullptr, *best = nullptr;
    for (const Measured &x : measured) {
      if (!best || x.microseconds < best->microseconds)
        best = &x;
      if (!isOffered(x.tiling))
        continue;
      if (!chosen || estimatedClocks(x.tiling, kMultiprocessors, m, n, kElementBytes * k) <
                         estimatedClocks(chosen->tiling, kMultiprocessors, m, n, kElementBytes * k))
        chosen = &x;
    }
    if (!chosen) {
      std::printf("%5dx%5dx%5d  no offered tiling was measured\n", m, n, k);
      return 1;
    }
    double loss = chosen->microseconds / best->microseconds;
    logSum += std::log(loss);
    worst = loss > worst ? loss : worst;
    std::printf("%5dx%5dx%5d  chosen %3dx%3d cluster %d: %7.2f us, best %7.2f us\n", m, n, k,
                chosen->tiling.blockM, chosen->tiling.blockN, chosen->tiling.clusterK,
                chosen->microseconds, best->microseconds);
  }
  double mean = std::exp(logSum / double(shapes.size()));
  std::printf("%zu shapes: chosen over best %.3f on average, %.3f at worst\n", shapes.size(), mean,
              worst);
  return !shapes.empty() && mean <= kMostOnAverage && worst <= kMostForOne ? 0 : 1;
}
