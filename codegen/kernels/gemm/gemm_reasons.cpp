// Tells why a product has its tiling: the candidates with their modelled times, and what rules some out.
#include "codegen/kernels/gemm/gemm_reasons.h"

#include "llvm/Support/FormatVariadic.h"

namespace smelt::codegen {

static constexpr size_t kShown = 12; // of dozens: the others are slower still

static std::string line(const GemmChoice &choice, const GemmChoice &chosen, double fastest,
                        const std::string &refusal) {
  std::string said = choice == chosen ? "this one" : refusal;
  if (choice == chosen && choice.microseconds > fastest)
    said +=
        llvm::formatv(", {0:F1} % more than the fastest, which would be a kernel more to compile",
                      100 * (choice.microseconds / fastest - 1));
  return llvm::formatv("{0,9:F2} us  {1}{2}{3}\n", choice.microseconds, choice.name,
                       choice.isMeasured ? " (measured)" : "", said.empty() ? "" : ": " + said);
}

std::string gemmReasons(GemmShape shape, GemmPrecision precision, const Target &target,
                        llvm::ArrayRef<TilingTime> times, int64_t rows, const GemmChoice &chosen,
                        llvm::function_ref<std::string(const GemmChoice &)> refusal) {
  shape.m = rows;
  std::vector<GemmChoice> ranked = rankGemmTilings(shape, precision, target, times);
  std::string text = llvm::formatv(
      "{0} x {1} x {2} (rows, columns, depth){3}, by the cost model of {4}{5}:\n", rows, shape.n,
      shape.k, shape.batches > 1 ? llvm::formatv(", {0} times", shape.batches).str() : "",
      target.part.name, times.empty() ? "" : ", corrected by measurements");
  size_t shown = 0, left = 0;
  double fastest = 0; // of those that the product can take
  for (const GemmChoice &choice : ranked) {
    std::string why = refusal(choice);
    if (fastest == 0 && why.empty())
      fastest = choice.microseconds;
    if (shown < kShown || choice == chosen)
      text += line(choice, chosen, fastest, why), ++shown;
    else
      ++left;
  }
  if (left > 0)
    text += llvm::formatv("           and {0} more, up to {1:F2} us\n", left,
                          ranked.back().microseconds);
  return text;
}

} // namespace smelt::codegen
