// Emits attention kernels.
//
// The views before query, key and value and after the result become the addresses of rows, or maps of
// the operands where they are regular enough, and the bias becomes a function of (batch, head, query,
// key). Which tilings there are, and when each runs, is attention_choice.h's.
#include "codegen/kernels/attention/attention.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/kernels/attention/attention_choice.h"
#include "codegen/kernels/attention/attention_maps.h"
#include "codegen/printer.h"

#include <numeric>

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr int64_t kMaxGridZ = 65535;

constexpr char kText[] = R"(
#include "device/arithmetic.cuh"
#include "device/vector.cuh"
#include "kernels/attention/$header$.cuh"

namespace smelt {
struct Problem {
  $constants$
  $members$

  __device__ int batches() const { return $batches$; }
  __device__ int heads() const { return $heads$; }
  __device__ int queries() const { return $queries$; }
  __device__ int keys() const { return $keys$; }
  __device__ int causalOffset() const { return keys() - queries(); }
  $addresses$
  __device__ $result$ *out(int b, int h, int i) const { return $outRow$; }
  $bias$
};
using Config = $config$;
} // namespace smelt

extern "C" __global__ void __launch_bounds__(smelt::Config::$threads$, $minBlocks$) $entry$($parameters$) {
  $call$
}
)";

constexpr char kCall[] = R"(
extern __shared__ __align__(1024) char shared[];
smelt::$function$<smelt::Config>(smelt::Problem{$arguments$}, $maps$shared);
)";

constexpr char kCombineCall[] = R"(
smelt::attentionCombine<smelt::Config>(smelt::Problem{$arguments$}, partsOfKeys);
)";

/// How operands are reached where the kernel has no maps of them.
constexpr char kAddresses[] = R"(
__device__ const Element *q(int b, int h, int i) const { return $qRow$; }
__device__ const Element *k(int b, int h, int j) const { return $kRow$; }
__device__ const Element *v(int b, int h, int j) const { return $vRow$; }
)";

std::string mapParameters(ArrayRef<std::string> maps) {
  std::string text;
  for (const std::string &map : maps)
    text += ", const __grid_constant__ smelt::TensorMap " + map;
  return text;
}

/// Of biases that come by a map.
constexpr char kBiasMapConstants[] = R"(
using BiasElement = $element$;
static constexpr bool kBiasByHead = $byHead$, kBiasByBatch = $byBatch$;
)";

constexpr char kConstants[] = R"(
using Element = $element$;
static constexpr int kHeadSize = $head$, kValueSize = $value$, kVector = $vector$;
static constexpr float kScale = $scale$, kSoftcap = $softcap$;
static constexpr bool kCausal = $causal$, kHasBias = $hasBias$, kZeroMaskedRows = $zeroMaskedRows$;
static constexpr bool kBiasByKey = $biasByKey$;
static constexpr int kHeadsOfKeys = $headsOfKeys$; // that read the same keys
)";

constexpr char kBiasText[] = R"(
__device__ __forceinline__ float bias(int b, int h, int i, int j) const {
  constexpr int W = 1;
  $body$
  return $result$;
}
)";

/// One row of an operand or of the result, as an address in a buffer.
struct Row {
  std::string pointer;
  Dim offset;
  unsigned input = 0; ///< an operand's
};

class AttentionEmitter {
public:
  AttentionEmitter(FusionOp fusion, AttentionOp attention, const Target &target)
      : fusion(fusion), attention(attention), target(target),
        query(tensorType(attention.getQuery())), key(tensorType(attention.getKey())),
        value(tensorType(attention.getValue())) {
    b = space.add("b", query.getDim(0));
    h = space.add("h", query.getDim(1));
    i = space.add("i", query.getDim(2));
    j = space.add("j", key.getDim(2));
    d = space.add("d", query.getDim(3));
    e = space.add("e", value.getDim(3));
    g = space.add("g", key.getDim(1));
  }

