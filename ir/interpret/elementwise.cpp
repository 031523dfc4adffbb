// Elementwise ops: dispatch by op and storage, broadcasting, and the loops.
#include "ir/interpret/elementwise.h"

#include "ir/interpret/broadcast.h"
#include "ir/interpret/evaluator.h"

using namespace mlir;

namespace smelt::interpret {

namespace {

/// Elements that one thread takes at least: below this, waking another costs more than it saves.
constexpr int64_t kElementwiseGrain = 16384;

template <typename T> Result evaluateUnary(Operation *op, HostTensor &input, Evaluator &evaluator) {
  UnaryLoop<T> loop = unaryLoop<T>(op);
  if (!loop)
    return op->emitError("is not defined for element type ") << input.getElementType();
  const T *from = input.values<T>().data();
  Shape shape(input.getShape());
  Result result = evaluator.reuseOrAllocate(op, shape, input);
  if (failed(result))
    return failure();
  T *to = result->mutableValues<T>().data();
  evaluator.threads.parallelFor(
      result->getNumElements(), kElementwiseGrain,
      [&](int64_t begin, int64_t end) { loop(from + begin, to + begin, end - begin); });
  return result;
}

Result evaluateTest(Operation *op, const HostTensor &input, Evaluator &evaluator) {
  Result result = evaluator.allocate(op, input.getShape());
  if (failed(result))
    return failure();
  int64_t *to = result->mutableValues<int64_t>().data();
  bool nan = isa<IsNanOp>(op);
  visitStorage(input.getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    llvm::transform(input.values<T>(), to, [&](T x) {
      auto value = static_cast<double>(x);
      return static_cast<int64_t>(nan ? std::isnan(value) : std::isinf(value));
    });
  });
  return result;
}

/// Through the bytes of the declared type.
Result evaluateBitcast(BitcastOp op, const HostTensor &input, Evaluator &evaluator) {
  std::vector<char> bytes = input.toBytes();
  std::optional<HostTensor> result = HostTensor::fromBytes(
      input.getShape(), tensorType(op.getOutput()).getElementType(), bytes, evaluator.precision);
  if (!result)
    return op.emitError("cannot read the bits of ") << input.getElementType();
  return std::move(*result);
}

std::optional<Shape> broadcastAll(Operands operands) {
  Shape shape;
  for (const HostTensor &operand : operands) {
    std::optional<Shape> merged = broadcast(shape, operand.getShape());
    if (!merged)
      return std::nullopt;
    shape = *merged;
  }
  return shape;
}

InFlightDiagnostic broadcastError(Operation *op, Operands operands) {
  InFlightDiagnostic error = op->emitError("shapes do not broadcast: ");
  llvm::interleaveComma(operands, error,
                        [&](const HostTensor &operand) { error << toString(operand.getShape()); });
  return error;
}

template <typename T, typename Out>
Result evaluateBinary(Operation *op, ArrayRef<int64_t> shape, Operands operands,
                      BinaryLoop<T, Out> loop, Evaluator &evaluator) {
  if (!loop)
    return op->emitError("is not defined for element type ") << operands[0].getElementType();
  Broadcast plan(shape, {operands[0].getShape(), operands[1].getShape()});
  const T *lhs = operands[0].values<T>().data(), *rhs = operands[1].values<T>().data();
  bool reuseRight = operands[0].getShape() != shape || !operands[0].ownsValuesAlone();
  Result result = evaluator.reuseOrAllocate(op, shape, operands[reuseRight]);
  if (failed(result))
    return failure();
  Out *to = result->template mutableValues<Out>().data();
  int64_t left = plan.innerStride(0), right = plan.innerStride(1);
  evaluator.threads.parallelFor(
      result->getNumElements(), kElementwiseGrain, [&](int64_t begin, int64_t end) {
        plan.forRuns(begin, end, [&](int64_t position, ArrayRef<int64_t> offsets, int64_t count) {
          loop(lhs + offsets[0], left, rhs + offsets[1], right, to + position, count);
        });
      });
  return result;
}

template <typename T>
Result evaluateSelect(Operation *op, ArrayRef<int64_t> shape, Operands operands,
                      Evaluator &evaluator) {
  Broadcast plan(shape, {operands[0].getShape(), operands[1].getShape(), operands[2].getShape()});
  const int64_t *condition = operands[0].values<int64_t>().data();
  const T *lhs = operands[1].values<T>().data(), *rhs = operands[2].values<T>().data();
  Result result = evaluator.allocate(op, shape);
  if (failed(result))
    return failure();
  T *to = result->template mutableValues<T>().data();
  int64_t steps[3] = {plan.innerStride(0), plan.innerStride(1), plan.innerStride(2)};
  evaluator.threads.parallelFor(
      result->getNumElements(), kElementwiseGrain, [&](int64_t begin, int64_t end) {
        plan.forRuns(begin, end, [&](int64_t position, ArrayRef<int64_t> at, int64_t count) {
          for (int64_t i = 0; i < count; ++i)
            to[position + i] = condition[at[0] + i * steps[0]] ? lhs[at[1] + i * steps[1]]
                                                               : rhs[at[2] + i * steps[2]];
        });
      });
  return result;
}

Result evaluateCast(CastOp op, HostTensor &input, Evaluator &evaluator) {
  Type from = input.getElementType(), to = tensorType(op.getOutput()).getElementType();
  Storage storage = storageFor(to, evaluator.precision);
  if (storage == input.getStorage() && !castChangesValues(from, to))
    return std::move(input).declaredAs(to);
  return visitNumbers(input, [&](auto *fromTag) {
    using From = std::remove_pointer_t<decltype(fromTag)>;
    const From *values = input.values<From>().data();
    Result result = evaluator.reuseOrAllocate(op, input.getShape(), input);
    if (failed(result))
      return result;
    visitNumbers(*result, [&](auto *toTag) {
      using To = std::remove_pointer_t<decltype(toTag)>;
      To *converted = result->template mutableValues<To>().data();
      evaluator.threads.parallelFor(
          result->getNumElements(), kElementwiseGrain, [&](int64_t begin, int64_t end) {
            castLoop<From, To>(from, to, values + begin, converted + begin, end - begin);
          });
    });
    return result;
  });
}

Result evaluateNary(Operation *op, Operands operands, Evaluator &evaluator) {
  std::optional<Shape> shape = broadcastAll(operands);
  if (!shape)
    return broadcastError(op, operands);
  bool isPower = isa<PowOp>(op);
  if (isPower && operands[0].getStorage() == Storage::i64 &&
      operands[1].getStorage() != Storage::i64)
    return op->emitError("an integer to the power of a float is not defined");
  if (isPower)
    operands[1] = operands[1].withStorage(operands[0].getStorage());
  return visitNumbers(isPower ? operands[0] : operands.back(), [&](auto *tag) -> Result {
    using T = std::remove_pointer_t<decltype(tag)>;
    if (isa<SelectOp>(op))
      return evaluateSelect<T>(op, *shape, operands, evaluator);
    if (isa<EqualOp, LessOp, LessEqualOp>(op))
      return evaluateBinary<T, int64_t>(op, *shape, operands, comparisonLoop<T>(op), evaluator);
    return evaluateBinary<T, T>(op, *shape, operands, arithmeticLoop<T>(op), evaluator);
  });
}

} // namespace

Result evaluateElementwise(Operation *op, Operands operands, Evaluator &evaluator) {
  if (auto cast = dyn_cast<CastOp>(op))
    return evaluateCast(cast, operands[0], evaluator);
  if (auto bitcast = dyn_cast<BitcastOp>(op))
    return evaluateBitcast(bitcast, operands[0], evaluator);
  if (isa<IsNanOp, IsInfOp>(op))
    return evaluateTest(op, operands[0], evaluator);
  Result result = failure();
  if (operands.size() == 1)
    result = visitNumbers(operands[0], [&](auto *tag) {
      return evaluateUnary<std::remove_pointer_t<decltype(tag)>>(op, operands[0], evaluator);
    });
  else
    result = evaluateNary(op, operands, evaluator);
  if (succeeded(result))
    wrapIntegers(*result);
  return result;
}

} // namespace smelt::interpret
