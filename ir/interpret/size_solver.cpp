#include "ir/interpret/size_solver.h"

#include "ir/decisions.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace smelt {

namespace {

/// `dim` with the known sizes put in.
Dim substitute(Dim dim, const Symbols &sizes) {
  return dim.replace([&](StringRef name) {
    auto found = sizes.find(name);
    return found == sizes.end() ? Dim() : Dim::constant(dim.getContext(), found->second);
  });
}

/// A polynomial in one symbol, of degree one: factor * symbol + offset.
struct Linear {
  StringRef symbol;
  int64_t factor, offset;
};

std::optional<Linear> asLinear(Dim dim) {
  std::optional<Linear> linear;
  int64_t offset = 0;
  for (const Dim::Term &term : dim.getTerms()) {
    if (term.atoms.empty()) {
      offset = term.coefficient;
      continue;
    }
    auto symbol = dyn_cast<StringAttr>(term.atoms.front());
    if (linear || !symbol || term.atoms.size() != 1)
      return std::nullopt;
    linear = Linear{symbol.getValue(), term.coefficient, 0};
  }
  if (linear)
    linear->offset = offset;
  return linear;
}

enum class Verdict { holds, fails, open };

/// Of left - right. What is positive at all sizes fails as well: seq + 7 is never at most 5.
Verdict judge(Dim difference, bool isEquality) {
  if (std::optional<int64_t> value = difference.asConstant())
    return (isEquality ? *value == 0 : *value <= 0) ? Verdict::holds : Verdict::fails;
  bool isAbove = (difference - 1).isKnownNonNegative(),
       isBelow = (difference * -1 - 1).isKnownNonNegative();
  return isAbove || (isBelow && isEquality) ? Verdict::fails : Verdict::open;
}

/// A depth-first search that gives up after so many tries.
class Search {
public:
  /// `given`, and what follows from it, may be 0.
  Search(const SizeSolver &solver, ArrayRef<SizeRelation> relations, const Symbols &given,
         ArrayRef<PreferredSize> open)
      : solver(solver), relations(relations), open(open), fixed(given) {
    solver.follow(fixed);
  }

  std::optional<Symbols> run(Symbols sizes, size_t index = 0) {
    auto isPositive = [&](const auto &size) {
      return size.second >= (fixed.contains(size.first()) ? 0 : 1);
    };
    if (--tries < 0 || solver.follow(sizes) || !llvm::all_of(sizes, isPositive))
      return std::nullopt;
    while (index < open.size() && sizes.contains(open[index].first))
      ++index;
    if (index == open.size())
      return sizes;
    for (int64_t size : candidates(open[index], sizes)) {
      Symbols tried = sizes;
      tried[open[index].first] = size;
      if (std::optional<Symbols> found = run(std::move(tried), index + 1))
        return found;
    }
    return std::nullopt;
  }

private:
  /// The preferred size, those near it, what just satisfies each relation, then ever smaller and ever
  /// larger ones.
  SmallVector<int64_t> candidates(const PreferredSize &symbol, const Symbols &sizes) const {
    constexpr int64_t kNear = 8, kFar = 1024;
    llvm::SetVector<int64_t> list;
    for (int64_t step = 0; step < kNear; ++step)
      list.insert(symbol.second + step);
    for (const SizeRelation &relation : relations) {
      std::optional<Linear> linear = asLinear(substitute(relation.left - relation.right, sizes));
      if (linear && linear->symbol == symbol.first)
        if (int64_t bound = -linear->offset / linear->factor; bound >= 1)
          list.insert(bound);
    }
    for (int64_t size = symbol.second / 2; size >= 1; size /= 2)
      list.insert(size);
    for (int64_t factor = 2; factor <= kFar; factor *= 2)
      list.insert(symbol.second * factor);
    return list.takeVector();
  }

  const SizeSolver &solver;
  ArrayRef<SizeRelation> relations;
  ArrayRef<PreferredSize> open;
  Symbols fixed;
  int tries = 2000;
};

} // namespace

SmallVector<SizeRelation> guardRelations(ModuleOp module) {
  return llvm::map_to_vector(getGuards(module), [](GuardAttr guard) {
    return SizeRelation{Dim(guard.getLeft()), Dim(guard.getRight()),
                        guard.getRelation() == Relation::equal, guard.getMessage().str()};
  });
}

const SizeRelation *SizeSolver::follow(Symbols &sizes) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (const SizeRelation &relation : relations) {
      Dim difference = substitute(relation.left - relation.right, sizes);
      if (judge(difference, relation.isEquality) == Verdict::fails)
        return &relation;
      std::optional<Linear> linear = asLinear(difference);
      if (!linear || !relation.isEquality)
        continue;
      if (linear->offset % linear->factor || -linear->offset / linear->factor < 0)
        return &relation;
      sizes[linear->symbol] = -linear->offset / linear->factor;
      changed = true;
    }
  }
  return nullptr;
}

std::optional<Symbols> SizeSolver::complete(const Symbols &sizes,
                                            ArrayRef<PreferredSize> open) const {
  return Search(*this, relations, sizes, open).run(sizes);
}

} // namespace smelt
