// Whole exports: they import in a moment, with nothing left of their shape arithmetic. Most are
// optional developer data (SMELT_MODELS); the demo model is in the repository.
#include "frontend/import.h"
#include "tests/frontend/model_builder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <chrono>

namespace smelt::test {
namespace {

class Models : public testing::TestWithParam<const char *> {};

/// An op that computes integers from nothing but sizes and constants; views of them are simplify's.
bool isShapeArithmetic(mlir::Operation *op) {
  auto isKnown = [](mlir::Value value) {
    return llvm::isa_and_nonnull<DimsOp, ConstantOp>(value.getDefiningOp());
  };
  return op->getNumOperands() > 0 && op->getNumResults() == 1 &&
         !llvm::isa<ExpandOp, ReshapeOp>(op) && llvm::isa<TensorType>(op->getResult(0).getType()) &&
         tensorType(op->getResult(0)).getElementType().isInteger() &&
         llvm::all_of(op->getOperands(), isKnown);
}

TEST_P(Models, Import) {
  std::string path =
      GetParam()[0] == '/' ? GetParam() : std::string(SMELT_MODELS) + "/" + GetParam();
  if (!llvm::sys::fs::exists(path))
    GTEST_SKIP() << "needs " << path;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportOptions options;
  options.drawMissingWeights = true;
  auto start = std::chrono::steady_clock::now();
  mlir::FailureOr<ImportedModel> model = importModel(context, path, options);
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(mlir::succeeded(model));
  EXPECT_LT(elapsed.count(), 5.0); // 0.1 s at most on an idle machine
  model->module->walk([](mlir::Operation *op) {
    EXPECT_FALSE(isShapeArithmetic(op)) << op->getName().getStringRef().str();
  });
}

std::string nameOf(const testing::TestParamInfo<const char *> &info) {
  llvm::StringRef stem = llvm::StringRef(info.param).rsplit('/').second;
  std::string name = (stem.empty() ? llvm::StringRef(info.param) : stem).str();
  std::replace_if(name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Exports, Models,
                         testing::Values("minilm.ts_fp16.onnx", "minilm.ts_fp32.onnx",
                                         "minilm.dy20_fp16.onnx", "bert_base.ts_fp16.onnx",
                                         "bert_base.dy20_fp16.onnx", "bert_base.dy23_fp16.onnx",
                                         "distilbert.dy20_fp16.onnx", "roberta.ts_fp16.onnx",
                                         "roberta.dy20_fp16.onnx", "vit_b16.ts_fp16.onnx",
                                         "vit_b16.dy20_fp16.onnx", "vit_b16.dy23_fp16.onnx",
                                         "gpt2.dy20_fp16.onnx", "clip_vision.dy20_fp16.onnx",
                                         "whisper_enc.dy20_fp16.onnx", "whisper_enc.ts_fp16.onnx",
                                         "convnext_t.dy20_fp16.onnx", "llama1b.dy20_fp16.onnx",
                                         "llama1b_decode.ts_fp16.onnx", "qwen2.dy20_fp16.onnx",
                                         "t5_small.ts_fp16.onnx", SMELT_DEMO_MODEL),
                         nameOf);

TEST(Models, HalfPrecisionDefectIsExplained) {
  std::string path = std::string(SMELT_MODELS) + "/../onnx/torchscript_mixed_types.onnx";
  if (!llvm::sys::fs::exists(path))
    GTEST_SKIP() << "needs " << path;
  ImportOptions options;
  options.drawMissingWeights = true;
  expectFails(importFile(path, options),
              {"its inputs must have one type", "(float [batch, seq, 768])",
               "(float16 [768]) differ",
               "the float first appears as the initializer 'onnx::Add_644'"});
}

} // namespace
} // namespace smelt::test
