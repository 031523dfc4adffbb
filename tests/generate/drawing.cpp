#include "tests/generate/drawing.h"

#include "tests/generate/tensor_bytes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace smelt::generate {

namespace {

// Ones, odd sizes, sizes beside the widths of vectors, warps, tiles and blocks.
constexpr int64_t kExtents[] = {1,   2,   3,   4,   5,   7,   8,   9,   12,   15,   16,   17,  24,
                                31,  32,  33,  40,  63,  64,  65,  77,  100,  127,  128,  129, 192,
                                255, 256, 257, 384, 511, 512, 513, 768, 1000, 1024, 1025, 2049};

} // namespace

int64_t Size::smallest() const { return *std::min_element(values.begin(), values.end()); }
int64_t Size::largest() const { return *std::max_element(values.begin(), values.end()); }

int64_t largestCount(const Shape &shape) {
  int64_t largest = 0;
  for (size_t at = 0; at < kAssignments; ++at) {
    int64_t count = 1;
    for (const Size &size : shape)
      count *= size.values[at];
    largest = std::max(largest, count);
  }
  return largest;
}

bool isStatic(const Shape &shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](const Size &size) { return size.isConstant(); });
}

double Bounds::magnitude() const { return std::max(std::abs(low), std::abs(high)); }

static onnx_wire::Attribute &append(std::vector<onnx_wire::Attribute> &list,
                                    const std::string &name, onnx_wire::Attribute::Kind kind) {
  onnx_wire::Attribute &attribute = list.emplace_back();
  attribute.set_name(name);
  attribute.set_type(kind);
  return attribute;
}

Attributes &Attributes::add(const std::string &name, int64_t value) {
  append(list, name, onnx_wire::Attribute::INT).set_i(value);
  return *this;
}

Attributes &Attributes::add(const std::string &name, float value) {
  append(list, name, onnx_wire::Attribute::FLOAT).set_f(value);
  return *this;
}

Attributes &Attributes::add(const std::string &name, const char *value) {
  append(list, name, onnx_wire::Attribute::STRING).set_s(value);
  return *this;
}

Attributes &Attributes::add(const std::string &name, const std::vector<int64_t> &values) {
  *append(list, name, onnx_wire::Attribute::INTS).mutable_ints() = {values.begin(), values.end()};
  return *this;
}

Attributes &Attributes::add(const std::string &name, const std::vector<float> &values) {
  *append(list, name, onnx_wire::Attribute::FLOATS).mutable_floats() = {values.begin(),
                                                                        values.end()};
  return *this;
}

Attributes &Attributes::add(const std::string &name, onnx_wire::Graph graph) {
  *append(list, name, onnx_wire::Attribute::GRAPH).mutable_g() = std::move(graph);
  return *this;
}

