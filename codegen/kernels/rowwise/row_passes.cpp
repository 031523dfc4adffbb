#include "codegen/kernels/rowwise/row_passes.h"

#include "codegen/printer.h"
#include "codegen/scalar_ops.h"
#include "ir/location.h"
#include "ir/view_index.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

/// Registers, in bytes a thread, for constants that are loaded before the wait for earlier kernels.
constexpr int64_t kFetchedBytes = 144;

constexpr char kRegisterLoop[] = R"(
#pragma unroll
for (int chunk = 0; chunk < kChunks; ++chunk) {
  const int col = tile.template column<W>(chunk);
  $guard$
  $chunk$
}
)";

constexpr char kStreamLoop[] = R"(
for (int col = tile.lane * W; col < $columns$; col += kThreadsPerRow * W) {
  $chunk$
}
)";

std::string computeTypeOf(Value value) {
  return computeType(tensorType(value).getElementType()).str();
}

/// `value` follows from statistics of its row.
bool dependsOnReduction(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (isa<RowReduction>(op) || llvm::any_of(op->getOperands(), dependsOnReduction));
}

/// The views through which a result is stored, the last one first.
SmallVector<Operation *> viewsBehind(Value result) {
  SmallVector<Operation *> views;
  for (Operation *op = result.getDefiningOp(); isa_and_nonnull<ReshapeOp, TransposeOp>(op);
       op = op->getOperand(0).getDefiningOp())
    views.push_back(op);
  return views;
}

/// e to the power `x`, as exact as the result's type needs: of bytes the largest is 255 steps, of which an
/// approximation errs by a thousandth of one.
std::string exponential(Operation *op, const std::string &x) {
  Value result = op->getResult(0);
  bool isRounded = isHalfWidth(elementType(result)) ||
                   (elementType(result).isF32() && needsNoExactness(result, 0));
  return (isRounded ? "approx::exp(" : "exp(") + x + ")";
}

} // namespace

StringRef combiningFunction(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::max:
    return "Max";
  case ReductionKind::min:
    return "Min";
  case ReductionKind::prod:
    return "Product";
  default:
    return "Sum";
  }
}

std::string keptType(Value value) {
  Type element = tensorType(value).getElementType();
  bool isShort = element.isInteger() && element.getIntOrFloatBitWidth() < 32;
  return isShort ? "int" : computeTypeOf(value);
}

std::string RowConfig::describe() const {
  std::string columns = std::to_string(width) + " columns";
  return std::to_string(threadsPerRow) + " threads a row, " +
         (chunks ? std::to_string(chunks) + " x " + columns + " each" : columns + " at a time");
}

RowPasses::RowPasses(FusionOp fusion, ArrayRef<Dim> shape, int64_t axis, RowConfig config)
    : fusion(fusion), shape(shape), axis(axis), config(config),
      rows(product(shape.take_front(axis), fusion.getContext())),
      columns(product(shape.drop_front(axis), fusion.getContext())) {
  MLIRContext *context = fusion.getContext();
  index = space.addFlat(context, "row", shape.take_front(axis));
  llvm::append_range(index, space.addFlat(context, "col", shape.drop_front(axis)));
  emitter.emplace(fusion, space, space.lanesAlong("col", config.width));
  if (config.isTight())
    emitter->packKept();
  else if (config.chunks)
    emitter->fetchAhead(ExpressionEmitter::FetchAhead::constants, kFetchedBytes / config.chunks);
  emitter->loopOver("col");
  emitter->setResolver([this](Operation *op, ArrayRef<Dim> at) { return resolve(op, at); });
}

LogicalResult RowPasses::run() {
  // What needs no statistics takes no registers later, and what is loaded for a row arrives with the row.
  auto isEarly = [&](Value value) {
    bool isOfRow = tensorType(value).getNumElements() != rows * columns;
    return (config.isTight() || isOfRow) && !dependsOnReduction(value);
  };
  if (failed(emitResults(isEarly)))
    return failure();
  for (RowReduction op : fusion.getBlock().getOps<RowReduction>())
    if (failed(emitStatistics(op)))
      return failure();
  if (failed(emitResults([&](Value value) { return !isEarly(value); })))
    return failure();
  passes.push_back({emitter->takeUniform(), ""});
  return success();
}

Index RowPasses::indexOf(Value value) const {
  return reshapeIndex(index, shape, tensorType(value).getShape(), space.getBounds());
}

