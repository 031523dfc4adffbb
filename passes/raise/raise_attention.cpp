// raise-attention: softmax(scale * Q K^T + bias) V becomes one op, whoever exported it.
//
// The scale stands on Q, on K, on both as its root, or on the product; K^T is any view; masks are
// added, or select between score and fill; a guard turns NaN rows into zeros; grouped heads are
// repeated copies of K and V; scores are capped by c * tanh(s / c). simplify has brought views and
// scalars to one order, so that the chain from the softmax down to Q K^T is short. Method: from
// each softmax, up to the product with V and down to the product of Q and K, gathering scale, cap
// and bias on the way (attention_scores.h); then attention_bias.h normalises the bias and finds the
// causal part. Anything unknown on the way refuses the raise with the reason. The interpreter
// compares both forms.
#include "passes/constants.h"
#include "passes/dead_ops.h"
#include "passes/passes.h"
#include "passes/raise/attention_bias.h"
#include "passes/raise/attention_scores.h"
#include "passes/raise/attention_windows.h"
#include "passes/raise/expand_attention.h"
#include "passes/raise/raise.h"
#include "passes/view_shape.h"

#include "llvm/Support/FormatVariadic.h"

#include <array>

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_RAISEATTENTION
#include "passes/passes.h.inc"

namespace {

constexpr double kScaleTolerance = 1e-6; // the scale is kept in fp32

/// A cast to a wider float type, which loses nothing.
bool isWideningCast(Operation *op) {
  return isFloatCast(op) && elementType(op->getOperand(0)).getIntOrFloatBitWidth() <
                                elementType(op->getResult(0)).getIntOrFloatBitWidth();
}

/// Takes scalar factors and widening casts out of a chain of views: view(cast(x) * c) is view(x)
/// and the factor c.
Scaled peel(OpBuilder &builder, Value value, bool takesFactors) {
  SmallVector<Operation *> views;
  double factor = 1;
  Value base = value;
  while (Operation *op = base.getDefiningOp()) {
    std::optional<Scaled> scaled = takesFactors ? matchScaled(base) : std::nullopt;
    if (op->hasTrait<View>()) {
      views.push_back(op);
      base = op->getOperand(0);
    } else if (isWideningCast(op)) {
      base = op->getOperand(0);
    } else if (scaled) {
      factor *= scaled->factor;
      base = scaled->value;
    } else {
      break;
    }
  }
  if (factor == 1 && elementType(base) == elementType(value))
    return {value, 1};
  for (Operation *view : llvm::reverse(views)) {
    Operation *clone = view->clone();
    clone->setOperand(0, base);
    clone->getResult(0).setType(tensorType(view->getResult(0)).withElementType(elementType(base)));
    builder.insert(clone);
    base = clone->getResult(0);
  }
  return {base, factor};
}

/// Heads that were repeated for their groups, [..., G, X, Y] -> [..., G, R, X, Y] ->
/// [..., G*R, X, Y], without the copies.
Value withoutRepeat(OpBuilder &builder, Value value) {
  auto merge = value.getDefiningOp<ReshapeOp>();
  auto expand = merge ? merge.getInput().getDefiningOp<ExpandOp>() : ExpandOp();
  if (!expand)
    return value;
  SmallVector<Dim> wide = shapeOf(expand.getOutput()), merged = shapeOf(value), own, repeated;
  SmallVector<Dim> narrow = padShape(shapeOf(expand.getInput()), wide.size(), builder.getContext());
  for (auto [one, all] : llvm::zip(narrow, wide))
    if (!all.isConstant(1)) {
      own.push_back(one);
      repeated.push_back(all);
    }
  unsigned rank = own.size();
  if (rank < 4 || rank != merged.size() + 1 || !own[rank - 3].isConstant(1))
    return value;
  own.erase(own.begin() + rank - 3);
  SmallVector<Dim> groups(repeated);
  groups.erase(groups.begin() + rank - 3);
  Dim heads = groups[rank - 4] * repeated[rank - 3];
  if (own != groups)
    return value;
  groups[rank - 4] = heads;
  return groups == merged ? reshapeTo(builder, merge.getLoc(), expand.getInput(), own) : value;
}

/// The batch and the heads of scores with these leading axes. A lone axis is the heads where its
/// size is constant: then it may be a batch as well.
std::array<Dim, 2> batchAndHeads(ArrayRef<Dim> leading, MLIRContext *context) {
  Dim one = Dim::constant(context, 1);
  if (leading.size() == 2)
    return {leading[0], leading[1]};
  if (leading.empty())
    return {one, one};
  return leading[0].asConstant() ? std::array{one, leading[0]} : std::array{leading[0], one};
}

/// `value` under four axes, [batch, heads, ...], where it broadcasts to scores with these `leading`
/// axes.
Value withFourAxes(OpBuilder &builder, Location location, Value value, ArrayRef<Dim> leading) {
  bool betweenBatchAndRows = leading.size() == 1 && !leading[0].asConstant();
  SmallVector<Dim> shape =
      padShape(dropLeadingOnes(shapeOf(value)), betweenBatchAndRows ? 3 : 4, builder.getContext());
  if (betweenBatchAndRows)
    shape.insert(shape.begin() + 1, Dim::constant(builder.getContext(), 1));
  return reshapeTo(builder, location, value, shape);
}

/// Q, K or V under four axes, the batch that broadcasting supplies repeated. Keys and values keep
/// their own number of heads.
Value asOperand(OpBuilder &builder, Location location, Value value, ArrayRef<Dim> leading,
                bool ownHeads) {
  Value result = withFourAxes(builder, location, value, leading);
  auto [batch, heads] = batchAndHeads(leading, builder.getContext());
  SmallVector<Dim> full = shapeOf(result);
  full[0] = batch;
  full[1] = ownHeads ? full[1] : heads;
  return broadcastTo(builder, location, result, tensorType(result).withShape(full));
}

/// Values that both forms are computed from: views, elementwise ops and sources are evaluated, all
/// else is drawn.
void collectLeaves(Value value, bool throughElementwise, llvm::SetVector<Value> &leaves) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<WeightOp>(op)) {
    leaves.insert(value);
    return;
  }
  if (isa<ConstantOp, IotaOp, DimsOp>(op))
    return;
  bool isScale = matchScaled(value).has_value() || isFloatCast(op);
  if (!op->hasTrait<View>() && !isScale && !(throughElementwise && op->hasTrait<Elementwise>())) {
    leaves.insert(value);
    return;
  }
  for (Value operand : op->getOperands())
    collectLeaves(operand, throughElementwise, leaves);
}

