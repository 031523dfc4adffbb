// Emits elementwise kernels (kernels/pointwise/pointwise.cuh).
//
// The width is the largest for which every access is a whole aligned vector or a broadcast. Lanes
// run along the innermost axis, where its extent is a multiple of the width, or else along the flat
// element number, which works where all tensors are walked in the same order. Where no width does, a
// thread still stores vectors, as wide as the innermost axis allows, and reads their elements one by one:
// channels of 64 images of 3 x 224 x 224 pixels to the end, 66 us by two of them, 34 by four (H100). If
// lanes do not stay in one row either, a thread computes one element.
#include "codegen/kernels/pointwise/pointwise.h"

#include "codegen/kernel_text.h"
#include "codegen/printer.h"

#include <algorithm>

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr unsigned kThreads = 128;
constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMaxWidth = 8;

constexpr char kText[] = R"(
$include$
namespace smelt {
struct Problem {
  static constexpr int kWidth = $width$;
  static constexpr bool kHasTail = $tail$;
  $members$

  __device__ int count() const { return $count$; }
  template <int W> __device__ __forceinline__ void run(int e) const {
    $body$
  }
};
} // namespace smelt

extern "C" __global__ void __launch_bounds__($threads$) $entry$($parameters$) {
  smelt::pointwise(smelt::Problem{$arguments$});
}
)";

/// The widest vector of which the narrowest result takes no more than 16 bytes.
int64_t largestWidth(FusionOp fusion) {
  int64_t bytes = kVectorBytes;
  for (Value output : fusion.getOutputs())
    bytes = std::min(bytes, elementBytes(tensorType(output).getElementType()));
  return std::min(kMaxWidth, kVectorBytes / bytes);
}

/// What is computed of a result: of a buffer that is appended to, the rows.
Value computedPart(Value result) {
  auto append = result.getDefiningOp<AppendOp>();
  return append ? append.getRows() : result;
}

/// Where in `result` an element of its computed part is stored.
Index storedAt(Value result, ArrayRef<Dim> index) {
  Index at(index);
  if (auto append = result.getDefiningOp<AppendOp>())
    at[append.getAxis()] = at[append.getAxis()] + Dim(append.getStart());
  return at;
}

/// Emits the results at `index`. Fails after a report.
LogicalResult emitBody(FusionOp fusion, ArrayRef<Dim> index, ExpressionEmitter &emitter) {
  for (auto [number, value] : llvm::enumerate(fusion.getYield()->getOperands())) {
    if (failed(emitter.emitAndStore(number, computedPart(value), index, storedAt(value, index))))
      return failure();
  }
  return success();
}

/// Lets the inputs' pointers stand where the emitted loads count from.
void movePointers(GeneratedKernel &kernel, FusionOp fusion, const ExpressionEmitter &emitter) {
  for (auto [number, input] : llvm::enumerate(fusion.getInputs()))
    if (Dim start = emitter.pointerStart(number); start && !start.isConstant(0))
      std::get<KernelArgument::Pointer>(kernel.arguments[number].held).buffer.offset =
          start * elementBytes(tensorType(input).getElementType());
}

GeneratedKernel finish(FusionOp fusion, Dim count, ExpressionEmitter &emitter) {
  int64_t lanes = emitter.getLanes().width;
  bool hasTail = knownDivisor(count, Lanes()) % lanes != 0;
  std::string width = std::to_string(lanes);
  std::string uniform = emitter.takeUniform(), chunk = emitter.chunk().text();
  std::string body = emitter.coordinateDefinitions(uniform + chunk) + uniform + chunk;
  std::string countText = emitter.printer().print(count);
  const std::set<std::string> &used = emitter.printer().sizes();
  std::vector<std::string> sizes(used.begin(), used.end());
  std::string text =
      format(kText, {{"include", includeTemplate("pointwise")},
                     {"width", width},
                     {"tail", hasTail ? "true" : "false"},
                     {"members", problemMembers(fusion, sizes) + kDirectionMember.str()},
                     {"count", countText},
                     {"body", body},
                     {"threads", std::to_string(kThreads)},
                     {"entry", kEntryName},
                     {"parameters", entryParameters(fusion, sizes) + kDirectionParameter.str()},
                     {"arguments", entryArguments(fusion, sizes) + kDirectionArgument.str()}});
  GeneratedKernel kernel;
  MLIRContext *context = fusion.getContext();
  // One thread a vector, and one for each element of the tail.
  Dim threads = count.floorDiv(Dim::constant(context, lanes));
  if (hasTail)
    threads = threads + (lanes - 1);
  Dim one = Dim::constant(context, 1);
  kernel.grid = {threads.ceilDiv(Dim::constant(context, kThreads)), one, one};
  kernel.block = {kThreads, 1, 1};
  finishKernel(kernel, fusion, std::move(text), "in vectors of " + width, used);
  kernel.arguments.push_back(KernelArgument::direction());
  movePointers(kernel, fusion, emitter);
  return kernel;
}

} // namespace

FailureOr<GeneratedKernel> emitPointwise(FusionOp fusion, std::optional<ResultPlace> place) {
  TensorType type = tensorType(computedPart(fusion.getYield()->getOperand(0)));
  IterationSpace space;
  SmallVector<Dim> shape = type.getShape();
  Index index = space.addFlat(fusion.getContext(), "e", shape);
  std::optional<ExpressionEmitter> emitter;
  auto emit = [&](int64_t width) {
    emitter.emplace(fusion, space, space.lanesAlong("e", width));
    emitter->movePointers();
    if (place)
      emitter->setPlace(*place);
    return emitBody(fusion, index, *emitter);
  };
  int64_t widestInRow = 1;
  for (int64_t width = largestWidth(fusion); width > 1; width /= 2) {
    if (failed(emit(width)))
      return failure();
    if (emitter->isRegular())
      return finish(fusion, type.getNumElements(), *emitter);
    if (emitter->getLanes().irregular.empty())
      widestInRow = std::max(widestInRow, width);
  }
  if (failed(emit(widestInRow)))
    return failure();
  return finish(fusion, type.getNumElements(), *emitter);
}

} // namespace smelt::codegen
