// Emits squeeze and excitation (kernels/squeeze_excite/squeeze_excite.cuh).
//
// The fusion is cut into functions of one position each: an element of the image, a mean, a hidden value, a
// gate, an element of the result. What an op before the cut computes is the function's parameter. The
// width is the largest for which every access to the image is a whole aligned vector; of the weights, along
// the axis in whose direction there are such vectors.
#include "codegen/kernels/squeeze_excite/squeeze_excite.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/kernels/squeeze_excite/squeeze_excite_config.cuh"
#include "codegen/printer.h"
#include "ir/capabilities.h"
#include "ir/squeeze_excite.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr int64_t kVectorBytes = 16;

/// The largest that SqueezeExcite::match takes: the most channels, and the most hidden values.
constexpr SqueezeExciteTiling kMostChannels{
    SqueezeExcite::kMostChannels,
    SqueezeExcite::kMostWeightBytes / 2 / SqueezeExcite::kMostChannels, 8, 2},
    kMostHidden{SqueezeExcite::kMostWeightBytes / 2 / SqueezeExcite::kMostHidden,
                SqueezeExcite::kMostHidden, 8, 2};
constexpr int kSharedOfClusters = 227 << 10, kSharedOfOthers = 99 << 10; // the least of the targets
static_assert(kMostChannels.slice() <= SqueezeExciteTiling::kThreads);
static_assert(kMostChannels.sharedBytes(true) <= kSharedOfClusters &&
              kMostHidden.sharedBytes(true) <= kSharedOfClusters);
static_assert(kMostChannels.sharedBytes(false) <= kSharedOfOthers &&
              kMostHidden.sharedBytes(false) <= kSharedOfOthers);

constexpr char kProblem[] = R"(
$include$
namespace smelt {
struct Problem {
  static constexpr SqueezeExciteTiling kTiling{$channels$, $hidden$, $width$, $weightBytes$};
  static constexpr int kWidth = kTiling.width;
  static constexpr bool kScales = $scales$, kWeightsConstant = $constant$;
  using Weight = $weight$;
  $members$

  __device__ __forceinline__ int pixels() const { return $pixels$; }
  __device__ __forceinline__ void add(int image, int pixel, int channel, float (&sums)[kWidth]) const {
    $add$
  }
  __device__ __forceinline__ float mean(int image, int channel, float sum) const {
    $mean$
  }
  __device__ __forceinline__ float hidden(int image, int hidden, float sum) const {
    $hiddenValue$
  }
  __device__ __forceinline__ float gate(int image, int channel, float sum) const {
    $gate$
  }
  $store$
  $squeezeWeights$
  $exciteWeights$
};
} // namespace smelt

extern "C" __global__ void __launch_bounds__($threads$, 2) $entry$($parameters$) {
  extern __shared__ __align__(1024) char shared[];
  smelt::$run$;
}
)";

constexpr char kStoreGate[] = R"(
__device__ __forceinline__ void storeGate(int image, int channel, float value) const {
  $body$
}
)";
constexpr char kScale[] = R"(
__device__ __forceinline__ void scale(int image, int pixel, int channel,
                                      const float (&gates)[kWidth]) const {
  $body$
}
)";
constexpr char kWeights[] = R"(
struct $name$ {
  static constexpr int kWidth = $width$;
  static constexpr bool kAlongHidden = $alongHidden$;
  __device__ __forceinline__ static void load(const Problem &problem, int channel, int hidden,
                                              float (&values)[kWidth]) {
    problem.load$name$(channel, hidden, values);
  }
};
__device__ __forceinline__ void load$name$(int channel, int hidden, float (&values)[$width$]) const {
  $body$
}
)";

/// Elements of a whole vector.
int64_t widest(Value value) {
  return kVectorBytes / std::max<int64_t>(elementBytes(tensorType(value).getElementType()), 2);
}

/// `value`, whose axes between the first and the last are 1, at an image's element.
Index atImage(Value value, Dim image, Dim element) {
  Index index(tensorType(value).getRank(), Dim::constant(value.getContext(), 0));
  index.front() = image;
  index.back() = element;
  return index;
}

class SqueezeExciteEmitter {
public:
  explicit SqueezeExciteEmitter(FusionOp fusion)
      : fusion(fusion), parts(*SqueezeExcite::match(*fusion.getBlock().getOps<ReduceOp>().begin())),
        type(tensorType(parts.reduction.getInput())) {}

