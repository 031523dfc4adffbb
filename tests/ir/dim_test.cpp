// The algebra of dimensions: canonical forms, division with bounds, and agreement with integer
// arithmetic.
#include "ir/dim.h"
#include "ir/interpret/random.h"
#include "ir/interpret/symbols.h"

#include "ir/dialect.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

class DimTest : public ::testing::Test {
protected:
  DimTest() {
    context.loadDialect<SmeltDialect>();
    batch = symbol("batch");
    seq = symbol("seq");
  }

  Dim number(int64_t value) { return Dim::constant(&context, value); }
  Dim symbol(const std::string &name) { return Dim::symbol(&context, name); }

  mlir::MLIRContext context;
  Dim batch, seq;
};

TEST_F(DimTest, EqualPolynomialsAreOneValue) {
  EXPECT_EQ(batch * seq, seq * batch);
  EXPECT_EQ((batch + 1) * (batch - 1), batch * batch - 1);
  EXPECT_EQ(batch * seq * 3 - seq * batch, batch * seq * 2);
  EXPECT_EQ(seq - seq, number(0));
  EXPECT_EQ((batch + seq) * 2, seq + batch * 2 + seq);
  EXPECT_NE(batch, seq);
  EXPECT_NE(batch * seq, batch + seq);
}

TEST_F(DimTest, Text) {
  EXPECT_EQ((batch * seq * 12 + seq - 1).toString(), "12*batch*seq + seq - 1");
  EXPECT_EQ(number(0).toString(), "0");
  EXPECT_EQ((batch * -1).toString(), "-batch");
  EXPECT_EQ((seq * 2 + 1).floorDiv(number(4)).toString(), "floordiv(2*seq + 1, 4)");
  EXPECT_EQ(number(std::numeric_limits<int64_t>::min()).toString(), "-9223372036854775808");
}

TEST_F(DimTest, ConstantsAndSymbolsAreRecognised) {
  EXPECT_EQ(number(7).asConstant(), 7);
  EXPECT_EQ((seq - seq + 3).asConstant(), 3);
  EXPECT_EQ(seq.asConstant(), std::nullopt);
  EXPECT_EQ(seq.asSymbol(), "seq");
  EXPECT_EQ((seq * 2).asSymbol(), std::nullopt);
  EXPECT_EQ((seq + 1).asSymbol(), std::nullopt);
  EXPECT_EQ(number(1).asSymbol(), std::nullopt);
}

TEST_F(DimTest, ConstantsDivideTowardsMinusInfinity) {
  for (int64_t a : {-7, -6, -1, 0, 1, 6, 7}) {
    for (int64_t b : {-3, -2, 2, 3}) {
      double exact = static_cast<double>(a) / static_cast<double>(b);
      EXPECT_EQ(number(a).floorDiv(number(b)).asConstant(), static_cast<int64_t>(std::floor(exact)))
          << a << " / " << b;
      EXPECT_EQ(number(a).mod(number(b)).asConstant(),
                a - b * static_cast<int64_t>(std::floor(exact)))
          << a << " % " << b;
      if (b > 0)
        EXPECT_EQ(number(a).ceilDiv(number(b)).asConstant(), static_cast<int64_t>(std::ceil(exact)))
            << a << " / " << b;
    }
  }
}

TEST_F(DimTest, DivisionByZeroStays) {
  EXPECT_EQ(seq.floorDiv(number(0)).asConstant(), std::nullopt);
  EXPECT_EQ(number(4).mod(number(0)).asConstant(), std::nullopt);
  EXPECT_EQ(seq.exactDiv(number(0)), std::nullopt);
  EXPECT_EQ(evaluateDim(seq.floorDiv(seq - 2), Symbols{{"seq", 2}}), std::nullopt);
}

TEST_F(DimTest, QuotientsThatOverflowDoNotDivide) {
  constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
  Dim smallest = number(kSmallest);
  EXPECT_EQ(smallest.exactDiv(number(-1)), std::nullopt);
  EXPECT_EQ((seq * kSmallest).exactDiv(number(-1)), std::nullopt);
  EXPECT_EQ((seq * kSmallest).exactDiv(seq * -1), std::nullopt);
  EXPECT_EQ(evaluateDim(smallest.floorDiv(number(-1)), {}), std::nullopt);
  EXPECT_EQ(evaluateDim((seq * kSmallest).mod(number(-1)), Symbols{{"seq", 1}}), std::nullopt);
  // Quotients that do have a value.
  EXPECT_EQ(number(kSmallest + 1).exactDiv(number(-1)), number(-(kSmallest + 1)));
  EXPECT_EQ(smallest.ceilDiv(number(3)), number(kSmallest / 3));
  EXPECT_EQ(smallest.mod(number(3)), number(kSmallest % 3 + 3));
}

