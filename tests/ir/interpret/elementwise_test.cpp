// Elementwise ops against the C++ library in double, on random inputs and at the edges.
#include "tests/ir/interpret/interpret_test.h"

#include <cmath>
#include <functional>
#include <limits>

namespace smelt::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double geluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

struct UnaryCase {
  const char *op;
  std::function<double(double)> function;
  const char *domain = ""; // an op whose results lie in it; "" for any number
};

std::vector<UnaryCase> unaryCases() {
  return {
      {"smelt.abs", [](double x) { return std::abs(x); }},
      {"smelt.neg", [](double x) { return -x; }},
      {"smelt.exp", [](double x) { return std::exp(x); }},
      {"smelt.expm1", [](double x) { return std::expm1(x); }},
      {"smelt.log", [](double x) { return std::log(x); }, "smelt.exp"},
      {"smelt.sqrt", [](double x) { return std::sqrt(x); }, "smelt.exp"},
      {"smelt.rsqrt", [](double x) { return 1 / std::sqrt(x); }, "smelt.exp"},
      {"smelt.reciprocal", [](double x) { return 1 / x; }, "smelt.exp"},
      {"smelt.sin", [](double x) { return std::sin(x); }},
      {"smelt.cos", [](double x) { return std::cos(x); }},
      {"smelt.tan", [](double x) { return std::tan(x); }},
      {"smelt.asin", [](double x) { return std::asin(x); }, "smelt.sin"},
      {"smelt.acos", [](double x) { return std::acos(x); }, "smelt.sin"},
      {"smelt.atan", [](double x) { return std::atan(x); }},
      {"smelt.sinh", [](double x) { return std::sinh(x); }},
      {"smelt.cosh", [](double x) { return std::cosh(x); }},
      {"smelt.asinh", [](double x) { return std::asinh(x); }},
      {"smelt.acosh", [](double x) { return std::acosh(x); }, "smelt.cosh"},
      {"smelt.atanh", [](double x) { return std::atanh(x); }, "smelt.sin"},
      {"smelt.tanh", [](double x) { return std::tanh(x); }},
      {"smelt.erf", [](double x) { return std::erf(x); }},
      {"smelt.sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"smelt.silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"smelt.relu", [](double x) { return x > 0 ? x : 0; }},
      {"smelt.softplus", [](double x) { return std::log(1 + std::exp(x)); }},
      {"smelt.floor", [](double x) { return std::floor(x); }},
      {"smelt.ceil", [](double x) { return std::ceil(x); }},
      {"smelt.round", [](double x) { return std::nearbyint(x); }},
      {"smelt.sign", [](double x) { return (x > 0) - (x < 0); }},
      {"smelt.gelu", gelu},
  };
}

class ElementwiseTest : public InterpretTest {
protected:
  HostTensor unary(const std::string &op, const HostTensor &input, const std::string &element,
                   Precision precision = Precision::f32) {
    std::string type = toString(input.getShape()) + ", " + element;
    return runOp(op + " %a : !smelt.tensor<" + type + ">", {type}, type, {input}, precision);
  }
  HostTensor binary(const std::string &op, const HostTensor &lhs, const HostTensor &rhs,
                    const std::string &element, const std::string &shape,
                    const std::string &resultElement, const std::string &rhsElement = "") {
    std::string left = toString(lhs.getShape()) + ", " + element;
    std::string right =
        toString(rhs.getShape()) + ", " + (rhsElement.empty() ? element : rhsElement);
    std::string result = shape + ", " + resultElement;
    size_t space = op.find(' ');
    return runOp(op.substr(0, space) + " %a, %b" +
                     (space == std::string::npos ? "" : op.substr(space)) + " : !smelt.tensor<" +
                     left + ">, !smelt.tensor<" + right + "> -> !smelt.tensor<" + result + ">",
                 {left, right}, result, {lhs, rhs});
  }
};

TEST_F(ElementwiseTest, UnaryOpsAgreeWithTheLibrary) {
  for (const UnaryCase &test : unaryCases()) {
    for (const char *element : {"f16", "f32", "f64"}) {
      SCOPED_TRACE(std::string(test.op) + " " + element);
      HostTensor input = random({3, 411}, element, 1, {0, 2, 3.0});
      if (*test.domain)
        input = unary(test.domain, input, element);
      std::vector<double> expected = valuesOf(input);
      for (double &x : expected)
        x = test.function(x);
      bool wide = std::string(element) == "f64";
      expectNear(unary(test.op, input, element), expected, wide ? 1e-12 : 4e-7);
    }
  }
}

