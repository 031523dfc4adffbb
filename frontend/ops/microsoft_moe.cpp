// MoE of the domain com.microsoft: a mixture of experts, each two products with an activation
// between them.
//
// Every expert computes every token, and a gate of [tokens, experts], 0 but for the experts that a
// token chose, weighs their results: the sizes do not depend on the choice.
#include "frontend/node_table.h"
#include "frontend/respell.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr llvm::StringLiteral kMoeDomain = "com.microsoft";

enum MoeInput : size_t {
  kTokens,
  kRouter,
  kFirst,
  kFirstBias,
  kSecond,
  kSecondBias,
  kThird,
  kThirdBias
};

class Experts {
public:
  explicit Experts(NodeReader &node)
      : node(node), build(node.build), activation(node.text("activation_type", "relu")) {}

  LogicalResult import() {
    if (failed(check()))
      return failure();
    TensorType type = tensorType(node.input(kTokens));
    SmallVector<Dim> shape = type.getShape();
    Dim columns = shape.back(), rows = product(ArrayRef(shape).drop_back(), build.getContext());
    Value tokens = build.reshape(node.input(kTokens), {build.size(1), rows, columns});
    Value results = dense(activated(tokens), kSecond, kSecondBias);
    Value weights = build.transpose(gate(rows), {1, 0});
    if (!results || !weights)
      return failure();
    weights = build.reshape(weights, {tensorType(weights).getDim(0), rows, build.size(1)});
    Value weighed = build.create<MulOp>({build.cast(results, f32()), weights});
    Value sum = build.reduce(ReductionKind::sum, weighed, int64_t{0});
    return node.output(sum ? build.reshape(build.cast(sum, type.getElementType()), shape) : sum);
  }

private:
  Type f32() const { return Float32Type::get(build.getContext()); }

  LogicalResult check() {
    for (StringRef flag : {"use_sparse_mixer", "swiglu_limit_after_activation"})
      if (node.flag(flag))
        return node.error() << "its attribute '" << flag << "' is not supported";
    if (!node.input(kSecond))
      return node.error() << "needs input " << size_t{kSecond};
    for (auto [index, rank] : {std::pair<size_t, unsigned>(kRouter, 2), {kFirst, 3}, {kSecond, 3}})
      if (tensorType(node.input(index)).getRank() != rank)
        return node.error() << "needs " << rank << " axes, got " << node.describe(index);
    unsigned rank = tensorType(node.input(kTokens)).getRank();
    if (rank != 2 && rank != 3)
      return node.error() << "needs tokens of two axes or three, got " << node.describe(kTokens);
    return node.requireSameType();
  }

  /// [experts or 1, tokens, in] times input `weight`, [experts, out, in], plus a bias [experts, out].
  Value dense(Value tokens, size_t weight, size_t bias) {
    Value factor = node.input(weight);
    if (!tokens || !factor)
      return node.error() << "needs input " << weight, Value();
    Value result =
        node.resultOf(13, asStandard(node, "MatMul"), {tokens, build.transposeMatrix(factor)});
    Value shift = node.input(bias);
    if (!shift || !result)
      return result;
    SmallVector<Dim> shape = tensorType(shift).getShape();
    if (shape.size() != 2)
      return node.error() << "needs two axes, got " << node.describe(bias), Value();
    shape.insert(shape.begin() + 1, build.size(1));
    return build.create<AddOp>({result, build.reshape(shift, shape)});
  }

  Value function(StringRef name, Value value) {
    if (name == "relu")
      return build.unary<ReluOp>(value);
    if (name == "gelu") // by the hyperbolic tangent, as ONNX Runtime computes it
      return build.unary<GeluOp>(value, build.flag("tanh"));
    if (name == "silu")
      return build.unary<SiluOp>(value);
    if (name == "identity")
      return value;
    return node.error() << "its activation_type '" << name
                        << "' is none of relu, gelu, silu, swiglu and identity",
           Value();
  }

  Value activated(Value tokens) {
    Value first = dense(tokens, kFirst, kFirstBias);
    if (!first)
      return {};
    if (activation == "swiglu")
      return gated(tokens, first);
    Value result = function(activation, first);
    return node.input(kThird) && result
               ? build.create<MulOp>({result, dense(tokens, kThird, kThirdBias)})
               : result;
  }

