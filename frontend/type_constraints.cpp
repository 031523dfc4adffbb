#include "frontend/type_constraints.h"

#include "frontend/element_type.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

// Sets of element types, of those that Smelt has.
enum Types : uint32_t {
  kF16 = 1 << 0,
  kF32 = 1 << 1,
  kF64 = 1 << 2,
  kBf16 = 1 << 3,
  kBool = 1 << 4,
  kI8 = 1 << 5,
  kU8 = 1 << 6,
  kI16 = 1 << 7,
  kI32 = 1 << 8,
  kI64 = 1 << 9,
  kU16 = 1 << 10,
  kU32 = 1 << 11,
  kU64 = 1 << 12,
  kFloat8 = 1 << 13, // but for the scales
  kFloat4 = 1 << 14,
  kScales = 1 << 15,
  kInt4 = 1 << 16, // with a sign or without
  kInt2 = 1 << 17,
  kPacked = kFloat4 | kInt4 | kInt2,
  kStored = kPacked | kFloat8 | kScales,
  kSizes = kI64,
  kIndices = kI32 | kI64,
  kBytes = kI8 | kU8,
  kShort = kBytes | kI16 | kU16,
  kQuantized = kShort | kI32,
  kPooled = kF16 | kF32 | kF64 | kBf16 | kBytes,
  kNarrowFloats = kF16 | kF32 | kBf16,
  kQuantizable = kNarrowFloats | kI32,
  kFloats = kF16 | kF32 | kF64 | kBf16,
  kPowers = kFloats | kI32 | kI64,
  kWide = kFloats | kI32 | kI64 | kU32 | kU64,
  kSigned = kFloats | kI8 | kI16 | kI32 | kI64,
  kUnsigned = kU8 | kU16 | kU32 | kU64,
  kNumbers = kSigned | kUnsigned,
  kOrdered = kWide | kBool | kBytes,
  kCounted = kFloats | kI16 | kI32 | kI64,
  kIntegers = kUnsigned | kI8 | kI16 | kI32 | kI64,
  kShrinkable = kIntegers | kF16 | kF32 | kF64,
  kAny = kNumbers | kBool,
  kReals = kF16 | kF32 | kF64,
  kPlain = kReals | kIntegers,
  kCopied = kPlain | kBool,
  kEvery = kAny | kStored,
  kDequantizable = kQuantized | kFloat8 | kPacked,
  kScattered = kEvery & ~kInt2,
  kCodes = kBytes | kFloat8,
  kFloatsAnd8 = kFloats | kFloat8,
  kQuantizedTo = kShort | kFloat8 | kPacked,
  kAnyScale = kNarrowFloats | kScales,
  kQuantizableScale = kQuantizable | kScales,
};

struct TypeRow {
  StringLiteral op;
  /// Of each input; the last set holds for all inputs after it.
  SmallVector<Types, 4> inputs;
  int64_t since = 1; // the first opset that this row holds for
};

