// Emits reductions over axes before the last (kernels/columnwise/columnwise.cuh).
//
// The width is the largest for which every access is a whole aligned vector or a broadcast, and that
// divides the number of results. The elements of one result are numbered by a flat coordinate over
// the reduced axes, whose parts the compiler knows where the loop over it is unrolled.
//
// Moments of rows (device/moments.cuh) are a result too: the columns of a group are those of 32 / W
// neighbouring threads, which a block holds together and which all exist, since W divides 32 and 32
// the columns.
#include "codegen/kernels/columnwise/columnwise.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/kernels/rowwise/row_passes.h"
#include "codegen/printer.h"
#include "ir/capabilities.h"

#include <algorithm>
#include <bit>

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr int64_t kThreads = 128, kThreadsOfParts = 256;
constexpr int64_t kLeastVectors = 2; ///< that are neighbours: a sector of memory
constexpr int64_t kVectorBytes = 16, kMaxWidth = 8;
/// Elements of a result that one thread takes alone: of a window, and of others.
constexpr int64_t kMostOfWindow = 64, kMostOfOneThread = 8;
/// Parts of a result that takes many elements: each has kElementsOfPart or more, where the limits allow; of as
/// many as nobody knows there are kUsualParts.
constexpr int64_t kFewestParts = 8, kMostParts = 256, kElementsOfPart = 8, kUsualParts = 64;
/// Loops of so many steps are unrolled altogether, others in groups.
constexpr int64_t kMostUnrolled = 9, kUnrolled = 4;
/// Neighbouring windows that a thread may take together, the best first; elements of a window along
/// the axis where they are neighbours; and the widest vectors of so many, which registers hold.
constexpr int64_t kTogether[] = {7, 4, 5, 3, 2}, kMostTaps = 16, kWidthTogether = 4;

constexpr char kIncludeMoments[] = "#include \"device/moments.cuh\"\n";
constexpr char kText[] = R"(
$include$
namespace smelt {
struct Problem {
  static constexpr int kWidth = $width$, kVectors = $vectors$, kParts = $parts$;
  static constexpr int kTogether = $together$;
  $members$

  __device__ int count() const { return $count$; }
  template <class Block> __device__ __forceinline__ void run(const Block &block, int e, int part) const {
    constexpr int W = kWidth;$whole$
    $kept$ partial[kTogether * W];
#pragma unroll
    for (int i = 0; i < kTogether * W; ++i)
      partial[i] = $function$::identity<$type$>();
    $before$
#pragma unroll $unrolled$
    for (int r = part; r < $elements$; r += kParts) {
      $chunk$
    }
    if (!block.template combine<$function$>(partial))
      return;
    $after$
  }
};
} // namespace smelt

extern "C" __global__ void __launch_bounds__($threads$) $entry$($parameters$) {
  smelt::columnwise(smelt::Problem{$arguments$});
}
)";

/// Windows along `axis` of the reduction's input, their `taps` elements along the next: so many
/// neighbours of them are taken `together`.
struct Neighbours {
  int64_t axis = 0, taps = 1, together = 1;
};

/// The moments that a result is; null for others.
RowMomentsOp asMoments(Value result) { return result.getDefiningOp<RowMomentsOp>(); }

bool hasMoments(FusionOp fusion) {
  return llvm::any_of(fusion.getYield()->getOperands(), asMoments);
}

/// The innermost axis along which the reduction takes windows, where one number of neighbours divides
/// theirs. Of columns whose moments are stored each neighbour is another thread's or lane's.
Neighbours findNeighbours(FusionOp fusion, ReduceOp reduction) {
  SmallVector<Dim> input = tensorType(reduction.getInput()).getShape();
  std::optional<unsigned> columns;
  if (hasMoments(fusion))
    columns = innermostAxis(tensorType(reduction.getOutput()));
  Neighbours found;
  for (WindowsOp windows : fusion.getBlock().getOps<WindowsOp>()) {
    int64_t axis = windows.getAxis();
    if (!llvm::is_contained(reduction.getAxes(), axis + 1) ||
        llvm::is_contained(reduction.getAxes(), axis) || axis < found.axis || axis == columns)
      continue;
    SmallVector<Dim> shape = tensorType(windows.getOutput()).getShape();
    std::optional<int64_t> count = shape[axis].asConstant(), taps = shape[axis + 1].asConstant();
    if (!count || !taps || *taps > kMostTaps || shape[axis] != input[axis] ||
        shape[axis + 1] != input[axis + 1])
      continue;
    const auto *together =
        llvm::find_if(kTogether, [&](int64_t number) { return *count % number == 0; });
    if (together != std::end(kTogether))
      found = {axis, *taps, *together};
  }
  return found;
}

