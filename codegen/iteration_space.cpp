#include "codegen/iteration_space.h"

#include "ir/capabilities.h"

using namespace mlir;

namespace smelt::codegen {

Index IterationSpace::addFlat(MLIRContext *context, StringRef name, ArrayRef<Dim> axes) {
  Flat flat{"%" + name.str(), {}};
  Index index(axes.size(), Dim::constant(context, 0));
  Dim total = Dim::constant(context, 1);
  size_t count = llvm::count_if(axes, [](Dim dim) { return !dim.isConstant(1); });
  for (auto [axis, extent] : llvm::enumerate(axes)) {
    total = total * extent;
    if (extent.isConstant(1))
      continue;
    std::string symbol = count == 1 ? flat.symbol : flat.symbol + std::to_string(axis);
    flat.parts.push_back({symbol, extent});
    bounds[symbol] = extent;
    index[axis] = Dim::symbol(context, symbol);
  }
  bounds[flat.symbol] = total;
  flats.push_back(std::move(flat));
  return index;
}

Dim IterationSpace::add(StringRef name, Dim extent) {
  MLIRContext *context = extent.getContext();
  std::string symbol = "%" + name.str();
  bounds[symbol] = extent;
  return extent.isConstant(1) ? Dim::constant(context, 0) : Dim::symbol(context, symbol);
}

Lanes IterationSpace::lanesAlong(StringRef name, int64_t width) const {
  Lanes lanes{{}, width, {}};
  std::string symbol = "%" + name.str();
  lanes.symbols.insert(symbol);
  const Flat *flat = llvm::find_if(flats, [&](const Flat &f) { return f.symbol == symbol; });
  if (flat->parts.size() < 2 || width == 1)
    return lanes;
  const Part &innermost = flat->parts.back();
  if (knownDivisor(innermost.extent, lanes) % width == 0)
    lanes.symbols.insert(innermost.symbol);
  else
    for (const Part &part : flat->parts)
      lanes.irregular.insert(part.symbol);
  return lanes;
}

Dim IterationSpace::collapse(Dim offset) const {
  for (const Flat &flat : flats)
    if (flat.parts.size() > 1)
      offset = collapse(offset, flat);
  return offset;
}

Dim IterationSpace::collapse(Dim offset, const Flat &flat) const {
  // All parts give the flat coordinate; the outer ones give it divided by the inner extents.
  MLIRContext *context = offset.getContext();
  Dim inner = Dim::constant(context, 1);
  for (size_t count = flat.parts.size(); count > 1; --count) {
    ArrayRef<Part> outer = ArrayRef(flat.parts).take_front(count);
    if (std::optional<Dim> unit = rowMajorFactor(offset, outer)) {
      for (const Part &part : outer)
        offset = offset - *linearFactor(offset, part.symbol) * Dim::symbol(context, part.symbol);
      return offset + *unit * Dim::symbol(context, flat.symbol).floorDiv(inner);
    }
    inner = inner * outer.back().extent;
  }
  return offset;
}

std::optional<Dim> IterationSpace::rowMajorFactor(Dim offset, ArrayRef<Part> parts) {
  std::optional<Dim> unit = linearFactor(offset, parts.back().symbol);
  if (!unit || unit->isConstant(0))
    return std::nullopt;
  Dim stride = *unit;
  for (const Part &part : llvm::reverse(parts)) {
    if (linearFactor(offset, part.symbol) != stride)
      return std::nullopt;
    stride = stride * part.extent;
  }
  return unit;
}

SmallVector<std::string> IterationSpace::symbolsOf(StringRef name) const {
  SmallVector<std::string> symbols{"%" + name.str()};
  for (const Flat &flat : flats)
    if (flat.symbol == symbols.front())
      for (const Part &part : flat.parts)
        symbols.push_back(part.symbol);
  return symbols;
}

SmallVector<IterationSpace::Definition>
IterationSpace::definitions(llvm::function_ref<bool(StringRef)> isUsed, StringRef name) const {
  SmallVector<Definition> result;
  for (const Flat &flat : flats) {
    if (flat.parts.size() < 2 || (!name.empty() && StringRef(flat.symbol).drop_front() != name))
      continue;
    SmallVector<Dim> extents =
        llvm::map_to_vector(flat.parts, [](const Part &p) { return p.extent; });
    MLIRContext *context = extents.front().getContext();
    Bounds flatBound;
    flatBound[flat.symbol] = bounds.lookup(flat.symbol);
    Index values = delinearize(Dim::symbol(context, flat.symbol), extents, flatBound);
    for (auto [part, value] : llvm::zip_equal(flat.parts, values))
      if (isUsed(part.symbol))
        result.push_back({part.symbol, value});
  }
  return result;
}

FailureOr<InputElement> IterationSpace::throughViews(Value value, Index index) const {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->hasTrait<View>())
      return op->emitError("is no view, but stands between a kernel and what it reads through "
                           "views"),
             failure();
    index = operandIndex(op, index, bounds);
    value = op->getOperand(0);
  }
  return InputElement{cast<BlockArgument>(value), std::move(index)};
}

FailureOr<InputElement> IterationSpace::throughPaddedViews(Value value, Index index) const {
  SmallVector<InputElement::Guard> guards;
  while (Operation *op = value.getDefiningOp()) {
    auto concat = dyn_cast<ConcatOp>(op);
    std::optional<unsigned> padded = concat ? operandPaddedByZeros(concat) : std::nullopt;
    if (!padded && !op->hasTrait<View>())
      break;
    if (!padded) {
      index = operandIndex(op, index, bounds);
      value = op->getOperand(0);
      continue;
    }
    int64_t axis = concat.getAxis();
    for (Value before : concat.getInputs().take_front(*padded))
      index[axis] = index[axis] - tensorType(before).getDim(axis);
    value = concat.getInputs()[*padded];
    guards.push_back({index[axis], tensorType(value).getDim(axis)});
  }
  FailureOr<InputElement> element = throughViews(value, std::move(index));
  if (succeeded(element))
    element->guards = std::move(guards);
  return element;
}

} // namespace smelt::codegen
