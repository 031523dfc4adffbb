// Attention, a block of query rows of one head at a time: scores by GEMM, softmax on the rows,
// values by GEMM. A thread holds one block of scores, so memory grows with the number of keys, not
// with its square.
#include "ir/interpret/broadcast.h"
#include "ir/interpret/evaluator.h"
#include "ir/interpret/gemm.h"
#include "ir/interpret/rows.h"
#include "ir/interpret/strided.h"

using namespace mlir;

namespace smelt::interpret {

namespace {

/// Query rows in a block: its scores against a few hundred keys stay in the second-level cache.
constexpr int64_t kBlockRows = 128;

template <typename T> struct Problem {
  int64_t heads, groups, queries, keys, width, valueWidth;
  const T *query, *key, *value;
  T *output;
  const T *bias = nullptr; // read at head and query by these strides
  SmallVector<int64_t> biasStrides;
  T scale, softcap;
  bool causal, zeroMaskedRows;

  /// Keys that query row `row` sees; the others come after them.
  int64_t visibleKeys(int64_t row) const {
    return causal ? std::clamp<int64_t>(row + (keys - queries) + 1, 0, keys) : keys;
  }
};

template <typename T> void cap(const Problem<T> &problem, T *scores, int64_t count) {
  for (int64_t j = 0; j < count; ++j)
    scores[j] *= problem.scale / (problem.softcap > 0 ? problem.softcap : T(1));
  if (!(problem.softcap > 0))
    return;
  tanhRow(scores, count);
  for (int64_t j = 0; j < count; ++j)
    scores[j] *= problem.softcap;
}

template <typename T>
void addBias(const Problem<T> &problem, int64_t batch, int64_t head, int64_t row, T *scores,
             int64_t count) {
  ArrayRef<int64_t> strides = problem.biasStrides;
  const T *bias = problem.bias + batch * strides[0] + head * strides[1] + row * strides[2];
  for (int64_t j = 0; j < count; ++j)
    scores[j] += bias[j * strides[3]];
}

/// Turns one row of products q.k into probabilities.
template <typename T>
void finishRow(const Problem<T> &problem, int64_t batch, int64_t head, int64_t row, T *scores) {
  int64_t visible = problem.visibleKeys(row);
  cap(problem, scores, visible);
  if (problem.bias)
    addBias(problem, batch, head, row, scores, visible);
  std::fill(scores + visible, scores + problem.keys, T(0));
  bool masked = std::all_of(scores, scores + visible,
                            [](T score) { return score == -std::numeric_limits<T>::infinity(); });
  if (problem.keys == 0)
    return;
  if (!masked)
    return softmaxRow(scores, visible);
  std::fill(scores, scores + problem.keys,
            problem.zeroMaskedRows ? T(0) : std::numeric_limits<T>::quiet_NaN());
}

template <typename T>
void attendBlock(const Problem<T> &problem, int64_t batch, int64_t head, int64_t begin, int64_t end,
                 T *scores) {
  int64_t group = batch * problem.groups + head / (problem.heads / problem.groups),
          row = (batch * problem.heads + head) * problem.queries + begin;
  int64_t rows = end - begin, keys = problem.keys;
  gemm(GemmProblem<T>{rows, keys, problem.width, problem.query + row * problem.width, problem.width,
                      problem.key + group * keys * problem.width, problem.width, true, scores,
                      keys});
  for (int64_t i = 0; i < rows; ++i)
    finishRow(problem, batch, head, begin + i, scores + i * keys);
  gemm(GemmProblem<T>{rows, problem.valueWidth, keys, scores, keys,
                      problem.value + group * keys * problem.valueWidth, problem.valueWidth, false,
                      problem.output + row * problem.valueWidth, problem.valueWidth});
}

template <typename T> void attend(const Problem<T> &problem, int64_t batches, ThreadPool &threads) {
  int64_t blocks = (problem.queries + kBlockRows - 1) / kBlockRows;
  threads.parallelFor(batches * problem.heads * blocks, 1, [&](int64_t first, int64_t last) {
    std::vector<T> scores(std::min(kBlockRows, problem.queries) * problem.keys);
    for (int64_t index = first; index < last; ++index) {
      int64_t begin = index % blocks * kBlockRows, head = index / blocks % problem.heads;
      attendBlock(problem, index / blocks / problem.heads, head, begin,
                  std::min(begin + kBlockRows, problem.queries), scores.data());
    }
  });
}

/// The shape of the scores, [B, H, I, J]; fails where the operands contradict each other.
FailureOr<Shape> scoreShape(AttentionOp op, Operands operands) {
  ArrayRef<int64_t> query = operands[0].getShape(), key = operands[1].getShape(),
                    value = operands[2].getShape();
  Shape shape{query[0], query[1], query[2], key[2]};
  bool fits = query[0] == key[0] && query[3] == key[3] &&
              key.take_front(3) == value.take_front(3) && key[1] != 0 && query[1] % key[1] == 0;
  if (!fits)
    return op.emitError("query ") << toString(query) << ", key " << toString(key) << " and value "
                                  << toString(value) << " do not fit";
  if (operands.size() > 3 && broadcast(shape, operands[3].getShape()) != shape)
    return op.emitError("bias ") << toString(operands[3].getShape())
                                 << " does not broadcast to scores "
                                 << toString(ArrayRef<int64_t>(shape));
  return shape;
}

/// Strides that read `shape` as a broadcast [B, H, I, J].
SmallVector<int64_t> biasStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides = rowMajorStrides(shape);
  for (auto [size, stride] : llvm::zip(shape, strides))
    stride = size == 1 ? 0 : stride;
  strides.insert(strides.begin(), 4 - strides.size(), 0);
  return strides;
}

} // namespace

Result evaluateOp(AttentionOp op, Operands operands, Evaluator &evaluator) {
  FailureOr<Shape> scores = scoreShape(op, operands);
  if (failed(scores))
    return failure();
  if (operands.size() > 3 && operands[3].getStorage() != operands[0].getStorage())
    return op.emitError("bias of element type ")
           << operands[3].getElementType() << " cannot be added to scores of "
           << operands[0].getElementType();
  const HostTensor &query = operands[0], &key = operands[1], &value = operands[2];
  Result result = evaluator.allocate(
      op, {query.getSize(0), query.getSize(1), query.getSize(2), value.getSize(3)});
  if (failed(result))
    return failure();
  visitStorage(result->getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (!std::is_same_v<T, int64_t>) {
      Problem<T> problem{query.getSize(1),
                         key.getSize(1),
                         query.getSize(2),
                         key.getSize(2),
                         query.getSize(3),
                         value.getSize(3),
                         query.values<T>().data(),
                         key.values<T>().data(),
                         value.values<T>().data(),
                         result->template mutableValues<T>().data(),
                         nullptr,
                         {},
                         static_cast<T>(op.getScale().convertToFloat()),
                         static_cast<T>(op.getSoftcap().convertToFloat()),
                         op.getCausal(),
                         op.getZeroMaskedRows()};
      if (operands.size() > 3) {
        problem.bias = operands[3].values<T>().data();
        problem.biasStrides = biasStrides(operands[3].getShape());
      }
      attend(problem, query.getSize(0), evaluator.threads);
    }
  });
  return result;
}

} // namespace smelt::interpret