LogicalResult RowPasses::emitStatistics(RowReduction op) {
  if (auto norm = dyn_cast<Normalization>(*op))
    return emitNormalization(norm);
  if (auto softmax = dyn_cast<SoftmaxOp>(*op))
    return emitSoftmax(softmax);
  return emitReduce(cast<ReduceOp>(*op));
}

std::string RowPasses::count(Operation *op) {
  return computeTypeOf(op->getOperand(0)) + "(" + emitter->printer().print(columns) + ")";
}

std::string RowPasses::define(Operation *op, StringRef prefix, const std::string &expression) {
  std::string variable = emitter->name(prefix);
  passes.back().after +=
      "const " + computeTypeOf(op->getOperand(0)) + " " + variable + " = " + expression + ";\n";
  statistics[op].push_back(variable);
  return variable;
}

/// Two passes for the variance: the row is on chip, and nothing cancels where the mean is far from
/// 0.
LogicalResult RowPasses::emitNormalization(Normalization op) {
  std::string mean;
  if (op.isCentered()) {
    FailureOr<std::string> sum =
        reduce(op.getNormalized(), "Sum", [](const std::string &x) { return x; });
    if (failed(sum))
      return failure();
    mean = define(op, "mean", *sum + " / " + count(op));
  }
  FailureOr<std::string> squares = reduce(op.getNormalized(), "Sum", [&](const std::string &x) {
    std::string distance = mean.empty() ? x : "deviation(" + x + ", " + mean + ")";
    return distance + " * " + distance;
  });
  if (failed(squares))
    return failure();
  Type type = Float32Type::get(op->getContext());
  define(op, "scale",
         "rsqrt(" + *squares + " / " + count(op) + " + " +
             literal(FloatAttr::get(type, op.getEpsilon()), type) + ")");
  return success();
}

LogicalResult RowPasses::emitSoftmax(SoftmaxOp op) {
  FailureOr<std::string> largest =
      reduce(op.getInput(), "Max", [](const std::string &x) { return x; });
  if (failed(largest))
    return failure();
  statistics[op].push_back(*largest);
  FailureOr<std::string> sum = reduce(op.getInput(), "Sum", [&](const std::string &x) {
    return exponential(op, x + " - " + *largest);
  });
  if (failed(sum))
    return failure();
  define(op, "inverse", computeTypeOf(op.getInput()) + "(1) / " + *sum);
  return success();
}

LogicalResult RowPasses::emitReduce(ReduceOp op) {
  FailureOr<std::string> result = reduce(op.getInput(), combiningFunction(op.getKind()),
                                         [](const std::string &x) { return x; });
  if (failed(result))
    return failure();
  define(op, "reduced",
         op.getKind() == ReductionKind::mean ? *result + " / " + count(op) : *result);
  return success();
}

FailureOr<std::string> RowPasses::reduce(Value input, StringRef function, Term term) {
  FailureOr<Operand> value = emitter->emit(input, indexOf(input));
  if (failed(value))
    return failure();
  std::string type = computeTypeOf(input), partial = emitter->name("partial"),
              total = emitter->name("total");
  std::string kept = keptType(input), summand = type + "(" + term(value->text) + ")";
  emitter->chunk().lanes.push_back(partial + " = " + function.str() + "::combine(" + partial +
                                   ", " + (kept != type ? kept + "(" + summand + ")" : summand) +
                                   ");\n");
  endPass(kept + " " + partial + " = " + function.str() + "::identity<" + type + ">();\n",
          "const " + type + " " + total + " = tile.template reduce<" + function.str() + ">(" +
              partial + ");\n");
  return total;
}

void RowPasses::endPass(StringRef before, StringRef after) {
  passes.push_back({emitter->takeUniform() + before.str(), after.str()});
  emitter->beginChunk(/*keep=*/config.chunks > 0);
}

/// `x`, an element of the norm's input at a position, as an element of its result.
FailureOr<std::string> RowPasses::normalized(Normalization op, const std::string &x,
                                             ArrayRef<Dim> at) {
  ArrayRef<std::string> known = statistics.at(op);
  std::string value = op.isCentered() ? "deviation(" + x + ", " + known[0] + ")" : x;
  value += " * " + known.back();
  for (auto [sign, parameter] : {std::pair(" * ", op.getScale()), std::pair(" + ", op.getBias())}) {
    if (!parameter)
      continue;
    FailureOr<Operand> operand =
        emitter->emit(parameter, broadcastIndex(at, tensorType(parameter)));
    if (failed(operand))
      return failure();
    value += sign + operand->text;
  }
  return value;
}

