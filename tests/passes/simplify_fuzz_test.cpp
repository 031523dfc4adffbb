// Random programs of views, elementwise ops, products and row-wise ops compute after simplify what
// they computed before. Each seed is one program; a failure names the seed and prints the program.
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

/// Grows one function by random ops on random earlier values.
class Generator {
public:
  Generator(MLIRContext &context, uint64_t seed)
      : random(seed), context(context), builder(&context) {}

  OwningOpRef<ModuleOp> generate(int steps) {
    auto module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module.getBody());
    Dim b = Dim::symbol(&context, "b"), s = Dim::symbol(&context, "s");
    Type f64 = builder.getF64Type();
    SmallVector<Type> arguments{
        TensorType::get({b, s, number(12)}, f64), TensorType::get({number(4), number(6)}, f64),
        TensorType::get({b, number(2), s, number(3)}, f64), TensorType::get({number(12)}, f64)};
    auto function = func::FuncOp::create(builder, builder.getUnknownLoc(), "main",
                                         builder.getFunctionType(arguments, {}));
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    values.assign(block->args_begin(), block->args_end());
    for (int step = 0; step < steps; ++step)
      if (Value value = grow(pick(values)))
        values.push_back(value);
    SmallVector<Value> results(ArrayRef<Value>(values).take_back(3));
    func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
    function.setType(builder.getFunctionType(arguments, TypeRange(ValueRange(results))));
    return module;
  }

