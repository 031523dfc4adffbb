// raise-activation: GELU (erf and tanh), SiLU, sigmoid, softplus and ReLU from their formulas.
//
// Exporters write x * 0.5 * (1 + erf(x / sqrt(2))) in every association order, with constants
// rounded to the model's type, x^3 as a power or as products. Matching orders one by one never
// ends. Method: with t = erf(p(x)) or tanh(p(x)), each value around it is a(x) + b(x) * t where a,
// b, p are polynomials of degree at most 3; GELU is the value whose a and b are both x/2, whatever
// the order. Coefficients are compared with the slack that rounded constants need, and the
// interpreter compares the functions. x * sigmoid(1.702 x) is no SiLU and stays as it is: one
// kernel evaluates it anyway.
#include "passes/constants.h"
#include "passes/dead_ops.h"
#include "passes/passes.h"
#include "passes/raise/raise.h"

#include <array>
#include <cmath>

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_RAISEACTIVATION
#include "passes/passes.h.inc"

namespace {

constexpr int kDegree = 3;
constexpr int kMaxFormulaDepth = 8;
constexpr double kSqrtHalf = 0.70710678118654752, kSqrtTwoOverPi = 0.79788456080286536,
                 kCubic = 0.044715;

/// Coefficients of 1, x, x^2, x^3.
using Polynomial = std::array<double, kDegree + 1>;

Polynomial scaled(Polynomial p, double factor) {
  for (double &coefficient : p)
    coefficient *= factor;
  return p;
}

Polynomial sum(Polynomial a, const Polynomial &b) {
  for (int i = 0; i <= kDegree; ++i)
    a[i] += b[i];
  return a;
}

bool isZero(const Polynomial &p) {
  return llvm::all_of(p, [](double c) { return c == 0; });
}

std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b) {
  Polynomial result{};
  for (int i = 0; i <= kDegree; ++i)
    for (int j = 0; j <= kDegree; ++j) {
      if (a[i] * b[j] == 0)
        continue;
      if (i + j > kDegree)
        return std::nullopt;
      result[i + j] += a[i] * b[j];
    }
  return result;
}

/// a(x) + b(x) * t
struct Form {
  Polynomial a{}, b{};
};

std::optional<Form> multiply(const Form &f, const Form &g) {
  if (!isZero(f.b) && !isZero(g.b))
    return std::nullopt;
  const Form &withT = isZero(f.b) ? g : f, &without = isZero(f.b) ? f : g;
  std::optional<Polynomial> a = product(withT.a, without.a), b = product(withT.b, without.a);
  return a && b ? std::optional(Form{*a, *b}) : std::nullopt;
}

/// `value` as a form in `x` and `t` (null: none); none where anything else takes part.
std::optional<Form> formOf(Value value, Value x, Value t, int depth = 0) {
  if (value == x)
    return Form{{0, 1, 0, 0}, {}};
  if (value == t)
    return Form{{}, {1, 0, 0, 0}};
  if (std::optional<double> constant = splatFloat(value))
    return Form{{*constant, 0, 0, 0}, {}};
  Operation *op = value.getDefiningOp();
  if (!op || depth == kMaxFormulaDepth || !isa<AddOp, SubOp, MulOp, DivOp, NegOp>(op))
    return std::nullopt;
  std::optional<Form> left = formOf(op->getOperand(0), x, t, depth + 1);
  if (!left)
    return std::nullopt;
  if (isa<NegOp>(op))
    return Form{scaled(left->a, -1), scaled(left->b, -1)};
  if (isa<DivOp>(op)) {
    std::optional<double> divisor = splatFloat(op->getOperand(1));
    if (!divisor || *divisor == 0)
      return std::nullopt;
    return Form{scaled(left->a, 1 / *divisor), scaled(left->b, 1 / *divisor)};
  }
  std::optional<Form> right = formOf(op->getOperand(1), x, t, depth + 1);
  if (!right)
    return std::nullopt;
  if (isa<MulOp>(op))
    return multiply(*left, *right);
  double sign = isa<SubOp>(op) ? -1 : 1;
  return Form{sum(left->a, scaled(right->a, sign)), sum(left->b, scaled(right->b, sign))};
}

