// Emits attention kernels.
//
// The views before query, key and value and after the result become the addresses of rows, the bias
// becomes a function of (batch, head, query, key). Configurations exclude each other by how often
// the work fills the multiprocessors: short sequences are cut into blocks of few rows, so that
// every multiprocessor has some (attention_config.cuh has the measurements).
#include "codegen/kernels/attention/attention.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/kernels/attention/attention_config.cuh"
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
  __device__ const Element *q(int b, int h, int i) const { return $qRow$; }
  __device__ const Element *k(int b, int h, int j) const { return $kRow$; }
  __device__ const Element *v(int b, int h, int j) const { return $vRow$; }
  __device__ $result$ *out(int b, int h, int i) const { return $outRow$; }
  $bias$
};
using Config = $config$;
} // namespace smelt

extern "C" __global__ void __launch_bounds__(smelt::Config::kThreads, 1) $entry$($parameters$) {
  extern __shared__ __align__(128) char shared[];
  smelt::$function$<smelt::Config>(smelt::Problem{$arguments$}, shared);
}
)";

constexpr char kConstants[] = R"(
using Element = $element$;
static constexpr int kHeadSize = $head$, kValueSize = $value$, kVector = $vector$;
static constexpr float kScale = $scale$, kSoftcap = $softcap$;
static constexpr bool kCausal = $causal$, kHasBias = $hasBias$, kZeroMaskedRows = $zeroMaskedRows$;
)";

constexpr char kBiasText[] = R"(
__device__ __forceinline__ float bias(int b, int h, int i, int j) const {
  constexpr int W = 1;
  $body$
  return $result$;
}
)";

constexpr char kBlocksUnit[] = "blocks of 64 queries";

/// One row of an operand or of the result, as an address in a buffer.
struct Row {
  std::string pointer;
  Dim offset;
};

/// A configuration as text, with what the launch needs of it.
struct Configuration {
  std::string text;
  int blockQ, threads, sharedBytes;
  int64_t minWaves = 0; ///< runs where blocks of 64 rows fill the multiprocessors so many times
  int blockKV = 0;
  int maxSteps = 0; ///< runs where at most so many steps of blockKV keys are; 0: any number
};

template <class Tiling>
Configuration describe(const char *name, Tiling tiling, const std::string &numbers, int head,
                       int value) {
  return {std::string(name) + "<" + numbers + ">", tiling.blockQ, tiling.threads(),
          tiling.sharedBytes(head, value)};
}

Configuration tensorCores(AttentionTiling t, int head, int value, int maxSteps) {
  std::string steps = maxSteps == 0 ? "" : ", " + std::to_string(maxSteps);
  Configuration result =
      describe("AttentionConfig", t,
               std::to_string(t.blockQ) + ", " + std::to_string(t.blockKV) + ", " +
                   std::to_string(t.warps) + ", " + std::to_string(t.stages) + steps,
               head, value);
  result.blockKV = t.blockKV, result.maxSteps = maxSteps;
  return result;
}

Configuration simt(AttentionSimtTiling t, int head, int value) {
  return describe("AttentionSimtConfig", t,
                  std::to_string(t.blockQ) + ", " + std::to_string(t.blockKV) + ", " +
                      std::to_string(t.stages),
                  head, value);
}

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
  }

  FailureOr<std::vector<KernelVariant>> run();

private:
  FailureOr<Row> operandRow(Value operand, Index index);
  Row resultRow();
  LogicalResult findRows();
  int vectorWidth() const;
  bool isBiasedByQuery() const;
  std::vector<Configuration> configurations();
  FailureOr<std::string> biasFunction(ExpressionEmitter &emitter);
  std::string constants(DimPrinter &printer);
  std::optional<SizeRule> ruleFor(const Configuration &configuration, ArrayRef<Configuration> all);
  FailureOr<GeneratedKernel> emit(const Configuration &configuration);

  FusionOp fusion;
  AttentionOp attention;
  const Target &target;
  TensorType query, key, value;
  IterationSpace space;
  Dim b, h, i, j, d, e;
  Row queryRow, keyRow, valueRow, outRow;
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
  return Row{inputName(input.getArgNumber()), offset - element};
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