private:
  Value pick(ArrayRef<Value> from) { return from[random.integer(0, from.size())]; }
  int64_t below(int64_t bound) { return random.integer(0, bound); }
  Dim number(int64_t value) { return Dim::constant(&context, value); }
  Location location() { return builder.getUnknownLoc(); }
  SmallVector<Dim> shapeOf(Value value) { return tensorType(value).getShape(); }
  Value reshape(Value value, ArrayRef<Dim> shape) {
    return ReshapeOp::create(builder, location(), tensorType(value).withShape(shape), value);
  }

  Value grow(Value value) {
    switch (below(13)) {
    case 0:
      return unary(value);
    case 1:
      return withScalar(value);
    case 2:
      return withVector(value);
    case 3:
      return withSame(value);
    case 4:
    case 5:
      return mergeOrSplit(value);
    case 6:
      return unitAxis(value);
    case 7:
    case 8:
      return transpose(value);
    case 9:
      return slice(value);
    case 10:
      return expand(value);
    case 11:
      return concat(value);
    default:
      return contract(value);
    }
  }

  Value unary(Value value) {
    switch (below(4)) {
    case 0:
      return NegOp::create(builder, location(), value.getType(), value);
    case 1:
      return TanhOp::create(builder, location(), value.getType(), value);
    case 2:
      return AbsOp::create(builder, location(), value.getType(), value);
    default:
      return SigmoidOp::create(builder, location(), value.getType(), value);
    }
  }

  Value scalar(double number, bool oneAxis) {
    SmallVector<int64_t> shape(oneAxis ? 1 : 0, 1);
    auto type = RankedTensorType::get(shape, builder.getF64Type());
    return ConstantOp::create(builder, location(), DenseElementsAttr::get(type, APFloat(number)));
  }

  Value withScalar(Value value) {
    constexpr double kNumbers[] = {0, 1, 2, 0.5, -3, 0.3};
    Value constant = scalar(kNumbers[below(6)], below(2));
    bool first = below(3) == 0;
    if (tensorType(value).getRank() == 0 || first)
      return MulOp::create(builder, location(), constant, value);
    switch (below(4)) {
    case 0:
      return AddOp::create(builder, location(), value, constant);
    case 1:
      return SubOp::create(builder, location(), value, constant);
    case 2:
      return DivOp::create(builder, location(), value, scalar(4, false));
    default:
      return PowOp::create(builder, location(), value, scalar(2 + below(2), false));
    }
  }

  /// A slice of the vector argument that fits the last axis, or the transposed place of another
  /// axis.
  Value withVector(Value value) {
    SmallVector<Dim> shape = shapeOf(value);
    if (shape.empty())
      return {};
    unsigned axis = below(shape.size());
    std::optional<int64_t> size = shape[axis].asConstant();
    if (!size || *size > 12 || *size < 1)
      return {};
    Value vector = SliceOp::create(
        builder, location(), tensorType(values[3]).withShape({number(*size)}), values[3],
        builder.getArrayAttr({number(0).getAttribute()}), builder.getDenseI64ArrayAttr({1}));
    SmallVector<Dim> placed(shape.size() - axis, number(1));
    placed[0] = number(*size);
    return AddOp::create(builder, location(), value, reshape(vector, placed));
  }

  Value withSame(Value value) {
    SmallVector<Value> same;
    for (Value other : values)
      if (other.getType() == value.getType())
        same.push_back(other);
    Value other = pick(same);
    if (below(2))
      return AddOp::create(builder, location(), value, other);
    Value condition = LessOp::create(builder, location(), value, other);
    return SelectOp::create(builder, location(), condition, value, other);
  }

  Value mergeOrSplit(Value value) {
    SmallVector<Dim> shape = shapeOf(value);
    if (shape.empty())
      return {};
    unsigned axis = below(shape.size());
    if (below(2) && axis + 1 < shape.size()) {
      shape[axis] = shape[axis] * shape[axis + 1];
      shape.erase(shape.begin() + axis + 1);
      return reshape(value, shape);
    }
    int64_t factor = 2 + below(2);
    // Symbolic products split into their factors, constants into two.
    std::optional<Dim> rest = below(2) ? shape[axis].exactDiv(number(factor))
                                       : shape[axis].exactDiv(Dim::symbol(&context, "s"));
    if (!rest || shape.size() > 5)
      return {};
    Dim part = *shape[axis].exactDiv(*rest);
    shape[axis] = below(2) ? part : *rest;
    shape.insert(shape.begin() + axis + 1, shape[axis] == part ? *rest : part);
    return reshape(value, shape);
  }

  Value unitAxis(Value value) {
    SmallVector<Dim> shape = shapeOf(value);
    for (unsigned axis = 0; axis < shape.size() && below(2); ++axis)
      if (shape[axis].isConstant(1)) {
        shape.erase(shape.begin() + axis);
        return reshape(value, shape);
      }
    if (shape.size() > 5)
      return {};
    shape.insert(shape.begin() + below(shape.size() + 1), number(1));
    return reshape(value, shape);
  }

  Value transpose(Value value) {
    SmallVector<int64_t> permutation(
        llvm::to_vector(llvm::seq<int64_t>(tensorType(value).getRank())));
    for (size_t i = permutation.size(); i > 1; --i)
      std::swap(permutation[i - 1], permutation[below(i)]);
    return TransposeOp::create(builder, location(), value, permutation);
  }

  Value slice(Value value) {
    SmallVector<Dim> shape = shapeOf(value);
    SmallVector<Attribute> starts;
    SmallVector<int64_t> steps;
    for (Dim &size : shape) {
      std::optional<int64_t> length = size.asConstant();
      bool cut = length && *length > 1 && below(2);
      int64_t start = cut ? below(*length) : 0,
              step = cut && below(3) == 0 ? (below(2) ? 2 : -1) : 1;
      if (cut)
        size = number(step > 0 ? 1 + below((*length - start + step - 1) / step)
                               : 1 + below(start + 1));
      starts.push_back(number(start).getAttribute());
      steps.push_back(step);
    }
    return SliceOp::create(builder, location(), tensorType(value).withShape(shape), value,
                           builder.getArrayAttr(starts), builder.getDenseI64ArrayAttr(steps));
  }

  Value expand(Value value) {
    SmallVector<Dim> shape = shapeOf(value);
    if (shape.size() > 4)
      return {};
    for (Dim &size : shape)
      if (size.isConstant(1) && below(2))
        size = below(2) ? number(3) : Dim::symbol(&context, "s");
    if (below(2))
      shape.insert(shape.begin(), number(2));
    return ExpandOp::create(builder, location(), tensorType(value).withShape(shape), value);
  }

  Value concat(Value value) {
    SmallVector<Dim> shape = shapeOf(value);
    if (shape.empty())
      return {};
    int64_t axis = below(shape.size());
    Value whole = ConcatOp::create(builder, location(), ValueRange{value, value}, axis);
    if (below(2))
      return whole;
    SmallVector<Attribute> starts(shape.size(), number(0).getAttribute());
    starts[axis] = shape[axis].getAttribute();
    return SliceOp::create(builder, location(), value.getType(), whole,
                           builder.getArrayAttr(starts),
                           builder.getDenseI64ArrayAttr(SmallVector<int64_t>(shape.size(), 1)));
  }

  Value contract(Value value) {
    unsigned rank = tensorType(value).getRank();
    if (rank == 0)
      return {};
    if (rank == 1 || below(2))
      return SoftmaxOp::create(builder, location(), value.getType(), value,
                               builder.getI64IntegerAttr(rank - 1));
    if (rank == 2 && below(2) && shapeOf(value)[1].isConstant(6)) {
      SmallVector<int64_t> swap{1, 0};
      return MatmulOp::create(builder, location(), value,
                              TransposeOp::create(builder, location(), values[1], swap));
    }
    SmallVector<int64_t> swap(llvm::to_vector(llvm::seq<int64_t>(rank)));
    std::swap(swap[rank - 1], swap[rank - 2]);
    Value other = TransposeOp::create(builder, location(), value, swap);
    return MatmulOp::create(builder, location(), value, other);
  }

  Random random;
  MLIRContext &context;
  OpBuilder builder;
  SmallVector<Value> values;
};

