// Makes norms between matrix products vanish as kernels, and those between a depthwise convolution and
// a product.
//
//   x = a A + r                                          x, m = a A + r, row_moments of x
//   y = layer_norm(x) * gamma + beta                =>   z = rstd(m) * (x W' - mean(m) * u) + v
//   z = y W + b                                          s = q Q + ((x - mean(m)) * rstd(m) * gamma
//   s = q Q + y                                                     + beta)
//
//   W' = gamma o W (rows scaled), less the mean of each column, rounded to the type of W;
//   u = column sums of the rounded W'; v = beta W + b. These are weight expressions, evaluated once
//   at compile time. RMSNorm is the same without means and u.
//
// Method: the epilogue that computes x has its rows at hand tile by tile and stores their moments
// in groups; every reader puts the groups of its rows together. The deviations x - mean(m) of a row
// sum to 0, so that the mean of a column of W' adds nothing to z; left in, it would make x W' and
// mean(m) * u large and nearly equal. What remains in u is the rounding of W', which so cancels.
// Saves a kernel, and writing and reading y, for each norm (two of seven kernels of an encoder
// layer). Measured on an H200: bert_base 1 x 128 0.305 -> 0.270 ms, minilm 0.084 -> 0.077, vit_b16
// one image 0.353 -> 0.336; thousands of rows, whose norms are a small part, stay within 1 %.
//
// Assumes: x is the value at which the epilogue of a product ends, its rows those of the product,
// and every reader of y is a product with weights or an elementwise op in an epilogue (both by
// gemm_group.h, which also forms the kernels). A norm that anybody else reads stays as it is.
//
// Or x is where the kernel of a reduction of floats over axes before the last ends
// (columnwise_group.h): a depthwise convolution, whose threads hold neighbouring channels of a pixel,
// each group of 32 in one warp. A layer of ConvNeXt so is three kernels, not four: on an H200 0.779 ms of
// 16 images (0.785); where there are most pixels, products take as much longer as the norms took.
//
// Accuracy: rounding the partial sums of x W' errs by how large x is, not x - mean(m). Against
// exact arithmetic on the stored x, 768 columns, W of deviation 1 / sqrt(768) and mean .02, by
// tests/passes/fuse_norm_accuracy_test.cpp, which forms sums as the kernels do:
//
//   mean / deviation of x      0 / 1     10 / 1    100 / 1   100 / .1
//   f32, norms vanished        5.3e-7    2.8e-6    2.9e-5    3.5e-4
//   f32, norms apart           4.4e-7    3.6e-6    3.3e-5    3.6e-4
//   f32, apart, mean 0 in W              4.7e-7
//   f16, norms vanished                  3.1e-4    2.9e-4    5.3e-4
//   f16, norms apart                     3.1e-4    3.1e-4    4.5e-4
//
// So f32 loses about 3e-7 for each unit of mean / deviation. A norm apart, which rounds the mean
// once, loses as much where the columns of W have means like these, and a sixth of it where they
// have none: the price of a vanished norm, which does not depend on W. Up to a ratio of 1 neither
// loses anything. Rows of equal elements yield exactly v (moments_rstd is 0). Rounding W' replaces
// the rounding of y. Under --tf32 the tensor cores round x and W', not y, to eleven digits: 3e-4
// for each unit, where a norm apart loses 3e-4 whatever the mean. folded_weight.h refuses where
// gamma drives weights out of their type's range. A module whose weights are to be exchanged later
// (ir/refit.h) keeps its norms apart: W' would have to be computed again.
#include "ir/refit.h"
#include "passes/dead_ops.h"
#include "passes/fuse/columnwise_group.h"
#include "passes/fuse/folded_weight.h"
#include "passes/passes.h"
#include "passes/remark.h"
#include "passes/view_shape.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSENORM
#include "passes/passes.h.inc"

namespace {

Dim lastDim(Value value) {
  TensorType type = tensorType(value);
  return type.getDim(type.getRank() - 1);
}

/// Moments are computed of elements of its type.
bool hasMoments(Value value) {
  Type element = tensorType(value).getElementType();
  return element.isF32() || element.isF16() || element.isBF16();
}

/// Rows that the plan's kernels leave whole: where a norm's statistics can be stored and read.
class WholeRows {
public:
  explicit WholeRows(func::FuncOp function) : plan(function) {
    for (const GemmKernel &kernel : plan.kernels())
      if (keepsRows(kernel)) {
        whole.insert(&kernel);
        insertEnds(kernel.group);
      }
    for (ColumnwiseKernel &kernel : planColumnwise(function, plan))
      if (kernel.keepsRows() && hasMoments(kernel.reduction.getInput()))
        insertEnds(kernel.group);
  }