TEST_F(ElementwiseTest, DoublePrecisionComputesFloatsInDouble) {
  for (const UnaryCase &test : unaryCases()) {
    SCOPED_TRACE(test.op);
    HostTensor input = random({100}, "f32", 2);
    if (*test.domain)
      input = unary(test.domain, input, "f32");
    std::vector<double> expected = valuesOf(input);
    for (double &x : expected)
      x = test.function(x);
    expectNear(unary(test.op, input, "f32", Precision::f64), expected, 1e-13);
  }
}

TEST_F(ElementwiseTest, TanhApproximationOfGelu) {
  HostTensor input = random({1500}, "f32", 3, {0, 2, 3.0});
  std::vector<double> expected = valuesOf(input);
  for (double &x : expected)
    x = geluTanh(x);
  HostTensor result = runOp("smelt.gelu %a tanh : !smelt.tensor<[1500], f32>", {"[1500], f32"},
                            "[1500], f32", {input});
  expectNear(result, expected, 4e-7);
}

TEST_F(ElementwiseTest, FastFunctionsHoldTheirRelativeErrorOverTheWholeRange) {
  struct Range {
    const char *op;
    double low, high, tolerance;
    std::function<double(double)> function;
  };
  // Tails included: the values are compared relative to themselves, however small.
  std::vector<Range> ranges = {
      {"smelt.exp", -87, 88.7, 3e-7, [](double x) { return std::exp(x); }},
      {"smelt.expm1", -1e-3, 1e-3, 3e-7, [](double x) { return std::expm1(x); }},
      {"smelt.erf", -5, 5, 4e-7, [](double x) { return std::erf(x); }},
      {"smelt.tanh", -12, 12, 4e-7, [](double x) { return std::tanh(x); }},
      {"smelt.sigmoid", -80, 80, 4e-7, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"smelt.silu", -80, 80, 4e-7, [](double x) { return x / (1 + std::exp(-x)); }},
      {"smelt.gelu", -9, 9, 2e-5, gelu},
      {"smelt.gelu", -2, 9, 2e-6, gelu},
  };
  constexpr int kPoints = 200000;
  for (const Range &range : ranges) {
    SCOPED_TRACE(range.op);
    Floats points(kPoints);
    for (int i = 0; i < kPoints; ++i)
      points[i] = static_cast<float>(range.low + (range.high - range.low) * i / (kPoints - 1));
    HostTensor result = unary(range.op, floats({kPoints}, points), "f32");
    double worst = 0;
    for (int i = 0; i < kPoints; ++i) {
      double expected = range.function(points[i]);
      if (expected != 0)
        worst = std::max(worst, std::abs(result.getDouble(i) - expected) / std::abs(expected));
    }
    EXPECT_LT(worst, range.tolerance);
  }
}

TEST_F(ElementwiseTest, FastFunctionsAtTheEdges) {
  float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  HostTensor edges = floats({6}, {inf, -inf, nan, 0, 1000, -1000});
  expectNear(unary("smelt.exp", edges, "f32"), {kInfinity, 0, kNan, 1, kInfinity, 0}, 0);
  expectNear(unary("smelt.erf", edges, "f32"), {1, -1, kNan, 0, 1, -1}, 0);
  expectNear(unary("smelt.tanh", edges, "f32"), {1, -1, kNan, 0, 1, -1}, 0);
  expectNear(unary("smelt.sigmoid", edges, "f32"), {1, 0, kNan, 0.5, 1, 0}, 0);
  expectNear(unary("smelt.relu", edges, "f32"), {kInfinity, 0, kNan, 0, 1000, 0}, 0);
  // The smallest subnormals of exp, rounded once.
  expectNear(unary("smelt.exp", floats({2}, {-103.2f, -104.5f}), "f32"), {0x1p-149, 0}, 0);
}

TEST_F(ElementwiseTest, RoundTakesHalvesToEven) {
  expectNear(unary("smelt.round", floats({6}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.4f}), "f32"),
             {0, 2, 2, 0, -2, 2}, 0);
}

