// Merges matrix products that read the same left operand into one, side by side along the columns.
//
//   q = x Wq + bq        y = x [Wq|Wk|Wv] + [bq|bk|bv]
//   k = x Wk + bk   =>   q = y[:, :n]  k = y[:, n:2n]  v = y[:, 2n:]
//   v = x Wv + bv
//
// Three small GEMMs leave most of the GPU idle and read x three times. The concatenated weight is a
// weight expression, evaluated once at compile time; the slices are views that fold into the loads
// of whoever reads q, k and v. Assumes constant two-dimensional right operands with equal K and
// element type. A product without a bias among products with one takes zeros.
//
// A product stays alone where its kernel computes more than the bias behind it (an activation, the
// other half of a gated MLP): the wide product could not, and its result would go through memory
// twice more. The others are merged where that saves time by merge_cost.h: slices that somebody
// needs as tensors are copies.
#include "passes/fuse/gemm_group.h"
#include "passes/fuse/merge_cost.h"
#include "passes/passes.h"
#include "passes/remark.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEHORIZONTAL
#include "passes/passes.h.inc"

namespace {

/// One product of a group: the matmul, and its bias add where it has one.
struct Branch {
  MatmulOp matmul;
  AddOp add;
  Value bias;
};

Branch findBranch(MatmulOp matmul) {
  Branch branch{matmul, nullptr, nullptr};
  if (!matmul->hasOneUse())
    return branch;
  auto add = dyn_cast<AddOp>(*matmul->user_begin());
  if (!add)
    return branch;
  Value bias = add.getLhs() == matmul.getOutput() ? add.getRhs() : add.getLhs();
  TensorType type = tensorType(bias);
  Dim columns = tensorType(matmul.getRhs()).getDim(1);
  if (type.getRank() == 1 && type.getDim(0) == columns && isWeightExpression(bias))
    branch.add = add, branch.bias = bias;
  return branch;
}

/// A product with weights, to which others could be added.
bool isCandidate(MatmulOp matmul) {
  TensorType rhs = tensorType(matmul.getRhs());
  return isFree(matmul) && rhs.getRank() == 2 && isWeightExpression(matmul.getRhs());
}

/// Where `branch` ends: its bias add or its product.
Operation *endOf(Branch branch) {
  return branch.add ? branch.add.getOperation() : branch.matmul.getOperation();
}

/// The kernel computes more than the bias.
bool hasEpilogue(Branch branch, const GemmPlan &plan) {
  const GemmKernel *kernel = plan.kernelOf(branch.matmul);
  return kernel && llvm::any_of(kernel->group.ops(), [&](Operation *op) {
           return op != branch.matmul && op != branch.add && !op->hasTrait<View>();
         });
}

/// Somebody reads `value`, through views or not, as a tensor: a slice of a wider one is copied.
bool isMaterialized(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (user->hasTrait<View>())
      return isMaterialized(user->getResult(0));
    return !isPointwise(user) && !isa<MatmulOp, AttentionOp>(user) && !isa<RowReduction>(user);
  });
}

SharedProduct shapeOf(ArrayRef<Branch> branches) {
  MatmulOp first = branches.front().matmul;
  TensorType output = tensorType(first.getOutput()), rhs = tensorType(first.getRhs());
  Dim rows = product(ArrayRef(output.getShape()).drop_back(), first.getContext());
  SharedProduct shape{typicalSize(rows),
                      typicalSize(rhs.getDim(0)),
                      std::max<int64_t>(rhs.getElementType().getIntOrFloatBitWidth() / 8, 1),
                      {}};
  for (Branch branch : branches)
    shape.branches.push_back({typicalSize(tensorType(branch.matmul.getRhs()).getDim(1)),
                              isMaterialized(endOf(branch)->getResult(0))});
  return shape;
}

Value zeros(OpBuilder &builder, Location location, Dim columns, Type elementType) {
  auto type = RankedTensorType::get({*columns.asConstant()}, elementType);
  return ConstantOp::create(builder, location,
                            DenseElementsAttr::get(type, builder.getZeroAttr(elementType)));
}

