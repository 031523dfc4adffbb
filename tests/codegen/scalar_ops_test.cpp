// Every elementwise op over every element type that it takes, each operand a variable or a
// constant: the expression compiles, and floats of 64 bits are computed in 64 bits. One
// translation unit a type.
#include "codegen/scalar_ops.h"

#include "codegen/cuda_text.h"
#include "codegen/nvrtc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

#include <set>

using namespace mlir;

namespace smelt::codegen {
namespace {

const std::vector<std::string> kTypes = {"i1",  "i8",   "ui8", "i16",  "ui16", "i32", "ui32",
                                         "i64", "ui64", "f16", "bf16", "f32",  "f64"};
const std::vector<std::string> kUnary = {
    "abs",      "neg",   "exp",   "expm1", "log",  "sqrt",    "rsqrt", "reciprocal",
    "sin",      "cos",   "tan",   "asin",  "acos", "atan",    "sinh",  "cosh",
    "asinh",    "acosh", "atanh", "tanh",  "erf",  "sigmoid", "silu",  "relu",
    "softplus", "floor", "ceil",  "round", "sign", "gelu",    "not",   "bit_not"};
const std::vector<std::string> kArithmetic = {"add", "sub", "mul", "div", "pow", "min",
                                              "max", "mod", "and", "or",  "xor"};
const std::vector<std::string> kBits = {"bit_and", "bit_or", "bit_xor", "shift_left",
                                        "shift_right"};
const std::vector<std::string> kComparisons = {"equal", "less", "less_equal"};

std::string tensor(const std::string &type) { return "<[4], " + type + ">"; }

/// Types that are cast and moved, but not computed with.
const std::vector<std::string> kStorage = {"f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ",
                                           "f4E2M1FN", "f8E8M0FNU",  "i4",     "ui4",
                                           "i2",       "ui2"};

struct ScalarOpsTest : testing::TestWithParam<std::string> {
  MLIRContext context;
  std::string text;
  std::set<std::string> emitted; // ops
  unsigned functions = 0;

  void SetUp() override { context.loadDialect<SmeltDialect, func::FuncDialect>(); }

  std::string binary(const std::string &op, const std::string &lhs, const std::string &rhs,
                     const std::string &result) {
    return "smelt." + op + " %a, %b : " + tensor(lhs) + ", " + tensor(rhs) + " -> " +
           tensor(result);
  }

  /// Constants of a type: ordinary ones and the ends of its range.
  std::vector<std::string> constants(Type type) {
    Builder builder(&context);
    std::vector<std::string> texts;
    if (isa<FloatType>(type)) {
      for (double value : {2.0, -0.5, 0.0})
        texts.push_back(literal(builder.getFloatAttr(type, value), type));
      return texts;
    }
    unsigned bits = type.getIntOrFloatBitWidth();
    bool isUnsigned = type.isUnsignedInteger();
    for (const APInt &value :
         {APInt(bits, bits == 1 ? 1 : 3),
          isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits),
          isUnsigned ? APInt::getMinValue(bits) : APInt::getSignedMinValue(bits)})
      texts.push_back(literal(IntegerAttr::get(type, value), type));
    return texts;
  }

  /// A device function that computes the op of operands as given: "" for a variable.
  void write(Operation *op, const SmallVector<std::string> &given) {
    SmallVector<std::string> operands, parameters;
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      std::string name = "v" + std::to_string(number);
      StringRef type = computeType(tensorType(operand).getElementType());
      parameters.push_back((type + " " + name).str());
      operands.push_back(given[number].empty() ? name : given[number]);
    }
    FailureOr<std::string> expression = scalarExpression(op, operands);
    if (failed(expression))
      return;
    emitted.insert(op->getName().stripDialect().str());
    StringRef result = computeType(tensorType(op->getResult(0)).getElementType());
    text += ("__device__ " + result + " f" + Twine(functions++) + "(" + join(parameters) +
             ") {\n  auto exact = " + *expression + ";\n")
                .str();
    if (result == "double") // of a float nothing would bring the digits back
      text += "  static_assert(kIsSame<decltype(exact), double>, \"\");\n";
    text += ("  " + result + " value = exact;\n  return value;\n}\n").str();
  }

