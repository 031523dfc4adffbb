#include "codegen/lanes.h"

#include <numeric>

using namespace mlir;

namespace smelt::codegen {

namespace {

Dim lhsOf(DimCallAttr call) { return Dim(cast<DimAttr>(call.getLhs())); }
Dim rhsOf(DimCallAttr call) { return Dim(cast<DimAttr>(call.getRhs())); }

/// What a chain of divisions by positive constants divides, and by how much in all.
std::pair<Dim, Dim> divisionOf(DimCallAttr call) {
  Dim value = lhsOf(call), divisor = rhsOf(call);
  while (call.getFunction() == "floordiv" && divisor.asConstant() > 0) {
    SmallVector<Dim::Term> terms = value.getTerms();
    bool isAtom = terms.size() == 1 && terms[0].coefficient == 1 && terms[0].atoms.size() == 1;
    auto inner = isAtom ? dyn_cast<DimCallAttr>(terms[0].atoms[0]) : DimCallAttr();
    if (!inner || inner.getFunction() != "floordiv" || !(rhsOf(inner).asConstant() > 0))
      break;
    value = lhsOf(inner), divisor = divisor * rhsOf(inner);
  }
  return {value, divisor};
}

std::optional<int64_t> atomStride(Attribute atom, const Lanes &lanes) {
  if (auto symbol = dyn_cast<StringAttr>(atom)) {
    if (lanes.irregular.contains(symbol.getValue()))
      return std::nullopt;
    return lanes.symbols.contains(symbol.getValue()) ? 1 : 0;
  }
  auto call = cast<DimCallAttr>(atom);
  auto [value, divisor] = divisionOf(call);
  std::optional<int64_t> stride = laneStride(value, lanes),
                         divisorStride = laneStride(divisor, lanes);
  if (!stride || divisorStride != 0)
    return std::nullopt;
  if (*stride == 0)
    return 0;
  // All lanes lie in one period of the division where the period holds whole groups of lanes.
  int64_t span = *stride * lanes.width;
  bool inOnePeriod = *stride > 0 && knownDivisor(divisor, lanes) % span == 0 &&
                     knownDivisor(value, lanes) % span == 0;
  if (!inOnePeriod)
    return std::nullopt;
  if (call.getFunction() == "mod")
    return stride;
  return call.getFunction() == "floordiv" ? std::optional<int64_t>(0) : std::nullopt;
}

int64_t atomDivisor(Attribute atom, const Lanes &lanes) {
  if (auto symbol = dyn_cast<StringAttr>(atom))
    return lanes.symbols.contains(symbol.getValue()) ? lanes.width : 1;
  auto call = cast<DimCallAttr>(atom);
  int64_t lhs = knownDivisor(lhsOf(call), lanes), rhs = knownDivisor(rhsOf(call), lanes);
  if (call.getFunction() == "mod" || call.getFunction() == "min" || call.getFunction() == "max")
    return std::gcd(lhs, rhs);
  std::optional<int64_t> divisor = rhsOf(call).asConstant();
  return divisor && *divisor > 0 && lhs % *divisor == 0 ? lhs / *divisor : 1;
}

} // namespace

std::optional<int64_t> laneStride(Dim offset, const Lanes &lanes) {
  int64_t total = 0;
  for (const Dim::Term &term : offset.getTerms()) {
    int64_t stride = 0;
    for (Attribute atom : term.atoms) {
      std::optional<int64_t> step = atomStride(atom, lanes);
      bool isFactor = term.atoms.size() == 1;
      if (!step || (*step != 0 && !isFactor))
        return std::nullopt;
      stride = *step;
    }
    total += term.atoms.size() == 1 ? term.coefficient * stride : 0;
  }
  return total;
}

int64_t knownDivisor(Dim offset, const Lanes &lanes) {
  int64_t divisor = 0;
  for (const Dim::Term &term : offset.getTerms()) {
    int64_t factor = term.coefficient;
    for (Attribute atom : term.atoms)
      if (__builtin_mul_overflow(factor, atomDivisor(atom, lanes), &factor))
        factor = term.coefficient;
    divisor = std::gcd(divisor, factor);
  }
  return divisor;
}

} // namespace smelt::codegen
