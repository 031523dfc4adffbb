// Determinants of small matrices.
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Beyond it, elimination would have to choose pivots.
constexpr int64_t kLargestMatrix = 4;

/// Of the rows from `row` on and of `columns`, expanded along the first of the rows.
Value expandAlongRow(GraphBuilder &build, Value matrix, int64_t row, ArrayRef<int64_t> columns) {
  int64_t rank = tensorType(matrix).getRank();
  Dim one = build.size(1);
  Value all = build.slice(matrix, rank - 2, build.size(row), one), sum;
  for (auto [index, column] : llvm::enumerate(columns)) {
    Value term = build.slice(all, rank - 1, build.size(column), one);
    SmallVector<int64_t> others(columns);
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(index));
    if (!others.empty())
      term = build.create<MulOp>({term, expandAlongRow(build, matrix, row + 1, others)});
    if (index == 0)
      sum = term;
    else
      sum = index % 2 ? build.create<SubOp>({sum, term}) : build.create<AddOp>({sum, term});
  }
  return sum;
}

LogicalResult importDet(NodeReader &node) {
  GraphBuilder &build = node.build;
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
  if (shape.size() < 2)
    return node.error() << "needs matrices, got " << node.describe(0);
  if (failed(build.getFacts().requireEqual(build.getLocation(), shape.back(),
                                           shape[shape.size() - 2], "the matrices are square")))
    return failure();
  shape = tensorType(node.input(0)).getShape();
  auto size = shape.back().asConstant();
  if (!size || *size < 1 || *size > kLargestMatrix)
    return node.error() << "the determinant of " << node.describe(0)
                        << " is not supported; matrices must be of constant size, at most "
                        << kLargestMatrix;
  Value result = expandAlongRow(build, build.widen(node.input(0)), 0,
                                llvm::to_vector(llvm::seq<int64_t>(0, *size)));
  return node.output(build.cast(build.reshape(result, ArrayRef(shape).drop_back(2)),
                                tensorType(node.input(0)).getElementType()));
}

} // namespace

ArrayRef<NodeRule> determinantRules() {
  static constexpr NodeRule kRules[] = {{"Det", 11, 1, importDet}};
  return kRules;
}

} // namespace smelt::frontend