FailureOr<Operand> RowPasses::resolve(Operation *op, ArrayRef<Dim> at) {
  ArrayRef<std::string> known = statistics.at(op);
  if (isa<ReduceOp>(op))
    return Operand{known[0], Scope::uniform};
  FailureOr<Operand> x = emitter->emit(op->getOperand(0), at);
  if (failed(x))
    return failure();
  std::string value;
  if (auto norm = dyn_cast<Normalization>(op)) {
    FailureOr<std::string> result = normalized(norm, x->text, at);
    if (failed(result))
      return failure();
    value = *result;
  } else {
    value = exponential(op, x->text + " - " + known[0]) + " * " + known[1];
  }
  return emitter->variable(computeTypeOf(op->getResult(0)), value, Scope::lane,
                           llvm::join(nodeNames(op->getLoc()), ", "));
}

LogicalResult RowPasses::emitResults(function_ref<bool(Value)> wanted) {
  Dim elements = rows * columns;
  for (auto [number, value] : llvm::enumerate(fusion.getYield()->getOperands())) {
    if (!wanted(value))
      continue;
    if (tensorType(value).getNumElements() != elements) {
      if (failed(storeRowValue(number, value)))
        return failure();
      continue;
    }
    SmallVector<Operation *> views = viewsBehind(value);
    Value computed = views.empty() ? value : views.back()->getOperand(0);
    Index index = indexOf(computed), at = index;
    for (Operation *view : llvm::reverse(views))
      at = *resultIndex(view, at, space.getBounds());
    if (failed(emitter->emitAndStore(number, computed, index, at)))
      return failure();
  }
  return success();
}

LogicalResult RowPasses::storeRowValue(unsigned output, Value value) {
  TensorType type = tensorType(value);
  // The position in the tensor whose columns are reduced to one.
  Index position(index);
  SmallVector<Dim> rowShape(shape);
  for (size_t i = axis; i < shape.size(); ++i)
    position[i] = Dim::constant(fusion.getContext(), 0),
    rowShape[i] = Dim::constant(fusion.getContext(), 1);
  FailureOr<Operand> operand =
      emitter->emit(value, reshapeIndex(position, rowShape, type.getShape(), space.getBounds()));
  if (failed(operand))
    return failure();
  rowStores += outputName(output) + "[row] = convert<" + storageType(type.getElementType()).str() +
               ">(" + operand->text + ");\n";
  return success();
}

std::string RowPasses::loop(const std::string &chunk) {
  if (chunk.empty())
    return "";
  std::string statements = emitter->coordinateDefinitions(chunk, "col") + chunk;
  if (config.chunks == 0)
    return format(kStreamLoop,
                  {{"columns", emitter->printer().print(columns)}, {"chunk", statements}});
  bool isExact = columns.isConstant(config.chunks * config.threadsPerRow * config.width);
  std::string guard =
      isExact ? "" : "if (col >= " + emitter->printer().print(columns) + ")\n  continue;";
  return format(kRegisterLoop, {{"guard", guard}, {"chunk", statements}});
}

std::string RowPasses::beforeFirstPass() {
  const ExpressionEmitter::Fetched &fetched = emitter->fetched();
  return llvm::join(fetched.declarations, "") + loop(llvm::join(fetched.statements, "")) +
         "tile.waitForEarlierKernels();\n";
}

std::string RowPasses::body() {
  std::string text = emitter->keptDeclarations() + beforeFirstPass();
  for (auto [number, pass] : llvm::enumerate(passes)) {
    bool isLast = number + 1 == passes.size();
    text += pass.before;
    if (isLast)
      text += "if (!tile.isActive)\n  return;\n";
    text += loop(emitter->allChunks()[number].text()) + pass.after;
  }
  if (!rowStores.empty())
    text += "if (tile.lane == 0) {\n" + indented(rowStores, 2) + "}\n";
  std::string constants = "constexpr int W = " + std::to_string(config.width) + ";\n";
  if (config.chunks)
    constants += "constexpr int kChunks = " + std::to_string(config.chunks) + ";\n";
  return constants + emitter->coordinateDefinitions(text, "row") + text;
}

} // namespace smelt::codegen