  FailureOr<std::vector<KernelVariant>> run();

private:
  FailureOr<Row> operandRow(Value operand, Index index);
  Row resultRow();
  LogicalResult findRows();
  int vectorWidth() const;
  bool isBiasedByQuery() const;
  /// Causal tiles have an order of their own (kernels/attention/attention_order.cuh).
  bool hasDirection(const AttentionChoice &choice) {
    return choice.mapped && !attention.getCausal();
  }
  std::optional<HeadLayout> layoutOf(Value operand, const Index &index, bool mayBroadcast = false);
  std::optional<HeadLayout> biasLayout();
  void findLayouts();
  AttentionShape shapeOf() const;
  FailureOr<std::string> biasFunction(ExpressionEmitter &emitter);
  std::string biasMapConstants() const;
  std::string constants(DimPrinter &printer);
  GeneratedKernel launch(const AttentionChoice &choice) const;
  Dim productFlops() const;
  /// The kernels of a choice: that of its template, or the one that merges what that left.
  enum class Kernel { kMain, kCombining };
  FailureOr<std::string> emitText(ExpressionEmitter &emitter, const AttentionChoice &choice,
                                  Kernel which);
  FailureOr<GeneratedKernel> emit(const AttentionChoice &choice);
  FailureOr<GeneratedKernel> emitCombination(const AttentionChoice &choice);
  FailureOr<KernelVariant> emitVariant(const AttentionChoice &choice);

  FusionOp fusion;
  AttentionOp attention;
  const Target &target;
  TensorType query, key, value;
  IterationSpace space;
  Dim b, h, i, j, d, e, g; ///< g: a head of the keys
  Row queryRow, keyRow, valueRow, outRow;
  std::optional<HeadLayout> mappedQuery, mappedKey, mappedValue,
      mappedBias; ///< where maps can describe them
};

/// Follows views back from `operand` at `index` to an input of the fusion.
FailureOr<Row> AttentionEmitter::operandRow(Value operand, Index index) {
  Dim element = index[3];
  FailureOr<InputElement> source = space.throughViews(operand, std::move(index));
  if (failed(source))
    return failure();
  BlockArgument input = source->input;
  Index position = source->index;
  Dim offset = linearize(position, tensorType(input).getShape(), fusion.getContext());
  return Row{inputName(input.getArgNumber()), offset - element, input.getArgNumber()};
}

/// Follows the views behind the attention to the fusion's result.
Row AttentionEmitter::resultRow() {
  Value result = attention.getOutput();
  Index index{b, h, i, e};
  while (!isa<YieldOp>(*result.user_begin())) {
    Operation *view = *result.user_begin();
    index = *resultIndex(view, index, space.getBounds());
    result = view->getResult(0);
  }
  Dim offset = linearize(index, tensorType(result).getShape(), fusion.getContext());
  return Row{outputName(0), offset - e};
}

LogicalResult AttentionEmitter::findRows() {
  MLIRContext *context = fusion.getContext();
  Dim group = h.floorDiv(
      Dim::constant(context, *query.getDim(1).asConstant() / *key.getDim(1).asConstant()),
      space.getBounds());
  auto assign = [](Row &row, FailureOr<Row> found) {
    if (succeeded(found))
      row = *found;
    return failed(found);
  };
  outRow = resultRow();
  return failure(assign(queryRow, operandRow(attention.getQuery(), {b, h, i, d})) ||
                 assign(keyRow, operandRow(attention.getKey(), {b, group, j, d})) ||
                 assign(valueRow, operandRow(attention.getValue(), {b, group, j, e})));
}

/// Elements of the widest access that every row start and head size allows.
int AttentionEmitter::vectorWidth() const {
  int64_t width = 16 / elementBytes(query.getElementType());
  width = std::gcd(width, std::gcd(*query.getDim(3).asConstant(), *value.getDim(3).asConstant()));
  for (const Row *row : {&queryRow, &keyRow, &valueRow, &outRow})
    width = std::gcd(width, knownDivisor(row->offset, Lanes()));
  return static_cast<int>(width);
}

