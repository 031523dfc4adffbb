#include "passes/fuse/kernel_size.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// Kernels of more sums gain nothing over two, and take their compiler ever longer.
constexpr size_t kMostLength = 256;
/// Of one position; where it is longer, a tensor in memory is read instead.
constexpr size_t kMostIndexAtoms = 24;
constexpr size_t kLengthOfInput = 4; ///< a pointer, its address and load
constexpr size_t kLengthOfConcat = 8, kLengthOfPiece = 4;
constexpr size_t kLengthOfGather = 16; ///< which others wait for

/// In sums, by the time that NVRTC takes for float32.
size_t lengthOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, size_t>(op)
      .Case<SinOp, CosOp, TanOp, PowOp, ModOp>([](auto) { return 32; })
      .Case<ErfOp, LogOp, SoftplusOp, GeluOp, AsinOp, AcosOp, AtanOp, SinhOp, CoshOp, AsinhOp,
            AcoshOp, AtanhOp>([](auto) { return 16; })
      .Case<ExpOp, SigmoidOp, SiluOp, TanhOp, SqrtOp, RsqrtOp, ReciprocalOp, DivOp>(
          [](auto) { return 8; })
      .Case<GatherOp, GatherElementsOp, GatherNdOp>([](auto) { return kLengthOfGather; })
      .Case([](ConcatOp concat) {
        return kLengthOfConcat + kLengthOfPiece * concat.getInputs().size();
      })
      .Case<ConstantOp, IotaOp, DimsOp>([](auto) { return 0; })
      .Default([](Operation *) { return 1; });
}

/// Symbols and numbers of divisions in `dim`, counted up to a little above `most`.
size_t countAtoms(Dim dim, size_t most) {
  size_t count = 0;
  for (const Dim::Term &term : dim.getTerms())
    for (Attribute atom : term.atoms) {
      if (++count > most)
        return count;
      auto call = dyn_cast<DimCallAttr>(atom);
      if (!call)
        continue;
      count += countAtoms(Dim(cast<DimAttr>(call.getLhs())), most - count);
      if (count <= most)
        count += countAtoms(Dim(cast<DimAttr>(call.getRhs())), most - count);
      if (count > most)
        return count;
    }
  return count;
}

size_t countAtoms(ArrayRef<Dim> index, size_t most) {
  size_t count = 0;
  for (Dim dim : index)
    if (count <= most)
      count += countAtoms(dim, most - count);
  return count;
}

/// Index arithmetic beyond one coordinate an axis.
size_t lengthOf(ArrayRef<Dim> index) {
  size_t atoms = countAtoms(index, kMostIndexAtoms);
  return atoms > index.size() ? atoms - index.size() : 0;
}

} // namespace

Index KernelSize::freshPosition(TensorType type) {
  Index index;
  MLIRContext *context = type.getContext();
  for (Dim size : type.getShape()) {
    std::string name = "#" + std::to_string(bounds.size());
    index.push_back(size.isConstant(1) ? Dim::constant(context, 0) : Dim::symbol(context, name));
    if (!size.isConstant(1))
      bounds[name] = size;
  }
  return index;
}

/// Where the operand is read for `position` of the reader's result.
Index KernelSize::readPosition(OpOperand &use, ArrayRef<Dim> position) {
  Operation *reader = use.getOwner();
  if (reader->hasTrait<View>())
    return operandIndex(reader, position, bounds);
  if (reader->hasTrait<Elementwise>())
    return broadcastIndex(position, tensorType(use.get()));
  return freshPosition(tensorType(use.get()));
}

const KernelSize::Positions &KernelSize::readPositions(OpOperand &use, const Positions &reader) {
  Read &read = reads[&use];
  if (read.reader != reader) {
    read.reader = reader;
    read.operand.clear();
    for (const Index &position : reader)
      read.operand.push_back(readPosition(use, position));
  }
  return read.operand;
}

KernelSize::Positions KernelSize::positionsOf(Operation *op, ArrayRef<OpOperand *> uses) {
  Positions all;
  for (OpOperand *use : uses)
    if (auto reader = positions.find(use->getOwner()); reader != positions.end())
      for (const Index &read : readPositions(*use, reader->second))
        if (!llvm::is_contained(all, read))
          all.push_back(read);
  if (all.empty())
    all.push_back(freshPosition(tensorType(op->getResult(0))));
  return all;
}

static size_t lengthAt(Operation *op, ArrayRef<Index> positions) {
  size_t length = 0;
  for (const Index &position : positions)
    length += lengthOf(op) + (op->hasTrait<View>() ? lengthOf(position) : 0);
  return length;
}

void KernelSize::add(Operation *op, ArrayRef<OpOperand *> uses) {
  Positions &own = positions[op] = positionsOf(op, uses);
  length += lengthAt(op, own);
}

void KernelSize::removeLast(Operation *op) {
  length -= lengthAt(op, positions[op]);
  positions.erase(op);
}

bool KernelSize::fits(Operation *op, ArrayRef<OpOperand *> uses, size_t inputs) {
  if (isa<ConstantOp>(op))
    return true;
  Positions own = positionsOf(op, uses);
  if (length + lengthAt(op, own) + kLengthOfInput * inputs > kMostLength)
    return false;
  if (!op->hasTrait<View>())
    return true;
  return llvm::all_of(readPositions(op->getOpOperand(0), own), [](ArrayRef<Dim> read) {
    return countAtoms(read, kMostIndexAtoms) <= kMostIndexAtoms;
  });
}

} // namespace smelt::passes
