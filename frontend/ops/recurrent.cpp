// Recurrent layers, unrolled: the products of all steps' inputs are one, then each step multiplies the
// state and combines the gates. What the sequence's length is must be known.
#include "frontend/fixing_flags.h"
#include "frontend/node_table.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Each step is a few kernels, and a few ops to compile.
constexpr int64_t kMostSteps = 512;

enum Input : size_t { kX, kW, kR, kB, kLengths, kInitialState, kInitialCell, kPeepholes };

using Activation = Value (*)(GraphBuilder &, Value);
/// By the order of the op's equations.
using Activations = SmallVector<Activation>;

template <typename Op> Value apply(GraphBuilder &build, Value input) {
  return build.unary<Op>(input);
}

Value softsign(GraphBuilder &build, Value input) {
  if (!input)
    return {};
  Value one = build.scalar(1, tensorType(input).getElementType());
  return build.create<DivOp>({input, build.create<AddOp>({build.unary<AbsOp>(input), one})});
}

FailureOr<Activations> readActivations(NodeReader &node, ArrayRef<StringRef> standard,
                                       size_t directions) {
  SmallVector<std::string> names;
  for (size_t direction = 0; direction < directions; ++direction)
    llvm::append_range(names, standard);
  if (auto given = node.texts("activations"))
    names = *given;
  if (names.size() != standard.size() * directions)
    return node.error() << "needs " << standard.size() * directions << " activations, got "
                        << names.size();
  Activations activations;
  for (StringRef name : names) {
    Activation function = llvm::StringSwitch<Activation>(name)
                              .CaseLower("sigmoid", apply<SigmoidOp>)
                              .CaseLower("tanh", apply<TanhOp>)
                              .CaseLower("relu", apply<ReluOp>)
                              .CaseLower("softplus", apply<SoftplusOp>)
                              .CaseLower("softsign", softsign)
                              .Default(nullptr);
    if (!function)
      return node.error() << "activation '" << name << "' is not supported";
    activations.push_back(function);
  }
  return activations;
}

/// One direction of a layer of `gates` gates with H elements each.
class Layer {
public:
  Layer(NodeReader &node, size_t direction, int64_t gates, ArrayRef<Activation> functions)
      : node(node), build(node.build), direction(direction), functions(functions),
        clip(node.hasAttribute("clip") ? std::optional(node.real("clip", 0)) : std::nullopt) {
    SmallVector<Dim> shape = tensorType(node.input(kR)).getShape();
    hidden = shape[2];
    fromInput = build.transposeMatrix(
        part(node.input(kW), {hidden * gates, tensorType(node.input(kW)).getDim(2)}));
    fromState = build.transposeMatrix(part(node.input(kR), {hidden * gates, hidden}));
    if (node.input(kB)) {
      Value both = part(node.input(kB), {hidden * gates * 2});
      inputBias = build.slice(both, 0, build.size(0), hidden * gates);
      stateBias = build.slice(both, 0, hidden * gates, hidden * gates);
    }
    if (node.input(kPeepholes))
      peepholes = part(node.input(kPeepholes), {hidden * 3});
  }
  virtual ~Layer() = default;

  /// What the inputs of all steps, [steps, batch, size], give to the gates.
  Value inputGates(Value steps) {
    Value product = build.create<MatmulOp>({steps, fromInput});
    return inputBias ? add(product, inputBias) : product;
  }

  struct State {
    Value hidden, cell;
  };
  virtual State step(Value gates, State state) = 0;

