#include "passes/raise/raise_check.h"

#include "ir/interpret/interpret.h"
#include "ir/interpret/random.h"
#include "ir/interpret/size_solver.h"
#include "passes/raise/shrink.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;

namespace smelt::passes {

namespace {

/// The ops between the leaves and the roots, operands before users; their sizes are what the
/// check's cost is.
SmallVector<Operation *> opsBetween(ArrayRef<Value> leaves, ArrayRef<Value> roots) {
  llvm::SetVector<Operation *> ordered;
  SmallVector<std::pair<Value, bool>> stack;
  for (Value root : llvm::reverse(roots))
    stack.push_back({root, false});
  llvm::DenseSet<Value> stop(leaves.begin(), leaves.end()), entered;
  while (!stack.empty()) {
    auto [value, done] = stack.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || stop.contains(value))
      continue;
    if (done) {
      ordered.insert(op);
      continue;
    }
    if (!entered.insert(value).second)
      continue;
    stack.push_back({value, true});
    for (Value operand : op->getOperands())
      stack.push_back({operand, false});
  }
  return ordered.takeVector();
}

/// The two expressions as text, locations and names of values apart: equal for identical layers.
std::string describe(ArrayRef<Operation *> ops, ArrayRef<Value> leaves, ArrayRef<Value> roots) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::DenseMap<Value, size_t> number;
  for (Value leaf : leaves) {
    stream << leaf.getType() << ' ';
    number.try_emplace(leaf, number.size());
  }
  for (Operation *op : ops) {
    stream << op->getName() << op->getAttrDictionary() << '(';
    for (Value operand : op->getOperands())
      stream << number.lookup(operand) << ' ';
    stream << ')' << op->getResultTypes() << '\n';
    for (Value result : op->getResults())
      number.try_emplace(result, number.size());
  }
  for (Value root : roots)
    stream << number.lookup(root) << ' ';
  return text;
}

/// The symbols of these values and of the ops' attributes, in order of appearance.
llvm::SetVector<StringRef> symbolsOf(ArrayRef<Operation *> ops, ArrayRef<Value> leaves) {
  llvm::SetVector<StringRef> symbols;
  auto visit = [&](Dim dim) { dim.forEachSymbol([&](StringRef name) { symbols.insert(name); }); };
  auto visitType = [&](Type type) {
    if (auto tensor = dyn_cast<TensorType>(type))
      llvm::for_each(tensor.getShape(), visit);
  };
  for (Value leaf : leaves)
    visitType(leaf.getType());
  for (Operation *op : ops) {
    llvm::for_each(op->getResultTypes(), visitType);
    op->getAttrDictionary().walk([&](DimAttr dim) { visit(Dim(dim)); });
  }
  return symbols;
}

/// Small values for all symbols, which the module's guards allow where such can be found. `spread` 0
/// makes all equal that may be.
Symbols chooseSizes(ModuleOp module, ArrayRef<Operation *> ops, ArrayRef<Value> leaves,
                    int64_t spread) {
  SmallVector<SizeRelation> guards = guardRelations(module);
  llvm::SetVector<StringRef> symbols = symbolsOf(ops, leaves);
  auto add = [&](StringRef name) { symbols.insert(name); };
  for (const SizeRelation &guard : guards)
    guard.left.forEachSymbol(add), guard.right.forEachSymbol(add);
  SmallVector<PreferredSize> open;
  for (StringRef name : symbols)
    open.push_back({name.str(), 2 + spread * static_cast<int64_t>(open.size())});
  if (std::optional<Symbols> sizes = SizeSolver(std::move(guards)).complete({}, open))
    return *sizes;
  Symbols sizes;
  for (const auto &[name, size] : open)
    sizes[name] = size;
  return sizes;
}