TEST_F(ElementwiseTest, UnaryOpsOnIntegersWrapAtTheirWidth) {
  HostTensor bytes = integers({4}, {-128, -1, 0, 127}, "i8");
  expectNear(unary("smelt.abs", bytes, "i8"), {-128, 1, 0, 127}, 0);
  expectNear(unary("smelt.neg", bytes, "i8"), {-128, 1, 0, -127}, 0);
  expectNear(unary("smelt.sign", bytes, "i8"), {-1, -1, 0, 1}, 0);
  expectNear(unary("smelt.relu", bytes, "i8"), {0, 0, 0, 127}, 0);
  expectNear(unary("smelt.not", integers({2}, {0, 1}, "i1"), "i1"), {1, 0}, 0);
  EXPECT_FALSE(unary("smelt.exp", bytes, "i8"));
  EXPECT_NE(errors.find("is not defined for element type 'i8'"), std::string::npos) << errors;
}

TEST_F(ElementwiseTest, Tests) {
  HostTensor edges = floats({4}, {1, INFINITY, -INFINITY, NAN});
  auto test = [&](const std::string &op) {
    return runOp(op + " %a : !smelt.tensor<[4], f32> -> !smelt.tensor<[4], i1>", {"[4], f32"},
                 "[4], i1", {edges});
  };
  expectNear(test("smelt.is_nan"), {0, 0, 0, 1}, 0);
  expectNear(test("smelt.is_inf"), {0, 1, 1, 0}, 0);
}

/// Positions of broadcast operands, computed the slow way.
std::vector<double> broadcastReference(const HostTensor &lhs, const HostTensor &rhs,
                                       const Shape &shape,
                                       const std::function<double(double, double)> &function) {
  auto at = [&](const HostTensor &tensor, int64_t position) {
    int64_t offset = 0, stride = 1, added = shape.size() - tensor.getRank();
    for (int64_t axis = shape.size(); axis-- > 0; position /= shape[axis]) {
      if (axis < added)
        continue;
      int64_t size = tensor.getSize(axis - added);
      offset += size == 1 ? 0 : position % shape[axis] * stride;
      stride *= size;
    }
    return tensor.getDouble(offset);
  };
  std::vector<double> values;
  for (int64_t i = 0; i < *elementCount(shape); ++i)
    values.push_back(function(at(lhs, i), at(rhs, i)));
  return values;
}

TEST_F(ElementwiseTest, BinaryOpsBroadcast) {
  std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3, 5}, {2, 3, 5}},    {{2, 3, 5}, {}},        {{}, {2, 3, 5}},
      {{2, 3, 5}, {5}},          {{2, 3, 5}, {3, 1}},    {{2, 1, 5}, {3, 1}},
      {{4, 1, 1, 7}, {2, 3, 1}}, {{1}, {1, 1}},          {{0, 3}, {3}},
      {{130, 300}, {300}},       {{130, 1}, {130, 300}}, {{2, 3, 1, 5}, {1, 1, 4, 1}},
  };
  for (auto &[left, right] : shapes) {
    SCOPED_TRACE(toString(llvm::ArrayRef(left)) + " " + toString(llvm::ArrayRef(right)));
    Shape shape;
    for (size_t axis = std::max(left.size(), right.size()); axis-- > 0;) {
      auto size = [&](const Shape &s) { return axis < s.size() ? s[s.size() - 1 - axis] : 1; };
      shape.push_back(size(left) == 1 ? size(right) : size(left));
    }
    HostTensor a = random(left, "f32", 4), b = random(right, "f32", 5);
    HostTensor result = binary("smelt.sub", a, b, "f32", toString(llvm::ArrayRef(shape)), "f32");
    expectNear(result, broadcastReference(a, b, shape, [](double x, double y) { return x - y; }),
               1e-6);
  }
}

