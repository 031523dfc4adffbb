// Gathers, element by element; indices outside the axis are errors that name the node.
#include "tests/ir/interpret/interpret_test.h"
#include "tests/ir/interpret/reference.h"

namespace smelt::test {
namespace {

class IndexingTest : public InterpretTest {};

TEST_F(IndexingTest, GatherAlongEachAxis) {
  HostTensor data = random({4, 3, 5}, "f32", 1), indices = integers({2, 2}, {0, -1, 2, -3});
  for (int64_t axis : {0, 1, 2}) {
    Index shape{4, 3, 5};
    shape.erase(shape.begin() + axis);
    shape.insert(shape.begin() + axis, {2, 2});
    std::string out = toString(llvm::ArrayRef(shape)) + ", f32";
    HostTensor result = runOp("smelt.gather %a, %b axis " + std::to_string(axis) +
                                  " : !smelt.tensor<[4, 3, 5], f32>, !smelt.tensor<[2, 2], i64> -> "
                                  "!smelt.tensor<" +
                                  out + ">",
                              {"[4, 3, 5], f32", "[2, 2], i64"}, out, {data, indices});
    Array from(data), positions(indices), expected(shape);
    Array::forEach(shape, [&](const Index &at) {
      Index source(at.begin(), at.begin() + axis);
      auto position = static_cast<int64_t>(positions.at({at[axis], at[axis + 1]}));
      source.push_back(position < 0 ? position + from.shape[axis] : position);
      source.insert(source.end(), at.begin() + axis + 2, at.end());
      expected.at(at) = from.at(source);
    });
    EXPECT_EQ(valuesOf(result), expected.values) << errors;
  }
}

TEST_F(IndexingTest, GatherOfAScalarIndexDropsTheAxis) {
  HostTensor result =
      runOp("smelt.gather %a, %b axis 0 : !smelt.tensor<[3, 2], i32>, !smelt.tensor<[], i32> -> "
            "!smelt.tensor<[2], i32>",
            {"[3, 2], i32", "[], i32"}, "[2], i32",
            {integers({3, 2}, {1, 2, 3, 4, 5, 6}, "i32"), integers({}, {-1}, "i32")});
  expectNear(result, {5, 6}, 0);
}

TEST_F(IndexingTest, AnIndexOutsideTheAxisNamesTheNode) {
  auto module =
      parse("(%d: !smelt.tensor<[3], f32>, %i: !smelt.tensor<[n], i64>) -> !smelt.tensor<[n], f32>",
            "%y = smelt.gather %d, %i axis 0 : !smelt.tensor<[3], f32>, !smelt.tensor<[n], i64> -> "
            "!smelt.tensor<[n], f32> loc(\"/embeddings/Gather\")\n"
            "return %y : !smelt.tensor<[n], f32>");
  EXPECT_TRUE(run(*module, {random({3}, "f32", 1), integers({2}, {0, 3})}).empty());
  EXPECT_NE(errors.find("/embeddings/Gather"), std::string::npos) << errors;
  EXPECT_NE(errors.find("index 3 is outside axis 0 of size 3, valid are -3 to 2"),
            std::string::npos)
      << errors;
  EXPECT_TRUE(run(*module, {random({3}, "f32", 1), integers({2}, {0, -4})}).empty());
  EXPECT_EQ(run(*module, {random({3}, "f32", 1), integers({2}, {-3, 2})}).size(), 1u) << errors;
}

TEST_F(IndexingTest, GatherElements) {
  HostTensor data = random({3, 4, 2}, "f32", 2), indices = random({2, 4, 1}, "i64", 3, {-3, 3});
  std::string in = "[3, 4, 2], f32", at = "[2, 4, 1], i64", out = "[2, 4, 1], f32";
  HostTensor result = runOp("smelt.gather_elements %a, %b axis 0 : !smelt.tensor<" + in +
                                ">, !smelt.tensor<" + at + "> -> !smelt.tensor<" + out + ">",
                            {in, at}, out, {data, indices});
  Array from(data), positions(indices), expected({2, 4, 1});
  Array::forEach(expected.shape, [&](const Index &index) {
    auto position = static_cast<int64_t>(positions.at(index));
    expected.at(index) = from.at({position < 0 ? position + 3 : position, index[1], index[2]});
  });
  EXPECT_EQ(valuesOf(result), expected.values) << errors;
  EXPECT_FALSE(runOp("smelt.gather_elements %a, %b axis 0 : !smelt.tensor<" + in +
                         ">, !smelt.tensor<" + at + "> -> !smelt.tensor<" + out + ">",
                     {in, at}, out, {data, integers({2, 4, 1}, {0, 0, 0, 0, 0, 0, 0, 7})}));
  EXPECT_NE(errors.find("index 7 is outside axis 0 of size 3"), std::string::npos) << errors;
}

TEST_F(IndexingTest, GatherNd) {
  HostTensor data = random({2, 3, 4, 5}, "f32", 4);
  Array from(data);
  auto gather = [&](const std::string &indexShape, const HostTensor &indices, int batch,
                    const std::string &out) {
    std::string at = indexShape + ", i64", result = out + ", f32";
    return runOp("smelt.gather_nd %a, %b batch_dims " + std::to_string(batch) +
                     " : !smelt.tensor<[2, 3, 4, 5], f32>, !smelt.tensor<" + at +
                     "> -> !smelt.tensor<" + result + ">",
                 {"[2, 3, 4, 5], f32", at}, result, {data, indices});
  };
  HostTensor pairs = gather("[2, 2]", integers({2, 2}, {1, 2, -1, 0}), 0, "[2, 4, 5]");
  Array expected({2, 4, 5});
  Array::forEach(expected.shape, [&](const Index &at) {
    expected.at(at) = from.at({1, at[0] ? 0 : 2, at[1], at[2]});
  });
  EXPECT_EQ(valuesOf(pairs), expected.values) << errors;
  HostTensor batched =
      gather("[2, 3, 1]", integers({2, 3, 1}, {0, 1, 3, -1, 2, 0}), 2, "[2, 3, 5]");
  int64_t rows[2][3] = {{0, 1, 3}, {3, 2, 0}};
  Array expectedRows({2, 3, 5});
  Array::forEach(expectedRows.shape, [&](const Index &at) {
    expectedRows.at(at) = from.at({at[0], at[1], rows[at[0]][at[1]], at[2]});
  });
  EXPECT_EQ(valuesOf(batched), expectedRows.values) << errors;
  EXPECT_FALSE(gather("[2, 2]", integers({2, 2}, {1, 2, -3, 0}), 0, "[2, 4, 5]"));
  EXPECT_NE(errors.find("index -3 is outside axis 0 of size 2"), std::string::npos) << errors;
}

} // namespace
} // namespace smelt::test
