// What the interpreter's tests share: IR as text in, tensors out, diagnostics caught.
#pragma once

#include "ir/interpret/compare.h"
#include "ir/interpret/interpret.h"
#include "ir/interpret/random.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

namespace smelt::test {

using Floats = std::vector<float>;
using Integers = std::vector<int64_t>;

class InterpretTest : public ::testing::Test {
protected:
  InterpretTest() {
    context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
      llvm::raw_string_ostream stream(errors);
      diagnostic.getLocation()->print(stream);
      stream << ": " << diagnostic << "\n";
    });
  }

  /// A module whose @main has the given signature and body: `parse("(%x: !smelt.tensor<[2], f32>)
  /// -> ...", "...")`.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &signature, const std::string &body,
                                          const std::string &attributes = "") {
    std::string text = "module " + (attributes.empty() ? "" : "attributes {" + attributes + "} ") +
                       "{\nfunc.func @main" + signature + " {\n" + body + "\n}\n}";
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << errors << text;
    return module;
  }

  /// Runs a module once; empty on failure, with the diagnostics in `errors`.
  std::vector<HostTensor> run(mlir::ModuleOp module, llvm::ArrayRef<HostTensor> inputs,
                              Precision precision = Precision::f32) {
    WeightStore weights;
    Interpreter interpreter(module, weights, {precision, 2});
    mlir::FailureOr<std::vector<HostTensor>> results = interpreter.run(inputs);
    return mlir::succeeded(results) ? *results : std::vector<HostTensor>();
  }

  /// The one result of `%y = <op text>` over arguments %a, %b, ... of the given types.
  HostTensor runOp(const std::string &op, llvm::ArrayRef<std::string> types,
                   const std::string &resultType, llvm::ArrayRef<HostTensor> inputs,
                   Precision precision = Precision::f32) {
    std::string signature = "(";
    for (auto [index, type] : llvm::enumerate(types))
      signature +=
          (index ? ", %" : "%") + std::string(1, 'a' + index) + ": !smelt.tensor<" + type + ">";
    signature += ") -> !smelt.tensor<" + resultType + ">";
    auto module =
        parse(signature, "%y = " + op + "\nreturn %y : !smelt.tensor<" + resultType + ">");
    if (!module)
      return {};
    std::vector<HostTensor> results = run(*module, inputs, precision);
    return results.empty() ? HostTensor() : results[0];
  }

  HostTensor floats(llvm::ArrayRef<int64_t> shape, Floats values) {
    return HostTensor::fromValues<float>(shape, type("f32"), values);
  }
  HostTensor integers(llvm::ArrayRef<int64_t> shape, Integers values,
                      const std::string &name = "i64") {
    return HostTensor::fromValues<int64_t>(shape, type(name), values);
  }
  HostTensor random(llvm::ArrayRef<int64_t> shape, const std::string &name, uint64_t seed,
                    RandomOptions options = {}) {
    return *randomTensor(shape, type(name), seed, options);
  }

  mlir::Type type(const std::string &name) {
    mlir::Builder builder(&context);
    if (name == "f16")
      return builder.getF16Type();
    if (name == "bf16")
      return builder.getBF16Type();
    if (name == "f32")
      return builder.getF32Type();
    if (name == "f64")
      return builder.getF64Type();
    if (name.starts_with("ui"))
      return builder.getIntegerType(std::stoi(name.substr(2)), /*isSigned=*/false);
    return builder.getIntegerType(std::stoi(name.substr(1)));
  }

  mlir::MLIRContext context;
  std::string errors; // "location: message" lines
};

/// The elements as doubles, whatever the storage; empty for an empty tensor.
inline std::vector<double> valuesOf(const HostTensor &tensor) {
  std::vector<double> values;
  for (int64_t i = 0; tensor && i < tensor.getNumElements(); ++i)
    values.push_back(tensor.getDouble(i));
  return values;
}

inline void expectNear(const HostTensor &result, const std::vector<double> &expected,
                       double tolerance) {
  std::vector<double> values = valuesOf(result);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(values[i])) << "at " << i;
    else if (std::isinf(expected[i]))
      EXPECT_EQ(values[i], expected[i]) << "at " << i;
    else
      EXPECT_NEAR(values[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
          << "at " << i;
  }
}

} // namespace smelt::test