bool Graph::isDynamic() const {
  for (const onnx_wire::ValueInfo &input : model.graph().input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      if (dim.has_dim_param())
        return true;
  return false;
}

std::string Graph::summary() const {
  std::string text;
  for (const onnx_wire::Node &node : model.graph().node())
    text += (text.empty() ? "" : "+") + node.op_type();
  return text;
}

Drawing::Drawing(uint64_t seed, const DrawOptions &options) : random(seed), options(options) {
  // Most exporters write 17 to 20; the newest has all ops; older ones spell axes and bounds as attributes.
  static const std::vector<int64_t> kOpsets = {28, 28, 24, 20, 18, 17, 14, 13, 12, 11};
  int64_t drawn = pick(kOpsets);
  version = options.opset.value_or(drawn);
  bool wantsDynamic = chance(0.4);
  dynamic = options.mustBeDynamic || (options.mayBeDynamic && wantsDynamic);
  model.set_ir_version(version >= 23 ? 11 : 8);
  model.add_opset_import()->set_version(version);
  model.mutable_graph()->set_name("generated");
}

Size Drawing::drawConstant(int64_t limit) {
  // One draw whatever the limit is, so that a lower one gives the same graph with smaller sizes.
  double skewed = std::pow(random.uniform(), 1.6);
  int64_t extent = kExtents[static_cast<size_t>(skewed * std::size(kExtents))];
  return Size::of(std::min({extent, std::max<int64_t>(limit, 1), options.maxExtent}));
}

Size Drawing::newSymbol(int64_t limit) {
  Size size{"s" + std::to_string(symbols.size()), {}};
  for (int64_t &value : size.values)
    value = drawConstant(std::min<int64_t>(limit, 300)).values[0];
  symbols.push_back(size);
  return size;
}

Size Drawing::drawEmpty() {
  if (!dynamic || !chance(0.7))
    return Size::of(0);
  Size size = newSymbol(40);
  size.values[static_cast<size_t>(between(0, kAssignments - 1))] = 0;
  return symbols.back() = size;
}

Size Drawing::drawSize(int64_t limit) {
  if (!dynamic || !chance(0.35))
    return drawConstant(limit);
  std::vector<Size> fitting;
  for (const Size &symbol : symbols)
    if (symbol.largest() <= limit)
      fitting.push_back(symbol);
  if (!fitting.empty() && chance(0.6))
    return pick(fitting);
  return newSymbol(limit);
}

Shape Drawing::drawShape(size_t rank, int64_t maxCount) {
  Shape shape;
  int64_t room = maxCount;
  for (size_t axis = 0; axis < rank; ++axis) {
    shape.push_back(drawSize(room));
    room = std::max<int64_t>(room / std::max<int64_t>(shape.back().largest(), 1), 1);
  }
  for (size_t axis = shape.size(); axis > 1; --axis) // the large ones come first else
    std::swap(shape[axis - 1],
              shape[static_cast<size_t>(between(0, static_cast<int64_t>(axis) - 1))]);
  return shape;
}

Size Drawing::derived(const std::array<int64_t, kAssignments> &values) {
  return {"=" + std::to_string(++names), values};
}

Size Drawing::changed(const Size &size, const std::function<int64_t(int64_t)> &change) {
  std::array<int64_t, kAssignments> values = size.values;
  for (int64_t &value : values)
    value = change(value);
  if (size.isConstant())
    return Size::of(values[0]);
  return values == size.values ? size : derived(values);
}

Size Drawing::product(const Shape &shape) {
  Size result = Size::of(1);
  std::vector<const Size *> symbolic;
  for (const Size &size : shape) {
    for (size_t at = 0; at < kAssignments; ++at)
      result.values[at] *= size.values[at];
    if (!size.is(1))
      symbolic.push_back(&size);
  }
  if (isStatic(shape))
    return result;
  return symbolic.size() == 1 ? *symbolic[0] : derived(result.values);
}

std::string Drawing::newName(const char *stem) { return stem + std::to_string(++names); }

Value &Drawing::remember(Value value) { return values[value.name] = std::move(value); }

Bounds Drawing::usualBounds(ElementType type) {
  if (isFloat(type))
    return {-2, 2};
  if (type == Wire::BOOL)
    return {0, 1};
  return isSigned(type) ? Bounds{-9, 9} : Bounds{0, 9};
}

void Drawing::declare(onnx_wire::ValueInfo &info, const Value &value) {
  info.set_name(value.name);
  auto &tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(value.type);
  tensor.mutable_shape();
  for (const Size &size : value.shape) {
    auto &dim = *tensor.mutable_shape()->add_dim(); // unnamed where the size follows from others
    if (size.isConstant())
      dim.set_dim_value(size.values[0]);
    else if (!size.isDerived())
      dim.set_dim_param(size.symbol);
  }
}

Value Drawing::input(ElementType type, const Shape &shape, Bounds bounds) {
  Value value{newName("x"), type, shape, bounds, false};
  declare(*model.mutable_graph()->add_input(), value);
  pool.push_back(value);
  return remember(value);
}

Value Drawing::initializer(ElementType type, const Shape &shape, Bounds bounds) {
  std::vector<double> drawn(static_cast<size_t>(largestCount(shape)));
  for (double &element : drawn)
    element = drawElement(random, type, bounds);
  return tensor(type, shape, drawn);
}

Value Drawing::tensor(ElementType type, const Shape &shape, const std::vector<double> &elements) {
  Value value{newName("w"), type, shape, {0, 0}, true};
  if (!elements.empty()) {
    auto [low, high] = std::minmax_element(elements.begin(), elements.end());
    value.bounds = {*low, *high};
  }
  onnx_wire::Tensor &wire = *target->add_initializer();
  wire.set_name(value.name);
  wire.set_data_type(type);
  for (const Size &size : shape)
    wire.add_dims(size.values[0]);
  wire.set_raw_data(toBytes(type, elements));
  return remember(value);
}

Value Drawing::integers(const std::vector<int64_t> &values) {
  return tensor(Wire::INT64, {Size::of(static_cast<int64_t>(values.size()))},
                std::vector<double>(values.begin(), values.end()));
}

Value Drawing::integerScalar(int64_t value) {
  return tensor(Wire::INT64, {}, {static_cast<double>(value)});
}

Value Drawing::scalar(ElementType type, double value) { return tensor(type, {}, {value}); }

Value Drawing::leaf(ElementType type, const Shape &shape, Bounds bounds) {
  bool mayBeConstant = isStatic(shape) && largestCount(shape) <= 1 << 18;
  return mayBeConstant && chance(0.35) ? initializer(type, shape, bounds)
                                       : input(type, shape, bounds);
}

Value Drawing::leaf(ElementType type, const Shape &shape) {
  return leaf(type, shape, usualBounds(type));
}

void Drawing::importDomain(const std::string &domain) {
  for (const onnx_wire::OperatorSet &known : model.opset_import())
    if (known.domain() == domain)
      return;
  onnx_wire::OperatorSet &import = *model.add_opset_import();
  import.set_domain(domain);
  import.set_version(1);
}

std::vector<Value> Drawing::nodes(const std::string &op, const std::vector<Value> &inputs,
                                  const Attributes &attributes, std::vector<Value> results,
                                  size_t offered) {
  onnx_wire::Node &node = *target->add_node();
  size_t dot = op.rfind('.'); // ends the domain
  node.set_op_type(dot == std::string::npos ? op : op.substr(dot + 1));
  if (dot != std::string::npos) {
    node.set_domain(op.substr(0, dot));
    importDomain(node.domain());
  }
  node.set_name(newName("n"));
  for (const Value &input : inputs) {
    node.add_input(input.name);
    used[input.name] = true;
  }
  for (const onnx_wire::Attribute &attribute : attributes.list)
    *node.add_attribute() = attribute;
  for (Value &result : results) {
    result.name = newName("t");
    node.add_output(result.name);
    remember(result);
  }
  pool.insert(pool.end(), results.begin(),
              results.begin() + static_cast<std::ptrdiff_t>(std::min(offered, results.size())));
  return results;
}

Value Drawing::node(const std::string &op, const std::vector<Value> &inputs,
                    const Attributes &attributes, ElementType type, const Shape &shape,
                    Bounds bounds) {
  return nodes(op, inputs, attributes, {Value{"", type, shape, bounds, false}})[0];
}

Value Drawing::aside(const std::string &op, const std::vector<Value> &inputs,
                     const Attributes &attributes, ElementType type, const Shape &shape,
                     Bounds bounds) {
  return nodes(op, inputs, attributes, {Value{"", type, shape, bounds, false}}, 0)[0];
}

void Drawing::respellLast(const std::string &op, const Attributes &more) {
  onnx_wire::Node &node = *target->mutable_node(target->node_size() - 1);
  size_t dot = op.rfind('.');
  node.set_op_type(op.substr(dot + 1));
  node.set_domain(op.substr(0, dot));
  importDomain(node.domain());
  for (const onnx_wire::Attribute &attribute : more.list)
    *node.add_attribute() = attribute;
}

onnx_wire::Graph Drawing::body(std::vector<Value> &parameters, const std::vector<Value> &visible,
                               const std::function<std::vector<Value>()> &drawResults) {
  onnx_wire::Graph graph;
  graph.set_name(newName("body"));
  std::vector<Value> outerPool = visible;
  std::swap(pool, outerPool);
  for (Value &parameter : parameters) {
    parameter.name = newName("p");
    declare(*graph.add_input(), parameter);
    pool.push_back(remember(parameter));
  }
  onnx_wire::Graph *outer = std::exchange(target, &graph);
  for (const Value &result : drawResults())
    declare(*graph.add_output(), result);
  target = outer;
  std::swap(pool, outerPool);
  return graph;
}

Value Drawing::tamed(const Value &value, double limit) {
  if (value.bounds.magnitude() <= limit || value.type == Wire::BOOL)
    return value;
  if (isInteger(value.type)) {
    int64_t divisor = std::max<int64_t>(static_cast<int64_t>(limit), 1);
    return node("Mod", {value, scalar(value.type, static_cast<double>(divisor))}, {}, value.type,
                value.shape, {0, static_cast<double>(divisor) - 1});
  }
  if (limit >= 1 && chance(0.5))
    return node("Tanh", {value}, {}, value.type, value.shape, {-1, 1});
  double factor = limit / value.bounds.magnitude();
  return node("Mul", {value, scalar(value.type, factor)}, {}, value.type, value.shape,
              {value.bounds.low * factor, value.bounds.high * factor});
}

Value Drawing::positive(const Value &value, double least) {
  if (value.bounds.low >= least)
    return value;
  Value start = value;
  if (value.bounds.low < 0) {
    double magnitude = value.bounds.magnitude();
    bool squares = isFloat(value.type) && magnitude <= 100 && chance(0.4);
    start = squares ? node("Mul", {value, value}, {}, value.type, value.shape,
                           {0, magnitude * magnitude})
                    : node("Abs", {value}, {}, value.type, value.shape, {0, magnitude});
  }
  return node("Add", {start, scalar(value.type, least)}, {}, value.type, value.shape,
              {start.bounds.low + least, start.bounds.high + least});
}

Graph Drawing::finish(const std::string &kind, uint64_t seed) {
  std::vector<Value> outputs;
  for (const Value &value : pool) {
    bool isInput = value.name[0] == 'x';
    if (!isInput && (!isUsed(value) || chance(0.05)))
      outputs.push_back(value);
  }
  for (const Value &value : outputs)
    declare(*model.mutable_graph()->add_output(), value);
  return {std::move(model), std::move(values), kind, seed};
}

std::optional<Shape> broadcast(const Shape &a, const Shape &b) {
  Shape result(std::max(a.size(), b.size()), Size::of(1));
  for (size_t from = 1; from <= result.size(); ++from) {
    Size left = from <= a.size() ? a[a.size() - from] : Size::of(1);
    Size right = from <= b.size() ? b[b.size() - from] : Size::of(1);
    if (!left.is(1) && !right.is(1) && !(left == right))
      return std::nullopt;
    result[result.size() - from] = left.is(1) ? right : left;
  }
  return result;
}

} // namespace smelt::generate
