#include "passes/fuse/projection.h"

#include "ir/capabilities.h"
#include "passes/fuse/fusion_group.h"

using namespace mlir;

namespace smelt::passes {

Operation *Projection::end() const {
  return add ? AddOp(add).getOperation() : MatmulOp(matmul).getOperation();
}

std::optional<Projection> Projection::match(MatmulOp matmul) {
  if (!isFree(matmul) || tensorType(matmul.getRhs()).getRank() != 2 ||
      !isWeightExpression(matmul.getRhs()))
    return std::nullopt;
  Projection projection{matmul, nullptr, nullptr};
  auto add = matmul->hasOneUse() ? dyn_cast<AddOp>(*matmul->user_begin()) : AddOp();
  if (!add)
    return projection;
  Value bias = add.getLhs() == matmul.getOutput() ? add.getRhs() : add.getLhs();
  TensorType type = tensorType(bias);
  Dim columns = tensorType(matmul.getRhs()).getDim(1);
  if (type.getRank() == 1 && type.getDim(0) == columns && isWeightExpression(bias))
    projection.add = add, projection.bias = bias;
  return projection;
}

} // namespace smelt::passes
