#include "codegen/kernels/gemm/gemm_epilogue.h"

#include "codegen/cuda_text.h"
#include "codegen/emit_expression.h"
#include "codegen/kernels/gemm/moment_sources.h"
#include "codegen/scalar_ops.h"
#include "ir/capabilities.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr int64_t kMaxEpilogueWidth = 8;
/// Registers of a thread that hold what the epilogue reads, for one vector of its columns.
constexpr int64_t kMaxFetchedBytes = 96;

/// Emits the epilogue for vectors of `lanes`.
class EpilogueEmitter {
public:
  EpilogueEmitter(GemmProduct &product, Lanes lanes);
  /// Emits the results of the fusion from the accumulators.
  LogicalResult run();
  std::optional<GemmEpilogue::InFragments> inFragments(const std::string &uniform) const;
  std::optional<int> resultBytes(const Chunk &chunk) const;
  int64_t inputPeriod() const;
  /// Of a sum, in text: at most so many that a text for each panel of a tile is worth its way to the instruction caches, and
  /// that the registers of three warpgroups suffice.
  static constexpr size_t kFewStatements = 8, kFewStatementsOfPair = 20;
  /// Vectors of each element that registers hold beside the sums.
  static constexpr size_t kMostFetchedOfPair = 4;
  size_t statements() const { return emitter.allChunks().back().lanes.size(); }
  bool isRegular() const { return emitter.isRegular(); }
  GemmEpilogue take();

private:
  void anchorResults(ArrayRef<Dim> index);
  LogicalResult storeResult(unsigned number, Value value);
  LogicalResult storeJoined(unsigned number, ConcatOp joined);
  FailureOr<Operand> emitTest(Value test, Value result);
  LogicalResult count(unsigned number, ReduceOp total);
  FailureOr<Operand> emitStatistic(Operation *op, ArrayRef<Dim> index);

  GemmProduct &product;
  ExpressionEmitter emitter;
  MomentSources moments;
  std::string countMembers, addCounts;
  llvm::DenseMap<Value, Index> positions; // of the values between the product and the results
};

EpilogueEmitter::EpilogueEmitter(GemmProduct &product, Lanes lanes)
    : product(product), emitter(product.fusion, product.results, std::move(lanes)) {
  emitter.fetchAhead(ExpressionEmitter::FetchAhead::inputs, kMaxFetchedBytes);
  emitter.setResolver(
      [this](Operation *op, ArrayRef<Dim> index) { return emitStatistic(op, index); });
}

/// Gives each value between the product and the results its position: what the accumulators stand
/// for.
void EpilogueEmitter::anchorResults(ArrayRef<Dim> index) {
  positions.clear();
  for (MatmulOp matmul : product.matmuls) {
    emitter.anchor(matmul.getOutput(), index);
    positions[matmul.getOutput()] = Index(index);
  }
  for (Operation &op : product.fusion.getBlock().without_terminator()) {
    for (Value operand : op.getOperands()) {
      auto found = positions.find(operand);
      if (found == positions.end() || positions.contains(op.getResult(0)))
        continue;
      std::optional<Index> position;
      if (op.hasTrait<View>()) {
        position = resultIndex(&op, found->second, product.results.getBounds());
      } else if (op.hasTrait<Elementwise>()) {
        size_t added = tensorType(op.getResult(0)).getRank() - found->second.size();
        position = Index(added, Dim::constant(product.fusion.getContext(), 0));
        position->append(found->second);
      }
      if (!position)
        continue;
      emitter.anchor(op.getResult(0), *position);
      positions[op.getResult(0)] = *position;
    }
  }
}

LogicalResult EpilogueEmitter::run() {
  Index index(product.rowIndex);
  index.push_back(product.n);
  anchorResults(index);
  for (auto [number, matmul] : llvm::enumerate(product.matmuls))
    emitter.define(matmul.getOutput(), index,
                   Operand{number == 0 ? "acc[i]" : "acc[W + i]", Scope::lane});
  for (auto [number, value] : llvm::enumerate(product.fusion.getYield()->getOperands())) {
    auto total = value.getDefiningOp<ReduceOp>();
    if (failed(total ? count(number, total) : storeResult(number, value)))
      return failure();
  }
  return success();
}

/// Of two products: what each input holds goes to its place in the result.
LogicalResult EpilogueEmitter::storeJoined(unsigned number, ConcatOp joined) {
  Dim start = Dim::constant(product.fusion.getContext(), 0);
  for (Value input : joined.getInputs()) {
    Index position = positions.at(input);
    FailureOr<Operand> operand = emitter.emit(input, position);
    if (failed(operand))
      return failure();
    position[joined.getAxis()] = position[joined.getAxis()] + start;
    emitter.store(number, position, *operand);
    start = start + tensorType(input).getDim(joined.getAxis());
  }
  return success();
}

