// Whole models compute after simplify and raise, and again in their fused form, what the importer's
// graph computes, with padded masks, a row of the batch without any visible token among them. The
// models are optional developer data (SMELT_MODELS).
#include "frontend/import.h"
#include "passes/pipeline.h"
#include "tests/passes/equivalence.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

struct Model {
  const char *name;
  double tolerance; // constants of the model are rounded to its type
};

void PrintTo(const Model &model, std::ostream *stream) { *stream << model.name; }

class ModelEquivalence : public testing::TestWithParam<Model> {};

TEST_P(ModelEquivalence, Holds) {
  std::string folder = GetParam().name == std::string("digits_vit") ? SMELT_DEMO : SMELT_MODELS;
  std::string path = folder + "/" + GetParam().name + ".onnx";
  if (!llvm::sys::fs::exists(path))
    GTEST_SKIP() << "needs " << path;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
  ImportOptions import;
  import.drawMissingWeights = true;
  mlir::FailureOr<ImportedModel> model = importModel(context, path, import);
  ASSERT_TRUE(mlir::succeeded(model));
  mlir::OwningOpRef<mlir::ModuleOp> raised;
  PipelineOptions options;
  options.weights = model->weights.get();
  options.afterPhase = [&](llvm::StringRef phase, mlir::ModuleOp module) {
    if (phase == "raise")
      raised = module.clone();
    return mlir::success();
  };
  mlir::OwningOpRef<mlir::ModuleOp> fused = model->module->clone();
  mlir::PassManager manager(&context);
  buildPipeline(manager, options);
  ASSERT_TRUE(mlir::succeeded(manager.run(*fused)));
  ASSERT_TRUE(raised);
  int attentions = 0;
  raised->walk([&](AttentionOp) { ++attentions; });
  EXPECT_GT(attentions, 0) << "nothing was raised";
  for (mlir::ModuleOp after : {*raised, *fused})
    for (uint64_t seed : {1, 2, 3}) {
      SCOPED_TRACE(after == *fused ? "fused" : "raised");
      Comparison comparison = compareFunctions(*model->module->getOps<mlir::func::FuncOp>().begin(),
                                               *after.getOps<mlir::func::FuncOp>().begin(),
                                               *model->weights, SizeChoice{3, 0}, seed);
      ASSERT_TRUE(comparison.ran);
      EXPECT_TRUE(comparison.problem.empty() || comparison.error > 0) << comparison.problem;
      EXPECT_LE(comparison.error, GetParam().tolerance) << comparison.problem;
    }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelEquivalence,
                         testing::Values(Model{"digits_vit", 1e-6}, Model{"minilm.ts_fp32", 1e-6},
                                         Model{"minilm.ts_fp16", 2e-3},
                                         Model{"minilm.dy20_fp16", 2e-3},
                                         Model{"roberta.ts_fp16", 2e-3}),
                         [](const auto &info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

} // namespace
} // namespace smelt