  /// The functions, for vectors of so many channels.
  LogicalResult run(int64_t lanes);
  bool isRegular() const { return regular; }
  int64_t channels() const { return parts.channels(); }
  KernelVariant finish(const Target &target);

private:
  /// Coordinates of the functions.
  struct Place {
    IterationSpace space;
    Dim image, channel, hidden;
    Index pixel;
  };
  /// What a function computes: `value` at `at`, where the result of `known` is the parameter `name`.
  struct Computed {
    Value value;
    Index at;
    Operation *known = nullptr;
    StringRef name = "";
  };
  /// Neighbours that a function takes at a time.
  struct Neighbours {
    StringRef along = "channel";
    int64_t count = 1;
  };
  /// What ends a function: statements of the emitter's last chunk.
  using Sink = llvm::function_ref<void(ExpressionEmitter &, const Operand &)>;

  Place place() const;
  /// A function's body.
  FailureOr<std::string> emit(const Place &place, Neighbours neighbours, const Computed &computed,
                              Sink sink);
  FailureOr<std::string> emitReturn(const Place &place, const Computed &computed);
  FailureOr<std::string> emitImage(const Place &place);
  FailureOr<std::string> emitStore(const Place &place);
  FailureOr<std::string> emitWeights(const Place &place, StringRef name, Value weight,
                                     const Index &at);
  StringRef partOfMean();

  SqueezeExciteTiling tiling() const;
  bool hasConstantWeights();
  GeneratedKernel kernel(StringRef run, ArrayRef<std::string> scratch, StringRef config);
  KernelVariant inCluster();
  KernelVariant inSteps();

  FusionOp fusion;
  SqueezeExcite parts;
  TensorType type; ///< of the image
  int64_t width = 1;
  bool regular = true;
  std::string add, mean, hidden, gate, store, squeezeWeights, exciteWeights;
  std::set<std::string> sizes;
};

SqueezeExciteEmitter::Place SqueezeExciteEmitter::place() const {
  MLIRContext *context = type.getContext();
  Place place;
  SmallVector<Dim> shape = type.getShape();
  Dim hiddenValues = Dim::constant(context, parts.hiddenValues());
  place.image = place.space.addFlat(context, "image", shape.front()).front();
  place.pixel = place.space.addFlat(context, "pixel", ArrayRef(shape).drop_front().drop_back());
  place.channel = place.space.addFlat(context, "channel", shape.back()).front();
  place.hidden = place.space.addFlat(context, "hidden", hiddenValues).front();
  return place;
}

FailureOr<std::string> SqueezeExciteEmitter::emit(const Place &place, Neighbours neighbours,
                                                  const Computed &computed, Sink sink) {
  ExpressionEmitter emitter(fusion, place.space,
                            place.space.lanesAlong(neighbours.along, neighbours.count));
  emitter.setResolver([&](Operation *op, ArrayRef<Dim>) -> FailureOr<Operand> {
    if (op != computed.known)
      return op->emitError("cannot be computed by this step of squeeze and excitation"), failure();
    return Operand{computed.name.str()};
  });
  if (computed.known && computed.known == parts.gate.getDefiningOp()) // which is elementwise
    emitter.define(parts.gate, atImage(parts.gate, place.image, place.channel),
                   {computed.name.str(), Scope::lane});
  FailureOr<Operand> operand = emitter.emit(computed.value, computed.at);
  if (failed(operand))
    return failure();
  sink(emitter, *operand);
  regular &= emitter.isRegular();
  std::string body = emitter.takeUniform() + emitter.chunk().text();
  body = emitter.coordinateDefinitions(body) + body;
  const std::set<std::string> &used = emitter.printer().sizes();
  sizes.insert(used.begin(), used.end());
  return "constexpr int W = " + std::to_string(neighbours.count) + ";\n" + body;
}

/// A function of one value.
FailureOr<std::string> SqueezeExciteEmitter::emitReturn(const Place &place,
                                                        const Computed &computed) {
  bool wasRegular = regular; // of vectors
  FailureOr<std::string> body =
      emit(place, {}, computed, [](ExpressionEmitter &emitter, const Operand &operand) {
        emitter.chunk().lanes.push_back("result = float(" + operand.text + ");\n");
      });
  regular = wasRegular;
  if (failed(body))
    return failure();
  return "float result;\n" + *body + "return result;\n";
}

FailureOr<std::string> SqueezeExciteEmitter::emitImage(const Place &place) {
  Index at{place.image};
  llvm::append_range(at, place.pixel);
  at.push_back(place.channel);
  return emit(place, {"channel", width}, {parts.reduction.getInput(), at},
              [](ExpressionEmitter &emitter, const Operand &operand) {
                emitter.chunk().lanes.push_back("sums[i] += float(" + operand.text + ");\n");
              });
}