class AttentionRaiser {
public:
  explicit AttentionRaiser(ModuleOp module) : raiser(module) {}

  void raise(SoftmaxOp softmax) {
    std::string found;
    std::optional<Probabilities> probabilities = matchProbabilities(softmax, found);
    if (!probabilities)
      return refuse(softmax, {"its result is read once, by a product with values", found});
    unsigned rank = tensorType(softmax.getOutput()).getRank();
    unsigned most = probabilities->windows ? 5 : 4;
    if (softmax.getAxis() != rank - 1 || rank > most || rank < 2)
      return refuse(softmax, {"softmax runs along the last of 2 to 4 axes", shapeText(softmax)});
    OpBuilder builder(probabilities->weighted);
    ScoreMatcher matcher(builder, softmax.getLoc());
    std::optional<Scores> scores = matcher.match(softmax.getInput());
    if (!scores && matcher.getRefusal())
      return refuse(softmax, *matcher.getRefusal());
    if (!scores || scores->capIsOpen)
      return refuse(softmax,
                    {"its input is a product with scale, cap and mask", sourceText(softmax)});
    if (scores->windows != probabilities->windows)
      return refuse(softmax, {"windows are split before the softmax and merged behind it",
                              shapeText(softmax)});
    if (!scores->windows && shapeOf(scores->product.getOutput()) != shapeOf(softmax.getInput()))
      return refuse(softmax, {"the mask does not widen the scores", shapeText(softmax)});
    form(softmax, *probabilities, *scores, builder);
  }

  /// An attention that the model had as such: its bias in normal form, or its parts where no
  /// template takes it.
  void normalise(AttentionOp op) {
    if (!hasAttentionTemplate(op.getQuery(), op.getValue()))
      return expand(op);
    OpBuilder builder(op);
    Dim queries = shapeOf(op.getQuery())[2], keys = shapeOf(op.getKey())[2];
    NormalBias normal = normaliseBias(builder, op.getLoc(), op.getBias(), queries, keys);
    Value bias = normal.bias;
    if (bias)
      bias =
          reshapeTo(builder, op.getLoc(), bias, padShape(shapeOf(bias), 4, builder.getContext()));
    if (bias == op.getBias() || (!bias && !op.getBias() && !normal.causal)) {
      raiser.getRemarks().taken(op.getLoc(), "attention", "the model's own op");
      return;
    }
    Value raised = AttentionOp::create(builder, op.getLoc(), op.getQuery(), op.getKey(),
                                       op.getValue(), bias, op.getScale(), op.getSoftcap(),
                                       op.getCausal() || normal.causal, op.getZeroMaskedRows());
    llvm::SetVector<Value> leaves;
    for (Value operand : op->getOperands())
      collectLeaves(operand, operand == op.getBias(), leaves);
    raiser.replace(op.getOutput(), raised, leaves.getArrayRef(), kScaleTolerance, "attention",
                   "the model's own op");
  }

private:
  void refuse(Operation *op, const Refusal &refusal) {
    raiser.getRemarks().refused(op->getLoc(), "attention", refusal.predicate, refusal.found);
  }

