// Emits reductions of few long rows as two kernels with partial results in scratch memory
// (kernels/split_reduction/split_reduction.cuh).
//
// Problem: the row-wise kernel gives a row to one block; a reduction of a whole tensor then runs on
// one multiprocessor. Method: where rows are few and long, their number of parts fills the device.
// Everything before the reductions is computed with the parts, everything behind them once a row.
// Assumes: only reduce ops, none of which reads another's result, and one element a row as results.
#include "codegen/kernels/split_reduction/split_reduction.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/kernels/rowwise/row_passes.h"
#include "codegen/printer.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr int64_t kThreads = 256, kCombiningThreads = 128;
constexpr int64_t kVectorBytes = 16, kMaxWidth = 8;
/// Vectors of a thread that are on their way together (ReductionBlock::kUnrolled): a part has as
/// many at least.
constexpr int64_t kUnrolled = 4;
/// Blocks of a multiprocessor: with the vectors on their way, 64 KB of it.
constexpr int64_t kBlocksPerMultiprocessor = 4;

constexpr char kPartsText[] = R"(
$include$
namespace smelt {
struct Problem {
  $members$

  template <class Block> __device__ __forceinline__ void run(const Block &block, int row) const {
    constexpr int W = $width$;
    $before$
    block.template forEach<W>([&](int col) {
      $chunk$
    });
    $after$
  }
};

extern "C" __global__ void __launch_bounds__($threads$) $entry$($parameters$) {
  reduceParts<$threads$, $width$>(Problem{$arguments$}, $columns$);
}
} // namespace smelt
)";

constexpr char kCombineText[] = R"(
$include$
namespace smelt {
struct Problem {
  $members$

  template <class Block> __device__ __forceinline__ void run(const Block &block, int row) const {
    const int parts = block.end;
    $before$
    block.template forEach<1>([&](int part) {
      $chunk$
    });
    $after$
    if (threadIdx.x == 0) {
      $results$
    }
  }
};
} // namespace smelt

extern "C" __global__ void __launch_bounds__($threads$) $entry$($parameters$) {
  smelt::combineParts<$threads$>(smelt::Problem{$arguments$}, parts);
}
)";

bool readsReduction(Value value) {
  SmallVector<Value> pending{value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isa<RowReduction>(op))
      return true;
    llvm::append_range(pending, op->getOperands());
  }
  return false;
}

class SplitReduction {
public:
  SplitReduction(FusionOp fusion, const Target &target);
  bool isPossible();
  FailureOr<KernelVariant> run();
  /// Blocks that share a row.
  Dim parts() const;

private:
  /// One reduce op and the names of its values in the text.
  struct Reduction {
    ReduceOp op;
    std::string type, function, scratch;
  };

  int64_t largestWidth() const;
  FailureOr<std::optional<GeneratedKernel>> emitParts(int64_t width);
  FailureOr<GeneratedKernel> emitCombination();
  FailureOr<std::string> results(ExpressionEmitter &emitter, const IterationSpace &space,
                                 ArrayRef<Dim> index);
  GeneratedKernel finish(std::string text, StringRef config, const std::set<std::string> &sizes);
  std::string scratchMembers() const;
  std::string withScratch(std::string list, bool asParameters) const;

  FusionOp fusion;
  const Target &target;
  std::vector<Reduction> reductions;
  SmallVector<Dim> shape;
  int64_t axis = 0;
  Dim rows, columns;
};

SplitReduction::SplitReduction(FusionOp fusion, const Target &target)
    : fusion(fusion), target(target) {
  for (ReduceOp op : fusion.getBlock().getOps<ReduceOp>())
    reductions.push_back({op, keptType(op.getInput()), combiningFunction(op.getKind()).str(),
                          "scratch" + std::to_string(reductions.size())});
  if (reductions.empty())
    return;
  shape = tensorType(reductions[0].op.getInput()).getShape();
  axis = *reductions[0].op.getFirstReducedAxis();
  rows = product(ArrayRef(shape).take_front(axis), fusion.getContext());
  columns = product(ArrayRef(shape).drop_front(axis), fusion.getContext());
}

bool SplitReduction::isPossible() {
  bool onlyReduces = llvm::all_of(
      fusion.getBlock(), [](Operation &op) { return !isa<RowReduction>(op) || isa<ReduceOp>(op); });
  return onlyReduces && !reductions.empty() &&
         llvm::all_of(reductions,
                      [&](Reduction &reduction) {
                        Value input = reduction.op.getInput();
                        return tensorType(input).getShape() == shape &&
                               reduction.op.getFirstReducedAxis() == axis && !readsReduction(input);
                      }) &&
         llvm::all_of(fusion.getYield()->getOperands(), [&](Value value) {
           return tensorType(value).getNumElements() == rows && !columns.isConstant(1);
         });
}

