// Ops whose results' shapes depend on elements: NonZero, Compress, Unique, NonMaxSuppression. What a kernel
// computes has a shape that is known before it runs, so that they are computed while importing, from
// constants, weights, and inputs whose values the caller fixed.
#include "frontend/node_table.h"

#include "llvm/ADT/MapVector.h"

#include <cmath>

using namespace mlir;

namespace smelt::frontend {

namespace {

using Positions = SmallVector<int64_t>;

/// Row-major positions of the elements that are not 0; NaN is not.
Positions nonZeroPositions(const HostTensor &tensor) {
  Positions positions;
  visitStorage(tensor.getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    for (auto [position, element] : llvm::enumerate(tensor.values<T>()))
      if (element != T(0))
        positions.push_back(static_cast<int64_t>(position));
  });
  return positions;
}

/// One row of indices for each axis.
LogicalResult importNonZero(NodeReader &node) {
  FailureOr<HostTensor> input = node.known(0);
  if (failed(input))
    return failure();
  Positions positions = nonZeroPositions(*input), indices;
  int64_t inner = input->getNumElements(), count = static_cast<int64_t>(positions.size());
  for (int64_t size : input->getShape()) {
    inner = size > 0 ? inner / size : 0;
    for (int64_t position : positions)
      indices.push_back(position / inner % size);
  }
  return node.output(node.integersOf({input->getRank(), count}, indices));
}

/// The input along an axis, or flattened where there is none.
struct Lines {
  Value input;
  int64_t axis = 0;
};

FailureOr<Lines> readLines(NodeReader &node) {
  Value input = node.input(0);
  TensorType type = tensorType(input);
  if (!node.hasAttribute("axis"))
    return Lines{node.build.reshape(input, type.getNumElements()), 0};
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", 0), type.getRank());
  if (failed(axis))
    return failure();
  return Lines{input, *axis};
}

Value pick(NodeReader &node, const Lines &lines, ArrayRef<int64_t> positions) {
  Value indices = node.integersOf(static_cast<int64_t>(positions.size()), positions);
  return node.build.create<GatherOp>({lines.input, indices},
                                     node.build.attribute("axis", lines.axis));
}

/// Only the condition must be known: what it picks may be computed later.
LogicalResult importCompress(NodeReader &node) {
  FailureOr<Lines> lines = readLines(node);
  if (failed(lines) || !lines->input)
    return failure();
  FailureOr<HostTensor> condition = node.known(1);
  if (failed(condition))
    return failure();
  Positions positions = nonZeroPositions(*condition);
  Dim size = tensorType(lines->input).getDim(lines->axis);
  int64_t last = positions.empty() ? 0 : positions.back() + 1;
  if (condition->getRank() != 1 ||
      failed(node.build.getFacts().requireAtMost(node.build.getLocation(), node.build.size(last),
                                                 size, "the condition picks from the axis")))
    return node.error() << "its condition " << node.describe(1) << " does not fit an axis of "
                        << size.toString();
  return node.output(pick(node, *lines, positions));
}

/// Slices along an axis of [outer, axis, inner], compared element by element; NaN comes last.
template <typename T> class SliceOrder {
public:
  SliceOrder(ArrayRef<T> values, int64_t outer, int64_t size, int64_t inner)
      : values(values), outer(outer), size(size), inner(inner) {}

  bool operator()(int64_t a, int64_t b) const {
    for (int64_t block = 0; block < outer; ++block)
      for (int64_t index = 0; index < inner; ++index) {
        T left = values[(block * size + a) * inner + index],
          right = values[(block * size + b) * inner + index];
        if (isLess(left, right) || isLess(right, left))
          return isLess(left, right);
      }
    return false;
  }

private:
  static bool isLess(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(b))
        return !std::isnan(a);
    return a < b;
  }

  ArrayRef<T> values;
  int64_t outer, size, inner;
};

struct UniqueResult {
  Positions first, inverse, counts;
};

/// The slices that differ, by their first positions.
template <typename Order> UniqueResult findUnique(int64_t size, const Order &order, bool isSorted) {
  Positions sorted = llvm::to_vector(llvm::seq<int64_t>(0, size));
  llvm::sort(sorted, [&](int64_t a, int64_t b) { return order(a, b) || (a < b && !order(b, a)); });
  SmallVector<Positions> groups; // of equal slices
  for (int64_t position : sorted) {
    if (groups.empty() || order(groups.back().front(), position))
      groups.emplace_back();
    groups.back().push_back(position);
  }
  if (!isSorted)
    llvm::sort(groups, [](const Positions &a, const Positions &b) { return a[0] < b[0]; });
  UniqueResult result;
  result.inverse.resize(size);
  for (auto [index, group] : llvm::enumerate(groups)) {
    result.first.push_back(group.front());
    result.counts.push_back(static_cast<int64_t>(group.size()));
    for (int64_t position : group)
      result.inverse[position] = static_cast<int64_t>(index);
  }
  return result;
}

