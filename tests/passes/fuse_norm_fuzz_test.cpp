// Random stacks of products, depthwise convolutions, norms, residuals and reshapes: what fuse-norm
// rewrites, fuse-gemm and fuse-columnwise take whole, and the fused program computes what the program
// computed. Each seed is one program; a failure names the seed and prints the program.
#include "tests/passes/equivalence.h"

#include "ir/interpret/random.h"
#include "passes/passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

using namespace mlir;

/// Grows one function by random ops, mostly on recent values. All values have rows of 32 or 64
/// columns.
class NormGenerator {
public:
  NormGenerator(MLIRContext &context, uint64_t seed)
      : random(seed), context(context), builder(&context), element(builder.getF32Type()) {}

  OwningOpRef<ModuleOp> generate(int steps) {
    auto module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module.getBody());
    Dim b = Dim::symbol(&context, "b"), s = Dim::symbol(&context, "s");
    SmallVector<Type> arguments{smelt::TensorType::get({b, s, number(64)}, element),
                                smelt::TensorType::get({b, s, number(32)}, element)};
    auto function = func::FuncOp::create(builder, builder.getUnknownLoc(), "main",
                                         builder.getFunctionType(arguments, {}));
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    values.assign(block->args_begin(), block->args_end());
    for (int step = 0; step < steps; ++step) {
      values.push_back(grow(recent()));
      // As in models, products read norms.
      if (isa_and_nonnull<LayerNormOp, RmsNormOp>(values.back().getDefiningOp()) && below(4))
        values.push_back(product(values.back()));
    }
    SmallVector<Value> results(ArrayRef<Value>(values).take_back(1 + below(2)));
    func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
    function.setType(builder.getFunctionType(arguments, TypeRange(ValueRange(results))));
    return module;
  }

private:
  int64_t below(int64_t bound) { return random.integer(0, bound); }
  Dim number(int64_t value) { return Dim::constant(&context, value); }
  Location location() { return builder.getUnknownLoc(); }
  int64_t columnsOf(Value value) { return *tensorType(value).getShape().back().asConstant(); }

  Value recent() {
    int64_t distance = std::min<int64_t>(below(4) * below(3), values.size() - 1);
    return values[values.size() - 1 - distance];
  }

  Value weight(ArrayRef<int64_t> shape) {
    SmallVector<Dim> dims = llvm::map_to_vector(shape, [&](int64_t size) { return number(size); });
    // Few names: some weights have several readers.
    std::string name = "w" + std::to_string(below(12));
    for (int64_t size : shape)
      name += "_" + std::to_string(size);
    Value &known = weights[name];
    if (!known) {
      int64_t bytes = sizeof(float);
      for (int64_t size : shape)
        bytes *= size;
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(builder.getBlock());
      known = WeightOp::create(builder, location(), smelt::TensorType::get(dims, element), name,
                               SourceAttr::get(&context, "missing.bin", 0, bytes, ""));
    }
    return known;
  }

  Value optionalRow(Value value) { return below(3) ? weight({columnsOf(value)}) : Value(); }

  Value product(Value value) {
    return MatmulOp::create(builder, location(), value,
                            weight({columnsOf(value), below(4) ? columnsOf(value) : 32}));
  }

  Value grow(Value value) {
    auto axis = builder.getI64IntegerAttr(tensorType(value).getRank() - 1);
    auto epsilon = builder.getF32FloatAttr(1e-3f);
    switch (below(12)) {
    case 0:
    case 1:
    case 2:
      return product(value);
    case 3:
      return AddOp::create(builder, location(), value, weight({columnsOf(value)}));
    case 4:
    case 5:
      return LayerNormOp::create(builder, location(), value, optionalRow(value), optionalRow(value),
                                 axis, epsilon);
    case 6:
      return RmsNormOp::create(builder, location(), value, optionalRow(value), axis, epsilon);
    case 7:
      return GeluOp::create(builder, location(), value.getType(), value, nullptr);
    case 8:
      return reshape(value);
    case 9:
    case 10:
      return depthwise(value);
    default:
      return residual(value);
    }
  }

  /// A filter of three taps a column over the rows, which come again and again.
  Value depthwise(Value value) {
    SmallVector<Dim> shape = tensorType(value).getShape(), windows = shape;
    int64_t axis = shape.size() - 2;
    Value image = ConcatOp::create(builder, location(), ValueRange{value, value, value}, axis);
    windows.insert(windows.end() - 1, number(3));
    Value taps = WindowsOp::create(builder, location(), smelt::TensorType::get(windows, element),
                                   image, axis, 1, 1);
    taps = MulOp::create(builder, location(), taps, weight({3, columnsOf(value)}));
    Value sum = ReduceOp::create(builder, location(), taps, ReductionKind::sum,
                                 ArrayRef<int64_t>{axis + 1});
    return ReshapeOp::create(builder, location(), value.getType(), sum);
  }

  /// A sum with an earlier value of the same type.
  Value residual(Value value) {
    SmallVector<Value> candidates = llvm::filter_to_vector(
        values, [&](Value other) { return other.getType() == value.getType(); });
    return AddOp::create(builder, location(), value, candidates[below(candidates.size())]);
  }

  /// Rows merged or told apart, kept whole or broken.
  Value reshape(Value value) {
    Dim b = Dim::symbol(&context, "b");
    SmallVector<Dim> shape = tensorType(value).getShape();
    Dim columns = shape.back();
    if (below(4) == 0 && columns.isConstant(64))
      shape.back() = number(32), shape[shape.size() - 2] = shape[shape.size() - 2] * 2;
    else if (shape.size() == 2)
      shape = {b, shape[0].exactDiv(b).value_or(shape[0]), columns};
    else
      shape = {shape[0] * shape[1], columns};
    auto type = smelt::TensorType::get(shape, element);
    return type.getNumElements() == tensorType(value).getNumElements()
               ? ReshapeOp::create(builder, location(), type, value).getOutput()
               : value;
  }

  Random random;
  MLIRContext &context;
  OpBuilder builder;
  Type element;
  SmallVector<Value> values;
  llvm::StringMap<Value> weights;
};