void merge(ArrayRef<Branch> branches) {
  MatmulOp first = branches.front().matmul;
  OpBuilder builder(first);
  SmallVector<Location> locations;
  SmallVector<Value> weights, biases;
  bool anyBias = llvm::any_of(branches, [](const Branch &branch) { return branch.add; });
  for (Branch branch : branches) {
    locations.push_back(branch.matmul.getLoc());
    if (branch.add)
      locations.push_back(branch.add.getLoc());
  }
  Location location = builder.getFusedLoc(locations);
  for (Branch branch : branches) {
    TensorType rhs = tensorType(branch.matmul.getRhs());
    weights.push_back(branch.matmul.getRhs());
    moveBefore(branch.matmul.getRhs(), first);
    if (branch.bias)
      moveBefore(branch.bias, first);
    Type sum = tensorType(branch.matmul.getOutput()).getElementType();
    biases.push_back(branch.bias ? branch.bias : zeros(builder, location, rhs.getDim(1), sum));
  }
  Value weight = ConcatOp::create(builder, location, weights, 1);
  Value result = MatmulOp::create(builder, location, first.getLhs(), weight);
  Type sums = tensorType(first.getOutput()).getElementType(); // f32 perhaps, of 16-bit operands
  result.setType(tensorType(result).withElementType(sums));
  if (anyBias)
    result =
        AddOp::create(builder, location, result, ConcatOp::create(builder, location, biases, 0));
  TensorType type = tensorType(result);
  Dim zero = Dim::constant(builder.getContext(), 0), start = zero;
  for (Branch branch : branches) {
    Operation *replaced = branch.add ? branch.add.getOperation() : branch.matmul.getOperation();
    SmallVector<Attribute> starts(type.getRank() - 1, zero.getAttribute());
    starts.push_back(start.getAttribute());
    SmallVector<int64_t> steps(type.getRank(), 1);
    Value slice = SliceOp::create(builder, replaced->getLoc(), replaced->getResult(0).getType(),
                                  result, builder.getArrayAttr(starts), steps);
    replaced->getResult(0).replaceAllUsesWith(slice);
    start = start + tensorType(branch.matmul.getRhs()).getDim(1);
  }
  for (Branch branch : branches) {
    if (branch.add)
      branch.add->erase();
    branch.matmul->erase();
  }
}

struct FuseHorizontal : impl::FuseHorizontalBase<FuseHorizontal> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      fuse(function, remarks);
  }

private:
  static void fuse(func::FuncOp function, Remarks &remarks) {
    using Key = std::pair<Value, std::pair<Type, Type>>; // left operand, types of weights and sums
    llvm::MapVector<Key, SmallVector<Branch>> groups;
    for (auto matmul : function.getBody().front().getOps<MatmulOp>())
      if (isCandidate(matmul)) {
        std::pair<Type, Type> types{tensorType(matmul.getRhs()).getElementType(),
                                    tensorType(matmul.getOutput()).getElementType()};
        groups[{matmul.getLhs(), types}].push_back(findBranch(matmul));
      }
    if (llvm::all_of(groups, [](auto &group) { return group.second.size() < 2; }))
      return;
    GemmPlan plan(function); // merging changes no kernel of another group
    for (auto &[key, branches] : groups)
      if (branches.size() > 1)
        consider(std::move(branches), plan, remarks);
  }

  static void consider(SmallVector<Branch> branches, const GemmPlan &plan, Remarks &remarks) {
    llvm::erase_if(branches, [&](Branch branch) {
      bool alone = hasEpilogue(branch, plan);
      if (alone)
        remarks.refused(branch.matmul.getLoc(), "horizontal", "nothing but a bias follows",
                        "the merged product would lose what its kernel computes next");
      return alone;
    });
    if (branches.size() < 2)
      return;
    SharedProduct shape = shapeOf(branches);
    KernelCost saved = shape.apart() - shape.sideBySide();
    for (Branch branch : branches) {
      Location location = branch.matmul->getLoc();
      if (saved.microseconds() > 0)
        remarks.taken(location, "horizontal",
                      "one of " + Twine(branches.size()) +
                          " products side by side: " + describeSaving(saved));
      else
        remarks.refused(location, "horizontal", "saves time",
                        "of its " + Twine(branches.size()) +
                            " products, those that are read as tensors would be copied");
    }
    if (saved.microseconds() > 0)
      merge(branches);
  }
};

} // namespace
} // namespace smelt::passes