TEST_F(ElementwiseTest, FloatArithmetic) {
  HostTensor a = floats({6}, {5.5f, -5.5f, 5.5f, -5.5f, 2, NAN}),
             b = floats({6}, {2, 2, -2, -2, 0.5f, 1});
  auto apply = [&](const std::string &op) { return binary(op, a, b, "f32", "[6]", "f32"); };
  expectNear(apply("smelt.add"), {7.5, -3.5, 3.5, -7.5, 2.5, kNan}, 1e-7);
  expectNear(apply("smelt.mul"), {11, -11, -11, 11, 1, kNan}, 1e-7);
  expectNear(apply("smelt.div"), {2.75, -2.75, -2.75, 2.75, 4, kNan}, 1e-7);
  expectNear(apply("smelt.min"), {2, -5.5, -2, -5.5, 0.5, kNan}, 0);
  expectNear(apply("smelt.max"), {5.5, 2, 5.5, -2, 2, kNan}, 0);
  expectNear(apply("smelt.mod"), {1.5, 0.5, -0.5, -1.5, 0, kNan}, 1e-7);
  expectNear(apply("smelt.mod fmod"), {1.5, -1.5, 1.5, -1.5, 0, kNan}, 1e-7);
  HostTensor zeros =
      binary("smelt.mod", floats({3}, {-4, 4, 0}), floats({3}, {2, -2, -1}), "f32", "[3]", "f32");
  expectNear(zeros, {0, 0, 0}, 0);
  for (auto [index, negative] : {std::pair(0, false), {1, true}, {2, true}})
    EXPECT_EQ(std::signbit(zeros.values<float>()[index]), negative) << index;
  expectNear(apply("smelt.pow"), {30.25, 30.25, 1 / 30.25, 1 / 30.25, std::sqrt(2.0), kNan}, 1e-7);
  expectNear(binary("smelt.min", b, a, "f32", "[6]", "f32"), {2, -5.5, -2, -5.5, 0.5, kNan}, 0);
}

TEST_F(ElementwiseTest, Comparisons) {
  HostTensor a = floats({4}, {1, 2, 3, NAN}), b = floats({4}, {2, 2, 2, NAN});
  auto apply = [&](const std::string &op) { return binary(op, a, b, "f32", "[4]", "i1"); };
  expectNear(apply("smelt.equal"), {0, 1, 0, 0}, 0);
  expectNear(apply("smelt.less"), {1, 0, 0, 0}, 0);
  expectNear(apply("smelt.less_equal"), {1, 1, 0, 0}, 0);
}

TEST_F(ElementwiseTest, IntegerArithmetic) {
  int64_t least = std::numeric_limits<int64_t>::min();
  HostTensor a = integers({6}, {7, -7, 7, -7, least, 5}), b = integers({6}, {2, 2, -2, -2, -1, 0});
  auto apply = [&](const std::string &op) { return binary(op, a, b, "i64", "[6]", "i64"); };
  auto equal = [](const HostTensor &tensor, const Integers &expected) {
    EXPECT_EQ(Integers(tensor.values<int64_t>()), expected);
  };
  equal(apply("smelt.div"), {3, -3, -3, 3, least, 0});
  equal(apply("smelt.mod"), {1, 1, -1, -1, 0, 0});
  equal(apply("smelt.mod fmod"), {1, -1, 1, -1, 0, 0});
  equal(apply("smelt.sub"), {5, -9, 9, -5, least + 1, 5});
  equal(binary("smelt.pow", integers({5}, {3, -2, 1, -1, 0}), integers({5}, {4, 3, -5, -3, 0}),
               "i64", "[5]", "i64"),
        {81, -8, 1, -1, 1});
  equal(binary("smelt.add", integers({1}, {100}, "i8"), integers({1}, {100}, "i8"), "i8", "[1]",
               "i8"),
        {-56});
  equal(binary("smelt.mul", integers({1}, {200}, "ui8"), integers({1}, {2}, "ui8"), "ui8", "[1]",
               "ui8"),
        {144});
}

