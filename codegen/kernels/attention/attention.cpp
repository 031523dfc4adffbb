// Emits attention kernels.
//
// The views before query, key and value and after the result become the addresses of rows, or maps of
// the operands where they are regular enough, and the bias becomes a function of (batch, head, query,
// key). Which tilings there are, and when each runs, is attention_choice.h's.
#include "codegen/kernels/attention/attention.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/kernels/attention/attention_choice.h"
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

extern "C" __global__ void __launch_bounds__(smelt::Config::kThreads, 1) $entry$($parameters$$mapParameters$) {
  extern __shared__ __align__(1024) char shared[];
  smelt::$function$<smelt::Config>(smelt::Problem{$arguments$}, $maps$shared);
}
)";

/// How operands are reached where the kernel has no maps of them.
constexpr char kAddresses[] = R"(
__device__ const Element *q(int b, int h, int i) const { return $qRow$; }
__device__ const Element *k(int b, int h, int j) const { return $kRow$; }
__device__ const Element *v(int b, int h, int j) const { return $vRow$; }
)";

constexpr char kMapParameters[] =
    ", const __grid_constant__ smelt::TensorMap mapQ, const __grid_constant__ smelt::TensorMap "
    "mapK, const __grid_constant__ smelt::TensorMap mapV";

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

/// An operand whose element (batch, head, row, column) lies at the sum of constant distances, in
/// elements; columns are neighbours.
struct HeadLayout {
  unsigned input;
  Dim offset; ///< of the first element in the input
  Dim rowStride, headStride, batchStride;
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
  std::optional<HeadLayout> layoutOf(Value operand, Dim head, Dim row, Dim column);
  void findLayouts();
  AttentionShape shapeOf() const;
  TensorMap mapOf(const HeadLayout &layout, TensorType type, int boxRows) const;
  FailureOr<std::string> biasFunction(ExpressionEmitter &emitter);
  std::string constants(DimPrinter &printer);
  GeneratedKernel launch(const AttentionChoice &choice) const;
  Dim productFlops() const;
  FailureOr<GeneratedKernel> emit(const AttentionChoice &choice);

  FusionOp fusion;
  AttentionOp attention;
  const Target &target;
  TensorType query, key, value;
  IterationSpace space;
  Dim b, h, i, j, d, e, g; ///< g: a head of the keys
  Row queryRow, keyRow, valueRow, outRow;
  std::optional<HeadLayout> mappedQuery, mappedKey, mappedValue; ///< where maps can describe them
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

/// As a map can describe it: rows, heads and batches start at multiples of 16 bytes. None where that
/// does not hold.
std::optional<HeadLayout> AttentionEmitter::layoutOf(Value operand, Dim head, Dim row, Dim column) {
  FailureOr<Row> found = operandRow(operand, {b, head, row, column});
  if (failed(found))
    return std::nullopt;
  int64_t unit = 16 / elementBytes(query.getElementType());
  Dim first = found->offset, unused = Dim::constant(fusion.getContext(), unit);
  SmallVector<Dim> strides; // of an axis with one element: any
  for (Dim coordinate : {row, head, b}) {
    std::optional<StringRef> symbol = coordinate.asSymbol();
    std::optional<Dim> stride = symbol ? linearFactor(first, *symbol) : unused;
    if (!stride || stride->isConstant(0) || !stride->isKnownNonNegative() ||
        knownDivisor(*stride, Lanes()) % unit != 0)
      return std::nullopt;
    strides.push_back(*stride);
    if (symbol)
      first = first - coordinate * *stride;
  }
  bool isKnown = knownDivisor(first, Lanes()) % unit == 0; // and that by sizes alone
  for (Dim dim : {first, strides[0], strides[1], strides[2]})
    dim.forEachSymbol([&](StringRef symbol) { isKnown &= !symbol.starts_with("%"); });
  if (!isKnown)
    return std::nullopt;
  return HeadLayout{found->input, first, strides[0], strides[1], strides[2]};
}

void AttentionEmitter::findLayouts() {
  constexpr int kWidest = 8; // the template stores whole pieces of 16 bytes
  if (!target.instructions.wgmma || query.getElementType().isF32() || vectorWidth() != kWidest ||
      key.getDim(2).isConstant(0))
    return;
  mappedQuery = layoutOf(attention.getQuery(), h, i, d);
  mappedKey = layoutOf(attention.getKey(), g, j, d);
  mappedValue = layoutOf(attention.getValue(), g, j, e);
}

AttentionShape AttentionEmitter::shapeOf() const {
  AttentionOp op = attention;
  AttentionShape shape{query.getDim(0),
                       query.getDim(1),
                       query.getDim(2),
                       key.getDim(2),
                       static_cast<int>(*query.getDim(3).asConstant()),
                       static_cast<int>(*value.getDim(3).asConstant())};
  shape.isFloat = query.getElementType().isF32();
  shape.isCausal = op.getCausal();
  shape.isBiased = static_cast<bool>(op.getBias());
  shape.isBiasedByQuery = isBiasedByQuery();
  shape.allowsTensorMaps = mappedQuery && mappedKey && mappedValue;
  return shape;
}

/// Boxes of `boxRows` rows of one head, as attention_tma.cuh expects them.
TensorMap AttentionEmitter::mapOf(const HeadLayout &layout, TensorType type, int boxRows) const {
  int64_t bytes = elementBytes(type.getElementType());
  auto columns = static_cast<unsigned>(AttentionTmaTiling::panel(*type.getDim(3).asConstant()));
  TensorMap map;
  map.buffer = {LaunchBuffer::input, layout.input, {}};
  if (!layout.offset.isConstant(0))
    map.buffer.offset = layout.offset * bytes;
  map.elementType = type.getElementType();
  map.sizes = {type.getDim(3), type.getDim(2), type.getDim(1), type.getDim(0)};
  map.byteStrides = {layout.rowStride * bytes, layout.headStride * bytes,
                     layout.batchStride * bytes};
  map.box = {columns, static_cast<unsigned>(boxRows), 1, 1};
  map.swizzle = columns == 64   ? plan::Swizzle::bytes_128
                : columns == 32 ? plan::Swizzle::bytes_64
                                : plan::Swizzle::bytes_32;
  map.l2Promotion = plan::L2Promotion::bytes_256;
  return map;
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
                             {"headsOfKeys", std::to_string(*query.getDim(1).asConstant() /
                                                            *key.getDim(1).asConstant())}});
}

