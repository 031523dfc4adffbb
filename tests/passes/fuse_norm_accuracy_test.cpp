// What fuse-norm costs in digits: rows whose mean is far larger than their deviations, weights
// whose columns have a mean of their own, against the unfused program in double. Everything is
// evaluated in fp32 by the interpreter but the product, whose sums are formed as the kernels form
// them (it would keep several partial sums).
#include "ir/interpret/interpret.h"
#include "ir/interpret/random.h"
#include "passes/passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace smelt {
namespace {

using namespace mlir;

constexpr int64_t kNormRows = 16, kDepth = 768, kProductColumns = 16;

// x = a A + r; z = layer_norm(x) * gamma W. With a = 0, x is r.
constexpr const char *kProgram = R"(
func.func @main(%a: !smelt.tensor<[16, 32], T>, %r: !smelt.tensor<[16, 768], T>) -> !smelt.tensor<[16, 16], T> {
  %wa = smelt.weight "wa" <"w.bin", 0, 0, ""> : <[32, 768], T>
  %gamma = smelt.weight "gamma" <"w.bin", 0, 0, ""> : <[768], T>
  %w = smelt.weight "w" <"w.bin", 0, 0, ""> : <[768, 16], T>
  %0 = smelt.matmul %a, %wa : <[16, 32], T>, <[32, 768], T> -> <[16, 768], T>
  %x = smelt.add %0, %r : <[16, 768], T>, <[16, 768], T> -> <[16, 768], T>
  %y = smelt.layer_norm %x scale %gamma : !smelt.tensor<[768], T> axis 1 {epsilon = 1.0e-12 : f32} : <[16, 768], T> -> <[16, 768], T>
  %z = smelt.matmul %y, %w : <[16, 768], T>, <[768, 16], T> -> <[16, 16], T>
  return %z : !smelt.tensor<[16, 16], T>
})";

struct AccuracyCase {
  const char *element;
  double mean, deviation; // of the elements of a row
  double weightMean;      // of the elements of W; their deviation is 1 / sqrt(kDepth)
  double bound;           // of the error
  double ratio;           // of the error to that of a norm of its own
};

/// ||actual - expected|| / ||expected||.
double relativeError(const HostTensor &actual, const HostTensor &expected) {
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    difference += std::pow(actual.getDouble(i) - expected.getDouble(i), 2);
    norm += std::pow(expected.getDouble(i), 2);
  }
  return std::sqrt(difference / norm);
}

class FuseNormAccuracy : public ::testing::Test {
protected:
  FuseNormAccuracy() { context.loadDialect<SmeltDialect, func::FuncDialect>(); }

  HostTensor normal(ArrayRef<int64_t> shape, double mean, double deviation) {
    std::vector<float> values(*elementCount(shape));
    for (float &value : values)
      value = static_cast<float>(mean + deviation * random.normal());
    return rounded(HostTensor::fromValues<float>(shape, type, values));
  }

  static HostTensor rounded(const HostTensor &tensor) {
    return *HostTensor::fromBytes(tensor.getShape(), tensor.getElementType(), tensor.toBytes());
  }

  void own(const char *name, const HostTensor &tensor) {
    std::vector<char> bytes = tensor.toBytes();
    weights.own(name, std::string(bytes.begin(), bytes.end()));
  }

  /// The program before and after the pass, and weights.
  void prepare(const std::string &element, double weightMean) {
    std::string text = kProgram;
    for (size_t at; (at = text.find(", T>")) != std::string::npos;)
      text.replace(at, 4, ", " + element + ">");
    before = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(before);
    type = tensorType(function(*before).getArgument(0)).getElementType();
    gamma = normal({kDepth}, 1, 0.2);
    weight = normal({kDepth, kProductColumns}, weightMean, 1 / std::sqrt(kDepth));
    own("wa", normal({32, kDepth}, 0, 1));
    own("gamma", gamma);
    own("w", weight);
    after = before->clone();
    PassManager manager(&context);
    manager.addPass(passes::createFuseNorm(&weights));
    ASSERT_TRUE(succeeded(manager.run(*after)));
    ASSERT_TRUE(function(*after).getOps<LayerNormOp>().empty());
  }

