// Numbers drawn at random, and dropout as in training, which draws its mask.
//
// ONNX leaves the generator open. Here each number is a hash of its place in the tensor and of a seed: the node's
// own, or its name. So every run draws the same numbers, on every device, without a state.
#include "frontend/ops/random.h"
#include "frontend/element_type.h"
#include "frontend/node_table.h"
#include "frontend/ops/attention.h"

#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;

namespace smelt::frontend {

namespace {

Type floatType(GraphBuilder &build) { return Float32Type::get(build.getContext()); }

/// A number of 31 bits: the attribute's, or the node's name's.
int64_t seedOf(NodeReader &node) {
  constexpr uint64_t kMask = 0x7fffffff;
  bool isInteger = node.opType() == "Dropout"; // of the others it is a float
  if (node.hasAttribute("seed"))
    return static_cast<int64_t>((isInteger ? static_cast<uint64_t>(node.integer("seed", 0))
                                           : llvm::bit_cast<uint32_t>(node.real("seed", 0))) &
                                kMask);
  std::string name;
  llvm::raw_string_ostream(name) << node.build.getLocation();
  return static_cast<int64_t>(llvm::xxh3_64bits(name) & kMask);
}

/// x ^ (x >> shift), times `factor`, which is below 2^31: then no product exceeds 63 bits.
Value mix(GraphBuilder &build, Value bits, int64_t shift, int64_t factor) {
  Type type = tensorType(bits).getElementType();
  auto number = [&](int64_t value) { return build.scalar(static_cast<double>(value), type); };
  bits = build.create<BitXorOp>({bits, build.create<ShiftRightOp>({bits, number(shift)})});
  return factor == 1 ? bits : build.create<MulOp>({bits, number(factor)});
}

/// 32 bits for each place from `first` on.
Value drawBits(NodeReader &node, Dim count, Dim first) {
  GraphBuilder &build = node.build;
  Type bits = IntegerType::get(build.getContext(), 32, IntegerType::Unsigned);
  Value place = iota(build, count, {count});
  if (place)
    place = build.create<AddOp>({place, build.dim(first, tensorType(place).getElementType())});
  Value seed = build.scalar(static_cast<double>(seedOf(node)), bits);
  Value mixed = build.create<AddOp>({build.cast(place, bits), seed});
  if (!mixed)
    return {};
  mixed = mix(build, mixed, 17, 0x6d5ad4bb);
  mixed = mix(build, mixed, 11, 0x2c4c1b51);
  mixed = mix(build, mixed, 15, 0x31848bab);
  return mix(build, mixed, 14, 1);
}

Dim countOfShape(GraphBuilder &build, ArrayRef<Dim> shape) {
  Dim count = build.size(1);
  for (const Dim &dim : shape)
    count = count * dim;
  return count;
}

/// `count` numbers between 0 and 1, neither among them, of 23 bits.
Value drawFractions(NodeReader &node, Dim count, Dim first) {
  GraphBuilder &build = node.build;
  Value bits = drawBits(node, count, first);
  if (!bits)
    return {};
  Value shift = build.scalar(9, tensorType(bits).getElementType());
  Value number = build.cast(build.create<ShiftRightOp>({bits, shift}), floatType(build));
  number = build.create<AddOp>({number, build.scalar(0.5, floatType(build))});
  return build.create<MulOp>({number, build.scalar(std::ldexp(1, -23), floatType(build))});
}

/// factor * x + offset
Value scaled(GraphBuilder &build, Value value, float factor, float offset) {
  Value product = build.create<MulOp>({value, build.scalar(factor, floatType(build))});
  return build.create<AddOp>({product, build.scalar(offset, floatType(build))});
}

/// By Box and Muller: sqrt(-2 log u) cos(2 pi v).
Value drawNormal(NodeReader &node, ArrayRef<Dim> shape) {
  GraphBuilder &build = node.build;
  constexpr double kTurn = 6.283185307179586;
  Dim count = countOfShape(build, shape);
  Value length = build.unary<LogOp>(drawFractions(node, count, build.size(0)));
  length = build.unary<SqrtOp>(build.create<MulOp>({length, build.scalar(-2, floatType(build))}));
  Value angle = drawFractions(node, count, count);
  angle = build.unary<CosOp>(build.create<MulOp>({angle, build.scalar(kTurn, floatType(build))}));
  Value drawn = build.create<MulOp>({length, angle});
  return build.reshape(scaled(build, drawn, node.real("scale", 1), node.real("mean", 0)), shape);
}

Value drawInRange(NodeReader &node, ArrayRef<Dim> shape) {
  float low = node.real("low", 0), high = node.real("high", 1);
  return scaled(node.build, drawUniform(node, shape), high - low, low);
}

/// The type that attribute 'dtype' names, or `standard`; null after a report.
Type drawnType(NodeReader &node, Type standard) {
  int64_t named = node.integer("dtype", 0);
  Type type =
      named == 0 ? standard : elementType(node.build.getContext(), static_cast<int32_t>(named));
  if (type && isa<FloatType>(type))
    return type;
  return node.error() << "draws numbers of type " << dataTypeName(static_cast<int32_t>(named))
                      << ", where only floats are supported",
         Type();
}

using Drawer = Value (*)(NodeReader &, ArrayRef<Dim>);

template <Drawer kDraw> LogicalResult importOfShape(NodeReader &node) {
  Type type = drawnType(node, floatType(node.build));
  auto sizes = node.integers("shape");
  if (!type)
    return failure();
  if (!sizes || llvm::any_of(*sizes, [](int64_t size) { return size < 0 || size > kMaxElements; }))
    return node.error() << "needs the attribute 'shape', of sizes that are not negative";
  SmallVector<Dim> shape =
      llvm::map_to_vector(*sizes, [&](int64_t size) { return node.build.size(size); });
  return node.output(node.build.cast(kDraw(node, shape), type));
}

template <Drawer kDraw> LogicalResult importLike(NodeReader &node) {
  TensorType like = tensorType(node.input(0));
  Type type = drawnType(node, like.getElementType());
  return type ? node.output(node.build.cast(kDraw(node, like.getShape()), type)) : failure();
}

} // namespace

Value drawUniform(NodeReader &node, ArrayRef<Dim> shape) {
  GraphBuilder &build = node.build;
  return build.reshape(drawFractions(node, countOfShape(build, shape), build.size(0)), shape);
}

ArrayRef<NodeRule> randomRules() {
  static constexpr NodeRule kRules[] = {
      {"RandomNormal", 1, 0, importOfShape<drawNormal>},
      {"RandomNormalLike", 1, 1, importLike<drawNormal>},
      {"RandomUniform", 1, 0, importOfShape<drawInRange>},
      {"RandomUniformLike", 1, 1, importLike<drawInRange>},
  };
  return kRules;
}

} // namespace smelt::frontend
