// Emits matrix product kernels.
//
// The product is seen as C[m, n] += A[m, k] B[k, n]: leading axes of the left operand fold into m
// where the right operand has none (weights), else both run over batches. Views before the operands
// become addresses; the ops after the product become the epilogue, which computes W neighbouring
// columns at a time. What it reads is fetched before the main loop; statistics of norms are
// computed once a row, from moments that the kernel before has stored, and those of its own results
// stored for the kernels behind.
#include "codegen/kernels/gemm.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/kernels/gemm_choice.h"
#include "codegen/printer.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr int64_t kMaxGridZ = 65535;
/// Row counts that stand for a range of shapes, and the largest count of each range but the last.
constexpr int64_t kTypicalRows[] = {16, 128, 224, 768, 8192};
constexpr int64_t kLastRows[] = {32, 128, 256, 1024};
/// Stands for a size that is not known when compiling.
constexpr int64_t kTypicalSize = 256;
constexpr int64_t kMaxEpilogueWidth = 8;
/// Registers of a thread that hold what the epilogue reads, for one vector of its columns.
constexpr int64_t kMaxFetchedBytes = 96;
/// Threads of a block whose operands' addresses are no linear functions of their positions.
constexpr int kMaxScatteredThreads = 256;

constexpr char kText[] = R"(
#include "device/arithmetic.cuh"
#include "device/moments.cuh"
#include "device/vector.cuh"
#include "kernels/$header$.cuh"

namespace smelt {
struct Problem {
  using Element = $element$;
  static constexpr int kAVector = $aVector$, kBVector = $bVector$, kEpilogueWidth = $width$;
  static constexpr bool kBTransposed = $bTransposed$, kBConstant = $bConstant$;
  static constexpr bool kALinear = $aLinear$, kBLinear = $bLinear$;
  static constexpr int kRowMoments = $rowMoments$;
  $members$

  __device__ int m() const { return $m$; }
  __device__ int n() const { return $n$; }
  __device__ int k() const { return $k$; }
  __device__ int batches() const { return $batches$; }
  __device__ __forceinline__ const Element *a(int batch, int m, int k) const {
    $a$
  }
  __device__ __forceinline__ const Element *b(int batch, int k, int n) const {
    $b$
  }
  template <int W> struct Inputs {
    $inputMembers$
  };
  template <int W> __device__ __forceinline__ Inputs<W> inputs(int batch, int m, int n) const {
    Inputs<W> inputs;
    $inputs$
    return inputs;
  }
  template <int I> static constexpr __device__ int momentGroups() {
    $momentGroups$
  }
  template <int I> __device__ __forceinline__ const float *moments(int batch, int m) const {
    $moments$
  }
  template <int W>
  __device__ __forceinline__ void epilogue(int batch, int m, int n, const float (&acc)[W], const Inputs<W> &inputs,
                                           const RowMoments (&rows)[$rowArray$]) const {
    $epilogue$
  }
};
using Config = $config$;
} // namespace smelt

extern "C" __global__ void __launch_bounds__(smelt::Config::kThreads, smelt::Config::kMinBlocks) $entry$($parameters$) {
  extern __shared__ __align__(1024) char shared[];
  smelt::$function$<smelt::Config>(smelt::Problem{$arguments$}, shared);
}
)";

Dim product(ArrayRef<Dim> dims, MLIRContext *context) {
  Dim result = Dim::constant(context, 1);
  for (Dim dim : dims)
    result = result * dim;
  return result;
}

/// The address of an operand's element, and how wide its loads may be.
struct OperandAddress {
  unsigned input = 0;
  Dim offset;
  int alongK = 1, alongN = 1;
  bool isLinear = false; ///< a linear function of the matrix's row and column
};

/// The tensors of row moments that an epilogue reads, each as the text of the address of a row's
/// groups.
class MomentSources {
public:
  /// The name of the row's combined moments in the epilogue.
  std::string add(const std::string &address, int64_t groups) {
    auto [found, isNew] = numbers.try_emplace(address, numbers.size());
    std::string number = std::to_string(found->second);
    if (isNew) {
      addresses += "if constexpr (I == " + number + ")\n  return " + address + ";\n";
      counts += "if constexpr (I == " + number + ")\n  return " + std::to_string(groups) + ";\n";
    }
    return "rows[" + number + "]";
  }
  size_t size() const { return numbers.size(); }

  std::string addresses, counts; // bodies of moments() and momentGroups()

private:
  std::map<std::string, size_t> numbers;
};

