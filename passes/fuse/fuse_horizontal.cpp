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
#include "passes/fuse/projection.h"
#include "passes/passes.h"
#include "passes/remark.h"
#include "passes/view_shape.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEHORIZONTAL
#include "passes/passes.h.inc"

namespace {

/// The kernel computes more than the bias.
bool hasEpilogue(Projection branch, const GemmPlan &plan) {
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

SharedProduct shapeOf(ArrayRef<Projection> branches) {
  MatmulOp first = branches.front().matmul;
  TensorType output = tensorType(first.getOutput()), rhs = tensorType(first.getRhs());
  Dim rows = product(ArrayRef(output.getShape()).drop_back(), first.getContext());
  SharedProduct shape{typicalSize(rows),
                      typicalSize(rhs.getDim(0)),
                      std::max<int64_t>(rhs.getElementType().getIntOrFloatBitWidth() / 8, 1),
                      {}};
  for (Projection branch : branches)
    shape.branches.push_back({typicalSize(tensorType(branch.matmul.getRhs()).getDim(1)),
                              isMaterialized(branch.end()->getResult(0))});
  return shape;
}

Value zeros(OpBuilder &builder, Location location, Dim columns, Type elementType) {
  auto type = RankedTensorType::get({*columns.asConstant()}, elementType);
  return ConstantOp::create(builder, location,
                            DenseElementsAttr::get(type, builder.getZeroAttr(elementType)));
}

void merge(ArrayRef<Projection> branches) {
  MatmulOp first = branches.front().matmul;
  OpBuilder builder(first);
  SmallVector<Location> locations;
  SmallVector<Value> weights, biases;
  bool anyBias = llvm::any_of(branches, [](const Projection &branch) { return branch.add; });
  for (Projection branch : branches) {
    locations.push_back(branch.matmul.getLoc());
    if (branch.add)
      locations.push_back(branch.add.getLoc());
  }
  Location location = builder.getFusedLoc(locations);
  for (Projection branch : branches) {
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
  Dim start = Dim::constant(builder.getContext(), 0);
  unsigned axis = tensorType(result).getRank() - 1;
  for (Projection branch : branches) {
    Operation *replaced = branch.end();
    Dim columns = tensorType(branch.matmul.getRhs()).getDim(1);
    replaced->getResult(0).replaceAllUsesWith(
        partOf(builder, replaced->getLoc(), result, axis, start, columns));
    start = start + columns;
  }
  for (Projection branch : branches) {
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
    llvm::MapVector<Key, SmallVector<Projection>> groups;
    for (auto matmul : function.getBody().front().getOps<MatmulOp>())
      if (std::optional<Projection> branch = Projection::match(matmul)) {
        std::pair<Type, Type> types{tensorType(matmul.getRhs()).getElementType(),
                                    tensorType(matmul.getOutput()).getElementType()};
        groups[{matmul.getLhs(), types}].push_back(*branch);
      }
    if (llvm::all_of(groups, [](auto &group) { return group.second.size() < 2; }))
      return;
    GemmPlan plan(function); // merging changes no kernel of another group
    for (auto &[key, branches] : groups)
      if (branches.size() > 1)
        consider(std::move(branches), plan, remarks);
  }

  static void consider(SmallVector<Projection> branches, const GemmPlan &plan, Remarks &remarks) {
    llvm::erase_if(branches, [&](Projection branch) {
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
    for (Projection branch : branches) {
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