TEST_F(DimTest, ExactDivision) {
  EXPECT_EQ((batch * seq * 768).exactDiv(seq * 64), batch * 12);
  EXPECT_EQ((batch * batch - 1).exactDiv(batch + 1), batch - 1);
  EXPECT_EQ((batch * seq).exactDiv(number(2)), std::nullopt);
  EXPECT_EQ((seq + 1).exactDiv(seq), std::nullopt);
}

TEST_F(DimTest, DivisionTakesTheWholePartOut) {
  EXPECT_EQ((seq * 4 + 8).floorDiv(number(4)), seq + 2);
  EXPECT_EQ((seq * 4 + 3).floorDiv(number(4)), seq); // 0 <= 3 < 4
  EXPECT_EQ((seq * 4 + 3).mod(number(4)), number(3));
  EXPECT_EQ((batch * seq).mod(seq), number(0));
  EXPECT_EQ((seq * 8).ceilDiv(number(4)), seq * 2);
}

TEST_F(DimTest, BoundsLetCoordinatesDivide) {
  Dim i = symbol("i"), j = symbol("j"), k = symbol("k");
  Bounds bounds;
  bounds["i"] = batch;
  bounds["j"] = seq;
  bounds["k"] = number(768);
  EXPECT_EQ((i * 768 + k).floorDiv(number(768), bounds), i);
  EXPECT_EQ((i * 768 + k).mod(number(768), bounds), k);
  EXPECT_EQ((i * seq + j).floorDiv(seq, bounds), i);
  EXPECT_EQ((i * seq + j).mod(seq, bounds), j);
  EXPECT_EQ((i * seq * 768 + j * 768 + k).floorDiv(seq * 768, bounds), i);
  // Not provable: j + 1 may reach seq.
  EXPECT_NE((i * seq + j + 1).floorDiv(seq, bounds), i);
}

TEST_F(DimTest, KnownSigns) {
  EXPECT_TRUE((batch * seq + 1).isKnownNonNegative());
  EXPECT_TRUE((batch * seq).isKnownNonNegative());
  EXPECT_FALSE((batch - seq).isKnownNonNegative());
  EXPECT_FALSE((seq - 1).isKnownNonNegative());           // sizes may be 0
  EXPECT_FALSE((batch * seq - seq).isKnownNonNegative()); // batch may be
  EXPECT_TRUE((batch - seq).mod(number(8)).isKnownNonNegative());
  EXPECT_FALSE((batch - seq).floorDiv(number(8)).isKnownNonNegative());
  EXPECT_TRUE(seq.isKnownLessEqual(batch * seq + seq));
  EXPECT_EQ(seq.min(batch + seq), seq);
  EXPECT_EQ(seq.max(batch + seq), batch + seq);
  EXPECT_EQ(seq.min(batch), batch.min(seq));
  EXPECT_EQ(seq.max(number(0)), seq);
  EXPECT_NE(seq.max(number(1)), seq);
}

/// Each level asks for the one below it more than once: 2^40 questions, were none remembered.
TEST_F(DimTest, SignsOfNestedCallsAreFoundOnce) {
  Dim nested = seq;
  for (int level = 0; level < 40; ++level)
    nested = (nested + batch).floorDiv(number(3));
  EXPECT_TRUE(nested.isKnownNonNegative());
  EXPECT_FALSE((batch - nested).floorDiv(number(3)).isKnownNonNegative());
}

TEST_F(DimTest, SizesThatBoundCoordinatesArePositive) {
  Bounds bounds;
  bounds["i"] = batch * seq;
  EXPECT_TRUE((seq - 1).isKnownNonNegative(bounds));
  EXPECT_TRUE((batch * seq - symbol("i") - 1).isKnownNonNegative(bounds));
  EXPECT_EQ(seq.max(number(1), bounds), seq);
  EXPECT_NE(symbol("i").max(number(1), bounds), symbol("i")); // a coordinate may be 0
  EXPECT_FALSE((symbol("other") - 1).isKnownNonNegative(bounds));
  bounds["j"] = batch + symbol("other"); // of a sum, neither part need be
  EXPECT_FALSE((symbol("other") - 1).isKnownNonNegative(bounds));
}

