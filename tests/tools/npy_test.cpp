// tools/smelt/npy: what NumPy writes is read, what is malformed is refused, and no damage goes
// further.
#include "tools/smelt/npy.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::tools;

namespace {

constexpr std::string_view kFloats = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

/// A file as NumPy lays it out, from a header that may be wrong.
std::string npyFile(std::string header, const std::string &data, char major = 1) {
  header += '\n';
  std::string file("\x93NUMPY");
  file += major;
  file += '\0';
  for (size_t byte = 0; byte < (major == 1 ? 2 : 4); ++byte)
    file += static_cast<char>(header.size() >> (8 * byte));
  return file + header + data;
}

class Npy : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::path(testing::TempDir()) /
             testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name = "x.npy") const { return (folder / name).string(); }

  Result<Array> readBytes(const std::string &bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return readNpy(path());
  }

  /// The file is refused as the user's mistake, with a message that holds `part` and the file's
  /// name.
  void expectRefused(const std::string &bytes, const std::string &part) const {
    Result<Array> array = readBytes(bytes);
    ASSERT_FALSE(array.isOk());
    EXPECT_EQ(array.status().code(), StatusCode::kUsage);
    EXPECT_NE(array.status().message().find(part), std::string::npos) << array.status().message();
    EXPECT_NE(array.status().message().find("x.npy"), std::string::npos)
        << array.status().message();
  }

  std::filesystem::path folder;
};

} // namespace

TEST_F(Npy, ReadsWhatNumpyWrites) {
  float values[6] = {0, 1, 2, 3, 4, -5.5};
  std::string data(reinterpret_cast<const char *>(values), sizeof(values));
  for (char version : {1, 2, 3}) {
    Result<Array> array = readBytes(npyFile(std::string(kFloats), data, version));
    ASSERT_TRUE(array.isOk()) << array.status().message();
    EXPECT_EQ(array->type, ElementType::f32);
    EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(array->at(5), -5.5);
  }
}

/// The type under which elements are written: one that plain NumPy has.
static ElementType writtenType(ElementType type) {
  if (type == ElementType::bf16 || isSmallFloat(type))
    return ElementType::f32;
  if (!isSmall(type))
    return type;
  return type == ElementType::i4 || type == ElementType::i2 ? ElementType::i8 : ElementType::u8;
}

TEST_F(Npy, RoundTripsEveryType) {
  for (ElementType type : plan::EnumValuesElementType()) {
    Result<Array> array = Array::zeros(type, {3, 1, 2});
    ASSERT_TRUE(array.isOk());
    for (size_t i = 0; i < 6; ++i)
      array->set(i, type == ElementType::f8e8m0 ? 1 << i : static_cast<double>(i * 3 % 5));
    ASSERT_TRUE(writeNpy(path(), *array).isOk());
    Result<Array> back = readNpy(path());
    ASSERT_TRUE(back.isOk()) << typeName(type) << ": " << back.status().message();
    EXPECT_EQ(back->shape, array->shape);
    EXPECT_EQ(back->type, writtenType(type));
    for (size_t i = 0; i < 6; ++i)
      EXPECT_EQ(back->at(i), array->at(i)) << typeName(type);
  }
}

TEST_F(Npy, SmallTypesAreReadAsCodes) {
  for (const char *descr : {"<V1", "|V1", "<f1", "|u1"}) {
    std::string header =
        std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (2,), }";
    Result<Array> array = readBytes(npyFile(header, "\x38\x0f"));
    ASSERT_TRUE(array.isOk()) << array.status().message();
    EXPECT_EQ(array->type, ElementType::u8);
    EXPECT_EQ(array->at(0), 0x38);
  }
}

TEST_F(Npy, RoundTripsScalarsAndEmptyArrays) {
  for (const std::vector<int64_t> &shape : {std::vector<int64_t>{}, {0}, {4, 0, 2}}) {
    Result<Array> array = Array::zeros(ElementType::i64, shape);
    ASSERT_TRUE(writeNpy(path(), *array).isOk());
    Result<Array> back = readNpy(path());
    ASSERT_TRUE(back.isOk()) << back.status().message();
    EXPECT_EQ(back->shape, shape);
  }
}

TEST_F(Npy, ReadsBfloat16AsMlDtypesSavesIt) {
  std::string header = "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }";
  Result<Array> array = readBytes(npyFile(header, std::string("\x40\xC0", 2)));
  ASSERT_TRUE(array.isOk()) << array.status().message();
  EXPECT_EQ(array->type, ElementType::bf16);
  EXPECT_EQ(array->at(0), -3.0);
}

TEST_F(Npy, NormalisesBools) {
  std::string header = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }";
  Result<Array> array = readBytes(npyFile(header, std::string("\x07\x00", 2)));
  ASSERT_TRUE(array.isOk());
  EXPECT_EQ(array->bytes[0], std::byte{1});
  EXPECT_EQ(array->bytes[1], std::byte{0});
}

TEST_F(Npy, RefusesEveryTruncation) {
  std::string whole = npyFile(std::string(kFloats), std::string(24, '\0'));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(readBytes(whole.substr(0, length)).isOk()) << length;
  EXPECT_FALSE(readBytes(whole + "x").isOk());
}

TEST_F(Npy, RefusesWhatIsNoNpyFile) {
  expectRefused("PK\x03\x04 an .npz is a zip file", "is not a .npy file");
  expectRefused(npyFile(std::string(kFloats), std::string(24, '\0'), 9), "is not a .npy file");
}

TEST_F(Npy, RefusesHeadersThatAreNotUnderstood) {
  for (const char *header :
       {"", "{", "{}", "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (6,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), } x"})
    expectRefused(npyFile(header, std::string(24, '\0')), "header cannot be understood");
}

TEST_F(Npy, RefusesTypesThatNoModelTakes) {
  for (const char *descr : {">f4", "<c8", "<U3", "|O", "<i3"})
    expectRefused(
        npyFile(std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (6,), }",
                std::string(24, '\0')),
        "no model input has");
}

TEST_F(Npy, RefusesFortranOrder) {
  expectRefused(
      npyFile("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", std::string(24, '\0')),
      "ascontiguousarray");
}

TEST_F(Npy, RefusesShapesThatDoNotFitTheData) {
  expectRefused(
      npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", std::string(24, '\0')),
      "does not take the 24 bytes");
  expectRefused(
      npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }",
              std::string(24, '\0')),
      "does not take the 24 bytes");
}

TEST_F(Npy, NamesAMissingFile) {
  Result<Array> array = readNpy(path("missing.npy"));
  ASSERT_FALSE(array.isOk());
  EXPECT_EQ(array.status().code(), StatusCode::kUsage);
  EXPECT_NE(array.status().message().find("missing.npy"), std::string::npos);
}

TEST_F(Npy, LeavesNothingBehindWhereItCannotWrite) {
  Result<Array> array = Array::zeros(ElementType::f32, {8});
  Status status = writeNpy(path("no/such/folder/x.npy"), *array);
  EXPECT_EQ(status.code(), StatusCode::kResources);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}
