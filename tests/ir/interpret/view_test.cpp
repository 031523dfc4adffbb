// Views and concatenation, by moving each element one at a time.
#include "tests/ir/interpret/interpret_test.h"
#include "tests/ir/interpret/reference.h"

namespace smelt::test {
namespace {

class ViewTest : public InterpretTest {};

TEST_F(ViewTest, ReshapeKeepsTheOrder) {
  HostTensor input = random({2, 3, 4}, "f32", 1);
  HostTensor result =
      runOp("smelt.reshape %a : !smelt.tensor<[2, 3, 4], f32> -> !smelt.tensor<[4, 6], f32>",
            {"[2, 3, 4], f32"}, "[4, 6], f32", {input});
  EXPECT_EQ(valuesOf(result), valuesOf(input));
}

TEST_F(ViewTest, ReshapeFollowsSymbolsAndRefusesWhatDoesNotFit) {
  auto module =
      parse("(%x: !smelt.tensor<[n, 6], f32>) -> !smelt.tensor<[n*2, 3], f32>",
            "%y = smelt.reshape %x : !smelt.tensor<[n, 6], f32> -> !smelt.tensor<[n*2, 3], f32>\n"
            "return %y : !smelt.tensor<[n*2, 3], f32>");
  std::vector<HostTensor> results = run(*module, {random({5, 6}, "f32", 2)});
  ASSERT_EQ(results.size(), 1u) << errors;
  EXPECT_EQ(results[0].getShape(), llvm::ArrayRef<int64_t>({10, 3}));

  auto wrong =
      parse("(%x: !smelt.tensor<[n], f32>) -> !smelt.tensor<[2, 3], f32>",
            "%y = smelt.reshape %x : !smelt.tensor<[n], f32> -> !smelt.tensor<[2, 3], f32>\n"
            "return %y : !smelt.tensor<[2, 3], f32>");
  EXPECT_TRUE(run(*wrong, {random({5}, "f32", 2)}).empty());
  EXPECT_NE(errors.find("cannot turn shape [5] into [2, 3]"), std::string::npos) << errors;
}

TEST_F(ViewTest, Expand) {
  HostTensor input = random({3, 1, 5}, "f32", 3);
  HostTensor result =
      runOp("smelt.expand %a : !smelt.tensor<[3, 1, 5], f32> -> !smelt.tensor<[2, 3, 4, 5], f32>",
            {"[3, 1, 5], f32"}, "[2, 3, 4, 5], f32", {input});
  Array from(input), expected({2, 3, 4, 5});
  Array::forEach(expected.shape, [&](const Index &at) { expected.at(at) = from.at(at); });
  EXPECT_EQ(valuesOf(result), expected.values);
}

TEST_F(ViewTest, TransposeByEveryPermutation) {
  // Sizes beyond one tile, and of 1, exercise the merging of axes.
  for (Shape shape : {Shape{2, 3, 4, 5}, Shape{1, 37, 1, 21}, Shape{3, 1, 40, 33}}) {
    Index permutation{0, 1, 2, 3};
    HostTensor input = random(shape, "f32", 4);
    Array from(input);
    do {
      Array expected({shape[permutation[0]], shape[permutation[1]], shape[permutation[2]],
                      shape[permutation[3]]});
      Array::forEach(expected.shape, [&](const Index &at) {
        Index source(4);
        for (int axis = 0; axis < 4; ++axis)
          source[permutation[axis]] = at[axis];
        expected.at(at) = from.at(source);
      });
      std::string in = toString(llvm::ArrayRef(shape)) + ", f32",
                  out = toString(llvm::ArrayRef(expected.shape)) + ", f32";
      HostTensor result = runOp("smelt.transpose %a " + toString(llvm::ArrayRef(permutation)) +
                                    " : !smelt.tensor<" + in + "> -> !smelt.tensor<" + out + ">",
                                {in}, out, {input});
      ASSERT_EQ(valuesOf(result), expected.values) << out;
    } while (std::next_permutation(permutation.begin(), permutation.end()));
  }
}

TEST_F(ViewTest, SliceWithStepsBothWays) {
  HostTensor input = random({7, 5}, "f32", 5);
  HostTensor result = runOp("smelt.slice %a starts [#smelt.dim<6>, #smelt.dim<1>] steps [-2, 3] : "
                            "!smelt.tensor<[7, 5], f32> -> "
                            "!smelt.tensor<[3, 2], f32>",
                            {"[7, 5], f32"}, "[3, 2], f32", {input});
  Array from(input), expected({3, 2});
  Array::forEach(expected.shape, [&](const Index &at) {
    expected.at(at) = from.at({6 - 2 * at[0], 1 + 3 * at[1]});
  });
  EXPECT_EQ(valuesOf(result), expected.values);
}

TEST_F(ViewTest, SliceAtASymbolicStart) {
  std::string in = "!smelt.tensor<[n], f32>", out = "!smelt.tensor<[2], f32>";
  auto module = parse("(%x: " + in + ") -> " + out,
                      "%y = smelt.slice %x starts [#smelt.dim<n - 3>] steps [1] : " + in + " -> " +
                          out + "\nreturn %y : " + out);
  HostTensor input = random({9}, "f32", 6);
  std::vector<HostTensor> results = run(*module, {input});
  ASSERT_EQ(results.size(), 1u) << errors;
  EXPECT_EQ(valuesOf(results[0]), (std::vector<double>{input.getDouble(6), input.getDouble(7)}));
  EXPECT_TRUE(run(*module, {random({2}, "f32", 6)}).empty());
  EXPECT_NE(errors.find("leaves axis 0 of shape [2]: 2 elements from -1 in steps of 1"),
            std::string::npos)
      << errors;
}

TEST_F(ViewTest, EmptySlice) {
  HostTensor result =
      runOp("smelt.slice %a starts [#smelt.dim<5>] steps [1] : !smelt.tensor<[5], f32> -> "
            "!smelt.tensor<[0], f32>",
            {"[5], f32"}, "[0], f32", {random({5}, "f32", 7)});
  ASSERT_TRUE(result) << errors;
  EXPECT_EQ(result.getNumElements(), 0);
}

TEST_F(ViewTest, ConcatAlongEachAxis) {
  for (int64_t axis : {0, 1, 2}) {
    Shape shapes[3] = {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}}, total{2, 3, 4};
    shapes[1][axis] = 1;
    shapes[2][axis] = 0;
    total[axis] += 1;
    std::vector<std::string> types;
    std::vector<HostTensor> inputs;
    for (Shape &shape : shapes) {
      types.push_back(toString(llvm::ArrayRef(shape)) + ", i32");
      inputs.push_back(random(shape, "i32", 8 + inputs.size(), {-100, 100}));
    }
    std::string out = toString(llvm::ArrayRef(total)) + ", i32", list;
    for (auto &type : types)
      list += (list.empty() ? "" : ", ") + ("!smelt.tensor<" + type + ">");
    HostTensor result = runOp("smelt.concat %a, %b, %c axis " + std::to_string(axis) + " : " +
                                  list + " -> !smelt.tensor<" + out + ">",
                              types, out, inputs);
    Array first(inputs[0]), second(inputs[1]), expected(Index(total.begin(), total.end()));
    Array::forEach(expected.shape, [&](const Index &at) {
      Index rest = at;
      rest[axis] -= shapes[0][axis];
      expected.at(at) = rest[axis] < 0 ? first.at(at) : second.at(rest);
    });
    EXPECT_EQ(valuesOf(result), expected.values) << errors;
  }
}

TEST_F(ViewTest, WindowsOverlapAndSkip) {
  HostTensor input = random({2, 9, 3}, "f32", 11);
  Array from(input);
  for (auto [stride, dilation, count, length] :
       {std::tuple(1, 1, 7, 3), {3, 2, 2, 3}, {2, 1, 5, 1}, {4, 4, 2, 2}, {1, 1, 0, 3}}) {
    Array expected({2, count, length, 3});
    Array::forEach(expected.shape, [&, stride = stride, dilation = dilation](const Index &at) {
      expected.at(at) = from.at({at[0], at[1] * stride + at[2] * dilation, at[3]});
    });
    std::string out = "[2, " + std::to_string(count) + ", " + std::to_string(length) + ", 3], f32";
    HostTensor result =
        runOp("smelt.windows %a axis 1 stride " + std::to_string(stride) + " dilation " +
                  std::to_string(dilation) + " : <[2, 9, 3], f32> -> <" + out + ">",
              {"[2, 9, 3], f32"}, out, {input});
    EXPECT_EQ(valuesOf(result), expected.values) << errors;
  }
}

TEST_F(ViewTest, WindowsOutsideTheAxisAreRefused) {
  auto module = parse("(%x: !smelt.tensor<[n], f32>) -> !smelt.tensor<[4, 3], f32>",
                      "%y = smelt.windows %x axis 0 stride 2 dilation 1 : <[n], f32> -> <[4, 3], "
                      "f32>\nreturn %y : !smelt.tensor<[4, 3], f32>");
  EXPECT_EQ(run(*module, {random({9}, "f32", 1)}).size(), 1u) << errors;
  EXPECT_TRUE(run(*module, {random({8}, "f32", 1)}).empty());
  EXPECT_NE(errors.find("leaves axis 0 of shape [8]: 4 windows of 3 elements"), std::string::npos)
      << errors;
}

} // namespace
} // namespace smelt::test
