// Emits matrix product kernels: the tiling for each range of rows, and the text around the product
// (kernels/gemm/gemm_product.h) and what follows it (kernels/gemm/gemm_epilogue.h).
#include "codegen/kernels/gemm/gemm.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/kernels/gemm/gemm_choice.h"
#include "codegen/kernels/gemm/gemm_epilogue.h"
#include "codegen/kernels/gemm/gemm_reasons.h"
#include "codegen/kernels/gemm/gemm_sizes.h"
#include "codegen/kernels/gemm/gemm_text.h"
#include "codegen/kernels/gemm/gemm_windows.h"
#include "codegen/printer.h"
#include "ir/capabilities.h"
#include "ir/element_bytes.h"

#include <map>

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr int64_t kMaxGridZ = 65535;
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
  std::string addressText(const OperandAddress &operand, DimPrinter &printer) const;
  std::string partsText() const;
  std::string constants(const GemmEpilogue &epilogue) const;
  FailureOr<GemmEpilogue> analyse();
  std::string textOf(const GemmChoice &choice, const GemmEpilogue &epilogue,
                     std::set<std::string> &used) const;
  std::string keyOf(const GemmEpilogue &epilogue) const;
  GeneratedKernel emit(const GemmChoice &choice, const GemmEpilogue &epilogue);
  GeneratedKernel launch(const GemmChoice &choice, const GemmEpilogue &epilogue) const;
  bool needsAllMultiprocessors(const GemmChoice &choice) const;
  std::string refusal(const GemmChoice &choice) const;
  GemmShape shapeOf(const GemmEpilogue &epilogue) const;
  LogicalResult reportNoTiling(const GemmShape &shape) const;
  std::vector<GemmRange> rangeOfGivenTiling(const GemmShape &shape) const;
  std::optional<GemmChoice> chooseTiling(const GemmShape &shape, ArrayRef<TilingTime> times) const;
  FailureOr<std::vector<GemmRange>> chooseRanges(const GemmShape &shape,
                                                 ArrayRef<TilingTime> times) const;
  std::string reasons(const GemmShape &shape, ArrayRef<TilingTime> times, const GemmRange &range,
                      int64_t firstRow) const;
  std::optional<TunableProduct::Point> pointAt(GemmShape shape, int64_t rows, size_t most) const;
  GemmPrecision precision() const;
  void describeWindows();
  std::string typeOfLeft(const GemmChoice &choice) const;
  std::string wayOfLeft(const GemmChoice &choice) const;
  TensorMap mapOfLeft(const GemmChoice &choice) const;
  TensorMap mapOfRight(const GemmChoice &choice) const;
  TensorMap mapOf(const OperandAddress &operand, const MatrixLayout &matrix, int boxRows) const;

  GemmProduct product;
  const Target &target;
  const Selection &selection;
  OperandAddress a, b;
  std::optional<MatrixLayout> matrixA, matrixB; ///< where tensor maps can describe the operands
  WindowsOrReason windows;                      ///< A, where it is no matrix
};

plan::Arithmetic arithmeticOf(GemmPrecision precision) {
  switch (precision) {
  case GemmPrecision::halfWidth:
    return plan::Arithmetic::half;
  case GemmPrecision::int8:
    return plan::Arithmetic::int8;
  case GemmPrecision::float8:
    return plan::Arithmetic::float8;
  case GemmPrecision::tf32:
    return plan::Arithmetic::tf32;
  case GemmPrecision::float32:
    return plan::Arithmetic::float32;
  }
  llvm_unreachable("every precision has a case");
}

GemmPrecision GemmEmitter::precision() const {
  if (product.lhs.getElementType().isInteger(8))
    return GemmPrecision::int8;
  if (isFloat8Operand(product.lhs.getElementType()))
    return GemmPrecision::float8;
  if (!product.lhs.getElementType().isF32())
    return GemmPrecision::halfWidth;
  return selection.tf32 ? GemmPrecision::tf32 : GemmPrecision::float32;
}

