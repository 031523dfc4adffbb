// Ops that pick elements by their order, against a full sort.
#include "tests/ir/interpret/interpret_test.h"
#include "tests/ir/interpret/reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace smelt::test {
namespace {

class SelectionTest : public InterpretTest {
protected:
  /// Values and positions.
  std::vector<HostTensor> topK(const HostTensor &input, int64_t axis, int64_t count, bool smallest,
                               const std::string &element) {
    Shape shape(input.getShape());
    shape[axis] = count;
    std::string in = "!smelt.tensor<" + toString(input.getShape()) + ", " + element + ">",
                values = "!smelt.tensor<" + toString(llvm::ArrayRef(shape)) + ", " + element + ">",
                positions = "!smelt.tensor<" + toString(llvm::ArrayRef(shape)) + ", i64>";
    auto module = parse("(%a: " + in + ") -> (" + values + ", " + positions + ")",
                        "%v, %p = smelt.top_k %a axis " + std::to_string(axis) +
                            (smallest ? " smallest" : "") + " : " + in + " -> " + values + ", " +
                            positions + "\nreturn %v, %p : " + values + ", " + positions);
    return module ? run(*module, {input}) : std::vector<HostTensor>();
  }
};

/// The line along `axis` through `at`, sorted: by value, then by position.
std::vector<std::pair<double, int64_t>> sortedLine(Array &input, Index at, int64_t axis,
                                                   bool smallest) {
  std::vector<std::pair<double, int64_t>> line;
  for (int64_t i = 0; i < input.shape[axis]; ++i) {
    at[axis] = i;
    line.push_back({smallest ? input.at(at) : -input.at(at), i});
  }
  std::sort(line.begin(), line.end());
  return line;
}

TEST_F(SelectionTest, EveryAxisCountAndDirection) {
  HostTensor input = random({4, 7, 3}, "f32", 1);
  Array array(input);
  for (int64_t axis : {0, 1, 2})
    for (int64_t count : {int64_t(1), input.getSize(axis) - 1, input.getSize(axis)})
      for (bool smallest : {false, true}) {
        SCOPED_TRACE(std::to_string(axis) + " " + std::to_string(count));
        std::vector<HostTensor> results = topK(input, axis, count, smallest, "f32");
        ASSERT_EQ(results.size(), 2u) << errors;
        Index shape(input.getShape().begin(), input.getShape().end());
        shape[axis] = count;
        int64_t flat = 0;
        Array::forEach(shape, [&](const Index &at) {
          auto [value, position] = sortedLine(array, at, axis, smallest)[at[axis]];
          EXPECT_EQ(results[0].getDouble(flat), smallest ? value : -value);
          EXPECT_EQ(results[1].getDouble(flat), double(position));
          ++flat;
        });
      }
}

TEST_F(SelectionTest, WideIntegersWithoutSign) {
  std::vector<HostTensor> results = topK(integers({3}, {5, -1, 7}, "ui64"), 0, 2, false, "ui64");
  ASSERT_EQ(results.size(), 2u) << errors;
  expectNear(results[1], {1, 2}, 0);
}

TEST_F(SelectionTest, EqualElementsKeepTheirOrder) {
  HostTensor input = HostTensor::fromValues<int64_t>({6}, mlir::IntegerType::get(&context, 32),
                                                     {2, 5, 2, 5, 5, 1});
  for (bool smallest : {false, true}) {
    std::vector<HostTensor> results = topK(input, 0, 4, smallest, "i32");
    ASSERT_EQ(results.size(), 2u) << errors;
    std::vector<int64_t> expected =
        smallest ? std::vector<int64_t>{5, 0, 2, 1} : std::vector<int64_t>{1, 3, 4, 0};
    EXPECT_EQ(results[1].values<int64_t>().vec(), expected);
  }
}

TEST_F(SelectionTest, NanIsLargest) {
  HostTensor input = HostTensor::fromValues<float>({5}, mlir::Float32Type::get(&context),
                                                   {1, NAN, INFINITY, -INFINITY, NAN});
  std::vector<HostTensor> largest = topK(input, 0, 5, false, "f32"),
                          smallest = topK(input, 0, 5, true, "f32");
  ASSERT_EQ(largest.size(), 2u) << errors;
  EXPECT_EQ(largest[1].values<int64_t>().vec(), (std::vector<int64_t>{1, 4, 2, 0, 3}));
  EXPECT_EQ(smallest[1].values<int64_t>().vec(), (std::vector<int64_t>{3, 0, 2, 1, 4}));
}

TEST_F(SelectionTest, MoreThanThereAreIsAnError) {
  auto module = parse("(%a: !smelt.tensor<[n], f32>) -> !smelt.tensor<[3], f32>",
                      "%v, %p = smelt.top_k %a axis 0 : <[n], f32> -> <[3], f32>, <[3], i64>\n"
                      "return %v : !smelt.tensor<[3], f32>");
  ASSERT_TRUE(module);
  EXPECT_TRUE(run(*module, {random({2}, "f32", 1)}).empty());
  EXPECT_NE(errors.find("asks for 3 elements of an axis of 2"), std::string::npos) << errors;
}

} // namespace
} // namespace smelt::test
