// Tensor data: inside the file and outside it.
#include "tests/frontend/model_builder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace smelt::test {
namespace {

namespace fs = std::filesystem;

onnx_wire::Tensor &addTensor(ModelBuilder &model, int32_t type, const std::vector<int64_t> &dims,
                             const std::string &raw) {
  onnx_wire::Tensor &tensor = *model.graph().add_initializer();
  tensor.set_name("t");
  tensor.set_data_type(type);
  *tensor.mutable_dims() = {dims.begin(), dims.end()};
  tensor.set_raw_data(raw);
  model.output("t");
  return tensor;
}

TEST(TensorReader, DataMustFillTheShape) {
  ModelBuilder shorter, longer, typed;
  addTensor(shorter, DataType::FLOAT, {2}, std::string(7, '\0'));
  expectFails(shorter.import(),
              {"t", "tensor 't'\"): float [2] needs 8 bytes, but its data has 7"});
  addTensor(longer, DataType::BOOL, {2}, std::string(3, '\1'));
  expectFails(longer.import(), {"needs 2 bytes, but its data has 3"});
  addTensor(typed, DataType::INT64, {3}, "").clear_raw_data();
  expectFails(typed.import(), {"needs 24 bytes, but its data has 0"});
}

TEST(TensorReader, RefusesImpossibleShapesBeforeReading) {
  ModelBuilder negative, overflow, type, ranks;
  addTensor(negative, DataType::FLOAT, {-1}, "");
  expectFails(negative.import(), {"negative dimension, -1"});
  addTensor(overflow, DataType::FLOAT, {int64_t{1} << 32, int64_t{1} << 32}, "");
  expectFails(overflow.import(), {"product overflows"});
  addTensor(type, 99, {1}, "");
  expectFails(type.import(), {"tensors of type data type 99 are not supported"});
  addTensor(ranks, DataType::FLOAT, std::vector<int64_t>(1000, 1), "");
  expectFails(ranks.import(), {"1000 dimensions, at most 64"});
}

TEST(TensorReader, ReadsEveryTypeFromItsTypedField) {
  for (auto [type, text] : {std::pair<int32_t, const char *>(DataType::FLOAT16, "f16"),
                            {DataType::BFLOAT16, "bf16"},
                            {DataType::BOOL, "i1"},
                            {DataType::INT8, "i8"},
                            {DataType::UINT8, "ui8"},
                            {DataType::INT16, "i16"},
                            {DataType::UINT16, "ui16"},
                            {DataType::INT32, "i32"}}) {
    ModelBuilder model;
    onnx_wire::Tensor &tensor = addTensor(model, type, {2}, "");
    tensor.clear_raw_data();
    tensor.add_int32_data(0);
    tensor.add_int32_data(1);
    expectImports(model.import(), {"smelt.constant dense<", std::string("<[2], ") + text});
  }
}

TEST(TensorReader, WideIntegersWithoutSign) {
  for (auto [type, text, largest] :
       {std::tuple<int32_t, const char *, uint64_t>{DataType::UINT32, "ui32", 4294967295},
        {DataType::UINT64, "ui64", ~uint64_t{0}}}) {
    ModelBuilder model;
    onnx_wire::Tensor &tensor = addTensor(model, type, {2}, "");
    tensor.clear_raw_data();
    tensor.add_uint64_data(7);
    tensor.add_uint64_data(largest);
    expectImports(model.import(), {"smelt.constant dense<[7, " + std::to_string(largest) + "]>",
                                   std::string("<[2], ") + text});
  }
}

TEST(TensorReader, SeveralElementsShareAByte) {
  for (auto [type, text, raw] :
       {std::tuple<int32_t, const char *, std::string>{
            DataType::INT4, "dense<[-1, 7, -8]> : tensor<3xi4>", "\x7f\x08"},
        {DataType::UINT4, "dense<[15, 7, 8]> : tensor<3xui4>", "\x7f\x08"},
        {DataType::INT2, "dense<[-1, 1, -2]> : tensor<3xi2>", "\x27"},
        {DataType::UINT2, "dense<[3, 1, 2]> : tensor<3xui2>", "\x27"},
        {DataType::FLOAT4E2M1,
         "dense<[-6.000000e+00, 6.000000e+00, -0.000000e+00]> : "
         "tensor<3xf4E2M1FN>",
         "\x7f\x08"}}) {
    ModelBuilder inFile, typed, tooLong;
    addTensor(inFile, type, {3}, raw);
    expectImports(inFile.import(), {text});
    onnx_wire::Tensor &tensor = addTensor(typed, type, {3}, "");
    tensor.clear_raw_data();
    for (char byte : raw)
      tensor.add_int32_data(static_cast<unsigned char>(byte));
    expectImports(typed.import(), {text});
    addTensor(tooLong, type, {3}, "123");
    expectFails(tooLong.import(), {"bytes, but its data has 3"});
  }
}

TEST(TensorReader, FloatsOf8Bits) {
  for (auto [type, text] : {std::pair<int32_t, const char *>{DataType::FLOAT8E4M3FN, "f8E4M3FN"},
                            {DataType::FLOAT8E4M3FNUZ, "f8E4M3FNUZ"},
                            {DataType::FLOAT8E5M2, "f8E5M2"},
                            {DataType::FLOAT8E5M2FNUZ, "f8E5M2FNUZ"},
                            {DataType::FLOAT8E8M0, "f8E8M0FNU"}}) {
    ModelBuilder model;
    addTensor(model, type, {2}, "\x38\x39");
    expectImports(model.import(), {"smelt.constant dense<", std::string("<[2], ") + text});
  }
}

TEST(TensorReader, EmptyTensors) {
  ModelBuilder model;
  addTensor(model, DataType::FLOAT, {0, 3}, "");
  expectImports(model.import(), {"<[0, 3], f32>"});
}

/// A folder with a model's neighbours, removed at the end.
class ExternalData : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("smelt-external", path));
    root = path.str().str();
    fs::create_directories(root / "model");
    write(root / "model/weights.bin", 4096);
    write(root / "outside.bin", 4096);
  }
  void TearDown() override { fs::remove_all(root); }

  static void write(const fs::path &path, size_t bytes) {
    std::string content(bytes, '\0');
    for (size_t index = 0; index < bytes; ++index)
      content[index] = static_cast<char>(index * 7);
    std::ofstream(path, std::ios::binary) << content;
  }

  Imported importTensor(const std::string &location, const std::string &offset = "",
                        const std::string &length = "", const ImportOptions &options = {}) {
    ModelBuilder model;
    onnx_wire::Tensor &tensor = addTensor(model, DataType::FLOAT, {256}, "");
    tensor.clear_raw_data();
    tensor.set_data_location(onnx_wire::Tensor::EXTERNAL);
    for (auto [key, value] :
         {std::pair("location", location), {"offset", offset}, {"length", length}}) {
      if (value.empty())
        continue;
      onnx_wire::StringEntry &entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return importBytes(model.bytes(), (root / "model").string(), options);
  }

  fs::path root;
};