FailureOr<std::string> SqueezeExciteEmitter::emitStore(const Place &place) {
  bool scales = parts.scalesImage();
  Value result = fusion.getYield()->getOperand(0);
  Index at = atImage(result, place.image, place.channel);
  if (scales)
    llvm::copy(place.pixel, at.begin() + 1);
  FailureOr<std::string> body = emit(
      place, {"channel", scales ? width : 1},
      {result, at, parts.gate.getDefiningOp(), scales ? "gates[i]" : "value"},
      [&](ExpressionEmitter &emitter, const Operand &operand) { emitter.store(0, at, operand); });
  if (failed(body))
    return failure();
  return format(scales ? kScale : kStoreGate, {{"body", *body}});
}

/// Along the axis that has the widest vectors.
FailureOr<std::string> SqueezeExciteEmitter::emitWeights(const Place &place, StringRef name,
                                                         Value weight, const Index &at) {
  bool wasRegular = regular; // the image
  for (int64_t count = widest(weight);; count /= 2)
    for (StringRef along : {"hidden", "channel"}) {
      if ((along == "hidden" ? parts.hiddenValues() : width) % count != 0)
        continue;
      regular = true;
      FailureOr<std::string> body =
          emit(place, {along, count}, {weight, at},
               [](ExpressionEmitter &emitter, const Operand &operand) {
                 emitter.chunk().lanes.push_back("values[i] = float(" + operand.text + ");\n");
               });
      if (failed(body))
        return failure();
      if (!regular && count > 1)
        continue;
      regular = wasRegular;
      return format(kWeights, {{"name", name},
                               {"width", std::to_string(count)},
                               {"alongHidden", along == "hidden" ? "true" : "false"},
                               {"body", *body}});
    }
}

/// What the sum of some elements adds to the reduction's result.
StringRef SqueezeExciteEmitter::partOfMean() {
  bool isMean = parts.reduction.getKind() == ReductionKind::mean;
  return isMean ? "(sum / float(pixels()))" : "sum";
}

LogicalResult SqueezeExciteEmitter::run(int64_t lanes) {
  width = lanes;
  regular = true;
  Place at = place();
  Value means = parts.squeeze.getLhs(), hiddenValues = parts.excite.getLhs(), gates = parts.gate;
  std::pair<std::string *, FailureOr<std::string>> functions[] = {
      {&add, emitImage(at)},
      {&mean, emitReturn(at, {means, atImage(means, at.image, at.channel), parts.reduction,
                              partOfMean()})},
      {&hidden, emitReturn(at, {hiddenValues, atImage(hiddenValues, at.image, at.hidden),
                                parts.squeeze, "sum"})},
      {&gate, emitReturn(at, {gates, atImage(gates, at.image, at.channel), parts.excite, "sum"})},
      {&store, emitStore(at)},
      {&squeezeWeights,
       emitWeights(at, "SqueezeWeights", parts.squeeze.getRhs(), {at.channel, at.hidden})},
      {&exciteWeights,
       emitWeights(at, "ExciteWeights", parts.excite.getRhs(), {at.hidden, at.channel})}};
  for (auto &[text, body] : functions) {
    if (failed(body))
      return failure();
    *text = *body;
  }
  return success();
}

SqueezeExciteTiling SqueezeExciteEmitter::tiling() const {
  TensorType weight = tensorType(parts.excite->getOperand(1));
  return {static_cast<int>(parts.channels()), static_cast<int>(parts.hiddenValues()),
          static_cast<int>(width), static_cast<int>(elementBytes(weight.getElementType()))};
}

bool SqueezeExciteEmitter::hasConstantWeights() {
  Place at = place();
  auto isConstant = [&](MatmulOp matmul, const Index &index) {
    FailureOr<InputElement> element = at.space.throughViews(matmul.getRhs(), index);
    return succeeded(element) &&
           isWeightExpression(fusion.getInputs()[element->input.getArgNumber()]);
  };
  return isConstant(parts.squeeze, {at.channel, at.hidden}) &&
         isConstant(parts.excite, {at.hidden, at.channel});
}