TEST(SimplifyFuzz, KeepsValues) {
  constexpr uint64_t kPrograms = 400;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<SmeltDialect, func::FuncDialect>();
  WeightStore weights;
  int ran = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    OwningOpRef<ModuleOp> before =
        Generator(context, seed).generate(static_cast<int>(4 + seed % 24));
    ASSERT_TRUE(succeeded(verify(*before))) << "seed " << seed;
    OwningOpRef<ModuleOp> after = before->clone();
    PassManager manager(&context);
    manager.addPass(passes::createSimplifyShapes());
    manager.addPass(passes::createSimplifyCanonical());
    manager.addPass(passes::createSimplifyAffine());
    manager.addPass(passes::createSimplifyCanonical());
    // A warning says that rewrites undo each other.
    std::string said;
    ScopedDiagnosticHandler listen(&context, [&](Diagnostic &diagnostic) {
      said += diagnostic.str();
      return success();
    });
    ASSERT_TRUE(succeeded(manager.run(*after)) && said.empty()) << said << " seed " << seed << '\n'
                                                                << textOf(*before);
    for (SizeChoice sizes : {SizeChoice{2, 1}, SizeChoice{5, -4}}) {
      Comparison comparison =
          compareFunctions(*before->getOps<func::FuncOp>().begin(),
                           *after->getOps<func::FuncOp>().begin(), weights, sizes, seed);
      ran += comparison.ran;
      ASSERT_LE(comparison.error, 1e-10) << "seed " << seed << ", " << comparison.problem << '\n'
                                         << textOf(*before) << textOf(*after);
      ASSERT_TRUE(comparison.error > 0 || comparison.problem.empty())
          << "seed " << seed << ", " << comparison.problem << '\n'
          << textOf(*before) << textOf(*after);
    }
  }
  // Most programs can be interpreted; else the test would check nothing.
  EXPECT_GT(ran, static_cast<int>(kPrograms));
}

} // namespace
} // namespace smelt
