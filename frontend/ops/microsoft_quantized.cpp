// Quantised products of the domain com.microsoft: of bytes with float results, and with weights of
// few bits.
#include "frontend/node_table.h"
#include "frontend/ops/quantized_product.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr llvm::StringLiteral kQuantizedDomain = "com.microsoft";

//===----------------------------------------------------------------------===//
// Products of bytes
//===----------------------------------------------------------------------===//

/// The product, in float32, times the scales of both factors, plus a bias, in the type of the result.
LogicalResult outputScaled(NodeReader &node, const QuantizedProduct &product, Value leftScale,
                           Value rightScale, Value bias, Type type) {
  GraphBuilder &build = node.build;
  if (!product.sums || !leftScale || !rightScale)
    return failure();
  auto single = [&](Value value) { return build.cast(value, float32(build)); };
  Value scale = build.create<MulOp>({single(leftScale), single(rightScale)});
  Value result = build.create<MulOp>({single(product.sums), scale});
  if (bias)
    result = build.create<AddOp>({result, single(bias)});
  return node.output(product.factors.dropAddedAxes(node, build.cast(result, type)));
}

LogicalResult importMatMulIntegerToFloat(NodeReader &node) {
  FailureOr<QuantizedProduct> product = QuantizedProduct::read(node, {0, 4, 1, 5});
  if (failed(product))
    return failure();
  return outputScaled(node, *product, alignWithFactor(node, 2, product->left),
                      alignWithFactor(node, 3, product->right), node.input(6),
                      tensorType(node.input(2)).getElementType());
}

LogicalResult importDynamicQuantizeMatMul(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<Factors> factors = Factors::read(node, 0, 1);
  if (failed(factors))
    return failure();
  DynamicallyQuantized data = quantizeDynamically(build, factors->lhs);
  if (!data.values || !data.zeroPoint)
    return failure();
  factors->lhs = data.values;
  QuantizedFactor left{data.values, build.cast(data.zeroPoint, int32(build)),
                       tensorType(data.values).getRank() - 1};
  FailureOr<QuantizedProduct> product = QuantizedProduct::multiply(node, *factors, left, 3);
  if (failed(product))
    return failure();
  return outputScaled(node, *product, data.scale, alignWithFactor(node, 2, product->right),
                      node.input(4), float32(build));
}

/// A B alpha as floats, or as bytes where the result has a scale. C counts in steps of the product's
/// scale.
LogicalResult importQGemm(NodeReader &node) {
  GraphBuilder &build = node.build;
  constexpr ProductInputs kInputs{0, 2, 3, 5};
  constexpr size_t kAddend = 6, kScale = 7, kZeroPoint = 8;
  for (size_t index : {kInputs.left, kInputs.right})
    if (tensorType(node.input(index)).getRank() != 2)
      return node.error() << "needs matrices, got " << node.describe(index);
  for (auto [index, flag] : {std::pair(kInputs.left, "transA"), {kInputs.right, "transB"}})
    if (node.flag(flag))
      node.setInput(index, build.transposeMatrix(node.input(index)));
  FailureOr<QuantizedProduct> product = QuantizedProduct::read(node, kInputs);
  if (failed(product) || !product->sums)
    return failure();
  if (Value addend = node.input(kAddend))
    product->sums = build.create<AddOp>({product->sums, addend});
  Value rightScale = alignWithFactor(node, 4, product->right),
        leftScale = alignWithFactor(node, 1, product->left);
  if (float alpha = node.real("alpha", 1); leftScale && alpha != 1)
    leftScale = build.create<MulOp>({leftScale, build.scalar(alpha, float32(build))});
  Value given = node.input(kScale);
  if (!given)
    return outputScaled(node, *product, leftScale, rightScale, Value(), float32(build));
  Value zeroPoint = node.input(kZeroPoint);
  if (!zeroPoint || !tensorType(given).getNumElements().isConstant(1) ||
      !tensorType(zeroPoint).getNumElements().isConstant(1))
    return node.error() << "needs one scale and one zero point for its result";
  Value factor = build.create<MulOp>({leftScale, rightScale});
  factor = build.create<DivOp>({factor, build.reshape(given, {})});
  Value scaled = build.create<MulOp>({build.cast(product->sums, float32(build)), factor});
  if (!scaled)
    return failure();
  return node.output(quantizeTo(build, scaled, build.reshape(zeroPoint, {}),
                                tensorType(zeroPoint).getElementType()));
}

//===----------------------------------------------------------------------===//
// Weights of few bits
//===----------------------------------------------------------------------===//

/// The elements of which several share a byte, the first in its lowest bits, along the last axis.
Value unpackBytes(GraphBuilder &build, Value bytes, int64_t bits) {
  if (!bytes || bits == 8)
    return bytes;
  SmallVector<Dim> shape = tensorType(bytes).getShape(), each = shape;
  each.push_back(build.size(1));
  Type type = tensorType(bytes).getElementType();
  SmallVector<Value> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Value part =
        build.create<ShiftRightOp>({bytes, build.scalar(static_cast<double>(shift), type)});
    part = build.create<BitAndOp>({part, build.scalar((1 << bits) - 1, type)});
    parts.push_back(build.reshape(part, each));
  }
  Value apart = build.concat(parts, static_cast<int64_t>(shape.size()));
  shape.back() = shape.back() * build.size(8 / bits);
  return build.reshape(apart, shape);
}

/// The shape of a matrix [N, K] in blocks along K.
struct BlockedWeight {
  int64_t rows, depth, bits, blockSize;

