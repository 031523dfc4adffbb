#include "frontend/shape_facts.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

bool mentions(Dim dim, StringRef symbol) {
  bool found = false;
  dim.forEachSymbol([&](StringRef name) { found |= name == symbol; });
  return found;
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

LogicalResult ShapeFacts::requireEqual(Location location, Dim left, Dim right, StringRef why) {
  left = canonical(left), right = canonical(right);
  if (left == right)
    return success();
  auto difference = (left - right).asConstant();
  if (difference)
    return emitError(location) << "needs " << left.toString() << " = " << right.toString() << ": "
                               << why;
  auto a = left.asSymbol(), b = right.asSymbol();
  if (a && b)
    return order(*a) < order(*b) ? replace(location, *b, left) : replace(location, *a, right),
           success();
  // A symbol may stand for a constant, never for an expression: an input's size must bind each
  // symbol.
  if ((a && right.asConstant()) || (b && left.asConstant())) {
    Dim value = a ? right : left;
    if (*value.asConstant() < 1)
      return emitError(location) << "needs " << left.toString() << " = " << right.toString() << ": "
                                 << why;
    return replace(location, a ? *a : *b, value), success();
  }
  addGuard(left, "equal", right, why);
  return success();
}

LogicalResult ShapeFacts::requireAtMost(Location location, Dim left, Dim right, StringRef why) {
  left = canonical(left), right = canonical(right);
  if (left.isKnownLessEqual(right))
    return success();
  if ((right - left).asConstant() || (left - right - 1).isKnownNonNegative())
    return emitError(location) << "needs " << left.toString() << " <= " << right.toString() << ": "
                               << why;
  addGuard(left, "less_equal", right, why);
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

void ShapeFacts::replace(Location location, StringRef symbol, Dim by) {
  std::string name = symbol.str(); // `symbol` may lie in an attribute that is replaced
  auto node = dyn_cast<NameLoc>(location);
  replaced.emplace_back(name, node ? node.getName().str() : "");
  auto lookup = [&](StringRef other) { return other == name ? by : Dim(); };
  for (auto &entry : replacements)
    entry.second = entry.second.replace(lookup);
  replacements[name] = by;
  for (Guard &guard : list)
    guard.left = guard.left.replace(lookup), guard.right = guard.right.replace(lookup);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](DimAttr attribute) -> AttrTypeReplacer::ReplaceFnResult<Attribute> {
    Dim dim(attribute);
    Attribute replaced = mentions(dim, name) ? dim.replace(lookup).getAttribute() : attribute;
    return std::make_pair(replaced, WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void ShapeFacts::addGuard(Dim left, StringRef relation, Dim right, StringRef message) {
  bool known = llvm::any_of(list, [&](const Guard &guard) {
    return guard.left == left && guard.relation == relation && guard.right == right;
  });
  if (!known)
    list.push_back({left, relation.str(), right, message.str()});
}

std::vector<EquatedSymbol> ShapeFacts::equated() const {
  std::vector<EquatedSymbol> list;
  for (const auto &[symbol, node] : replaced)
    list.push_back({symbol, replacements.lookup(symbol).toString(), node});
  return list;
}

ArrayAttr ShapeFacts::guards() const {
  Builder builder(context);
  SmallVector<Attribute> attributes;
  for (const Guard &guard : list) {
    attributes.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("left", guard.left.getAttribute()),
         builder.getNamedAttr("relation", builder.getStringAttr(guard.relation)),
         builder.getNamedAttr("right", guard.right.getAttribute()),
         builder.getNamedAttr("message", builder.getStringAttr(guard.message))}));
  }
  return builder.getArrayAttr(attributes);
}

} // namespace smelt::frontend