std::string GemmEmitter::addressText(const OperandAddress &operand, DimPrinter &printer) const {
  std::string offset = printer.print(product.space.collapse(operand.offset)), text, exists;
  for (const InputElement::Guard &guard : operand.guards) // as unsigned: one comparison
    exists += (exists.empty() ? "unsigned(" : " && unsigned(") + printer.print(guard.position) +
              ") < unsigned(" + printer.print(guard.size) + ")";
  for (const IterationSpace::Definition &definition :
       product.space.definitions([&](StringRef symbol) { return printer.uses(symbol); }))
    text += "const int " + definition.symbol.substr(1) + " = " + printer.print(definition.value) +
            ";\n";
  std::string address = inputName(operand.input) + " + " + offset;
  return text + "return " + (exists.empty() ? address : exists + " ? " + address + " : nullptr") +
         ";\n";
}

/// Tensor cores keep 14 bits of sums of floats of 8 bits. After two steps, 256 products, they err by as much as rounding to 16
/// bits at most; what is stored in more bits has each step's sums added in float.
std::string GemmEmitter::partsText() const {
  if (precision() != GemmPrecision::float8)
    return "";
  bool isRounded = llvm::all_of(product.fusion->getResultTypes(), [](Type type) {
    return elementBytes(cast<TensorType>(type).getElementType()) <= 2;
  });
  return "static constexpr int kStepsOfPart = " + std::to_string(isRounded ? 2 : 1) + ";\n";
}

std::string GemmEmitter::constants(const GemmEpilogue &epilogue) const {
  auto flag = [](bool value) { return value ? "true" : "false"; };
  bool isConstant = isWeightExpression(FusionOp(product.fusion).getInputs()[b.input]);
  return format(kConstants, {{"elementA", storageType(product.lhs.getElementType())},
                             {"elementB", storageType(product.rhs.getElementType())},
                             {"sum", computeType(product.output.getElementType())},
                             {"aVector", std::to_string(a.alongK)},
                             {"bVector", std::to_string(std::max(b.alongK, b.alongN))},
                             {"width", std::to_string(epilogue.width)},
                             {"bTransposed", flag(b.isTransposed())},
                             {"bConstant", flag(isConstant)},
                             {"aLinear", flag(a.isLinear)},
                             {"bLinear", flag(b.isLinear)},
                             {"aPadded", flag(!a.guards.empty())},
                             {"aContiguous", flag(a.isContiguousAlongK)},
                             {"bContiguous",
                              flag(b.isTransposed() ? b.isContiguousAlongK : b.isContiguousAlongN)},
                             {"storesMoments", flag(product.storesMoments())},
                             {"rowMoments", std::to_string(epilogue.momentTensors)},
                             {"products", std::to_string(product.products())},
                             {"parts", partsText()}});
}

/// Few rows are soon there, whichever comes first.
bool hasDirection(const GemmChoice &choice) { return choice.header != "gemm_tma_tile"; }

/// What becomes of the sums, in the form that the template wants.
std::string resultsText(const GemmChoice &choice, const GemmEpilogue &epilogue) {
  std::string rowArray = std::to_string(std::max<size_t>(epilogue.momentTensors, 1));
  const std::optional<GemmEpilogue::InFragments> &parts = epilogue.inFragments;
  if (choice.takesTilesInTurn && parts && holdsFragments(choice.blockN, choice.clusterK))
    return format(kEpilogueInFragments, {{"inputPeriod", std::to_string(parts->inputPeriod)},
                                         {"resultBytes", std::to_string(parts->resultBytes)},
                                         {"resultMembers", parts->members},
                                         {"rowArray", rowArray},
                                         {"epilogue", parts->text},
                                         {"stores", parts->stores}});
  return format(kEpilogue, {{"inFragments", choice.usesTensorMaps ? kNotInFragments : ""},
                            {"rowArray", rowArray},
                            {"epilogue", epilogue.text}});
}