void addFuse(PassManager &manager) {
  manager.addPass(passes::createFuseHorizontal());
  manager.addPass(passes::createFuseNorm(nullptr));
  manager.addPass(passes::createFuseGemm());
  manager.addPass(passes::createFuseColumnwise());
  manager.addPass(passes::createFuseRowwise());
  manager.addPass(passes::createFuseGeneric());
  manager.addPass(passes::createFusePointwise());
  manager.nest<func::FuncOp>().addPass(passes::createLower());
}

TEST(FuseNormFuzz, KeepsValues) {
  constexpr uint64_t kPrograms = 2000;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<SmeltDialect, func::FuncDialect>();
  int moments = 0, momentsOfColumns = 0, readers = 0, norms = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    OwningOpRef<ModuleOp> before =
        NormGenerator(context, seed).generate(static_cast<int>(4 + seed % 40));
    ASSERT_TRUE(succeeded(verify(*before))) << "seed " << seed;
    OwningOpRef<ModuleOp> after = before->clone();
    PassManager manager(&context);
    addFuse(manager);
    ASSERT_TRUE(succeeded(manager.run(*after))) << "seed " << seed << '\n' << textOf(*before);
    after->walk([&](Operation *op) {
      norms += isa<LayerNormOp, RmsNormOp>(op);
      bool isStatistic = isa<MomentsMeanOp, MomentsRstdOp, MomentsRrmsOp>(op);
      moments += isa<RowMomentsOp>(op);
      readers += isStatistic;
      if (!isStatistic && !isa<RowMomentsOp>(op))
        return;
      auto fusion = dyn_cast<FusionOp>(op->getParentOp());
      bool ofColumns = fusion && fusion.getKind() == FusionKind::columnwise && !isStatistic;
      momentsOfColumns += ofColumns;
      EXPECT_TRUE(ofColumns || (fusion && fusion.getKind() == FusionKind::gemm))
          << "seed " << seed << '\n'
          << textOf(*after);
    });
    ASSERT_TRUE(keepsValues(*before, *after, SizeChoice{2, 1}, seed));
  }
  EXPECT_GT(moments, 500);
  EXPECT_GT(momentsOfColumns, 100);
  EXPECT_GT(readers, moments);
  EXPECT_GT(norms, 500);
}

} // namespace
} // namespace smelt
