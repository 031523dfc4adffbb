#include "passes/fuse/gemm_group.h"

#include "passes/fuse/dequantization.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// Ops between a product and where it meets its partner.
constexpr size_t kMostOpsToPartner = 16;

/// Two products stay several values for longer.
constexpr GrowthLimits kEpilogueOfPair{6, 64};

/// Computed on the accumulators of products of `elements` elements.
bool isEpilogueOp(Operation *op, Dim elements) {
  return (op->hasTrait<Elementwise>() || isa<ReshapeOp>(op)) &&
         tensorType(op->getResult(0)).getNumElements() == elements;
}

/// Puts what the members compute of two products side by side: each is stored in its place.
bool joinsResults(Operation *op, const FusionGroup &group, Dim elements) {
  auto concat = dyn_cast<ConcatOp>(op);
  return concat && concat.getInputs().size() == 2 &&
         llvm::all_of(concat.getInputs(), [&](Value input) {
           return group.contains(input.getDefiningOp()) &&
                  tensorType(input).getNumElements() == elements;
         });
}

/// Draws in a transposition that keeps the last axis of what a product of activations stores: whoever
/// reads it, another product perhaps, finds its rows in one piece.
void absorbTransposition(FusionGroup &group, MatmulOp product) {
  SmallVector<Value> ends = group.liveOuts();
  if (isWeightExpression(product.getRhs()) || ends.size() != 1 || !ends.front().hasOneUse())
    return;
  auto transpose = dyn_cast<TransposeOp>(*ends.front().user_begin());
  if (transpose && isFree(transpose) && group.fits(transpose) &&
      transpose.getPermutation().back() + 1 ==
          static_cast<int64_t>(transpose.getPermutation().size()))
    group.add(transpose);
}

/// The product that `value` is computed from, elementwise, but not through `seen`.
MatmulOp productBehind(Value value, const llvm::SetVector<Operation *> &seen, Dim elements) {
  for (size_t count = 0; count < kMostOpsToPartner; ++count) {
    Operation *op = value.getDefiningOp();
    if (!op || seen.contains(op))
      return {};
    if (auto matmul = dyn_cast<MatmulOp>(op))
      return matmul;
    if (!isEpilogueOp(op, elements))
      return {};
    // Of several operands the largest leads on: the others are biases and factors.
    auto *next = llvm::find_if(op->getOpOperands(), [&](OpOperand &operand) {
      return tensorType(operand.get()).getNumElements() == elements;
    });
    if (next == op->getOpOperands().end())
      return {};
    value = next->get();
  }
  return {};
}

/// The product that meets `matmul` first in an elementwise op after it.
MatmulOp findPartner(MatmulOp matmul) {
  Dim elements = tensorType(matmul.getOutput()).getNumElements();
  llvm::SetVector<Operation *> seen;
  seen.insert(matmul);
  for (size_t i = 0; i < seen.size() && seen.size() < kMostOpsToPartner; ++i)
    for (Operation *user : seen[i]->getUsers()) {
      if (!isEpilogueOp(user, elements) || !isFree(user))
        continue;
      for (Value operand : user->getOperands())
        if (MatmulOp partner = productBehind(operand, seen, elements))
          return partner;
      if (seen.insert(user) && seen.size() >= kMostOpsToPartner)
        break;
    }
  return {};
}

/// The weights of both can be stored as one.
bool areWeights(MatmulOp first, MatmulOp second) {
  return first.getLhs() != first.getRhs() && first.getLhs() != second.getRhs() &&
         isWeightExpression(first.getRhs()) && isWeightExpression(second.getRhs());
}

} // namespace

GemmPlan::GemmPlan(func::FuncOp function) {
  SmallVector<MatmulOp> matmuls;
  for (auto matmul : function.getBody().front().getOps<MatmulOp>())
    if (isFree(matmul) && hasGemmTemplate(matmul)) {
      matmuls.push_back(matmul);
      candidates.insert(matmul);
    }
  for (MatmulOp matmul : matmuls)
    if (!numbers.contains(matmul) && !addPair(matmul))
      addKernel(matmul);
}

bool GemmPlan::addPair(MatmulOp matmul) {
  MatmulOp partner = findPartner(matmul);
  return partner && candidates.contains(partner) && !numbers.contains(partner) &&
         canShareRows(matmul, partner) && areWeights(matmul, partner) &&
         addKernel({matmul, partner});
}

/// Fails where the products do not lead to one value.
bool GemmPlan::addKernel(ArrayRef<MatmulOp> products) {
  GemmKernel kernel{SmallVector<MatmulOp, 2>(products), {}, {}};
  for (MatmulOp matmul : products)
    kernel.group.add(matmul);
  MatmulOp first = products.front();
  Dim elements = tensorType(first.getOutput()).getNumElements();
  bool isPair = products.size() > 1;
  auto accept = [&](Operation *op) {
    return !numbers.contains(op) &&
           (isEpilogueOp(op, elements) || (isPair && joinsResults(op, kernel.group, elements)));
  };
  kernel.boundary = growEpilogue(kernel.group, accept, isPair ? kEpilogueOfPair : GrowthLimits());
  dropDequantization(kernel.group, products.size());
  absorbTransposition(kernel.group, products.front());
  if (kernel.group.liveOuts().size() > 1)
    return false;
  for (Operation *op : kernel.group.ops())
    numbers[op] = all.size();
  all.push_back(std::move(kernel));
  return true;
}

const GemmKernel *GemmPlan::kernelOf(Operation *op) const {
  auto found = numbers.find(op);
  return found == numbers.end() ? nullptr : &all[found->second];
}

} // namespace smelt::passes
