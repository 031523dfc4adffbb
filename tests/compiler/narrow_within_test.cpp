// compiler/narrow_within: the bound holds, a tighter one keeps more in float32, and what cannot be is
// said.
#include "compiler/model.h"
#include "compiler/narrow_within.h"
#include "ir/interpret/interpret.h"
#include "tests/compiler/demo_model.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

#include <random>

using namespace smelt;
using namespace smelt::compiler;

namespace {

/// Random inputs of the demo model for `rows` images.
std::vector<HostTensor> drawInputs(Model &model, int64_t rows, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<HostTensor> inputs;
  auto main = model.module().lookupSymbol<mlir::func::FuncOp>("main");
  for (mlir::Type type : main.getArgumentTypes()) {
    llvm::SmallVector<int64_t> shape;
    int64_t count = 1;
    for (Dim dim : mlir::cast<smelt::TensorType>(type).getShape())
      count *= shape.emplace_back(dim.asConstant().value_or(rows));
    std::vector<float> values(static_cast<size_t>(count));
    for (float &value : values)
      value = normal(generator);
    inputs.push_back(HostTensor::fromValues<float>(
        shape, mlir::cast<smelt::TensorType>(type).getElementType(), values));
  }
  return inputs;
}

struct Narrowed {
  std::unique_ptr<Model> model;
  NarrowingReport report;
  Status status;
};

Narrowed narrowDemo(FloatPrecision to, std::optional<double> within) {
  Narrowed result{demoModel(), {}, {}};
  FuseOptions options;
  options.narrowing.to = to;
  options.narrowing.within = within;
  options.narrowing.calibration = {drawInputs(*result.model, 1, 1),
                                   drawInputs(*result.model, 3, 2)};
  options.narrowing.onMeasured = [&](const NarrowingReport &report) { result.report = report; };
  result.status = result.model->fuse(options);
  return result;
}

/// Relative norm of the first output's error against the imported model, on inputs of its own.
double errorOf(Model &narrowed) {
  std::unique_ptr<Model> reference = demoModel();
  std::vector<HostTensor> inputs = drawInputs(*reference, 3, 2);
  auto expected = *Interpreter(reference->module(), reference->weights()).run(inputs);
  for (HostTensor &input : inputs) // types belong to the context of a model
    input = HostTensor::fromValues<float>(input.getShape(),
                                          mlir::Float32Type::get(narrowed.module().getContext()),
                                          input.values<float>());
  InterpretOptions stored;
  stored.roundStored = true;
  auto actual = *Interpreter(narrowed.module(), narrowed.weights(), stored).run(inputs);
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < expected[0].getNumElements(); ++i) {
    difference += std::pow(actual[0].getDouble(i) - expected[0].getDouble(i), 2);
    norm += std::pow(expected[0].getDouble(i), 2);
  }
  return std::sqrt(difference / norm);
}

bool mentions(Model &model, const char *type) {
  return moduleText(model.module()).find(type) != std::string::npos;
}

TEST(NarrowWithin, WithoutABoundTheRulesDecide) {
  for (auto [to, type, limit] : {std::tuple(FloatPrecision::fp16, ", f16>", 3e-3),
                                 {FloatPrecision::bf16, ", bf16>", 3e-2}}) {
    Narrowed narrowed = narrowDemo(to, std::nullopt);
    ASSERT_TRUE(narrowed.status.isOk()) << narrowed.status.message();
    EXPECT_TRUE(mentions(*narrowed.model, type));
    double error = errorOf(*narrowed.model);
    EXPECT_GT(error, 0);
    EXPECT_LT(error, limit);
  }
}

TEST(NarrowWithin, TighterBoundsKeepMore) {
  size_t keptBefore = 0;
  double loose = errorOf(*narrowDemo(FloatPrecision::bf16, std::nullopt).model);
  for (double share : {0.8, 0.4, 0.02}) {
    Narrowed narrowed = narrowDemo(FloatPrecision::bf16, loose * share);
    ASSERT_TRUE(narrowed.status.isOk()) << narrowed.status.message();
    EXPECT_LE(narrowed.report.error, loose * share);
    EXPECT_LE(errorOf(*narrowed.model), loose * share);
    EXPECT_GE(narrowed.report.wide.size(), keptBefore);
    EXPECT_GT(narrowed.report.wide.size(), 0u);
    keptBefore = narrowed.report.wide.size();
    for (size_t i = 1; i < narrowed.report.wide.size(); ++i)
      EXPECT_GE(narrowed.report.wide[i - 1].error, narrowed.report.wide[i].error);
    EXPECT_FALSE(mentions(*narrowed.model, "keep_wide"));
  }
}

TEST(NarrowWithin, ALooseBoundKeepsNothing) {
  Narrowed narrowed = narrowDemo(FloatPrecision::fp16, 1.0);
  ASSERT_TRUE(narrowed.status.isOk()) << narrowed.status.message();
  EXPECT_TRUE(narrowed.report.wide.empty());
  EXPECT_GT(narrowed.report.narrow, 0u);
  EXPECT_LE(narrowed.report.error, 3e-3);
}

TEST(NarrowWithin, WhatFloat32CannotKeepIsSaid) {
  Narrowed narrowed = narrowDemo(FloatPrecision::fp16, 0.0);
  EXPECT_EQ(narrowed.status.code(), StatusCode::kAccuracy);
  EXPECT_NE(narrowed.status.message().find("give a larger bound"), std::string::npos);
}

TEST(NarrowWithin, CalibrationOfAnotherShapeIsTheCallersMistake) {
  std::unique_ptr<Model> model = demoModel();
  FuseOptions options;
  options.narrowing.to = FloatPrecision::fp16;
  options.narrowing.within = 1e-2;
  auto float32 = mlir::Float32Type::get(model->module().getContext());
  options.narrowing.calibration = {{HostTensor::fromValues<float>({2}, float32, {1.0f, 2.0f})}};
  EXPECT_EQ(model->fuse(options).code(), StatusCode::kUsage);
}

TEST(NarrowWithin, StopsWhereAsked) {
  std::unique_ptr<Model> model = demoModel();
  FuseOptions options;
  options.narrowing.to = FloatPrecision::fp16;
  options.narrowing.within = 1e-2;
  options.narrowing.calibration = {drawInputs(*model, 1, 1)};
  options.progress = [](const Progress &progress) { return progress.phase != "narrow"; };
  EXPECT_EQ(model->fuse(options).code(), StatusCode::kResources);
}

} // namespace