  static Refusal noTemplate(Value query, Value value) {
    return {
        "a kernel template takes its heads",
        llvm::formatv("sizes {0} and {1} of {2}, where at most {3} of f16, bf16 or f32 is taken",
                      shapeOf(query).back().toString(), shapeOf(value).back().toString(),
                      elementType(query), kMostHeadSize)
            .str()};
  }

  void expand(AttentionOp op) {
    refuse(op, noTemplate(op.getQuery(), op.getValue()));
    OpBuilder builder(op);
    op.getOutput().replaceAllUsesWith(expandAttention(builder, op));
  }

  static std::string shapeText(SoftmaxOp softmax) {
    return "axis " + std::to_string(softmax.getAxis()) + " of " +
           toString(shapeOf(softmax.getInput()));
  }

  static std::string sourceText(SoftmaxOp softmax) {
    Operation *source = softmax.getInput().getDefiningOp();
    return source ? "it comes from " + source->getName().getStringRef().str()
                  : "it is an input of the model";
  }

  /// Q, K and V as the op takes them, and what the model multiplies before the product.
  struct Operands {
    Value query, key, value;
    Value queryLeaf, keyLeaf;
    double factor;
  };

  static Operands makeOperands(OpBuilder &builder, Location location, MatmulOp product,
                               MatmulOp weighted, ArrayRef<Dim> batch,
                               const std::optional<Windows> &windows) {
    Scaled query = peel(builder, product.getLhs(), true);
    Scaled keyTransposed = peel(builder, product.getRhs(), true);
    Value values = peel(builder, weighted.getRhs(), false).value;
    if (windows)
      for (Value *operand : {&query.value, &keyTransposed.value, &values})
        *operand = flattenOperand(builder, location, *operand, *windows);
    Value keyRows = withoutRepeat(builder, keyTransposed.value);
    SmallVector<int64_t> swap(llvm::to_vector(llvm::seq<int64_t>(tensorType(keyRows).getRank())));
    std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
    Value key = TransposeOp::create(builder, location, keyRows, swap);
    Operands made{asOperand(builder, location, query.value, batch, false),
                  asOperand(builder, location, key, batch, true),
                  asOperand(builder, location, withoutRepeat(builder, values), batch, true),
                  query.value,
                  keyTransposed.value,
                  query.factor * keyTransposed.factor};
    Type type = attentionType(weighted, made.query, made.key, made.value);
    for (Value *operand : {&made.query, &made.key, &made.value})
      *operand = castTo(builder, location, *operand, type);
    return made;
  }

  /// No operand broadcasts along the windows or their heads.
  static bool haveAllWindows(MatmulOp product, MatmulOp weighted, const Windows &windows) {
    std::array operands{product.getLhs(), product.getRhs(), weighted.getRhs()};
    return llvm::all_of(operands, [&](Value operand) {
      return ArrayRef<Dim>(shapeOf(operand)).drop_back(2) == ArrayRef<Dim>(windows.merged());
    });
  }

  static std::optional<Refusal> misfit(Value query, Value key, Value value) {
    if (!hasAttentionTemplate(query, value))
      return noTemplate(query, value);
    bool fits = shapeOf(query)[1].asConstant() && shapeOf(key)[1] == shapeOf(value)[1] &&
                shapeOf(key)[0] == shapeOf(query)[0];
    if (fits)
      return std::nullopt;
    return Refusal{"heads are constant and K fits V",
                   toString(shapeOf(key)) + " and " + toString(shapeOf(value))};
  }

