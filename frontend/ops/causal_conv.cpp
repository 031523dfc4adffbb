// CausalConvWithState: each channel is filtered along the sequence by its own few taps, which see the
// position and those before it, the first of them from the state. One product and sum a tap, in
// float32: elementwise work over shifted views, which one kernel takes.
#include "frontend/node_table.h"
#include "frontend/ops/expression.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr int64_t kMostTaps = 256;

enum CausalConvInput : size_t { kSignal, kTaps, kBias, kPast };

/// How many taps the filters [channels, 1, taps] have, which must fit the signal [batch, channels,
/// length].
FailureOr<int64_t> readTaps(NodeReader &node) {
  TensorType signal = tensorType(node.input(kSignal)), taps = tensorType(node.input(kTaps));
  if (signal.getRank() != 3 || taps.getRank() != 3 || !taps.getDim(1).isConstant(1))
    return node.error() << "needs a signal [batch, channels, length] and filters [channels, 1, "
                           "taps], got "
                        << node.describe(kSignal) << " and " << node.describe(kTaps);
  auto count = taps.getDim(2).asConstant();
  if (!count || *count < 1 || *count > kMostTaps)
    return node.error() << "a filter of " << taps.getDim(2).toString()
                        << " taps is not supported: their number must be constant, 1 to "
                        << kMostTaps << "; " << node.describe(kTaps);
  if (failed(node.build.getFacts().requireEqual(node.build.getLocation(), taps.getDim(0),
                                                signal.getDim(1), "each channel has a filter")))
    return failure();
  return *count;
}

/// The signal behind what came before it: the state, or zeros.
Value withPastSignal(NodeReader &node, int64_t taps) {
  GraphBuilder &build = node.build;
  Value past = node.input(kPast);
  Dim before = build.size(taps - 1);
  if (past && (tensorType(past).getRank() != 3 || tensorType(past).getDim(2) != before))
    return node.error() << "its state " << node.describe(kPast) << " must be [batch, channels, "
                        << taps - 1 << "]",
           Value();
  for (unsigned axis = 0; past && axis < 2; ++axis)
    if (failed(build.getFacts().requireEqual(build.getLocation(), tensorType(past).getDim(axis),
                                             tensorType(node.input(kSignal)).getDim(axis),
                                             "the state fits the signal")))
      return {};
  TensorType signal = tensorType(node.input(kSignal));
  SmallVector<Dim> shape = signal.getShape();
  shape[2] = before;
  if (taps == 1)
    return node.input(kSignal);
  if (!past)
    past = build.expand(build.scalar(0, signal.getElementType()), shape);
  return build.concat({past, node.input(kSignal)}, 2);
}

LogicalResult importCausalConvWithState(NodeReader &node) {
  GraphBuilder &build = node.build;
  std::string activation = node.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return node.error() << "activation '" << activation << "' is none of none, silu and swish";
  if (failed(node.requireSameType()))
    return failure();
  FailureOr<int64_t> taps = readTaps(node);
  Value signal = failed(taps) ? Value() : withPastSignal(node, *taps);
  if (!signal)
    return failure();
  Type element = tensorType(signal).getElementType();
  Dim length = tensorType(node.input(kSignal)).getDim(2), channels = tensorType(signal).getDim(1),
      one = build.size(1);
  Value sum;
  for (int64_t tap = 0; tap < *taps; ++tap) {
    Value factor =
        build.reshape(build.slice(node.input(kTaps), 2, build.size(tap), one), {channels, one});
    Value part = build.create<MulOp>(
        {build.widen(build.slice(signal, 2, build.size(tap), length)), build.widen(factor)});
    sum = tap == 0 ? part : build.create<AddOp>({sum, part});
  }
  if (node.input(kBias))
    sum =
        build.create<AddOp>({sum, build.widen(build.reshape(node.input(kBias), {channels, one}))});
  if (activation != "none")
    sum = build.unary<SiluOp>(sum);
  if (failed(node.output(build.slice(signal, 2, length, build.size(*taps - 1)), 1)))
    return failure();
  return node.output(build.cast(sum, element));
}

} // namespace

ArrayRef<NodeRule> causalConvRules() {
  static constexpr NodeRule kRules[] = {
      {"CausalConvWithState", 27, 2, importCausalConvWithState},
  };
  return kRules;
}

} // namespace smelt::frontend