bool AttentionEmitter::isBiasedByQuery() const {
  AttentionOp op = attention;
  return op.getBias() && !tensorType(op.getBias()).getDim(2).isConstant(1);
}

std::optional<HeadLayout> AttentionEmitter::layoutOf(Value operand, const Index &index,
                                                     bool mayBroadcast) {
  FailureOr<Row> found = operandRow(operand, index);
  if (failed(found))
    return std::nullopt;
  return headLayout(found->input, found->offset, index, elementBytes(elementOf(operand)),
                    mayBroadcast);
}

/// Of biases of single scores that lie in memory as they are: views of 16-bit floats.
std::optional<HeadLayout> AttentionEmitter::biasLayout() {
  Value bias = attention.getBias();
  if (!isBiasedByQuery() || !isHalfWidth(elementOf(bias)))
    return std::nullopt;
  for (Operation *op = bias.getDefiningOp(); op; op = op->getOperand(0).getDefiningOp())
    if (!op->hasTrait<View>())
      return std::nullopt;
  std::optional<HeadLayout> layout =
      layoutOf(bias, broadcastIndex({b, h, i, j}, tensorType(bias)), /*mayBroadcast=*/true);
  return layout && layout->isByRow ? layout : std::nullopt;
}

void AttentionEmitter::findLayouts() {
  constexpr int kWidest = 8; // the template stores whole pieces of 16 bytes
  if (!target.instructions.wgmma || query.getElementType().isF32() || vectorWidth() != kWidest ||
      key.getDim(2).isConstant(0))
    return;
  auto always = [&](Value operand, const Index &index) {
    std::optional<HeadLayout> layout = layoutOf(operand, index);
    return layout && layout->misfit.isConstant(0) ? layout : std::nullopt;
  };
  mappedQuery = always(attention.getQuery(), {b, h, i, d});
  mappedKey = always(attention.getKey(), {b, g, j, d});
  mappedValue = always(attention.getValue(), {b, g, j, e});
  mappedBias = biasLayout();
}

AttentionShape AttentionEmitter::shapeOf() const {
  AttentionOp op = attention;
  AttentionShape shape{query.getDim(0),
                       query.getDim(1),
                       query.getDim(2),
                       key.getDim(2),
                       static_cast<int>(*query.getDim(3).asConstant()),
                       static_cast<int>(*value.getDim(3).asConstant())};
  shape.headsOfKeys = static_cast<int>(*query.getDim(1).asConstant() / *key.getDim(1).asConstant());
  shape.isFloat = query.getElementType().isF32();
  shape.isCausal = op.getCausal();
  shape.isBiased = static_cast<bool>(op.getBias());
  shape.isBiasedByQuery = isBiasedByQuery();
  shape.allowsTensorMaps = mappedQuery && mappedKey && mappedValue;
  if (mappedBias)
    shape.biasMisfit = mappedBias->misfit;
  shape.isCapped = !AttentionOp(attention).getSoftcap().isZero();
  return shape;
}

FailureOr<std::string> AttentionEmitter::biasFunction(ExpressionEmitter &emitter) {
  if (!attention.getBias())
    return std::string();
  Index index = broadcastIndex({b, h, i, j}, tensorType(attention.getBias()));
  FailureOr<Operand> operand = emitter.emit(attention.getBias(), index);
  if (failed(operand))
    return failure();
  std::string uniform = emitter.takeUniform(), chunk = emitter.chunk().text();
  std::string definitions = emitter.coordinateDefinitions(uniform + chunk + operand->text);
  return format(kBiasText, {{"body", definitions + uniform + chunk}, {"result", operand->text}});
}

std::string AttentionEmitter::biasMapConstants() const {
  auto flag = [](bool value) { return value ? "true" : "false"; };
  Type element = tensorType(AttentionOp(attention).getBias()).getElementType();
  return format(kBiasMapConstants, {{"element", storageType(element)},
                                    {"byHead", flag(mappedBias->isByHead)},
                                    {"byBatch", flag(mappedBias->isByBatch)}});
}