/// The text of one fusion, for vectors of one width.
class ColumnwiseEmitter {
public:
  ColumnwiseEmitter(FusionOp fusion, ReduceOp reduction, Neighbours neighbours);
  LogicalResult run(int64_t width);
  bool isRegular() const { return emitter->isRegular(); }
  GeneratedKernel finish();
  /// Results of the threads together; each takes so many of neighbouring windows.
  Dim getCount() const { return count; }

private:
  LogicalResult emitElements();
  LogicalResult emitElement(int64_t neighbour, int64_t tap);
  LogicalResult emitResults(int64_t neighbour);
  /// `position` of the window number `neighbour` of the thread.
  Index ofNeighbour(Index position, int64_t neighbour) const;
  std::string partial(int64_t neighbour) const;
  int64_t parts() const;
  int64_t leastVectors() const;
  /// All threads of a warp store moments, or none.
  bool storesInWholeWarps(int64_t vectors) const;

  FusionOp fusion;
  ReduceOp reduction;
  Neighbours neighbours;
  SmallVector<Dim> shape; ///< of the reduction's result
  bool storesMoments;
  IterationSpace space;
  Index at, element;          ///< positions of the reduction's result and of its input
  Dim count, steps, elements; ///< steps: of the loop, which takes the elements of a result
  std::optional<ExpressionEmitter> emitter;
  std::string before, after;
};

ColumnwiseEmitter::ColumnwiseEmitter(FusionOp fusion, ReduceOp reduction, Neighbours neighbours)
    : fusion(fusion), reduction(reduction), neighbours(neighbours),
      shape(tensorType(reduction.getOutput()).getShape()), storesMoments(hasMoments(fusion)) {
  MLIRContext *context = fusion.getContext();
  SmallVector<Dim> input = tensorType(reduction.getInput()).getShape(), reduced, results = shape;
  for (int64_t axis : reduction.getAxes()) {
    bool isUnrolled = neighbours.together > 1 && axis == neighbours.axis + 1;
    reduced.push_back(isUnrolled ? Dim::constant(context, 1) : input[axis]);
  }
  if (neighbours.together > 1)
    results[neighbours.axis] =
        results[neighbours.axis].floorDiv(Dim::constant(context, neighbours.together));
  count = product(results, context);
  steps = product(reduced, context);
  elements = steps * (neighbours.together > 1 ? neighbours.taps : 1);
  at = space.addFlat(context, "e", results);
  Index inside = space.addFlat(context, "r", reduced);
  element = at;
  for (auto [axis, position] : llvm::zip_equal(reduction.getAxes(), inside))
    element[axis] = position;
}

/// Of a block that holds whole groups of columns.
int64_t ColumnwiseEmitter::leastVectors() const {
  int64_t group = storesMoments ? RowMomentsOp::kGroup / emitter->getLanes().width : 1;
  return std::max(kLeastVectors, group);
}

/// Threads that share a result. The elements of windows are few, and lie in the caches.
int64_t ColumnwiseEmitter::parts() const {
  int64_t most = kMostParts * kLeastVectors / leastVectors();
  std::optional<int64_t> known = elements.asConstant();
  bool readsWindows = !FusionOp(fusion).getBlock().getOps<WindowsOp>().empty();
  if (neighbours.together > 1 ||
      (known && *known <= (readsWindows ? kMostOfWindow : kMostOfOneThread)))
    return 1;
  if (!known)
    return std::min(kUsualParts, most);
  return std::clamp<int64_t>(std::bit_floor(uint64_t(*known / kElementsOfPart)), kFewestParts,
                             most);
}

