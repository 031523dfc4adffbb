// One graph while it is drawn: its ONNX model, and what is known of every value so far.
//
// Sizes are known at three assignments of the model's symbols, so that a dynamic graph can be drawn with the rules of a
// static one: two sizes are the same where they carry the same symbol, not where their numbers meet. Values carry bounds,
// which keep functions inside their domain and sums inside their type; they need not be tight.
#pragma once

#include "tests/generate/element_types.h"

#include "ir/interpret/random.h"

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smelt::generate {

/// So many sets of values are given to the symbols of a dynamic graph; a static one has them all equal.
constexpr size_t kAssignments = 3;

/// One axis: a number, a symbol that an input declares, or a size that follows from symbols.
struct Size {
  std::string symbol; ///< "" for a number; starts with '=' where no input may declare it
  std::array<int64_t, kAssignments> values = {};

  static Size of(int64_t value) { return {"", {value, value, value}}; }
  bool isConstant() const { return symbol.empty(); }
  bool isDerived() const { return !symbol.empty() && symbol[0] == '='; }
  bool is(int64_t value) const { return isConstant() && values[0] == value; }
  int64_t smallest() const;
  int64_t largest() const;
  bool operator==(const Size &other) const {
    return symbol == other.symbol && values == other.values;
  }
};

using Shape = std::vector<Size>;

/// Elements at the largest assignment.
int64_t largestCount(const Shape &shape);
bool isStatic(const Shape &shape);

/// The elements of a value lie in [low, high]; for floats up to rounding.
struct Bounds {
  double low = -2, high = 2;

  double magnitude() const;
};

struct Value {
  std::string name;
  ElementType type = Wire::FLOAT;
  Shape shape;
  Bounds bounds;
  bool isConstant = false; ///< an initializer
};

/// The attributes of a node; strings, numbers, lists of numbers and graphs.
class Attributes {
public:
  Attributes &add(const std::string &name, int64_t value);
  Attributes &add(const std::string &name, int value) { return add(name, int64_t{value}); }
  Attributes &add(const std::string &name, float value);
  Attributes &add(const std::string &name, const char *value);
  Attributes &add(const std::string &name, const std::vector<int64_t> &values);
  Attributes &add(const std::string &name, const std::vector<float> &values);
  Attributes &add(const std::string &name, onnx_wire::Graph graph);

  std::vector<onnx_wire::Attribute> list;
};

/// What decides a graph besides its kind.
struct DrawOptions {
  int64_t maxExtent = 1 << 12; ///< no axis is longer; shrinking lowers it
  bool mayBeDynamic = true;
  bool mustBeDynamic = false;
  std::optional<int64_t> opset;
};

/// A finished graph: what is compiled, and the bounds of its inputs, from which data are drawn.
struct Graph {
  onnx_wire::Model model;
  std::map<std::string, Value> values; ///< every value of the graph, by name
  std::string kind;
  uint64_t seed = 0;

  bool isDynamic() const;
  std::string bytes() const { return model.SerializeAsString(); }
  /// "MatMul+Add", in the order of the nodes.
  std::string summary() const;
};

class Drawing {
public:
  Drawing(uint64_t seed, const DrawOptions &options);
  Drawing(const Drawing &) = delete;

  Random random;
  int64_t opset() const { return version; }
  bool isDynamic() const { return dynamic; }

  // Chance.
  bool chance(double probability) { return random.uniform() < probability; }
  int64_t between(int64_t low, int64_t high) { return random.integer(low, high + 1); }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[static_cast<size_t>(random.integer(0, static_cast<int64_t>(from.size())))];
  }

  // Sizes.
  /// From a list of ones, odd sizes, and sizes around the tiles of kernels; a symbol now and then. At most `limit`.
  Size drawSize(int64_t limit = 1 << 12);
  /// A number, never a symbol.
  Size drawConstant(int64_t limit = 1 << 12);
  /// 0, or a symbol that is 0 at one of the assignments.
  Size drawEmpty();
  Shape drawShape(size_t rank, int64_t maxCount = 1 << 14);
  /// A size that follows from others, by its values.
  Size derived(const std::array<int64_t, kAssignments> &values);
  /// What `change` makes of a size; the size itself where that is all the same.
  Size changed(const Size &size, const std::function<int64_t(int64_t)> &change);
  /// The product; a number where all are.
  Size product(const Shape &shape);

  // Values.
  /// A new input, or an initializer where `constant` is asked for. Derived sizes may not be among the shape's.
  Value input(ElementType type, const Shape &shape, Bounds bounds);
  Value initializer(ElementType type, const Shape &shape, Bounds bounds);
  Value integers(const std::vector<int64_t> &values);
  Value integerScalar(int64_t value);
  Value scalar(ElementType type, double value);
  Value tensor(ElementType type, const Shape &shape, const std::vector<double> &values);
  /// An input or initializer of any bounds that suit the type.
  Value leaf(ElementType type, const Shape &shape);
  Value leaf(ElementType type, const Shape &shape, Bounds bounds);
  static Bounds usualBounds(ElementType type);

  /// Adds a node and its first result. An op of another domain than ONNX's own comes with it: "com.microsoft.Gelu".
  Value node(const std::string &op, const std::vector<Value> &inputs, const Attributes &attributes,
             ElementType type, const Shape &shape, Bounds bounds);
  /// Adds a node with several results, of which the first so many are offered to later nodes, or become outputs.
  std::vector<Value> nodes(const std::string &op, const std::vector<Value> &inputs,
                           const Attributes &attributes, std::vector<Value> results,
                           size_t offered = std::numeric_limits<size_t>::max());
  /// Adds a node whose result no later node is offered and that is no output.
  Value aside(const std::string &op, const std::vector<Value> &inputs, const Attributes &attributes,
              ElementType type, const Shape &shape, Bounds bounds);
  /// The last node, drawn as one of ONNX's own, becomes the op of another domain; attributes are added.
  void respellLast(const std::string &op, const Attributes &more = {});
  /// Draws a graph that is an attribute of a node. Its `parameters` are named; `drawResults` adds nodes to it, and is offered
  /// them and `visible` values of the graph around it.
  onnx_wire::Graph body(std::vector<Value> &parameters, const std::vector<Value> &visible,
                        const std::function<std::vector<Value>()> &drawResults);
  /// Stands for an omitted input.
  static Value omitted() { return {}; }

  /// `value` or something made of it whose elements lie within [-limit, limit].
  Value tamed(const Value &value, double limit);
  /// `value` or something made of it whose elements are at least `least` > 0; floats and integers.
  Value positive(const Value &value, double least);

  size_t nodeCount() const { return static_cast<size_t>(model.graph().node_size()); }
  const std::vector<Value> &available() const { return pool; }
  bool isUsed(const Value &value) const { return used.contains(value.name); }

  /// Names as outputs what no node reads, and now and then something that one reads.
  Graph finish(const std::string &kind, uint64_t seed);

private:
  Size newSymbol(int64_t limit);
  void importDomain(const std::string &domain);
  std::string newName(const char *stem);
  Value &remember(Value value);
  static void declare(onnx_wire::ValueInfo &info, const Value &value);

  DrawOptions options;
  int64_t version = 21;
  bool dynamic = false;
  size_t names = 0;
  onnx_wire::Model model;
  onnx_wire::Graph *target =
      model.mutable_graph(); ///< what nodes are added to: the graph or a body
  std::map<std::string, Value> values;
  std::map<std::string, bool> used;
  std::vector<Value> pool; ///< inputs and results, not initializers
  std::vector<Size> symbols;
};

/// The shape of a NumPy broadcast; none where the sizes do not meet.
std::optional<Shape> broadcast(const Shape &a, const Shape &b);

} // namespace smelt::generate
