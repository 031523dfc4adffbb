// Plain loops of scatters, behind a copy of the data to the result. Updates of one element follow
// each other in one thread, so that the result is the same in every run: of scatter_elements one
// thread walks a line along the axis, of scatter_nd one thread walks all updates of one element of a
// slice. An invalid index updates nothing.
#include "codegen/cuda_text.h"
#include "codegen/kernels/generic/generic.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

/// "target = old + update" for the element at `position` of the result.
void writeUpdate(std::optional<ReductionKind> kind, const std::string &update, Value result,
                 ArrayRef<std::string> position, GenericText &text) {
  std::string sum = text.sumType(),
              place = "out0 + " + text.offset(position, tensorType(result).getShape());
  text.line(sum + " value = " + update + ";");
  if (kind) {
    text.line(sum + " old = read<" + sum + ">(" + place + ");");
    StringRef combined = *kind == ReductionKind::sum    ? "old + value"
                         : *kind == ReductionKind::prod ? "old * value"
                         : *kind == ReductionKind::max  ? "old > value || old != old ? old : value"
                                                        : "old < value || old != old ? old : value";
    text.line("value = " + combined + ";");
  }
  text.line("write(" + place + ", value);");
}

/// Defines `name`, an index read from `indices` and counted from the start of an axis; goes on to the
/// next update where it is invalid.
void writeIndex(const std::string &name, const std::string &index, Dim size, GenericText &text) {
  text.line("int64_t wide" + name + " = " + index + ";");
  text.line("wide" + name + " += wide" + name + " < 0 ? " + text.size(size) + " : 0;");
  text.line("if (wide" + name + " < 0 || wide" + name + " >= " + text.size(size) + ") continue;");
  text.line("int " + name + " = int(wide" + name + ");");
}

Dim writeScatterElements(ScatterElementsOp op, GenericText &text) {
  SmallVector<Dim> lines = tensorType(op.getIndices()).getShape();
  size_t axis = op.getAxis();
  Dim length = lines[axis];
  lines[axis] = Dim::constant(op.getContext(), 1);
  SmallVector<std::string> at = text.unravel("o", lines);
  text.open("i", length);
  at[axis] = "i";
  std::string update = text.read(op.getUpdates(), at);
  writeIndex("target", text.readAs("int64_t", op.getIndices(), at),
             tensorType(op.getData()).getDim(axis), text);
  at[axis] = "target";
  writeUpdate(op.getReduction(), update, op.getOutput(), at, text);
  text.close();
  return product(lines, op.getContext());
}

Dim writeScatterNd(ScatterNdOp op, GenericText &text) {
  TensorType indices = tensorType(op.getIndices()), data = tensorType(op.getData());
  int64_t width = *indices.getDim(indices.getRank() - 1).asConstant();
  SmallVector<Dim> slice(ArrayRef(data.getShape()).drop_front(width));
  SmallVector<std::string> inSlice = text.unravel("s", slice), tuple;
  for (unsigned axis = 0; axis + 1 < indices.getRank(); ++axis) {
    tuple.push_back("t" + std::to_string(axis));
    text.open(tuple.back(), indices.getDim(axis));
  }
  text.open("once", Dim::constant(op.getContext(), 1)); // which an invalid index leaves
  SmallVector<std::string> target, source(tuple);
  for (int64_t k = 0; k < width; ++k) {
    SmallVector<std::string> at(tuple);
    at.push_back(std::to_string(k));
    target.push_back("target" + std::to_string(k));
    writeIndex(target.back(), text.readAs("int64_t", op.getIndices(), at), data.getDim(k), text);
  }
  llvm::append_range(target, inSlice);
  llvm::append_range(source, inSlice);
  writeUpdate(op.getReduction(), text.read(op.getUpdates(), source), op.getOutput(), target, text);
  for (size_t opened = 0; opened < tuple.size() + 1; ++opened)
    text.close();
  return product(slice, op.getContext());
}

} // namespace

FailureOr<Dim> writeScatter(Operation *op, GenericText &text) {
  if (auto elements = dyn_cast<ScatterElementsOp>(op))
    return writeScatterElements(elements, text);
  return writeScatterNd(cast<ScatterNdOp>(op), text);
}

} // namespace smelt::codegen