/// The kernel's text; `used` receives the sizes that it names.
std::string GemmEmitter::textOf(const GemmChoice &choice, const GemmEpilogue &epilogue,
                                std::set<std::string> &used) const {
  const Bounds &bounds = product.space.getBounds();
  DimPrinter aPrinter(bounds), bPrinter(bounds), printer(bounds);
  std::string addresses;
  used = epilogue.sizes;
  if (!choice.usesTensorMaps)
    addresses =
        format(kAddresses, {{"a", addressText(a, aPrinter)}, {"b", addressText(b, bPrinter)}});
  else if (windows.windows)
    addresses = windowMembers(*windows.windows, used);
  std::string m = printer.print(product.rows), n = printer.print(product.columns),
              k = printer.print(product.depth), batches = printer.print(product.batches);
  for (const DimPrinter *other : {&aPrinter, &bPrinter, &printer})
    used.insert(other->sizes().begin(), other->sizes().end());
  std::vector<std::string> sizes(used.begin(), used.end());
  auto direction = [&](StringRef text) { return hasDirection(choice) ? text.str() : ""; };
  return format(
      kText,
      {{"header", choice.header},
       {"function", choice.function},
       {"left", typeOfLeft(choice)},
       {"constants", constants(epilogue)},
       {"members", problemMembers(product.fusion, sizes) + direction(kDirectionMember)},
       {"m", m},
       {"n", n},
       {"k", k},
       {"batches", batches},
       {"addresses", addresses},
       {"columnMembers", epilogue.columnMembers},
       {"columns", epilogue.columns},
       {"inputMembers", epilogue.inputMembers},
       {"inputs", epilogue.inputs},
       {"prefetch", epilogue.prefetch},
       {"momentGroups", epilogue.momentGroups},
       {"moments", epilogue.moments},
       {"rowScales", epilogue.rowScales},
       {"countMembers", epilogue.countMembers},
       {"addCounts", epilogue.addCounts},
       {"results", resultsText(choice, epilogue)},
       {"config", choice.config},
       {"entry", kEntryName},
       {"parameters", entryParameters(product.fusion, sizes) + direction(kDirectionParameter)},
       {"arguments", entryArguments(product.fusion, sizes) + direction(kDirectionArgument)},
       {"mapParameters", choice.usesTensorMaps ? kMapParameters : ""},
       {"maps", choice.usesTensorMaps ? "mapA, mapB, " : ""}});
}

/// Of the text without a tiling: what it computes, in which order, and where everything lies.
std::string GemmEmitter::keyOf(const GemmEpilogue &epilogue) const {
  constexpr size_t kDigits = 16;
  std::set<std::string> used;
  std::string text = textOf(GemmChoice(), epilogue, used) + std::to_string(int(precision()));
  return KernelCache::key({canonicalText(text)}).substr(0, kDigits);
}

GeneratedKernel GemmEmitter::emit(const GemmChoice &choice, const GemmEpilogue &epilogue) {
  std::set<std::string> used;
  std::string text = textOf(choice, epilogue, used);
  GeneratedKernel kernel = launch(choice, epilogue);
  finishKernel(kernel, product.fusion, std::move(text), choice.name + wayOfLeft(choice), used);
  if (hasDirection(choice))
    kernel.arguments.push_back(KernelArgument::direction());
  if (choice.usesTensorMaps) {
    kernel.arguments.push_back(KernelArgument::tensorMap(mapOfLeft(choice)));
    kernel.arguments.push_back(KernelArgument::tensorMap(mapOfRight(choice)));
  }
  kernel.flops =
      kernel.flops + product.batches * product.rows * product.columns * product.depth * 2;
  return kernel;
}

/// The template's argument, where A is no matrix.
std::string GemmEmitter::typeOfLeft(const GemmChoice &choice) const {
  return choice.usesTensorMaps && windows.windows
             ? ", smelt::WindowRows<" + std::to_string(windows.windows->rowBytes) + ">"
             : "";
}

/// For people: how A arrives, where it is no matrix.
std::string GemmEmitter::wayOfLeft(const GemmChoice &choice) const {
  if (choice.usesTensorMaps)
    return windows.windows ? ", windows" : "";
  return windows.reason.empty() ? "" : ", gathered: " + windows.reason;
}