LogicalResult EpilogueEmitter::storeResult(unsigned number, Value value) {
  if (auto joined = value.getDefiningOp<ConcatOp>())
    return storeJoined(number, joined);
  auto moments = value.getDefiningOp<RowMomentsOp>();
  Value stored = moments ? Value(moments.getInput()) : value;
  const Index &position = positions.at(stored);
  if (!moments)
    return emitter.emitAndStore(number, stored, position, position);
  FailureOr<Operand> operand = emitter.emit(stored, position);
  if (failed(operand))
    return failure();
  emitter.storeMoments(number, position, *operand, tensorType(stored).getElementType());
  return success();
}

/// Whether the test of a total holds for the result as it is stored: rounded, a large float becomes an infinity.
FailureOr<Operand> EpilogueEmitter::emitTest(Value test, Value result) {
  const Index &position = positions.at(result);
  FailureOr<Operand> value = emitter.emit(result, position);
  Type element = tensorType(result).getElementType();
  if (failed(value) || !isHalfWidth(element))
    return succeeded(value) ? emitter.emit(test, positions.at(test)) : value;
  std::string rounding = "<" + storageType(element).str() + ">(" + value->text + ")";
  if (auto isInf = test.getDefiningOp<IsInfOp>(); isInf && isInf.getInput() == result)
    return emitter.variable("bool", "becomesInfinite" + rounding, Scope::lane, commentOf(isInf));
  emitter.define(result, position, emitter.variable("float", "rounded" + rounding, Scope::lane));
  return emitter.emit(test, positions.at(test));
}

/// Counts in a register of the thread. Vectors are counted apart, as they are computed at one time.
LogicalResult EpilogueEmitter::count(unsigned number, ReduceOp total) {
  FailureOr<Operand> holds = emitTest(countedTest(total), countedResult(total));
  if (failed(holds))
    return failure();
  std::string counter = emitter.name("count"), ofVector = emitter.name("v");
  emitter.chunk().loads.push_back("int " + ofVector + " = 0;\n");
  emitter.chunk().lanes.push_back(ofVector + " += isOwner && " + holds->text + ";\n");
  emitter.chunk().stores.push_back("counts." + counter + " += " + ofVector + ";\n");
  countMembers += "int " + counter + " = 0;\n";
  addCounts += "addToTotal(" + outputName(number) + ", counts." + counter + ");\n";
  return success();
}

/// What a norm multiplies a row by, of its moments `row`.
std::string rowScale(Operation *op) {
  auto inverseRoot = [](const std::string &square, FloatAttr epsilon) {
    return "rsqrt(" + square + " + " + literal(epsilon, Float32Type::get(epsilon.getContext())) +
           ")";
  };
  if (auto rrms = dyn_cast<MomentsRrmsOp>(op))
    return inverseRoot("(row.variance + row.mean * row.mean)", rrms.getEpsilonAttr());
  auto rstd = cast<MomentsRstdOp>(op);
  std::string root = inverseRoot("row.variance", rstd.getEpsilonAttr());
  return rstd.getEpsilon().isZero() ? root : "row.variance == 0 ? 0.0f : " + root;
}

/// A statistic of the row: the same for all columns.
FailureOr<Operand> EpilogueEmitter::emitStatistic(Operation *op, ArrayRef<Dim> index) {
  Index first(index); // of the row's groups
  first.push_back(Dim::constant(product.fusion.getContext(), 0));
  FailureOr<InputElement> source = product.results.throughViews(op->getOperand(0), first);
  if (failed(source))
    return failure();
  BlockArgument input = source->input;
  Index position = source->index;
  TensorType type = tensorType(op->getOperand(0));
  Dim offset = linearize(position, tensorType(input).getShape(), product.fusion.getContext());
  std::string address = inputName(input.getArgNumber()) + " + " + emitter.printUniform(offset);
  int64_t groups = *type.getDim(type.getRank() - 2).asConstant();
  std::string value = isa<MomentsMeanOp>(op) ? moments.mean(address, groups)
                                             : moments.scale(address, groups, rowScale(op));
  return emitter.variable("float", value, Scope::uniform);
}

/// Columns after which what a row reads repeats itself, as angles do from head to head; 0 where it does not soon.
int64_t EpilogueEmitter::inputPeriod() const {
  constexpr int64_t kLeast = 2 * kMaxEpilogueWidth, kMost = 128;
  if (emitter.fetched().offsets.empty())
    return 0;
  MLIRContext *context = product.fusion->getContext();
  for (int64_t period = kLeast; period <= kMost; period += kLeast)
    if (llvm::all_of(emitter.fetched().offsets, [&](Dim offset) {
          return offset.replace([&](StringRef symbol) {
            Dim same = Dim::symbol(context, symbol);
            return same == product.n ? same + period : same;
          }) == offset;
        }))
      return period;
  return 0;
}

