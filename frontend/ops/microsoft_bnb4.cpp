// MatMulBnb4 of the domain com.microsoft: weights of four bits whose codes stand for entries of a
// table, in blocks with a scale each.
#include "frontend/node_table.h"
#include "frontend/respell.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr llvm::StringLiteral kBnb4Domain = "com.microsoft";

constexpr int64_t kCodes = 16;
/// What the codes of a float with one sign bit, two of exponent and one of mantissa stand for.
constexpr float kFloatTable[kCodes] = {0.00000000f,  5.208333333e-03f,  0.66666667f,  1.00000000f,
                                       0.33333333f,  0.50000000f,       0.16666667f,  0.25000000f,
                                       -0.00000000f, -5.208333333e-03f, -0.66666667f, -1.00000000f,
                                       -0.33333333f, -0.50000000f,      -0.16666667f, -0.25000000f};
/// Quantiles of the normal distribution.
constexpr float kNormalTable[kCodes] = {-1.0f,
                                        -0.6961928009986877f,
                                        -0.5250730514526367f,
                                        -0.39491748809814453f,
                                        -0.28444138169288635f,
                                        -0.18477343022823334f,
                                        -0.09105003625154495f,
                                        0.0f,
                                        0.07958029955625534f,
                                        0.16093020141124725f,
                                        0.24611230194568634f,
                                        0.33791524171829224f,
                                        0.44070982933044434f,
                                        0.5626170039176941f,
                                        0.7229568362236023f,
                                        1.0f};

/// A matrix [N, K] in blocks that run over the ends of its rows.
struct TableWeight {
  int64_t rows, depth, blockSize;
  ArrayRef<float> table;

  int64_t elements() const { return rows * depth; }
  int64_t blocks() const { return (elements() + blockSize - 1) / blockSize; }

  static FailureOr<TableWeight> read(NodeReader &node) {
    int64_t kind = node.integer("quant_type", -1);
    if (kind != 0 && kind != 1)
      return node.error() << "its quant_type " << kind << " is neither 0 nor 1";
    TableWeight weight{node.integer("N", 0), node.integer("K", 0), node.integer("block_size", 0),
                       kind == 0 ? ArrayRef(kFloatTable) : ArrayRef(kNormalTable)};
    constexpr int64_t kLargest = int64_t{1} << 24;
    auto isSize = [&](int64_t size) { return size >= 1 && size <= kLargest; };
    if (!isSize(weight.rows) || !isSize(weight.depth) || !isSize(weight.blockSize))
      return node.error() << "its weight of " << weight.rows << " rows of " << weight.depth
                          << " elements in blocks of " << weight.blockSize << " is none";
    return weight;
  }
};

LogicalResult requireCount(NodeReader &node, size_t index, int64_t count) {
  if (!tensorType(node.input(index)).getNumElements().isConstant(count))
    return node.error() << node.describe(index) << " must have " << count << " elements";
  return success();
}

/// The codes, two to a byte, the first in its high bits.
Value unpackCodes(GraphBuilder &build, Value bytes, int64_t count) {
  Type type = tensorType(bytes).getElementType();
  Dim pairs = build.size((count + 1) / 2), one = build.size(1);
  bytes = build.reshape(bytes, {pairs, one});
  Value high = build.create<ShiftRightOp>({bytes, build.scalar(4, type)});
  Value low = build.create<BitAndOp>({bytes, build.scalar(kCodes - 1, type)});
  Value codes = build.reshape(build.concat({high, low}, 1), pairs * 2);
  return build.slice(codes, 0, build.size(0), build.size(count));
}

/// [N, K] in the type of the scales.
Value dequantizeTable(NodeReader &node, const TableWeight &weight) {
  GraphBuilder &build = node.build;
  Type f32 = Float32Type::get(build.getContext());
  int64_t padded = weight.blocks() * weight.blockSize;
  Value codes = unpackCodes(build, node.input(1), weight.elements());
  Value table =
      build.constant(DenseElementsAttr::get(RankedTensorType::get(kCodes, f32), weight.table));
  Value values =
      build.create<GatherOp>({table, build.cast(codes, IntegerType::get(build.getContext(), 32))},
                             build.attribute("axis", int64_t{0}));
  Dim blocks = build.size(weight.blocks()), size = build.size(weight.blockSize);
  values = build.pad(values, 0, build.size(0), build.size(padded - weight.elements()),
                     build.scalar(0, f32));
  Value scales = build.reshape(build.cast(node.input(2), f32), {blocks, build.size(1)});
  Value scaled = build.create<MulOp>({build.reshape(values, {blocks, size}), scales});
  scaled = build.slice(build.reshape(scaled, build.size(padded)), 0, build.size(0),
                       build.size(weight.elements()));
  return build.cast(build.reshape(scaled, {build.size(weight.rows), build.size(weight.depth)}),
                    tensorType(node.input(2)).getElementType());
}

/// A B', or A B where transB is 0.
LogicalResult importMatMulBnb4(NodeReader &node) {
  FailureOr<TableWeight> weight = TableWeight::read(node);
  if (failed(weight) || failed(node.requireSameType({0, 2})) ||
      failed(requireCount(node, 1, (weight->elements() + 1) / 2)) ||
      failed(requireCount(node, 2, weight->blocks())))
    return failure();
  if (!tensorType(node.input(1)).getElementType().isUnsignedInteger(8))
    return node.error() << "needs a weight of bytes without sign, got " << node.describe(1);
  Value matrix = dequantizeTable(node, *weight);
  if (node.integer("transB", 1))
    matrix = node.build.transposeMatrix(matrix);
  return matrix ? node.importAs(13, asStandard(node, "MatMul"), {node.input(0), matrix})
                : failure();
}

} // namespace

ArrayRef<NodeRule> microsoftBnb4Rules() {
  static constexpr NodeRule kRules[] = {
      {"MatMulBnb4", 1, 3, importMatMulBnb4, kBnb4Domain},
  };
  return kRules;
}

} // namespace smelt::frontend