TEST_F(DimTest, Replace) {
  Dim expression = (batch * seq + 3).floorDiv(number(2)) + seq;
  Dim replaced =
      expression.replace([&](llvm::StringRef name) { return name == "seq" ? batch * 2 : Dim(); });
  EXPECT_EQ(replaced, (batch * batch * 2 + 3).floorDiv(number(2)) + batch * 2);
}

TEST_F(DimTest, SymbolsAreVisitedInsideCalls) {
  std::set<std::string> names;
  (seq.floorDiv(batch + 1) + symbol("k")).forEachSymbol([&](llvm::StringRef name) {
    names.insert(name.str());
  });
  EXPECT_EQ(names, (std::set<std::string>{"batch", "k", "seq"}));
}

TEST_F(DimTest, EvaluationReportsOverflowAndMissingSymbols) {
  EXPECT_EQ(evaluateDim(batch * seq, Symbols{{"batch", 3}}), std::nullopt);
  EXPECT_EQ(
      evaluateDim(batch * seq, Symbols{{"batch", int64_t{1} << 40}, {"seq", int64_t{1} << 40}}),
      std::nullopt);
  EXPECT_EQ(evaluateDim(batch * seq, Symbols{{"batch", 3}, {"seq", 4}}), 12);
}

/// Random expressions built twice: as a Dim, and as the integer that plain arithmetic gives.
class Generator {
public:
  Generator(mlir::MLIRContext *context, uint64_t seed, const Bounds *bounds)
      : context(context), random(seed), bounds(bounds) {}

  struct Pair {
    Dim dim;
    std::function<std::optional<int64_t>(const Symbols &)> value;
  };

  Pair leaf() {
    static const char *const kNames[] = {"a", "b", "i", "j"};
    if (random.integer(0, 3) == 0) {
      int64_t constant = random.integer(-4, 9);
      return {Dim::constant(context, constant), [=](const Symbols &) { return constant; }};
    }
    std::string name = kNames[random.integer(0, 4)];
    return {Dim::symbol(context, name),
            [=](const Symbols &symbols) { return symbols.lookup(name); }};
  }

  Pair make(int depth) {
    if (depth == 0)
      return leaf();
    Pair x = make(depth - 1), y = make(depth - 1 - static_cast<int>(random.integer(0, depth)));
    int64_t kind = random.integer(0, 9);
    switch (kind) {
    case 0:
    case 1:
      return combine(x, y, x.dim + y.dim, [](int64_t p, int64_t q) { return p + q; });
    case 2:
      return combine(x, y, x.dim - y.dim, [](int64_t p, int64_t q) { return p - q; });
    case 3:
    case 4:
      return combine(x, y, x.dim * y.dim, [](int64_t p, int64_t q) { return p * q; });
    case 5:
      return combine(x, y, x.dim.min(y.dim, *bounds),
                     [](int64_t p, int64_t q) { return std::min(p, q); });
    case 6:
      return combine(x, y, x.dim.max(y.dim, *bounds),
                     [](int64_t p, int64_t q) { return std::max(p, q); });
    default:
      return divide(x, kind);
    }
  }

private:
  using Operation = std::function<int64_t(int64_t, int64_t)>;

  Pair combine(const Pair &x, const Pair &y, Dim dim, const Operation &operation) {
    return {dim, [=](const Symbols &symbols) -> std::optional<int64_t> {
              auto p = x.value(symbols), q = y.value(symbols);
              return p && q ? std::optional<int64_t>(operation(*p, *q)) : std::nullopt;
            }};
  }

