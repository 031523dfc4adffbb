// simplify-shapes: integer tensors whose elements are sizes become data.
//
// Exporters compute shapes in the graph: Shape -> Gather -> Unsqueeze -> Concat -> Reshape. Types
// carry the shapes here, so that what such a chain computes is known (ir/dim_values.h): each value
// becomes one smelt.constant or smelt.dims, and the chain behind it is dead. What truly depends on
// data stays.
#include "passes/dead_ops.h"
#include "passes/passes.h"

#include "ir/dim_values.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_SIMPLIFYSHAPES
#include "passes/passes.h.inc"

namespace {

/// The values as a constant tensor; none where one is symbolic or does not fit the element type.
DenseElementsAttr asConstant(ArrayRef<Dim> elements, TensorType type) {
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  bool isUnsigned = width == 1 || type.getElementType().isUnsignedInteger();
  SmallVector<APInt> values;
  for (Dim element : elements) {
    std::optional<int64_t> value = element.asConstant();
    if (!value || !hasInteger(type.getElementType(), *value))
      return {};
    values.push_back(APInt(width, static_cast<uint64_t>(*value), !isUnsigned));
  }
  return DenseElementsAttr::get(toBuiltin(type), values);
}

/// One op that yields `elements`; empty where the dialect has no such op.
Value materialize(OpBuilder &builder, Location location, ArrayRef<Dim> elements, TensorType type) {
  if (DenseElementsAttr constant = asConstant(elements, type))
    return ConstantOp::create(builder, location, constant);
  Type elementType = type.getElementType();
  if (elementType.isInteger(1) ||
      llvm::all_of(elements, [](Dim element) { return element.asConstant().has_value(); }))
    return {};
  SmallVector<Attribute> dims =
      llvm::map_to_vector(elements, [](Dim d) -> Attribute { return d.getAttribute(); });
  Dim count = Dim::constant(builder.getContext(), elements.size());
  TensorType flat = type.getRank() <= 1 ? type : TensorType::get({count}, elementType);
  Value result = DimsOp::create(builder, location, flat, builder.getArrayAttr(dims));
  return flat == type ? result : ReshapeOp::create(builder, location, type, result).getOutput();
}

bool isMaterial(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return reshape.getInput().getDefiningOp<DimsOp>() != nullptr;
  return isa<ConstantOp, DimsOp, IotaOp>(op);
}

struct SimplifyShapes : impl::SimplifyShapesBase<SimplifyShapes> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> candidates;
    getOperation().walk([&](Operation *op) {
      if (op->getNumResults() == 1 && isa<TensorType>(op->getResult(0).getType()) &&
          !isMaterial(op))
        candidates.push_back(op);
    });
    for (Operation *op : candidates) {
      std::optional<SmallVector<Dim>> elements = knownDims(op->getResult(0));
      if (!elements)
        continue;
      rewriter.setInsertionPoint(op);
      if (Value value =
              materialize(rewriter, op->getLoc(), *elements, tensorType(op->getResult(0))))
        rewriter.replaceAllUsesWith(op->getResult(0), value);
    }
    eraseDeadOps(getOperation());
  }
};

} // namespace

} // namespace smelt::passes