TEST_F(ElementwiseTest, IntegersOf64BitsWithoutSign) {
  constexpr double kTop = 0x1p63;
  int64_t top = std::numeric_limits<int64_t>::min(), most = -1; // 2^63 and 2^64 - 1, by their bits
  HostTensor a = integers({4}, {top, most, 7, 0}, "ui64"),
             b = integers({4}, {3, top, most, 0}, "ui64");
  auto apply = [&](const std::string &op) { return binary(op, a, b, "ui64", "[4]", "ui64"); };
  auto equal = [](const HostTensor &tensor, const Integers &expected) {
    EXPECT_EQ(Integers(tensor.values<int64_t>()), expected);
  };
  equal(apply("smelt.min"), {3, top, 7, 0});
  equal(apply("smelt.max"), {top, most, most, 0});
  equal(apply("smelt.div"), {0x2aaaaaaaaaaaaaaa, 1, 0, 0});
  equal(apply("smelt.mod"), {2, std::numeric_limits<int64_t>::max(), 7, 0});
  equal(apply("smelt.mod fmod"), {2, std::numeric_limits<int64_t>::max(), 7, 0});
  equal(apply("smelt.sub"),
        {std::numeric_limits<int64_t>::max() - 2, std::numeric_limits<int64_t>::max(), 8, 0});
  expectNear(binary("smelt.less", a, b, "ui64", "[4]", "i1"), {0, 0, 1, 0}, 0);
  expectNear(binary("smelt.less_equal", a, b, "ui64", "[4]", "i1"), {0, 0, 1, 1}, 0);
  equal(unary("smelt.abs", a, "ui64"), {top, most, 7, 0});
  equal(unary("smelt.relu", a, "ui64"), {top, most, 7, 0});
  equal(unary("smelt.sign", a, "ui64"), {1, 1, 1, 0});
  equal(unary("smelt.neg", a, "ui64"), {top, 1, -7, 0});
  expectNear(a, {kTop, 2 * kTop, 7, 0}, 0);
}

TEST_F(ElementwiseTest, PowTakesAnExponentOfAnotherType) {
  HostTensor result = binary("smelt.pow", floats({2}, {3, 0.5f}), integers({2}, {2, -1}), "f32",
                             "[2]", "f32", "i64");
  expectNear(result, {9, 2}, 1e-7);
  result = binary("smelt.pow", integers({3}, {-1, 3, -2}, "i32"), integers({3}, {-1, 2, 3}, "ui64"),
                  "i32", "[3]", "i32", "ui64");
  expectNear(result, {-1, 9, -8}, 0);
  result = binary("smelt.pow", integers({3}, {-1, 1, 2}, "ui64"), integers({3}, {-1, -3, 5}),
                  "ui64", "[3]", "ui64", "i64");
  expectNear(result, {0, 1, 32}, 0);
}

TEST_F(ElementwiseTest, Bits) {
  auto apply = [&](const std::string &op, const Integers &a, const Integers &b,
                   const std::string &type) {
    std::string shape = "[" + std::to_string(a.size()) + "]";
    int64_t count = a.size();
    return binary(op, integers({count}, a, type), integers({count}, b, type), type, shape, type);
  };
  expectNear(apply("smelt.bit_and", {12, -1}, {10, 100}, "i8"), {8, 100}, 0);
  expectNear(apply("smelt.bit_or", {12, -128}, {10, 1}, "i8"), {14, -127}, 0);
  expectNear(apply("smelt.bit_xor", {12, 255}, {10, 1}, "ui8"), {6, 254}, 0);
  expectNear(unary("smelt.bit_not", integers({2}, {0, 5}, "ui16"), "ui16"), {65535, 65530}, 0);
  expectNear(unary("smelt.bit_not", integers({2}, {0, 5}, "i16"), "i16"), {-1, -6}, 0);
  expectNear(unary("smelt.bit_not", integers({1}, {0}, "ui64"), "ui64"), {0x1p64}, 0);
}

TEST_F(ElementwiseTest, ShiftsByTheWidthAndMore) {
  const Integers counts{0, 1, 7, 8, 9, 100};
  auto shift = [&](const std::string &op, int64_t value, const std::string &type, Integers by) {
    std::string shape = "[" + std::to_string(by.size()) + "]";
    int64_t count = by.size();
    return binary(op, integers({1}, {value}, type), integers({count}, by, type), type, shape, type);
  };
  expectNear(shift("smelt.shift_left", 3, "ui8", counts), {3, 6, 128, 0, 0, 0}, 0);
  expectNear(shift("smelt.shift_right", 200, "ui8", counts), {200, 100, 1, 0, 0, 0}, 0);
  expectNear(shift("smelt.shift_left", 65, "i8", counts), {65, -126, -128, 0, 0, 0}, 0);
  expectNear(shift("smelt.shift_right", -128, "i8", counts), {-128, -64, -1, -1, -1, -1}, 0);
  expectNear(shift("smelt.shift_right", 5, "i64", {1, 63, 64, -1}), {2, 0, 0, 0}, 0);
  expectNear(shift("smelt.shift_right", -5, "i64", {1, 64, -1}), {-3, -1, -1}, 0);
  expectNear(shift("smelt.shift_left", -5, "i64", {1, 64, -1}), {-10, 0, 0}, 0);
  expectNear(shift("smelt.shift_right", -1, "ui64", {1, 63, 64, -1}), {0x1p63, 1, 0, 0}, 0);
  expectNear(shift("smelt.shift_left", 1, "ui64", {63, 64}), {0x1p63, 0}, 0);
}

