#include "tests/generate/reference.h"

#include "tests/generate/exactness.h"

#include "ir/element_bytes.h"
#include "ir/interpret/interpret.h"
#include "ir/interpret/random.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

using namespace mlir;

namespace smelt::generate {

namespace {

constexpr int kDraws = 2;
/// Of rounding moved so much further where an op of the graph jumps, to find operands beside the jump.
constexpr int kEdgeDraws = 3;
constexpr double kEdgeReach = 4;
constexpr double kDrowned = 8; // times the base limit: rounding leaves nothing to compare

using Values = llvm::DenseMap<mlir::Value, HostTensor>;

/// Half a unit in the last place, relative; several for float32 and float64, whose functions err by that much.
double roundoff(Type type) {
  if (type.isBF16())
    return 0x1p-8;
  if (type.isF16())
    return 0x1p-11;
  return type.isF32() ? 0x1p-22 : 0x1p-50;
}

double smallestStep(Type type) { return type.isF16() ? 0x1p-25 : 0; }

/// Ops that give elements as they got them, or numbers that every type holds.
bool isExact(Operation *op) {
  return isa<ReshapeOp, ExpandOp, TransposeOp, SliceOp, ConcatOp, GatherOp, GatherElementsOp,
             GatherNdOp, SelectOp, ConstantOp, WeightOp, DimsOp, IotaOp, NegOp, AbsOp, ReluOp,
             MinOp, MaxOp, FloorOp, CeilOp, RoundOp, SignOp>(op);
}

/// Floats of so few bits that a step between two of them is no rounding error.
bool isCoarse(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 8; }

/// Ops of floats that give the same number everywhere between two jumps.
bool isStep(Operation *op) { return isa<FloorOp, CeilOp, RoundOp, SignOp>(op); }

/// Ops whose result jumps where a float operand passes some number: what rounding decides there is no error.
bool jumps(Operation *op) {
  auto isOfFloats = [](mlir::Value value) {
    Type type = cast<TensorType>(value.getType()).getElementType();
    return isa<FloatType>(type) && !isCoarse(type);
  };
  return llvm::any_of(op->getOperands(), isOfFloats) &&
         (isStep(op) || isa<ModOp>(op) || !llvm::all_of(op->getResults(), isOfFloats));
}

/// Whether a result of `op` has an element on another side of a jump than `other`: between jumps steps and integers stay as
/// they are, and others move by less than a tenth of the largest result.
bool hasJumped(Operation *op, const HostTensor &tensor, const HostTensor &other) {
  double largest = 0, apart = 0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    largest = std::max(largest, std::abs(other.getDouble(i)));
    apart = std::max(apart, std::abs(tensor.getDouble(i) - other.getDouble(i)));
  }
  Type type = tensor.getElementType();
  bool isConstant = isStep(op) || !isa<FloatType>(type) || isCoarse(type);
  return isConstant ? apart > 0 : apart > 0.1 * std::min(largest, 10.0);
}

/// Whether 0, which alone is false, lies between two versions of an element.
bool passesZero(const HostTensor &there, const HostTensor &back) {
  return llvm::any_of(llvm::zip_equal(there.values<double>(), back.values<double>()),
                      [](auto pair) {
                        auto [one, other] = pair;
                        return one != other && std::signbit(one) != std::signbit(other);
                      });
}

double largestOf(Type type) { return type.isF16() ? 6e4 : 1e30; }

/// Elements that the declared type does not hold, or that are not finite where that was not asked for.
bool leavesRange(Operation *op, const HostTensor &tensor) {
  Type type = tensor.getElementType();
  if (!isa<FloatType>(type) || isa<ConstantOp, WeightOp>(op))
    return false;
  for (double value : tensor.values<double>())
    if (std::isfinite(value) && std::abs(value) > largestOf(type))
      return true;
  return false;
}

/// Floats of 8 bits, as the numbers that they stand for: behind casts, scales and views.
bool standsForFloats8(mlir::Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto widened = dyn_cast<CastOp>(op);
      widened && isFloat8Operand(tensorType(widened.getInput()).getElementType()))
    return true;
  return isa<CastOp, MulOp, DivOp, SubOp, ReshapeOp, ExpandOp, TransposeOp, SliceOp, ConcatOp>(
             op) &&
         llvm::any_of(op->getOperands(), standsForFloats8);
}