  /// By a positive divisor: a size, or a small constant.
  Pair divide(const Pair &x, int64_t kind) {
    int64_t constant = random.integer(1, 7);
    bool symbolic = random.integer(0, 2) != 0;
    Dim divisor =
        symbolic ? Dim::symbol(context, "a") * constant : Dim::constant(context, constant);
    Pair y{divisor, [=](const Symbols &symbols) {
             return symbolic ? symbols.lookup("a") * constant : constant;
           }};
    auto floorOf = [](int64_t p, int64_t q) { return p / q - (p % q < 0); };
    if (kind == 7)
      return combine(x, y, x.dim.floorDiv(divisor, *bounds), floorOf);
    return combine(x, y, x.dim.mod(divisor, *bounds),
                   [=](int64_t p, int64_t q) { return p - q * floorOf(p, q); });
  }

  mlir::MLIRContext *context;
  Random random;
  const Bounds *bounds;
};

TEST_F(DimTest, RandomExpressionsEvaluateAsIntegersDo) {
  // i < a and j < 2 b: what the bounds promise to the simplifier holds for every draw of values.
  Bounds bounds;
  bounds["i"] = symbol("a");
  bounds["j"] = symbol("b") * 2;
  Random random(99);
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Generator generator(&context, seed, &bounds);
    Generator::Pair pair = generator.make(static_cast<int>(seed % 4) + 1);
    // Without coordinates, sizes may be 0.
    Dim bare = Generator(&context, seed, &bounds).make(1).dim;
    for (int64_t size : {0, 1, 3})
      if (auto value = evaluateDim(bare, Symbols{{"a", size}, {"b", size}, {"i", size}, {"j", 0}}))
        ASSERT_TRUE(!bare.isKnownNonNegative() || *value >= 0) << bare.toString();
    for (int draw = 0; draw < 8; ++draw) {
      int64_t a = random.integer(1, 9), b = random.integer(1, 9);
      Symbols symbols{
          {"a", a}, {"b", b}, {"i", random.integer(0, a)}, {"j", random.integer(0, 2 * b)}};
      std::optional<int64_t> expected = pair.value(symbols);
      ASSERT_TRUE(expected);
      ASSERT_EQ(evaluateDim(pair.dim, symbols), expected)
          << pair.dim.toString() << " at " << toString(symbols) << ", seed " << seed;
      ASSERT_TRUE(!pair.dim.isKnownNonNegative(bounds) || *expected >= 0)
          << pair.dim.toString() << " at " << toString(symbols);
    }
  }
}

TEST_F(DimTest, QuotientAndRemainderAreTheWholeAgain) {
  Dim k = symbol("k");
  Dim row = k.floorDiv(number(16));
  // What a filter of 3x16x16 makes of the column k of its matrix.
  EXPECT_EQ(row.floorDiv(number(16)) * 256 + row.mod(number(16)) * 16 + k.mod(number(16)), k);
  EXPECT_EQ((k.floorDiv(seq) * seq + k.mod(seq)) * batch, k * batch);
  EXPECT_EQ(k.floorDiv(seq + 1) * (seq + 1) + k.mod(seq + 1), k);
  // Not the halves of one division, and a divisor that may be 0.
  EXPECT_NE(k.floorDiv(number(16)) * 8 + k.mod(number(16)), k);
  EXPECT_NE(k.floorDiv(number(16)) * 16 + k.mod(number(8)), k);
  EXPECT_NE(k.floorDiv(seq - 1) * (seq - 1) + k.mod(seq - 1), k);

  Bounds bounds;
  bounds["i"] = symbol("a");
  bounds["j"] = symbol("b") * 2;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Dim x = Generator(&context, seed, &bounds).make(static_cast<int>(seed % 4) + 1).dim;
    for (Dim divisor : {number(5), seq, seq * 3, seq + 2})
      ASSERT_EQ(x.floorDiv(divisor, bounds) * divisor + x.mod(divisor, bounds), x)
          << x.toString() << " by " << divisor.toString();
  }
}

TEST_F(DimTest, RandomExpressionsKeepTheirMeaningUnderReplacement) {
  Bounds bounds;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    // Without bounds every symbol is a size.
    Generator generator(&context, seed, &bounds);
    Generator::Pair pair = generator.make(3);
    Dim replaced = pair.dim.replace(
        [&](llvm::StringRef name) { return name == "b" ? symbol("a") * 2 : Dim(); });
    Symbols symbols{{"a", 3}, {"b", 6}, {"i", 2}, {"j", 5}};
    ASSERT_EQ(evaluateDim(replaced, symbols), pair.value(symbols))
        << pair.dim.toString() << ", seed " << seed;
  }
}

} // namespace
} // namespace smelt::test