/// Ops that are not listed take all types but those that are for storage alone.
const TypeRow kRows[] = {
    {"Abs", {kNumbers}},
    {"Acos", {kFloats}},
    {"Acosh", {kFloats}},
    {"Add", {kNumbers}},
    {"Affine", {kFloats}},
    {"AffineGrid", {kFloats, kSizes}},
    {"And", {kBool}},
    {"ArgMax", {kNumbers}},
    {"ArgMin", {kNumbers}},
    {"Asin", {kFloats}},
    {"Asinh", {kFloats}},
    {"Atan", {kFloats}},
    {"Atanh", {kFloats}},
    {"Attention", {kFloats, kFloats, kFloats, kAny, kFloats, kFloats, kSizes}},
    {"AveragePool", {kFloats}},
    {"BatchNormalization", {kFloats}},
    {"BiasAdd", {kFloats}},
    {"BiasGelu", {kFloats}},
    {"BitCast", {kEvery}},
    {"BitShift", {kIntegers}},
    {"BitwiseAnd", {kIntegers}},
    {"BitwiseNot", {kIntegers}},
    {"BitwiseOr", {kIntegers}},
    {"BitwiseXor", {kIntegers}},
    {"BlackmanWindow", {kIndices}},
    {"Cast", {kEvery}},
    {"CastLike", {kEvery}},
    {"CausalConvWithState", {kNarrowFloats}},
    {"Ceil", {kFloats}},
    {"Celu", {kFloats}},
    {"CenterCropPad", {kAny, kIndices}},
    {"Clip", {kNumbers}},
    {"Col2Im", {kAny, kSizes}},
    {"ConstantOfShape", {kSizes}},
    {"Compress", {kAny, kBool}},
    {"Conv", {kFloats}},
    {"ConvInteger", {kBytes}},
    {"ConvTranspose", {kFloats}},
    {"Cos", {kFloats}},
    {"Cosh", {kFloats}},
    {"Crop", {kFloats}},
    {"CumProd", {kWide, kIndices}},
    {"CumSum", {kWide, kIndices}},
    {"DFT", {kFloats, kIndices, kI64}},
    {"DeformConv", {kFloats}},
    {"DequantizeLinear", {kDequantizable, kAnyScale, kDequantizable}},
    {"Det", {kFloats}},
    {"Div", {kNumbers}},
    {"Dropout", {kFloatsAnd8, kFloatsAnd8, kBool}},
    {"DynamicQuantizeLinear", {kF32}},
    {"Einsum", {kNumbers}},
    {"Elu", {kFloats}},
    {"EmbedLayerNormalization",
     {kIndices, kIndices, kFloats, kFloats, kFloats, kFloats, kFloats, kIndices, kIndices}},
    {"Erf", {kFloats}},
    {"Exp", {kFloats}},
    {"Expand", {kAny, kSizes}},
    {"FastGelu", {kFloats}},
    {"Flatten", {kEvery}},
    {"Floor", {kFloats}},
    {"FusedConv", {kFloats}},
    {"FusedGemm", {kFloats}},
    {"FusedMatMul", {kFloats}},
    {"GRU", {kFloats, kFloats, kFloats, kFloats, kI32, kFloats}},
    {"Gather", {kAny, kIndices}},
    {"GatherElements", {kAny, kIndices}},
    {"GatherND", {kAny, kIndices}}, // of Microsoft's domain
    {"GatherND", {kAny, kSizes}, 11},
    {"Gelu", {kFloats}},
    {"Gemm", {kWide}},
    {"GlobalAveragePool", {kFloats}},
    {"GlobalLpPool", {kFloats}},
    {"GlobalMaxPool", {kFloats}},
    {"Greater", {kNumbers}},
    {"GreaterOrEqual", {kNumbers}},
    {"GridSample", {kAny, kFloats}},
    {"GroupNorm", {kFloats}},
    {"GroupNormalization", {kFloats}},
    {"HammingWindow", {kIndices}},
    {"HannWindow", {kIndices}},
    {"HardSigmoid", {kFloats}},
    {"HardSwish", {kFloats}},
    {"Hardmax", {kFloats}},
    {"Identity", {kEvery}},
    {"If", {kBool}},
    {"ImageScaler", {kFloats}},
    {"InstanceNormalization", {kFloats}},
    {"IsInf", {kFloatsAnd8}},
    {"IsNaN", {kFloatsAnd8}},
    {"LRN", {kFloats}},
    {"LSTM", {kFloats, kFloats, kFloats, kFloats, kI32, kFloats}},
    {"LayerNormalization", {kFloats}},
    {"LeakyRelu", {kFloats}},
    {"Less", {kNumbers}},
    {"LessOrEqual", {kNumbers}},
    {"LinearAttention", {kNarrowFloats}},
    {"Log", {kFloats}},
    {"LogSoftmax", {kFloats}},
    {"LpNormalization", {kFloats}},
    {"LpPool", {kFloats}},
    {"MatMul", {kWide}},
    {"MatMulBnb4", {kFloats, kU8, kFloats}},
    {"MatMulInteger", {kBytes}},
    {"Max", {kNumbers}},
    {"MaxPool", {kPooled}},
    {"MaxRoiPool", {kFloats}},
    {"MaxUnpool", {kFloats, kSizes}},
    {"Mean", {kFloats}},
    {"MeanVarianceNormalization", {kFloats}},
    {"MelWeightMatrix", {kIndices, kIndices, kIndices, kFloats}},
    {"Min", {kNumbers}},
    {"Mish", {kFloats}},
    {"MoE", {kFloats}},
    {"Mod", {kNumbers}},
    {"Mul", {kNumbers}},
    {"Neg", {kSigned}},
    {"MultiHeadAttention",
     {kFloats, kFloats, kFloats, kFloats, kIndices, kFloats, kFloats, kFloats, kIndices}},
    {"NegativeLogLikelihoodLoss", {kFloats, kIndices, kFloats}},
    {"NhwcConv", {kFloats}},
    {"NhwcFusedConv", {kFloats}},
    {"NhwcMaxPool", {kPooled}},
    {"NonMaxSuppression", {kF32, kF32, kI64, kF32, kF32}},
    {"Not", {kBool}},
    {"OneHot", {kPlain, kPlain, kAny}},
    {"Or", {kBool}},
    {"PRelu", {kWide}},
    {"Pad", {kEvery, kSizes, kEvery, kIndices}},
    {"ParametricSoftplus", {kFloats}},
    {"Pow", {kPowers, kNumbers}},
    {"QGemm", {kBytes, kF32, kBytes, kBytes, kF32, kBytes, kI32, kF32, kBytes}},
    {"QLinearAveragePool", {kBytes, kF32, kBytes, kF32, kBytes}},
    {"QLinearConv", {kBytes, kF32, kBytes, kBytes, kF32, kBytes, kF32, kBytes, kI32}},
    {"QLinearMatMul",
     {kCodes, kNarrowFloats, kCodes, kCodes, kNarrowFloats, kCodes, kNarrowFloats, kCodes}},
    {"QLinearReduceMean", {kBytes, kF32, kBytes, kF32, kBytes}},
    {"QLinearSoftmax", {kBytes, kF32, kBytes, kF32, kBytes}},
    {"QLinearWhere", {kBool, kBytes, kF32, kBytes, kBytes, kF32, kBytes, kF32, kBytes}},
    {"QuantizeLinear", {kQuantizable, kQuantizableScale, kQuantizedTo}},
    {"QuickGelu", {kFloats}},
    {"RMSNormalization", {kFloats}},
    {"RNN", {kFloats, kFloats, kFloats, kFloats, kI32, kFloats}},
    {"Range", {kCounted}},
    {"Reciprocal", {kFloats}},
    {"ReduceL1", {kWide, kSizes}},
    {"ReduceL2", {kWide, kSizes}},
    {"ReduceLogSum", {kWide, kSizes}},
    {"ReduceLogSum", {kFloats, kSizes}, 28},
    {"ReduceLogSumExp", {kWide, kSizes}},
    {"ReduceLogSumExp", {kFloats, kSizes}, 28},
    {"ReduceMax", {kOrdered, kSizes}},
    {"ReduceMean", {kWide, kSizes}},
    {"ReduceMin", {kOrdered, kSizes}},
    {"ReduceProd", {kWide, kSizes}},
    {"ReduceSum", {kWide, kSizes}},
    {"ReduceSumSquare", {kWide, kSizes}},
    {"Relu", {kSigned}},
    {"Reshape", {kEvery, kSizes}},
    {"Resize", {kAny, kReals, kF32, kSizes}},
    {"ReverseSequence", {kAny, kSizes}},
    {"RoiAlign", {kFloats, kFloats, kSizes}},
    {"RotaryEmbedding", {kNarrowFloats, kNarrowFloats, kNarrowFloats, kSizes}, 23},
    {"Round", {kFloats}},
    {"STFT", {kFloats, kIndices, kFloats, kIndices}},
    {"Scale", {kFloats}},
    {"ScaledTanh", {kFloats}},
    {"Scan", {kEvery}},
    {"Scatter", {kCopied, kIndices, kCopied}},
    {"ScatterElements", {kAny, kIndices, kAny}},
    {"ScatterND", {kAny, kSizes, kAny}},
    {"Selu", {kFloats}},
    {"Shape", {kEvery}},
    {"Shrink", {kShrinkable}},
    {"Sigmoid", {kFloats}},
    {"Sign", {kNumbers}},
    {"SimplifiedLayerNormalization", {kFloats}},
    {"Sin", {kFloats}},
    {"Sinh", {kFloats}},
    {"SkipGroupNorm", {kFloats}},
    {"SkipLayerNormalization", {kFloats}},
    {"SkipSimplifiedLayerNormalization", {kFloats}},
    {"Size", {kEvery}},
    {"Slice", {kAny, kIndices, kIndices, kIndices, kIndices}},
    {"Softmax", {kFloats}},
    {"SoftmaxCrossEntropyLoss", {kFloats, kIndices, kFloats}},
    {"Softplus", {kFloats}},
    {"Softsign", {kFloats}},
    {"Split", {kAny, kSizes}},
    {"SplitToSequence", {kAny, kIndices}},
    {"Sqrt", {kFloats}},
    {"Squeeze", {kEvery, kSizes}},
    {"Sub", {kNumbers}},
    {"Sum", {kFloats}},
    {"SwiGLU", {kFloats}},
    {"Swish", {kFloats}},
    {"Tan", {kFloats}},
    {"Tanh", {kFloats}},
    {"TensorScatter", {kScattered, kScattered, kSizes}},
    {"ThresholdedRelu", {kFloats}},
    {"Tile", {kAny, kSizes}},
    {"TopK", {kNumbers, kSizes}},
    {"Transpose", {kEvery}},
    {"Trilu", {kAny, kSizes}},
    {"Unique", {kAny}},
    {"Unsqueeze", {kEvery, kSizes}},
    {"Upsample", {kCopied, kF32}},
    {"Where", {kBool, kAny}},
    {"Xor", {kBool}},
};

