// Emits matrix product kernels: finds out what the product is (kernels/gemm/gemm_product.h), where its operands lie
// (kernels/gemm/gemm_operands.h) and what follows it (kernels/gemm/gemm_epilogue.h), chooses the tiling for each range of rows
// (kernels/gemm/gemm_choice.h), and has a kernel written for each (kernels/gemm/gemm_kernels.h).
#include "codegen/kernels/gemm/gemm.h"

#include "codegen/kernel_text.h"
#include "codegen/kernels/gemm/gemm_kernels.h"
#include "codegen/kernels/gemm/gemm_reasons.h"
#include "codegen/kernels/gemm/gemm_sizes.h"
#include "ir/capabilities.h"

#include <map>

using namespace mlir;

namespace smelt::codegen {

namespace {

/// Threads of a block whose operands' addresses are no linear functions of their positions.
constexpr int kMaxScatteredThreads = 256;

class GemmEmitter {
public:
  GemmEmitter(FusionOp fusion, ArrayRef<MatmulOp> matmuls, const Target &target,
              const Selection &selection)
      : product(fusion, matmuls), target(target), selection(selection) {}
  FailureOr<std::vector<KernelVariant>> run();
  FailureOr<TunableProduct> tunable(size_t most);

private:
  LogicalResult analyse();
  std::string refusal(const GemmChoice &choice) const;
  GemmShape shapeOfAnyRows() const;
  LogicalResult reportNoTiling(const GemmShape &shape) const;
  std::vector<GemmRange> rangeOfGivenTiling(const GemmShape &shape) const;
  std::optional<GemmChoice> chooseTiling(const GemmShape &shape, ArrayRef<TilingTime> times) const;
  FailureOr<std::vector<GemmRange>> chooseRanges(const GemmShape &shape,
                                                 ArrayRef<TilingTime> times) const;
  std::string reasons(const GemmShape &shape, ArrayRef<TilingTime> times, const GemmRange &range,
                      int64_t firstRow) const;
  std::optional<TunableProduct::Point> pointAt(GemmShape shape, int64_t rows, size_t most) const;
  GemmPrecision precision() const;
  GemmKernels kernels() const { return {product, operands, epilogue, precision(), target}; }