/// The widest vector of which the narrowest input of the rows' size takes no more than 16 bytes.
int64_t SplitReduction::largestWidth() const {
  int64_t bytes = kVectorBytes;
  for (Value input : FusionOp(fusion).getInputs())
    if (tensorType(input).getNumElements() == rows * columns)
      bytes = std::min(bytes, elementBytes(tensorType(input).getElementType()));
  int64_t width = std::min(kMaxWidth, kVectorBytes / bytes);
  while (knownDivisor(columns, Lanes()) % width != 0)
    width /= 2;
  return width;
}

Dim SplitReduction::parts() const {
  MLIRContext *context = FusionOp(fusion).getContext();
  auto size = [&](int64_t value) { return Dim::constant(context, value); };
  Dim most = columns.ceilDiv(size(kThreads * kUnrolled * largestWidth()));
  if (most.asConstant().value_or(2) < 2)
    return most; // a row is no longer than one block's share
  Dim wanted =
      size(target.part.multiprocessors * kBlocksPerMultiprocessor).floorDiv(rows.max(size(1)));
  return most.min(wanted);
}

std::string SplitReduction::scratchMembers() const {
  std::string text;
  for (const Reduction &reduction : reductions)
    text += reduction.type + " *" + reduction.scratch + "; // [rows, parts]\n";
  return text;
}

/// `list`, of parameters or arguments of the entry, and the scratch buffers.
std::string SplitReduction::withScratch(std::string list, bool asParameters) const {
  for (const Reduction &reduction : reductions) {
    bool isBuiltin = StringRef(reduction.type).find('_') == StringRef::npos;
    std::string type = (isBuiltin ? "" : "smelt::") + reduction.type + " *";
    list += ", " + (asParameters ? type : "") + reduction.scratch;
  }
  return list;
}

/// Text, and what follows from it; the scratch buffers are the last parameters.
GeneratedKernel SplitReduction::finish(std::string text, StringRef config,
                                       const std::set<std::string> &sizes) {
  GeneratedKernel kernel;
  finishKernel(kernel, fusion, std::move(text), config, sizes);
  for (unsigned index = 0; index < reductions.size(); ++index)
    kernel.arguments.push_back(KernelArgument::scratchPointer(index));
  return kernel;
}

/// None where lanes of this width would be read one by one.
FailureOr<std::optional<GeneratedKernel>> SplitReduction::emitParts(int64_t width) {
  MLIRContext *context = fusion.getContext();
  IterationSpace space;
  Index index = space.addFlat(context, "row", ArrayRef(shape).take_front(axis));
  llvm::append_range(index, space.addFlat(context, "col", ArrayRef(shape).drop_front(axis)));
  ExpressionEmitter emitter(fusion, space, space.lanesAlong("col", width));
  emitter.loopOver("col");
  std::string before, after;
  for (Reduction &reduction : reductions) {
    FailureOr<Operand> value = emitter.emit(reduction.op.getInput(), index);
    if (failed(value))
      return failure();
    std::string partial = emitter.name("partial"), function = reduction.function;
    StringRef type = computeType(tensorType(reduction.op.getInput()).getElementType());
    before +=
        reduction.type + " " + partial + " = " + function + "::identity<" + type.str() + ">();\n";
    emitter.chunk().lanes.push_back(partial + " = " + function + "::combine(" + partial + ", " +
                                    reduction.type + "(" + value->text + "));\n");
    after += partial + " = block.template reduce<" + function + ">(" + partial +
             ");\nif (threadIdx.x == 0)\n  " + reduction.scratch +
             "[row * gridDim.x + blockIdx.x] = " + partial + ";\n";
  }
  if (!emitter.isRegular() && width > 1)
    return std::optional<GeneratedKernel>();
  std::string chunk = emitter.chunk().text(), uniform = emitter.takeUniform();
  chunk = emitter.coordinateDefinitions(chunk, "col") + chunk;
  before = emitter.coordinateDefinitions(uniform + chunk, "row") + uniform + before;
  std::string columnsText = emitter.printer().print(columns);
  const std::set<std::string> &used = emitter.printer().sizes();
  std::vector<std::string> sizes(used.begin(), used.end());
  std::string text =
      format(kPartsText, {{"include", includeTemplate("split_reduction")},
                          {"members", problemMembers(fusion, sizes) + scratchMembers()},
                          {"width", std::to_string(width)},
                          {"before", before},
                          {"chunk", chunk},
                          {"after", after},
                          {"threads", std::to_string(kThreads)},
                          {"entry", kEntryName},
                          {"parameters", withScratch(entryParameters(fusion, sizes), true)},
                          {"arguments", withScratch(entryArguments(fusion, sizes), false)},
                          {"columns", columnsText}});
  GeneratedKernel kernel =
      finish(std::move(text), "parts of rows in vectors of " + std::to_string(width), used);
  kernel.grid = {parts(), rows, Dim::constant(context, 1)};
  kernel.block = {static_cast<unsigned>(kThreads), 1, 1};
  return std::optional<GeneratedKernel>(std::move(kernel));
}