TEST_F(ElementwiseTest, BitcastsOfEveryWidth) {
  auto bitcast = [&](const HostTensor &input, const std::string &from, const std::string &to,
                     Precision precision = Precision::f32) {
    std::string shape = toString(input.getShape());
    return runOp("smelt.bitcast %a : !smelt.tensor<" + shape + ", " + from + "> -> !smelt.tensor<" +
                     shape + ", " + to + ">",
                 {shape + ", " + from}, shape + ", " + to, {input}, precision);
  };
  for (Precision precision : {Precision::f32, Precision::f64}) {
    expectNear(bitcast(integers({2}, {0x3f800000, -1}, "i32"), "i32", "f32", precision), {1, kNan},
               0);
    expectNear(bitcast(integers({1}, {0x3c00}, "ui16"), "ui16", "f16", precision), {1}, 0);
    expectNear(bitcast(integers({1}, {0x3f80}, "i16"), "i16", "bf16", precision), {1}, 0);
  }
  expectNear(bitcast(floats({2}, {1, -0.0f}), "f32", "ui32"), {0x3f800000, 0x80000000}, 0);
  expectNear(bitcast(integers({2}, {-1, 5}, "i8"), "i8", "ui8"), {255, 5}, 0);
  expectNear(bitcast(integers({1}, {-1}), "i64", "ui64"), {0x1p64}, 0);
}

TEST_F(ElementwiseTest, Logic) {
  HostTensor a = integers({4}, {0, 0, 1, 1}, "i1"), b = integers({4}, {0, 1, 0, 1}, "i1");
  auto apply = [&](const std::string &op) { return binary(op, a, b, "i1", "[4]", "i1"); };
  expectNear(apply("smelt.and"), {0, 0, 0, 1}, 0);
  expectNear(apply("smelt.or"), {0, 1, 1, 1}, 0);
  expectNear(apply("smelt.xor"), {0, 1, 1, 0}, 0);
}

TEST_F(ElementwiseTest, SelectBroadcastsAllThree) {
  HostTensor result =
      runOp("smelt.select %a, %b, %c : !smelt.tensor<[2, 1], i1>, !smelt.tensor<[3], f32>, "
            "!smelt.tensor<[], f32> -> "
            "!smelt.tensor<[2, 3], f32>",
            {"[2, 1], i1", "[3], f32", "[], f32"}, "[2, 3], f32",
            {integers({2, 1}, {1, 0}, "i1"), floats({3}, {1, 2, 3}), floats({}, {-INFINITY})});
  expectNear(result, {1, 2, 3, -kInfinity, -kInfinity, -kInfinity}, 0);
}