std::vector<Configuration> AttentionEmitter::configurations() {
  int head = *query.getDim(3).asConstant(), width = *value.getDim(3).asConstant();
  bool isLarge = head > 64 || width > 64, isHuge = head > 128 || width > 128;
  std::vector<Configuration> all;
  // The first of `tilings`, best first, that fits; none fits: the use falls to the one before.
  auto add = [&](int64_t minWaves, auto describeTiling, auto... tilings) {
    for (auto tiling : {tilings...}) {
      Configuration configuration = describeTiling(tiling, head, width);
      if (configuration.sharedBytes > target.limits.sharedBytesPerBlock)
        continue;
      configuration.minWaves = minWaves;
      if (all.empty() || all.back().text != configuration.text)
        all.push_back(std::move(configuration));
      return;
    }
  };
  auto steps = [](int most) {
    return [most](AttentionTiling t, int head, int value) {
      return tensorCores(t, head, value, most);
    };
  };
  if (query.getElementType().isF32()) {
    if (isHuge) {
      add(0, simt, kAttentionSimtHuge[0], kAttentionSimtHuge[1]);
      return all;
    }
    add(0, simt, kAttentionSimt[0], kAttentionSimtHuge[0]);
    add(1, simt, kAttentionSimt[1], AttentionSimtTiling{64, 32, 2}, AttentionSimtTiling{32, 32, 2});
    return all;
  }
  if (isHuge) {
    add(0, steps(0), AttentionTiling{16, 64, 4, 2}, AttentionTiling{16, 32, 2, 2});
    add(1, steps(0), kAttentionWide);
    return all;
  }
  for (int most : {1, 2, 0})
    if (most != 2 || !attention.getCausal())
      add(0, steps(most), kAttentionShort, AttentionTiling{16, 64, 4, 2});
  for (int most : {1, 0})
    add(1, steps(most), kAttentionMedium, AttentionTiling{32, 64, 4, 2});
  add(2, steps(0),
      isLarge             ? AttentionTiling{128, 64, 8, 2}
      : isBiasedByQuery() ? kAttentionLongBiased
                          : kAttentionLong);
  return all;
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
                             {"zeroMaskedRows", flag(attention.getZeroMaskedRows())}});
}

FailureOr<GeneratedKernel> AttentionEmitter::emit(const Configuration &configuration) {
  ExpressionEmitter emitter(fusion, space, Lanes());
  FailureOr<std::string> bias = biasFunction(emitter);
  if (failed(bias))
    return failure();
  auto row = [&](const Row &r) { return r.pointer + " + " + emitter.printUniform(r.offset); };
  auto size = [&](Dim dim) { return emitter.printer().print(dim); };
  bool isFloat = query.getElementType().isF32();
  std::string q = row(queryRow), k = row(keyRow), v = row(valueRow), o = row(outRow);
  std::string batches = size(query.getDim(0)), heads = size(query.getDim(1)),
              queries = size(query.getDim(2)), keys = size(key.getDim(2));
  std::string fixed = constants(emitter.printer());
  const std::set<std::string> &used = emitter.printer().sizes();
  std::vector<std::string> sizes(used.begin(), used.end());
  std::string text =
      format(kText, {{"header", isFloat ? "attention_simt" : "attention"},
                     {"function", isFloat ? "attentionSimt" : "attention"},
                     {"constants", fixed},
                     {"members", problemMembers(fusion, sizes)},
                     {"result", storageType(tensorType(attention.getOutput()).getElementType())},
                     {"batches", batches},
                     {"heads", heads},
                     {"queries", queries},
                     {"keys", keys},
                     {"qRow", q},
                     {"kRow", k},
                     {"vRow", v},
                     {"outRow", o},
                     {"bias", *bias},
                     {"config", configuration.text},
                     {"entry", kEntryName},
                     {"parameters", entryParameters(fusion, sizes)},
                     {"arguments", entryArguments(fusion, sizes)}});
  GeneratedKernel kernel;
  MLIRContext *context = fusion.getContext();
  kernel.grid = {query.getDim(2).ceilDiv(Dim::constant(context, configuration.blockQ)),
                 query.getDim(1), query.getDim(0).min(Dim::constant(context, kMaxGridZ))};
  kernel.block = {static_cast<unsigned>(configuration.threads), 1, 1};
  kernel.sharedBytes = configuration.sharedBytes;
  kernel.arithmetic = isFloat ? plan::Arithmetic::float32 : plan::Arithmetic::half;
  finishKernel(kernel, fusion, std::move(text), configuration.text, used);
  Dim scores = query.getDim(0) * query.getDim(1) * query.getDim(2) * key.getDim(2);
  kernel.flops = scores * (query.getDim(3) + value.getDim(3)) * 2;
  return kernel;
}

