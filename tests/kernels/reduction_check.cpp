// Correctness of the split reduction on a GPU. Its results must also be the same, bit for bit, each
// time.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "tests/kernels/gpu_check.h"

namespace smelt::kernel_tests {

namespace {

/// ReductionTestArguments of reduction_problem.cuh.
struct ReductionParameters {
  CUdeviceptr data, scratch, out;
  int columns, parts;
};

/// Of float sums of partial sums, as a share of the size that sums of so many elements have.
constexpr double kSumTolerance = 2e-6;

std::string describe(const ReductionShape &s) {
  std::ostringstream out;
  out << s.rows << 'x' << s.columns << " in " << s.parts;
  return out.str();
}

/// What each row comes to, in double.
std::vector<double> referenceOf(const std::vector<double> &elements, const ReductionShape &s,
                                bool takesLargest) {
  std::vector<double> results;
  for (int row = 0; row < s.rows; ++row) {
    auto begin = elements.begin() + ptrdiff_t(row) * s.columns, end = begin + s.columns;
    double result = takesLargest ? -INFINITY : 0;
    for (auto at = begin; at != end; ++at)
      result = takesLargest ? std::max(result, *at) : result + *at;
    results.push_back(result);
  }
  return results;
}

/// The references' root mean square over that size: a sum may come out near zero.
double sizeOf(const std::vector<double> &references, const ReductionShape &s) {
  double square = 0;
  for (double reference : references)
    square += reference * reference;
  return std::sqrt(square / s.rows / s.columns);
}

Launch launchOf(CUfunction function, int blocks, int rows, int threads,
                const ReductionParameters &parameters) {
  Launch launch;
  launch.function = function;
  launch.grid[0] = unsigned(blocks);
  launch.grid[1] = unsigned(rows);
  launch.threads = unsigned(threads);
  launch.parameters.resize(sizeof(parameters));
  std::memcpy(launch.parameters.data(), &parameters, sizeof(parameters));
  return launch;
}

} // namespace

void Checker::checkReduction(const ReductionVariant &variant, const ReductionShape &s) {
  KernelText kernel = variant.kernel();
  Buffer data = randomBuffer(variant.element, size_t(s.rows) * s.columns, 1);
  Buffer scratch = gpu_.buffer(size_t(s.rows) * s.parts * sizeof(float));
  Buffer out = gpu_.buffer(size_t(s.rows) * sizeof(float));
  ReductionParameters parameters{data.data(), scratch.data(), out.data(), s.columns, s.parts};
  auto run = [&] {
    scratch.poison();
    out.poison();
    gpu_.run(
        launchOf(load(kernel, "parts"), s.parts, s.rows, ReductionVariant::kThreads, parameters));
    gpu_.run(launchOf(load(kernel, "combination"), s.rows, 1, ReductionVariant::kCombiningThreads,
                      parameters));
    return download(out, Element::kFloat);
  };
  std::vector<double> results = run(), again = run();
  std::vector<double> references =
      referenceOf(download(data, variant.element), s, variant.takesLargest);
  Errors errors = compare(results, references);
  double size = variant.takesLargest ? 1 : sizeOf(references, s);
  Result result{kernel.name, describe(s)};
  result.error = errors.norm * size;
  result.worst = errors.worst * size;
  bool guards = data.guardsIntact() && scratch.guardsIntact() && out.guardsIntact();
  if (!guards)
    result.remark = "wrote outside a buffer";
  else if (results != again)
    result.remark = "another result the second time";
  double tolerance = variant.takesLargest ? 0 : kSumTolerance;
  result.passed = result.remark.empty() && result.error <= tolerance;
  add(result);
}

void Checker::checkReductions() {
  for (const ReductionCase &c : reductionChecks())
    for (const ReductionShape &shape : c.shapes) {
      bool isSmall = double(shape.rows) * shape.columns < 1e5;
      if (isInPart(c.variant.kernel(), isSmall))
        checkReduction(c.variant, shape);
    }
}

} // namespace smelt::kernel_tests