Types typeOf(Type type) {
  if (type.isF16())
    return kF16;
  if (type.isF32())
    return kF32;
  if (type.isF64())
    return kF64;
  if (type.isBF16())
    return kBf16;
  if (isa<Float8E8M0FNUType>(type))
    return kScales;
  if (isa<FloatType>(type))
    return type.getIntOrFloatBitWidth() == 4 ? kFloat4 : kFloat8;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return kBool;
  case 2:
    return kInt2;
  case 4:
    return kInt4;
  case 8:
    return isUnsigned ? kU8 : kI8;
  case 16:
    return isUnsigned ? kU16 : kI16;
  case 32:
    return isUnsigned ? kU32 : kI32;
  default:
    return isUnsigned ? kU64 : kI64;
  }
}

using RowsOfOp = SmallVector<const TypeRow *, 2>; // the oldest first

llvm::StringMap<RowsOfOp> indexRows() {
  llvm::StringMap<RowsOfOp> index;
  for (const TypeRow &row : kRows)
    index[row.op].push_back(&row);
  return index;
}

/// Null where all types that are computed with are taken.
const TypeRow *findTypes(StringRef op, int64_t opset) {
  static const llvm::StringMap<RowsOfOp> kIndex = indexRows();
  const TypeRow *newest = nullptr;
  for (const TypeRow *row : kIndex.lookup(op))
    if (row->since <= opset)
      newest = row;
  return newest;
}

} // namespace

LogicalResult checkTypes(NodeReader &node) {
  const TypeRow *row = findTypes(node.opType(), node.opset());
  for (size_t index = 0; index < node.inputCount(); ++index) {
    Value input = node.input(index);
    Types allowed = row ? row->inputs[std::min(index, row->inputs.size() - 1)] : kAny;
    if (!input || (allowed & typeOf(tensorType(input).getElementType())))
      continue;
    return node.error() << "is not defined for an input " << index << " of type "
                        << typeName(tensorType(input).getElementType()) << ": "
                        << node.describe(index);
  }
  return success();
}

} // namespace smelt::frontend
