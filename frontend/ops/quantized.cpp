// Products of quantised tensors: an element q stands for scale * (q - zero point).
//
// Zero points are taken out of the product, (a - za)(b - zb) = a b - za sum(b - zb) - zb sum(a) with
// sums over K: what is multiplied stays bytes, and sums of weights are constants.
#include "frontend/node_table.h"
#include "frontend/ops/contraction.h"
#include "ir/capabilities.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Moves the range of bytes without sign to that of bytes with one.
constexpr int64_t kSignShift = 128;

/// The value of all elements of an integer constant.
std::optional<int64_t> uniformValue(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  auto bits = elements.getSplatValue<APInt>();
  return tensorType(value).getElementType().isUnsignedInteger() ? bits.getZExtValue()
                                                                : bits.getSExtValue();
}

/// A matrix operand of a quantised product.
struct QuantizedFactor {
  Value values;
  Value zeroPoint; ///< int32, broadcasts with `values`; null where it is 0
  int64_t depth;   ///< the axis of `values` that is summed

  Value inInt32(GraphBuilder &build) const {
    return build.cast(values, IntegerType::get(build.getContext(), 32));
  }
  Value centred(GraphBuilder &build) const {
    Value wide = inInt32(build);
    return zeroPoint ? build.create<SubOp>({wide, zeroPoint}) : wide;
  }
};

/// Input `index` in a shape that broadcasts with the factor: one for all, or one for each row on the
/// left, for each column on the right. A list, or of the factor's rank with one value along K.
Value alignZeroPoint(NodeReader &node, size_t index, const QuantizedFactor &factor) {
  GraphBuilder &build = node.build;
  Value given = node.input(index);
  SmallVector<Dim> shape = tensorType(given).getShape(),
                   full = tensorType(factor.values).getShape();
  Value wide = build.cast(given, IntegerType::get(build.getContext(), 32));
  if (tensorType(given).getNumElements().isConstant(1))
    return build.reshape(wide, {});
  full[factor.depth] = build.size(1);
  if (shape.size() == 1)
    shape = full.size() - 2 == static_cast<size_t>(factor.depth)
                ? SmallVector<Dim>{build.size(1), shape[0]}
                : SmallVector<Dim>{shape[0], build.size(1)};
  else if (shape.size() != full.size())
    return node.error() << "has a zero point " << node.describe(index)
                        << " that is neither one value, nor a list, nor of the rank of "
                        << node.describe(index - 2),
           Value();
  for (auto [size, of] : llvm::zip(shape, ArrayRef(full).take_back(shape.size())))
    if (failed(build.getFacts().requireEqual(build.getLocation(), size, of,
                                             "zero points are one for each row on the left, for "
                                             "each column on the right")))
      return {};
  return build.reshape(wide, shape);
}

/// Reads the zero point of `factor` from input `index`, which may be omitted; false after a report.
bool readZeroPoint(NodeReader &node, size_t index, QuantizedFactor &factor) {
  GraphBuilder &build = node.build;
  Value given = node.input(index);
  std::optional<int64_t> uniform = given ? uniformValue(given) : 0;
  if (uniform == 0)
    return true;
  if (uniform == kSignShift && isWeightExpression(factor.values)) {
    // A weight that is shifted when compiling needs no correction.
    factor.zeroPoint = build.scalar(kSignShift, IntegerType::get(build.getContext(), 32));
    factor.values = build.cast(factor.centred(build), IntegerType::get(build.getContext(), 8));
    factor.zeroPoint = {};
    return factor.values != nullptr;
  }
  factor.zeroPoint = alignZeroPoint(node, index, factor);
  return factor.zeroPoint != nullptr;
}

/// `product` less what the zero point `zeroPoint` of one factor times the sums of the other makes of
/// it.
Value correct(GraphBuilder &build, Value product, Value zeroPoint, Value summed, int64_t depth) {
  if (!zeroPoint)
    return product;
  Value sums = build.reduce(ReductionKind::sum, summed, depth);
  return build.create<SubOp>({product, build.create<MulOp>({zeroPoint, sums})});
}

LogicalResult importMatMulInteger(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<Factors> factors = Factors::read(node, 0, 1);
  if (failed(node.requireSameType({0, 2})) || failed(node.requireSameType({1, 3})) ||
      failed(factors))
    return failure();
  QuantizedFactor a{factors->lhs, {}, tensorType(factors->lhs).getRank() - 1},
      b{factors->rhs, {}, tensorType(factors->rhs).getRank() - 2};
  if (!readZeroPoint(node, 2, a) || !readZeroPoint(node, 3, b))
    return failure();
  factors->lhs = a.values, factors->rhs = b.values;
  Value product = factors->multiply(node);
  product = correct(build, product, a.zeroPoint, b.centred(build), b.depth);
  product = correct(build, product, b.zeroPoint, a.inInt32(build), a.depth);
  return node.output(factors->dropAddedAxes(node, product));
}

} // namespace

ArrayRef<NodeRule> quantizedRules() {
  static constexpr NodeRule kRules[] = {
      {"MatMulInteger", 10, 2, importMatMulInteger},
  };
  return kRules;
}

} // namespace smelt::frontend