/// The statements that compute and store each row's results.
FailureOr<std::string> SplitReduction::results(ExpressionEmitter &emitter,
                                               const IterationSpace &space, ArrayRef<Dim> index) {
  SmallVector<Dim> rowShape(shape);
  for (size_t i = axis; i < shape.size(); ++i)
    rowShape[i] = Dim::constant(fusion.getContext(), 1);
  std::string stores;
  for (auto [number, value] : llvm::enumerate(fusion.getYield()->getOperands())) {
    TensorType type = tensorType(value);
    FailureOr<Operand> operand =
        emitter.emit(value, reshapeIndex(index, rowShape, type.getShape(), space.getBounds()));
    if (failed(operand))
      return failure();
    stores += outputName(number) + "[row] = convert<" + storageType(type.getElementType()).str() +
              ">(" + operand->text + ");\n";
  }
  return emitter.takeUniform() + stores;
}

FailureOr<GeneratedKernel> SplitReduction::emitCombination() {
  MLIRContext *context = fusion.getContext();
  IterationSpace space;
  Index index = space.addFlat(context, "row", ArrayRef(shape).take_front(axis));
  index.append(shape.size() - axis, Dim::constant(context, 0));
  ExpressionEmitter emitter(fusion, space, Lanes());
  llvm::DenseMap<Operation *, std::string> totals;
  std::string before, chunk, after;
  for (Reduction &reduction : reductions) {
    StringRef type = computeType(tensorType(reduction.op.getInput()).getElementType());
    std::string partial = emitter.name("partial"), total = emitter.name("total"),
                function = reduction.function;
    before +=
        reduction.type + " " + partial + " = " + function + "::identity<" + type.str() + ">();\n";
    chunk += partial + " = " + function + "::combine(" + partial + ", " + reduction.scratch +
             "[row * parts + part]);\n";
    after += ("const " + type + " " + total + " = block.template reduce<" + function + ">(" +
              partial + ")" +
              (reduction.op.getKind() == ReductionKind::mean
                   ? " / " + type + "(" + emitter.printer().print(columns) + ")"
                   : Twine("")) +
              ";\n")
                 .str();
    totals[reduction.op] = total;
  }
  emitter.setResolver([&](Operation *op, ArrayRef<Dim>) -> FailureOr<Operand> {
    auto found = totals.find(op);
    if (found == totals.end())
      return op->emitError("cannot be computed behind a reduction"), failure();
    return Operand{found->second};
  });
  FailureOr<std::string> stores = results(emitter, space, index);
  if (failed(stores))
    return failure();
  std::string statements = emitter.coordinateDefinitions(*stores) + *stores;
  const std::set<std::string> &used = emitter.printer().sizes();
  std::vector<std::string> sizes(used.begin(), used.end());
  std::string text =
      format(kCombineText,
             {{"include", includeTemplate("split_reduction")},
              {"members", problemMembers(fusion, sizes) + scratchMembers()},
              {"before", before},
              {"chunk", chunk},
              {"after", after},
              {"results", statements},
              {"threads", std::to_string(kCombiningThreads)},
              {"entry", kEntryName},
              {"parameters", withScratch(entryParameters(fusion, sizes), true) + ", int parts"},
              {"arguments", withScratch(entryArguments(fusion, sizes), false)}});
  GeneratedKernel kernel = finish(std::move(text), "rows of parts", used);
  kernel.arguments.push_back(KernelArgument::size32(parts()));
  kernel.grid = {rows, Dim::constant(context, 1), Dim::constant(context, 1)};
  kernel.block = {static_cast<unsigned>(kCombiningThreads), 1, 1};
  kernel.bytes = kernel.flops = Dim::constant(context, 0);
  for (Value output : fusion.getOutputs())
    kernel.bytes = kernel.bytes + rows * elementBytes(tensorType(output).getElementType());
  return kernel;
}

FailureOr<KernelVariant> SplitReduction::run() {
  KernelVariant variant;
  if (!parts().asConstant())
    variant.rule = {parts(), 2, std::numeric_limits<int64_t>::max(), "parts of a row"};
  for (Reduction &reduction : reductions) {
    // Integers shorter than a register are kept in a whole one.
    int64_t bytes =
        std::max<int64_t>(4, elementBytes(tensorType(reduction.op.getInput()).getElementType()));
    variant.scratch.push_back({rows * parts() * bytes});
  }
  for (int64_t width = largestWidth();; width /= 2) {
    FailureOr<std::optional<GeneratedKernel>> kernel = emitParts(width);
    if (failed(kernel))
      return failure();
    if (!*kernel)
      continue;
    variant.launches.push_back(std::move(**kernel));
    break;
  }
  FailureOr<GeneratedKernel> combination = emitCombination();
  if (failed(combination))
    return failure();
  variant.launches.push_back(std::move(*combination));
  return variant;
}

} // namespace

FailureOr<std::optional<KernelVariant>> emitSplitReduction(FusionOp fusion, const Target &target) {
  SplitReduction reduction(fusion, target);
  if (!reduction.isPossible() || reduction.parts().asConstant().value_or(2) < 2)
    return std::optional<KernelVariant>();
  FailureOr<KernelVariant> variant = reduction.run();
  if (failed(variant))
    return failure();
  return std::optional<KernelVariant>(std::move(*variant));
}

} // namespace smelt::codegen