bool ColumnwiseEmitter::storesInWholeWarps(int64_t vectors) const {
  constexpr int64_t kWarp = 32;
  return vectors % kWarp == 0 &&
         knownDivisor(count, Lanes()) % (kWarp * emitter->getLanes().width) == 0;
}

Index ColumnwiseEmitter::ofNeighbour(Index position, int64_t neighbour) const {
  if (neighbours.together > 1)
    position[neighbours.axis] = position[neighbours.axis] * neighbours.together + neighbour;
  return position;
}

std::string ColumnwiseEmitter::partial(int64_t neighbour) const {
  return neighbour == 0 ? "partial[i]" : "partial[" + std::to_string(neighbour) + " * W + i]";
}

LogicalResult ColumnwiseEmitter::run(int64_t width) {
  emitter.emplace(fusion, space, space.lanesAlong("e", width));
  emitter->loopOver("r");
  if (failed(emitElements()))
    return failure();
  for (int64_t neighbour = 0; neighbour < neighbours.together; ++neighbour)
    if (failed(emitResults(neighbour)))
      return failure();
  after = emitter->takeUniform();
  return success();
}

/// What one step adds to each result: of neighbouring windows, which share what they read, all
/// elements along their axis.
LogicalResult ColumnwiseEmitter::emitElements() {
  int64_t taps = neighbours.together > 1 ? neighbours.taps : 1;
  for (int64_t neighbour = 0; neighbour < neighbours.together; ++neighbour)
    for (int64_t tap = 0; tap < taps; ++tap)
      if (failed(emitElement(neighbour, tap)))
        return failure();
  before = emitter->takeUniform();
  emitter->beginChunk(/*keep=*/false);
  return success();
}

LogicalResult ColumnwiseEmitter::emitElement(int64_t neighbour, int64_t tap) {
  Index position = ofNeighbour(element, neighbour);
  if (neighbours.together > 1)
    position[neighbours.axis + 1] = Dim::constant(fusion.getContext(), tap);
  FailureOr<Operand> value = emitter->emit(reduction.getInput(), position);
  if (failed(value))
    return failure();
  std::string type = computeType(elementOf(reduction.getInput())).str(),
              kept = keptType(reduction.getInput()), summand = type + "(" + value->text + ")",
              sum = partial(neighbour);
  emitter->chunk().lanes.push_back(sum + " = " + combiningFunction(reduction.getKind()).str() +
                                   "::combine(" + sum + ", " +
                                   (kept != type ? kept + "(" + summand + ")" : summand) + ");\n");
  return success();
}

LogicalResult ColumnwiseEmitter::emitResults(int64_t neighbour) {
  std::string type = computeType(elementOf(reduction.getInput())).str(),
              total = type + "(" + partial(neighbour) + ")";
  if (reduction.getKind() == ReductionKind::mean)
    total += " / " + type + "(" + emitter->printer().print(elements) + ")";
  // Its statement stands in the loop over lanes, whatever the width.
  Operand sum = emitter->variable("const " + type, total, Scope::lane);
  emitter->setResolver([sum](Operation *, ArrayRef<Dim>) { return sum; });
  for (auto [number, value] : llvm::enumerate(fusion.getYield()->getOperands())) {
    RowMomentsOp moments = asMoments(value);
    Value stored = moments ? Value(moments.getInput()) : value;
    Index position = reshapeIndex(ofNeighbour(at, neighbour), shape, tensorType(stored).getShape(),
                                  space.getBounds());
    if (!moments) {
      if (failed(emitter->emitAndStore(number, stored, position, position)))
        return failure();
      continue;
    }
    FailureOr<Operand> operand = emitter->emit(stored, position);
    if (failed(operand))
      return failure();
    emitter->storeMoments(number, position, *operand, elementOf(stored));
  }
  return success();
}