bool isClose(const Polynomial &p, const Polynomial &expected, double tolerance) {
  for (int i = 0; i <= kDegree; ++i)
    if (std::abs(p[i] - expected[i]) > tolerance * std::abs(expected[i]))
      return false;
  return true;
}

/// The values that `value` is computed from by sums and products, nearest first, `value` itself
/// included.
SmallVector<Value> candidates(Value value) {
  SmallVector<std::pair<Value, int>> queue{{value, 0}};
  SmallVector<Value> result;
  for (size_t i = 0; i < queue.size(); ++i) {
    auto [current, depth] = queue[i];
    if (splatFloat(current) || llvm::is_contained(result, current))
      continue;
    result.push_back(current);
    Operation *op = current.getDefiningOp();
    if (op && depth < kMaxFormulaDepth && isa<AddOp, SubOp, MulOp, DivOp>(op))
      for (Value operand : op->getOperands())
        queue.push_back({operand, depth + 1});
  }
  return result;
}

/// Rounded constants of the model's type, or sqrt(2) written with five digits.
double coefficientTolerance(Type type) { return std::max(1e-4, 2 * roundingTolerance(type)); }

/// x where `argument` is the inner polynomial of a GELU, of the tanh approximation or not.
Value matchInner(Value argument, bool tanh) {
  double tolerance = coefficientTolerance(tensorType(argument).getElementType());
  Polynomial expected = tanh ? Polynomial{0, kSqrtTwoOverPi, 0, kSqrtTwoOverPi * kCubic}
                             : Polynomial{0, kSqrtHalf, 0, 0};
  for (Value x : candidates(argument)) {
    if (x.getType() != argument.getType())
      continue;
    std::optional<Form> form = formOf(argument, x, {});
    if (form && isClose(form->a, expected, tolerance))
      return x;
  }
  return {};
}

/// The value x/2 + x/2 * t, followed through the users of `t`.
Value matchOuter(Value x, Value t) {
  SmallVector<Value> queue{t};
  constexpr size_t kMaxVisited = 16;
  double tolerance = coefficientTolerance(tensorType(x).getElementType());
  for (size_t i = 0; i < queue.size() && i < kMaxVisited; ++i) {
    std::optional<Form> form = formOf(queue[i], x, t);
    if (!form)
      continue;
    Polynomial half{0, 0.5, 0, 0};
    if (isClose(form->a, half, tolerance) && isClose(form->b, half, tolerance) &&
        queue[i].getType() == x.getType())
      return queue[i];
    for (Operation *user : queue[i].getUsers())
      if (isa<AddOp, SubOp, MulOp, DivOp, NegOp>(user) &&
          !llvm::is_contained(queue, user->getResult(0)))
        queue.push_back(user->getResult(0));
  }
  return {};
}

struct RaiseActivation : impl::RaiseActivationBase<RaiseActivation> {
  void runOnOperation() override {
    Raiser raiser(getOperation());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<ErfOp, TanhOp, ReciprocalOp, DivOp, MulOp, LogOp, MaxOp>(op) &&
          isa<FloatType>(tensorType(op->getResult(0)).getElementType()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (isa<ErfOp, TanhOp>(op))
        raiseGelu(op, raiser);
      else if (isa<LogOp>(op))
        raiseSoftplus(cast<LogOp>(op), raiser);
      else if (isa<MaxOp>(op))
        raiseRelu(cast<MaxOp>(op), raiser);
      else
        raiseSigmoid(op, raiser);
    }
    // After the sigmoids are ops.
    getOperation().walk([&](MulOp op) { raiseSilu(op, raiser); });
    eraseDeadOps(getOperation());
  }

private:
  static void raiseGelu(Operation *op, Raiser &raiser) {
    bool tanh = isa<TanhOp>(op);
    Value x = matchInner(op->getOperand(0), tanh);
    if (!x)
      return refuse(op, raiser, "the argument is a multiple of x that GELU has",
                    "it has other coefficients");
    Value root = matchOuter(x, op->getResult(0));
    if (!root)
      return refuse(op, raiser, "its users form x/2 * (1 + t)", "they compute something else");
    OpBuilder builder(root.getDefiningOp());
    Value gelu = GeluOp::create(builder, fusedLocation({root}, {x}), x.getType(), x, tanh);
    raiser.replace(root, gelu, {x}, tolerance(x), "gelu", tanh ? "tanh approximation" : "erf form");
  }