/// When `configuration` runs, if none of `all` before it does; nothing where that is never.
std::optional<SizeRule> AttentionEmitter::ruleFor(const Configuration &configuration,
                                                  ArrayRef<Configuration> all) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  MLIRContext *context = fusion.getContext();
  auto constant = [&](int64_t number) { return Dim::constant(context, number); };
  Dim blocks = query.getDim(2).ceilDiv(constant(64)) * query.getDim(1) * query.getDim(0);
  Dim keys = key.getDim(2);
  int64_t first = configuration.minWaves * target.part.multiprocessors, last = kNoLimit;
  for (const Configuration &other : all)
    if (other.minWaves > configuration.minWaves)
      last = std::min(last, other.minWaves * target.part.multiprocessors - 1);
  int64_t mostKeys =
      configuration.maxSteps ? configuration.blockKV * configuration.maxSteps : kNoLimit;
  std::optional<int64_t> knownBlocks = blocks.asConstant(), knownKeys = keys.asConstant();
  if ((knownBlocks && (*knownBlocks < first || *knownBlocks > last)) ||
      (knownKeys && *knownKeys > mostKeys))
    return std::nullopt;
  bool fitsBlocks = knownBlocks || (first == 0 && last == kNoLimit);
  if (knownKeys || mostKeys == kNoLimit)
    return fitsBlocks ? SizeRule{} : SizeRule{blocks, first, last, kBlocksUnit};
  if (fitsBlocks)
    return SizeRule{keys, 0, mostKeys, "keys"};
  if (last == kNoLimit)
    return std::nullopt; // the same without a limit of steps takes it
  // Every step too many counts for more blocks than the rule takes.
  Dim tooMany = keys.ceilDiv(constant(configuration.blockKV)) - constant(configuration.maxSteps);
  return SizeRule{blocks.max(tooMany * constant(last + 1)), first, last,
                  kBlocksUnit + (", at most " + std::to_string(mostKeys) + " keys")};
}

FailureOr<std::vector<KernelVariant>> AttentionEmitter::run() {
  if (failed(findRows()))
    return failure();
  std::vector<Configuration> all = configurations();
  if (all.empty())
    return attention.emitError("no attention configuration fits the shared memory of ")
               << target.arch,
           failure();
  int64_t least = all.front().minWaves; // of those that fit: they take fewer blocks too
  for (Configuration &configuration : all)
    if (configuration.minWaves == least)
      configuration.minWaves = 0;
  std::vector<KernelVariant> variants;
  for (const Configuration &configuration : all) {
    std::optional<SizeRule> rule = ruleFor(configuration, all);
    auto isTaken = [&](const KernelVariant &variant) {
      return variant.rule.value == rule->value && variant.rule.last == rule->last;
    };
    if (!rule || llvm::any_of(variants, isTaken)) // known keys: the code for fewer steps takes them
      continue;
    FailureOr<GeneratedKernel> kernel = emit(configuration);
    if (failed(kernel))
      return failure();
    KernelVariant variant;
    variant.rule = std::move(*rule);
    variant.launches.push_back(std::move(*kernel));
    variants.push_back(std::move(variant));
    if (!variants.back().rule.value)
      break; // it runs always
  }
  return variants;
}

} // namespace

FailureOr<std::vector<KernelVariant>> emitAttention(FusionOp fusion, const Target &target) {
  AttentionOp attention = *fusion.getBlock().getOps<AttentionOp>().begin();
  return AttentionEmitter(fusion, attention, target).run();
}

} // namespace smelt::codegen