TEST_F(ElementwiseTest, Casts) {
  auto cast = [&](const HostTensor &input, const std::string &from, const std::string &to,
                  Precision precision = Precision::f32) {
    std::string shape = toString(input.getShape());
    return runOp("smelt.cast %a : !smelt.tensor<" + shape + ", " + from + "> -> !smelt.tensor<" +
                     shape + ", " + to + ">",
                 {shape + ", " + from}, shape + ", " + to, {input}, precision);
  };
  HostTensor x = floats({8}, {1.5f, -1.5f, 300, -300, NAN, 1e30f, 0, 0.25f});
  expectNear(cast(x, "f32", "i32"), {1, -1, 300, -300, 0, 2147483647, 0, 0}, 0);
  expectNear(cast(x, "f32", "i8"), {1, -1, 127, -128, 0, 127, 0, 0}, 0);
  expectNear(cast(x, "f32", "ui8"), {1, 0, 255, 0, 0, 255, 0, 0}, 0);
  expectNear(cast(x, "f32", "ui16"), {1, 0, 300, 0, 0, 65535, 0, 0}, 0);
  expectNear(cast(x, "f32", "ui32"), {1, 0, 300, 0, 0, 4294967295, 0, 0}, 0);
  expectNear(cast(x, "f32", "ui64"), {1, 0, 300, 0, 0, 0x1p64, 0, 0}, 0);
  HostTensor wide = integers({3}, {-1, std::numeric_limits<int64_t>::min(), 7}, "ui64");
  for (const char *element : {"f32", "f64", "bf16"})
    expectNear(cast(wide, "ui64", element), {0x1p64, 0x1p63, 7}, 0);
  expectNear(cast(wide, "ui64", "f16"), {kInfinity, kInfinity, 7}, 0);
  expectNear(cast(wide, "ui64", "i64"), {-1, -0x1p63, 7}, 0);
  expectNear(cast(wide, "ui64", "ui32"), {4294967295, 0, 7}, 0);
  expectNear(cast(wide, "ui64", "i1"), {1, 1, 1}, 0);
  expectNear(cast(floats({2}, {0x1p63f, 0x1p64f}), "f32", "ui64"), {0x1p63, 0x1p64}, 0);
  expectNear(cast(integers({2}, {-1, 5}, "i32"), "i32", "ui64"), {0x1p64, 5}, 0);
  expectNear(cast(x, "f32", "i1"), {1, 1, 1, 1, 1, 1, 0, 1}, 0);
  expectNear(cast(integers({3}, {200, -200, 5}), "i64", "i8"), {-56, 56, 5}, 0);
  expectNear(cast(integers({3}, {200, -200, 0}), "i64", "i1"), {1, 1, 0}, 0);
  expectNear(cast(integers({3}, {200, -200, 5}), "i64", "f32"), {200, -200, 5}, 0);
  // 2049 is halfway between two halves; 65520 is the first to overflow; 2^-25 is halfway to the
  // smallest subnormal.
  HostTensor halves = floats({5}, {2049, 65519, 65520, 0x1p-25f, 0x1.8p-24f});
  for (Precision precision : {Precision::f32, Precision::f64})
    expectNear(cast(halves, "f32", "f16", precision), {2048, 65504, kInfinity, 0, 0x1p-23}, 0);
  expectNear(cast(floats({2}, {257, -3.4e38f}), "f32", "bf16"), {256, -kInfinity}, 0);
}

/// Where nothing else reads the input, its memory takes the results; where something does, it keeps its values.
TEST_F(ElementwiseTest, CastsInPlace) {
  std::string wide = "!smelt.tensor<[2], f32>", narrow = "!smelt.tensor<[2], f16>";
  auto run = [&](const std::string &returned, const std::string &types) {
    auto module = parse("(%x: " + wide + ") -> (" + types + ")",
                        "%s = smelt.add %x, %x : " + wide + ", " + wide + " -> " + wide +
                            "\n%n = smelt.cast %s : " + wide + " -> " + narrow + "\nreturn " +
                            returned + " : " + types);
    return InterpretTest::run(*module, {floats({2}, {1024.25f, -0.5f})});
  };
  std::vector<HostTensor> alone = run("%n", narrow), both = run("%n, %s", narrow + ", " + wide);
  ASSERT_EQ(alone.size() + both.size(), 3u) << errors;
  expectNear(alone[0], {2048, -1}, 0);
  expectNear(both[0], {2048, -1}, 0);
  expectNear(both[1], {2048.5, -1}, 0);
}

TEST_F(ElementwiseTest, HalvesAreNotRoundedBetweenOps) {
  // 1 + 2^-12 is no half; the sum keeps it, the cast rounds it away.
  std::string type = "!smelt.tensor<[1], f16>";
  auto module = parse("(%x: " + type + ", %y: " + type + ") -> (" + type + ", " + type + ")",
                      "%s = smelt.add %x, %y : " + type + ", " + type + " -> " + type + "\n" +
                          "%w = smelt.cast %s : " + type + " -> !smelt.tensor<[1], f32>\n" +
                          "%n = smelt.cast %w : !smelt.tensor<[1], f32> -> " + type + "\n" +
                          "return %s, %n : " + type + ", " + type);
  HostTensor one = HostTensor::fromValues<float>({1}, this->type("f16"), Floats{1}),
             small = HostTensor::fromValues<float>({1}, this->type("f16"), Floats{0x1p-12f});
  std::vector<HostTensor> results = run(*module, {one, small});
  ASSERT_EQ(results.size(), 2u) << errors;
  EXPECT_EQ(results[0].getDouble(0), 1 + 0x1p-12);
  EXPECT_EQ(results[1].getDouble(0), 1);
}

} // namespace
} // namespace smelt::test