/// A product of two of them, of whose sums a GPU's tensor cores keep 14 bits.
bool isProductOfFloats8(Operation *op) {
  return isa<MatmulOp, ConvOp>(op) && standsForFloats8(op->getOperand(0)) &&
         standsForFloats8(op->getOperand(1));
}

/// Of a sum of a product or a convolution.
int64_t termsOf(Operation *op) {
  TensorType left = tensorType(op->getOperand(0)), right = tensorType(op->getOperand(1));
  if (isa<MatmulOp>(op))
    return left.getDim(left.getRank() - 1).asConstant().value_or(0);
  int64_t filters = right.getDim(0).asConstant().value_or(1);
  return right.getNumElements().asConstant().value_or(0) / std::max<int64_t>(filters, 1);
}

/// Of sums of many terms, which may cancel: half a unit of their accumulators where they are large.
double sumRoundoff(Operation *op, const HostTensor &tensor) {
  if (!isa<MatmulOp, ConvOp, AttentionOp, ReduceOp, CumsumOp>(op))
    return 0;
  double largest = 0;
  for (double value : tensor.values<double>())
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  // Of 128 terms an H200 errs by up to 1.2e-4 of a result's norm, a third of the limits that follow; it may add up 256.
  if (isProductOfFloats8(op))
    return largest * (termsOf(op) > 128 ? 0x1p-14 : 0x1p-15);
  bool isDouble = tensor.getElementType().isF64();
  return largest * (isDouble ? 0x1p-52 : 0x1p-23);
}

/// What moves results as rounding does, `reach` times as far.
struct Noise {
  Random random;
  double reach = 1;

  void move(Operation *op, HostTensor &tensor) {
    double relative = reach * roundoff(tensor.getElementType()),
           absolute =
               reach * std::max(smallestStep(tensor.getElementType()), sumRoundoff(op, tensor));
    for (double &value : tensor.mutableValues<double>())
      value += (random.uniform() * 2 - 1) * std::max(std::abs(value) * relative, absolute);
  }
};

struct Walk {
  bool failed = false;
  std::string rejection;
  std::vector<Numbers> outputs;
  std::vector<bool> areFloats;
};

/// Whether a float that becomes an integer fits there: what happens otherwise is nowhere defined.
bool isDefinedCast(Operation *op, const HostTensor &input) {
  Type target = cast<TensorType>(op->getResult(0).getType()).getElementType();
  if (!isa<FloatType>(input.getElementType()) || !isa<IntegerType>(target) || target.isInteger(1))
    return true;
  double most =
      std::ldexp(1.0, target.getIntOrFloatBitWidth() - (target.isUnsignedInteger() ? 0 : 1)) - 1;
  double least = target.isUnsignedInteger() ? 0 : -most - 1;
  for (double value : input.values<double>())
    if (!(value > least - 1 && value < most + 1))
      return false;
  return true;
}

class Walker {
public:
  Walker(func::FuncOp function, WeightStore &weights, const Symbols &symbols)
      : function(function), symbols(symbols) {
    options.precision = Precision::f64;
    options.weights = &weights;
    exact.insert_range(function.getArguments());
  }

  /// `noise`: null for the reference itself, which runs first.
  Walk run(ArrayRef<HostTensor> inputs, Noise *noise) {
    Values values;
    Walk walk;
    for (auto [argument, input] : llvm::zip_equal(function.getArguments(), inputs))
      values[argument] = input.withStorage(storageFor(input.getElementType(), Precision::f64));
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator())
      if (!step(op, values, walk, noise))
        return walk;
    for (mlir::Value result : body.getTerminator()->getOperands()) {
      walk.outputs.push_back(toNumbers(values.at(result)));
      walk.areFloats.push_back(isFloatOutput(values.at(result)));
    }
    return walk;
  }
  /// An op of the function jumps.
  bool hasJumps() const { return !jumping.empty(); }

