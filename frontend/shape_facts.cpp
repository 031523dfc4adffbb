#include "frontend/shape_facts.h"

#include "mlir/IR/AttrTypeSubElements.h"

#include <limits>

using namespace mlir;

namespace smelt::frontend {

namespace {

bool mentions(Dim dim, StringRef symbol) {
  bool found = false;
  dim.forEachSymbol([&](StringRef name) { found |= name == symbol; });
  return found;
}

/// The two sides without the summands that they share, where one symbol is left on a side:
/// past + seq = kept + seq is past = kept, 2*n = 2*m is n = m.
std::pair<Dim, Dim> withoutCommonTerms(Dim left, Dim right) {
  SmallVector<Dim::Term> terms = (left - right).getTerms();
  auto isSymbol = [](const Dim::Term &term) {
    return term.atoms.size() == 1 && isa<StringAttr>(term.atoms.front());
  };
  if (terms.size() != 2 || !llvm::any_of(terms, isSymbol))
    return {left, right};
  Dim::Term &first = terms[isSymbol(terms[0]) ? 0 : 1], &second = terms[isSymbol(terms[0]) ? 1 : 0];
  bool isUsable = second.atoms.empty() || isSymbol(second);
  bool isOverflow = second.coefficient == std::numeric_limits<int64_t>::min();
  if (!isUsable || isOverflow || second.coefficient % first.coefficient != 0)
    return {left, right};
  int64_t quotient = -(second.coefficient / first.coefficient);
  if (!second.atoms.empty() && quotient != 1)
    return {left, right};
  first.coefficient = 1, second.coefficient = quotient;
  MLIRContext *context = left.getContext();
  return {Dim::fromTerms(context, {first}), Dim::fromTerms(context, {second})};
}

} // namespace

Dim ShapeFacts::canonical(Dim dim) const {
  if (replacements.empty() || dim.asConstant())
    return dim;
  return dim.replace([&](StringRef name) {
    auto found = replacements.find(name);
    return found == replacements.end() ? Dim() : found->second;
  });
}

TensorType ShapeFacts::canonical(TensorType type) const {
  SmallVector<Dim> shape =
      llvm::map_to_vector(type.getShape(), [&](Dim dim) { return canonical(dim); });
  return type.withShape(shape);
}

size_t ShapeFacts::order(StringRef symbol) const {
  return llvm::find(symbols, symbol) - symbols.begin();
}

LogicalResult ShapeFacts::contradict(Location location, Dim left, StringRef relation, Dim right,
                                     StringRef why) {
  InFlightDiagnostic error = emitError(location);
  error << "needs " << left.toString() << " " << relation << " " << right.toString() << ": " << why;
  if (explain)
    explain(error);
  return error;
}

LogicalResult ShapeFacts::requireEqual(Location location, Dim left, Dim right, StringRef why) {
  left = canonical(left), right = canonical(right);
  if (left == right)
    return success();
  auto difference = (left - right).asConstant();
  if (difference)
    return contradict(location, left, "=", right, why);
  auto [first, second] = withoutCommonTerms(left, right);
  auto a = first.asSymbol(), b = second.asSymbol();
  if (a && b)
    return order(*a) < order(*b) ? replace(location, *b, first) : replace(location, *a, second),
           success();
  // A symbol may stand for a constant, never for an expression: an input's size must bind each
  // symbol.
  if ((a && second.asConstant()) || (b && first.asConstant())) {
    Dim value = a ? second : first;
    if (*value.asConstant() < 0)
      return contradict(location, left, "=", right, why);
    return replace(location, a ? *a : *b, value), success();
  }
  addGuard(left, Relation::equal, right, why);
  return success();
}

LogicalResult ShapeFacts::requireAtMost(Location location, Dim left, Dim right, StringRef why) {
  left = canonical(left), right = canonical(right);
  if (left.isKnownLessEqual(right))
    return success();
  if ((right - left).asConstant() || (left - right - 1).isKnownNonNegative())
    return contradict(location, left, "<=", right, why);
  addGuard(left, Relation::less_equal, right, why);
  return success();
}

LogicalResult ShapeFacts::requireBroadcast(Location location, ArrayRef<Dim> left,
                                           ArrayRef<Dim> right) {
  size_t common = std::min(left.size(), right.size());
  for (auto [a, b] : llvm::zip(left.take_back(common), right.take_back(common))) {
    Dim first = canonical(a), second = canonical(b);
    bool contradict = first.asConstant() && second.asConstant();
    if (first == second || first.isConstant(1) || second.isConstant(1) || contradict)
      continue;
    std::string why = "the two sizes meet in an elementwise operation";
    if (failed(requireEqual(location, first, second, why)))
      return failure();
  }
  return success();
}

/// "" for a location without a name.
static StringRef nodeAt(Location location) {
  auto node = dyn_cast<NameLoc>(location);
  return node ? node.getName().getValue() : StringRef();
}

bool ShapeFacts::isAssumed(Location location) const {
  return assumed && assumed->contains(nodeAt(location));
}

void ShapeFacts::needAssumption(Location location) { neededAssumptions.insert(nodeAt(location)); }

void ShapeFacts::replace(Location location, StringRef symbol, Dim by) {
  std::string name = symbol.str(); // `symbol` may lie in an attribute that is replaced
  replaced.emplace_back(name, nodeAt(location).str());
  auto lookup = [&](StringRef other) { return other == name ? by : Dim(); };
  for (auto &entry : replacements)
    entry.second = entry.second.replace(lookup);
  replacements[name] = by;
  for (GuardAttr &guard : list)
    guard = GuardAttr::get(
        context, Dim(guard.getLeft()).replace(lookup).getAttribute(), guard.getRelation(),
        Dim(guard.getRight()).replace(lookup).getAttribute(), guard.getMessage());
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](DimAttr attribute) -> AttrTypeReplacer::ReplaceFnResult<Attribute> {
    Dim dim(attribute);
    Attribute replaced = mentions(dim, name) ? dim.replace(lookup).getAttribute() : attribute;
    return std::make_pair(replaced, WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void ShapeFacts::addGuard(Dim left, Relation relation, Dim right, StringRef message) {
  bool known = llvm::any_of(list, [&](GuardAttr guard) {
    return Dim(guard.getLeft()) == left && guard.getRelation() == relation &&
           Dim(guard.getRight()) == right;
  });
  if (!known)
    list.push_back(
        GuardAttr::get(context, left.getAttribute(), relation, right.getAttribute(), message));
}

std::vector<EquatedSymbol> ShapeFacts::equated() const {
  std::vector<EquatedSymbol> list;
  for (const auto &[symbol, node] : replaced)
    list.push_back({symbol, replacements.lookup(symbol).toString(), node});
  return list;
}

} // namespace smelt::frontend