  static void refuse(Operation *op, Raiser &raiser, StringRef predicate, StringRef message) {
    // tanh alone is an activation of its own and no failed GELU.
    if (isa<ErfOp>(op))
      raiser.getRemarks().refused(op->getLoc(), "gelu", predicate, message);
  }

  static double tolerance(Value x) {
    return std::max(1e-4, roundingTolerance(tensorType(x).getElementType()));
  }

  /// 1 / (1 + e^-x), as a reciprocal or as the divisor of a quotient.
  static void raiseSigmoid(Operation *op, Raiser &raiser) {
    if (isa<MulOp>(op))
      return;
    Value denominator = op->getOperands().back();
    auto add = denominator.getDefiningOp<AddOp>();
    auto exponential =
        add && isSplat(add.getRhs(), 1) ? add.getLhs().getDefiningOp<ExpOp>() : ExpOp();
    auto negative = exponential ? exponential.getInput().getDefiningOp<NegOp>() : NegOp();
    if (!negative || negative.getType() != denominator.getType())
      return;
    Value x = negative.getInput();
    OpBuilder builder(op);
    Location location = fusedLocation({op->getResult(0)}, {x});
    Value sigmoid = SigmoidOp::create(builder, location, x.getType(), x);
    if (isa<ReciprocalOp>(op)) {
      raiser.replace(op->getResult(0), sigmoid, {x}, 1e-9, "sigmoid", "1 / (1 + exp(-x))");
      return;
    }
    Value numerator = op->getOperand(0);
    Value scaled = MulOp::create(builder, location, numerator, sigmoid);
    raiser.replace(op->getResult(0), scaled, {x, numerator}, 1e-9, "sigmoid", "y / (1 + exp(-x))");
  }

  static void raiseSilu(MulOp op, Raiser &raiser) {
    auto left = op.getLhs().getDefiningOp<SigmoidOp>(),
         right = op.getRhs().getDefiningOp<SigmoidOp>();
    bool matches =
        (left && left.getInput() == op.getRhs()) || (right && right.getInput() == op.getLhs());
    if (!matches)
      return;
    Value x = left && left.getInput() == op.getRhs() ? op.getRhs() : op.getLhs();
    OpBuilder builder(op);
    Value silu = SiluOp::create(builder, fusedLocation({op.getOutput()}, {x}), x.getType(), x);
    raiser.replace(op.getOutput(), silu, {x}, 1e-9, "silu", "x * sigmoid(x)");
  }

  /// log(1 + e^x)
  static void raiseSoftplus(LogOp op, Raiser &raiser) {
    auto add = op.getInput().getDefiningOp<AddOp>();
    auto exponential =
        add && isSplat(add.getRhs(), 1) ? add.getLhs().getDefiningOp<ExpOp>() : ExpOp();
    if (!exponential || exponential.getType() != op.getType())
      return;
    OpBuilder builder(op);
    Value x = exponential.getInput();
    Value softplus =
        SoftplusOp::create(builder, fusedLocation({op.getOutput()}, {x}), x.getType(), x);
    raiser.replace(op.getOutput(), softplus, {x}, 1e-9, "softplus", "log(1 + exp(x))");
  }

  static void raiseRelu(MaxOp op, Raiser &raiser) {
    if (!isSplat(op.getRhs(), 0) || op.getLhs().getType() != op.getOutput().getType())
      return;
    OpBuilder builder(op);
    Value relu = ReluOp::create(builder, op.getLoc(), op.getLhs().getType(), op.getLhs());
    raiser.replace(op.getOutput(), relu, {op.getLhs()}, 1e-9, "relu", "max(x, 0)");
  }
};

} // namespace

} // namespace smelt::passes