  /// This direction's part of a value whose first axis counts directions.
  Value part(Value all, ArrayRef<Dim> shape) {
    Dim place = build.size(static_cast<int64_t>(direction));
    return build.reshape(build.slice(all, 0, place, build.size(1)), shape);
  }

protected:
  Value add(Value a, Value b) { return build.create<AddOp>({a, b}); }
  Value multiply(Value a, Value b) { return build.create<MulOp>({a, b}); }
  Value oneMinus(Value a) {
    return a ? build.create<SubOp>({build.scalar(1, tensorType(a).getElementType()), a}) : Value();
  }
  /// Gate `index` of [batch, gates * H].
  Value gate(Value all, int64_t index) {
    return all ? build.slice(all, tensorType(all).getRank() - 1, hidden * index, hidden) : Value();
  }
  Value stateGates(Value state) {
    Value product = build.create<MatmulOp>({state, fromState});
    return stateBias ? add(product, stateBias) : product;
  }
  Value activate(size_t function, Value input) {
    if (input && clip) {
      Type type = tensorType(input).getElementType();
      input = build.create<MinOp>(
          {build.create<MaxOp>({input, build.scalar(-*clip, type)}), build.scalar(*clip, type)});
    }
    return functions[function](build, input);
  }

  NodeReader &node;
  GraphBuilder &build;
  Dim hidden;
  Value fromInput, fromState, inputBias, stateBias, peepholes;

private:
  size_t direction;
  ArrayRef<Activation> functions;
  std::optional<float> clip;
};

class RnnLayer : public Layer {
public:
  static constexpr int64_t kGates = 1;
  static constexpr StringLiteral kActivations[] = {"Tanh"};
  using Layer::Layer;

  State step(Value gates, State state) override {
    return {activate(0, add(gates, stateGates(state.hidden))), {}};
  }
};

class GruLayer : public Layer {
public:
  static constexpr int64_t kGates = 3; // update, reset, hidden
  static constexpr StringLiteral kActivations[] = {"Sigmoid", "Tanh"};
  using Layer::Layer;

  State step(Value gates, State state) override {
    Value before = state.hidden, fromBefore = stateGates(before);
    Value update = activate(0, add(gate(gates, 0), gate(fromBefore, 0))),
          reset = activate(0, add(gate(gates, 1), gate(fromBefore, 1)));
    Value recalled = node.flag("linear_before_reset") ? multiply(reset, gate(fromBefore, 2))
                                                      : recall(multiply(reset, before));
    Value fresh = activate(1, add(gate(gates, 2), recalled));
    return {add(multiply(oneMinus(update), fresh), multiply(update, before)), {}};
  }

private:
  /// The hidden gate's part of what a state gives.
  Value recall(Value state) {
    Value product = build.create<MatmulOp>({state, gate(fromState, 2)});
    return stateBias ? add(product, gate(stateBias, 2)) : product;
  }
};

class LstmLayer : public Layer {
public:
  static constexpr int64_t kGates = 4; // input, output, forget, cell
  static constexpr StringLiteral kActivations[] = {"Sigmoid", "Tanh", "Tanh"};
  using Layer::Layer;

  State step(Value gates, State state) override {
    Value all = add(gates, stateGates(state.hidden));
    Value input = activate(0, seeing(gate(all, 0), 0, state.cell));
    Value forget = node.flag("input_forget") ? oneMinus(input)
                                             : activate(0, seeing(gate(all, 2), 2, state.cell));
    Value cell = add(multiply(forget, state.cell), multiply(input, activate(1, gate(all, 3))));
    Value output = activate(0, seeing(gate(all, 1), 1, cell));
    return {multiply(output, activate(2, cell)), cell};
  }

private:
  /// A gate that sees the cell through peephole `index`.
  Value seeing(Value gates, int64_t index, Value cell) {
    return peepholes ? add(gates, multiply(gate(peepholes, index), cell)) : gates;
  }
};

/// A layer over all steps in one direction: its state after each, in the steps' order.
struct Walk {
  SmallVector<Value> outputs;
  Layer::State last;
};

Value initialState(NodeReader &node, Layer &layer, size_t input, ArrayRef<Dim> shape) {
  GraphBuilder &build = node.build;
  if (Value given = node.input(input))
    return layer.part(node.flag("layout") ? build.transpose(given, {1, 0, 2}) : given, shape);
  Type element = tensorType(node.input(kX)).getElementType();
  return build.expand(build.scalar(0, element), shape);
}