GeneratedKernel ColumnwiseEmitter::finish() {
  int64_t width = emitter->getLanes().width, shared = parts(),
          vectors = shared == 1 ? kThreads : std::max(leastVectors(), kThreadsOfParts / shared),
          threads = vectors * shared;
  std::string chunk = emitter->allChunks()[0].text(), stores = emitter->allChunks()[1].text();
  chunk = emitter->coordinateDefinitions(chunk, "r") + chunk;
  after += stores;
  before = emitter->coordinateDefinitions(before + chunk + after, "e") + before;
  std::string countText = emitter->printer().print(count),
              stepsText = emitter->printer().print(steps);
  std::optional<int64_t> known = steps.asConstant();
  bool isShort = known && *known <= kMostUnrolled;
  std::string unrolled = neighbours.together > 1 ? "1" : isShort ? "" : std::to_string(kUnrolled);
  const std::set<std::string> &used = emitter->printer().sizes();
  std::vector<std::string> sizes(used.begin(), used.end());
  std::string include = includeTemplate("columnwise"), whole;
  if (storesMoments) {
    include += kIncludeMoments;
    whole = std::string("\n    constexpr bool WholeWarps = ") +
            (storesInWholeWarps(vectors) ? "true;" : "false;");
  }
  std::string text =
      format(kText, {{"include", include},
                     {"whole", whole},
                     {"width", std::to_string(width)},
                     {"vectors", std::to_string(vectors)},
                     {"parts", std::to_string(shared)},
                     {"together", std::to_string(neighbours.together)},
                     {"kept", keptType(reduction.getInput())},
                     {"type", computeType(elementOf(reduction.getInput())).str()},
                     {"function", combiningFunction(reduction.getKind()).str()},
                     {"members", problemMembers(fusion, sizes) + kDirectionMember.str()},
                     {"count", countText},
                     {"before", before},
                     {"unrolled", unrolled},
                     {"elements", stepsText},
                     {"chunk", chunk},
                     {"after", after},
                     {"threads", std::to_string(threads)},
                     {"entry", kEntryName},
                     {"parameters", entryParameters(fusion, sizes) + kDirectionParameter.str()},
                     {"arguments", entryArguments(fusion, sizes) + kDirectionArgument.str()}});
  GeneratedKernel kernel;
  MLIRContext *context = fusion.getContext();
  Dim one = Dim::constant(context, 1);
  kernel.grid = {count.ceilDiv(Dim::constant(context, width * vectors)), one, one};
  kernel.block = {static_cast<unsigned>(threads), 1, 1};
  std::string description = std::to_string(width) + " results a thread";
  if (neighbours.together > 1)
    description += ", of " + std::to_string(neighbours.together) + " windows";
  if (shared > 1)
    description += ", " + std::to_string(shared) + " threads a result";
  finishKernel(kernel, fusion, std::move(text), description, used);
  kernel.arguments.push_back(KernelArgument::direction());
  return kernel;
}

/// The widest vector of which the narrowest result takes no more than 16 bytes, that divides the
/// number of results.
int64_t largestColumnVector(FusionOp fusion, Dim count) {
  int64_t bytes = kVectorBytes;
  for (Value result : fusion.getYield()->getOperands())
    if (!asMoments(result))
      bytes = std::min(bytes, elementBytes(elementOf(result)));
  int64_t width = std::min(kMaxWidth, kVectorBytes / bytes);
  while (knownDivisor(count, Lanes()) % width != 0)
    width /= 2;
  return width;
}

} // namespace

FailureOr<GeneratedKernel> emitColumnwise(FusionOp fusion) {
  ReduceOp reduction = *fusion.getBlock().getOps<ReduceOp>().begin();
  Neighbours neighbours = findNeighbours(fusion, reduction);
  Dim count = ColumnwiseEmitter(fusion, reduction, neighbours).getCount();
  int64_t widest = largestColumnVector(fusion, count);
  if (neighbours.together > 1)
    widest = std::min(widest, kWidthTogether);
  for (int64_t width = widest;; width /= 2) {
    ColumnwiseEmitter emitter(fusion, reduction, neighbours);
    if (failed(emitter.run(width)))
      return failure();
    if (emitter.isRegular() || width == 1)
      return emitter.finish();
  }
}

} // namespace smelt::codegen