std::string AttentionEmitter::constants(DimPrinter &printer) {
  auto flag = [](bool value) { return value ? "true" : "false"; };
  Type real = Float32Type::get(fusion.getContext());
  return format(kConstants, {{"element", storageType(query.getElementType())},
                             {"head", printer.print(query.getDim(3))},
                             {"value", printer.print(value.getDim(3))},
                             {"vector", std::to_string(vectorWidth())},
                             {"scale", literal(attention.getScaleAttr(), real)},
                             {"softcap", literal(attention.getSoftcapAttr(), real)},
                             {"causal", flag(attention.getCausal())},
                             {"hasBias", flag(static_cast<bool>(attention.getBias()))},
                             {"zeroMaskedRows", flag(attention.getZeroMaskedRows())},
                             {"biasByKey", flag(attention.getBias() && !isBiasedByQuery())},
                             {"headsOfKeys", std::to_string(shapeOf().headsOfKeys)}});
}

/// The kernel without its text.
GeneratedKernel AttentionEmitter::launch(const AttentionChoice &choice) const {
  GeneratedKernel kernel;
  auto size = [&](int64_t number) { return Dim::constant(query.getContext(), number); };
  Dim blocks = query.getDim(2).ceilDiv(size(choice.blockQ)), heads = query.getDim(1),
      batches = query.getDim(0);
  kernel.grid = {blocks, heads, batches.min(size(kMaxGridZ))};
  if (choice.mapped) { // blocks take tiles in turn, or heads
    Dim tiles = choice.takesHeads() ? heads * batches : blocks * heads * batches;
    kernel.grid = {tiles.min(size(target.part.multiprocessors)), size(1), size(1)};
  }
  if (const auto &decode = choice.decode) {
    kernel.grid = {decode->blocks, decode->parts, batches.min(size(kMaxGridZ))};
    kernel.cluster = {1, static_cast<unsigned>(std::max(decode->cluster, 1)), 1};
  }
  kernel.block = {static_cast<unsigned>(choice.threads), 1, 1};
  kernel.sharedBytes = choice.sharedBytes;
  kernel.arithmetic =
      query.getElementType().isF32() ? plan::Arithmetic::float32 : plan::Arithmetic::half;
  return kernel;
}

/// Of the two products.
Dim AttentionEmitter::productFlops() const {
  Dim scores = query.getDim(0) * query.getDim(1) * query.getDim(2) * key.getDim(2);
  return scores * (query.getDim(3) + value.getDim(3)) * 2;
}

