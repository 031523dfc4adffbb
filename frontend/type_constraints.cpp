#include "frontend/type_constraints.h"

#include "frontend/element_type.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

// Sets of element types, of those that Smelt has.
enum Types : uint16_t {
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
  kSizes = kI64,
  kIndices = kI32 | kI64,
  kBytes = kI8 | kU8,
  kShort = kBytes | kI16,
  kQuantized = kShort | kI32,
  kNarrowFloats = kF16 | kF32 | kBf16,
  kQuantizable = kNarrowFloats | kI32,
  kFloats = kF16 | kF32 | kF64 | kBf16,
  kPowers = kFloats | kI32 | kI64,
  kWide = kFloats | kI32 | kI64,
  kSigned = kFloats | kI8 | kI16 | kI32 | kI64,
  kNumbers = kSigned | kU8,
  kOrdered = kFloats | kBool | kI8 | kU8 | kI32 | kI64,
  kCounted = kF32 | kF64 | kI16 | kI32 | kI64,
  kAny = kNumbers | kBool,
  kReals = kF16 | kF32 | kF64,
  kPlain = kReals | kShort | kI32 | kI64,
  kCopied = kPlain | kBool,
};

struct TypeRow {
  StringLiteral op;
  /// Of each input; the last set holds for all inputs after it.
  SmallVector<Types, 4> inputs;
};

/// Ops that are not listed take all types.
const TypeRow kRows[] = {
    {"Abs", {kNumbers}},
    {"Add", {kNumbers}},
    {"AffineGrid", {kFloats, kSizes}},
    {"And", {kBool}},
    {"Attention", {kFloats, kFloats, kFloats, kAny, kFloats, kFloats, kSizes}},
    {"BiasGelu", {kFloats}},
    {"Ceil", {kFloats}},
    {"CenterCropPad", {kAny, kIndices}},
    {"Clip", {kNumbers}},
    {"Col2Im", {kAny, kSizes}},
    {"ConstantOfShape", {kSizes}},
    {"Conv", {kFloats}},
    {"ConvTranspose", {kFloats}},
    {"Cos", {kFloats}},
    {"CumSum", {kWide, kIndices}},
    {"DequantizeLinear", {kQuantized, kNarrowFloats, kQuantized}},
    {"Div", {kNumbers}},
    {"Dropout", {kFloats, kFloats, kBool}},
    {"DynamicQuantizeLinear", {kF32}},
    {"Einsum", {kNumbers}},
    {"Erf", {kFloats}},
    {"Exp", {kFloats}},
    {"Expand", {kAny, kSizes}},
    {"FastGelu", {kFloats}},
    {"Floor", {kFloats}},
    {"Gather", {kAny, kIndices}},
    {"GatherElements", {kAny, kIndices}},
    {"GatherND", {kAny, kSizes}},
    {"Gelu", {kFloats}},
    {"Gemm", {kWide}},
    {"Greater", {kNumbers}},
    {"GreaterOrEqual", {kNumbers}},
    {"GridSample", {kAny, kFloats}},
    {"IsInf", {kFloats}},
    {"IsNaN", {kFloats}},
    {"LayerNormalization", {kFloats}},
    {"Less", {kNumbers}},
    {"LessOrEqual", {kNumbers}},
    {"Log", {kFloats}},
    {"LogSoftmax", {kFloats}},
    {"MatMul", {kWide}},
    {"MatMulInteger", {kBytes}},
    {"Max", {kNumbers}},
    {"Mean", {kFloats}},
    {"Min", {kNumbers}},
    {"Mod", {kNumbers}},
    {"Mul", {kNumbers}},
    {"Neg", {kSigned}},
    {"Not", {kBool}},
    {"OneHot", {kPlain, kPlain, kAny}},
    {"Or", {kBool}},
    {"Pad", {kAny, kSizes, kAny, kIndices}},
    {"Pow", {kPowers, kNumbers}},
    {"QLinearMatMul",
     {kBytes, kNarrowFloats, kBytes, kBytes, kNarrowFloats, kBytes, kNarrowFloats, kBytes}},
    {"QuantizeLinear", {kQuantizable, kQuantizable, kShort}},
    {"QuickGelu", {kFloats}},
    {"RMSNormalization", {kFloats}},
    {"Range", {kCounted}},
    {"Reciprocal", {kFloats}},
    {"ReduceL1", {kWide, kSizes}},
    {"ReduceL2", {kWide, kSizes}},
    {"ReduceLogSum", {kWide, kSizes}},
    {"ReduceLogSumExp", {kWide, kSizes}},
    {"ReduceMax", {kOrdered, kSizes}},
    {"ReduceMean", {kWide, kSizes}},
    {"ReduceMin", {kOrdered, kSizes}},
    {"ReduceProd", {kWide, kSizes}},
    {"ReduceSum", {kWide, kSizes}},
    {"ReduceSumSquare", {kWide, kSizes}},
    {"Relu", {kSigned}},
    {"Reshape", {kAny, kSizes}},
    {"Resize", {kAny, kReals, kF32, kSizes}},
    {"ReverseSequence", {kAny, kSizes}},
    {"Round", {kFloats}},
    {"Sigmoid", {kFloats}},
    {"Sign", {kNumbers}},
    {"Sin", {kFloats}},
    {"Slice", {kAny, kIndices, kIndices, kIndices, kIndices}},
    {"Softmax", {kFloats}},
    {"Softplus", {kFloats}},
    {"Split", {kAny, kSizes}},
    {"Sqrt", {kFloats}},
    {"Squeeze", {kAny, kSizes}},
    {"Sub", {kNumbers}},
    {"Sum", {kFloats}},
    {"Swish", {kFloats}},
    {"Tanh", {kFloats}},
    {"Tile", {kAny, kSizes}},
    {"TopK", {kNumbers, kSizes}},
    {"Trilu", {kAny, kSizes}},
    {"Unsqueeze", {kAny, kSizes}},
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
  if (type.isInteger(1))
    return kBool;
  if (type.isInteger(8))
    return type.isUnsignedInteger() ? kU8 : kI8;
  if (type.isInteger(16))
    return kI16;
  return type.isInteger(32) ? kI32 : kI64;
}

llvm::StringMap<const TypeRow *> indexRows() {
  llvm::StringMap<const TypeRow *> index;
  for (const TypeRow &row : kRows)
    index[row.op] = &row;
  return index;
}

} // namespace

LogicalResult checkTypes(NodeReader &node) {
  static const llvm::StringMap<const TypeRow *> kIndex = indexRows();
  const TypeRow *row = kIndex.lookup(node.opType());
  for (size_t index = 0; row && index < node.inputCount(); ++index) {
    Value input = node.input(index);
    Types allowed = row->inputs[std::min(index, row->inputs.size() - 1)];
    if (!input || (allowed & typeOf(tensorType(input).getElementType())))
      continue;
    return node.error() << "is not defined for an input " << index << " of type "
                        << typeName(tensorType(input).getElementType()) << ": "
                        << node.describe(index);
  }
  return success();
}

} // namespace smelt::frontend
