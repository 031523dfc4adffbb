// Emits kernels that pick elements by their order (kernels/selection/selection.cuh): how many
// threads share a row, and the expression of an element.
#include "codegen/kernels/selection/selection.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/printer.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr int64_t kWarp = 32, kMaxThreads = 256;
/// Elements of a row for each thread, where there are threads enough.
constexpr int64_t kShare = 4;
/// Elements that a thread keeps in registers.
constexpr int64_t kMaxHeld = 16;
constexpr int64_t kMaxBlocks = 1 << 16;

constexpr char kText[] = R"(
$include$
namespace smelt {
struct Problem {
  using Value = $value$;
  static constexpr int kThreads = $threads$;
  static constexpr int kHeld = $held$;
  static constexpr bool kSmallest = $smallest$;
  $members$

  __device__ int rows() const { return $rows$; }
  __device__ int columns() const { return $columns$; }
  __device__ int count() const { return $count$; }
  __device__ __forceinline__ Value value(int row, int col) const {
    constexpr int W = 1;
    Value element;
    $body$
    return element;
  }
  __device__ __forceinline__ void store(int row, int rank, Value value, int position) const {
    const int e = row * count() + rank;
    $stores$
  }
};
} // namespace smelt

extern "C" __global__ void __launch_bounds__($threads$) $entry$($parameters$) {
  smelt::selection(smelt::Problem{$arguments$});
}
)";

TopKOp onlyTopK(FusionOp fusion) {
  auto ops = fusion.getBlock().getOps<TopKOp>();
  return llvm::hasSingleElement(ops) ? *ops.begin() : TopKOp();
}

int64_t threadsFor(std::optional<int64_t> columns) {
  if (!columns)
    return kMaxThreads;
  int64_t wanted = llvm::PowerOf2Ceil(std::max<int64_t>(*columns / kShare, 1));
  return std::clamp(wanted, kWarp, kMaxThreads);
}

/// Elements that each thread of a row keeps; 0 where they are too many or not known.
int64_t heldBy(int64_t threads, std::optional<int64_t> columns) {
  int64_t share = columns ? llvm::divideCeil(std::max<int64_t>(*columns, 1), threads) : 0;
  return share <= kMaxHeld ? share : 0;
}

/// "out0[e] = convert<half>(value);" for each result of the fusion.
std::string storesOf(FusionOp fusion, TopKOp op) {
  std::string text;
  for (auto [number, value] : llvm::enumerate(fusion.getYield()->getOperands()))
    text += outputName(number) + "[e] = convert<" +
            storageType(tensorType(value).getElementType()).str() + ">(" +
            (value == op.getPositions() ? "int64_t(position)" : "value") + ");\n";
  return text;
}

} // namespace

FailureOr<GeneratedKernel> emitSelection(FusionOp fusion) {
  TopKOp op = onlyTopK(fusion);
  TensorType input = tensorType(op.getInput());
  MLIRContext *context = fusion.getContext();
  SmallVector<Dim> shape = input.getShape();
  Dim columns = shape.back(), count = tensorType(op.getValues()).getShape().back();
  IterationSpace space;
  Index index = space.addFlat(context, "row", ArrayRef(shape).drop_back());
  llvm::append_range(index, space.addFlat(context, "col", columns));
  ExpressionEmitter emitter(fusion, space, space.lanesAlong("col", 1));
  FailureOr<Operand> element = emitter.emit(op.getInput(), index);
  if (failed(element))
    return failure();
  std::string uniform = emitter.takeUniform();
  emitter.chunk().lanes.push_back("element = " + element->text + ";\n");
  std::string body = uniform + emitter.chunk().text();
  body = emitter.coordinateDefinitions(body) + body;
  Dim rows = Dim::constant(context, 1);
  for (Dim extent : ArrayRef(shape).drop_back())
    rows = rows * extent;
  std::string rowsText = emitter.printer().print(rows),
              columnsText = emitter.printer().print(columns),
              countText = emitter.printer().print(count);
  int64_t threads = threadsFor(columns.asConstant());
  int64_t held = heldBy(threads, columns.asConstant());
  const std::set<std::string> &used = emitter.printer().sizes();
  std::vector<std::string> sizes(used.begin(), used.end());
  std::string text = format(kText, {{"include", includeTemplate("selection")},
                                    {"value", computeType(input.getElementType()).str()},
                                    {"threads", std::to_string(threads)},
                                    {"held", std::to_string(held)},
                                    {"smallest", op.getSmallest() ? "true" : "false"},
                                    {"members", problemMembers(fusion, sizes)},
                                    {"rows", rowsText},
                                    {"columns", columnsText},
                                    {"count", countText},
                                    {"body", body},
                                    {"stores", storesOf(fusion, op)},
                                    {"entry", kEntryName},
                                    {"parameters", entryParameters(fusion, sizes)},
                                    {"arguments", entryArguments(fusion, sizes)}});
  GeneratedKernel kernel;
  Dim one = Dim::constant(context, 1);
  kernel.grid = {rows.min(Dim::constant(context, kMaxBlocks)), one, one};
  kernel.block = {static_cast<unsigned>(threads), 1, 1};
  finishKernel(kernel, fusion, std::move(text), std::to_string(threads) + " threads a row", used);
  return kernel;
}

} // namespace smelt::codegen