  void form(SoftmaxOp softmax, const Probabilities &probabilities, const Scores &scores,
            OpBuilder &builder) {
    MatmulOp weighted = probabilities.weighted;
    Location location = softmax.getLoc();
    MatmulOp product = scores.product;
    const std::optional<Windows> &windows = scores.windows;
    SmallVector<Dim> batch(ArrayRef<Dim>(shapeOf(product.getOutput())).drop_back(2));
    if (ArrayRef<Dim>(shapeOf(weighted.getOutput())).drop_back(2) != ArrayRef<Dim>(batch))
      return refuse(softmax, {"V has the batch and heads of the scores",
                              toString(shapeOf(weighted.getRhs()))});
    if (windows && !haveAllWindows(product, weighted, *windows))
      return refuse(softmax,
                    {"each window has its own heads", toString(shapeOf(weighted.getRhs()))});
    if (windows)
      batch = windows->flat();
    Operands made = makeOperands(builder, location, product, weighted, batch, windows);
    if (std::optional<Refusal> refusal = misfit(made.query, made.key, made.value))
      return refuse(softmax, *refusal);

    Dim queries = shapeOf(made.query)[2], keys = shapeOf(made.key)[2];
    NormalBias normal = normaliseBias(builder, location, scores.bias, queries, keys);
    if (normal.bias)
      normal.bias = windows ? flattenBias(builder, location, normal.bias, *windows)
                            : withFourAxes(builder, location, normal.bias, batch);
    llvm::SetVector<Value> leaves =
        leavesOf(made.queryLeaf, made.keyLeaf, weighted.getRhs(), scores.bias);
    // Without a bias each query sees a key, unless a causal mask starts before the first.
    bool seesKeys = !normal.bias && (!normal.causal || queries.isKnownLessEqual(keys));
    bool zeroMaskedRows = probabilities.zeroMaskedRows && !seesKeys;
    Value attention = AttentionOp::create(
        builder, fusedLocation({weighted.getOutput()}, leaves.getArrayRef()), made.query, made.key,
        made.value, normal.bias, APFloat(static_cast<float>(scores.scale * made.factor)),
        APFloat(static_cast<float>(scores.softcap)), normal.causal, zeroMaskedRows);
    // These views are the product's, not the attention's: the next attention may read through them,
    // and its location would then hold this one's, and so on.
    Location own = weighted.getLoc();
    Value result = castTo(builder, own, attention, elementType(weighted.getOutput()));
    result = windows ? mergeResult(builder, own, result, *windows)
                     : reshapeTo(builder, own, result, shapeOf(weighted.getOutput()));
    bool narrowed = scores.narrowed || probabilities.narrowed;
    raiser.replace(weighted.getOutput(), result, leaves.getArrayRef(),
                   narrowed ? roundingTolerance(builder.getF16Type()) : kScaleTolerance,
                   "attention", describe(scores, normal, zeroMaskedRows, made.key, made.query));
  }

  /// The narrow type that Q, K and V all have where the result is only read in it, else the
  /// result's own.
  static Type attentionType(MatmulOp weighted, Value q, Value k, Value v) {
    Type own = elementType(weighted.getOutput()), narrow = elementType(q);
    bool readNarrow = llvm::all_of(weighted->getUsers(), [&](Operation *user) {
      return isFloatCast(user) && elementType(user->getResult(0)) == narrow;
    });
    return elementType(k) == narrow && elementType(v) == narrow && readNarrow ? narrow : own;
  }

  static llvm::SetVector<Value> leavesOf(Value query, Value key, Value value, Value bias) {
    llvm::SetVector<Value> leaves;
    for (Value operand : {query, key, value})
      collectLeaves(operand, false, leaves);
    if (bias)
      collectLeaves(bias, true, leaves);
    return leaves;
  }

  static std::string describe(const Scores &scores, const NormalBias &normal, bool zeroMaskedRows,
                              Value key, Value query) {
    std::string text = "scale";
    if (scores.softcap > 0)
      text += ", soft cap";
    if (normal.bias)
      text += ", bias " + toString(shapeOf(normal.bias));
    if (normal.causal)
      text += ", causal";
    if (zeroMaskedRows)
      text += ", masked rows are zero";
    if (shapeOf(key)[1] != shapeOf(query)[1])
      text +=
          ", grouped heads " + shapeOf(query)[1].toString() + " to " + shapeOf(key)[1].toString();
    return text;
  }

  Raiser raiser;
};

struct RaiseAttention : impl::RaiseAttentionBase<RaiseAttention> {
  void runOnOperation() override {
    SmallVector<SoftmaxOp> softmaxes;
    SmallVector<AttentionOp> native;
    getOperation().walk([&](Operation *op) {
      if (auto softmax = dyn_cast<SoftmaxOp>(op))
        softmaxes.push_back(softmax);
      else if (auto attention = dyn_cast<AttentionOp>(op))
        native.push_back(attention);
    });
    AttentionRaiser raiser(getOperation());
    for (SoftmaxOp softmax : softmaxes)
      raiser.raise(softmax);
    for (AttentionOp attention : native)
      raiser.normalise(attention);
    eraseDeadOps(getOperation());
  }
};

} // namespace

} // namespace smelt::passes
