// Which dimensions are never negative.
//
// Every factor of every term must be known not to be negative; then each coordinate of a negative
// term takes its largest value, each other its least, and what is left must have no negative term.
#include "ir/dialect.h"
#include "ir/dim.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace smelt {

namespace {

using Term = Dim::Term;

/// The least value of a term over its bounded symbols. All atoms must be non-negative.
Dim leastTerm(MLIRContext *context, const Term &term, const Bounds &bounds) {
  Term unbounded{term.coefficient, {}};
  SmallVector<Dim> most;
  for (Attribute atom : term.atoms) {
    auto symbol = dyn_cast<StringAttr>(atom);
    auto bound = symbol ? bounds.find(symbol.getValue()) : bounds.end();
    if (bound == bounds.end())
      unbounded.atoms.push_back(atom);
    else if (term.coefficient > 0)
      return Dim::constant(context, 0);
    else
      most.push_back(bound->second - 1);
  }
  Dim product = Dim::fromTerms(context, {unbounded});
  for (Dim factor : most)
    product = product * factor;
  return product;
}

/// The sizes that are at least 1 wherever the coordinates of `bounds` have a value: the factors of
/// an extent that some coordinate lies below.
llvm::SmallDenseSet<Attribute> positiveSizes(const Bounds &bounds) {
  llvm::SmallDenseSet<Attribute> sizes;
  for (const auto &entry : bounds) {
    SmallVector<Term> terms = entry.second.getTerms();
    if (terms.size() == 1)
      for (Attribute atom : terms.front().atoms)
        if (isa<StringAttr>(atom))
          sizes.insert(atom);
  }
  return sizes;
}

/// Symbols of `positive` as 1 + t, outside calls.
Dim shiftSizes(Dim dim, const llvm::SmallDenseSet<Attribute> &positive) {
  if (positive.empty())
    return dim;
  MLIRContext *context = dim.getContext();
  SmallVector<Term> terms;
  for (const Term &term : dim.getTerms()) {
    Term kept{term.coefficient, {}};
    SmallVector<Attribute, 2> shifted;
    for (Attribute atom : term.atoms)
      (positive.contains(atom) ? shifted : kept.atoms).push_back(atom);
    Dim product = Dim::fromTerms(context, {kept});
    for (Attribute atom : shifted)
      product = product * (Dim::fromTerms(context, {{1, {atom}}}) + 1);
    llvm::append_range(terms, product.getTerms());
  }
  return Dim::fromTerms(context, std::move(terms));
}

/// One question, under one set of bounds. Calls in calls ask for the inner ones several times at each
/// level: what was found of an atom is kept.
class SignProof {
public:
  explicit SignProof(const Bounds &bounds) : bounds(bounds), positive(positiveSizes(bounds)) {}

  bool isNonNegative(Dim value) {
    SmallVector<Term> least;
    for (const Term &term : value.getTerms()) {
      // The sign of every factor must be known: a factor below 0 would turn least into most.
      if (!areNonNegative(term.atoms))
        return false;
      llvm::append_range(least, leastTerm(value.getContext(), term, bounds).getTerms());
    }
    Dim sum = Dim::fromTerms(value.getContext(), std::move(least));
    // A bound may itself hold calls, of sizes alone.
    return llvm::all_of(shiftSizes(sum, positive).getTerms(), [&](const Term &term) {
      return term.coefficient >= 0 && areNonNegative(term.atoms);
    });
  }

private:
  bool areNonNegative(ArrayRef<Attribute> atoms) {
    return llvm::all_of(atoms, [&](Attribute atom) {
      auto call = dyn_cast<DimCallAttr>(atom);
      return !call || isNonNegative(call);
    });
  }

  /// A call of operands that make it non-negative, or a remainder of a positive divisor; a divisor that
  /// may be 0 has no value and proves nothing else.
  bool isNonNegative(DimCallAttr call) {
    auto found = known.find(call);
    if (found != known.end())
      return found->second;
    Dim left(cast<DimAttr>(call.getLhs())), right(cast<DimAttr>(call.getRhs()));
    bool result = (call.getFunction() == "mod" && right.asConstant() > 0) ||
                  (isNonNegative(left) && isNonNegative(right));
    known[call] = result;
    return result;
  }

  const Bounds &bounds;
  llvm::SmallDenseSet<Attribute> positive;
  llvm::DenseMap<Attribute, bool> known;
};

} // namespace

bool Dim::isKnownNonNegative(const Bounds &bounds) const {
  return SignProof(bounds).isNonNegative(*this);
}

} // namespace smelt
