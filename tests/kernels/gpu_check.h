// What the GPU checks of all templates share: where kernels come from, random data, error measures,
// and the report.
#pragma once

#include <map>
#include <optional>
#include <random>

#include "tests/kernels/gpu.h"
#include "tests/kernels/nvrtc_compiler.h"
#include "tests/kernels/variants.h"

namespace smelt::kernel_tests {

struct CheckOptions {
  std::string cubins; // folder of cubins made by kernel_compile; empty: compile with NVRTC
  std::string source = SMELT_SOURCE_DIR; // the repository, for the templates that are compiled
  std::string nvrtc; // the library that compiles; empty: the one that is installed
  std::string filter, json;
  bool checks = true, timings = true;
  bool small = false;         // only shapes that a sanitizer runs in seconds
  size_t part = 0, parts = 1; // of the checks that are selected, every parts-th from this one on
  double load = 0;            // seconds of each kernel before it is timed
};

struct Result {
  std::string kernel, shape;
  // A check's error norm and worst element, or a timing's microseconds and rate.
  bool timing = false, passed = true;
  double error = 0, worst = 0, plainTime = 0, programmaticTime = 0, teraflops = 0;
  std::string remark = "";
};

/// Error of `out` against `reference`: the norm of the difference over that of the reference, and
/// the largest difference over the reference's root mean square. NaN where one of them has NaN and
/// the other not.
struct Errors {
  double norm, worst;
};
Errors compare(const std::vector<double> &out, const std::vector<double> &reference);

class Checker {
public:
  Checker(Gpu &gpu, CheckOptions options);

  void checkGemms();
  void checkAttentions();
  void checkReductions();
  void timeGemms();
  void timeAttentions();

  /// Writes the JSON report and the summary; number of failures.
  int finish() const;

private:
  CUfunction load(const KernelText &kernel, const std::string &function);
  bool selected(const KernelText &kernel) const;
  /// The same of a check, each of which asks once.
  bool isInPart(const KernelText &kernel, bool isSmall);
  void add(Result result);

  void checkGemm(const GemmVariant &variant, const GemmShape &shape);
  Buffer imagesOf(const GemmVariant &variant, const GemmShape &shape, Buffer &a);
  void timeGemm(const GemmVariant &variant, const GemmShape &shape);
  void checkAttention(const AttentionVariant &variant, const AttentionShape &shape);
  void timeAttention(const AttentionVariant &variant, const AttentionShape &shape);
  void checkReduction(const ReductionVariant &variant, const ReductionShape &shape);

  Gpu &gpu_;
  CheckOptions options_;
  NvrtcCompiler compiler_;
  std::map<std::string, CUfunction> functions_;
  std::vector<Result> results_;
  size_t asked_ = 0; // checks that are selected, whether in this part or not
  std::mt19937 random_{20240517};

  /// A buffer of `count` random elements, uniform in [-scale, scale]; integers of any value.
  Buffer randomBuffer(Element element, size_t count, float scale);
  /// The values of a poisoned buffer that a kernel has written. What is still poison becomes
  /// infinity, which no reference is, so that it fails even where NaN is expected: the NaN that the
  /// hardware makes has other bits. Integers stay as they are: all bits are values.
  std::vector<double> download(const Buffer &buffer, Element element) const;
};

/// Bits of a float rounded to `element`, a float type; and what the bits of any element stand for.
uint32_t encode(Element element, float value);
double decode(Element element, uint32_t bits);

} // namespace smelt::kernel_tests