  static func::FuncOp function(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

  HostTensor evaluateWith(Value value, const KnownValues &known, Precision precision) {
    EvaluateOptions options;
    options.precision = precision;
    options.weights = &weights;
    FailureOr<HostTensor> tensor = evaluate(value, known, {}, options);
    EXPECT_TRUE(succeeded(tensor));
    return succeeded(tensor) ? *tensor : HostTensor();
  }

  KnownValues inputsOf(ModuleOp module, const HostTensor &x) {
    HostTensor zeros =
        HostTensor::fromValues<float>({kNormRows, 32}, type, std::vector<float>(kNormRows * 32));
    return {{function(module).getArgument(0), zeros}, {function(module).getArgument(1), x}};
  }

  static Value resultOf(ModuleOp module) {
    return function(module).getBody().front().getTerminator()->getOperand(0);
  }

  /// A product as the kernels compute it: in fp32 one after the other, rounded to nearest; tensor
  /// cores add sixteen at a time and drop the digits that do not fit.
  HostTensor product(const HostTensor &lhs, const HostTensor &rhs) const {
    std::vector<float> sums(kNormRows * kProductColumns);
    int64_t step = type.isF32() ? 1 : 16;
    for (int64_t i = 0; i < kNormRows * kProductColumns; ++i)
      for (int64_t start = 0; start < kDepth; start += step) {
        double exact = sums[i];
        for (int64_t k = start; k < start + step; ++k)
          exact += lhs.getDouble(i / kProductColumns * kDepth + k) *
                   rhs.getDouble(k * kProductColumns + i % kProductColumns);
        auto nearest = static_cast<float>(exact);
        bool isLarger = std::abs(static_cast<double>(nearest)) > std::abs(exact);
        sums[i] = step > 1 && isLarger ? std::nextafter(nearest, 0.0f) : nearest;
      }
    return HostTensor::fromValues<float>({kNormRows, kProductColumns},
                                         Float32Type::get(type.getContext()), sums);
  }

  HostTensor exact(const HostTensor &x) {
    return evaluateWith(resultOf(*before), inputsOf(*before, x), Precision::f64);
  }

  HostTensor fused(const HostTensor &x) {
    MatmulOp matmul = *llvm::find_if(function(*after).getOps<MatmulOp>(), [](MatmulOp op) {
      return tensorType(op.getOutput()).getDim(1).isConstant(kProductColumns);
    });
    KnownValues known = inputsOf(*after, x);
    known[matmul.getOutput()] =
        product(x, rounded(evaluateWith(matmul.getRhs(), KnownValues(), Precision::f32)));
    return rounded(evaluateWith(resultOf(*after), known, Precision::f32));
  }

  /// The norm as a kernel of its own, which knows the mean but for one rounding and stores y.
  HostTensor separate(const HostTensor &x) const {
    std::vector<float> normalized(kNormRows * kDepth);
    for (int64_t row = 0; row < kNormRows; ++row) {
      ArrayRef<float> values = x.values<float>().slice(row * kDepth, kDepth);
      double mean = std::accumulate(values.begin(), values.end(), 0.0) / kDepth, variance = 0;
      for (float value : values)
        variance += (value - mean) * (value - mean) / kDepth;
      auto center = static_cast<float>(mean), rstd = static_cast<float>(1 / std::sqrt(variance));
      for (int64_t k = 0; k < kDepth; ++k)
        normalized[row * kDepth + k] = (values[k] - center) * rstd * gamma.values<float>()[k];
    }
    HostTensor y = rounded(HostTensor::fromValues<float>({kNormRows, kDepth}, type, normalized));
    return rounded(product(y, weight).declaredAs(type));
  }

  MLIRContext context;
  WeightStore weights;
  Random random{1};
  Type type;
  HostTensor gamma, weight;
  OwningOpRef<ModuleOp> before, after;
};

TEST_F(FuseNormAccuracy, MeansLargerThanDeviations) {
  for (AccuracyCase c :
       {AccuracyCase{"f32", 0, 1, 0.02, 1e-6, 2}, AccuracyCase{"f32", 10, 1, 0, 5e-6, 6},
        AccuracyCase{"f32", 10, 1, 0.02, 5e-6, 1}, AccuracyCase{"f32", 100, 1, 0.02, 5e-5, 1},
        AccuracyCase{"f32", 100, 0.1, 0.02, 5e-4, 1}, AccuracyCase{"f16", 10, 1, 0.02, 4e-4, 2},
        AccuracyCase{"f16", 100, 1, 0.02, 4e-4, 2}, AccuracyCase{"f16", 100, 0.1, 0.02, 1e-3, 3}}) {
    prepare(c.element, c.weightMean);
    HostTensor x = normal({kNormRows, kDepth}, c.mean, c.deviation), expected = exact(x);
    double error = relativeError(fused(x), expected),
           separateError = relativeError(separate(x), expected);
    SCOPED_TRACE(::testing::Message() << c.element << ", mean " << c.mean << ", deviation "
                                      << c.deviation << ", mean of the weights " << c.weightMean);
    EXPECT_LE(error, c.bound);
    EXPECT_LE(error, c.ratio * separateError);
  }
}

TEST_F(FuseNormAccuracy, EqualElementsAreExactlyZero) {
  for (const char *element : {"f32", "f16", "bf16"}) {
    prepare(element, 0.02);
    HostTensor x = rounded(HostTensor::fromValues<float>(
        {kNormRows, kDepth}, type, std::vector<float>(kNormRows * kDepth, 1.3f)));
    HostTensor result = fused(x);
    for (int64_t i = 0; i < result.getNumElements(); ++i)
      EXPECT_EQ(result.getDouble(i), 0) << element;
  }
}

} // namespace
} // namespace smelt
