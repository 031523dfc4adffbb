// Files that are no ONNX models.
#include "tests/frontend/model_builder.h"

#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace smelt::test {
namespace {

TEST(ModelFile, MissingFilesAndFolders) {
  expectFails(importFile("no/such/model.onnx"),
              {"cannot open 'no/such/model.onnx'", "No such file"});
  expectFails(importFile("."), {"'.' is not a file"});
}

TEST(ModelFile, RefusesWhatIsNoModel) {
  expectFails(importBytes(""), {"the file is empty"});
  expectFails(importBytes("#!/bin/sh\necho hello\n"), {"not an ONNX model"});
  expectFails(importBytes(std::string("\x08\x0a", 2)), {"it holds no graph"});
}

TEST(ModelFile, NamesOtherFormats) {
  expectFails(importBytes(std::string("\x20\0\0\0ORTM rest", 13)),
              {"is a model in ONNX Runtime's own format (.ort)", "(.onnx) that it was made from"});
  for (const char *magic : {"ptrt", "ftrt"})
    expectFails(importBytes(std::string(magic) + " rest of a plan"), {"is a TensorRT engine"});
}

TEST(ModelFile, RefusesEveryTruncation) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n")
      .floats("t", {2}, {1, 2})
      .node("Mul", {"x", "t"})
      .output("y");
  std::string bytes = model.bytes();
  expectImports(importBytes(bytes), {"smelt.mul"});
  for (size_t size = 0; size < bytes.size(); ++size) {
    Imported imported = importBytes(bytes.substr(0, size));
    EXPECT_TRUE(imported.succeeded || !imported.diagnostics.empty()) << size;
    // The opset comes after the graph in this message: without it, the nodes mean nothing.
    EXPECT_FALSE(imported.succeeded) << size;
  }
}

TEST(ModelFile, RefusesDeepNesting) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n").node("If", {"x"}).output("y");
  onnx_wire::Graph *graph = &model.graph();
  for (int level = 0; level < 200; ++level) {
    onnx_wire::Attribute &body = *graph->mutable_node(0)->add_attribute();
    body.set_name("then_branch");
    graph = body.mutable_g();
    graph->add_node()->set_op_type("If");
  }
  expectFails(model.import(), {"not an ONNX model, or a truncated one"});
}

TEST(ModelFile, ReadsExternalFilesBesideIt) {
  namespace fs = std::filesystem;
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("smelt-model", folder));
  fs::path root = folder.str().str();
  ModelBuilder model;
  onnx_wire::Tensor &tensor = *model.graph().add_initializer();
  tensor.set_name("t");
  tensor.set_data_type(DataType::INT8);
  tensor.add_dims(1000);
  tensor.set_data_location(onnx_wire::Tensor::EXTERNAL);
  onnx_wire::StringEntry &location = *tensor.add_external_data();
  location.set_key("location");
  location.set_value("data.bin");
  model.output("t");
  std::ofstream(root / "model.onnx", std::ios::binary) << model.bytes();
  expectFails(importFile((root / "model.onnx").string()), {"'data.bin' is missing"});
  std::ofstream(root / "data.bin", std::ios::binary) << std::string(999, 'a') << 'b';
  expectImports(importFile((root / "model.onnx").string()),
                {R"(smelt.weight "t" <"data.bin", 0, 1000)"});
  fs::remove_all(root);
}

} // namespace
} // namespace smelt::test
