// Which template runs a fusion.
#include "codegen/kernel.h"

#include "codegen/kernels/attention/attention.h"
#include "codegen/kernels/columnwise/columnwise.h"
#include "codegen/kernels/gemm/gemm.h"
#include "codegen/kernels/generic/generic.h"
#include "codegen/kernels/pointwise/concatenation.h"
#include "codegen/kernels/pointwise/pointwise.h"
#include "codegen/kernels/rowwise/rowwise.h"
#include "codegen/kernels/selection/selection.h"
#include "codegen/kernels/split_reduction/split_reduction.h"
#include "codegen/kernels/squeeze_excite/squeeze_excite.h"

using namespace mlir;

namespace smelt::codegen {

static FailureOr<std::vector<KernelVariant>> only(FailureOr<KernelVariant> variant) {
  if (failed(variant))
    return failure();
  return std::vector{std::move(*variant)};
}

static FailureOr<std::vector<KernelVariant>> single(FailureOr<GeneratedKernel> kernel) {
  if (failed(kernel))
    return failure();
  KernelVariant variant;
  variant.launches.push_back(std::move(*kernel));
  return std::vector{std::move(variant)};
}

/// Rows in parts where they are few and long, else a row a block.
static FailureOr<std::vector<KernelVariant>> selectRowwise(FusionOp fusion, const Target &target) {
  FailureOr<std::optional<KernelVariant>> split = emitSplitReduction(fusion, target);
  if (failed(split))
    return failure();
  if (*split && !(**split).rule.value)
    return std::vector{std::move(**split)};
  FailureOr<std::vector<KernelVariant>> variants = single(emitRowwise(fusion));
  if (succeeded(variants) && *split)
    variants->insert(variants->begin(), std::move(**split));
  return variants;
}

std::string SizeRule::describe() const {
  if (!value)
    return "always";
  std::string range = std::to_string(first);
  if (last == std::numeric_limits<int64_t>::max())
    range += " or more";
  else if (first != last)
    range += " to " + std::to_string(last);
  return unit.empty() ? range : range + " " + unit;
}

std::vector<const GeneratedKernel *> kernelsOf(ArrayRef<KernelVariant> variants) {
  std::vector<const GeneratedKernel *> kernels;
  for (const KernelVariant &variant : variants)
    for (const GeneratedLaunch &launch : variant.launches)
      if (const auto *kernel = std::get_if<GeneratedKernel>(&launch))
        kernels.push_back(kernel);
  return kernels;
}

/// Whether no sizes of at least 1 satisfy the rule: 197 rows a batch are never 32 or fewer.
static bool isImpossible(const SizeRule &rule) {
  if (!rule.value)
    return false;
  Dim value = rule.value.replace(
      [&](StringRef symbol) { return Dim::symbol(rule.value.getContext(), symbol) + 1; });
  auto constant = [&](int64_t value) { return Dim::constant(rule.value.getContext(), value); };
  bool hasLast = rule.last != std::numeric_limits<int64_t>::max();
  return (hasLast && constant(rule.last + 1).isKnownLessEqual(value)) ||
         (rule.first > 0 && value.isKnownLessEqual(constant(rule.first - 1)));
}

static FailureOr<std::vector<KernelVariant>> emitVariants(FusionOp fusion, const Target &target,
                                                          const Selection &selection) {
  switch (fusion.getKind()) {
  case FusionKind::pointwise:
    return isConcatenationOfMany(fusion) ? emitConcatenation(fusion)
                                         : single(emitPointwise(fusion));
  case FusionKind::rowwise:
    return selectRowwise(fusion, target);
  case FusionKind::gemm:
    return emitGemm(fusion, target, selection);
  case FusionKind::attention:
    return emitAttention(fusion, target);
  case FusionKind::generic:
    return only(emitGeneric(fusion));
  case FusionKind::selection:
    return single(emitSelection(fusion));
  case FusionKind::columnwise:
    return single(emitColumnwise(fusion));
  case FusionKind::squeeze_excite:
    return only(emitSqueezeExcite(fusion, target));
  }
  llvm_unreachable("every kind has a template");
}

FailureOr<std::vector<KernelVariant>> selectKernels(FusionOp fusion, const Target &target,
                                                    const Selection &selection) {
  FailureOr<std::vector<KernelVariant>> variants = emitVariants(fusion, target, selection);
  if (failed(variants))
    return failure();
  // What follows takes the sizes of an empty tensor, at which nothing runs.
  while (variants->size() > 1 && isImpossible(variants->front().rule)) {
    int64_t first = variants->front().rule.first;
    variants->erase(variants->begin());
    int64_t next = variants->front().rule.first;
    for (KernelVariant &variant : *variants)
      if (variant.rule.value && variant.rule.first == next)
        variant.rule.first = std::min(first, next);
  }
  return variants;
}

} // namespace smelt::codegen
