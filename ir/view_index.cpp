#include "ir/view_index.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt {

Dim linearize(ArrayRef<Dim> index, ArrayRef<Dim> shape, MLIRContext *context) {
  Dim offset = Dim::constant(context, 0);
  for (auto [position, size] : llvm::zip_equal(index, shape))
    offset = offset * size + position;
  return offset;
}

Index delinearize(Dim offset, ArrayRef<Dim> shape, const Bounds &bounds) {
  Index index(shape.size(), Dim::constant(offset.getContext(), 0));
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis].isConstant(1))
      continue;
    bool outermost =
        llvm::all_of(shape.take_front(axis), [](Dim dim) { return dim.isConstant(1); });
    if (outermost) {
      index[axis] = offset;
      break;
    }
    std::tie(offset, index[axis]) = offset.divide(shape[axis], bounds);
  }
  return index;
}

Index broadcastIndex(ArrayRef<Dim> index, TensorType operand) {
  Index result(index.take_back(operand.getRank()));
  for (auto [axis, position] : llvm::enumerate(result))
    if (operand.getDim(axis).isConstant(1))
      position = Dim::constant(operand.getContext(), 0);
  return result;
}

Index reshapeIndex(ArrayRef<Dim> index, ArrayRef<Dim> from, ArrayRef<Dim> to,
                   const Bounds &bounds) {
  if (to.empty())
    return {};
  Index result;
  MLIRContext *context = to.front().getContext();
  for (size_t i = 0, j = 0; i < from.size() || j < to.size();) {
    size_t firstFrom = i, firstTo = j;
    Dim fromSize = Dim::constant(context, 1), toSize = fromSize;
    do {
      // The side with fewer elements grows; either, where that cannot be told.
      bool growFrom = i < from.size() && (j == to.size() || toSize.exactDiv(fromSize).has_value());
      Dim &size = growFrom ? fromSize : toSize;
      size = size * (growFrom ? from[i++] : to[j++]);
    } while (fromSize != toSize && (i < from.size() || j < to.size()));
    ArrayRef<Dim> group = to.slice(firstTo, j - firstTo);
    if (i == firstFrom)
      result.append(group.size(), Dim::constant(context, 0));
    else if (!group.empty())
      llvm::append_range(result,
                         delinearize(linearize(index.slice(firstFrom, i - firstFrom),
                                               from.slice(firstFrom, i - firstFrom), context),
                                     group, bounds));
  }
  return result;
}

Index operandIndex(Operation *view, ArrayRef<Dim> index, const Bounds &bounds) {
  TensorType operand = tensorType(view->getOperand(0));
  return llvm::TypeSwitch<Operation *, Index>(view)
      .Case([&](ReshapeOp reshape) {
        return reshapeIndex(index, tensorType(reshape.getOutput()).getShape(), operand.getShape(),
                            bounds);
      })
      .Case([&](ExpandOp) { return broadcastIndex(index, operand); })
      .Case([&](TransposeOp transpose) {
        Index result(index.size());
        for (auto [axis, source] : llvm::enumerate(transpose.getPermutation()))
          result[source] = index[axis];
        return result;
      })
      .Case([&](SliceOp slice) {
        Index result;
        for (auto [position, start, step] :
             llvm::zip_equal(index, slice.getStarts(), slice.getSteps()))
          result.push_back(Dim(cast<DimAttr>(start)) + position * step);
        return result;
      })
      .Case([&](WindowsOp windows) {
        size_t axis = windows.getAxis();
        Index result(index);
        result.erase(result.begin() + axis + 1);
        result[axis] = index[axis] * static_cast<int64_t>(windows.getStride()) +
                       index[axis + 1] * static_cast<int64_t>(windows.getDilation());
        return result;
      });
}

std::optional<Index> resultIndex(Operation *view, ArrayRef<Dim> index, const Bounds &bounds) {
  if (auto reshape = dyn_cast<ReshapeOp>(view))
    return reshapeIndex(index, tensorType(reshape.getInput()).getShape(),
                        tensorType(reshape.getOutput()).getShape(), bounds);
  auto transpose = dyn_cast<TransposeOp>(view);
  if (!transpose)
    return std::nullopt;
  return llvm::map_to_vector(transpose.getPermutation(), [&](int64_t axis) { return index[axis]; });
}

bool dependsOn(Dim dim, StringRef symbol) {
  bool found = false;
  dim.forEachSymbol([&](StringRef name) { found |= name == symbol; });
  return found;
}

std::optional<Dim> linearFactor(Dim dim, StringRef symbol) {
  MLIRContext *context = dim.getContext();
  SmallVector<Dim::Term> factor;
  for (Dim::Term &term : dim.getTerms()) {
    auto *atom = llvm::find_if(term.atoms, [&](Attribute atom) {
      auto name = dyn_cast<StringAttr>(atom);
      return name && name.getValue() == symbol;
    });
    bool isLinear = atom != term.atoms.end();
    if (isLinear)
      term.atoms.erase(atom);
    if (dependsOn(Dim::fromTerms(context, {term}), symbol))
      return std::nullopt;
    if (isLinear)
      factor.push_back(term);
  }
  return Dim::fromTerms(context, factor);
}

} // namespace smelt