TensorMap GemmEmitter::mapOfLeft(const GemmChoice &choice) const {
  if (windows.windows)
    return codegen::mapOf(*windows.windows, a.input, product.lhs.getElementType(), choice.blockM);
  return mapOf(a, *matrixA, choice.blockM);
}

TensorMap GemmEmitter::mapOfRight(const GemmChoice &choice) const {
  if (b.isTransposed())
    return mapOf(b, *matrixB, choice.blockN);
  TensorMap map = mapOf(b, *matrixB, choice.blockK);
  int columns = panelColumns(choice.blockN);
  map.box[0] = static_cast<unsigned>(columns);
  if (columns == 32)
    map.swizzle = plan::Swizzle::bytes_64;
  return map;
}

/// Boxes of `boxRows` rows of 128 bytes, as gemm_tma.cuh expects them.
TensorMap GemmEmitter::mapOf(const OperandAddress &operand, const MatrixLayout &matrix,
                             int boxRows) const {
  Type element = product.lhs.getElementType();
  int64_t bytes = elementBytes(element);
  TensorMap map;
  map.buffer = {LaunchBuffer::input, operand.input, {}};
  if (!matrix.offset.isConstant(0))
    map.buffer.offset = matrix.offset * bytes;
  map.elementType = element;
  map.sizes = {matrix.columns, matrix.rows};
  map.byteStrides = {matrix.rowStride * bytes};
  map.box = {static_cast<unsigned>(kWgmmaStepBytes / bytes), static_cast<unsigned>(boxRows)};
  map.swizzle = plan::Swizzle::bytes_128;
  map.l2Promotion = plan::L2Promotion::bytes_256;
  return map;
}

/// Shared memory that an epilogue keeps for every row of a tile.
int sharedBytesPerRow(const GemmEpilogue &epilogue) {
  constexpr int kStatisticsBytes = 2 * sizeof(float); // device/moments.cuh: RowStatistics
  return static_cast<int>(epilogue.momentTensors) * kStatisticsBytes;
}

/// Whether the launch should wait until the one before it has left the GPU. An idle GPU gives neighbouring blocks one GPC,
/// where those that ask for the same part of B at one time get it by one read; blocks that start as others end lie
/// anywhere. That matters where the cache does not hold B (H100: GPT-2 at 8x1024 5.026 ms and 4.889 so, Llama at 1x4096
/// 7.702 and 7.573; of smaller weights BERT, ViT and MiniLM lose 1 to 4 %).
bool GemmEmitter::needsAllMultiprocessors(const GemmChoice &choice) const {
  constexpr int64_t kLargeWeights = int64_t{16} << 20;
  constexpr int kManyRows = 128;
  std::optional<int64_t> columns = product.columns.asConstant(), depth = product.depth.asConstant();
  return choice.usesTensorMaps && choice.blockM >= kManyRows && columns && depth &&
         *columns * *depth * elementBytes(product.rhs.getElementType()) > kLargeWeights;
}

/// The kernel without its text.
GeneratedKernel GemmEmitter::launch(const GemmChoice &choice, const GemmEpilogue &epilogue) const {
  GeneratedKernel kernel;
  MLIRContext *context = product.fusion->getContext();
  auto size = [&](int64_t value) { return Dim::constant(context, value); };
  Dim tilesM = product.rows.ceilDiv(size(choice.blockM));
  Dim tilesN = product.columns.ceilDiv(size(choice.blockN)), tiles = tilesM * tilesN;
  int64_t multiprocessors = target.part.multiprocessors;
  if (choice.keepsColumns)
    multiprocessors = wholeColumns(multiprocessors, *tilesN.asConstant());
  if (choice.takesTilesInTurn)
    tiles = tiles.min(size(multiprocessors));
  kernel.grid = {tiles, size(choice.clusterK), product.batches.min(size(kMaxGridZ))};
  kernel.block = {static_cast<unsigned>(choice.threads), 1, 1};
  kernel.arithmetic = choice.splitsFloats ? plan::Arithmetic::tf32 : arithmeticOf(precision());
  kernel.cluster = {1, static_cast<unsigned>(choice.clusterK), 1};
  kernel.sharedBytes = choice.allSharedBytes(sharedBytesPerRow(epilogue));
  kernel.programmatic = !needsAllMultiprocessors(choice);
  return kernel;
}

