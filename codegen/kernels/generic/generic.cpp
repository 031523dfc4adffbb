#include "codegen/kernels/generic/generic.h"

#include "codegen/emit_expression.h"
#include "codegen/printer.h"
#include "ir/element_bytes.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr unsigned kThreads = 128;
constexpr int64_t kMaxBlocks = 1 << 16;

constexpr char kText[] = R"(
#include "kernels/generic/generic.cuh"

namespace smelt {
struct Problem {
  $members$

  __device__ int count() const { return $count$; }
  __device__ __forceinline__ void run(int e) const {
    $body$
  }
};
} // namespace smelt

extern "C" __global__ void __launch_bounds__($threads$) $entry$($parameters$) {
  smelt::generic(smelt::Problem{$arguments$});
}
)";

/// The one op of the region that computes something.
Operation *onlyOp(FusionOp fusion) {
  return &*llvm::find_if(fusion.getBlock(), [](Operation &op) { return !isa<ConstantOp>(op); });
}

} // namespace

GenericText::GenericText(FusionOp fusion) : fusion(fusion), dims(bounds) {}

std::string GenericText::sumType() const {
  Type type = tensorType(FusionOp(fusion).getOutputs()[0]).getElementType();
  if (isa<FloatType>(type))
    return type.isF64() ? "double" : "float";
  return type.isUnsignedInteger() ? "uint64_t" : "int64_t";
}

void GenericText::line(const Twine &text) {
  body.append(size_t{2} * depth, ' ').append(text.str()).append("\n");
}

void GenericText::open(StringRef name, Dim extent) {
  line("for (int " + name + " = 0; " + name + " < " + size(extent) + "; ++" + name + ") {");
  ++depth;
}

void GenericText::close() {
  --depth;
  line("}");
}

std::string GenericText::offset(ArrayRef<std::string> position, ArrayRef<Dim> shape) {
  std::string text;
  for (auto [coordinate, extent] : llvm::zip(position, shape)) {
    std::string part = extent.isConstant(1) ? "0" : "(" + coordinate + ")";
    text = text.empty() ? part
                        : ("(" + Twine(text) + " * (" + size(extent) + ") + " + part + ")").str();
  }
  return text.empty() ? "0" : text;
}

std::string GenericText::read(Value operand, ArrayRef<std::string> position) {
  return readAs(sumType(), operand, position);
}

std::string GenericText::readAs(StringRef computeAs, Value operand,
                                ArrayRef<std::string> position) {
  TensorType type = tensorType(operand);
  if (auto constant = operand.getDefiningOp<ConstantOp>())
    return literal(cast<DenseElementsAttr>(constant.getValue()).getSplatValue<Attribute>(),
                   type.getElementType());
  unsigned input = cast<BlockArgument>(operand).getArgNumber();
  return ("read<" + computeAs + ">(" + inputName(input) + " + ").str() +
         offset(position, type.getShape()) + ")";
}

SmallVector<std::string> GenericText::unravel(StringRef prefix, ArrayRef<Dim> shape) {
  SmallVector<std::string> names(shape.size());
  line("int " + prefix + "rest = e;");
  for (size_t axis = shape.size(); axis-- > 0;) {
    names[axis] = (prefix + Twine(axis)).str();
    line("int " + names[axis] + " = " + prefix + "rest % (" + size(shape[axis]) + ");");
    line(prefix + "rest /= " + size(shape[axis]) + ";");
  }
  return names;
}

/// Writes the work of the op and says how many threads share it.
static FailureOr<Dim> writeOp(Operation *op, GenericText &text) {
  if (isa<ConvOp, MatmulOp, AttentionOp>(op))
    return writeContraction(op, text);
  if (isa<ScatterElementsOp, ScatterNdOp>(op))
    return writeScatter(op, text);
  return writeReduction(op, text);
}

/// The data of a scatter become its result first.
static std::optional<MemoryCopy> copyBefore(Operation *op) {
  if (!isa<ScatterElementsOp, ScatterNdOp>(op))
    return std::nullopt;
  TensorType type = tensorType(op->getResult(0));
  unsigned data = cast<BlockArgument>(op->getOperand(0)).getArgNumber();
  return MemoryCopy{{LaunchBuffer::output, 0},
                    {LaunchBuffer::input, data},
                    type.getNumElements() * elementBytes(type.getElementType())};
}

FailureOr<KernelVariant> emitGeneric(FusionOp fusion) {
  Operation *op = onlyOp(fusion);
  GenericText text(fusion);
  FailureOr<Dim> count = writeOp(op, text);
  if (failed(count))
    return failure();
  std::string countText = text.size(*count);
  const std::set<std::string> &used = text.dims.sizes();
  std::vector<std::string> sizes(used.begin(), used.end());
  std::string kernelText = format(kText, {{"members", problemMembers(fusion, sizes)},
                                          {"count", countText},
                                          {"body", text.body},
                                          {"threads", std::to_string(kThreads)},
                                          {"entry", kEntryName},
                                          {"parameters", entryParameters(fusion, sizes)},
                                          {"arguments", entryArguments(fusion, sizes)}});
  GeneratedKernel kernel;
  MLIRContext *context = fusion.getContext();
  Dim one = Dim::constant(context, 1);
  kernel.grid = {
      count->ceilDiv(Dim::constant(context, kThreads)).min(Dim::constant(context, kMaxBlocks)), one,
      one};
  kernel.block = {kThreads, 1, 1};
  finishKernel(kernel, fusion, std::move(kernelText), "", used);
  kernel.text.maySpill = true;
  KernelVariant variant;
  if (std::optional<MemoryCopy> copy = copyBefore(op))
    variant.launches.push_back(*copy);
  variant.launches.push_back(std::move(kernel));
  return variant;
}

} // namespace smelt::codegen
