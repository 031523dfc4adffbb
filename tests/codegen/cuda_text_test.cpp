// Printed sizes and coordinates mean what their Dims mean; literals keep their values.
#include "codegen/cuda_text.h"

#include "mlir/IR/Builders.h"
#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace mlir;

namespace smelt::codegen {
namespace {

using Values = std::map<std::string, int64_t>;

/// Evaluates the C++ integer expressions that DimPrinter writes.
class Evaluator {
public:
  Evaluator(StringRef text, const Values &values) : text(text), values(values) {}
  int64_t run() {
    int64_t result = sum();
    EXPECT_TRUE(text.ltrim().empty()) << "left over: " << text.str();
    return result;
  }

private:
  bool accept(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }
  int64_t sum() {
    int64_t result = accept("-") ? -product() : product();
    while (true) {
      if (accept("+"))
        result += product();
      else if (accept("-"))
        result -= product();
      else
        return result;
    }
  }
  int64_t product() {
    int64_t result = factor();
    while (true) {
      if (accept("*"))
        result *= factor();
      else if (accept("/"))
        result /= factor();
      else if (accept("%"))
        result %= factor();
      else
        return result;
    }
  }
  int64_t factor() {
    text = text.ltrim();
    int64_t number;
    if (!text.consumeInteger(10, number))
      return number;
    if (accept("(")) {
      int64_t inner = sum();
      EXPECT_TRUE(accept(")"));
      return inner;
    }
    StringRef name = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    text = text.drop_front(name.size());
    if (!accept("(")) {
      auto found = values.find(name.str());
      EXPECT_TRUE(found != values.end()) << name.str();
      return found == values.end() ? 0 : found->second;
    }
    int64_t a = sum();
    EXPECT_TRUE(accept(","));
    int64_t b = sum();
    EXPECT_TRUE(accept(")"));
    if (name == "min" || name == "max")
      return name == "min" ? std::min(a, b) : std::max(a, b);
    if (name == "ceilDiv")
      return (a + b - 1) / b;
    int64_t floor = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return name == "moduloFloor" ? a - b * floor : floor;
  }

  StringRef text;
  const Values &values;
};

struct CudaText : testing::Test {
  MLIRContext context;
  std::mt19937 random{7};
  Bounds bounds;
  CudaText() {
    context.loadDialect<SmeltDialect>();
    bounds["%i"] = Dim::constant(&context, 64);
    bounds["%j"] = Dim::symbol(&context, "s");
  }
  int64_t pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  }
  Dim randomDim(int depth) {
    static const char *const kSymbols[] = {"%i", "%j", "b", "s"};
    if (depth == 0)
      return pick(0, 2) ? Dim::symbol(&context, kSymbols[pick(0, 3)])
                        : Dim::constant(&context, pick(-5, 9));
    Dim a = randomDim(depth - 1), b = randomDim(depth - 1);
    Dim divisor = pick(0, 1) ? Dim::constant(&context, pick(2, 9)) : Dim::symbol(&context, "s");
    switch (pick(0, 6)) {
    case 0:
      return a * b;
    case 1:
      return a - b;
    case 2:
      return a.floorDiv(divisor, bounds);
    case 3:
      return a.mod(divisor, bounds);
    case 4:
      return a.min(b);
    default:
      return a + b;
    }
  }
};

TEST_F(CudaText, PrintedDimsKeepTheirMeaning) {
  for (int round = 0; round < 500; ++round) {
    Dim dim = randomDim(4);
    DimPrinter printer(bounds);
    std::string text = printer.print(dim);
    for (int sample = 0; sample < 4; ++sample) {
      int64_t b = pick(1, 5), s = pick(1, 9), i = pick(0, 63), j = pick(0, s - 1);
      Values names{{"size_b", b}, {"size_s", s}, {"i", i}, {"j", j}};
      Values symbols{{"b", b}, {"s", s}, {"%i", i}, {"%j", j}};
      std::optional<int64_t> expected = dim.evaluate(
          [&](StringRef name) { return std::optional<int64_t>(symbols.at(name.str())); });
      ASSERT_EQ(Evaluator(text, names).run(), expected) << text << " of " << dim.toString();
    }
  }
}

TEST_F(CudaText, NotesTheSizesAndCoordinatesItUses) {
  DimPrinter printer(bounds);
  printer.print(Dim::symbol(&context, "b") * Dim::symbol(&context, "%i"));
  EXPECT_EQ(printer.sizes(), std::set<std::string>{"b"});
  EXPECT_TRUE(printer.uses("%i"));
  EXPECT_FALSE(printer.uses("%j"));
}

TEST_F(CudaText, LanesAddTheirNumber) {
  DimPrinter printer(bounds);
  llvm::StringSet<> lanes;
  lanes.insert("%i");
  Dim dim = Dim::symbol(&context, "%i") * 3 + Dim::symbol(&context, "%j");
  EXPECT_EQ(printer.printAtLane(dim, lanes), "(i + i) * 3 + j");
}

TEST_F(CudaText, LiteralsKeepTheirValues) {
  Builder builder(&context);
  Type f32 = builder.getF32Type(), f64 = builder.getF64Type(), f16 = builder.getF16Type();
  EXPECT_EQ(literal(builder.getF32FloatAttr(0.1f), f32), "0.100000001f");
  EXPECT_EQ(literal(builder.getF32FloatAttr(-2.0f), f32), "(-2.0f)");
  EXPECT_EQ(literal(builder.getF32FloatAttr(1e30f), f32), "1.00000002e+30f");
  EXPECT_EQ(literal(builder.getF64FloatAttr(0.1), f64), "0.10000000000000001");
  EXPECT_EQ(literal(builder.getFloatAttr(f16, -65504.0), f16), "(-65504.0f)");
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(literal(builder.getF32FloatAttr(-infinity), f32), "(-infinity())");
  EXPECT_EQ(literal(builder.getF32FloatAttr(std::nanf("")), f32), "__int_as_float(0x7fc00000)");
  EXPECT_EQ(literal(builder.getI64IntegerAttr(-3), builder.getI64Type()), "(-3ll)");
  EXPECT_EQ(
      literal(builder.getI64IntegerAttr(std::numeric_limits<int64_t>::min()), builder.getI64Type()),
      "((-9223372036854775807ll) - 1ll)");
  EXPECT_EQ(literal(builder.getBoolAttr(true), builder.getI1Type()), "true");
}

TEST_F(CudaText, RandomFloatsSurviveTheirText) {
  Builder builder(&context);
  for (int round = 0; round < 1000; ++round) {
    uint32_t bits = random();
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value))
      continue;
    std::string text = literal(builder.getF32FloatAttr(value), builder.getF32Type());
    EXPECT_EQ(std::strtof(text.c_str() + (text.front() == '('), nullptr), value) << text;
  }
}

} // namespace
} // namespace smelt::codegen
