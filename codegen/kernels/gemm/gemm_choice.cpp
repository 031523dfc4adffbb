// Two models, fitted to timings on an H200 (programmatic launches, cold weights). gemm_wgmma and
// gemm_tma: estimatedClocks() of gemm_config.cuh. The other templates, to about 150 products:
//
//   time = waves * (start + steps * step + finish) , for a block that passes `steps` = K / blockK /
//   clusterK; a step takes as long as the slower of its operands' way to shared memory and its
//   arithmetic, plus the cost of the barrier
//
// One block alone takes in 75 KB a microsecond, the blocks of one multiprocessor together 100, those
// of all of them 53 each. Blocks that fit a multiprocessor side by side share its rates; those that fit
// nowhere wait for the next wave. A cluster pays for the exchange of its sums. Only the order of
// the configurations matters: measured and modelled best agree within 10 % on the fitted set.
#include "codegen/kernels/gemm/gemm_choice.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

using llvm::ArrayRef;

namespace smelt::codegen {

namespace {

// Microseconds, and bytes or FLOPs a microsecond.
constexpr double kStart = 0.9, kBarrier = 0.02, kFinishPerElement = 0.01;
constexpr double kBlockFeed = 75e3, kMultiprocessorFeed = 100e3;
constexpr double kSharedFeed = 53e3; // of a multiprocessor while all take in
constexpr double kClockPerMicrosecond = 1700, kWgmmaClockPerMicrosecond = 1840;
/// Of the exchange between 1, 2, 4 and 8 blocks of a cluster.
constexpr double exchange(int clusterK) {
  return clusterK == 1 ? 0 : clusterK == 2 ? 0.7 : clusterK == 4 ? 1.6 : 2.8;
}

constexpr int kReservedSharedBytes = 1024; // of every resident block
constexpr int kMaxResident = 3;

/// Shares of the peak that the main loops reach: mma.sync where wgmma exists and where not, tf32,
/// and FFMA.
constexpr double kMmaBesideWgmma = 0.5, kMma = 0.8, kMmaTf32 = 0.4, kSimt = 0.75;

/// A number of a configuration, by its name.
struct Parameter {
  const char *name;
  int value;
};

std::string instantiation(const char *config, ArrayRef<Parameter> parameters) {
  std::string text;
  for (const Parameter &parameter : parameters)
    text += (text.empty() ? "" : ", ") + std::string("/*") + parameter.name + "*/ " +
            std::to_string(parameter.value);
  return std::string(config) + "<" + text + ">";
}

std::string nameForPeople(const char *instruction, ArrayRef<Parameter> parameters) {
  std::string text = instruction;
  for (const Parameter &parameter : parameters)
    text += (&parameter == parameters.begin() ? " " : ", ") + std::string(parameter.name) + " " +
            std::to_string(parameter.value);
  return text;
}

template <class Tiling>
GemmChoice describe(const Tiling &t, int blockK, int sharedBytes, std::array<const char *, 4> names,
                    ArrayRef<Parameter> parameters) {
  auto [instruction, header, function, config] = names;
  return {header,
          function,
          instantiation(config, parameters),
          nameForPeople(instruction, parameters),
          t.blockM,
          t.blockN,
          blockK,
          t.clusterK,
          t.threads(),
          sharedBytes};
}

GemmChoice describe(const GemmWgmmaTiling &t) {
  return describe(t, t.kBlockK, t.sharedBytes(),
                  {"wgmma", "gemm_wgmma", "gemmWgmma", "GemmWgmmaConfig"},
                  {{"blockM", t.blockM},
                   {"blockN", t.blockN},
                   {"stages", t.stages},
                   {"clusterK", t.clusterK},
                   {"helpers", t.helpers}});
}

GemmChoice describe(const GemmTmaTiling &t) {
  GemmChoice choice = describe(t, t.kBlockK, t.sharedBytes(),
                               {"wgmma, tma", "gemm_tma", "gemmTma", "GemmTmaConfig"},
                               {{"blockN", t.blockN}, {"stages", t.stages}});
  choice.usesTensorMaps = true;
  return choice;
}

GemmChoice describe(const GemmTiling &t, int elementBytes) {
  return describe(t, t.blockK, t.sharedBytes(elementBytes), {"mma", "gemm", "gemm", "GemmConfig"},
                  {{"blockM", t.blockM},
                   {"blockN", t.blockN},
                   {"blockK", t.blockK},
                   {"warpsM", t.warpsM},
                   {"warpsN", t.warpsN},
                   {"stages", t.stages},
                   {"clusterK", t.clusterK},
                   {"warpsK", t.warpsK}});
}

GemmChoice describe(const GemmSimtTiling &t) {
  return describe(t, t.blockK, t.sharedBytes(), {"simt", "gemm_simt", "gemmSimt", "GemmSimtConfig"},
                  {{"blockM", t.blockM},
                   {"blockN", t.blockN},
                   {"blockK", t.blockK},
                   {"threadM", t.threadM},
                   {"threadN", t.threadN},
                   {"stages", t.stages},
                   {"clusterK", t.clusterK}});
}

/// Ranks the tilings for one product on one target.
class Ranking {
public:
  Ranking(const GemmShape &shape, GemmPrecision precision, const Target &target)
      : shape(shape), precision(precision), target(target) {}

