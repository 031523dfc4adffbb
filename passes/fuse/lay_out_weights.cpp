// Method: the new layout is a weight expression in front of the fusion, which the interpreter
// evaluates while the plan is written; equal ones are one after common subexpressions are merged.
// Inside, views lead back, so that the region means what it meant, and fold into addresses.
#include "passes/fuse/lay_out_weights.h"

#include "ir/capabilities.h"
#include "passes/view_shape.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// [K, N] as [N, K].
LaidOutWeights turnRound(OpBuilder &builder, Location location, Value weight) {
  constexpr int64_t kSwap[] = {1, 0};
  Value stored = TransposeOp::create(builder, location, weight, kSwap);
  auto back = TransposeOp::create(builder, location, stored, kSwap);
  return {stored, {back}, {back}};
}

/// [K, N] each as one [K, N / 8, 2, 8].
LaidOutWeights interleave(OpBuilder &builder, Location location, ValueRange weights) {
  TensorType type = tensorType(weights.front());
  auto size = [&](int64_t value) { return Dim::constant(builder.getContext(), value); };
  Dim depth = type.getDim(0), width = size(kInterleavedColumns),
      groups = type.getDim(1).floorDiv(width);
  SmallVector<Dim> shape{depth, groups, size(1), width};
  SmallVector<Value> parts = llvm::map_to_vector(
      weights, [&](Value weight) { return reshapeTo(builder, location, weight, shape); });
  LaidOutWeights result;
  result.stored = ConcatOp::create(builder, location, parts, 2);
  for (size_t number = 0; number < weights.size(); ++number) {
    SmallVector<Attribute> starts(4, size(0).getAttribute());
    starts[2] = size(static_cast<int64_t>(number)).getAttribute();
    auto part = SliceOp::create(builder, location, type.withShape(shape), result.stored,
                                builder.getArrayAttr(starts), SmallVector<int64_t>(4, 1));
    auto own = ReshapeOp::create(builder, location, type, part);
    result.views.append({part, own});
    result.weights.push_back(own);
  }
  return result;
}

/// The same as [N / 8, 2, 8, K].
LaidOutWeights interleaveTurned(OpBuilder &builder, Location location, ValueRange weights) {
  LaidOutWeights plain = interleave(builder, location, weights);
  TensorType type = tensorType(plain.stored);
  SmallVector<Dim> shape = type.getShape(),
                   matrix{shape[0], product(ArrayRef(shape).drop_front(), builder.getContext())};
  builder.setInsertionPointAfter(plain.stored.getDefiningOp());
  LaidOutWeights turned =
      turnRound(builder, location, reshapeTo(builder, location, plain.stored, matrix));
  auto back = ReshapeOp::create(builder, location, type, turned.weights.front());
  for (Operation *view : plain.views)
    view->replaceUsesOfWith(plain.stored, back);
  turned.views.push_back(back);
  turned.views.append(plain.views);
  turned.weights = plain.weights;
  return turned;
}

} // namespace

LaidOutWeights layOutWeights(OpBuilder &builder, Location location, ValueRange weights,
                             WeightLayout layout) {
  switch (layout) {
  case WeightLayout::kMajor:
    return turnRound(builder, location, weights.front());
  case WeightLayout::interleaved:
    return interleave(builder, location, weights);
  case WeightLayout::interleavedKMajor:
    return interleaveTurned(builder, location, weights);
  case WeightLayout::asGiven:
    break;
  }
  llvm_unreachable("every other layout has a case");
}

} // namespace smelt::passes