/// Of an element of all that is stored where these are vectors that pairs of columns make up: 16-bit floats, or of one product
/// integers of 8 bits.
std::optional<int> EpilogueEmitter::resultBytes(const Chunk &chunk) const {
  if (!product.totals().empty() || chunk.stores.size() != chunk.vectors.size())
    return std::nullopt;
  auto all = [&](llvm::function_ref<bool(Type)> test) {
    return llvm::all_of(chunk.vectors, [&](const VectorStore &v) { return test(v.element); });
  };
  if (all([](Type type) { return isHalfWidth(type); }))
    return 2;
  bool isOfBytes = product.products() == 1 && all([](Type type) { return type.isInteger(8); });
  return isOfBytes ? std::optional(1) : std::nullopt;
}

std::optional<GemmEpilogue::InFragments>
EpilogueEmitter::inFragments(const std::string &uniform) const {
  Chunk chunk = emitter.allChunks().back();
  std::optional<int> bytes = resultBytes(chunk);
  // Of two products what reads no more than a table or two is as short for each sum.
  bool isPair = product.products() > 1;
  size_t mostFetched = isPair ? kMostFetchedOfPair : 0,
         mostStatements = isPair ? kFewStatementsOfPair : kFewStatements;
  if (emitter.getLanes().width != kMaxEpilogueWidth || !bytes ||
      emitter.fetched().declarations.size() > mostFetched || statements() > mostStatements ||
      callsFunctions(product))
    return std::nullopt;
  GemmEpilogue::InFragments parts;
  parts.resultBytes = *bytes;
  parts.inputPeriod = inputPeriod();
  chunk.stores = {"Results<W> results;\n"};
  bool isOfBytes = *bytes == 1;
  for (const VectorStore &vector : chunk.vectors) {
    std::string type = storageType(vector.element).str();
    parts.members += (isOfBytes ? std::string("PackedBytes<W>") : "Vector<" + type + ", W>") + " " +
                     vector.array + ";\n";
    chunk.stores.push_back("results." + vector.array + " = " + vector.packed() + ";\n");
    parts.stores += (isOfBytes ? "storePacked<W>(" : "storeVector<W>(") + vector.address +
                    ", results." + vector.array + ");\n";
  }
  chunk.stores.push_back("return results;\n");
  parts.text = uniform + chunk.text();
  return parts;
}

GemmEpilogue EpilogueEmitter::take() {
  auto complete = [&](const std::string &text) {
    return emitter.coordinateDefinitions(text) + text;
  };
  const ExpressionEmitter::Fetched &fetched = emitter.fetched(),
                                   &columns = emitter.fetchedColumns();
  std::string uniform = emitter.takeUniform();
  std::optional<GemmEpilogue::InFragments> fragments = inFragments(uniform);
  if (fragments) {
    fragments->text = complete(fragments->text);
    fragments->stores = complete(fragments->stores);
  }
  return GemmEpilogue{emitter.getLanes().width,
                      join(columns.declarations, ""),
                      complete(join(columns.statements, "")),
                      join(fetched.declarations, ""),
                      complete(join(fetched.statements, "")),
                      complete(join(fetched.prefetches, "")),
                      moments.size(),
                      complete(moments.moments()),
                      moments.momentGroups(),
                      moments.rowScales(),
                      countMembers,
                      addCounts,
                      complete(uniform + emitter.chunk().text()),
                      std::move(fragments),
                      statements() > kFewStatements,
                      emitter.printer().sizes()};
}

} // namespace

bool callsFunctions(const GemmProduct &product) {
  return llvm::any_of(FusionOp(product.fusion).getBlock().without_terminator(), [](Operation &op) {
    return op.hasTrait<Elementwise>() && !isFewInstructions(&op);
  });
}

FailureOr<GemmEpilogue> emitGemmEpilogue(GemmProduct &product) {
  int64_t widest = product.n.asConstant() ? 1 : kMaxEpilogueWidth;
  for (int64_t width = widest;; width /= 2) {
    if (knownDivisor(product.output.getDim(product.output.getRank() - 1), Lanes()) % width != 0)
      continue;
    Lanes lanes;
    lanes.width = width;
    if (auto symbol = product.n.asSymbol())
      lanes.symbols.insert(*symbol);
    EpilogueEmitter emitter(product, lanes);
    if (failed(emitter.run()))
      return failure();
    if (width == 1 || emitter.isRegular())
      return emitter.take();
  }
}

} // namespace smelt::codegen