private:
  bool step(Operation &op, Values &values, Walk &walk, Noise *noise) {
    SmallVector<HostTensor> operands =
        llvm::map_to_vector(op.getOperands(), [&](mlir::Value value) { return values.at(value); });
    if (isa<CastOp>(op) && !isDefinedCast(&op, operands[0])) {
      walk.rejection = "a number is cast to a type that does not hold it";
      return false;
    }
    auto results = evaluate(&op, operands, symbols, options);
    if (mlir::failed(results)) {
      walk.failed = true;
      return false;
    }
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results)) {
      if (leavesRange(&op, tensor)) {
        walk.rejection = "a number leaves the range of its type";
        return false;
      }
      if (!noise && jumps(&op)) {
        jumping[value] = tensor;
        exactOperands[&op] = operands;
      }
      if (noise && jumps(&op) &&
          (hasJumped(&op, tensor, jumping.at(value)) || liesBesideJump(op, operands))) {
        walk.rejection = "rounding decides a result";
        return false;
      }
      if (!noise && isExactResult(&op, operands, tensor))
        exact.insert(value);
      if (noise && isa<FloatType>(tensor.getElementType()) && !isExact(&op) &&
          !exact.contains(value))
        noise->move(&op, tensor);
      values[value] = tensor;
    }
    return true;
  }

  /// Whether every computation gives this very result. What is no float does, and so does a step: a graph where rounding
  /// changes it is rejected.
  bool isExactResult(Operation *op, ArrayRef<HostTensor> operands, const HostTensor &result) const {
    auto isKnownExactly = [&](mlir::Value value) { return exact.contains(value); };
    return !isa<FloatType>(result.getElementType()) || isStep(op) ||
           (llvm::all_of(op->getOperands(), isKnownExactly) && !isProductOfFloats8(op) &&
            (isExact(op) || isExactArithmetic(op, operands, result, symbols, options)));
  }

  /// The exact operands of an op, `factor` times as far from where they are as rounding took them now.
  SmallVector<HostTensor> takeFurther(Operation &op, ArrayRef<HostTensor> moved, double factor) {
    SmallVector<HostTensor> operands = exactOperands.at(&op);
    for (auto [operand, other] : llvm::zip_equal(operands, moved))
      if (isa<FloatType>(operand.getElementType()))
        for (auto [value, there] :
             llvm::zip_equal(operand.mutableValues<double>(), other.values<double>()))
          if (std::isfinite(value) && std::isfinite(there))
            value += factor * (there - value);
    return operands;
  }

  /// Whether the op jumps somewhere between its exact operands and where rounding may take them: twice as far as it took
  /// them now, and the other way.
  bool liesBesideJump(Operation &op, ArrayRef<HostTensor> moved) {
    SmallVector<HostTensor> there = takeFurther(op, moved, 2), back = takeFurther(op, moved, -2);
    auto cast = dyn_cast<CastOp>(op);
    if (cast && tensorType(cast.getOutput()).getElementType().isInteger(1) &&
        passesZero(there[0], back[0]))
      return true;
    for (ArrayRef<HostTensor> operands : {ArrayRef(there), ArrayRef(back)}) {
      auto results = evaluate(&op, operands, symbols, options);
      if (mlir::failed(results))
        return true;
      for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results))
        if (hasJumped(&op, tensor, jumping.at(value)))
          return true;
    }
    return false;
  }

  func::FuncOp function;
  const Symbols &symbols;
  EvaluateOptions options;
  llvm::DenseSet<mlir::Value> exact; ///< no rounding touches them
  Values jumping;                    ///< the reference's results of ops that jump
  llvm::DenseMap<Operation *, SmallVector<HostTensor>> exactOperands; ///< of those
};

