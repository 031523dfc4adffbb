// Matrix products. Attention and convolution have files of their own.
#include "ir/interpret/broadcast.h"
#include "ir/interpret/elementwise.h"
#include "ir/interpret/evaluator.h"
#include "ir/interpret/gemm.h"
#include "ir/interpret/strided.h"

using namespace mlir;

namespace smelt::interpret {

namespace {

/// Which matrix of each operand a batch of the result multiplies.
struct Batches {
  Shape shape;
  SmallVector<std::pair<int64_t, int64_t>> matrices;
};

std::optional<Batches> alignBatches(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  std::optional<Shape> shape = broadcast(lhs, rhs);
  if (!shape)
    return std::nullopt;
  Batches batches{*shape, {}};
  Broadcast plan(*shape, {lhs, rhs});
  plan.forRuns(0, product(*shape), [&](int64_t, ArrayRef<int64_t> offsets, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      batches.matrices.push_back(
          {offsets[0] + i * plan.innerStride(0), offsets[1] + i * plan.innerStride(1)});
  });
  return batches;
}

template <typename T>
void multiplyBatches(const Batches &batches, const GemmProblem<T> &first, Evaluator &evaluator) {
  auto problemOf = [&](int64_t batch) {
    GemmProblem<T> problem = first;
    auto [left, right] = batches.matrices[batch];
    problem.a += left * first.m * first.k;
    problem.b += right * first.k * first.n;
    problem.c += batch * first.m * first.n;
    return problem;
  };
  int64_t count = batches.matrices.size();
  if (count < evaluator.threads.size()) {
    for (int64_t batch = 0; batch < count; ++batch)
      parallelGemm(problemOf(batch), evaluator.threads);
    return;
  }
  evaluator.threads.parallelFor(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t batch = begin; batch < end; ++batch)
      gemm(problemOf(batch));
  });
}

} // namespace

Result evaluateOp(MatmulOp op, Operands operands, Evaluator &evaluator) {
  ArrayRef<int64_t> left = operands[0].getShape(), right = operands[1].getShape();
  int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
  std::optional<Batches> batches = alignBatches(left.drop_back(2), right.drop_back(2));
  if (!batches || right[right.size() - 2] != k)
    return op.emitError("cannot multiply shape ") << toString(left) << " by " << toString(right);
  Shape shape = batches->shape;
  shape.append({m, n});
  Result result = evaluator.allocate(op, shape);
  if (failed(result))
    return failure();
  // One matrix on the right: all rows on the left are rows of one product.
  if (product(right.drop_back(2)) == 1 && !batches->matrices.empty()) {
    m *= batches->matrices.size();
    batches->matrices.assign(1, {0, 0});
  }
  visitStorage(operands[0].getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    GemmProblem<T> first{m,
                         n,
                         k,
                         operands[0].values<T>().data(),
                         k,
                         operands[1].values<T>().data(),
                         n,
                         false,
                         result->template mutableValues<T>().data(),
                         n};
    multiplyBatches(*batches, first, evaluator);
  });
  wrapIntegers(*result);
  return result;
}

} // namespace smelt::interpret