  GemmProduct product;
  const Target &target;
  const Selection &selection;
  GemmOperands operands;
  GemmEpilogue epilogue;
};

GemmPrecision GemmEmitter::precision() const {
  if (product.lhs.getElementType().isInteger(8))
    return GemmPrecision::int8;
  if (isFloat8Operand(product.lhs.getElementType()))
    return GemmPrecision::float8;
  if (!product.lhs.getElementType().isF32())
    return GemmPrecision::halfWidth;
  return selection.tf32 ? GemmPrecision::tf32 : GemmPrecision::float32;
}

/// Why the product cannot take the tiling; "" where it can.
std::string GemmEmitter::refusal(const GemmChoice &choice) const {
  if (!choice.usesTensorMaps && !(operands.a.isLinear && operands.b.isLinear) &&
      (choice.threads > kMaxScatteredThreads || choice.fillsRegisters))
    return "addresses that are computed one by one take registers that large blocks do not have";
  if (choice.keepsColumns && !(product.columns.asConstant() && product.depth.asConstant()))
    return "its blocks keep all of their columns of a right operand whose sizes are known";
  bool isLargest = choice.header == "gemm" ? choice.blockM * choice.blockN >=
                                                 (choice.splitsFloats ? 128 * 64 : 128 * 128)
                                           : choice.header == "gemm_wgmma" && choice.blockM >= 256;
  if (product.products() > 1 && choice.usesTensorMaps && choice.blockN % 64 != 0 &&
      !operands.b.isTransposed())
    return "two products take turns in panels of 64 columns";
  if (product.products() > 1 && choice.usesTensorMaps && choice.blockM > 128)
    return "three warpgroups have few registers for what becomes of two products";
  if (product.products() > 1 && isLargest)
    return "the epilogue of two products spills beside the sums of the largest tiles";
  if (callsFunctions(product) && choice.header == "gemm_wgmma" && choice.blockM >= 256)
    return "functions spill beside the sums of the largest tiles";
  if (product.storesMoments() && choice.blockN / product.products() % RowMomentsOp::kGroup != 0)
    return "groups of moments do not lie across tiles";
  return "";
}

GemmShape GemmEmitter::shapeOfAnyRows() const {
  auto sizeOr = [](Dim dim, int64_t typical) { // tilings are not for products without elements
    return std::max<int64_t>(dim.asConstant().value_or(typical), 1);
  };
  return {0,
          sizeOr(product.columns, kTypicalSize),
          sizeOr(product.depth, kTypicalSize),
          sizeOr(product.batches, kTypicalBatches),
          epilogue.sharedBytesPerRow(),
          operands.haveTensorMaps() && product.depth.asConstant(),
          product.storesMoments(),
          operands.b.isTransposed(),
          operands.windows.windows.has_value(),
          callsFunctions(product),
          epilogue.inFragments.has_value(),
          epilogue.isLong,
          !epilogue.inputMembers.empty() || epilogue.momentTensors > 0};
}

/// At the last rows of a range; one without an end stands for many.
std::string GemmEmitter::reasons(const GemmShape &shape, ArrayRef<TilingTime> times,
                                 const GemmRange &range, int64_t firstRow) const {
  constexpr int64_t kManyRows = 16384;
  int64_t rows =
      product.rows.asConstant().value_or(range.lastRow.value_or(std::max(2 * firstRow, kManyRows)));
  std::string text =
      gemmReasons(shape, precision(), target, times, std::max<int64_t>(rows, 1), range.choice,
                  [&](const GemmChoice &choice) { return refusal(choice); });
  if (needsAllMultiprocessors(product, range.choice))
    text += "           starts when the kernel before it has ended: neighbours share reads of "
            "weights that the cache does not hold\n";
  return text;
}

LogicalResult GemmEmitter::reportNoTiling(const GemmShape &shape) const {
  InFlightDiagnostic error = MatmulOp(product.matmuls.front()).emitError();
  if (!selection.tiling.empty())
    return error << "the product cannot take the tiling " << selection.tiling;
  return error << "no tiling of a matrix product fits the shared memory of " << target.arch
               << " beside " << shape.sharedBytesPerRow << " bytes a row";
}

/// None where the product cannot take it.
std::vector<GemmRange> GemmEmitter::rangeOfGivenTiling(const GemmShape &shape) const {
  for (GemmChoice &choice : rankGemmTilings(shape, precision(), target))
    if (choice.name == selection.tiling && refusal(choice).empty())
      return {{std::move(choice), std::nullopt}};
  return {};
}

/// The fastest; of those that measurements hardly tell apart, the one that the model prefers. (What is measured is a kernel
/// among its like. BERT at 1x128 took 4.5 % longer by tilings that were 1 and 2 % faster so.)
std::optional<GemmChoice> GemmEmitter::chooseTiling(const GemmShape &shape,
                                                    ArrayRef<TilingTime> times) const {
  constexpr double kAlike = 1.02;
  std::vector<GemmChoice> ranked = rankGemmTilings(shape, precision(), target, times);
  llvm::erase_if(ranked, [&](const GemmChoice &choice) { return !refusal(choice).empty(); });
  if (ranked.empty())
    return std::nullopt;
  auto isAsFast = [&](const GemmChoice &choice) {
    return choice.microseconds <= kAlike * ranked.front().microseconds;
  };
  if (!times.empty())
    for (const GemmChoice &preferred : rankGemmTilings(shape, precision(), target))
      if (auto same = llvm::find(ranked, preferred); same != ranked.end() && isAsFast(*same))
        return *same;
  return ranked.front();
}

/// The tiling for each range of rows; where the number of rows is known, the best for it.
FailureOr<std::vector<GemmRange>> GemmEmitter::chooseRanges(const GemmShape &shape,
                                                            ArrayRef<TilingTime> times) const {
  auto isUsable = [&](const GemmChoice &choice) { return refusal(choice).empty(); };
  std::vector<GemmRange> ranges;
  if (!selection.tiling.empty()) {
    ranges = rangeOfGivenTiling(shape);
  } else if (std::optional<int64_t> rows = product.rows.asConstant()) {
    GemmShape known = shape;
    known.m = std::max<int64_t>(*rows, 1);
    if (std::optional<GemmChoice> best = chooseTiling(known, times))
      ranges.push_back({std::move(*best), std::nullopt});
  } else {
    ranges = chooseGemmRanges(shape, precision(), target, isUsable, times);
  }
  if (ranges.empty())
    return reportNoTiling(shape);
  return ranges;
}

/// None where the product has no such number of rows.
std::optional<TunableProduct::Point> GemmEmitter::pointAt(GemmShape shape, int64_t rows,
                                                          size_t most) const {
  std::map<std::string, int64_t> sizes = sizesFor(product, rows);
  std::optional<int64_t> reached = rowsAt(product, sizes);
  if (!reached)
    return std::nullopt;
  TunableProduct::Point point{*reached, std::move(sizes), {}};
  shape.m = *reached;
  for (const GemmChoice &choice : rankGemmTilings(shape, precision(), target))
    if (point.tilings.size() < most && refusal(choice).empty())
      point.tilings.push_back(choice.name);
  return point;
}

FailureOr<TunableProduct> GemmEmitter::tunable(size_t most) {
  if (failed(analyse()))
    return failure();
  GemmShape shape = shapeOfAnyRows();
  FailureOr<std::vector<GemmRange>> ranges = chooseRanges(shape, {});
  if (failed(ranges))
    return failure();
  TunableProduct tunable{kernels().key(), "", "", {}, {}};
  tunable.description = fusionLabel(product.fusion) + ", " + product.columns.toString() +
                        " columns, " + product.depth.toString() + " deep";
  std::set<int64_t> known;
  std::set<std::string> tilings;
  int64_t firstRow = 0;
  for (const GemmRange &range : *ranges) {
    int64_t rows = product.rows.asConstant().value_or(typicalRows(firstRow, range.lastRow));
    firstRow = range.lastRow.value_or(0) + 1;
    std::optional<TunableProduct::Point> point = pointAt(shape, rows, most);
    if (!point || !known.insert(point->rows).second)
      continue;
    tilings.insert(point->tilings.begin(), point->tilings.end());
    tunable.points.push_back(std::move(*point));
  }
  for (const GemmChoice &choice : rankGemmTilings(shape, precision(), target))
    if (tilings.contains(choice.name))
      tunable.kernels.push_back(kernels().emit(choice).text);
  return tunable;
}

LogicalResult GemmEmitter::analyse() {
  FailureOr<GemmOperands> found = gemmOperands(product, target);
  if (failed(found))
    return failure();
  FailureOr<GemmEpilogue> emitted = emitGemmEpilogue(product);
  if (failed(emitted))
    return failure();
  operands = std::move(*found);
  epilogue = std::move(*emitted);
  return success();
}

FailureOr<std::vector<KernelVariant>> GemmEmitter::run() {
  if (failed(analyse()))
    return failure();
  std::vector<KernelVariant> variants;
  std::map<std::string, GeneratedKernel> written; // ranges may share a tiling
  int64_t firstRow = 0;
  GemmShape shape = shapeOfAnyRows();
  std::string key;
  ArrayRef<TilingTime> times;
  if (selection.tuning && selection.tuning->architecture() == target.arch) {
    key = kernels().key();
    times = selection.tuning->timesOf(key);
  }
  FailureOr<std::vector<GemmRange>> ranges = chooseRanges(shape, times);
  if (failed(ranges))
    return failure();
  for (const GemmRange &range : *ranges) {
    KernelVariant variant;
    variant.clearedResults = product.totals();
    if (range.lastRow || firstRow > 0)
      variant.rule = {product.rows, firstRow,
                      range.lastRow.value_or(std::numeric_limits<int64_t>::max()), "rows"};
    std::string why = reasons(shape, times, range, firstRow);
    firstRow = range.lastRow.value_or(0) + 1;
    auto same = written.find(range.choice.config);
    if (same == written.end())
      same = written.emplace(range.choice.config, kernels().emit(range.choice)).first;
    GeneratedKernel kernel = same->second;
    if (range.choice.isMeasured)
      kernel.tunedBy = key;
    kernel.why = variant.rule.describe() + ": " + why;
    variant.launches.push_back(std::move(kernel));
    variants.push_back(std::move(variant));
  }
  return variants;
}

} // namespace

FailureOr<std::vector<KernelVariant>> emitGemm(FusionOp fusion, const Target &target,
                                               const Selection &selection) {
  SmallVector<MatmulOp, 2> matmuls(fusion.getBlock().getOps<MatmulOp>());
  return GemmEmitter(fusion, matmuls, target, selection).run();
}

FailureOr<TunableProduct> tunableGemm(FusionOp fusion, const Target &target, bool tf32,
                                      size_t most) {
  SmallVector<MatmulOp, 2> matmuls(fusion.getBlock().getOps<MatmulOp>());
  Selection selection{tf32};
  return GemmEmitter(fusion, matmuls, target, selection).tunable(most);
}

} // namespace smelt::codegen
