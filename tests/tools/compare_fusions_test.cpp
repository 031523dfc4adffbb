// tools/smelt/compare_fusions: of a device that computes one fusion wrong, that one is found, and no other that only reads what it
// left; of the tensors that differ the first is what it leaves. The interpreter stands in for the device.
#include "tools/smelt/compare_fusions.h"

#include "ir/interpret/interpret.h"
#include "tools/smelt/compare_tensors.h"
#include "tools/smelt/inputs.h"
#include "tools/smelt/interpreter_array.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace smelt;
using namespace smelt::tools;

namespace {

std::unique_ptr<Model> fusedDemo() {
  ModelOptions options;
  options.path = SMELT_DEMO_MODEL;
  auto model = Model::import(options);
  EXPECT_TRUE(model.isOk() && (*model)->fuse({}).isOk());
  return std::move(*model);
}

/// @main op by op in float32; the outputs of fusion `wrong` are twice what they should be.
std::vector<Array> runWithOneWrong(Model &fused, const std::vector<Array> &inputs, size_t wrong) {
  auto main = fused.module().lookupSymbol<mlir::func::FuncOp>("main");
  EvaluateOptions options{Precision::f32, &fused.weights(), 1};
  KnownValues values;
  llvm::SmallVector<Shape> shapes;
  for (unsigned i = 0; i < inputs.size(); ++i) {
    values[main.getArgument(i)] =
        *toInterpreter(inputs[i], main.getArgumentTypes()[i], Precision::f32);
    shapes.emplace_back(inputs[i].shape.begin(), inputs[i].shape.end());
  }
  Symbols symbols = *solveSymbols(main, shapes);
  size_t fusion = 0;
  for (mlir::Operation &op : main.getBody().front().without_terminator()) {
    llvm::SmallVector<HostTensor> operands;
    for (mlir::Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    auto results = *evaluate(&op, operands, symbols, options);
    bool isWrong = mlir::isa<FusionOp>(op) && fusion++ == wrong;
    for (auto [value, result] : llvm::zip(op.getResults(), results)) {
      Array array = toArray(result, ElementType::f32);
      for (size_t i = 0; isWrong && i < array.elementCount(); ++i)
        array.set(i, 2 * array.at(i));
      values[value] = isWrong ? *toInterpreter(array, value.getType(), Precision::f32) : result;
    }
  }
  std::vector<Array> outputs;
  for (mlir::Value output : main.getBody().front().getTerminator()->getOperands())
    outputs.push_back(toArray(values.lookup(output), ElementType::f32));
  return outputs;
}

std::set<size_t> fusionsThatDiffer(size_t wrong, const Tolerances &tolerances = {}) {
  std::unique_ptr<Model> model = fusedDemo();
  auto inputs = makeInputs(model->signature(), {});
  auto seen =
      FusedRun::make(*model, inputs->inputs, [&](Model &fused, const std::vector<Array> &given) {
        return Result<std::vector<Array>>(runWithOneWrong(fused, given, wrong));
      });
  EXPECT_TRUE(seen.isOk());
  auto errors = compareFusions(*seen, tolerances);
  EXPECT_TRUE(errors.isOk() && errors->size() > 10);
  std::set<size_t> differ;
  for (const FusionError &error : *errors)
    if (!error.agrees())
      differ.insert(error.index);
  return differ;
}

TEST(CompareFusions, FindsTheWrongOneAndNoOther) {
  EXPECT_EQ(fusionsThatDiffer(SIZE_MAX), std::set<size_t>());
  for (size_t wrong : {0, 4, 11})
    EXPECT_EQ(fusionsThatDiffer(wrong), std::set<size_t>{wrong});
}

TEST(CompareTensors, TheFirstThatDiffersIsWhatTheWrongFusionLeaves) {
  for (size_t wrong : {3, 10}) {
    std::unique_ptr<Model> model = fusedDemo();
    auto inputs = makeInputs(model->signature(), {});
    auto seen = FusedRun::make(*model, inputs->inputs, [&](Model &fused, const auto &given) {
      return Result<std::vector<Array>>(runWithOneWrong(fused, given, wrong));
    });
    ModelFlags flags;
    flags.path = SMELT_DEMO_MODEL;
    auto errors = compareTensors(flags, *seen, inputs->inputs, {});
    ASSERT_TRUE(errors.isOk()) << errors.status().message();
    auto first = std::ranges::find_if(errors->tensors,
                                      [](const TensorError &tensor) { return !tensor.agrees(); });
    ASSERT_NE(first, errors->tensors.end());
    EXPECT_EQ(first->kernel, wrong);
    EXPECT_FALSE(first->isInside);
    EXPECT_NEAR(first->error.relativeNorm, 1, 1e-3); // twice what it should be
  }
}

TEST(CompareFusions, HoldsThemToTheBoundThatIsGiven) {
  Tolerances exact, loose;
  exact.given = 0;
  loose.given = 2;
  EXPECT_GT(fusionsThatDiffer(SIZE_MAX, exact).size(), 5u);
  EXPECT_EQ(fusionsThatDiffer(4, loose), std::set<size_t>());
}

} // namespace
