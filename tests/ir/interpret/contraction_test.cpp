// Matrix products, attention and convolution against plain loops in double.
#include "tests/ir/interpret/interpret_test.h"
#include "tests/ir/interpret/reference.h"

namespace smelt::test {
namespace {

class ContractionTest : public InterpretTest {
protected:
  void expectClose(const HostTensor &result, const Array &expected, double tolerance) {
    ASSERT_TRUE(result) << errors;
    HostTensor reference =
        HostTensor::fromValues<double>(expected.shape, type("f64"), expected.values);
    std::optional<ErrorStatistics> error = compare(result, reference);
    ASSERT_TRUE(error) << toString(result.getShape());
    EXPECT_TRUE(error->within(tolerance)) << toString(*error);
    EXPECT_LT(error->worst, 50 * tolerance) << toString(*error);
  }
};

std::string tensorText(llvm::ArrayRef<int64_t> shape, const std::string &element) {
  return toString(shape) + ", " + element;
}

Array matmulReference(Array a, Array b, Index batch) {
  int64_t m = a.shape[a.shape.size() - 2], k = a.shape.back(), n = b.shape.back();
  Index shape = batch;
  shape.insert(shape.end(), {m, n});
  Array c(shape);
  // A copy of each operand's index with k in place of n or m.
  Array::forEach(shape, [&](const Index &at) {
    Index left = at, right = at;
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      left[left.size() - 1] = right[right.size() - 2] = i;
      sum += a.at(left) * b.at(right);
    }
    c.at(at) = sum;
  });
  return c;
}

TEST_F(ContractionTest, Matmul) {
  struct Case {
    Shape lhs, rhs;
    Index batch;
  };
  std::vector<Case> cases = {{{3, 4}, {4, 5}, {}},
                             {{1, 70}, {70, 33}, {}},
                             {{70, 1}, {1, 33}, {}},
                             {{65, 129}, {129, 1}, {}},
                             {{2, 5, 7}, {7, 3}, {2}},
                             {{2, 5, 7}, {2, 7, 3}, {2}},
                             {{5, 7}, {2, 7, 3}, {2}},
                             {{2, 1, 5, 7}, {3, 7, 4}, {2, 3}},
                             {{2, 3, 130, 70}, {1, 3, 70, 150}, {2, 3}},
                             {{200, 300}, {300, 400}, {}},
                             {{2, 0}, {0, 3}, {}},
                             {{0, 4}, {4, 3}, {}},
                             {{0, 2, 4}, {4, 3}, {0}},
                             {{0, 2, 4}, {1, 4, 3}, {0}}};
  for (const Case &test : cases) {
    for (const char *element : {"f16", "f32", "f64"}) {
      HostTensor a = random(test.lhs, element, 1), b = random(test.rhs, element, 2);
      Array expected = matmulReference(Array(a), Array(b), test.batch);
      std::string left = tensorText(test.lhs, element), right = tensorText(test.rhs, element),
                  out = tensorText(expected.shape, element);
      SCOPED_TRACE(left + " x " + right);
      HostTensor result = runOp("smelt.matmul %a, %b : !smelt.tensor<" + left +
                                    ">, !smelt.tensor<" + right + "> -> !smelt.tensor<" + out + ">",
                                {left, right}, out, {a, b});
      expectClose(result, expected, std::string(element) == "f64" ? 1e-14 : 1e-6);
    }
  }
}

TEST_F(ContractionTest, MatmulOfIntegersWrapsAround) {
  auto multiply = [&](const std::string &type, Integers left, Integers right) {
    HostTensor a = integers({1, 2}, left, type), b = integers({2, 2}, right, type);
    return valuesOf(runOp("smelt.matmul %a, %b : !smelt.tensor<[1, 2], " + type +
                              ">, !smelt.tensor<[2, 2], " + type + "> -> !smelt.tensor<[1, 2], " +
                              type + ">",
                          {"[1, 2], " + type, "[2, 2], " + type}, "[1, 2], " + type, {a, b}));
  };
  using Values = std::vector<double>;
  EXPECT_EQ(multiply("i64", {2, -3}, {5, 7, 11, 13}), (Values{-23, -25})) << errors;
  EXPECT_EQ(multiply("i32", {65536, 1}, {65536, 32768, 5, 0}), (Values{5, -2147483648.0}));
  EXPECT_EQ(multiply("i16", {256, 1}, {257, 2, 3, 4}), (Values{259, 516}));
  int64_t large = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(multiply("i64", {large, 1}, {2, 2, 3, 4}), (Values{1, 2})); // -2 + 3, -2 + 4
}

TEST_F(ContractionTest, MatmulOfBytesHas32BitSums) {
  auto multiply = [&](const std::string &left, const std::string &right, int64_t depth, int64_t a,
                      int64_t b) {
    std::string row = "[1, " + std::to_string(depth) + "], " + left,
                column = "[" + std::to_string(depth) + ", 1], " + right;
    HostTensor lhs = integers({1, depth}, Integers(static_cast<size_t>(depth), a), left),
               rhs = integers({depth, 1}, Integers(static_cast<size_t>(depth), b), right);
    return valuesOf(runOp("smelt.matmul %a, %b : !smelt.tensor<" + row + ">, !smelt.tensor<" +
                              column + "> -> !smelt.tensor<[1, 1], i32>",
                          {row, column}, "[1, 1], i32", {lhs, rhs}));
  };
  using Values = std::vector<double>;
  EXPECT_EQ(multiply("i8", "i8", 3, -128, 127), (Values{-48768})) << errors;
  EXPECT_EQ(multiply("ui8", "i8", 3, 255, -128), (Values{-97920}));
  EXPECT_EQ(multiply("i8", "ui8", 3, -128, 255), (Values{-97920}));
  EXPECT_EQ(multiply("ui8", "ui8", 40000, 255, 255), (Values{2601000000.0 - 4294967296.0}));
}

TEST_F(ContractionTest, MatmulOfFloatsOf8BitsHasFloatSums) {
  const std::string left = "[3, 300], f8E4M3FN", right = "[300, 5], f8E5M2";
  HostTensor a = random({3, 300}, "f32", 3).declaredAs(mlir::Float8E4M3FNType::get(&context)),
             b = random({300, 5}, "f32", 4).declaredAs(mlir::Float8E5M2Type::get(&context));
  for (Precision precision : {Precision::f32, Precision::f64}) {
    HostTensor result = runOp("smelt.matmul %a, %b : !smelt.tensor<" + left + ">, !smelt.tensor<" +
                                  right + "> -> !smelt.tensor<[3, 5], f32>",
                              {left, right}, "[3, 5], f32", {a, b}, precision);
    expectClose(result, matmulReference(Array(a), Array(b), {}), 1e-6);
  }
}

TEST_F(ContractionTest, MatmulInDoublePrecision) {
  HostTensor a = random({40, 300}, "f16", 3), b = random({300, 20}, "f16", 4);
  HostTensor result =
      runOp("smelt.matmul %a, %b : !smelt.tensor<[40, 300], f16>, !smelt.tensor<[300, 20], f16> -> "
            "!smelt.tensor<[40, 20], f16>",
            {"[40, 300], f16", "[300, 20], f16"}, "[40, 20], f16", {a, b}, Precision::f64);
  expectClose(result, matmulReference(Array(a), Array(b), {}), 1e-14);
}

TEST_F(ContractionTest, MatmulOfSymbolsThatDisagree) {
  auto module = parse("(%a: !smelt.tensor<[2, n], f32>, %b: !smelt.tensor<[m, 3], f32>) -> "
                      "!smelt.tensor<[2, 3], f32>",
                      "%y = smelt.matmul %a, %b : !smelt.tensor<[2, n], f32>, !smelt.tensor<[m, "
                      "3], f32> -> !smelt.tensor<[2, 3], f32> loc(\"MatMul_7\")\n"
                      "return %y : !smelt.tensor<[2, 3], f32>");
  EXPECT_TRUE(run(*module, {random({2, 4}, "f32", 1), random({5, 3}, "f32", 2)}).empty());
  EXPECT_NE(errors.find("MatMul_7"), std::string::npos) << errors;
  EXPECT_NE(errors.find("cannot multiply shape [2, 4] by [5, 3]"), std::string::npos) << errors;
}

struct AttentionCase {
  const char *name;
  int64_t batch, heads, groups, queries, keys, width, valueWidth;
  Shape bias = {};
  bool causal = false, zeroMaskedRows = false;
  float softcap = 0, scale = 0.125f;
  double maskedShare = 0; // of the bias
};

Array attentionReference(const AttentionCase &test, Array q, Array k, Array v, Array *bias) {
  Array scores({test.batch, test.heads, test.queries, test.keys});
  Array::forEach(scores.shape, [&](const Index &at) {
    int64_t group = at[1] / (test.heads / test.groups);
    double sum = 0;
    for (int64_t d = 0; d < test.width; ++d)
      sum += q.at({at[0], at[1], at[2], d}) * k.at({at[0], group, at[3], d});
    sum *= test.scale;
    if (test.softcap > 0)
      sum = test.softcap * std::tanh(sum / test.softcap);
    if (bias)
      sum += bias->at(at);
    if (test.causal && at[3] > at[2] + test.keys - test.queries)
      sum = -std::numeric_limits<double>::infinity();
    scores.at(at) = sum;
  });
  Array weights = softmaxReference(scores, 3),
        output({test.batch, test.heads, test.queries, test.valueWidth});
  Array::forEach(output.shape, [&](const Index &at) {
    int64_t group = at[1] / (test.heads / test.groups);
    double sum = 0;
    for (int64_t j = 0; j < test.keys; ++j)
      sum += weights.at({at[0], at[1], at[2], j}) * v.at({at[0], group, j, at[3]});
    output.at(at) = test.zeroMaskedRows && std::isnan(sum) ? 0 : sum;
  });
  return output;
}

TEST_F(ContractionTest, Attention) {
  std::vector<AttentionCase> cases = {
      {"plain", 2, 3, 3, 17, 17, 16, 16},
      {"many rows", 1, 2, 2, 300, 260, 8, 8},
      {"grouped", 2, 6, 2, 5, 9, 8, 8},
      {"value width", 1, 2, 1, 5, 9, 8, 12},
      {"padding bias", 2, 2, 2, 7, 9, 8, 8, {2, 1, 1, 9}, false, false, 0, 0.3f, 0.4},
      {"distance bias", 2, 2, 2, 7, 9, 8, 8, {2, 7, 9}},
      {"scalar bias", 1, 2, 2, 7, 9, 8, 8, {}},
      {"causal", 2, 2, 2, 9, 9, 8, 8, {}, true},
      {"causal with past", 1, 2, 2, 4, 11, 8, 8, {1, 1, 4, 11}, true},
      {"causal, rows without keys", 1, 2, 2, 11, 4, 8, 8, {}, true, true},
      {"softcap", 1, 2, 2, 6, 6, 8, 8, {}, false, false, 1.5f, 1.0f},
      {"masked rows are zero", 1, 1, 1, 6, 6, 8, 8, {1, 1, 6, 6}, false, true, 0, 0.2f, 1.0},
      {"masked rows are NaN", 1, 1, 1, 6, 6, 8, 8, {1, 1, 6, 6}, false, false, 0, 0.2f, 1.0},
      {"one query", 2, 4, 4, 1, 33, 16, 16},
  };
  for (const AttentionCase &test : cases) {
    for (const char *element : {"f32", "f64"}) {
      SCOPED_TRACE(std::string(test.name) + " " + element);
      HostTensor q = random({test.batch, test.heads, test.queries, test.width}, element, 1),
                 k = random({test.batch, test.groups, test.keys, test.width}, element, 2),
                 v = random({test.batch, test.groups, test.keys, test.valueWidth}, element, 3);
      std::vector<HostTensor> inputs{q, k, v};
      std::vector<std::string> types;
      bool biased = !test.bias.empty() || std::string(test.name) == "scalar bias";
      if (biased) {
        HostTensor bias = random(test.bias, "f32", 4);
        Random draw(5);
        for (float &value : bias.mutableValues<float>())
          if (draw.uniform() < test.maskedShare)
            value = -INFINITY;
        inputs.push_back(HostTensor::fromValues<double>(test.bias, type("f64"), valuesOf(bias)));
        if (std::string(element) == "f32")
          inputs.back() = bias;
      }
      for (HostTensor &input : inputs)
        types.push_back(tensorText(input.getShape(), element));
      std::string out =
          tensorText({test.batch, test.heads, test.queries, test.valueWidth}, element);
      std::string text = "smelt.attention %a, %b, %c" +
                         (biased ? " bias %d : !smelt.tensor<" + types[3] + ">" : std::string()) +
                         " {scale = " + std::to_string(test.scale) +
                         " : f32, softcap = " + std::to_string(test.softcap) + " : f32" +
                         (test.causal ? ", causal" : "") +
                         (test.zeroMaskedRows ? ", zero_masked_rows" : "") + "} : !smelt.tensor<" +
                         types[0] + ">, !smelt.tensor<" + types[1] + ">, !smelt.tensor<" +
                         types[2] + "> -> !smelt.tensor<" + out + ">";
      Array bias = biased ? Array(inputs[3]) : Array(Index{});
      Array expected =
          attentionReference(test, Array(q), Array(k), Array(v), biased ? &bias : nullptr);
      expectClose(runOp(text, types, out, inputs), expected,
                  std::string(element) == "f64" ? 1e-7 : 1e-6);
    }
  }
}

TEST_F(ContractionTest, AttentionRefusesABiasThatDoesNotBroadcast) {
  std::string q = "[1, 2, n, 8], f32", b = "[1, 2, n, m], f32";
  auto module = parse("(%q: !smelt.tensor<" + q + ">, %b: !smelt.tensor<" + b +
                          ">) -> !smelt.tensor<" + q + ">",
                      "%y = smelt.attention %q, %q, %q bias %b : !smelt.tensor<" + b +
                          "> {scale = 1.0 : f32} : !smelt.tensor<" + q + ">, !smelt.tensor<" + q +
                          ">, !smelt.tensor<" + q + "> -> !smelt.tensor<" + q +
                          ">\nreturn %y : !smelt.tensor<" + q + ">");
  EXPECT_TRUE(
      run(*module, {random({1, 2, 4, 8}, "f32", 1), random({1, 2, 4, 3}, "f32", 2)}).empty());
  EXPECT_NE(errors.find("bias [1, 2, 4, 3] does not broadcast to scores [1, 2, 4, 4]"),
            std::string::npos)
      << errors;
}

struct ConvCase {
  Shape input, filter;
  Index strides, pads, dilations;
  int64_t groups;
  bool bias;
};

Array convReference(const ConvCase &test, Array x, Array w, Array *bias) {
  size_t spatial = test.strides.size();
  Index shape{test.input[0], test.filter[0]};
  for (size_t axis = 0; axis < spatial; ++axis)
    shape.push_back((test.input[axis + 2] + test.pads[axis] + test.pads[axis + spatial] -
                     (test.filter[axis + 2] - 1) * test.dilations[axis] - 1) /
                        test.strides[axis] +
                    1);
  Array y(shape);
  Index window(test.filter.begin() + 1, test.filter.end());
  Array::forEach(shape, [&](const Index &at) {
    double sum = bias ? bias->values[at[1]] : 0;
    Array::forEach(window, [&](const Index &tap) {
      Index from{at[0], at[1] / (test.filter[0] / test.groups) * test.filter[1] + tap[0]},
          filter{at[1]};
      filter.insert(filter.end(), tap.begin(), tap.end());
      for (size_t axis = 0; axis < spatial; ++axis) {
        from.push_back(at[axis + 2] * test.strides[axis] - test.pads[axis] +
                       tap[axis + 1] * test.dilations[axis]);
        if (from.back() < 0 || from.back() >= test.input[axis + 2])
          return;
      }
      // at() would broadcast axes of size 1; no coordinate differs from 0 there.
      sum += x.at(from) * w.at(filter);
    });
    y.at(at) = sum;
  });
  return y;
}

TEST_F(ContractionTest, Convolution) {
  std::vector<ConvCase> cases = {
      {{2, 3, 8, 8}, {5, 3, 4, 4}, {4, 4}, {0, 0, 0, 0}, {1, 1}, 1, true},  // patches
      {{1, 4, 7, 9}, {6, 4, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, false}, // same size
      {{2, 4, 9, 7}, {6, 2, 3, 2}, {2, 1}, {1, 0, 2, 1}, {1, 2}, 2, true},  // groups, uneven
                                                                            // padding, dilation
      {{1, 5, 6, 6}, {5, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 5, true},  // depthwise
      {{2, 3, 20}, {4, 3, 5}, {2}, {2, 2}, {1}, 1, true},                   // one axis
      {{1, 2, 4, 5, 6},
       {3, 2, 2, 2, 2},
       {1, 2, 1},
       {0, 0, 0, 0, 0, 0},
       {1, 1, 1},
       1,
       false}, // three axes
  };
  for (const ConvCase &test : cases) {
    for (const char *element : {"f32", "f64"}) {
      HostTensor x = random(test.input, element, 1), w = random(test.filter, element, 2),
                 b = random({test.filter[0]}, element, 3);
      Array bias(b),
          expected = convReference(test, Array(x), Array(w), test.bias ? &bias : nullptr);
      std::string xs = tensorText(test.input, element), ws = tensorText(test.filter, element),
                  bs = tensorText({test.filter[0]}, element),
                  out = tensorText(expected.shape, element);
      SCOPED_TRACE(xs + " * " + ws);
      auto list = [](const Index &values) {
        std::string text = toString(llvm::ArrayRef(values));
        return "array<i64: " + text.substr(1, text.size() - 2) + ">";
      };
      std::string text = "smelt.conv %a, %b" +
                         (test.bias ? " bias %c : !smelt.tensor<" + bs + ">" : std::string()) +
                         " {strides = " + list(test.strides) + ", pads = " + list(test.pads) +
                         ", dilations = " + list(test.dilations) +
                         ", groups = " + std::to_string(test.groups) + " : i64} : !smelt.tensor<" +
                         xs + ">, !smelt.tensor<" + ws + "> -> !smelt.tensor<" + out + ">";
      std::vector<HostTensor> inputs{x, w};
      std::vector<std::string> types{xs, ws};
      if (test.bias)
        inputs.push_back(b), types.push_back(bs);
      expectClose(runOp(text, types, out, inputs), expected,
                  std::string(element) == "f64" ? 1e-14 : 1e-6);
    }
  }
}

} // namespace
} // namespace smelt::test
