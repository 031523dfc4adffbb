#include "codegen/weight_moves.h"

#include "ir/interpret/interpret.h"
#include "ir/weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace smelt;
using codegen::WeightParts;

namespace {

class WeightMovesTest : public testing::Test {
protected:
  WeightMovesTest() { context.loadDialect<SmeltDialect, func::FuncDialect>(); }

  /// What the body's last line, %r, is computed of.
  Value parse(const std::string &body, const std::string &type) {
    module = parseSourceString<ModuleOp>("func.func @main() -> !smelt.tensor" + type + " {\n" +
                                             body + "\nreturn %r : !smelt.tensor" + type + "\n}",
                                         &context);
    EXPECT_TRUE(module) << body;
    store = WeightStore();
    store.drawMissing(7);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    return main.getBody().front().getTerminator()->getOperand(0);
  }

  static int64_t bytesOf(Value value) {
    return *tensorType(value).getNumElements().asConstant() *
           elementBytes(tensorType(value).getElementType());
  }

  /// By copies; from sources that begin at an odd address.
  std::vector<char> moved(Value value, const WeightParts &parts) {
    std::vector<char> target(bytesOf(value), 0x55);
    for (const codegen::WeightPart &part : parts.parts) {
      ArrayRef<char> bytes = *store.bytes(part.source);
      std::vector<char> odd(bytes.size() + 1);
      std::copy(bytes.begin(), bytes.end(), odd.begin() + 1);
      copyPart(part, elementBytes(tensorType(value).getElementType()),
               std::as_bytes(std::span(odd).subspan(1)), std::as_writable_bytes(std::span(target)));
    }
    return target;
  }

  void expectMoved(const std::string &body, const std::string &type) {
    Value value = parse(body, type);
    WeightParts parts = codegen::weightPartsOf(value);
    ASSERT_TRUE(areAllOf(value, parts)) << body;
    EXPECT_EQ(moved(value, parts), bytes(value)) << body;
  }

  /// By the interpreter.
  std::vector<char> bytes(Value value) {
    EvaluateOptions options;
    options.weights = &store;
    FailureOr<HostTensor> tensor = evaluate(value, KnownValues(), Symbols(), options);
    EXPECT_TRUE(succeeded(tensor));
    return succeeded(tensor) ? tensor->toBytes() : std::vector<char>();
  }

  bool isMoved(const std::string &body, const std::string &type) {
    Value value = parse(body, type);
    return areAllOf(value, codegen::weightPartsOf(value));
  }

  static std::string weight(const std::string &name, const std::string &shape, int64_t bytes) {
    return "%" + name + " = smelt.weight \"" + name + "\" <\"none.bin\", 0, " +
           std::to_string(bytes) + ", \"\"> : <" + shape + ">\n";
  }