/// What follows the product, `width` columns at a time: the texts of the Problem's functions.
struct Epilogue {
  int64_t width;
  std::string inputMembers, inputs;
  MomentSources moments;
  std::string text;
  std::set<std::string> sizes;
};

class GemmEmitter {
public:
  GemmEmitter(FusionOp fusion, MatmulOp matmul, const Target &target, bool tf32);
  FailureOr<std::vector<GeneratedKernel>> run();

private:
  /// A tiling and the largest number of rows that it runs; none: any.
  struct Range {
    GemmChoice choice;
    std::optional<int64_t> lastRow;
  };

  /// The leading part of an operand's position: of the axes before its matrix.
  Index batchOf(TensorType operand) const {
    return broadcastIndex(ArrayRef(rowIndex).drop_back(),
                          operand.withShape(ArrayRef(operand.getShape()).drop_back(2)));
  }
  FailureOr<std::pair<BlockArgument, Index>> throughViews(Value value, Index index) const;
  FailureOr<OperandAddress> address(Value operand, Index index);
  bool isLinear(Dim offset, StringRef row, StringRef column) const;
  int loadWidth(Dim offset, Dim coordinate, Dim extent) const;
  void anchorResults(ExpressionEmitter &emitter, ArrayRef<Dim> index);
  LogicalResult emitEpilogue(ExpressionEmitter &emitter);
  FailureOr<Operand> emitStatistic(Operation *op, ArrayRef<Dim> index, ExpressionEmitter &emitter,
                                   MomentSources &moments);
  FailureOr<Epilogue> widestEpilogue();
  std::string addressText(const OperandAddress &operand, DimPrinter &printer) const;
  FailureOr<GeneratedKernel> emit(const GemmChoice &choice, const Epilogue &epilogue);
  std::vector<Range> chooseRanges() const;
  GemmPrecision precision() const;

  FusionOp fusion;
  MatmulOp matmul;
  const Target &target;
  bool tf32;
  TensorType lhs, rhs, output;
  IterationSpace space;
  Index rowIndex; // position of the leading axes and of the row of the result
  Dim k, n, rows, columns, depth, batches;
  OperandAddress a, b;
  llvm::DenseMap<Value, Index> positions; // of the values between the product and the results
};

GemmEmitter::GemmEmitter(FusionOp fusion, MatmulOp matmul, const Target &target, bool tf32)
    : fusion(fusion), matmul(matmul), target(target), tf32(tf32), lhs(tensorType(matmul.getLhs())),
      rhs(tensorType(matmul.getRhs())), output(tensorType(matmul.getOutput())) {
  MLIRContext *context = fusion.getContext();
  SmallVector<Dim> shape = output.getShape();
  depth = lhs.getDim(lhs.getRank() - 1);
  columns = shape.back();
  ArrayRef<Dim> outer(shape);
  outer = outer.drop_back();
  bool shared = llvm::all_of(ArrayRef(rhs.getShape()).drop_back(2),
                             [](Dim dim) { return dim.isConstant(1); });
  if (shared) {
    rowIndex = space.addFlat(context, "m", outer);
    rows = product(outer, context);
    batches = Dim::constant(context, 1);
  } else {
    rowIndex = space.addFlat(context, "batch", outer.drop_back());
    rowIndex.push_back(space.add("m", outer.back()));
    rows = outer.back();
    batches = product(outer.drop_back(), context);
  }
  k = space.add("k", depth);
  n = space.add("n", columns);
}

/// Elements that one aligned load may take along `coordinate`.
int GemmEmitter::loadWidth(Dim offset, Dim coordinate, Dim extent) const {
  if (coordinate.asConstant())
    return 1;
  int64_t widest = 16 / storageBytes(lhs.getElementType());
  for (int64_t width = widest; width > 1; width /= 2) {
    Lanes lanes;
    lanes.symbols.insert(*coordinate.asSymbol());
    lanes.width = width;
    if (laneStride(offset, lanes) == 1 && knownDivisor(offset, lanes) % width == 0 &&
        knownDivisor(extent, Lanes()) % width == 0)
      return width;
  }
  return 1;
}

/// The input that `value` at `index` is read from, and its position there.
FailureOr<std::pair<BlockArgument, Index>> GemmEmitter::throughViews(Value value,
                                                                     Index index) const {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->hasTrait<View>())
      return op->emitError("is no view, but stands between a matrix product and its operand; this "
                           "is a bug in Smelt"),
             failure();
    index = operandIndex(op, index, space.getBounds());
    value = op->getOperand(0);
  }
  return std::pair(cast<BlockArgument>(value), index);
}