  std::vector<GemmChoice> run();

private:
  bool fits(const GemmChoice &choice) const {
    return choice.sharedBytes + choice.blockM * shape.sharedBytesPerRow <=
               target.limits.sharedBytesPerBlock &&
           (choice.clusterK == 1 || target.instructions.clusters);
  }
  void add(GemmChoice choice, double microseconds) {
    choice.microseconds = microseconds;
    if (fits(choice))
      ranked.push_back(std::move(choice));
  }
  void addMma(ArrayRef<GemmTiling> tilings, int elementBytes, double flopsPerClock);
  void addHalfWidth();
  double microseconds(const GemmChoice &choice, int elementBytes, double flopsPerClock) const;

  const GemmShape &shape;
  GemmPrecision precision;
  const Target &target;
  std::vector<GemmChoice> ranked;
};

/// The model of the templates without wgmma; `flopsPerClock` of one multiprocessor.
double Ranking::microseconds(const GemmChoice &c, int elementBytes, double flopsPerClock) const {
  int multiprocessors = target.part.multiprocessors;
  double tiles =
      std::ceil(double(shape.m) / c.blockM) * std::ceil(double(shape.n) / c.blockN) * shape.batches;
  double blocks = tiles * c.clusterK;
  int resident = std::clamp(
      std::min(target.limits.sharedBytesPerBlock / (c.sharedBytes + kReservedSharedBytes),
               target.limits.threadsPerMultiprocessor / c.threads),
      1, kMaxResident);
  double atOnce = std::min<double>(blocks, multiprocessors * resident);
  double together = std::ceil(atOnce / multiprocessors);
  double feed = std::min(
      {kBlockFeed, kMultiprocessorFeed / together, kSharedFeed * multiprocessors / atOnce});
  double bytes = double(c.blockM + c.blockN) * c.blockK * elementBytes;
  double arithmetic =
      2.0 * c.blockM * c.blockN * c.blockK * together / (flopsPerClock * kClockPerMicrosecond);
  double steps = std::ceil(std::ceil(double(shape.k) / c.blockK) / c.clusterK);
  double step = std::max(bytes / feed, arithmetic) + kBarrier;
  double finish =
      kFinishPerElement * c.blockM * c.blockN / c.threads / c.clusterK + exchange(c.clusterK);
  return std::ceil(blocks / (multiprocessors * resident)) * (kStart + steps * step + finish);
}

void Ranking::addMma(ArrayRef<GemmTiling> tilings, int elementBytes, double flopsPerClock) {
  for (const GemmTiling &tiling : tilings) {
    GemmChoice choice = describe(tiling, elementBytes);
    double time = microseconds(choice, elementBytes, flopsPerClock);
    add(std::move(choice), time);
  }
}

void Ranking::addHalfWidth() {
  bool hasWgmma = target.instructions.wgmma;
  double flops = target.flopsPerClock.half * (hasWgmma ? kMmaBesideWgmma : kMma);
  addMma({kGemmFewRows, kGemmFewRowsSplit, kGemmSmall, kGemmPortable[0], kGemmPortable[1]}, 2,
         flops);
  if (!hasWgmma)
    return addMma(ArrayRef(kGemmPortable).drop_front(2), 2, flops);
  auto addModelled = [&](auto tiling) {
    add(describe(tiling), estimatedClocks(tiling, target.part.multiprocessors, shape.m, shape.n,
                                          shape.k, shape.batches) /
                              kWgmmaClockPerMicrosecond);
  };
  llvm::for_each(kGemmWgmmaTilings, addModelled);
  if (shape.allowsTensorMaps && shape.batches == 1 && target.instructions.tensorMaps)
    llvm::for_each(kGemmTmaTilings, addModelled);
}

std::vector<GemmChoice> Ranking::run() {
  switch (precision) {
  case GemmPrecision::halfWidth:
    addHalfWidth();
    break;
  case GemmPrecision::tf32:
    addMma(kGemmTf32, 4, target.flopsPerClock.tf32 * kMmaTf32);
    break;
  case GemmPrecision::float32:
    for (const GemmSimtTiling &tiling : kGemmSimtTilings) {
      GemmChoice choice = describe(tiling);
      double time = microseconds(choice, 4, target.flopsPerClock.float32 * kSimt);
      add(std::move(choice), time);
    }
  }
  llvm::sort(ranked, [](const GemmChoice &a, const GemmChoice &b) {
    return std::tie(a.microseconds, a.config) < std::tie(b.microseconds, b.config);
  });
  return std::move(ranked);
}

} // namespace

std::vector<GemmChoice> rankGemmTilings(const GemmShape &shape, GemmPrecision precision,
                                        const Target &target) {
  return Ranking(shape, precision, target).run();
}

} // namespace smelt::codegen