TEST_F(ExternalData, IsMappedAndHashed) {
  expectImports(importTensor("weights.bin", "1024", "1024"),
                {R"(smelt.weight "t" <"weights.bin", 1024, 1024, ")"});
  expectImports(importTensor("./weights.bin"), {"smelt.weight"});
}

TEST_F(ExternalData, MissingFileIsAnErrorUnlessDrawn) {
  expectFails(importTensor("ghost.bin"), {"t", "external file 'ghost.bin' is missing"});
  ImportOptions options;
  options.drawMissingWeights = true;
  expectImports(importTensor("ghost.bin", "8", "1024", options), {R"(<"ghost.bin", 8, 1024, "">)"});
}

TEST_F(ExternalData, RangesMustLieInTheFile) {
  expectFails(importTensor("weights.bin", "3073"),
              {"needs 1024 bytes at offset 3073", "has only 4096"});
  expectFails(importTensor("weights.bin", "18446744073709551615"),
              {"at offset 18446744073709551615"});
  expectFails(importTensor("weights.bin", "0", "1000"),
              {"needs 1024 bytes, but its external data has 1000"});
  expectFails(importTensor("weights.bin", "-1"), {"the external offset '-1', which is no number"});
  expectFails(importTensor("weights.bin", "99999999999999999999"), {"which is no number"});
}

TEST_F(ExternalData, PathsMustStayInTheFolder) {
  expectFails(importTensor(""), {"'location' is empty"});
  expectFails(importTensor("../outside.bin"),
              {"'../outside.bin', which leaves the model's folder by '..'"});
  expectFails(importTensor("a/../../outside.bin"), {"leaves the model's folder"});
  expectFails(importTensor((root / "outside.bin").string()), {"by an absolute path"});
  expectFails(importTensor("."), {"no regular file"});
}

TEST_F(ExternalData, LinksAreNotFollowed) {
  fs::create_symlink("../outside.bin", root / "model/link.bin");
  fs::create_symlink("..", root / "model/up");
  fs::create_symlink("weights.bin", root / "model/inside.bin");
  for (const char *file : {"link.bin", "up/outside.bin", "inside.bin"})
    expectFails(importTensor(file), {"is a symbolic link or lies behind one"});
}

TEST_F(ExternalData, ButInTheLayoutOfACache) {
  fs::create_directories(root / "hub/blobs");
  fs::create_directories(root / "hub/snapshots/1");
  write(root / "hub/blobs/abc", 4096);
  fs::create_symlink("../../blobs/abc", root / "hub/snapshots/1/weights.bin");
  fs::create_symlink("../../../outside.bin", root / "hub/snapshots/1/outside.bin");
  fs::remove_all(root / "model");
  fs::create_directory_symlink(root / "hub/snapshots/1", root / "model");
  expectImports(importTensor("weights.bin"), {"smelt.weight"});
  expectFails(importTensor("outside.bin"), {"is a symbolic link"});
}

} // namespace
} // namespace smelt::test