  MLIRContext context;
  WeightStore store;
  OwningOpRef<ModuleOp> module;
};

/// Sizes around the squares' side, and one that is less than a row.
TEST_F(WeightMovesTest, TurnsMatricesOfAnySizeRound) {
  const std::pair<const char *, int> kTypes[] = {
      {"i8", 1}, {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"i64", 8}};
  for (auto [element, width] : kTypes)
    for (int rows : {1, 2, 31, 32, 33, 64, 77, 130})
      for (int columns : {1, 31, 64, 65, 197}) {
        std::string m = std::to_string(rows), n = std::to_string(columns), e = element;
        std::string from = "[" + m + ", " + n + "], " + e, to = "[" + n + ", " + m + "], " + e;
        expectMoved(weight("w", from, int64_t(rows) * columns * width) +
                        "%r = smelt.transpose %w [1, 0] : <" + from + "> -> <" + to + ">",
                    "<" + to + ">");
      }
}

TEST_F(WeightMovesTest, PutsWeightsBesideEachOther) {
  std::string three = weight("a", "[48, 40], f16", 3840) + weight("b", "[48, 8], f16", 768) +
                      weight("c", "[48, 33], f16", 3168);
  std::string joined =
      "%j = smelt.concat %a, %b, %c axis 1 : !smelt.tensor<[48, 40], f16>, "
      "!smelt.tensor<[48, 8], f16>, !smelt.tensor<[48, 33], f16> -> <[48, 81], f16>\n";
  expectMoved(three + joined + "%r = smelt.reshape %j : <[48, 81], f16> -> <[3888], f16>",
              "<[3888], f16>");
  expectMoved(three + joined +
                  "%r = smelt.transpose %j [1, 0] : <[48, 81], f16> -> <[81, 48], f16>",
              "<[81, 48], f16>");
}

TEST_F(WeightMovesTest, FollowsAxesOfAnyOrder) {
  std::string weights = weight("w", "[5, 34, 3, 37], f16", 37740);
  for (const char *order : {"[0, 3, 1, 2]", "[3, 2, 1, 0]", "[2, 0, 3, 1]", "[1, 0, 2, 3]"}) {
    int64_t sizes[] = {5, 34, 3, 37};
    std::string shape = "[";
    for (const char *digit = order; *digit; ++digit)
      if (std::isdigit(*digit))
        shape += (shape.size() > 1 ? ", " : "") + std::to_string(sizes[*digit - '0']);
    std::string type = "<" + shape + "], f16>";
    expectMoved(
        weights + "%r = smelt.transpose %w " + order + " : <[5, 34, 3, 37], f16> -> " + type, type);
  }
}

/// Of what is computed, the layout alone is a copy.
TEST_F(WeightMovesTest, TransposesComputedBytes) {
  const char *axes[] = {"[5, 1, 37], f16", "[5, 37, 1], f16", "[1, 5, 37], f16", "[37, 5, 1], f16"};
  const char *orders[] = {"[0, 1, 2]", "[0, 2, 1]", "[1, 0, 2]", "[2, 0, 1]"};
  for (int i = 0; i < 4; ++i) {
    std::string to = std::string("<") + axes[i] + ">";
    Value value = parse(weight("w", "[5, 1, 37], f16", 370) +
                            "%e = smelt.exp %w : <[5, 1, 37], f16>\n%r = smelt.transpose %e " +
                            orders[i] + " : <[5, 1, 37], f16> -> " + to,
                        to);
    auto turned = value.getDefiningOp<TransposeOp>();
    std::vector<char> source = bytes(turned.getInput()), target(source.size(), 0x55);
    codegen::copyTransposed(turned, std::as_bytes(std::span(source)),
                            std::as_writable_bytes(std::span(target)));
    EXPECT_EQ(target, bytes(value)) << orders[i];
  }
}

TEST_F(WeightMovesTest, TakesPartsAndRepeats) {
  expectMoved(weight("w", "[40, 70], f16", 5600) +
                  "%s = smelt.slice %w starts [#smelt.dim<3>, #smelt.dim<5>] steps [1, 1] : <[40, "
                  "70], f16> -> <[36, 64], f16>\n"
                  "%r = smelt.transpose %s [1, 0] : <[36, 64], f16> -> <[64, 36], f16>",
              "<[64, 36], f16>");
  expectMoved(weight("w", "[40, 1], f16", 80) +
                  "%r = smelt.expand %w : <[40, 1], f16> -> <[40, 33], f16>",
              "<[40, 33], f16>");
}

/// What computes, converts or holds constants is left to the interpreter.
TEST_F(WeightMovesTest, RefusesWhatIsNotMovedAlone) {
  std::string w = weight("w", "[8, 16], f32", 512);
  EXPECT_TRUE(
      isMoved(w + "%r = smelt.reshape %w : <[8, 16], f32> -> <[128], f32>", "<[128], f32>"));
  EXPECT_FALSE(isMoved(w + "%r = smelt.exp %w : <[8, 16], f32>", "<[8, 16], f32>"));
  EXPECT_FALSE(
      isMoved(w + "%r = smelt.cast %w : <[8, 16], f32> -> <[8, 16], f16>", "<[8, 16], f16>"));
  EXPECT_FALSE(isMoved(w + "%c = smelt.constant dense<1.0> : tensor<8x2xf32> : <[8, 2], f32>\n"
                           "%r = smelt.concat %w, %c axis 1 : !smelt.tensor<[8, 16], f32>, "
                           "!smelt.tensor<[8, 2], f32> -> <[8, 18], f32>",
                       "<[8, 18], f32>"));
}

} // namespace