/// ||a - b|| / ||b||, where infinities and NaN must stand at the same places; none where they do
/// not.
std::optional<double> relativeError(const HostTensor &a, const HostTensor &b) {
  if (a.getShape() != b.getShape())
    return std::nullopt;
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < a.getNumElements(); ++i) {
    double left = a.getDouble(i), right = b.getDouble(i);
    if (!std::isfinite(left) || !std::isfinite(right)) {
      if (left != right && !(std::isnan(left) && std::isnan(right)))
        return std::nullopt;
      continue;
    }
    difference += (left - right) * (left - right);
    norm += right * right;
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

/// Whether all values together, in double precision, fit half a gigabyte at these sizes.
bool fitsInMemory(ArrayRef<Operation *> ops, ArrayRef<Value> leaves, const Symbols &sizes) {
  constexpr int64_t kMostElements = int64_t{1} << 26;
  int64_t total = 0;
  auto fits = [&](Value value) {
    std::optional<Shape> shape = evaluateShape(tensorType(value), sizes);
    std::optional<int64_t> count = shape ? elementCount(*shape) : std::nullopt;
    if (!count || *count > kMostElements - total)
      return false;
    total += *count;
    return true;
  };
  return llvm::all_of(leaves, fits) &&
         llvm::all_of(ops, [&](Operation *op) { return llvm::all_of(op->getResults(), fits); });
}

RaiseCheck compare(Value original, Value raised, ArrayRef<Value> leaves, const Symbols &sizes,
                   double tolerance) {
  constexpr uint64_t kSeed = 20260726;
  llvm::DenseMap<Value, HostTensor> known;
  for (auto [index, leaf] : llvm::enumerate(leaves)) {
    std::optional<Shape> shape = evaluateShape(tensorType(leaf), sizes);
    std::optional<HostTensor> random =
        shape ? randomTensor(*shape, tensorType(leaf).getElementType(), kSeed + index)
              : std::nullopt;
    if (!random)
      return {false, 0, "an operand has no size at the sizes of the check"};
    Storage storage = storageFor(tensorType(leaf).getElementType(), Precision::f64);
    known.try_emplace(leaf, random->withStorage(storage));
  }
  EvaluateOptions options;
  options.precision = Precision::f64;
  FailureOr<HostTensor> expected = evaluate(original, known, sizes, options);
  FailureOr<HostTensor> actual = evaluate(raised, known, sizes, options);
  if (failed(expected) || failed(actual))
    return {false, 0, "the interpreter could not evaluate it"};
  std::optional<double> error = relativeError(*actual, *expected);
  if (!error)
    return {false, 0, "infinities or NaN stand at different places"};
  return {*error <= tolerance, *error, ""};
}

/// Compares the two roots at sizes that differ, or at equal ones if that cannot be evaluated: sizes
/// that the model takes to be equal without a guard only work when they are. What is too large to
/// evaluate is not proved, and so does not agree.
RaiseCheck checkAtSizes(ModuleOp module, ArrayRef<Value> roots, ArrayRef<Value> leaves,
                        double tolerance) {
  SmallVector<Operation *> ops = opsBetween(leaves, roots);
  RaiseCheck result;
  for (int64_t spread : {1, 0}) {
    Symbols sizes = chooseSizes(module, ops, leaves, spread);
    if (fitsInMemory(ops, leaves, sizes))
      result = compare(roots[0], roots[1], leaves, sizes, tolerance);
    else
      result = {false, 0, "its constant sizes are too large for the check"};
    if (result.problem.empty())
      return result;
  }
  return result;
}

/// Agrees only where the roots do at two choices of small sizes.
RaiseCheck checkShrunk(ModuleOp module, ArrayRef<Operation *> ops, ArrayRef<Value> roots,
                       ArrayRef<Value> leaves, double tolerance, bool keepsCounted) {
  RaiseCheck result;
  for (int64_t firstSize : {4, 5}) {
    std::optional<ShrunkOps> small = shrinkSizes(ops, leaves, roots, firstSize, keepsCounted);
    if (!small)
      return {};
    result = checkAtSizes(module, small->roots,
                          llvm::to_vector_of<Value>(small->block->getArguments()), tolerance);
    if (!result.agrees)
      return {};
  }
  return result;
}

/// More than a few milliseconds' work: results of constant sizes with this many elements.
bool isExpensive(ArrayRef<Operation *> ops) {
  constexpr int64_t kManyElements = 1 << 16;
  return llvm::any_of(ops, [](Operation *op) {
    int64_t count = 1;
    for (Dim dim : tensorType(op->getResult(0)).getShape())
      if (std::optional<int64_t> size = dim.asConstant();
          size && __builtin_mul_overflow(count, *size, &count))
        return true;
    return count > kManyElements;
  });
}

} // namespace

RaiseCheck RaiseChecker::check(Value original, Value raised, ArrayRef<Value> leaves,
                               double tolerance) {
  SmallVector<Operation *> ops = opsBetween(leaves, {original, raised});
  std::string text = describe(ops, leaves, {original, raised});
  if (auto found = checked.find(text); found != checked.end())
    return found->second;
  // What fails here is no error of the user's: the raise is refused with a remark.
  ScopedDiagnosticHandler silence(module.getContext(), [](Diagnostic &) { return success(); });
  RaiseCheck result;
  for (bool keepsCounted : {false, true})
    if (!result.agrees && isExpensive(ops))
      result = checkShrunk(module, ops, {original, raised}, leaves, tolerance, keepsCounted);
  if (!result.agrees)
    result = checkAtSizes(module, {original, raised}, leaves, tolerance);
  checked.try_emplace(text, result);
  return result;
}

double roundingTolerance(Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  if (!floatType)
    return 1e-6;
  return std::max(1e-6, 4 * std::ldexp(1.0, -static_cast<int>(floatType.getFPMantissaWidth())));
}

} // namespace smelt::passes
