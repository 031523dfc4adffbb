// Loads of the fusion's inputs: vectors, broadcasts, single elements, and vectors that are fetched
// ahead.
#include "codegen/emit_expression.h"

#include "ir/capabilities.h"

using namespace mlir;

namespace smelt::codegen {

Dim ExpressionEmitter::fromPointer(BlockArgument input, Dim offset) {
  if (!movesPointers)
    return offset;
  auto [entry, isFirst] = pointerStarts.try_emplace(input.getArgNumber());
  if (isFirst) {
    SmallVector<Dim::Term> same;
    for (const Dim::Term &term : offset.getTerms()) {
      Dim part = Dim::fromTerms(input.getContext(), {term});
      bool dependsOnElement = false;
      part.forEachSymbol([&](StringRef symbol) { dependsOnElement |= symbol.starts_with("%"); });
      if (!dependsOnElement)
        same.push_back(term);
    }
    Dim start = Dim::fromTerms(input.getContext(), same);
    entry->second = start.isKnownNonNegative() ? start : Dim::constant(input.getContext(), 0);
  }
  return offset - entry->second;
}

Operand ExpressionEmitter::load(BlockArgument input, ArrayRef<Dim> index) {
  Dim offset = space.collapse(linearize(index, tensorType(input).getShape(), input.getContext()));
  std::optional<int64_t> stride = laneStride(offset, lanes);
  bool sharePredicate = predicate.scope != Scope::lane;
  if (stride == 0 && sharePredicate)
    return loadScalar(input, offset, std::max(scopeOf(offset), predicate.scope));
  if (stride == 1 && sharePredicate && knownDivisor(offset, lanes) % lanes.width == 0)
    return loadVector(input, offset);
  irregularAccesses += lanes.width > 1;
  return loadScalar(input, offset, Scope::lane);
}

bool ExpressionEmitter::mayFetchAhead(BlockArgument input, Dim offset) {
  bool dependsOnData = false;
  offset.forEachSymbol([&](StringRef symbol) {
    dependsOnData |= symbol.starts_with("%") && !space.getBounds().contains(symbol);
  });
  bool isWanted = fetching == FetchAhead::inputs ||
                  (fetching == FetchAhead::constants &&
                   isWeightExpression(fusion.getInputs()[input.getArgNumber()]));
  int64_t bytes = elementBytes(elementOf(input)) * lanes.width;
  if (!isWanted || dependsOnData || !predicate.text.empty() || bytes > fetchBytesLeft)
    return false;
  fetchBytesLeft -= bytes;
  return true;
}

bool ExpressionEmitter::isSameInEveryRow(Dim offset) const {
  bool isSame = true;
  offset.forEachSymbol([&](StringRef symbol) {
    isSame &= !symbol.starts_with("%") || lanes.symbols.contains(symbol);
  });
  return isSame;
}

std::string ExpressionEmitter::fetch(StringRef array, Type element, Dim offset, StringRef policy,
                                     const std::string &address) {
  std::string vector = "Vector<" + storageType(element).str() + ", W> " + array.str(),
              call = "loadVector<" + policy.str() + ">(" + address + ");\n";
  if (fetching == FetchAhead::constants) {
    fetchedVectors.declarations.push_back(vector + "Ahead[kChunks];\n");
    std::string name = array.str() + "Ahead[chunk]";
    fetchedVectors.statements.push_back(name + " = " + call);
    return name;
  }
  bool isOfColumns = isSameInEveryRow(offset);
  Fetched &fetched = isOfColumns ? fetchedOfColumns : fetchedVectors;
  std::string name = (isOfColumns ? "columns." : "inputs.") + array.str();
  fetched.declarations.push_back(vector + ";\n");
  fetched.statements.push_back(name + " = " + call);
  fetched.offsets.push_back(offset);
  if (!isOfColumns)
    fetched.prefetches.push_back("prefetchToL2(" + address + ");\n");
  return name;
}

Operand ExpressionEmitter::loadVector(BlockArgument input, Dim offset) {
  Type element = elementOf(input);
  std::string array = name("v");
  bool isConstant = isWeightExpression(fusion.getInputs()[input.getArgNumber()]);
  std::string policy = isConstant ? "W, Cache::kConstant" : "W";
  std::string address =
      inputName(input.getArgNumber()) + " + " + dims.print(fromPointer(input, offset));
  std::string declaration = computeType(element).str() + " " + array + "[W]";
  if (mayFetchAhead(input, offset)) {
    std::string vector = fetch(array, element, offset, policy, address);
    chunk().loads.push_back(declaration + ";\nunpack<W>(" + vector + ", " + array + ");\n");
    return {array + "[i]", Scope::lane};
  }
  std::string call = predicate.text.empty()
                         ? "load<" + policy + ">(" + address
                         : "loadIf<" + policy + ">(" + predicate.text + ", " + address;
  chunk().loads.push_back(declaration + ";\n" + call + ", " + array + ");\n");
  return {array + "[i]", Scope::lane, /*isZeroElsewhere=*/true};
}

Operand ExpressionEmitter::loadScalar(BlockArgument input, Dim offset, Scope scope) {
  Type element = elementOf(input);
  StringRef compute = computeType(element);
  Dim place = fromPointer(input, offset);
  std::string position =
      scope == Scope::lane ? dims.printAtLane(place, lanes.symbols) : dims.print(place);
  std::string value = inputName(input.getArgNumber()) + "[" + position + "]";
  if (storageType(element) != compute)
    value = "convert<" + compute.str() + ">(" + value + ")";
  if (!predicate.text.empty())
    value = predicate.text + " ? " + value + " : " + compute.str() + "(0)";
  Operand loaded = variable(compute, value, scope);
  loaded.isZeroElsewhere = true;
  return loaded;
}

} // namespace smelt::codegen
