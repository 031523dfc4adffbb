// LinearAttention, unrolled over the sequence: a state of [key size, value size] for each head takes in one
// key and value a step, and answers one query. In float32 throughout, as the standard's function has it.
//
// The heads of queries that share a state are the rows of one product. What decays and rates depend on
// is computed for all steps at once. The sequence's length must be known.
#include "frontend/fixing_flags.h"
#include "frontend/node_table.h"
#include "frontend/ops/expression.h"

#include <cmath>

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Each step is a few kernels, and a few ops to compile.
constexpr int64_t kMostTokens = 512;

enum LinearAttentionInput : size_t { kQueries, kKeys, kValues, kPastState, kDecay, kRate };

struct LinearAttentionSizes {
  Dim batch, groups, shared, keySize, valueSize; // `groups` of `shared` query heads
  int64_t length = 0;
};

/// All steps at once, in float32; axis 1 counts them. `decay` and `rate` may be null.
struct LinearAttentionSteps {
  Value query; // [batch, length, groups, shared, key size], scaled
  Value key;   // [batch, length, groups, key size, 1]
  Value value; // [batch, length, groups, 1, value size]
  Value decay; // [batch, length, groups, key size or 1, 1], the factor itself
  Value rate;  // [batch, length, groups or 1, 1, 1]
};

LogicalResult requireSizes(NodeReader &node, size_t input, ArrayRef<Dim> shape) {
  TensorType type = tensorType(node.input(input));
  if (type.getRank() != shape.size())
    return node.error() << "needs " << shape.size() << " axes, got " << node.describe(input);
  for (auto [size, wanted] : llvm::zip_equal(type.getShape(), shape))
    if (failed(node.build.getFacts().requireEqual(node.build.getLocation(), size, wanted,
                                                  "queries, keys, values and state fit")))
      return failure();
  return success();
}

FailureOr<LinearAttentionSizes> readLinearAttentionSizes(NodeReader &node) {
  int64_t queryHeads = node.integer("q_num_heads", 0), heads = node.integer("kv_num_heads", 0);
  if (heads < 1 || queryHeads < 1 || queryHeads % heads != 0)
    return node.error() << "its q_num_heads " << queryHeads
                        << " must be a multiple of its kv_num_heads " << heads;
  for (size_t index : {kQueries, kKeys, kValues})
    if (tensorType(node.input(index)).getRank() != 3)
      return node.error() << "needs three axes, got " << node.describe(index);
  GraphBuilder &build = node.build;
  SmallVector<Dim> query = tensorType(node.input(kQueries)).getShape();
  auto keySize = query[2].exactDiv(build.size(queryHeads)),
       valueSize = tensorType(node.input(kValues)).getDim(2).exactDiv(build.size(heads));
  if (!keySize || !valueSize)
    return node.error() << "cannot split " << node.describe(kQueries) << " into " << queryHeads
                        << " heads and " << node.describe(kValues) << " into " << heads;
  auto length = query[1].asConstant();
  if (!length || *length < 1 || *length > kMostTokens)
    return node.error() << "a sequence of " << query[1].toString()
                        << " steps is not supported: its length must be constant, 1 to "
                        << kMostTokens << "; " << node.describe(kQueries)
                        << fixingFlags(build.getFunction(), query[1]);
  LinearAttentionSizes sizes{query[0], build.size(heads), build.size(queryHeads / heads),
                             *keySize, *valueSize,        *length};
  if (failed(requireSizes(node, kKeys, {query[0], query[1], sizes.keySize * heads})) ||
      failed(requireSizes(node, kValues, {query[0], query[1], sizes.valueSize * heads})) ||
      (node.input(kPastState) &&
       failed(requireSizes(node, kPastState,
                           {query[0], sizes.groups, sizes.keySize, sizes.valueSize}))))
    return failure();
  return sizes;
}

Value asFloat32(NodeReader &node, size_t input, ArrayRef<Dim> shape) {
  Type f32 = Float32Type::get(node.build.getContext());
  return node.build.reshape(node.build.cast(node.input(input), f32), shape);
}