ElementType narrowest(func::FuncOp function, bool &hasCasts) {
  ElementType found = Wire::DOUBLE;
  auto rank = [](ElementType type) {
    return type == Wire::BFLOAT16 ? 3 : type == Wire::FLOAT16 ? 2 : type == Wire::FLOAT ? 1 : 0;
  };
  auto look = [&](Type type) {
    Type element = cast<TensorType>(type).getElementType();
    ElementType wire = element.isBF16()  ? Wire::BFLOAT16
                       : element.isF16() ? Wire::FLOAT16
                       : element.isF32() ? Wire::FLOAT
                                         : Wire::DOUBLE;
    if (isa<FloatType>(element) && rank(wire) > rank(found))
      found = wire;
  };
  llvm::for_each(function.getArgumentTypes(), look);
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), look);
    hasCasts |= isa<CastOp>(op);
  });
  return found;
}

} // namespace

bool isFloatOutput(const HostTensor &tensor) { return isa<FloatType>(tensor.getElementType()); }

Numbers toNumbers(const HostTensor &tensor) {
  Numbers numbers{{tensor.getShape().begin(), tensor.getShape().end()},
                  std::vector<double>(static_cast<size_t>(tensor.getNumElements()))};
  for (size_t i = 0; i < numbers.values.size(); ++i)
    numbers.values[i] = tensor.getDouble(static_cast<int64_t>(i));
  return numbers;
}

std::vector<HostTensor> toTensors(ModuleOp module, const std::vector<Array> &inputs) {
  std::vector<HostTensor> tensors;
  auto function = module.lookupSymbol<func::FuncOp>("main");
  for (auto [type, array] : llvm::zip_equal(function.getArgumentTypes(), inputs))
    tensors.push_back(*HostTensor::fromBytes(array.shape, cast<TensorType>(type).getElementType(),
                                             {array.bytes.data(), array.bytes.size()},
                                             Precision::f64));
  return tensors;
}

ReferenceResult computeReference(ModuleOp module, WeightStore &weights,
                                 const std::vector<Array> &inputs) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  std::vector<HostTensor> tensors = toTensors(module, inputs);
  SmallVector<smelt::Shape> shapes;
  for (const HostTensor &tensor : tensors)
    shapes.push_back(smelt::Shape(tensor.getShape()));
  FailureOr<Symbols> symbols = solveSymbols(function, shapes);
  if (mlir::failed(symbols) || mlir::failed(checkGuards(module, *symbols)))
    return {};
  Walker walker(function, weights, *symbols);
  Walk exact = walker.run(tensors, nullptr);
  if (exact.failed || !exact.rejection.empty())
    return {std::nullopt, exact.rejection};
  Reference reference;
  reference.base = baseLimit(narrowest(function, reference.hasCasts));
  reference.sensitivities.resize(exact.outputs.size());
  for (int draw = 0; draw < kDraws + (walker.hasJumps() ? kEdgeDraws : 0); ++draw) {
    Noise noise{Random(static_cast<uint64_t>(draw) + 1), draw < kDraws ? 1 : kEdgeReach};
    Walk moved = walker.run(tensors, &noise);
    if (moved.failed || !moved.rejection.empty())
      return {std::nullopt, moved.failed ? "rounding leads out of a range" : moved.rejection};
    if (draw >= kDraws)
      continue; // further than rounding moves an output
    for (size_t i = 0; i < exact.outputs.size(); ++i)
      addSensitivity(exact.outputs[i], moved.outputs[i], exact.areFloats[i],
                     reference.sensitivities[i]);
  }
  for (const Sensitivity &sensitivity : reference.sensitivities)
    if (!sensitivity.isDiscreteStable || !(sensitivity.relative <= kDrowned * reference.base))
      return {std::nullopt, "rounding decides a result"};
  reference.outputs = std::move(exact.outputs);
  return {std::move(reference), {}};
}

} // namespace smelt::generate