/// One that `run`s a function of the template; `scratch` are the buffers behind its parameters.
GeneratedKernel SqueezeExciteEmitter::kernel(StringRef run, ArrayRef<std::string> scratch,
                                             StringRef config) {
  auto flag = [](bool value) { return value ? "true" : "false"; };
  MLIRContext *context = fusion.getContext();
  Place at = place();
  DimPrinter printer(at.space.getBounds());
  std::string pixels =
      printer.print(product(ArrayRef(type.getShape()).drop_front().drop_back(), context));
  sizes.insert(printer.sizes().begin(), printer.sizes().end());
  std::vector<std::string> symbols(sizes.begin(), sizes.end());
  std::string parameters = entryParameters(fusion, symbols);
  for (const std::string &name : scratch)
    parameters += ", float *" + name;
  SqueezeExciteTiling tiles = tiling();
  std::string problem = "smelt::Problem{" + entryArguments(fusion, symbols) + "}";
  std::string text =
      format(kProblem, {{"include", includeTemplate("squeeze_excite")},
                        {"channels", std::to_string(tiles.channels)},
                        {"hidden", std::to_string(tiles.hidden)},
                        {"width", std::to_string(tiles.width)},
                        {"weightBytes", std::to_string(tiles.weightBytes)},
                        {"scales", flag(parts.scalesImage())},
                        {"constant", flag(hasConstantWeights())},
                        {"weight", storageType(tensorType(parts.excite.getRhs()).getElementType())},
                        {"members", problemMembers(fusion, symbols)},
                        {"pixels", pixels},
                        {"add", add},
                        {"mean", mean},
                        {"hiddenValue", hidden},
                        {"gate", gate},
                        {"store", store},
                        {"squeezeWeights", squeezeWeights},
                        {"exciteWeights", exciteWeights},
                        {"threads", std::to_string(SqueezeExciteTiling::kThreads)},
                        {"entry", kEntryName},
                        {"parameters", parameters},
                        {"run", format(run, {{"problem", problem}})}});
  GeneratedKernel kernel;
  finishKernel(kernel, fusion, std::move(text), config, sizes);
  for (unsigned index = 0; index < scratch.size(); ++index)
    kernel.arguments.push_back(KernelArgument::scratchPointer(index));
  Dim one = Dim::constant(context, 1);
  kernel.grid = {type.getDim(0) * SqueezeExciteTiling::kBlocks, one, one};
  kernel.block = {static_cast<unsigned>(SqueezeExciteTiling::kThreads), 1, 1};
  kernel.sharedBytes = tiles.sharedBytes(scratch.empty());
  kernel.flops = kernel.flops + type.getNumElements() +
                 type.getDim(0) * (4 * int64_t(tiles.channels) * tiles.hidden);
  return kernel;
}

KernelVariant SqueezeExciteEmitter::inCluster() {
  KernelVariant variant;
  GeneratedKernel whole = kernel("squeezeExcite($problem$, shared)", {}, "8 blocks an image");
  whole.cluster = {SqueezeExciteTiling::kBlocks, 1, 1};
  variant.launches.push_back(std::move(whole));
  return variant;
}

/// Kernels that meet in device memory.
KernelVariant SqueezeExciteEmitter::inSteps() {
  SqueezeExciteTiling tiles = tiling();
  Dim image = type.getNumElements() * elementBytes(type.getElementType());
  KernelVariant variant;
  variant.scratch = {{type.getDim(0) * (int64_t(4) * SqueezeExciteTiling::kBlocks * tiles.hidden)}};
  GeneratedKernel squeeze = kernel("squeezeParts($problem$, parts, shared)", {"parts"},
                                   "8 blocks an image, to its hidden values");
  squeeze.bytes = image;
  variant.launches.push_back(std::move(squeeze));
  GeneratedKernel excite = kernel("exciteParts($problem$, parts, shared)", {"parts"},
                                  "8 blocks an image, from its hidden values");
  if (!parts.scalesImage())
    excite.bytes = excite.bytes - image;
  variant.launches.push_back(std::move(excite));
  return variant;
}

KernelVariant SqueezeExciteEmitter::finish(const Target &target) {
  return target.instructions.clusters ? inCluster() : inSteps();
}

} // namespace

FailureOr<KernelVariant> emitSqueezeExcite(FusionOp fusion, const Target &target) {
  SqueezeExciteEmitter emitter(fusion);
  ReduceOp reduction = *fusion.getBlock().getOps<ReduceOp>().begin();
  for (int64_t width = widest(reduction.getInput());; width /= 2) {
    if (emitter.channels() % width != 0)
      continue;
    if (failed(emitter.run(width)))
      return failure();
    if (emitter.isRegular() || width == 1)
      return emitter.finish(target);
  }
}

} // namespace smelt::codegen