  /// A kernel whose rows are those of `value` ends at it.
  bool endsAt(Value value) const { return ends.contains(value); }
  /// `op` is in the epilogue of a kernel whose rows are those of its result.
  bool isEpilogue(Operation *op) const {
    return !isa<MatmulOp>(op) && whole.contains(plan.kernelOf(op));
  }
  bool isProduct(Operation *op) const { return isa<MatmulOp>(op) && plan.kernelOf(op); }

private:
  void insertEnds(const FusionGroup &group) {
    for (Value end : group.liveOuts())
      ends.insert(end);
  }

  /// Reshapes must leave rows whole, or the kernel's rows are not those of its result.
  static bool keepsRows(const GemmKernel &kernel) {
    MatmulOp matmul = kernel.products.front();
    return tensorType(matmul.getRhs()).getRank() == 2 &&
           llvm::all_of(kernel.group.ops(), [&](Operation *op) {
             return !isa<ReshapeOp>(op) ||
                    (tensorType(op->getResult(0)).getRank() > 0 &&
                     lastDim(op->getResult(0)) == lastDim(matmul.getOutput()));
           });
  }

  GemmPlan plan;
  llvm::DenseSet<const GemmKernel *> whole;
  llvm::DenseSet<Value> ends;
};

/// `use` is the left operand of a product with weights, a matrix of as many rows as the norm has
/// columns.
bool isProductWithWeights(OpOperand &use, const WholeRows &kernels) {
  auto matmul = dyn_cast<MatmulOp>(use.getOwner());
  return matmul && kernels.isProduct(matmul) && use.getOperandNumber() == 0 &&
         tensorType(matmul.getRhs()).getRank() == 2 && isWeightExpression(matmul.getRhs()) &&
         matmul.getLhs() != matmul.getRhs();
}

/// Whatever is computed of the weights in `value` is an operand of products.
bool feedsProductsOnly(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<MatmulOp>(user) ||
           (isWeightExpression(user->getResult(0)) && feedsProductsOnly(user->getResult(0)));
  });
}

/// A scaled copy of the weights behind `value` replaces them. (The table of a tied language model
/// head is an embedding too: it would be kept twice, for far more than what a norm costs.)
bool isReplacedByCopy(Value value) {
  Operation *op = value.getDefiningOp();
  return isa<ConstantOp>(op) || (isa<WeightOp>(op) && feedsProductsOnly(value)) ||
         (!isa<WeightOp>(op) && llvm::all_of(op->getOperands(), isReplacedByCopy));
}

/// `use` is read element by element in an epilogue.
bool isEpilogueRead(OpOperand &use, const WholeRows &kernels) {
  Operation *op = use.getOwner();
  return op->hasTrait<Elementwise>() && kernels.isEpilogue(op) &&
         tensorType(op->getResult(0)).getShape() == tensorType(use.get()).getShape();
}

/// A norm's scale or bias has one constant value a column.
bool fitsColumns(Value operand, int64_t columns) {
  return !operand ||
         (isWeightExpression(operand) && tensorType(operand).getNumElements().isConstant(columns));
}

/// The predicate that keeps a norm a kernel of its own; empty where none does.
StringRef findObstacle(Normalization norm, const WholeRows &kernels) {
  TensorType type = tensorType(norm.getNormalized());
  std::optional<int64_t> columns;
  if (type.getRank() >= 2 && norm.getFirstReducedAxis() == static_cast<int64_t>(type.getRank()) - 1)
    columns = type.getDim(type.getRank() - 1).asConstant();
  if (!columns || *columns == 0 || *columns % RowMomentsOp::kGroup != 0)
    return "normalises one axis, of a constant multiple of 32";
  if (!hasMoments(norm.getNormalized()))
    return "element type is f16, bf16 or f32";
  if (!kernels.endsAt(norm.getNormalized()))
    return "input is where the kernel of a product or of a reduction of columns ends";
  if (!fitsColumns(norm.getScale(), *columns) || !fitsColumns(norm.getBias(), *columns))
    return "scale and bias are constants, one value a column";
  for (OpOperand &use : norm->getResult(0).getUses())
    if (!isProductWithWeights(use, kernels) && !isEpilogueRead(use, kernels))
      return "all readers are products with weights or epilogues";
  for (Operation *user : norm->getResult(0).getUsers())
    if (auto matmul = dyn_cast<MatmulOp>(user); matmul && !isReplacedByCopy(matmul.getRhs()))
      return "only products read the weights";
  return "";
}

/// Rewrites one norm and its readers.
class NormFusion {
public:
  NormFusion(Normalization norm, Value moments)
      : norm(norm), moments(moments), builder(norm), location(norm->getLoc()),
        element(tensorType(norm.getNormalized()).getElementType()),
        scale(inF32(flat(norm.getScale()))), bias(inF32(flat(norm.getBias()))) {}

