// What simplify and raise recover from every export of the models: attention in each layer, every
// norm and GELU as one op, no shape arithmetic, no mask made by a gather. The models are optional
// developer data (SMELT_MODELS).
#include "frontend/import.h"
#include "passes/pipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

struct Expected {
  const char *model;
  int attentions, norms, gelus;
  bool causal = false, hasBias = false;
  /// Gathers that read data: word, position and type embeddings that depend on the tokens.
  int gathers = 0;
};

void PrintTo(const Expected &expected, std::ostream *stream) { *stream << expected.model; }

class ModelCounts : public testing::TestWithParam<Expected> {};

TEST_P(ModelCounts, Recovered) {
  const Expected &expected = GetParam();
  std::string folder = expected.model == std::string("digits_vit") ? SMELT_DEMO : SMELT_MODELS;
  std::string path = folder + "/" + expected.model + ".onnx";
  if (!llvm::sys::fs::exists(path))
    GTEST_SKIP() << "needs " << path;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
  ImportOptions import;
  import.drawMissingWeights = true;
  mlir::FailureOr<ImportedModel> model = importModel(context, path, import);
  ASSERT_TRUE(mlir::succeeded(model));

  int attentions = 0, causal = 0, biased = 0, norms = 0, gelus = 0, softmaxes = 0, gathers = 0;
  PipelineOptions options;
  options.weights = model->weights.get();
  options.afterPhase = [&](llvm::StringRef phase, mlir::ModuleOp module) {
    if (phase != "raise")
      return mlir::success();
    EXPECT_TRUE(mlir::succeeded(mlir::verify(module)));
    module.walk([&](mlir::Operation *op) {
      if (auto attention = llvm::dyn_cast<AttentionOp>(op)) {
        ++attentions;
        causal += attention.getCausal();
        biased += attention.getBias() != nullptr;
      }
      norms += llvm::isa<LayerNormOp, RmsNormOp>(op);
      gelus += llvm::isa<GeluOp>(op);
      softmaxes += llvm::isa<SoftmaxOp>(op);
      gathers += llvm::isa<GatherOp, GatherElementsOp, GatherNdOp>(op);
      EXPECT_FALSE((llvm::isa<DimsOp, ErfOp, IsNanOp, ConvOp>(op)))
          << op->getName().getStringRef().str();
    });
    return mlir::success();
  };
  mlir::PassManager manager(&context);
  manager.enableVerifier(true);
  buildPipeline(manager, options);
  ASSERT_TRUE(mlir::succeeded(manager.run(*model->module)));
  EXPECT_EQ(attentions, expected.attentions);
  EXPECT_EQ(causal, expected.causal ? expected.attentions : 0);
  EXPECT_EQ(biased, expected.hasBias ? expected.attentions : 0);
  EXPECT_EQ(norms, expected.norms);
  EXPECT_EQ(gelus, expected.gelus);
  EXPECT_EQ(softmaxes, 0);
  EXPECT_EQ(gathers, expected.gathers);
}

constexpr bool kPlain = false, kCausal = true, kBias = true;

INSTANTIATE_TEST_SUITE_P(
    Exports, ModelCounts,
    testing::Values(Expected{"digits_vit", 4, 9, 4},
                    Expected{"minilm.ts_fp32", 6, 13, 6, kPlain, kBias, 1},
                    Expected{"minilm.ts_fp16", 6, 13, 6, kPlain, kBias, 1},
                    Expected{"minilm.dy20_fp16", 6, 13, 6, kPlain, kBias, 1},
                    Expected{"bert_base.ts_fp16", 12, 25, 12, kPlain, kBias, 1},
                    Expected{"bert_base.dy20_fp16", 12, 25, 12, kPlain, kBias, 1},
                    Expected{"bert_base.dy23_fp16", 12, 25, 12, kPlain, kBias, 1},
                    Expected{"distilbert.dy20_fp16", 6, 13, 6, kPlain, kBias, 1},
                    Expected{"roberta.ts_fp16", 4, 9, 4, kPlain, kBias, 2},
                    Expected{"roberta.dy20_fp16", 4, 9, 4, kPlain, kBias, 2},
                    Expected{"vit_b16.ts_fp16", 12, 25, 12},
                    Expected{"vit_b16.dy20_fp16", 12, 25, 12},
                    Expected{"vit_b16.dy23_fp16", 12, 25, 12},
                    Expected{"gpt2.dy20_fp16", 12, 25, 12, kCausal, false, 1}),
    [](const auto &info) {
      std::string name = info.param.model;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

} // namespace
} // namespace smelt