/// Reports, and fails, unless exactly the inputs that the rule reads are given.
LogicalResult checkUpdateRule(NodeReader &node, bool decays, bool corrects) {
  std::string rule = node.text("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return node.error() << "update_rule '" << rule
                        << "' is none of linear, gated, delta and gated_delta";
  if (decays != (node.input(kDecay) != nullptr))
    return node.error() << "update_rule '" << rule << (decays ? "' needs" : "' has no")
                        << " decay (input 4)";
  if (corrects != (node.input(kRate) != nullptr))
    return node.error() << "update_rule '" << rule << (corrects ? "' needs" : "' has no")
                        << " beta (input 5)";
  return success();
}

/// One factor a head, or one for each element of its key.
LogicalResult readDecay(NodeReader &node, const LinearAttentionSizes &sizes,
                        LinearAttentionSteps &steps) {
  GraphBuilder &build = node.build;
  Dim one = build.size(1), length = build.size(sizes.length);
  TensorType type = tensorType(node.input(kDecay));
  bool isPerHead = type.getRank() == 3 && type.getDim(2) == sizes.groups;
  Dim factors = isPerHead ? one : sizes.keySize;
  if (failed(requireSizes(node, kDecay, {sizes.batch, length, sizes.groups * factors})))
    return failure();
  steps.decay = build.unary<ExpOp>(
      asFloat32(node, kDecay, {sizes.batch, length, sizes.groups, factors, one}));
  return success(steps.decay != nullptr);
}

LogicalResult readRate(NodeReader &node, const LinearAttentionSizes &sizes,
                       LinearAttentionSteps &steps) {
  Dim one = node.build.size(1), length = node.build.size(sizes.length);
  TensorType type = tensorType(node.input(kRate));
  bool isShared = type.getRank() == 3 && type.getDim(2).isConstant(1);
  Dim rates = isShared ? one : sizes.groups;
  if (failed(requireSizes(node, kRate, {sizes.batch, length, rates})))
    return failure();
  steps.rate = asFloat32(node, kRate, {sizes.batch, length, rates, one, one});
  return success(steps.rate != nullptr);
}

FailureOr<LinearAttentionSteps> readSteps(NodeReader &node, const LinearAttentionSizes &sizes) {
  GraphBuilder &build = node.build;
  std::string rule = node.text("update_rule", "gated_delta");
  bool decays = StringRef(rule).starts_with("gated"), corrects = StringRef(rule).ends_with("delta");
  float scale = node.real("scale", 0);
  auto keySize = sizes.keySize.asConstant();
  if (failed(checkUpdateRule(node, decays, corrects)))
    return failure();
  if (scale == 0 && (!keySize || *keySize < 1))
    return node.error() << "needs a constant key size, or the attribute 'scale'; query is "
                        << node.describe(kQueries);
  if (scale == 0)
    scale = static_cast<float>(1 / std::sqrt(static_cast<double>(*keySize)));
  Dim batch = sizes.batch, length = build.size(sizes.length), groups = sizes.groups,
      one = build.size(1);
  LinearAttentionSteps steps;
  Expression query(build,
                   asFloat32(node, kQueries, {batch, length, groups, sizes.shared, sizes.keySize}));
  steps.query = (query * scale).value();
  steps.key = asFloat32(node, kKeys, {batch, length, groups, sizes.keySize, one});
  steps.value = asFloat32(node, kValues, {batch, length, groups, one, sizes.valueSize});
  if ((decays && failed(readDecay(node, sizes, steps))) ||
      (corrects && failed(readRate(node, sizes, steps))))
    return failure();
  return steps;
}

/// Step `index` of values whose axis 1 counts steps, without that axis; null for null.
Value stepOf(GraphBuilder &build, Value all, int64_t index) {
  if (!all)
    return {};
  SmallVector<Dim> shape = tensorType(all).getShape();
  shape.erase(shape.begin() + 1);
  return build.reshape(build.slice(all, 1, build.size(index), build.size(1)), shape);
}

/// S = decay S + k (rate (v - k^T S))^T; without a rate, S = decay S + k v^T.
Value updateState(GraphBuilder &build, const LinearAttentionSteps &steps, int64_t index,
                  Value state) {
  Value key = stepOf(build, steps.key, index), value = stepOf(build, steps.value, index);
  if (Value decay = stepOf(build, steps.decay, index))
    state = build.create<MulOp>({state, decay});
  if (Value rate = stepOf(build, steps.rate, index)) {
    Value known = build.create<MatmulOp>({build.transposeMatrix(key), state});
    value = build.create<MulOp>({rate, build.create<SubOp>({value, known})});
  }
  return build.create<AddOp>({state, build.create<MulOp>({key, value})});
}

LogicalResult importLinearAttention(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<LinearAttentionSizes> sizes = readLinearAttentionSizes(node);
  if (failed(sizes))
    return failure();
  FailureOr<LinearAttentionSteps> steps = readSteps(node, *sizes);
  if (failed(steps))
    return failure();
  SmallVector<Dim> shape{sizes->batch, sizes->groups, sizes->keySize, sizes->valueSize};
  bool hasPast = node.input(kPastState) != nullptr;
  Value state = hasPast
                    ? asFloat32(node, kPastState, shape)
                    : build.expand(build.scalar(0, Float32Type::get(build.getContext())), shape);
  SmallVector<Value> answers;
  Dim all = sizes->groups * sizes->shared * sizes->valueSize;
  for (int64_t index = 0; index < sizes->length; ++index) {
    state = updateState(build, *steps, index, state);
    Value answer = build.create<MatmulOp>({stepOf(build, steps->query, index), state});
    answers.push_back(build.reshape(answer, {sizes->batch, build.size(1), all}));
  }
  Type element = tensorType(node.input(kQueries)).getElementType(),
       stateElement = hasPast ? tensorType(node.input(kPastState)).getElementType() : element;
  if (failed(node.output(build.cast(state, stateElement), 1)))
    return failure();
  return node.output(build.cast(build.concat(answers, 1), element));
}

} // namespace

ArrayRef<NodeRule> linearAttentionRules() {
  static constexpr NodeRule kRules[] = {
      {"LinearAttention", 27, 3, importLinearAttention},
  };
  return kRules;
}

} // namespace smelt::frontend