  void run() {
    SmallVector<MatmulOp> products;
    llvm::MapVector<Operation *, SmallVector<OpOperand *>> reads;
    for (OpOperand &use : norm->getResult(0).getUses())
      if (auto matmul = dyn_cast<MatmulOp>(use.getOwner()))
        products.push_back(matmul);
      else
        reads[use.getOwner()].push_back(&use);
    for (auto &[op, uses] : reads) {
      Value normalized = normalize();
      for (OpOperand *use : uses)
        use->set(normalized);
    }
    for (MatmulOp matmul : products)
      rewrite(matmul);
    norm->erase();
  }

private:
  template <typename Op, typename... Operands> Value create(Operands... operands) {
    return Op::create(builder, location, operands...);
  }

  Value inF32(Value value) {
    if (!value || tensorType(value).getElementType().isF32())
      return value;
    return create<CastOp>(value, Type(builder.getF32Type()));
  }

  /// A cast that ends what is computed in f32.
  Value inElementType(Value value) { return inType(value, element); }
  Value inType(Value value, Type type) {
    return type.isF32() ? value : create<CastOp>(value, type);
  }

  /// One value a column, rank 1.
  Value flat(Value value) {
    return value ? reshapeTo(builder, location, value, tensorType(value).getNumElements()) : value;
  }

  Value inverseSpread() {
    FloatAttr epsilon = builder.getFloatAttr(builder.getF32Type(), norm.getEpsilon());
    return norm.isCentered() ? create<MomentsRstdOp>(moments, epsilon)
                             : create<MomentsRrmsOp>(moments, epsilon);
  }

  /// y itself, as an epilogue computes it from x.
  Value normalize() {
    Value value = inF32(norm.getNormalized());
    if (norm.isCentered())
      value = create<SubOp>(value, create<MomentsMeanOp>(moments));
    value = create<MulOp>(value, inverseSpread());
    if (scale)
      value = create<MulOp>(value, scale);
    if (bias)
      value = create<AddOp>(value, bias);
    return inElementType(value);
  }

  /// gamma o W, its columns centered where the norm is, rounded to the type of W.
  Value foldScale(Value weight) {
    if (!scale && !norm.isCentered())
      return weight;
    Value folded = inF32(weight);
    if (scale) {
      Dim one = Dim::constant(builder.getContext(), 1);
      folded = create<MulOp>(
          folded, reshapeTo(builder, location, scale, {tensorType(weight).getDim(0), one}));
    }
    if (norm.isCentered())
      folded = create<SubOp>(folded, reduceColumns(folded, ReductionKind::mean));
    return inElementType(folded);
  }

  Value reduceColumns(Value weight, ReductionKind kind) {
    return create<ReduceOp>(inF32(weight), kind, ArrayRef<int64_t>{0});
  }

  /// beta W + b; null where there is neither.
  Value foldBias(Value weight, Value addend) {
    Value shift;
    if (bias) {
      Dim one = Dim::constant(builder.getContext(), 1);
      Value row = reshapeTo(builder, location, bias, {one, tensorType(weight).getDim(0)});
      shift = create<MatmulOp>(row, inF32(weight));
    }
    if (!addend)
      return shift;
    addend = inF32(flat(addend));
    return shift ? create<AddOp>(shift, addend) : addend;
  }

  void rewrite(MatmulOp matmul) {
    AddOp add = findBiasAdd(matmul);
    Value addend = add ? otherOperand(add, matmul.getOutput()) : Value();
    Operation *replaced = add ? add.getOperation() : matmul.getOperation();
    builder.setInsertionPoint(replaced);
    location = builder.getFusedLoc({norm->getLoc(), matmul.getLoc(), replaced->getLoc()});
    Value weight = matmul.getRhs(), folded = foldScale(weight);
    TensorType type = tensorType(matmul.getOutput()).withElementType(builder.getF32Type());
    Value value = MatmulOp::create(builder, location, type, norm.getNormalized(), folded);
    if (norm.isCentered())
      value = create<SubOp>(value, create<MulOp>(create<MomentsMeanOp>(moments),
                                                 reduceColumns(folded, ReductionKind::sum)));
    value = create<MulOp>(value, inverseSpread());
    if (Value shift = foldBias(weight, addend))
      value = create<AddOp>(value, shift);
    Type result =
        tensorType(replaced->getResult(0)).getElementType(); // the norm's, or f32: sums as they are
    replaced->getResult(0).replaceAllUsesWith(inType(value, result));
    if (add)
      add.erase();
    matmul.erase();
  }

  static Value otherOperand(AddOp add, Value operand) {
    return add.getLhs() == operand ? add.getRhs() : add.getLhs();
  }