/// Steps past a sequence's end leave its state and yield zeros.
Layer::State holdAfterEnd(NodeReader &node, int64_t step, Layer::State before,
                          Layer::State &after) {
  GraphBuilder &build = node.build;
  Value lengths = node.input(kLengths);
  if (!lengths || !after.hidden)
    return after;
  TensorType type = tensorType(lengths);
  Value isInside =
      build.reshape(build.create<LessOp>(
                        {build.scalar(static_cast<double>(step), type.getElementType()), lengths}),
                    {type.getDim(0), build.size(1)});
  Value zero = build.scalar(0, tensorType(after.hidden).getElementType());
  auto choose = [&](Value fresh, Value old) {
    return fresh ? build.create<SelectOp>({isInside, fresh, old}) : fresh;
  };
  Layer::State held{choose(after.hidden, before.hidden), choose(after.cell, before.cell)};
  after.hidden = choose(after.hidden, zero);
  return held;
}

Walk walk(NodeReader &node, Layer &layer, Value steps, bool backwards) {
  GraphBuilder &build = node.build;
  SmallVector<Dim> shape = tensorType(steps).getShape();
  int64_t count = *shape[0].asConstant();
  SmallVector<Dim> stateShape{shape[1], tensorType(node.input(kR)).getDim(2)};
  Walk walk;
  walk.last = {initialState(node, layer, kInitialState, stateShape),
               initialState(node, layer, kInitialCell, stateShape)};
  walk.outputs.resize(count);
  Value gates = layer.inputGates(steps);
  for (int64_t i = 0; i < count && gates; ++i) {
    int64_t step = backwards ? count - 1 - i : i;
    Value own = build.reshape(build.slice(gates, 0, build.size(step), build.size(1)),
                              {shape[1], tensorType(gates).getDim(2)});
    Layer::State after = layer.step(own, walk.last);
    walk.last = holdAfterEnd(node, step, walk.last, after);
    walk.outputs[step] = after.hidden;
  }
  return walk;
}

/// What the layers give together: [steps, directions, batch, H], and the last states.
LogicalResult outputWalks(NodeReader &node, ArrayRef<Walk> walks, bool isBatchFirst) {
  GraphBuilder &build = node.build;
  auto stack = [&](ArrayRef<Value> values, int64_t axis) -> Value {
    SmallVector<Value> pieces;
    for (Value value : values) {
      if (!value)
        return {};
      SmallVector<Dim> shape = tensorType(value).getShape();
      shape.insert(shape.begin() + axis, build.size(1));
      pieces.push_back(build.reshape(value, shape));
    }
    return build.concat(pieces, axis);
  };
  auto outputLast = [&](size_t index, bool isCell) {
    SmallVector<Value> states = llvm::map_to_vector(
        walks, [&](const Walk &walk) { return isCell ? walk.last.cell : walk.last.hidden; });
    Value all = stack(states, 0);
    return node.output(isBatchFirst ? build.transpose(all, {1, 0, 2}) : all, index);
  };
  if (node.outputCount() > 1 && failed(outputLast(1, false)))
    return failure();
  if (node.outputCount() > 2 && failed(outputLast(2, true)))
    return failure();
  SmallVector<Value> directions;
  for (const Walk &walk : walks)
    directions.push_back(stack(walk.outputs, 0));
  Value all = stack(directions, 1);
  return node.output(isBatchFirst ? build.transpose(all, {2, 0, 1, 3}) : all);
}

/// An input that may be omitted has this shape.
LogicalResult requireShape(NodeReader &node, size_t input, ArrayRef<Dim> shape) {
  Value given = node.input(input);
  if (!given)
    return success();
  TensorType type = tensorType(given);
  if (type.getRank() != static_cast<int64_t>(shape.size()))
    return node.error() << "needs " << toString(shape) << ", got " << node.describe(input);
  for (auto [size, wanted] : llvm::zip_equal(type.getShape(), shape))
    if (failed(node.build.getFacts().requireEqual(node.build.getLocation(), size, wanted,
                                                  "biases, lengths and states fit the inputs")))
      return failure();
  return success();
}

