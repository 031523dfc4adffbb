// raise-norm: RMSNorm and LayerNorm from means, squares and roots.
//
// Exporters spread one norm over up to nine nodes, in half precision with casts at four different
// places, with the subtraction twice, with a quotient by the root or a product with its reciprocal.
// simplify leaves one spelling of the root, so that the core of both norms is one pattern, x *
// rsqrt(mean(x^2) + epsilon). The rest follows by small steps, each checked: RMSNorm of x - mean(x)
// is LayerNorm of x; a product with a tensor over the normalised axes is its scale, a sum its bias;
// casts to fp32 around it change nothing, for both norms compute in fp32. A second core is LayerNorm
// by the mean of squares less the square of the mean, as ONNX defines it, with reshapes anywhere.
#include "passes/constants.h"
#include "passes/dead_ops.h"
#include "passes/passes.h"
#include "passes/raise/raise.h"
#include "passes/view_shape.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_RAISENORM
#include "passes/passes.h.inc"

namespace {

constexpr double kEpsilonTolerance = 1e-6; // epsilon is kept in fp32

/// The mean of `input` over the trailing axes from `axis` on, kept with size 1.
struct Mean {
  Value input;
  int64_t axis;
};

/// The axes are all from some axis on.
std::optional<int64_t> trailingAxis(ReduceOp op) {
  SmallVector<int64_t> axes(op.getAxes());
  llvm::sort(axes);
  int64_t rank = tensorType(op.getInput()).getRank(),
          first = rank - static_cast<int64_t>(axes.size());
  for (auto [index, axis] : llvm::enumerate(axes))
    if (axis != first + static_cast<int64_t>(index))
      return std::nullopt;
  return axes.empty() ? std::nullopt : std::optional(first);
}

std::optional<Mean> matchMean(Value value) {
  if (auto mean = value.getDefiningOp<ReduceOp>(); mean && mean.getKind() == ReductionKind::mean) {
    std::optional<int64_t> axis = trailingAxis(mean);
    return axis ? std::optional(Mean{mean.getInput(), *axis}) : std::nullopt;
  }
  // A sum divided by the number of elements.
  std::optional<Scaled> scaled = matchScaled(value);
  auto total = scaled ? scaled->value.getDefiningOp<ReduceOp>() : ReduceOp();
  if (!total || total.getKind() != ReductionKind::sum)
    return std::nullopt;
  std::optional<int64_t> axis = trailingAxis(total);
  Dim count = Dim::constant(value.getContext(), 1);
  for (int64_t reduced : total.getAxes())
    count = count * tensorType(total.getInput()).getDim(reduced);
  std::optional<int64_t> size = count.asConstant();
  double tolerance = roundingTolerance(tensorType(value).getElementType());
  if (!axis || !size || std::abs(scaled->factor * static_cast<double>(*size) - 1) > tolerance)
    return std::nullopt;
  return Mean{total.getInput(), *axis};
}

Value squareRootOf(Value value) {
  auto square = value.getDefiningOp<MulOp>();
  return square && square.getLhs() == square.getRhs() ? square.getLhs() : Value();
}

/// x * rsqrt(mean(x^2) + epsilon), with casts of x and of the root to another float type.
struct Core {
  Value x;
  int64_t axis;
  double epsilon;
};

/// A norm keeps its epsilon in fp32, which is exact enough for all results but those in double.
bool isKept(double epsilon, Value x) {
  return !tensorType(x).getElementType().isF64() ||
         static_cast<double>(static_cast<float>(epsilon)) == epsilon;
}

std::optional<Core> matchCore(MulOp op) {
  for (auto [x, factor] :
       {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    auto root = throughFloatCast(factor).getDefiningOp<RsqrtOp>();
    if (!root || x.getType() != op.getOutput().getType())
      continue;
    // Without a sum epsilon is 0: in half precision 1e-12 is, and simplify drops it.
    auto add = throughFloatCast(root.getInput()).getDefiningOp<AddOp>();
    std::optional<double> epsilon = add ? splatFloat(add.getRhs()) : std::nullopt;
    Value variance = epsilon ? add.getLhs() : root.getInput();
    std::optional<Mean> mean = matchMean(throughFloatCast(variance));
    Value base = mean ? squareRootOf(throughFloatCast(mean->input)) : Value();
    if (base && throughFloatCast(base) == throughFloatCast(x) && isKept(epsilon.value_or(0), x))
      return Core{x, mean->axis, epsilon.value_or(0)};
  }
  return std::nullopt;
}

/// What `value` is a view of by reshapes, and casts between floats.
Value throughShape(Value value) {
  while (true) {
    Value next = throughFloatCast(value);
    if (auto reshape = next.getDefiningOp<ReshapeOp>())
      next = reshape.getInput();
    if (next == value)
      return value;
    value = next;
  }
}

std::optional<Mean> matchMeanOfView(Value value) { return matchMean(throughShape(value)); }

Dim countOf(ArrayRef<Dim> shape, MLIRContext *context) {
  Dim count = Dim::constant(context, 1);
  for (const Dim &dim : shape)
    count = count * dim;
  return count;
}

/// The axis from which on `value` has `count` elements a row, where `mean` has one for each row.
std::optional<int64_t> rowAxis(Value value, Value mean, const Dim &count) {
  SmallVector<Dim> whole = tensorType(value).getShape(), kept = tensorType(mean).getShape();
  if (kept.size() > whole.size())
    return std::nullopt;
  kept = padShape(kept, whole.size(), value.getContext());
  std::optional<int64_t> found;
  for (size_t axis = 0; axis < whole.size(); ++axis) {
    bool isReduced = llvm::all_of(ArrayRef<Dim>(kept).drop_front(axis),
                                  [](const Dim &dim) { return dim.isConstant(1); });
    if (isReduced && countOf(ArrayRef<Dim>(whole).drop_front(axis), value.getContext()) == count)
      found = static_cast<int64_t>(axis);
    if (kept[axis] != whole[axis])
      break;
  }
  return found;
}

/// (x - m) * rsqrt(mean(x^2) - m^2 + epsilon), where m = mean(x) is that of a view of x, with the
/// same rows.
struct SpreadCore {
  Mean own, ofView;
  double epsilon;
};

std::optional<SpreadCore> matchSpread(Value difference, Value factor) {
  auto centred = throughFloatCast(difference).getDefiningOp<SubOp>();
  auto root = throughShape(factor).getDefiningOp<RsqrtOp>();
  if (!centred || !root)
    return std::nullopt;
  auto add = throughFloatCast(root.getInput()).getDefiningOp<AddOp>();
  std::optional<double> epsilon = add ? splatFloat(add.getRhs()) : std::nullopt;
  auto variance = throughShape(epsilon ? add.getLhs() : root.getInput()).getDefiningOp<SubOp>();
  std::optional<Mean> squares =
      variance ? matchMeanOfView(variance.getLhs()) : std::optional<Mean>();
  Value average = squares ? squareRootOf(throughShape(variance.getRhs())) : Value();
  std::optional<Mean> mean = average ? matchMeanOfView(average) : std::optional<Mean>();
  Value base = mean ? throughShape(mean->input) : Value();
  if (!base || mean->axis != squares->axis ||
      tensorType(mean->input).getShape() != tensorType(squares->input).getShape())
    return std::nullopt;
  SmallVector<Dim> shape = tensorType(mean->input).getShape();
  Dim count = countOf(ArrayRef<Dim>(shape).drop_front(mean->axis), base.getContext());
  Value squared = squareRootOf(throughShape(squares->input));
  bool isOneTensor = squared && throughShape(squared) == base &&
                     throughShape(centred.getLhs()) == base &&
                     throughShape(centred.getRhs()) == throughShape(average);
  std::optional<int64_t> axis = rowAxis(centred.getLhs(), centred.getRhs(), count);
  if (!isOneTensor || !axis || !isKept(epsilon.value_or(0), base))
    return std::nullopt;
  return SpreadCore{{centred.getLhs(), *axis}, *mean, epsilon.value_or(0)};
}

/// Casts inside the cluster excuse what they round away.
double toleranceOf(Value a, Value b) {
  return std::max(roundingTolerance(tensorType(a).getElementType()),
                  roundingTolerance(tensorType(b).getElementType()));
}

Value normInput(Operation *norm) { return norm->getOperand(0); }
bool isNorm(Operation *op) { return isa_and_nonnull<Normalization>(op); }

class NormRaiser {
public:
  explicit NormRaiser(ModuleOp module) : raiser(module) {}

  void raiseCore(MulOp op) {
    std::optional<Core> core = matchCore(op);
    if (!core)
      return;
    OpBuilder builder(op);
    Value base = throughFloatCast(core->x);
    Value norm = RmsNormOp::create(builder, fusedLocation({op.getOutput()}, {base}), core->x,
                                   Value(), static_cast<uint64_t>(core->axis),
                                   APFloat(static_cast<float>(core->epsilon)));
    raiser.replace(op.getOutput(), norm, {base}, toleranceOf(base, core->x), "rms_norm", Twine());
  }

  /// Where the view whose means the formula takes is all that reads the result, the norm is of that.
  void raiseSpread(MulOp op) {
    std::optional<SpreadCore> core = matchSpread(op.getLhs(), op.getRhs());
    if (!core)
      core = matchSpread(op.getRhs(), op.getLhs());
    if (!core)
      return;
    auto view = op->hasOneUse() ? dyn_cast<ReshapeOp>(*op->user_begin()) : ReshapeOp();
    bool isOfView = view && view.getOutput().getType() == core->ofView.input.getType();
    Mean mean = isOfView ? core->ofView : core->own;
    Value replaced = isOfView ? view.getOutput() : op.getOutput();
    if (mean.input.getType() != replaced.getType())
      return;
    OpBuilder builder(op);
    Value base = throughShape(mean.input);
    Value norm = LayerNormOp::create(builder, fusedLocation({replaced}, {base}), mean.input,
                                     Value(), Value(), static_cast<uint64_t>(mean.axis),
                                     APFloat(static_cast<float>(core->epsilon)));
    raiser.replace(replaced, norm, {base}, toleranceOf(base, mean.input), "layer_norm", Twine());
  }

  /// rms_norm(x - mean(x)) => layer_norm(x)
  void centre(RmsNormOp op) {
    auto difference = throughFloatCast(op.getInput()).getDefiningOp<SubOp>();
    std::optional<Mean> mean =
        difference ? matchMean(throughFloatCast(difference.getRhs())) : std::nullopt;
    if (op.getScale() || !mean || mean->axis != static_cast<int64_t>(op.getAxis()) ||
        throughFloatCast(mean->input) != throughFloatCast(difference.getLhs()))
      return;
    Value x = difference.getLhs();
    OpBuilder builder(op);
    Location location = fusedLocation({op.getOutput()}, {throughFloatCast(x)});
    Value norm =
        LayerNormOp::create(builder, location, x, Value(), Value(), op.getAxis(), op.getEpsilon());
    if (x.getType() != op.getType())
      norm = CastOp::create(builder, location, norm, tensorType(op.getOutput()).getElementType());
    raiser.replace(op.getOutput(), norm, {throughFloatCast(x)}, toleranceOf(x, op.getOutput()),
                   "layer_norm", Twine());
  }

  /// cast(norm(cast(x))) => norm(x) where the outer cast leads back to x's type.
  void dropCasts(CastOp op) {
    Operation *norm = op.getInput().getDefiningOp();
    auto inner = isNorm(norm) ? normInput(norm).getDefiningOp<CastOp>() : CastOp();
    if (!inner || norm->getNumOperands() != 1 ||
        inner.getInput().getType() != op.getOutput().getType() || !norm->hasOneUse() ||
        !tensorType(inner.getOutput()).getElementType().isF32())
      return;
    Value x = inner.getInput();
    Value narrow = rebuild(norm, op, x, {});
    raiser.replace(op.getOutput(), narrow, {x}, toleranceOf(x, x), nameOf(norm), Twine());
  }

  /// norm(x) * s => norm(x) scale s
  void absorbScale(MulOp op) {
    for (auto [value, scale] :
         {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      Operation *norm = value.getDefiningOp();
      if (!isNorm(norm) || norm->getNumOperands() != 1 || !norm->hasOneUse() ||
          !coversAxes(norm, scale))
        continue;
      Value shaped = overNormalisedAxes(op, norm, scale);
      Value scaled = rebuild(norm, op, normInput(norm), {shaped});
      raiser.replace(op.getOutput(), scaled, {normInput(norm), scale}, kEpsilonTolerance,
                     nameOf(norm), Twine());
      return;
    }
  }

  /// layer_norm(x) + b => layer_norm(x) bias b
  void absorbBias(AddOp op) {
    for (auto [value, bias] :
         {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto norm = value.getDefiningOp<LayerNormOp>();
      if (!norm || norm.getBias() || !norm->hasOneUse() || !coversAxes(norm, bias))
        continue;
      SmallVector<Value> leaves{norm.getInput(), bias};
      if (norm.getScale())
        leaves.push_back(norm.getScale());
      OpBuilder builder(op);
      Value whole = LayerNormOp::create(
          builder, builder.getFusedLoc({op.getLoc(), norm.getLoc()}), norm.getInput(),
          norm.getScale(), overNormalisedAxes(op, norm, bias), norm.getAxis(), norm.getEpsilon());
      raiser.replace(op.getOutput(), whole, leaves, kEpsilonTolerance, "layer_norm", Twine());
      return;
    }
  }

  /// One remark for each norm that is not in `before`.
  void report(ModuleOp module, const llvm::DenseSet<Operation *> &before) {
    module.walk([&](Operation *op) {
      if (isNorm(op) && !before.contains(op))
        raiser.getRemarks().taken(op->getLoc(), nameOf(op), "from its formula");
    });
  }

private:
  static StringRef nameOf(Operation *norm) {
    return isa<LayerNormOp>(norm) ? "layer_norm" : "rms_norm";
  }

  static SmallVector<Dim> normalisedShape(Operation *norm) {
    SmallVector<Dim> shape = tensorType(norm->getResult(0)).getShape();
    return SmallVector<Dim>(
        ArrayRef<Dim>(shape).drop_front(*cast<Normalization>(norm).getFirstReducedAxis()));
  }

  /// `value` is one tensor of the normalised axes' shape for all rows.
  static bool coversAxes(Operation *norm, Value value) {
    SmallVector<Dim> shape = normalisedShape(norm), own = tensorType(value).getShape();
    bool hasRows = shape.size() < tensorType(norm->getResult(0)).getRank();
    return hasRows && own.size() >= shape.size() &&
           padShape(shape, own.size(), norm->getContext()) == own;
  }

  static Value overNormalisedAxes(Operation *before, Operation *norm, Value value) {
    OpBuilder builder(before);
    return reshapeTo(builder, value.getLoc(), value, normalisedShape(norm));
  }

  /// `norm` on another input, with `scale` where there is one, before `op`.
  static Value rebuild(Operation *norm, Operation *op, Value input, ArrayRef<Value> scale) {
    OpBuilder builder(op);
    Location location = builder.getFusedLoc({op->getLoc(), norm->getLoc()});
    Value weight = scale.empty() ? Value() : scale.front();
    if (auto layerNorm = dyn_cast<LayerNormOp>(norm))
      return LayerNormOp::create(builder, location, input, weight, Value(), layerNorm.getAxis(),
                                 layerNorm.getEpsilon());
    auto rmsNorm = cast<RmsNormOp>(norm);
    return RmsNormOp::create(builder, location, input, weight, rmsNorm.getAxis(),
                             rmsNorm.getEpsilon());
  }

  Raiser raiser;
};

struct RaiseNorm : impl::RaiseNormBase<RaiseNorm> {
  void runOnOperation() override {
    llvm::DenseSet<Operation *> native;
    getOperation().walk([&](Operation *op) {
      if (isNorm(op))
        native.insert(op);
    });
    NormRaiser raiser(getOperation());
    // Each step sees what the one before it made.
    forEach<MulOp>([&](MulOp op) { raiser.raiseCore(op); });
    forEach<MulOp>([&](MulOp op) { raiser.raiseSpread(op); });
    forEach<RmsNormOp>([&](RmsNormOp op) { raiser.centre(op); });
    forEach<CastOp>([&](CastOp op) { raiser.dropCasts(op); });
    forEach<MulOp>([&](MulOp op) { raiser.absorbScale(op); });
    forEach<AddOp>([&](AddOp op) { raiser.absorbBias(op); });
    raiser.report(getOperation(), native);
  }

  template <typename Op> void forEach(llvm::function_ref<void(Op)> body) {
    SmallVector<Op> ops;
    getOperation().walk([&](Op op) { ops.push_back(op); });
    llvm::for_each(ops, body);
    eraseDeadOps(getOperation());
  }
};

} // namespace

} // namespace smelt::passes
