#include "codegen/kernels/gemm/gemm_kernels.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/kernels/gemm/gemm_text.h"
#include "codegen/printer.h"
#include "ir/capabilities.h"
#include "ir/element_bytes.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr int64_t kMaxGridZ = 65535;

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

} // namespace

/// An idle GPU gives neighbouring blocks one GPC,
/// where those that ask for the same part of B at one time get it by one read; blocks that start as others end lie
/// anywhere. That matters where the cache does not hold B (H100: GPT-2 at 8x1024 5.026 ms and 4.889 so, Llama at 1x4096
/// 7.702 and 7.573; of smaller weights BERT, ViT and MiniLM lose 1 to 4 %).
bool needsAllMultiprocessors(const GemmProduct &product, const GemmChoice &choice) {
  constexpr int64_t kLargeWeights = int64_t{16} << 20;
  constexpr int kManyRows = 128;
  std::optional<int64_t> columns = product.columns.asConstant(), depth = product.depth.asConstant();
  return choice.usesTensorMaps && choice.blockM >= kManyRows && columns && depth &&
         *columns * *depth * elementBytes(product.rhs.getElementType()) > kLargeWeights;
}

std::string GemmKernels::addressText(const OperandAddress &operand, DimPrinter &printer) const {
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
std::string GemmKernels::partsText() const {
  if (precision != GemmPrecision::float8)
    return "";
  bool isRounded = llvm::all_of(product.fusion->getResultTypes(), [](Type type) {
    return elementBytes(cast<TensorType>(type).getElementType()) <= 2;
  });
  return "static constexpr int kStepsOfPart = " + std::to_string(isRounded ? 2 : 1) + ";\n";
}

std::string GemmKernels::constants() const {
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

/// The kernel's text; `used` receives the sizes that it names.
std::string GemmKernels::textOf(const GemmChoice &choice, std::set<std::string> &used) const {
  const Bounds &bounds = product.space.getBounds();
  DimPrinter aPrinter(bounds), bPrinter(bounds), printer(bounds);
  std::string addresses;
  used = epilogue.sizes;
  if (!choice.usesTensorMaps)
    addresses =
        format(kAddresses, {{"a", addressText(a, aPrinter)}, {"b", addressText(b, bPrinter)}});
  else if (operands.windows.windows)
    addresses = windowMembers(*operands.windows.windows, used);
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
       {"constants", constants()},
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

std::string GemmKernels::key() const {
  constexpr size_t kDigits = 16;
  std::set<std::string> used;
  std::string text = textOf(GemmChoice(), used) + std::to_string(int(precision));
  return KernelCache::key({canonicalText(text)}).substr(0, kDigits);
}

GeneratedKernel GemmKernels::emit(const GemmChoice &choice) const {
  std::set<std::string> used;
  std::string text = textOf(choice, used);
  GeneratedKernel kernel = launch(choice);
  finishKernel(kernel, product.fusion, std::move(text), choice.name + wayOfLeft(choice), used);
  if (hasDirection(choice))
    kernel.arguments.push_back(KernelArgument::direction());
  if (choice.usesTensorMaps) {
    kernel.arguments.push_back(KernelArgument::tensorMap(mapOfLeft(product, operands, choice)));
    kernel.arguments.push_back(KernelArgument::tensorMap(mapOfRight(product, operands, choice)));
  }
  kernel.flops =
      kernel.flops + product.batches * product.rows * product.columns * product.depth * 2;
  return kernel;
}

/// The template's argument, where A is no matrix.
std::string GemmKernels::typeOfLeft(const GemmChoice &choice) const {
  return choice.usesTensorMaps && operands.windows.windows
             ? ", smelt::WindowRows<" + std::to_string(operands.windows.windows->rowBytes) + ">"
             : "";
}

/// For people: how A arrives, where it is no matrix.
std::string GemmKernels::wayOfLeft(const GemmChoice &choice) const {
  if (choice.usesTensorMaps)
    return operands.windows.windows ? ", windows" : "";
  return operands.windows.reason.empty() ? "" : ", gathered: " + operands.windows.reason;
}

/// The kernel without its text.
GeneratedKernel GemmKernels::launch(const GemmChoice &choice) const {
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
  kernel.arithmetic = choice.splitsFloats ? plan::Arithmetic::tf32 : arithmeticOf(precision);
  kernel.cluster = {1, static_cast<unsigned>(choice.clusterK), 1};
  kernel.sharedBytes = choice.allSharedBytes(epilogue.sharedBytesPerRow());
  kernel.programmatic = !needsAllMultiprocessors(product, choice);
  return kernel;
}

} // namespace smelt::codegen
