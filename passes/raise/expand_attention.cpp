#include "passes/raise/expand_attention.h"

#include "passes/constants.h"
#include "passes/raise/raise.h"
#include "passes/view_shape.h"

#include <limits>

using namespace mlir;

namespace smelt::passes {

namespace {

/// Builds at one place, for one attention. Scores are fp32, or wider where the operands are.
class Expansion {
public:
  Expansion(OpBuilder &builder, AttentionOp op)
      : builder(builder), op(op), location(op.getLoc()),
        own(tensorType(op.getQuery()).getElementType()),
        wide(own.isF64() ? own : Type(builder.getF32Type())) {}

  Value build() {
    Value keys = forAllHeads(op.getKey()), values = forAllHeads(op.getValue());
    Value transposed = TransposeOp::create(builder, location, keys, ArrayRef<int64_t>{0, 1, 3, 2});
    Value scores = scaled(product(op.getQuery(), transposed, wide), op.getScale().convertToFloat());
    if (float cap = op.getSoftcap().convertToFloat(); cap > 0) {
      Value inner = scaled(scores, 1 / static_cast<double>(cap));
      scores = scaled(TanhOp::create(builder, location, inner.getType(), inner), cap);
    }
    if (op.getBias())
      scores = AddOp::create(builder, location, scores, cast(op.getBias(), wide));
    if (op.getCausal())
      scores = SelectOp::create(builder, location, visible(), scores,
                                number(-std::numeric_limits<double>::infinity(), wide));
    Value weights = SoftmaxOp::create(builder, location, scores.getType(), scores, 3);
    if (op.getZeroMaskedRows())
      weights = SelectOp::create(
          builder, location,
          IsNanOp::create(builder, location,
                          tensorType(weights).withElementType(builder.getI1Type()), weights),
          number(0, wide), weights);
    return product(cast(weights, own), values, tensorType(op.getOutput()).getElementType());
  }

private:
  Value number(double value, Type type) { return makeScalar(builder, location, value, type); }

  Value product(Value lhs, Value rhs, Type type) {
    SmallVector<Dim> shape = shapeOf(lhs);
    shape.back() = shapeOf(rhs).back();
    return MatmulOp::create(builder, location, TensorType::get(shape, type), lhs, rhs);
  }

  Value scaled(Value value, double factor) {
    return MulOp::create(builder, location, value,
                         number(factor, tensorType(value).getElementType()));
  }

  Value cast(Value value, Type type) { return castTo(builder, location, value, type); }

  /// [B, G, J, D] with each group repeated for its heads.
  Value forAllHeads(Value value) {
    SmallVector<Dim> shape = shapeOf(value);
    Dim heads = shapeOf(op.getQuery())[1], one = Dim::constant(builder.getContext(), 1);
    if (shape[1] == heads)
      return value;
    SmallVector<Dim> split{shape[0], shape[1], one, shape[2], shape[3]};
    Value groups = reshapeTo(builder, location, value, split);
    split[2] = *heads.exactDiv(shape[1]);
    Value repeated =
        ExpandOp::create(builder, location, tensorType(value).withShape(split), groups);
    shape[1] = heads;
    return reshapeTo(builder, location, repeated, shape);
  }

  /// j <= i + (J - I), over [I, J].
  Value visible() {
    Dim rows = shapeOf(op.getQuery())[2], columns = shapeOf(op.getKey())[2];
    Type index = builder.getI64Type();
    Value i = IotaOp::create(builder, location, TensorType::get({rows}, index));
    Value j = IotaOp::create(builder, location, TensorType::get({columns}, index));
    Value offset = DimsOp::create(builder, location, TensorType::get({}, index),
                                  builder.getArrayAttr({(columns - rows).getAttribute()}));
    Value last = AddOp::create(builder, location, i, offset);
    last = reshapeTo(builder, location, last, {rows, Dim::constant(builder.getContext(), 1)});
    return LessEqualOp::create(builder, location, j, last);
  }

  OpBuilder &builder;
  AttentionOp op;
  Location location;
  Type own, wide;
};

} // namespace

Value expandAttention(OpBuilder &builder, AttentionOp attention) {
  return Expansion(builder, attention).build();
}

} // namespace smelt::passes