LogicalResult importUnique(NodeReader &node) {
  FailureOr<HostTensor> input = node.known(0);
  FailureOr<Lines> lines = failed(input) ? FailureOr<Lines>(failure()) : readLines(node);
  if (failed(lines) || !lines->input)
    return failure();
  int64_t outer = 1, inner = 1;
  SmallVector<int64_t> shape = tensorType(lines->input).getStaticShape();
  for (auto [axis, size] : llvm::enumerate(shape))
    if (static_cast<int64_t>(axis) != lines->axis)
      (static_cast<int64_t>(axis) < lines->axis ? outer : inner) *= size;
  int64_t size = shape[lines->axis];
  UniqueResult unique = visitNumbers(*input, [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    return findUnique(size, SliceOrder<T>(input->values<T>(), outer, size, inner),
                      node.integer("sorted", 1) != 0);
  });
  const Positions *lists[] = {&unique.first, &unique.inverse, &unique.counts};
  for (auto [index, list] : llvm::enumerate(lists))
    if (failed(node.output(node.integersOf(static_cast<int64_t>(list->size()), *list), index + 1)))
      return failure();
  return node.output(pick(node, *lines, unique.first));
}

struct Box {
  float low[2], high[2];

  float area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

/// From two corners in any order, y first; or from the centre, x first, and the size.
Box makeBox(ArrayRef<float> four, bool isCentred) {
  if (isCentred)
    return {{four[0] - four[2] / 2, four[1] - four[3] / 2},
            {four[0] + four[2] / 2, four[1] + four[3] / 2}};
  return {{std::min(four[0], four[2]), std::min(four[1], four[3])},
          {std::max(four[0], four[2]), std::max(four[1], four[3])}};
}

bool overlapsMoreThan(const Box &a, const Box &b, float threshold) {
  float common = 1;
  for (int axis : {0, 1})
    common *=
        std::max(0.0f, std::min(a.high[axis], b.high[axis]) - std::max(a.low[axis], b.low[axis]));
  float both = a.area() + b.area() - common;
  return both > 0 && common / both > threshold;
}

struct Suppression {
  int64_t most = 0;
  float overlap = 0, score = -std::numeric_limits<float>::infinity();
};

/// The best boxes by score, of which none overlaps a better one too much.
Positions selectBoxes(ArrayRef<Box> boxes, ArrayRef<float> scores, const Suppression &limits) {
  Positions order, selected;
  for (auto [index, score] : llvm::enumerate(scores))
    if (score > limits.score)
      order.push_back(static_cast<int64_t>(index));
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });
  for (int64_t candidate : order) {
    if (static_cast<int64_t>(selected.size()) >= limits.most)
      break;
    if (llvm::none_of(selected, [&](int64_t better) {
          return overlapsMoreThan(boxes[candidate], boxes[better], limits.overlap);
        }))
      selected.push_back(candidate);
  }
  return selected;
}

/// An optional input of one element.
FailureOr<double> readNumber(NodeReader &node, size_t index, double standard) {
  if (!node.input(index))
    return standard;
  FailureOr<HostTensor> value = node.known(index);
  if (failed(value))
    return failure();
  if (value->getNumElements() != 1)
    return node.error() << "needs one element, got " << node.describe(index);
  return value->getDouble(0);
}

FailureOr<Suppression> readSuppression(NodeReader &node) {
  Suppression limits;
  FailureOr<double> most = readNumber(node, 2, 0), overlap = readNumber(node, 3, 0),
                    score = readNumber(node, 4, limits.score);
  if (failed(most) || failed(overlap) || failed(score))
    return failure();
  limits.most = static_cast<int64_t>(*most);
  limits.overlap = static_cast<float>(*overlap), limits.score = static_cast<float>(*score);
  return limits;
}

/// Rows of batch, class and box.
LogicalResult importNonMaxSuppression(NodeReader &node) {
  FailureOr<HostTensor> boxes = node.known(0), scores = node.known(1);
  FailureOr<Suppression> limits = readSuppression(node);
  if (failed(boxes) || failed(scores) || failed(limits))
    return failure();
  if (boxes->getRank() != 3 || scores->getRank() != 3 || boxes->getSize(2) != 4 ||
      boxes->getSize(0) != scores->getSize(0) || boxes->getSize(1) != scores->getSize(2))
    return node.error() << "needs boxes [batch, count, 4] and scores [batch, classes, count], got "
                        << node.describe(0) << " and " << node.describe(1);
  int64_t count = boxes->getSize(1), classes = scores->getSize(1), rows = 0;
  Positions result;
  for (int64_t batch = 0; batch < boxes->getSize(0); ++batch) {
    SmallVector<Box> own;
    for (int64_t index = 0; index < count; ++index)
      own.push_back(makeBox(boxes->values<float>().slice((batch * count + index) * 4, 4),
                            node.flag("center_point_box")));
    for (int64_t label = 0; label < classes; ++label)
      for (int64_t box :
           selectBoxes(own, scores->values<float>().slice((batch * classes + label) * count, count),
                       *limits)) {
        result.append({batch, label, box});
        ++rows;
      }
  }
  return node.output(node.integersOf({rows, 3}, result));
}

} // namespace

ArrayRef<NodeRule> dataDependentRules() {
  static constexpr NodeRule kRules[] = {
      {"Compress", 9, 2, importCompress},
      {"NonMaxSuppression", 10, 2, importNonMaxSuppression},
      {"NonZero", 9, 1, importNonZero},
      {"Unique", 11, 1, importUnique},
  };
  return kRules;
}

} // namespace smelt::frontend