/// Why the product cannot take the tiling; "" where it can.
std::string GemmEmitter::refusal(const GemmChoice &choice) const {
  if (!choice.usesTensorMaps && !(a.isLinear && b.isLinear) &&
      (choice.threads > kMaxScatteredThreads || choice.fillsRegisters))
    return "addresses that are computed one by one take registers that large blocks do not have";
  if (choice.keepsColumns && !(product.columns.asConstant() && product.depth.asConstant()))
    return "its blocks keep all of their columns of a right operand whose sizes are known";
  bool isLargest = choice.header == "gemm" ? choice.blockM * choice.blockN >=
                                                 (choice.splitsFloats ? 128 * 64 : 128 * 128)
                                           : choice.header == "gemm_wgmma" && choice.blockM >= 256;
  if (product.products() > 1 && choice.usesTensorMaps && choice.blockN % 64 != 0 &&
      !b.isTransposed())
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

/// Of any number of rows.
GemmShape GemmEmitter::shapeOf(const GemmEpilogue &epilogue) const {
  auto sizeOr = [](Dim dim, int64_t typical) { // tilings are not for products without elements
    return std::max<int64_t>(dim.asConstant().value_or(typical), 1);
  };
  return {0,
          sizeOr(product.columns, kTypicalSize),
          sizeOr(product.depth, kTypicalSize),
          sizeOr(product.batches, kTypicalBatches),
          sharedBytesPerRow(epilogue),
          (matrixA || windows.windows) && matrixB && product.depth.asConstant(),
          product.storesMoments(),
          b.isTransposed(),
          windows.windows.has_value(),
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
  if (needsAllMultiprocessors(range.choice))
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
  FailureOr<GemmEpilogue> epilogue = analyse();
  if (failed(epilogue))
    return failure();
  GemmShape shape = shapeOf(*epilogue);
  FailureOr<std::vector<GemmRange>> ranges = chooseRanges(shape, {});
  if (failed(ranges))
    return failure();
  TunableProduct tunable{keyOf(*epilogue), "", "", {}, {}};
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
      tunable.kernels.push_back(emit(choice, *epilogue).text);
  return tunable;
}

/// Where A is no matrix and the target has a template that could take its windows.
void GemmEmitter::describeWindows() {
  int64_t bytes = elementBytes(product.lhs.getElementType());
  if (matrixA || !target.instructions.tensorMaps || bytes > 2)
    return;
  windows = codegen::describeWindows(product, kWgmmaStepBytes);
  if (!opensWindows(product)) // not worth a word
    windows.reason.clear();
}

/// Finds out where the operands lie and what follows the product.
FailureOr<GemmEpilogue> GemmEmitter::analyse() {
  FailureOr<OperandAddress> left = product.left(), right = product.right();
  if (failed(left) || failed(right))
    return failure();
  a = *left;
  b = *right;
  matrixA = product.leftMatrix(a);
  matrixB = product.rightMatrix(b);
  describeWindows();
  return emitGemmEpilogue(product);
}

FailureOr<std::vector<KernelVariant>> GemmEmitter::run() {
  FailureOr<GemmEpilogue> epilogue = analyse();
  if (failed(epilogue))
    return failure();
  std::vector<KernelVariant> variants;
  std::map<std::string, GeneratedKernel> kernels; // ranges may share a tiling
  int64_t firstRow = 0;
  GemmShape shape = shapeOf(*epilogue);
  std::string key;
  ArrayRef<TilingTime> times;
  if (selection.tuning && selection.tuning->architecture() == target.arch) {
    key = keyOf(*epilogue);
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
    auto same = kernels.find(range.choice.config);
    if (same == kernels.end())
      same = kernels.emplace(range.choice.config, emit(range.choice, *epilogue)).first;
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
