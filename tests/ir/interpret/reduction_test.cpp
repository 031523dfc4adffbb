// Reductions, softmax, norms and running sums against plain loops in double.
#include "tests/ir/interpret/interpret_test.h"
#include "tests/ir/interpret/reference.h"

#include <set>

namespace smelt::test {
namespace {

class ReductionTest : public InterpretTest {
protected:
  HostTensor reduce(const std::string &kind, const HostTensor &input, const Index &axes,
                    const std::string &element) {
    Shape shape(input.getShape());
    for (int64_t axis : axes)
      shape[axis] = 1;
    std::string in = toString(input.getShape()) + ", " + element,
                out = toString(llvm::ArrayRef(shape)) + ", " + element;
    return runOp("smelt.reduce " + kind + " %a axes " + toString(llvm::ArrayRef(axes)) +
                     " : !smelt.tensor<" + in + "> -> !smelt.tensor<" + out + ">",
                 {in}, out, {input});
  }
};

std::vector<double> reduceReference(const std::string &kind, Array input, const Index &axes) {
  std::set<int64_t> reduced(axes.begin(), axes.end());
  Index outer = input.shape, inner(input.shape.size(), 1);
  for (int64_t axis : reduced)
    outer[axis] = 1, inner[axis] = input.shape[axis];
  std::vector<double> results;
  Array::forEach(outer, [&](const Index &start) {
    double sum = 0, product = 1, least = INFINITY, largest = -INFINITY, count = 0;
    Array::forEach(inner, [&](const Index &step) {
      Index at = start;
      for (size_t axis = 0; axis < at.size(); ++axis)
        at[axis] += step[axis];
      double x = input.at(at);
      sum += x, product *= x, ++count;
      least = std::min(least, x), largest = std::max(largest, x);
    });
    results.push_back(kind == "sum"    ? sum
                      : kind == "mean" ? sum / count
                      : kind == "prod" ? product
                      : kind == "max"  ? largest
                                       : least);
  });
  return results;
}

TEST_F(ReductionTest, ReduceOverAnyAxes) {
  for (const char *kind : {"sum", "mean", "max", "min", "prod"}) {
    for (const Index &axes : std::vector<Index>{
             {0}, {1}, {2}, {3}, {0, 1}, {1, 3}, {2, 3}, {0, 3}, {0, 1, 2, 3}, {}, {3, 1}}) {
      SCOPED_TRACE(std::string(kind) + " " + toString(llvm::ArrayRef(axes)));
      HostTensor input = random({3, 4, 2, 5}, "f32", 1);
      expectNear(reduce(kind, input, axes, "f32"), reduceReference(kind, Array(input), axes), 1e-5);
    }
  }
}

TEST_F(ReductionTest, ReduceLongRows) {
  for (const char *element : {"f16", "f64"}) {
    HostTensor input = random({70, 1003}, element, 2);
    for (const char *kind : {"sum", "mean", "max"})
      for (const Index &axes : std::vector<Index>{{0}, {1}})
        expectNear(reduce(kind, input, axes, element), reduceReference(kind, Array(input), axes),
                   std::string(element) == "f64" ? 1e-12 : 1e-6);
  }
}

TEST_F(ReductionTest, ReduceIntegersNanAndNothing) {
  HostTensor integers3 = integers({2, 3}, {1, 2, 6, -5, 4, -6});
  expectNear(reduce("sum", integers3, {1}, "i64"), {9, -7}, 0);
  expectNear(reduce("mean", integers3, {1}, "i64"), {3, -2}, 0); // truncated, as division is
  expectNear(reduce("prod", integers3, {1}, "i64"), {12, 120}, 0);
  expectNear(reduce("max", integers3, {1}, "i64"), {6, 4}, 0);
  HostTensor unsigned64 = integers({1, 3}, {-1, 4, std::numeric_limits<int64_t>::min()}, "ui64");
  expectNear(reduce("max", unsigned64, {1}, "ui64"), {0x1p64}, 0);
  expectNear(reduce("min", unsigned64, {1}, "ui64"), {4}, 0);
  expectNear(reduce("mean", integers({1, 2}, {-1, -1}, "ui64"), {1}, "ui64"), {0x1p63}, 0);
  HostTensor unsigned32 = integers({1, 2}, {4294967295, 2}, "ui32");
  expectNear(reduce("sum", unsigned32, {1}, "ui32"), {1}, 0); // wraps
  expectNear(reduce("max", integers({1, 0}, {}, "i8"), {1}, "i8"), {-128}, 0);
  expectNear(reduce("min", integers({1, 0}, {}, "ui16"), {1}, "ui16"), {65535}, 0);
  expectNear(reduce("min", integers({1, 0}, {}, "ui64"), {1}, "ui64"), {0x1p64}, 0);
  HostTensor nan = floats({2, 2}, {1, NAN, NAN, 1});
  expectNear(reduce("max", nan, {1}, "f32"), {NAN, NAN}, 0);
  expectNear(reduce("min", nan, {1}, "f32"), {NAN, NAN}, 0);
  HostTensor nothing = floats({2, 0}, {});
  expectNear(reduce("sum", nothing, {1}, "f32"), {0, 0}, 0);
  expectNear(reduce("prod", nothing, {1}, "f32"), {1, 1}, 0);
  expectNear(reduce("max", nothing, {1}, "f32"), {-INFINITY, -INFINITY}, 0);
  expectNear(reduce("mean", nothing, {1}, "f32"), {NAN, NAN}, 0);
}

TEST_F(ReductionTest, SoftmaxAlongEachAxis) {
  for (const char *element : {"f32", "f64"}) {
    for (int64_t axis : {0, 1, 2}) {
      std::string type = "[5, 70, 33], " + std::string(element);
      HostTensor input = random({5, 70, 33}, element, 3, {0, 2, 8.0});
      HostTensor result =
          runOp("smelt.softmax %a axis " + std::to_string(axis) + " : !smelt.tensor<" + type + ">",
                {type}, type, {input});
      expectNear(result, softmaxReference(Array(input), axis).values,
                 std::string(element) == "f64" ? 1e-14 : 2e-7);
    }
  }
}

TEST_F(ReductionTest, SoftmaxOfMaskedRows) {
  HostTensor input = floats(
      {3, 3}, {-INFINITY, 0, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 1e30f, -1e30f, 1e30f});
  HostTensor result = runOp("smelt.softmax %a axis 1 : !smelt.tensor<[3, 3], f32>", {"[3, 3], f32"},
                            "[3, 3], f32", {input});
  expectNear(result, {0, 1, 0, NAN, NAN, NAN, 0.5, 0, 0.5}, 1e-7);
}

std::vector<double> normReference(Array x, int64_t axis, double epsilon, bool centered,
                                  const std::vector<double> &scale,
                                  const std::vector<double> &bias) {
  size_t columns = 1;
  for (size_t i = axis; i < x.shape.size(); ++i)
    columns *= x.shape[i];
  std::vector<double> result = x.values;
  for (size_t row = 0; row < result.size() / columns; ++row) {
    double *values = result.data() + row * columns, mean = 0, square = 0;
    for (size_t i = 0; i < columns; ++i)
      mean += centered ? values[i] / columns : 0;
    for (size_t i = 0; i < columns; ++i)
      square += (values[i] - mean) * (values[i] - mean) / columns;
    for (size_t i = 0; i < columns; ++i)
      values[i] =
          (values[i] - mean) / std::sqrt(square + epsilon) * (scale.empty() ? 1 : scale[i]) +
          (bias.empty() ? 0 : bias[i]);
  }
  return result;
}

TEST_F(ReductionTest, LayerNorm) {
  for (const char *element : {"f16", "f32", "f64"}) {
    for (int64_t axis : {1, 2}) {
      for (int operands : {1, 2, 3}) {
        std::string e = element, type = "[3, 5, 77], " + e,
                    part = axis == 1 ? "[5, 77], " + e : "[77], " + e;
        SCOPED_TRACE(type + " from " + std::to_string(axis) + " with " + std::to_string(operands));
        HostTensor x = random({3, 5, 77}, element, 4, {0, 2, 2.0}),
                   scale = random(axis == 1 ? Shape{5, 77} : Shape{77}, element, 5),
                   bias = random(axis == 1 ? Shape{5, 77} : Shape{77}, element, 6);
        std::vector<HostTensor> inputs{x, scale, bias};
        std::vector<std::string> types{type, part, part};
        inputs.resize(operands), types.resize(operands);
        std::string text =
            "smelt.layer_norm %a" +
            (operands > 1 ? " scale %b : !smelt.tensor<" + part + ">" : std::string()) +
            (operands > 2 ? " bias %c : !smelt.tensor<" + part + ">" : std::string()) + " axis " +
            std::to_string(axis) + " {epsilon = 1.0e-5 : f32} : !smelt.tensor<" + type +
            "> -> !smelt.tensor<" + type + ">";
        auto expected = normReference(Array(x), axis, 1e-5f, true,
                                      operands > 1 ? valuesOf(scale) : std::vector<double>(),
                                      operands > 2 ? valuesOf(bias) : std::vector<double>());
        expectNear(runOp(text, types, type, inputs), expected, e == "f64" ? 1e-12 : 2e-6);
      }
    }
  }
}

TEST_F(ReductionTest, LayerNormWithBiasAlone) {
  HostTensor x = random({4, 9}, "f32", 7), bias = random({9}, "f32", 8);
  HostTensor result = runOp(
      "smelt.layer_norm %a bias %b : !smelt.tensor<[9], f32> axis 1 {epsilon = 1.0e-3 : f32} : "
      "!smelt.tensor<[4, 9], f32> -> !smelt.tensor<[4, 9], f32>",
      {"[4, 9], f32", "[9], f32"}, "[4, 9], f32", {x, bias});
  expectNear(result, normReference(Array(x), 1, 1e-3f, true, {}, valuesOf(bias)), 2e-6);
}

TEST_F(ReductionTest, NormOfAFarMeanKeepsItsDigits) {
  // A one-pass variance would lose everything here.
  HostTensor x = random({2, 768}, "f32", 9);
  for (float &value : x.mutableValues<float>())
    value = 4096 + value * 0.01f;
  HostTensor result = runOp("smelt.layer_norm %a axis 1 {epsilon = 0.0 : f32} : !smelt.tensor<[2, "
                            "768], f32> -> !smelt.tensor<[2, 768], f32>",
                            {"[2, 768], f32"}, "[2, 768], f32", {x});
  expectNear(result, normReference(Array(x), 1, 0, true, {}, {}), 1e-6);
}

TEST_F(ReductionTest, RmsNorm) {
  for (const char *element : {"f32", "f64"}) {
    std::string e = element, type = "[6, 130], " + e;
    HostTensor x = random({6, 130}, element, 10), scale = random({130}, element, 11);
    HostTensor result = runOp("smelt.rms_norm %a scale %b : !smelt.tensor<[130], " + e +
                                  "> axis 1 {epsilon = 1.0e-6 : f32} : !smelt.tensor<" + type +
                                  "> -> !smelt.tensor<" + type + ">",
                              {type, "[130], " + e}, type, {x, scale});
    expectNear(result, normReference(Array(x), 1, 1e-6f, false, valuesOf(scale), {}),
               e == "f64" ? 1e-12 : 2e-6);
  }
}

TEST_F(ReductionTest, NormRefusesAScaleThatDoesNotFit) {
  auto module = parse(
      "(%x: !smelt.tensor<[4, n], f32>, %s: !smelt.tensor<[m], f32>) -> !smelt.tensor<[4, n], f32>",
      "%y = smelt.layer_norm %x scale %s : !smelt.tensor<[m], f32> axis 1 {epsilon = 1.0e-3 : f32} "
      ": "
      "!smelt.tensor<[4, n], f32> -> !smelt.tensor<[4, n], f32>\nreturn %y : !smelt.tensor<[4, n], "
      "f32>");
  EXPECT_TRUE(run(*module, {random({4, 6}, "f32", 1), random({5}, "f32", 2)}).empty());
  EXPECT_NE(errors.find("scale or bias of shape [5] does not fit the normalised axes [6]"),
            std::string::npos)
      << errors;
}

TEST_F(ReductionTest, Cumprod) {
  auto cumprod = [&](const std::string &flags, const HostTensor &input,
                     const std::string &element) {
    std::string type = toString(input.getShape()) + ", " + element;
    return runOp("smelt.cumprod %a axis 0" + flags + " : !smelt.tensor<" + type + ">", {type}, type,
                 {input});
  };
  HostTensor x = integers({3}, {2, -3, 4});
  expectNear(cumprod("", x, "i64"), {2, -6, -24}, 0);
  expectNear(cumprod(" exclusive", x, "i64"), {1, 2, -6}, 0);
  expectNear(cumprod(" reverse", x, "i64"), {-24, -12, 4}, 0);
  expectNear(cumprod(" exclusive reverse", x, "i64"), {-12, 4, 1}, 0);
  // 2^32 + 2^16 wraps.
  expectNear(cumprod("", integers({2}, {65536, 65537}, "i32"), "i32"), {65536, 65536}, 0);
  expectNear(cumprod("", floats({3}, {0.5f, 0.25f, 4}), "f32"), {0.5, 0.125, 0.5}, 0);
}

TEST_F(ReductionTest, Cumsum) {
  auto cumsum = [&](const std::string &flags, const HostTensor &input, const std::string &element,
                    int64_t axis) {
    std::string type = toString(input.getShape()) + ", " + element;
    return runOp("smelt.cumsum %a axis " + std::to_string(axis) + flags + " : !smelt.tensor<" +
                     type + ">",
                 {type}, type, {input});
  };
  HostTensor x = integers({2, 3}, {1, 2, 3, 4, 5, 6});
  expectNear(cumsum("", x, "i64", 1), {1, 3, 6, 4, 9, 15}, 0);
  expectNear(cumsum("", x, "i64", 0), {1, 2, 3, 5, 7, 9}, 0);
  expectNear(cumsum(" exclusive", x, "i64", 1), {0, 1, 3, 0, 4, 9}, 0);
  expectNear(cumsum(" reverse", x, "i64", 1), {6, 5, 3, 15, 11, 6}, 0);
  expectNear(cumsum(" exclusive reverse", x, "i64", 1), {5, 3, 0, 11, 6, 0}, 0);
  expectNear(cumsum("", floats({3}, {0.5f, 0.25f, 1}), "f32", 0), {0.5, 0.75, 1.75}, 0);
}

} // namespace
} // namespace smelt::test