/// The kernel without its text.
GeneratedKernel AttentionEmitter::launch(const AttentionChoice &choice) const {
  GeneratedKernel kernel;
  auto size = [&](int64_t number) { return Dim::constant(query.getContext(), number); };
  Dim blocks = query.getDim(2).ceilDiv(size(choice.blockQ)), heads = query.getDim(1),
      batches = query.getDim(0);
  kernel.grid = {blocks, heads, batches.min(size(kMaxGridZ))};
  if (choice.mapped) // blocks take tiles in turn
    kernel.grid = {(blocks * heads * batches).min(size(target.part.multiprocessors)), size(1),
                   size(1)};
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

FailureOr<GeneratedKernel> AttentionEmitter::emit(const AttentionChoice &choice) {
  ExpressionEmitter emitter(fusion, space, Lanes());
  FailureOr<std::string> bias = biasFunction(emitter);
  if (failed(bias))
    return failure();
  auto row = [&](const Row &r) { return r.pointer + " + " + emitter.printUniform(r.offset); };
  auto size = [&](Dim dim) { return emitter.printer().print(dim); };
  std::string addresses;
  if (!choice.mapped) {
    std::string q = row(queryRow), k = row(keyRow), v = row(valueRow);
    addresses = format(kAddresses, {{"qRow", q}, {"kRow", k}, {"vRow", v}});
  }
  std::string o = row(outRow);
  std::string batches = size(query.getDim(0)), heads = size(query.getDim(1)),
              queries = size(query.getDim(2)), keys = size(key.getDim(2));
  std::string fixed = constants(emitter.printer());
  const std::set<std::string> &used = emitter.printer().sizes();
  std::vector<std::string> sizes(used.begin(), used.end());
  std::string text =
      format(kText, {{"header", choice.header},
                     {"function", choice.function},
                     {"constants", fixed},
                     {"members", problemMembers(fusion, sizes)},
                     {"result", storageType(tensorType(attention.getOutput()).getElementType())},
                     {"batches", batches},
                     {"heads", heads},
                     {"queries", queries},
                     {"keys", keys},
                     {"addresses", addresses},
                     {"outRow", o},
                     {"bias", *bias},
                     {"config", choice.config},
                     {"entry", kEntryName},
                     {"parameters", entryParameters(fusion, sizes)},
                     {"arguments", entryArguments(fusion, sizes)},
                     {"mapParameters", choice.mapped ? kMapParameters : ""},
                     {"maps", choice.mapped ? "mapQ, mapK, mapV, " : ""}});
  GeneratedKernel kernel = launch(choice);
  finishKernel(kernel, fusion, std::move(text), choice.config, used);
  kernel.flops = kernel.flops + productFlops();
  if (choice.mapped) {
    constexpr int kQueries = AttentionTmaTiling::kGroupRows;
    kernel.arguments.push_back(KernelArgument::tensorMap(mapOf(*mappedQuery, query, kQueries)));
    int keysOfStep = choice.blockKV;
    kernel.arguments.push_back(KernelArgument::tensorMap(mapOf(*mappedKey, key, keysOfStep)));
    kernel.arguments.push_back(KernelArgument::tensorMap(mapOf(*mappedValue, value, keysOfStep)));
  }
  return kernel;
}

/// The tilings of this attention and when each runs, for people; `emitted` are those that have a kernel.
std::string reasons(ArrayRef<AttentionChoice> all, const AttentionShape &shape,
                    const Target &target, ArrayRef<std::string> emitted) {
  std::string text = "by how often blocks of 64 queries fill the " +
                     std::to_string(target.part.multiprocessors) + " multiprocessors of " +
                     target.part.name + ", and by the keys:\n";
  for (const AttentionChoice &choice : all) {
    std::optional<SizeRule> rule = ruleOf(choice, all, shape, target);
    bool runs = rule && llvm::is_contained(emitted, choice.config);
    text += "  " + choice.config + ", " + std::to_string(choice.sharedBytes) +
            " bytes of shared memory: " +
            (runs ? rule->describe() : "never, one before it takes its sizes") + "\n";
  }
  return text;
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
    FailureOr<GeneratedKernel> kernel = emit(choice);
    if (failed(kernel))
      return failure();
    KernelVariant variant;
    variant.rule = std::move(*rule);
    variant.launches.push_back(std::move(*kernel));
    emitted.push_back(choice.config);
    variants.push_back(std::move(variant));
    if (!variants.back().rule.value)
      break; // it runs always
  }
  for (KernelVariant &variant : variants)
    for (GeneratedLaunch &launch : variant.launches)
      if (auto *kernel = std::get_if<GeneratedKernel>(&launch))
        kernel->why = reasons(all, shape, target, emitted);
  return variants;
}

} // namespace

FailureOr<std::vector<KernelVariant>> emitAttention(FusionOp fusion, const Target &target) {
  AttentionOp attention = *fusion.getBlock().getOps<AttentionOp>().begin();
  return AttentionEmitter(fusion, attention, target).run();
}

} // namespace smelt::codegen
