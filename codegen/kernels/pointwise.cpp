// Emits elementwise kernels (kernels/pointwise.cuh).
//
// The width is the largest for which every access is a whole aligned vector or a broadcast. Lanes
// run either along the flat element number, where all tensors are walked in the same order (then
// sizes need not be known), or along the innermost axis, where its extent is a multiple of the
// width. If neither works, a thread computes one element.
#include "codegen/kernels/pointwise.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/printer.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr unsigned kThreads = 128;
constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMaxWidth = 8;

constexpr char kText[] = R"(
#include "kernels/pointwise.cuh"

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

/// Along which coordinates lanes run, and how many there are.
struct Candidate {
  Lanes lanes;
  bool hasTail;
};

/// The widest vector of which the narrowest result takes no more than 16 bytes.
int64_t largestWidth(FusionOp fusion) {
  int64_t bytes = kVectorBytes;
  for (Value output : fusion.getOutputs())
    bytes = std::min(bytes, storageBytes(tensorType(output).getElementType()));
  return std::min(kMaxWidth, kVectorBytes / bytes);
}

SmallVector<Candidate> listCandidates(FusionOp fusion, const IterationSpace &space,
                                      ArrayRef<Dim> shape) {
  SmallVector<Candidate> candidates;
  llvm::StringSet<> parts;
  for (const auto &bound : space.getBounds())
    if (space.isPart(bound.first()))
      parts.insert(bound.first());
  size_t innermost = shape.size();
  while (innermost > 0 && shape[innermost - 1].isConstant(1))
    --innermost;
  std::string last = "%e" + std::to_string(innermost - 1);
  Lanes inner{{}, 1, {}};
  inner.symbols.insert("%e");
  if (parts.contains(last))
    inner.symbols.insert(last);
  Lanes flat{{}, 1, parts};
  flat.symbols.insert("%e");
  std::optional<int64_t> extent = innermost == 0 ? 1 : shape[innermost - 1].asConstant();
  Dim count = tensorType(fusion.getOutputs()[0]).getNumElements();
  for (int64_t width = largestWidth(fusion); width > 1; width /= 2) {
    flat.width = inner.width = width;
    if (extent && *extent % width == 0)
      candidates.push_back({inner, false});
    candidates.push_back({flat, knownDivisor(count, Lanes()) % width != 0});
  }
  inner.width = 1;
  candidates.push_back({inner, false});
  return candidates;
}

/// Emits the body for `candidate`. Fails after a report.
LogicalResult emitBody(FusionOp fusion, ArrayRef<Dim> index, ExpressionEmitter &emitter) {
  for (auto [number, value] : llvm::enumerate(fusion.getYield()->getOperands())) {
    FailureOr<Operand> operand = emitter.emit(value, index);
    if (failed(operand))
      return failure();
    emitter.store(number, index, *operand);
  }
  return success();
}

GeneratedKernel finish(FusionOp fusion, ExpressionEmitter &emitter, const Candidate &candidate) {
  Dim count = tensorType(fusion.getOutputs()[0]).getNumElements();
  std::string width = std::to_string(candidate.lanes.width);
  std::string uniform = emitter.takeUniform(), chunk = emitter.chunk().text();
  std::string body = emitter.coordinateDefinitions() + uniform + chunk;
  std::string countText = emitter.printer().print(count);
  const std::set<std::string> &used = emitter.printer().sizes();
  std::vector<std::string> sizes(used.begin(), used.end());
  std::string text = format(kText, {{"width", width},
                                    {"tail", candidate.hasTail ? "true" : "false"},
                                    {"members", problemMembers(fusion, sizes)},
                                    {"count", countText},
                                    {"body", body},
                                    {"threads", std::to_string(kThreads)},
                                    {"entry", kEntryName},
                                    {"parameters", entryParameters(fusion, sizes)},
                                    {"arguments", entryArguments(fusion, sizes)}});
  GeneratedKernel kernel;
  MLIRContext *context = fusion.getContext();
  // One thread a vector, and one for each element of the tail.
  Dim threads = count.floorDiv(Dim::constant(context, candidate.lanes.width));
  if (candidate.hasTail)
    threads = threads + (candidate.lanes.width - 1);
  Dim one = Dim::constant(context, 1);
  kernel.grid = {threads.ceilDiv(Dim::constant(context, kThreads)), one, one};
  kernel.block = {kThreads, 1, 1};
  finishKernel(kernel, fusion, std::move(text), "in vectors of " + width, used);
  return kernel;
}

} // namespace

FailureOr<GeneratedKernel> emitPointwise(FusionOp fusion) {
  TensorType type = tensorType(fusion.getOutputs()[0]);
  for (Value output : fusion.getOutputs())
    if (tensorType(output).getShape() != type.getShape())
      return fusion.emitError("pointwise results differ in shape; this is a bug in Smelt"),
             failure();
  IterationSpace space;
  SmallVector<Dim> shape = type.getShape();
  Index index = space.addFlat(fusion.getContext(), "e", shape);
  for (const Candidate &candidate : listCandidates(fusion, space, shape)) {
    ExpressionEmitter emitter(fusion, space, candidate.lanes);
    if (failed(emitBody(fusion, index, emitter)))
      return failure();
    if (emitter.isRegular())
      return finish(fusion, emitter, candidate);
  }
  llvm_unreachable("one element a thread is always possible");
}

} // namespace smelt::codegen
