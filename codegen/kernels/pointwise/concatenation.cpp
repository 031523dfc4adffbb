// Cuts concatenations of many tensors into kernels that each write a part of the result.
//
// Problem: one kernel that chooses from N inputs compares each position with N ends, takes N
// pointers, and costs its compiler more than N times one. Method: every kInputs neighbours along the
// axis are a fusion of their own, whose result is a slice of the whole in memory; parts of equal
// shapes have equal text, which is compiled once. Assumes: the concatenation is the fusion's only
// result (passes/fuse keeps it so). Cost: one launch for every kInputs inputs; nothing is moved
// twice.
#include "codegen/kernels/pointwise/concatenation.h"

#include "codegen/kernels/pointwise/pointwise.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr size_t kInputs = 16; // of one kernel

ConcatOp concatenationOf(FusionOp fusion) {
  Operation *yield = fusion.getYield();
  return yield->getNumOperands() == 1 ? yield->getOperand(0).getDefiningOp<ConcatOp>() : ConcatOp();
}

/// What `values` depend on inside the region, in its order.
SmallVector<Operation *> opsBehind(ValueRange values) {
  llvm::SetVector<Operation *> found;
  SmallVector<Value> pending(values);
  while (!pending.empty())
    if (Operation *op = pending.pop_back_val().getDefiningOp(); op && found.insert(op))
      llvm::append_range(pending, op->getOperands());
  SmallVector<Operation *> ordered(found.begin(), found.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

/// Inputs of a concatenation that one kernel writes.
struct Part {
  OwningOpRef<FusionOp> fusion;
  SmallVector<unsigned> inputs; ///< number in the whole fusion of each of the part's inputs
};

Part partOf(FusionOp whole, ConcatOp concat, ValueRange joined, Dim extent) {
  Part part;
  OpBuilder builder(whole.getContext());
  SmallVector<Operation *> behind = opsBehind(joined);
  llvm::SetVector<BlockArgument> arguments;
  auto note = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      arguments.insert(argument);
  };
  llvm::for_each(joined, note);
  for (Operation *op : behind)
    llvm::for_each(op->getOperands(), note);
  SmallVector<Value> inputs;
  for (BlockArgument argument : arguments) {
    part.inputs.push_back(argument.getArgNumber());
    inputs.push_back(whole.getInputs()[argument.getArgNumber()]);
  }
  SmallVector<Dim> shape = tensorType(concat.getOutput()).getShape();
  shape[concat.getAxis()] = extent;
  Type type = tensorType(concat.getOutput()).withShape(shape);
  part.fusion = FusionOp::create(builder, whole.getLoc(), TypeRange{type}, FusionKind::pointwise,
                                 ValueRange(inputs));
  Block &block = part.fusion->getBody().emplaceBlock();
  IRMapping mapping;
  for (BlockArgument argument : arguments)
    mapping.map(argument, block.addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToEnd(&block);
  for (Operation *op : behind)
    builder.clone(*op, mapping);
  SmallVector<Value> values =
      llvm::map_to_vector(joined, [&](Value value) { return mapping.lookup(value); });
  Value result = ConcatOp::create(builder, concat.getLoc(), type, values, concat.getAxis());
  YieldOp::create(builder, whole.getLoc(), result);
  return part;
}

/// The part's arguments as those of the whole fusion; its result begins at byte `offset`.
void renumber(GeneratedKernel &kernel, const Part &part, Dim offset) {
  for (KernelArgument &argument : kernel.arguments) {
    auto *pointer = std::get_if<KernelArgument::Pointer>(&argument.held);
    if (!pointer)
      continue;
    if (pointer->buffer.kind == LaunchBuffer::input)
      pointer->buffer.index = part.inputs[pointer->buffer.index];
    else
      pointer->buffer.offset = offset;
  }
}

} // namespace

bool isConcatenationOfMany(FusionOp fusion) {
  ConcatOp concat = concatenationOf(fusion);
  return concat && concat.getInputs().size() > kInputs;
}

FailureOr<std::vector<KernelVariant>> emitConcatenation(FusionOp fusion) {
  ConcatOp concat = concatenationOf(fusion);
  TensorType type = tensorType(concat.getOutput());
  SmallVector<Dim> shape = type.getShape();
  size_t axis = concat.getAxis();
  Dim start = Dim::constant(fusion.getContext(), 0), inner = Dim::constant(fusion.getContext(), 1);
  for (Dim extent : ArrayRef(shape).drop_front(axis + 1))
    inner = inner * extent;
  KernelVariant variant;
  ValueRange inputs = concat.getInputs();
  for (size_t first = 0; first < inputs.size(); first += kInputs) {
    ValueRange joined = inputs.slice(first, std::min(kInputs, inputs.size() - first));
    Dim extent = Dim::constant(fusion.getContext(), 0);
    for (Value value : joined)
      extent = extent + tensorType(value).getDim(axis);
    Part part = partOf(fusion, concat, joined, extent);
    FailureOr<GeneratedKernel> kernel = emitPointwise(*part.fusion, {{shape, start * inner}});
    if (failed(kernel))
      return failure();
    renumber(*kernel, part, start * inner * elementBytes(type.getElementType()));
    variant.launches.push_back(std::move(*kernel));
    start = start + extent;
  }
  return std::vector{std::move(variant)};
}

} // namespace smelt::codegen