  /// Every second of the last axis, or one half of it; `index` is 0 or 1.
  Value part(Value both, int64_t index, bool isInterleaved) {
    int64_t axis = tensorType(both).getRank() - 1;
    Dim size = tensorType(both).getDim(axis);
    auto half = size.exactDiv(build.size(2));
    if (!half)
      return node.error() << "cannot cut " << node.describe(kFirst) << " into two", Value();
    return isInterleaved ? build.slice(both, axis, build.size(index), *half, 2)
                         : build.slice(both, axis, *half * index, *half);
  }

  /// g sigmoid(alpha g) (l + beta), where g and l are results of two products, or parts of one.
  Value gated(Value tokens, Value first) {
    int64_t fusion = node.integer("swiglu_fusion", 0);
    Value gate = fusion ? part(first, 0, fusion == 1) : first,
          linear = fusion ? part(first, 1, fusion == 1) : dense(tokens, kThird, kThirdBias);
    if (!gate || !linear)
      return {};
    Type type = tensorType(gate).getElementType();
    if (node.hasAttribute("swiglu_limit")) {
      double limit = node.real("swiglu_limit", 0);
      gate = build.create<MinOp>({gate, build.scalar(limit, type)});
      linear = build.create<MinOp>({linear, build.scalar(limit, type)});
      linear = build.create<MaxOp>({linear, build.scalar(-limit, type)});
    }
    Value scaled =
        build.create<MulOp>({gate, build.scalar(node.real("activation_alpha", 1), type)});
    gate = build.create<MulOp>({gate, build.unary<SigmoidOp>(scaled)});
    Value shift = build.scalar(node.real("activation_beta", 0), type);
    return build.create<MulOp>({gate, build.create<AddOp>({linear, shift})});
  }

  /// How much each expert counts for each token, in float32: its probability where it is among the
  /// `k` most probable, else 0.
  Value gate(Dim rows) {
    Value router = node.input(kRouter);
    Dim experts = tensorType(router).getDim(1), one = build.size(1);
    Dim chosen = build.size(node.integer("k", 1));
    for (auto [low, high] : {std::pair(one, chosen), {chosen, experts}})
      if (failed(build.getFacts().requireAtMost(build.getLocation(), low, high,
                                                "a token has at least one of the experts")))
        return {};
    if (failed(build.getFacts().requireEqual(build.getLocation(), tensorType(router).getDim(0),
                                             rows, "each token has a row of the router")))
      return {};
    Value probabilities =
        build.unary<SoftmaxOp>(build.cast(router, f32()), build.attribute("axis", int64_t{1}));
    TensorType values = TensorType::get({rows, chosen}, f32());
    Type i64 = IntegerType::get(build.getContext(), 64);
    SmallVector<Value> best = build.createAll<TopKOp>(
        {values, values.withElementType(i64)}, probabilities, build.attribute("axis", int64_t{1}));
    if (best.empty())
      return {};
    if (node.flag("normalize_routing_weights"))
      best[0] = build.create<DivOp>({best[0], build.reduce(ReductionKind::sum, best[0], 1)});
    Value number = build.createAs<IotaOp>(TensorType::get({experts}, i64), {});
    Value isChosen = build.create<EqualOp>({build.reshape(best[1], {rows, chosen, one}), number});
    Value shares = build.create<SelectOp>(
        {isChosen, build.reshape(best[0], {rows, chosen, one}), build.scalar(0, f32())});
    return build.reshape(build.reduce(ReductionKind::sum, shares, 1), {rows, experts});
  }

  NodeReader &node;
  GraphBuilder &build;
  std::string activation;
};

LogicalResult importMoe(NodeReader &node) { return Experts(node).import(); }

} // namespace

ArrayRef<NodeRule> microsoftMoeRules() {
  static constexpr NodeRule kRules[] = {
      {"MoE", 1, 3, importMoe, kMoeDomain},
  };
  return kRules;
}

} // namespace smelt::frontend
