// Convolutions and products of the domain com.microsoft with an activation behind them, and those
// whose data have their channels last: spelled as ONNX's own.
#include "frontend/node_table.h"
#include "frontend/ops/window.h"
#include "frontend/respell.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr llvm::StringLiteral kConvDomain = "com.microsoft";

using Parameters = SmallVector<std::pair<StringRef, float>>;

/// Functions that may be fused, as nodes of this opset: Clip still has its bounds as attributes.
constexpr int64_t kActivationOpset = 10;

bool isActivation(StringRef name) {
  return llvm::is_contained({"Clip", "Elu", "HardSigmoid", "LeakyRelu", "ParametricSoftplus",
                             "Relu", "ScaledTanh", "Selu", "Sigmoid", "Softplus", "Softsign",
                             "Tanh", "ThresholdedRelu"},
                            name);
}

/// The function that attribute 'activation' names, if any, of `value`. Null after a report.
Value activate(NodeReader &node, Value value, const Parameters &parameters) {
  std::string name = node.text("activation", "");
  if (!value || name.empty())
    return value;
  if (!isActivation(name))
    return node.error() << "its activation '" << name << "' is not supported", Value();
  onnx_wire::Node proto = withoutAttributes(node);
  proto.set_op_type(name);
  proto.clear_domain();
  for (const auto &[parameter, number] : parameters)
    setReal(proto, parameter, number);
  return node.resultOf(kActivationOpset, proto, {value});
}

/// `activation_params` by name; there are none where the defaults hold.
FailureOr<Parameters> readConvParameters(NodeReader &node) {
  auto given = node.reals("activation_params");
  if (!given)
    return Parameters();
  std::string name = node.text("activation", "");
  SmallVector<StringRef> names = name == "Clip" ? SmallVector<StringRef>{"min", "max"}
                                                : SmallVector<StringRef>{"alpha", "beta"};
  if (given->size() > names.size())
    return node.error() << "has " << given->size() << " activation_params for " << name;
  Parameters parameters;
  for (auto [parameter, number] : llvm::zip(names, *given))
    parameters.emplace_back(parameter, number);
  return parameters;
}

LogicalResult requireChannels(NodeReader &node) {
  if (tensorType(node.input(0)).getRank() < 3)
    return node.error() << "needs an input with spatial axes, got " << node.describe(0);
  return success();
}

/// activation(conv(x, w) + b + z)
template <bool isLast> LogicalResult importFusedConv(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<Parameters> parameters = readConvParameters(node);
  if (failed(parameters) || failed(requireChannels(node)) || failed(node.requireSameType()))
    return failure();
  Value data = isLast ? channelsFirst(build, node.input(0)) : node.input(0);
  Value result = node.resultOf(kActivationOpset, asStandard(node, "Conv"),
                               {data, node.input(1), node.input(2)});
  if (isLast)
    result = channelsLast(build, result);
  if (Value addend = node.input(3); addend && result) {
    Value sum = build.create<AddOp>({result, addend});
    if (sum && tensorType(sum).getShape() != tensorType(result).getShape())
      return node.error() << "its addend " << node.describe(3) << " does not fit the result";
    result = sum;
  }
  return node.output(activate(node, result, *parameters));
}

LogicalResult importFusedGemm(NodeReader &node) {
  Parameters parameters;
  for (auto [attribute, name] : {std::pair("activation_alpha", "alpha"),
                                 {"activation_beta", "beta"},
                                 {"activation_gamma", "gamma"}})
    if (node.hasAttribute(attribute))
      parameters.emplace_back(name, node.real(attribute, 0));
  SmallVector<Value> inputs{node.input(0), node.input(1)};
  if (node.input(2))
    inputs.push_back(node.input(2));
  Value product = node.resultOf(kActivationOpset, asStandard(node, "Gemm"), inputs);
  return node.output(activate(node, product, parameters));
}

LogicalResult importMaxPoolOfLast(NodeReader &node) {
  if (failed(requireChannels(node)))
    return failure();
  constexpr int64_t kOpset = 12; // the first with pools of bytes
  Value data = channelsFirst(node.build, node.input(0));
  return node.output(
      channelsLast(node.build, node.resultOf(kOpset, asStandard(node, "MaxPool"), {data})));
}

} // namespace

ArrayRef<NodeRule> microsoftConvRules() {
  static constexpr NodeRule kRules[] = {
      {"FusedConv", 1, 2, importFusedConv<false>, kConvDomain},
      {"FusedGemm", 1, 2, importFusedGemm, kConvDomain},
      {"NhwcConv", 1, 2, importFusedConv<true>, kConvDomain},
      {"NhwcFusedConv", 1, 2, importFusedConv<true>, kConvDomain},
      {"NhwcMaxPool", 1, 1, importMaxPoolOfLast, kConvDomain},
  };
  return kRules;
}

} // namespace smelt::frontend