FailureOr<std::string> AttentionEmitter::emitText(ExpressionEmitter &emitter,
                                                  const AttentionChoice &choice, Kernel which) {
  FailureOr<std::string> bias = choice.takesBiasMap() ? biasMapConstants() : biasFunction(emitter);
  if (failed(bias))
    return failure();
  std::vector<std::string> maps;
  if (choice.mapped)
    maps = {"mapQ", "mapK", "mapV"};
  if (choice.takesBiasMap())
    maps.push_back("mapBias");
  auto row = [&](const Row &r) { return r.pointer + " + " + emitter.printUniform(r.offset); };
  auto keysRow = [&](const Row &r) {
    BlockArgument input = fusion.getBlock().getArgument(r.input);
    std::optional<int64_t> count = tensorType(input).getNumElements().asConstant();
    bool fits = !isReadAsKeys(input) || (count && *count <= DimPrinter::kMaxElements);
    return fits ? row(r) : r.pointer + " + " + emitter.printUniformWide(r.offset);
  };
  auto size = [&](Dim dim) { return emitter.printer().print(dim); };
  std::string addresses;
  if (!choice.mapped) {
    std::string q = row(queryRow), k = keysRow(keyRow), v = keysRow(valueRow);
    addresses = format(kAddresses, {{"qRow", q}, {"kRow", k}, {"vRow", v}});
  }
  std::string o = row(outRow);
  std::string batches = size(query.getDim(0)), heads = size(query.getDim(1)),
              queries = size(query.getDim(2)), keys = size(key.getDim(2));
  std::string fixed = constants(emitter.printer());
  const std::set<std::string> &used = emitter.printer().sizes();
  std::vector<std::string> sizes(used.begin(), used.end());
  std::string parameters = entryParameters(fusion, sizes),
              arguments = entryArguments(fusion, sizes), members = problemMembers(fusion, sizes);
  if (choice.leavesParts())
    parameters += ", float *parts", arguments += ", parts", members += "float *parts;\n";
  if (hasDirection(choice) && which == Kernel::kMain)
    parameters += kDirectionParameter, arguments += kDirectionArgument, members += kDirectionMember;
  parameters += mapParameters(maps);
  bool isMain = which == Kernel::kMain;
  if (!isMain)
    parameters += ", int partsOfKeys";
  std::string call =
      isMain ? format(kCall, {{"function", choice.function},
                              {"arguments", arguments},
                              {"maps", llvm::join(maps, ", ") + (maps.empty() ? "" : ", ")}})
             : format(kCombineCall, {{"arguments", arguments}});
  return format(kText, {{"header", choice.header},
                        {"constants", fixed},
                        {"members", members},
                        {"result", storageType(tensorType(attention.getOutput()).getElementType())},
                        {"batches", batches},
                        {"heads", heads},
                        {"queries", queries},
                        {"keys", keys},
                        {"addresses", addresses},
                        {"outRow", o},
                        {"bias", *bias},
                        {"config", choice.config},
                        {"threads", isMain ? "kThreads" : "kCombineThreads"},
                        {"minBlocks", std::to_string(choice.minBlocks)},
                        {"entry", kEntryName},
                        {"parameters", parameters},
                        {"call", call}});
}

FailureOr<GeneratedKernel> AttentionEmitter::emit(const AttentionChoice &choice) {
  ExpressionEmitter emitter(fusion, space, Lanes());
  FailureOr<std::string> text = emitText(emitter, choice, Kernel::kMain);
  if (failed(text))
    return failure();
  GeneratedKernel kernel = launch(choice);
  finishKernel(kernel, fusion, std::move(*text), choice.config, emitter.printer().sizes());
  kernel.flops = kernel.flops + productFlops();
  if (choice.leavesParts())
    kernel.arguments.push_back(KernelArgument::scratchPointer(0));
  if (hasDirection(choice))
    kernel.arguments.push_back(KernelArgument::direction());
  auto addMap = [&](TensorMap map) {
    kernel.arguments.push_back(KernelArgument::tensorMap(std::move(map)));
  };
  if (choice.mapped) {
    addMap(headMap(*mappedQuery, query, AttentionTmaTiling::kGroupRows));
    addMap(headMap(*mappedKey, key, choice.blockKV));
    addMap(headMap(*mappedValue, value, choice.blockKV));
  }
  if (choice.takesBiasMap())
    addMap(biasMap(*mappedBias, elementOf(attention.getBias()), query, key));
  return kernel;
}

/// The kernel that merges the parts of a choice that leaves them.
FailureOr<GeneratedKernel> AttentionEmitter::emitCombination(const AttentionChoice &choice) {
  ExpressionEmitter emitter(fusion, space, Lanes());
  FailureOr<std::string> text = emitText(emitter, choice, Kernel::kCombining);
  if (failed(text))
    return failure();
  auto size = [&](int64_t number) { return Dim::constant(query.getContext(), number); };
  GeneratedKernel kernel;
  finishKernel(kernel, fusion, std::move(*text), "rows of parts", emitter.printer().sizes());
  kernel.arguments.push_back(KernelArgument::scratchPointer(0));
  kernel.arguments.push_back(KernelArgument::size32(choice.decode->parts));
  int64_t vectors = choice.blockQ * (*value.getDim(3).asConstant() / vectorWidth());
  kernel.grid = {size(vectors).ceilDiv(size(AttentionDecodeTiling::kCombinedVectors)),
                 choice.decode->blocks, query.getDim(0).min(size(kMaxGridZ))};
  kernel.block = {AttentionDecodeTiling::kCombineThreads, 1, 1};
  TensorType output = tensorType(attention.getOutput());
  kernel.bytes = output.getNumElements() * elementBytes(output.getElementType());
  kernel.flops = size(0);
  return kernel;
}