  int64_t blocks() const { return (depth + blockSize - 1) / blockSize; }
  /// Bytes that hold so many elements.
  int64_t bytesOf(int64_t elements) const { return (elements * bits + 7) / 8; }

  static FailureOr<BlockedWeight> read(NodeReader &node) {
    BlockedWeight weight{node.integer("N", 0), node.integer("K", 0), node.integer("bits", 4),
                         node.integer("block_size", 0)};
    if (weight.bits != 2 && weight.bits != 4 && weight.bits != 8)
      return node.error() << "a weight of " << weight.bits << " bits is not supported";
    bool fits = weight.rows > 0 && weight.depth > 0 && weight.rows <= kMaxElements &&
                weight.depth <= kMaxElements && weight.blockSize >= 16 &&
                weight.blockSize <= kMaxElements && llvm::isPowerOf2_64(weight.blockSize);
    if (!fits)
      return node.error() << "its weight of " << weight.rows << " rows of " << weight.depth
                          << " elements in blocks of " << weight.blockSize
                          << " is none: a block is a power of two, of at least 16 elements";
    return weight;
  }
};

/// Input `index` in `shape`, of as many elements; null after a report.
Value shaped(NodeReader &node, size_t index, ArrayRef<int64_t> shape) {
  GraphBuilder &build = node.build;
  SmallVector<Dim> sizes =
      llvm::map_to_vector(shape, [&](int64_t size) { return build.size(size); });
  Value given = node.input(index);
  if (tensorType(given).getNumElements() != product(sizes, build.getContext())) {
    node.error() << node.describe(index) << " must have " << toString(sizes) << " elements";
    return {};
  }
  return build.reshape(given, sizes);
}

/// Of each block, in float32, [N, blocks, 1]: packed as the weight is, or in the type of the scales;
/// the middle of the range where there are none. Null after a report.
Value readZeroPoints(NodeReader &node, const BlockedWeight &weight) {
  GraphBuilder &build = node.build;
  constexpr size_t kZeroPoints = 3;
  Value given = node.input(kZeroPoints);
  if (!given)
    return build.scalar(1 << (weight.bits - 1), float32(build));
  bool isPacked = tensorType(given).getElementType().isUnsignedInteger(8);
  int64_t stored = isPacked ? weight.bytesOf(weight.blocks()) : weight.blocks();
  given = shaped(node, kZeroPoints, {weight.rows, stored});
  if (given && isPacked)
    given = build.slice(unpackBytes(build, given, weight.bits), 1, build.size(0),
                        build.size(weight.blocks()));
  return given
             ? build.reshape(build.cast(given, float32(build)),
                             {build.size(weight.rows), build.size(weight.blocks()), build.size(1)})
             : Value();
}

/// [K, N] in float32; null after a report.
Value dequantizeWeight(NodeReader &node, const BlockedWeight &weight) {
  GraphBuilder &build = node.build;
  int64_t blocks = weight.blocks();
  Value bytes = shaped(node, 1, {weight.rows, blocks, weight.bytesOf(weight.blockSize)}),
        scales = bytes ? shaped(node, 2, {weight.rows, blocks, 1}) : Value(),
        zeroPoints = scales ? readZeroPoints(node, weight) : Value();
  if (!zeroPoints)
    return {};
  Value values = build.cast(unpackBytes(build, bytes, weight.bits), float32(build));
  values = build.create<MulOp>(
      {build.create<SubOp>({values, zeroPoints}), build.cast(scales, float32(build))});
  Value rows =
      build.reshape(values, {build.size(weight.rows), build.size(blocks * weight.blockSize)});
  return build.transposeMatrix(build.slice(rows, 1, build.size(0), build.size(weight.depth)));
}

/// A B' + bias, where B is a matrix [N, K] of few bits.
LogicalResult importMatMulNBits(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (node.input(4))
    return node.error() << "with the order of its groups given (g_idx) is not supported";
  FailureOr<BlockedWeight> weight = BlockedWeight::read(node);
  if (failed(weight))
    return failure();
  Type type = tensorType(node.input(0)).getElementType();
  if (tensorType(node.input(1)).getElementType() !=
          IntegerType::get(build.getContext(), 8, IntegerType::Unsigned) ||
      failed(node.requireSameType({0, 2})))
    return node.error() << "needs a weight of bytes without sign, got " << node.describe(1);
  Value matrix = build.cast(dequantizeWeight(node, *weight), type);
  if (!matrix)
    return failure();
  Dim depth = build.size(weight->depth);
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
  if (shape.empty() ||
      failed(build.getFacts().requireEqual(build.getLocation(), shape.back(), depth,
                                           "the columns of the left matrix meet the weight's")))
    return failure();
  bool isVector = shape.size() == 1;
  Value left = isVector ? build.reshape(node.input(0), {build.size(1), depth}) : node.input(0);
  Value result = build.create<MatmulOp>({left, matrix});
  if (result && isVector)
    result = build.reshape(result, {build.size(weight->rows)});
  Value bias = node.input(5);
  return node.output(bias ? build.create<AddOp>({result, bias}) : result);
}

} // namespace

ArrayRef<NodeRule> microsoftQuantizedRules() {
  static constexpr NodeRule kRules[] = {
      {"DynamicQuantizeMatMul", 1, 3, importDynamicQuantizeMatMul, kQuantizedDomain},
      {"MatMulIntegerToFloat", 1, 4, importMatMulIntegerToFloat, kQuantizedDomain},
      {"MatMulNBits", 1, 3, importMatMulNBits, kQuantizedDomain},
      {"QGemm", 1, 6, importQGemm, kQuantizedDomain},
  };
  return kRules;
}

} // namespace smelt::frontend