/// `offset` moves by constant distances with `row` and with `column`; batches do not matter.
bool GemmEmitter::isLinear(Dim offset, StringRef row, StringRef column) const {
  offset = space.collapse(offset);
  for (StringRef coordinate : {row, column}) {
    std::optional<Dim> factor = linearFactor(offset, coordinate);
    if (!factor || dependsOn(*factor, row) || dependsOn(*factor, column))
      return false;
  }
  auto parts = space.definitions([&](StringRef symbol) { return dependsOn(offset, symbol); });
  return llvm::none_of(parts, [&](const IterationSpace::Definition &part) {
    return dependsOn(part.value, row) || dependsOn(part.value, column);
  });
}

FailureOr<OperandAddress> GemmEmitter::address(Value operand, Index index) {
  FailureOr<std::pair<BlockArgument, Index>> source = throughViews(operand, index);
  if (failed(source))
    return failure();
  auto [input, position] = *source;
  OperandAddress found;
  found.input = input.getArgNumber();
  found.offset = linearize(position, tensorType(input).getShape(), fusion.getContext());
  found.alongK = loadWidth(found.offset, k, depth);
  found.alongN = loadWidth(found.offset, n, columns);
  bool isLeft = operand == matmul.getLhs();
  found.isLinear = isLinear(found.offset, "%k", isLeft ? "%m" : "%n");
  return found;
}

GemmPrecision GemmEmitter::precision() const {
  if (!lhs.getElementType().isF32())
    return GemmPrecision::halfWidth;
  return tf32 ? GemmPrecision::tf32 : GemmPrecision::float32;
}

/// Gives each value between the product and the results its position: what the accumulators stand
/// for.
void GemmEmitter::anchorResults(ExpressionEmitter &emitter, ArrayRef<Dim> index) {
  emitter.anchor(matmul.getOutput(), index);
  positions.clear();
  positions[matmul.getOutput()] = Index(index);
  for (Operation &op : fusion.getBlock().without_terminator()) {
    for (Value operand : op.getOperands()) {
      auto found = positions.find(operand);
      if (found == positions.end() || positions.count(op.getResult(0)))
        continue;
      std::optional<Index> position;
      if (op.hasTrait<View>()) {
        position = resultIndex(&op, found->second, space.getBounds());
      } else if (op.hasTrait<Elementwise>()) {
        size_t added = tensorType(op.getResult(0)).getRank() - found->second.size();
        position = Index(added, Dim::constant(fusion.getContext(), 0));
        position->append(found->second);
      }
      if (!position)
        continue;
      emitter.anchor(op.getResult(0), *position);
      positions[op.getResult(0)] = *position;
    }
  }
}

/// Emits the results of the fusion from the accumulators.
LogicalResult GemmEmitter::emitEpilogue(ExpressionEmitter &emitter) {
  Index index(rowIndex);
  index.push_back(n);
  anchorResults(emitter, index);
  emitter.define(matmul.getOutput(), index, Operand{"acc[i]", true});
  for (auto [number, value] : llvm::enumerate(fusion.getYield()->getOperands())) {
    auto moments = value.getDefiningOp<RowMomentsOp>();
    auto position = positions.find(moments ? moments.getInput() : value);
    if (position == positions.end())
      return fusion.emitError(
          "a result of a gemm fusion does not follow from the product; this is a bug in Smelt");
    FailureOr<Operand> operand = emitter.emit(position->first, position->second);
    if (failed(operand))
      return failure();
    if (moments)
      emitter.storeMoments(number, position->second, *operand,
                           tensorType(position->first).getElementType());
    else
      emitter.store(number, position->second, *operand);
  }
  return success();
}

/// A statistic of the row: the same for all columns.
FailureOr<Operand> GemmEmitter::emitStatistic(Operation *op, ArrayRef<Dim> index,
                                              ExpressionEmitter &emitter, MomentSources &moments) {
  if (!isa<MomentsMeanOp, MomentsRstdOp, MomentsRrmsOp>(op))
    return op->emitError("cannot be computed behind a matrix product; this is a bug in Smelt"),
           failure();
  Index first(index); // of the row's groups
  first.push_back(Dim::constant(fusion.getContext(), 0));
  FailureOr<std::pair<BlockArgument, Index>> source = throughViews(op->getOperand(0), first);
  if (failed(source))
    return failure();
  auto [input, position] = *source;
  TensorType type = tensorType(op->getOperand(0));
  Dim offset = linearize(position, tensorType(input).getShape(), fusion.getContext());
  std::string row =
      moments.add(inputName(input.getArgNumber()) + " + " + emitter.printUniform(offset),
                  *type.getDim(type.getRank() - 2).asConstant());
  auto inverseRoot = [&](const std::string &square, FloatAttr epsilon) {
    return "rsqrt(" + square + " + " + literal(epsilon, Float32Type::get(epsilon.getContext())) +
           ")";
  };
  std::string value =
      llvm::TypeSwitch<Operation *, std::string>(op)
          .Case([&](MomentsMeanOp) { return row + ".mean"; })
          .Case([&](MomentsRstdOp rstd) {
            std::string root = inverseRoot(row + ".variance", rstd.getEpsilonAttr());
            return rstd.getEpsilon().isZero() ? root : row + ".variance == 0 ? 0.0f : " + root;
          })
          .Case([&](MomentsRrmsOp rrms) {
            return inverseRoot("(" + row + ".variance + " + row + ".mean * " + row + ".mean)",
                               rrms.getEpsilonAttr());
          });
  return emitter.variable("float", value, /*perLane=*/false);
}