FailureOr<KernelVariant> AttentionEmitter::emitVariant(const AttentionChoice &choice) {
  KernelVariant variant;
  FailureOr<GeneratedKernel> kernel = emit(choice);
  if (failed(kernel))
    return failure();
  variant.launches.push_back(std::move(*kernel));
  if (!choice.leavesParts())
    return variant;
  FailureOr<GeneratedKernel> combination = emitCombination(choice);
  if (failed(combination))
    return failure();
  variant.launches.push_back(std::move(*combination));
  auto valueSize = static_cast<int>(*value.getDim(3).asConstant());
  constexpr int64_t kFloatBytes = 4;
  variant.scratch.push_back({query.getDim(0) * choice.decode->blocks * choice.decode->parts *
                             (attentionRecord(choice.blockQ, valueSize) * kFloatBytes)});
  return variant;
}

FailureOr<std::vector<KernelVariant>> AttentionEmitter::run() {
  if (failed(findRows()))
    return failure();
  findLayouts();
  AttentionShape shape = shapeOf();
  std::vector<AttentionChoice> all = attentionChoices(shape, target);
  if (all.empty())
    return attention.emitError("no attention configuration fits the shared memory of ")
               << target.arch,
           failure();
  std::vector<KernelVariant> variants;
  std::vector<std::string> emitted;
  for (const AttentionChoice &choice : all) {
    std::optional<SizeRule> rule = ruleOf(choice, all, shape, target);
    auto isTaken = [&](const KernelVariant &variant) {
      return variant.rule.value == rule->value && variant.rule.last == rule->last;
    };
    if (!rule || llvm::any_of(variants, isTaken)) // known keys: the code for fewer steps takes them
      continue;
    FailureOr<KernelVariant> variant = emitVariant(choice);
    if (failed(variant))
      return failure();
    variant->rule = std::move(*rule);
    emitted.push_back(choice.config);
    variants.push_back(std::move(*variant));
    if (!variants.back().rule.value)
      break; // it runs always
  }
  for (KernelVariant &variant : variants)
    for (GeneratedLaunch &launch : variant.launches)
      if (auto *kernel = std::get_if<GeneratedKernel>(&launch))
        kernel->why = attentionReasons(all, shape, target, emitted);
  return variants;
}

} // namespace

/// By this use alone. Reshapes would divide an index of the whole tensor.
static bool isReadAsKeysBy(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto fusion = dyn_cast<FusionOp>(user))
    return fusion.getKind() == FusionKind::attention &&
           isReadAsKeys(fusion.getBlock().getArgument(use.getOperandNumber()));
  if (auto attention = dyn_cast<AttentionOp>(user))
    return &use == &attention.getKeyMutable() || &use == &attention.getValueMutable();
  return isa<TransposeOp, SliceOp>(user) && user->getParentOfType<FusionOp>() &&
         isReadAsKeys(user->getResult(0));
}

bool isReadAsKeys(Value tensor) {
  return !tensor.use_empty() && llvm::all_of(tensor.getUses(), isReadAsKeysBy);
}

FailureOr<std::vector<KernelVariant>> emitAttention(FusionOp fusion, const Target &target) {
  AttentionOp attention = *fusion.getBlock().getOps<AttentionOp>().begin();
  return AttentionEmitter(fusion, attention, target).run();
}

} // namespace smelt::codegen
