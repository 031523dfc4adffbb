#include "tests/generate/kinds.h"

#include "frontend/node_table.h"
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"
#include "tests/generate/spellings.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace smelt::generate {

namespace {

constexpr size_t kMostNodes = 12;
constexpr int kTries = 40;

const std::vector<ElementType> kTypes = {Wire::FLOAT,   Wire::FLOAT,    Wire::FLOAT,  Wire::FLOAT16,
                                         Wire::FLOAT16, Wire::BFLOAT16, Wire::DOUBLE, Wire::INT64,
                                         Wire::INT32,   Wire::INT16,    Wire::INT8,   Wire::UINT64,
                                         Wire::UINT32,  Wire::UINT16,   Wire::UINT8,  Wire::BOOL};
const std::vector<ElementType> kProductTypes = {Wire::FLOAT,   Wire::FLOAT,    Wire::FLOAT16,
                                                Wire::FLOAT16, Wire::BFLOAT16, Wire::DOUBLE};

/// A value to go on from: one that nothing reads yet, more often than another.
Value pickOperand(Drawing &draw) {
  if (draw.available().empty()) // all were drawn as initializers
    return draw.input(Wire::FLOAT, draw.drawShape(2, 1 << 12), {-2, 2});
  std::vector<Value> unread;
  for (const Value &value : draw.available())
    if (!draw.isUsed(value))
      unread.push_back(value);
  return !unread.empty() && draw.chance(0.8) ? draw.pick(unread) : draw.pick(draw.available());
}

/// Adds nodes of `choices` until there are `count`, or none fits.
void addNodes(Drawing &draw, const std::vector<const Rule *> &choices, size_t count) {
  for (int attempt = 0; attempt < kTries && draw.nodeCount() < count; ++attempt) {
    const Rule &rule = *draw.pick(choices);
    if (rule.isIn(draw.opset()) && draw.available().size() < 30)
      rule.draw(draw, pickOperand(draw));
  }
}

std::vector<const Rule *> pointersTo(const std::vector<Rule> &family) {
  std::vector<const Rule *> result;
  for (const Rule &rule : family)
    result.push_back(findRule(rule.op));
  return result;
}

std::vector<const Rule *> every() { return pointersTo(rules()); }

void addInputs(Drawing &draw, const std::vector<ElementType> &types, int64_t most) {
  Shape shape = draw.drawShape(static_cast<size_t>(draw.between(1, 4)),
                               draw.chance(0.03) ? 1 << 17 : 1 << 13);
  for (int64_t i = draw.between(1, most); i > 0; --i) {
    ElementType type = draw.pick(types);
    operand(draw, type,
            draw.chance(0.6) ? shape
                             : draw.drawShape(static_cast<size_t>(draw.between(0, 4)), 1 << 12));
  }
}

size_t drawCount(Drawing &draw) { return static_cast<size_t>(draw.between(2, kMostNodes)); }

void drawMixed(Drawing &draw) {
  size_t count = drawCount(draw);
  addInputs(draw, kTypes, 3);
  addNodes(draw, every(), count);
}

void drawElementwiseKind(Drawing &draw) {
  size_t count = drawCount(draw);
  addInputs(draw, kTypes, 3);
  std::vector<const Rule *> choices = pointersTo(elementwiseRules());
  for (const std::vector<Rule> &family : {activationRules(), bitRules()})
    llvm::append_range(choices, pointersTo(family));
  addNodes(draw, choices, count);
}

void drawViews(Drawing &draw) {
  size_t count = drawCount(draw);
  addInputs(draw, kTypes, 2);
  std::vector<const Rule *> choices = pointersTo(viewRules()), more = pointersTo(indexingRules());
  choices.insert(choices.end(), more.begin(), more.end());
  for (const char *op : {"Add", "Mul", "Where", "Tanh", "Cast", "ReduceSum", "Softmax"})
    choices.push_back(findRule(op));
  addNodes(draw, choices, count);
}

/// A reduction or softmax over a producer indexed by column, and what follows it.
void drawReductions(Drawing &draw) {
  static const std::vector<ElementType> kReduced = {Wire::FLOAT,    Wire::FLOAT,  Wire::FLOAT16,
                                                    Wire::BFLOAT16, Wire::DOUBLE, Wire::INT32,
                                                    Wire::INT64,    Wire::UINT32};
  size_t count = static_cast<size_t>(draw.between(3, 8));
  addInputs(draw, kReduced, 2);
  std::vector<const Rule *> producers = pointersTo(viewRules()),
                            reductions = pointersTo(reductionRules());
  for (const char *op :
       {"Add", "Mul", "Where", "Gather", "GatherElements", "Trilu", "Cast", "Tanh"})
    producers.push_back(findRule(op));
  addNodes(draw, producers, draw.nodeCount() + 2);
  addNodes(draw, reductions, draw.nodeCount() + 2);
  addNodes(draw, every(), std::max(count, draw.nodeCount()));
}

/// What follows a product: bias, activation, residual, another view.
void addEpilogue(Drawing &draw) {
  static const std::vector<const char *> kOps = {
      "Add", "Mul", "Sub", "Gelu", "Relu", "Sigmoid", "Tanh", "Cast", "Transpose", "Where", "Div"};
  for (int64_t i = draw.between(0, 3); i > 0; --i) {
    if (draw.chance(0.25)) {
      Value operand = pickOperand(draw);
      if (isFloat(operand.type) && operand.type != Wire::DOUBLE)
        drawActivationSpelling(draw, operand);
      continue;
    }
    const Rule *rule = findRule(draw.pick(kOps));
    if (rule->isIn(draw.opset()))
      rule->draw(draw, pickOperand(draw));
  }
}

/// A product of bytes, and what exporters write after it.
void drawByteProduct(Drawing &draw, const Shape &shape) {
  bool isSigned = draw.chance(0.5);
  Value value = operand(draw, isSigned ? Wire::INT8 : Wire::UINT8, shape,
                        isSigned ? Bounds{-128, 127} : Bounds{0, 255});
  auto product = findRule("MatMulInteger")->draw(draw, value);
  if (product && draw.chance(0.7))
    draw.node("Cast", {*product}, Attributes().add("to", int64_t{Wire::FLOAT}), Wire::FLOAT,
              product->shape, product->bounds);
  addEpilogue(draw);
}

void drawProducts(Drawing &draw) {
  ElementType type = draw.chance(0.08)
                         ? draw.pick(std::vector<ElementType>{Wire::INT32, Wire::INT64})
                         : draw.pick(kProductTypes);
  Shape shape;
  do {
    shape.clear();
    for (int64_t batch = draw.chance(0.4) ? draw.between(1, 2) : 0; batch > 0; --batch)
      shape.push_back(draw.drawSize(4));
    shape.push_back(draw.drawSize(513));
    shape.push_back(draw.drawSize(513));
  } while (largestCount(shape) > 1 << 18);
  if (draw.opset() >= 10 && draw.chance(0.1))
    return drawByteProduct(draw, shape);
  Value value = operand(draw, type, shape, isFloat(type) ? Bounds{-1, 1} : Bounds{-5, 5});
  for (int64_t i = draw.between(1, 2); i > 0; --i) {
    bool isGemm = shape.size() == 2 && draw.chance(0.4);
    findRule(isGemm ? "Gemm" : "MatMul")->draw(draw, value);
    addEpilogue(draw);
    value = pickOperand(draw);
  }
}

void drawNorms(Drawing &draw) {
  Shape shape = draw.drawShape(static_cast<size_t>(draw.between(1, 2)), 256);
  shape.push_back(draw.drawConstant(1025));
  Value value = operand(draw, draw.pick(kProductTypes), shape, {-2, 2});
  if (draw.chance(0.5)) // a residual
    if (auto sum = findRule("Add")->draw(draw, value))
      value = *sum;
  if (!value.shape.empty() && value.shape.back().isConstant())
    value = drawNormSpelling(draw, value);
  if (draw.chance(0.4))
    findRule(draw.chance(0.7) ? "MatMul" : "Softmax")->draw(draw, value);
  addEpilogue(draw);
}

/// In the windows of images, or of so many rows that the kernels for much work run.
void drawAttentionGraph(Drawing &draw) {
  bool isWindowed = draw.chance(0.5);
  ElementType type =
      draw.pick(std::vector<ElementType>{Wire::FLOAT16, Wire::FLOAT16, Wire::BFLOAT16});
  Shape shape{Size::of(4 * draw.between(1, 4)), Size::of(draw.between(1, 4)), draw.drawConstant(65),
              Size::of(8 * draw.between(1, 5))};
  Value value = isWindowed ? operand(draw, type, shape, {-2, 2})
                           : operand(draw, type, draw.drawShape(2, 1 << 8), {-2, 2});
  findRule(isWindowed ? "windowed attention" : "attention of many rows")->draw(draw, value);
  addEpilogue(draw);
}

void drawAttentions(Drawing &draw) {
  if (draw.chance(0.3))
    return drawAttentionGraph(draw);
  Value result = drawAttentionSpelling(draw);
  if (draw.chance(0.3))
    findRule(draw.chance(0.5) ? "MatMul" : "Add")->draw(draw, result);
}

void drawConvolutions(Drawing &draw) {
  Shape shape{draw.drawSize(3), draw.drawConstant(17)};
  int64_t spatial = draw.chance(0.1) ? 3 : draw.between(1, 2);
  for (int64_t i = 0; i < spatial; ++i)
    shape.push_back(draw.drawSize(spatial < 3 ? 40 : 9));
  ElementType type = draw.pick(kProductTypes);
  bool hasType = type != Wire::BFLOAT16 || draw.opset() >= 22;
  findRule("Conv")->draw(draw,
                         operand(draw, hasType ? type : ElementType(Wire::FLOAT), shape, {-1, 1}));
  if (draw.chance(0.2))
    findRule("squeeze and excitation")->draw(draw, draw.available().back());
  addEpilogue(draw);
}

/// Images that are padded, resized, sampled, convolved and taken apart.
void drawImages(Drawing &draw) {
  Shape shape{draw.drawSize(3), Size::of(draw.between(1, 4) * 4)};
  for (int64_t i = draw.between(1, 2); i > 0; --i)
    shape.push_back(draw.drawSize(17));
  operand(draw, draw.pick(kTypes), shape);
  std::vector<const Rule *> choices;
  for (auto family : {spatialRules, resampleRules, einsumRules, regionRules})
    for (const Rule *rule : pointersTo(family()))
      choices.push_back(rule);
  for (const char *op : {"Conv", "Add", "Relu", "Transpose", "Concat", "Slice", "Cast"})
    choices.push_back(findRule(op));
  addNodes(draw, choices, static_cast<size_t>(draw.between(2, 6)));
}

/// Attention after a cache and experts, on tokens of a few heads.
void drawDecoder(Drawing &draw) {
  static const std::vector<int64_t> kHidden = {8, 12, 32, 48, 64, 128, 256};
  Shape shape{draw.drawSize(4), draw.chance(0.4) ? Size::of(1) : draw.drawConstant(17),
              Size::of(draw.pick(kHidden))};
  operand(draw, draw.chance(0.6) ? Wire::FLOAT : Wire::FLOAT16, shape);
  addNodes(draw, pointersTo(microsoftDecoderRules()), draw.nodeCount() + 1);
  std::vector<const Rule *> choices = pointersTo(microsoftDecoderRules());
  for (const char *op : {"Add", "MatMul", "com.microsoft.SkipSimplifiedLayerNormalization"})
    choices.push_back(findRule(op));
  addNodes(draw, choices, draw.nodeCount() + static_cast<size_t>(draw.between(0, 2)));
}

/// What ONNX Runtime's optimiser and its quantiser leave: ops of com.microsoft among ONNX's own.
void drawContrib(Drawing &draw) {
  if (draw.chance(0.25))
    return drawDecoder(draw);
  static const std::vector<ElementType> kContribTypes = {Wire::FLOAT, Wire::FLOAT, Wire::FLOAT16,
                                                         Wire::INT8, Wire::UINT8};
  Shape shape = draw.drawShape(static_cast<size_t>(draw.between(1, 3)), 1 << 8);
  shape.push_back(Size::of(draw.between(1, 16) * draw.between(1, 4)));
  ElementType type = draw.pick(kContribTypes);
  operand(draw, type, shape, isByte(type) ? rangeOf(type) : Bounds{-2, 2});
  std::vector<const Rule *> choices;
  for (auto family : {microsoftRules, microsoftQuantizedRules, microsoftByteRules,
                      microsoftDecoderRules, microsoftStandardRules, quantizedRules})
    for (const Rule *rule : pointersTo(family()))
      choices.push_back(rule);
  for (const char *op : {"Add", "MatMul", "Transpose", "Reshape", "Relu"})
    choices.push_back(findRule(op));
  addNodes(draw, choices, static_cast<size_t>(draw.between(2, 8)));
}

/// What static and dynamic quantisers leave: bytes, floats that passed through them, and floats of 8 bits.
void drawQuantized(Drawing &draw) {
  Shape shape{draw.drawSize(3), draw.drawSize(129), draw.drawConstant(129)};
  if (draw.chance(0.4)) // an image
    shape = {shape[0], Size::of(draw.between(1, 24)), draw.drawSize(33), draw.drawSize(33)};
  else if (draw.chance(0.5))
    shape.erase(shape.begin());
  static const std::vector<ElementType> kCoded = {Wire::FLOAT, Wire::FLOAT, Wire::INT8,
                                                  Wire::UINT8};
  ElementType type = draw.pick(kCoded);
  operand(draw, type, shape, isByte(type) ? rangeOf(type) : Bounds{-2, 2});
  std::vector<const Rule *> choices;
  for (int i = 0; i < 3; ++i) { // more often than others
    llvm::append_range(choices, pointersTo(quantizedGraphRules()));
    choices.push_back(findRule("Product of floats of 8 bits"));
  }
  for (const char *op :
       {"QuantizeLinear", "DequantizeLinear", "MatMulInteger", "QLinearMatMul", "ConvInteger",
        "QLinearConv", "com.microsoft.QGemm", "Relu", "Add", "Transpose", "MaxPool"})
    choices.push_back(findRule(op));
  addNodes(draw, choices, draw.nodeCount() + static_cast<size_t>(draw.between(1, 16)));
}

/// Branches, loops, scans and sequences, among ops that their bodies have too.
void drawControlFlow(Drawing &draw) {
  Shape shape = draw.drawShape(static_cast<size_t>(draw.between(0, 3)), 1 << 9);
  if (draw.chance(0.5))
    shape.insert(shape.begin(), Size::of(draw.between(1, 6)));
  operand(draw, draw.pick(kTypes), shape);
  std::vector<const Rule *> choices;
  for (int i = 0; i < 4; ++i) // more often than others
    llvm::append_range(choices, pointersTo(controlFlowRules()));
  llvm::append_range(choices, pointersTo(sequenceRules()));
  for (const char *op : {"Add", "Mul", "Transpose", "Softmax", "ReduceSum", "MatMul"})
    choices.push_back(findRule(op));
  addNodes(draw, choices, draw.nodeCount() + static_cast<size_t>(draw.between(1, 5)));
}

/// Tensors without elements, and what may be asked of them: no element is looked up, none is the largest.
void drawEmpties(Drawing &draw) {
  static const std::vector<const char *> kOps = {
      "Add",       "Mul",     "Sub",     "Relu",       "Tanh",      "Cast",   "Where", "Less",
      "Transpose", "Reshape", "Flatten", "Unsqueeze",  "Concat",    "Expand", "Slice", "Tile",
      "Identity",  "Softmax", "MatMul",  "ReduceProd", "ReduceSum", "Shape",  "Gelu"};
  size_t count = static_cast<size_t>(draw.between(2, 8));
  Shape shape = draw.drawShape(static_cast<size_t>(draw.between(1, 3)), 1 << 8);
  shape.insert(shape.begin() + draw.between(0, static_cast<int64_t>(shape.size())),
               draw.drawEmpty());
  operand(draw, draw.pick(kTypes), shape);
  std::vector<const Rule *> choices;
  for (const char *op : kOps)
    if (const Rule *rule = findRule(op))
      choices.push_back(rule);
  addNodes(draw, choices, count);
}

struct Kind {
  std::string name;
  void (*draw)(Drawing &);
};

const std::vector<Kind> kKinds = {
    {"mixed", drawMixed},          {"elementwise", drawElementwiseKind},
    {"views", drawViews},          {"reductions", drawReductions},
    {"products", drawProducts},    {"norms", drawNorms},
    {"attention", drawAttentions}, {"convolutions", drawConvolutions},
    {"images", drawImages},        {"empty", drawEmpties},
    {"contrib", drawContrib},      {"quantized", drawQuantized},
    {"control", drawControlFlow}};

} // namespace