/// Biases, lengths and states, for `steps` of [steps, batch, size].
LogicalResult checkOptionalInputs(NodeReader &node, Value steps, Dim directions, int64_t gates) {
  Dim batch = tensorType(steps).getDim(1), hidden = tensorType(node.input(kR)).getDim(2);
  SmallVector<Dim> state{directions, batch, hidden};
  if (node.flag("layout"))
    std::swap(state[0], state[1]);
  return success(succeeded(requireShape(node, kB, {directions, hidden * gates * 2})) &&
                 succeeded(requireShape(node, kLengths, {batch})) &&
                 succeeded(requireShape(node, kInitialState, state)) &&
                 succeeded(requireShape(node, kInitialCell, state)) &&
                 succeeded(requireShape(node, kPeepholes, {directions, hidden * 3})));
}

/// The inputs as [steps, batch, size]; null after a report.
Value readSteps(NodeReader &node, size_t directions, int64_t gates) {
  GraphBuilder &build = node.build;
  Value steps = node.input(kX);
  if (failed(node.requireSameType({kX, kW, kR})))
    return {};
  for (size_t index : {kX, kW, kR})
    if (tensorType(node.input(index)).getRank() != 3)
      return node.error() << "needs three axes, got " << node.describe(index), Value();
  if (node.flag("layout"))
    steps = build.transpose(steps, {1, 0, 2});
  TensorType weights = tensorType(node.input(kW)), recurrent = tensorType(node.input(kR));
  Dim all = recurrent.getDim(2) * gates, count = build.size(static_cast<int64_t>(directions));
  for (auto [given, wanted] : {std::pair(weights.getDim(0), count),
                               {recurrent.getDim(0), count},
                               {weights.getDim(1), all},
                               {recurrent.getDim(1), all},
                               {weights.getDim(2), tensorType(steps).getDim(2)}})
    if (failed(build.getFacts().requireEqual(build.getLocation(), given, wanted,
                                             "the weights fit the inputs and the gates")))
      return {};
  std::optional<int64_t> length = tensorType(steps).getDim(0).asConstant();
  if (!length || *length < 1 || *length > kMostSteps)
    return node.error() << "a sequence of " << tensorType(steps).getDim(0).toString()
                        << " steps is not supported: its length must be constant, 1 to "
                        << kMostSteps << "; " << node.describe(kX)
                        << fixingFlags(build.getFunction(), tensorType(steps).getDim(0)),
           Value();
  return succeeded(checkOptionalInputs(node, steps, count, gates)) ? steps : Value();
}

template <typename OneLayer> LogicalResult importRecurrent(NodeReader &node) {
  std::string direction = node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return node.error() << "direction '" << direction
                        << "' is none of forward, reverse and bidirectional";
  size_t directions = direction == "bidirectional" ? 2 : 1;
  SmallVector<StringRef> standard(std::begin(OneLayer::kActivations),
                                  std::end(OneLayer::kActivations));
  FailureOr<Activations> activations = readActivations(node, standard, directions);
  Value steps = failed(activations) ? Value() : readSteps(node, directions, OneLayer::kGates);
  if (!steps)
    return failure();
  bool isBatchFirst = node.flag("layout");
  SmallVector<Walk> walks;
  for (size_t i = 0; i < directions; ++i) {
    OneLayer layer(node, i, OneLayer::kGates,
                   ArrayRef(*activations).slice(i * standard.size(), standard.size()));
    walks.push_back(walk(node, layer, steps, direction == "reverse" || i == 1));
  }
  return outputWalks(node, walks, isBatchFirst);
}

} // namespace

ArrayRef<NodeRule> recurrentRules() {
  static constexpr NodeRule kRules[] = {
      {"GRU", 1, 3, importRecurrent<GruLayer>},
      {"LSTM", 1, 3, importRecurrent<LstmLayer>},
      {"RNN", 1, 3, importRecurrent<RnnLayer>},
  };
  return kRules;
}

} // namespace smelt::frontend