  /// The sum with a constant bias that alone reads the product.
  static AddOp findBiasAdd(MatmulOp matmul) {
    auto add = matmul->hasOneUse() ? dyn_cast<AddOp>(*matmul->user_begin()) : AddOp();
    if (!add || add.getOutput().getType() != matmul.getOutput().getType())
      return {};
    Value addend = otherOperand(add, matmul.getOutput());
    TensorType type = tensorType(addend);
    Dim columns = lastDim(matmul.getOutput());
    bool isRow = type.getRank() > 0 && lastDim(addend) == columns &&
                 type.getNumElements() == columns && isWeightExpression(addend);
    return isRow ? add : AddOp();
  }

  Normalization norm;
  Value moments;
  OpBuilder builder;
  Location location;
  Type element;
  Value scale, bias; // in f32, rank 1
};

/// Has a reshape between the norm and products that leaves rows whole stand before it, in the kernel that
/// ends at the norm's input. Products of one image have no axis of images.
void moveReshapeBefore(Normalization norm) {
  Value input = norm.getNormalized();
  auto reshape = norm->hasOneUse() ? dyn_cast<ReshapeOp>(*norm->user_begin()) : ReshapeOp();
  int64_t rank = tensorType(input).getRank();
  if (!reshape || !input.hasOneUse() || norm.getFirstReducedAxis() != rank - 1)
    return;
  Value rows = reshape.getOutput();
  int64_t newRank = tensorType(rows).getRank();
  if (newRank == 0 || lastDim(rows) != lastDim(input) ||
      !llvm::any_of(rows.getUsers(), llvm::IsaPred<MatmulOp>))
    return;
  OpBuilder builder(norm);
  Value moved = ReshapeOp::create(builder, reshape.getLoc(), rows.getType(), input);
  norm->replaceUsesOfWith(input, moved);
  norm->setAttr("axis", builder.getI64IntegerAttr(newRank - 1));
  norm->getResult(0).setType(cast<TensorType>(rows.getType()));
  rows.replaceAllUsesWith(norm->getResult(0));
  reshape.erase();
}

struct FuseNorm : impl::FuseNormBase<FuseNorm> {
  FuseNorm() = default;
  explicit FuseNorm(WeightStore *weights) : weights(weights) {}

  void runOnOperation() override {
    Remarks remarks(getOperation());
    eraseDeadOps(getOperation()); // as fuse-gemm will
    for (auto function : getOperation().getOps<func::FuncOp>())
      fuse(function, remarks);
  }

private:
  static void moveReshapes(func::FuncOp function) {
    WholeRows kernels(function);
    for (Operation &op : function.getBody().front())
      if (auto norm = dyn_cast<Normalization>(op);
          norm && isFree(&op) && kernels.endsAt(norm.getNormalized()))
        moveReshapeBefore(norm);
  }

  void fuse(func::FuncOp function, Remarks &remarks) {
    moveReshapes(function);
    WholeRows kernels(function);
    FoldedWeights folded(weights);
    SmallVector<Operation *> norms;
    for (Operation &op : function.getBody().front()) {
      auto norm = dyn_cast<Normalization>(op);
      if (!norm || !isFree(&op))
        continue;
      StringRef obstacle = findObstacle(norm, kernels);
      if (obstacle.empty() && foldsWeights(norm) && getOperation()->hasAttr(kRefit))
        obstacle = "weights are not to be exchanged later (--refit)";
      if (obstacle.empty() && !foldsExactly(norm, folded))
        obstacle = "the scaled weights keep their digits";
      if (obstacle.empty())
        norms.push_back(&op);
      else
        remarks.refused(op.getLoc(), "row_moments", obstacle, "the norm is a kernel of its own");
    }
    // Rewriting starts once all norms were looked at: it changes the ops that the kernels know.
    llvm::DenseMap<Value, Value> momentsOf;
    for (Operation *op : norms) {
      auto norm = cast<Normalization>(op);
      remarks.taken(op->getLoc(), "row_moments", "the kernels around the norm compute it");
      Value &moments = momentsOf[norm.getNormalized()];
      if (!moments) {
        OpBuilder builder(op);
        moments = RowMomentsOp::create(builder, op->getLoc(), norm.getNormalized());
      }
      NormFusion(norm, moments).run();
    }
  }

  static bool foldsWeights(Normalization norm) {
    return norm.getScale() || norm.getBias() || norm.isCentered();
  }

  static bool foldsExactly(Normalization norm, FoldedWeights &folded) {
    bool isFolded = norm.getScale() || norm.isCentered();
    return !isFolded || llvm::all_of(norm->getResult(0).getUsers(), [&](Operation *user) {
      auto matmul = dyn_cast<MatmulOp>(user);
      return !matmul || folded.keepDigits(norm.getScale(), matmul.getRhs());
    });
  }

  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass> createFuseNorm(WeightStore *weights) {
  return std::make_unique<FuseNorm>(weights);
}

} // namespace smelt::passes