  /// The op, which the verifier or the table may refuse, with each operand as a constant.
  void add(const std::string &statement, const std::string &lhs, const std::string &rhs,
           const std::string &result) {
    ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); });
    std::string module = "func.func @f(%c: !smelt.tensor<[4], i1>, %a: !smelt.tensor" +
                         tensor(lhs) + ", %b: !smelt.tensor" + tensor(rhs) + ") -> !smelt.tensor" +
                         tensor(result) + " {\n%0 = " + statement + "\nreturn %0 : !smelt.tensor" +
                         tensor(result) + "\n}\n";
    OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(module, &context);
    if (!parsed)
      return;
    func::FuncOp function = *parsed->getOps<func::FuncOp>().begin();
    Operation *op = &function.getBody().front().front();
    SmallVector<std::string> variables(op->getNumOperands());
    write(op, variables);
    for (unsigned number = 0; number < op->getNumOperands(); ++number)
      for (const std::string &constant :
           constants(tensorType(op->getOperand(number)).getElementType())) {
        SmallVector<std::string> given(variables);
        given[number] = constant;
        write(op, given);
      }
  }

  void addAll(const std::string &type) {
    for (const std::string &op : kUnary)
      add("smelt." + op + " %a : " + tensor(type), type, type, type);
    add("smelt.gelu %a tanh : " + tensor(type), type, type, type);
    for (const char *op : {"is_nan", "is_inf"})
      add("smelt." + std::string(op) + " %a : " + tensor(type) + " -> <[4], i1>", type, type, "i1");
    for (const std::vector<std::string> &ops : {kArithmetic, kBits})
      for (const std::string &op : ops)
        add(binary(op, type, type, type), type, type, type);
    add("smelt.mod %a, %b fmod : " + tensor(type) + ", " + tensor(type) + " -> " + tensor(type),
        type, type, type);
    for (const std::string &op : kComparisons)
      add(binary(op, type, type, "i1"), type, type, "i1");
    add("smelt.select %c, %a, %b : <[4], i1>, " + tensor(type) + ", " + tensor(type) + " -> " +
            tensor(type),
        type, type, type);
    for (const std::string &other : kStorage)
      for (const char *op : {"cast", "bitcast"}) {
        std::string one = "smelt." + std::string(op) + " %a : ";
        add(one + tensor(type) + " -> " + tensor(other), type, other, other);
        add(one + tensor(other) + " -> " + tensor(type), other, type, type);
      }
    for (const std::string &other : kTypes) {
      for (const char *op : {"cast", "bitcast"})
        add("smelt." + std::string(op) + " %a : " + tensor(type) + " -> " + tensor(other), type,
            other, other);
      if (other != "i1")
        add(binary("pow", type, other, type), type, other, type);
    }
  }
};

TEST_P(ScalarOpsTest, CompileWithConstants) {
  auto nvrtc = Nvrtc::open("");
  if (!nvrtc)
    GTEST_SKIP() << "no NVRTC here: " << llvm::toString(nvrtc.takeError());
  addAll(GetParam());
  KernelText kernel;
  kernel.entry = "entry";
  kernel.description = GetParam();
  kernel.text = "#include \"device/arithmetic.cuh\"\nnamespace smelt {\n" + text +
                "} // namespace smelt\nextern \"C\" __global__ void entry() {}\n";
  for (const char *architecture : {"sm_90a", "sm_80"}) {
    auto compiled = (*nvrtc)->compile(kernel, architecture);
    ASSERT_TRUE(static_cast<bool>(compiled)) << llvm::toString(compiled.takeError());
  }
  // What ONNX defines for the type is there.
  std::set<std::string> expected = {"equal", "select", "cast"};
  if (GetParam() == "i1")
    expected.insert({"not", "and", "or", "xor"});
  else
    expected.insert({"add", "sub", "mul", "div", "pow", "min", "max", "mod", "abs", "sign", "less",
                     "less_equal", "relu"});
  if (GetParam().find('f') != std::string::npos)
    expected.insert(kUnary.begin(), kUnary.end() - 2), expected.insert({"is_nan", "is_inf"});
  else if (GetParam() != "i1")
    expected.insert(kBits.begin(), kBits.end()), expected.insert("bit_not");
  if (GetParam() != "i1")
    expected.insert("bitcast");
  for (const std::string &op : expected)
    EXPECT_TRUE(emitted.count(op)) << op;
}

INSTANTIATE_TEST_SUITE_P(Types, ScalarOpsTest, testing::ValuesIn(kTypes),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace smelt::codegen
