#include "codegen/kernels/gemm/gemm_operands.h"

#include "ir/element_bytes.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

/// Of a left operand that is no matrix, where the target has a template that could take them.
WindowsOrReason windowsOf(const GemmProduct &product, const Target &target) {
  int64_t bytes = elementBytes(product.lhs.getElementType());
  if (!target.instructions.tensorMaps || bytes > 2)
    return {};
  WindowsOrReason windows = describeWindows(product, kWgmmaStepBytes);
  if (!opensWindows(product)) // not worth a word
    windows.reason.clear();
  return windows;
}

/// Boxes of `boxRows` rows of 128 bytes.
TensorMap mapOf(const OperandAddress &operand, const MatrixLayout &matrix, Type element,
                int boxRows) {
  int64_t bytes = elementBytes(element);
  TensorMap map;
  map.buffer = {LaunchBuffer::input, operand.input, {}};
  if (!matrix.offset.isConstant(0))
    map.buffer.offset = matrix.offset * bytes;
  map.elementType = element;
  map.sizes = {matrix.columns, matrix.rows};
  map.byteStrides = {matrix.rowStride * bytes};
  map.box = {static_cast<unsigned>(kWgmmaStepBytes / bytes), static_cast<unsigned>(boxRows)};
  map.swizzle = plan::Swizzle::bytes_128;
  map.l2Promotion = plan::L2Promotion::bytes_256;
  return map;
}

} // namespace

FailureOr<GemmOperands> gemmOperands(GemmProduct &product, const Target &target) {
  FailureOr<OperandAddress> left = product.left(), right = product.right();
  if (failed(left) || failed(right))
    return failure();
  GemmOperands operands = {
      *left, *right, product.leftMatrix(*left), product.rightMatrix(*right), {}};
  if (!operands.matrixA)
    operands.windows = windowsOf(product, target);
  return operands;
}

TensorMap mapOfLeft(const GemmProduct &product, const GemmOperands &operands,
                    const GemmChoice &choice) {
  Type element = product.lhs.getElementType();
  if (const std::optional<WindowLayout> &windows = operands.windows.windows)
    return mapOf(*windows, operands.a.input, element, choice.blockM);
  return mapOf(operands.a, *operands.matrixA, element, choice.blockM);
}

TensorMap mapOfRight(const GemmProduct &product, const GemmOperands &operands,
                     const GemmChoice &choice) {
  Type element = product.lhs.getElementType();
  const OperandAddress &b = operands.b;
  if (b.isTransposed())
    return mapOf(b, *operands.matrixB, element, choice.blockN);
  TensorMap map = mapOf(b, *operands.matrixB, element, choice.blockK);
  int columns = panelColumns(choice.blockN);
  map.box[0] = static_cast<unsigned>(columns);
  if (columns == 32)
    map.swizzle = plan::Swizzle::bytes_64;
  return map;
}

} // namespace smelt::codegen
