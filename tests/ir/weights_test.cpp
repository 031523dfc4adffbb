// The weight store: owned bytes, mapped files and their bounds, random draws.
#include "ir/weights.h"
#include "tests/ir/interpret/interpret_test.h"

#include "llvm/Support/FileSystem.h"

#include <fstream>

namespace smelt::test {
namespace {

class WeightsTest : public InterpretTest {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("smelt-weights", path));
    folder = std::string(path);
    std::ofstream(folder + "/weights.bin", std::ios::binary) << "0123456789abcdef";
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  WeightOp weight(const std::string &source, const std::string &type,
                  const std::string &name = "w") {
    modules.push_back(parse("() -> !smelt.tensor<" + type + ">",
                            "%w = smelt.weight \"" + name + "\" <" + source + "> : !smelt.tensor<" +
                                type + ">\nreturn %w : !smelt.tensor<" + type + ">"));
    return *modules.back()->lookupSymbol<mlir::func::FuncOp>("main").getOps<WeightOp>().begin();
  }
  std::string read(WeightStore &store, WeightOp op) {
    mlir::FailureOr<llvm::ArrayRef<char>> bytes = store.bytes(op);
    return mlir::succeeded(bytes) ? std::string(bytes->begin(), bytes->end()) : "failed";
  }

  std::string folder;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
};

TEST_F(WeightsTest, BytesComeFromTheRangeOfTheFile) {
  WeightStore store(folder);
  EXPECT_EQ(read(store, weight("\"weights.bin\", 4, 8, \"\"", "[2, 2], f16")), "456789ab");
  EXPECT_EQ(read(store, weight("\"weights.bin\", 0, 16, \"\"", "[4], f32")), "0123456789abcdef");
  EXPECT_EQ(read(store, weight("\"weights.bin\", 16, 0, \"\"", "[0], f32")), "");
}

TEST_F(WeightsTest, OwnedBytesTakePrecedence) {
  WeightStore store(folder);
  store.own("w", "abcd");
  EXPECT_EQ(read(store, weight("\"weights.bin\", 0, 4, \"\"", "[1], f32")), "abcd");
  EXPECT_EQ(read(store, weight("\"weights.bin\", 0, 8, \"\"", "[2], f32")), "failed");
  EXPECT_NE(errors.find("weight 'w' has 4 bytes, its type '!smelt.tensor<[2], f32>' takes 8"),
            std::string::npos)
      << errors;
}

TEST_F(WeightsTest, AddedFilesAreUsedByTheirName) {
  WeightStore store("nowhere");
  store.addFile("model.onnx", llvm::MemoryBuffer::getMemBufferCopy("xyzw"));
  EXPECT_EQ(read(store, weight("\"model.onnx\", 0, 4, \"\"", "[1], f32")), "xyzw");
}

TEST_F(WeightsTest, RangesOutsideTheFileAreRefused) {
  WeightStore store(folder);
  EXPECT_EQ(read(store, weight("\"weights.bin\", 12, 8, \"\"", "[2], f32")), "failed");
  EXPECT_NE(errors.find("needs bytes 12 to 20 of weights.bin, which has 16"), std::string::npos)
      << errors;
  EXPECT_EQ(read(store, weight("\"weights.bin\", 18446744073709551612, 8, \"\"", "[2], f32")),
            "failed");
  EXPECT_EQ(read(store, weight("\"weights.bin\", 0, 8, \"\"", "[3], f32")), "failed");
  EXPECT_NE(errors.find("has 8 bytes in weights.bin, its type '!smelt.tensor<[3], f32>' takes 12"),
            std::string::npos)
      << errors;
}

TEST_F(WeightsTest, FilesOutsideTheFolderAreRefused) {
  WeightStore store(folder);
  for (const char *file : {"../weights.bin", "a/../../weights.bin", "/etc/hostname", ""}) {
    errors.clear();
    EXPECT_EQ(read(store, weight("\"" + std::string(file) + "\", 0, 4, \"\"", "[1], f32")),
              "failed");
    EXPECT_NE(errors.find("not a file below the model's folder"), std::string::npos)
        << file << errors;
  }
}

TEST_F(WeightsTest, AMissingFileIsNamed) {
  WeightStore store(folder);
  EXPECT_EQ(read(store, weight("\"gone.bin\", 0, 4, \"\"", "[1], f32")), "failed");
  EXPECT_NE(errors.find("needs the file '" + folder + "/gone.bin': No such file or directory"),
            std::string::npos)
      << errors;
}

TEST_F(WeightsTest, ALargeWeightBeginsAsASmallOneOfItsName) {
  for (auto [type, bytes] : {std::pair("f16", 2), {"bf16", 2}, {"f32", 4}, {"f64", 8}}) {
    WeightStore small(folder), large(folder);
    small.drawMissing(3), large.drawMissing(3);
    auto drawn = [&](WeightStore &store, int columns) {
      std::string size = std::to_string(256 * columns * bytes);
      std::string shape = "[256, " + std::to_string(columns) + "], ";
      return read(store, weight("\"missing.bin\", 0, " + size + ", \"\"", shape + type));
    };
    std::string few = drawn(small, 256), many = drawn(large, 300);
    ASSERT_EQ(many.size(), 256u * 300 * bytes);
    EXPECT_EQ(many.substr(0, few.size()), few) << type;
    EXPECT_NE(many.substr(few.size(), 64), few.substr(0, 64)) << type;
  }
}

TEST_F(WeightsTest, MissingWeightsAreDrawnBySeedAndName) {
  WeightStore store(folder), again(folder), other(folder);
  store.drawMissing(1), again.drawMissing(1), other.drawMissing(2);
  auto draw = [&](WeightStore &from, const std::string &type, int64_t bytes,
                  const std::string &name) {
    return read(from, weight("\"gone.bin\", 0, " + std::to_string(bytes) + ", \"\"", type, name));
  };
  std::string drawn = draw(store, "[100, 1000], f16", 200000, "w");
  EXPECT_EQ(drawn, draw(again, "[100, 1000], f16", 200000, "w"));
  EXPECT_NE(drawn, draw(other, "[100, 1000], f16", 200000, "w"));
  EXPECT_NE(drawn, draw(store, "[100, 1000], f16", 200000, "v"));

  auto moments = [&](const std::string &bytes, const char *name) {
    int64_t count = bytes.size() / elementBytes(type(name));
    HostTensor tensor =
        *HostTensor::fromBytes({count}, type(name), llvm::ArrayRef(bytes.data(), bytes.size()));
    double mean = 0, square = 0;
    for (double x : valuesOf(tensor))
      mean += x / count, square += x * x / count;
    return std::pair(mean, std::sqrt(square));
  };
  EXPECT_NEAR(moments(drawn, "f16").first, 0, 3e-4);
  EXPECT_NEAR(moments(drawn, "f16").second, 0.02, 2e-4);
  // Filters by fan-in: sqrt(2 / (8 * 3 * 3)).
  EXPECT_NEAR(moments(draw(store, "[500, 8, 3, 3], f32", 144000, "filter"), "f32").second, 1.0 / 6,
              2e-3);
  auto [mean, square] = moments(draw(store, "[1000], i64", 8000, "flags"), "i64");
  EXPECT_NEAR(mean, 0.5, 0.06);
  EXPECT_NEAR(square * square, mean, 1e-9); // only zeros and ones
  // Files that are there are read, whatever the seed.
  EXPECT_EQ(read(store, weight("\"weights.bin\", 4, 4, \"\"", "[1], f32", "there")), "4567");
}

} // namespace
} // namespace smelt::test