/// The epilogue with the widest accesses that all its tensors allow.
FailureOr<Epilogue> GemmEmitter::widestEpilogue() {
  int64_t widest = n.asConstant() ? 1 : kMaxEpilogueWidth;
  for (int64_t width = widest;; width /= 2) {
    if (knownDivisor(columns, Lanes()) % width != 0)
      continue;
    Lanes lanes;
    lanes.width = width;
    if (auto symbol = n.asSymbol())
      lanes.symbols.insert(*symbol);
    ExpressionEmitter emitter(fusion, space, lanes);
    emitter.fetchAhead(ExpressionEmitter::FetchAhead::inputs, kMaxFetchedBytes);
    MomentSources moments;
    emitter.setResolver([&](Operation *op, ArrayRef<Dim> index) {
      return emitStatistic(op, index, emitter, moments);
    });
    if (failed(emitEpilogue(emitter)))
      return failure();
    if (width > 1 && !emitter.isRegular())
      continue;
    auto complete = [&](const std::string &text) {
      return emitter.coordinateDefinitions(text) + text;
    };
    const ExpressionEmitter::Fetched &fetched = emitter.fetched();
    std::string uniform = emitter.takeUniform();
    moments.addresses = complete(moments.addresses);
    return Epilogue{width,
                    join(fetched.declarations, ""),
                    complete(join(fetched.statements, "")),
                    moments,
                    complete(uniform + emitter.chunk().text()),
                    emitter.printer().sizes()};
  }
}

std::string GemmEmitter::addressText(const OperandAddress &operand, DimPrinter &printer) const {
  std::string offset = printer.print(space.collapse(operand.offset)), text;
  for (const IterationSpace::Definition &definition :
       space.definitions([&](StringRef symbol) { return printer.uses(symbol); }))
    text += "const int " + definition.symbol.substr(1) + " = " + printer.print(definition.value) +
            ";\n";
  return text + "return " + inputName(operand.input) + " + " + offset + ";\n";
}

FailureOr<GeneratedKernel> GemmEmitter::emit(const GemmChoice &choice, const Epilogue &epilogue) {
  DimPrinter aPrinter(space.getBounds()), bPrinter(space.getBounds()), printer(space.getBounds());
  std::string aText = addressText(a, aPrinter), bText = addressText(b, bPrinter);
  std::string m = printer.print(rows), nText = printer.print(columns),
              kText_ = printer.print(depth), z = printer.print(batches);
  std::set<std::string> used = epilogue.sizes;
  for (const DimPrinter *other : {&aPrinter, &bPrinter, &printer})
    used.insert(other->sizes().begin(), other->sizes().end());
  std::vector<std::string> sizes(used.begin(), used.end());
  bool transposed = b.alongK > b.alongN;
  std::string text =
      format(kText, {{"header", choice.header},
                     {"function", choice.function},
                     {"element", storageType(lhs.getElementType())},
                     {"aVector", std::to_string(a.alongK)},
                     {"bVector", std::to_string(transposed ? b.alongK : b.alongN)},
                     {"width", std::to_string(epilogue.width)},
                     {"bTransposed", transposed ? "true" : "false"},
                     {"bConstant", isConstantValue(fusion.getInputs()[b.input]) ? "true" : "false"},
                     {"aLinear", a.isLinear ? "true" : "false"},
                     {"bLinear", b.isLinear ? "true" : "false"},
                     {"rowMoments", std::to_string(epilogue.moments.size())},
                     {"members", problemMembers(fusion, sizes)},
                     {"m", m},
                     {"n", nText},
                     {"k", kText_},
                     {"batches", z},
                     {"a", aText},
                     {"b", bText},
                     {"inputMembers", epilogue.inputMembers},
                     {"inputs", epilogue.inputs},
                     {"momentGroups", epilogue.moments.counts + "return 0;\n"},
                     {"moments", epilogue.moments.addresses + "return nullptr;\n"},
                     {"rowArray", std::to_string(std::max<size_t>(epilogue.moments.size(), 1))},
                     {"epilogue", epilogue.text},
                     {"config", choice.config},
                     {"entry", kEntryName},
                     {"parameters", entryParameters(fusion, sizes)},
                     {"arguments", entryArguments(fusion, sizes)}});
  GeneratedKernel kernel;
  MLIRContext *context = fusion.getContext();
  auto size = [&](int64_t value) { return Dim::constant(context, value); };
  kernel.grid = {rows.ceilDiv(size(choice.blockM)) * columns.ceilDiv(size(choice.blockN)),
                 size(choice.clusterK), batches.min(size(kMaxGridZ))};
  kernel.block = {static_cast<unsigned>(choice.threads), 1, 1};
  kernel.cluster = {1, static_cast<unsigned>(choice.clusterK), 1};
  kernel.sharedBytes =
      choice.sharedBytes +
      choice.blockM * static_cast<int>(epilogue.moments.size() * 2 * sizeof(float));
  finishKernel(kernel, fusion, std::move(text), choice.config, used);
  kernel.flops = kernel.flops + batches * rows * columns * depth * 2;
  return kernel;
}