const std::vector<std::string> &kindNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Kind &kind : kKinds)
      names.push_back(kind.name);
    return names;
  }();
  return kNames;
}

Graph drawGraph(const std::string &kind, uint64_t seed, const DrawOptions &options) {
  Drawing draw(seed, options);
  for (const Kind &candidate : kKinds)
    if (candidate.name == kind)
      candidate.draw(draw);
  return draw.finish(kind, seed);
}

std::optional<Graph> drawChain(const std::vector<std::string> &ops, ElementType type,
                               uint64_t seed) {
  DrawOptions options;
  options.opset = frontend::kMaxOpset;
  for (const std::string &op : ops)
    options.opset = std::min(*options.opset, findRule(op)->last);
  options.mayBeDynamic = false;
  Drawing draw(seed, options);
  // Every op takes some of these shapes: matrices, and three or four axes with few channels.
  static const std::vector<std::vector<int64_t>> kShapes = {
      {6, 8}, {2, 6, 8}, {2, 4, 6, 8}, {5, 33}, {2, 3, 1, 8}};
  Shape shape;
  for (int64_t extent : draw.pick(kShapes))
    shape.push_back(Size::of(extent));
  Value value = draw.input(type, shape, Drawing::usualBounds(type));
  for (const std::string &op : ops) {
    const Rule &rule = *findRule(op);
    auto next = rule.isIn(draw.opset()) ? rule.draw(draw, value) : std::nullopt;
    if (!next)
      return std::nullopt;
    value = *next;
  }
  return draw.finish("chain", seed);
}

} // namespace smelt::generate
