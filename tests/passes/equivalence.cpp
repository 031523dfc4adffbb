#include "tests/passes/equivalence.h"

#include "ir/interpret/interpret.h"
#include "ir/interpret/random.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace smelt {

namespace {

Symbols chooseSizes(func::FuncOp function, SizeChoice choice) {
  Symbols sizes;
  auto visit = [&](Dim dim) {
    dim.forEachSymbol([&](StringRef name) {
      sizes.try_emplace(name, choice.first + choice.step * static_cast<int64_t>(sizes.size()));
    });
  };
  auto visitType = [&](Type type) {
    if (auto tensor = dyn_cast<TensorType>(type))
      llvm::for_each(tensor.getShape(), visit);
  };
  llvm::for_each(function.getArgumentTypes(), visitType);
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), visitType);
    if (op != function)
      op->getAttrDictionary().walk([&](DimAttr dim) { visit(Dim(dim)); });
  });
  return sizes;
}

double errorOf(const HostTensor &before, const HostTensor &after) {
  constexpr double kDifferent = std::numeric_limits<double>::infinity();
  if (before.getShape() != after.getShape())
    return kDifferent;
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < before.getNumElements(); ++i) {
    double a = after.getDouble(i), b = before.getDouble(i);
    if (std::isfinite(a) && std::isfinite(b)) {
      difference += (a - b) * (a - b);
      norm += b * b;
    } else if (a != b && !(std::isnan(a) && std::isnan(b))) {
      return kDifferent;
    }
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

} // namespace

Comparison compareFunctions(func::FuncOp before, func::FuncOp after, WeightStore &weights,
                            SizeChoice choice, uint64_t seed) {
  Symbols sizes = chooseSizes(before, choice);
  SmallVector<HostTensor> inputs;
  for (Type type : before.getArgumentTypes()) {
    auto tensor = cast<TensorType>(type);
    std::optional<Shape> shape = evaluateShape(tensor, sizes);
    std::optional<HostTensor> random =
        shape ? randomTensor(*shape, tensor.getElementType(), seed++) : std::nullopt;
    if (!random)
      return {};
    inputs.push_back(random->withStorage(storageFor(tensor.getElementType(), Precision::f64)));
  }
  EvaluateOptions options;
  options.precision = Precision::f64;
  options.weights = &weights;
  auto expected = evaluate(before.getBody().front(), inputs, sizes, options);
  if (failed(expected))
    return {};
  Comparison result{true, 0, ""};
  if (failed(defineCapacities(after, sizes)))
    return {};
  auto actual = evaluate(after.getBody().front(), inputs, sizes, options);
  if (failed(actual) || actual->size() != expected->size()) {
    result.problem = "the function cannot be interpreted after the pass; " + toString(sizes);
    return result;
  }
  for (auto [index, pair] : llvm::enumerate(llvm::zip(*expected, *actual))) {
    double error = errorOf(std::get<0>(pair), std::get<1>(pair));
    if (error > result.error)
      result.problem = "result " + std::to_string(index) + " at " + toString(sizes);
    result.error = std::max(result.error, error);
  }
  return result;
}

testing::AssertionResult keepsValues(ModuleOp before, ModuleOp after, SizeChoice sizes,
                                     uint64_t seed) {
  constexpr double kMost = 1e-9;
  WeightStore weights;
  weights.drawMissing(seed);
  Comparison comparison =
      compareFunctions(*before.getOps<func::FuncOp>().begin(),
                       *after.getOps<func::FuncOp>().begin(), weights, sizes, seed);
  if (comparison.ran && comparison.error <= kMost &&
      (comparison.error > 0 || comparison.problem.empty()))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << (comparison.ran ? "" : "does not run; ") << comparison.error
                                     << ' ' << comparison.problem << " seed " << seed << '\n'
                                     << textOf(before);
}

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

} // namespace smelt