/// The best tiling for each range of rows; neighbouring ranges with the same tiling are one.
std::vector<GemmEmitter::Range> GemmEmitter::chooseRanges() const {
  auto sizeOr = [](Dim dim, int64_t typical) { return dim.asConstant().value_or(typical); };
  GemmShape shape{0, sizeOr(columns, kTypicalSize), sizeOr(depth, kTypicalSize),
                  sizeOr(batches, 8)};
  auto best = [&](int64_t count) {
    shape.m = count;
    std::vector<GemmChoice> ranked = rankGemmTilings(shape, precision(), target);
    // Addresses that are computed one by one take registers that large blocks do not have.
    auto fits = [&](const GemmChoice &choice) {
      return (a.isLinear && b.isLinear) || choice.threads <= kMaxScatteredThreads;
    };
    return *llvm::find_if(ranked, fits);
  };
  if (rows.asConstant())
    return {{best(*rows.asConstant()), std::nullopt}};
  std::vector<Range> ranges;
  for (auto [index, typical] : llvm::enumerate(kTypicalRows)) {
    GemmChoice choice = best(typical);
    std::optional<int64_t> last;
    if (index < std::size(kLastRows))
      last = kLastRows[index];
    if (!ranges.empty() && ranges.back().choice == choice)
      ranges.back().lastRow = last;
    else
      ranges.push_back({choice, last});
  }
  return ranges;
}

FailureOr<std::vector<GeneratedKernel>> GemmEmitter::run() {
  Index left(batchOf(lhs)), right(batchOf(rhs));
  left.append({rowIndex.back(), k});
  right.append({k, n});
  FailureOr<OperandAddress> aFound = address(matmul.getLhs(), left),
                            bFound = address(matmul.getRhs(), right);
  if (failed(aFound) || failed(bFound))
    return failure();
  a = *aFound;
  b = *bFound;
  FailureOr<Epilogue> epilogue = widestEpilogue();
  if (failed(epilogue))
    return failure();
  std::vector<GeneratedKernel> kernels;
  Dim one = Dim::constant(fusion.getContext(), 1), isBelow = Dim::constant(fusion.getContext(), 0);
  for (const Range &range : chooseRanges()) {
    FailureOr<GeneratedKernel> kernel = emit(range.choice, *epilogue);
    if (failed(kernel))
      return failure();
    // 1 for row counts up to the range's last: variants exclude each other by an empty grid.
    Dim upTo = one;
    if (range.lastRow)
      upTo = one - rows.floorDiv(Dim::constant(fusion.getContext(), *range.lastRow + 1)).min(one);
    kernel->grid[0] = kernel->grid[0] * (upTo - isBelow);
    isBelow = upTo;
    kernels.push_back(std::move(*kernel));
  }
  return kernels;
}

} // namespace

FailureOr<std::vector<GeneratedKernel>> emitGemm(FusionOp fusion, const Target &target, bool tf32) {
  MatmulOp matmul;
  for (MatmulOp op : fusion.getBlock().getOps<MatmulOp>())
    matmul = op;
  if (!matmul)
    return fusion.emitError("a gemm fusion holds one product; this is a bug in Smelt"), failure();
  return GemmEmitter(fusion, matmul, target, tf32).run();
}

} // namespace smelt::codegen
