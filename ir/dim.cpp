#include "ir/dim.h"

#include "ir/dialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace smelt {

namespace {

using Term = Dim::Term;

std::string atomText(Attribute atom) {
  if (auto symbol = dyn_cast<StringAttr>(atom))
    return symbol.getValue().str();
  auto call = cast<DimCallAttr>(atom);
  return call.getFunction().str() + "(" + Dim(cast<DimAttr>(call.getLhs())).toString() + ", " +
         Dim(cast<DimAttr>(call.getRhs())).toString() + ")";
}

/// The order of the canonical form: by text, so that it does not depend on addresses.
bool atomLess(Attribute a, Attribute b) {
  if (a == b)
    return false;
  auto first = dyn_cast<StringAttr>(a), second = dyn_cast<StringAttr>(b);
  return first && second ? first.getValue() < second.getValue() : atomText(a) < atomText(b);
}

bool atomsLess(ArrayRef<Attribute> a, ArrayRef<Attribute> b) {
  // Longer products first, so that the constant term comes last.
  if (a.size() != b.size())
    return a.size() > b.size();
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), atomLess);
}

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

/// a - b * floorDivide(a, b), whose product may overflow where the difference does not.
int64_t floorModulo(int64_t a, int64_t b) {
  int64_t remainder = a % b;
  return remainder != 0 && ((a < 0) != (b < 0)) ? remainder + b : remainder;
}

int64_t ceilDivide(int64_t a, int64_t b) { return floorDivide(a, b) + (a % b != 0); }

/// Whether a / b has a value that an int64 holds: the smallest one has no negative.
bool isDivisible(int64_t a, int64_t b) {
  return b != 0 && (b != -1 || a != std::numeric_limits<int64_t>::min());
}

Dim makeCall(MLIRContext *context, StringRef function, Dim lhs, Dim rhs) {
  auto call = DimCallAttr::get(context, function, lhs.getAttribute(), rhs.getAttribute());
  return Dim::fromTerms(context, {{1, {call}}});
}

/// `atoms` without the factors of `divisor`; none where one is missing.
std::optional<SmallVector<Attribute, 2>> divideAtoms(ArrayRef<Attribute> atoms,
                                                     ArrayRef<Attribute> divisor) {
  SmallVector<Attribute, 2> rest(atoms);
  for (Attribute atom : divisor) {
    auto *found = llvm::find(rest, atom);
    if (found == rest.end())
      return std::nullopt;
    rest.erase(found);
  }
  return rest;
}

/// The quotient of two terms, where it has whole coefficients and atoms.
std::optional<Term> divideTerm(const Term &term, const Term &divisor) {
  if (term.coefficient == 0 || !isDivisible(term.coefficient, divisor.coefficient) ||
      term.coefficient % divisor.coefficient != 0)
    return std::nullopt;
  auto rest = divideAtoms(term.atoms, divisor.atoms);
  return rest ? std::optional(Term{term.coefficient / divisor.coefficient, *rest}) : std::nullopt;
}

/// By the sum's leading term, as in polynomial long division.
std::pair<Dim, Dim> divideBySum(Dim value, Dim divisor) {
  MLIRContext *context = value.getContext();
  Dim quotient = Dim::constant(context, 0), remainder = value;
  Term leading = divisor.getTerms().front();
  for (bool changed = true; changed;) {
    changed = false;
    for (const Term &term : remainder.getTerms()) {
      std::optional<Term> divided = divideTerm(term, leading);
      if (!divided)
        continue;
      Dim factor = Dim::fromTerms(context, {*divided});
      Dim next = remainder - factor * divisor;
      if (next.getTerms().size() > remainder.getTerms().size())
        continue;
      quotient = quotient + factor;
      remainder = next;
      changed = true;
      break;
    }
  }
  return {quotient, remainder};
}

/// Splits `value` into quotient * divisor + remainder where each term of the remainder cannot be
/// divided.
std::pair<Dim, Dim> divideTerms(Dim value, Dim divisor) {
  SmallVector<Term> divisors = divisor.getTerms();
  if (divisors.size() > 1)
    return divideBySum(value, divisor);
  SmallVector<Term> quotient, remainder;
  for (const Term &term : value.getTerms()) {
    if (std::optional<Term> divided = divideTerm(term, divisors.front()))
      quotient.push_back(*divided);
    else
      remainder.push_back(term);
  }
  MLIRContext *context = value.getContext();
  return {Dim::fromTerms(context, std::move(quotient)),
          Dim::fromTerms(context, std::move(remainder))};
}

/// The divisor E where `term` is `factor` times mod(`quotient`, E), both constants and E positive.
std::optional<int64_t> remainderOf(const Term &term, Dim factor, Dim quotient) {
  if (term.atoms.size() != 1 || !factor.isConstant(term.coefficient))
    return std::nullopt;
  auto call = dyn_cast<DimCallAttr>(term.atoms.front());
  if (!call || call.getFunction() != "mod" || Dim(cast<DimAttr>(call.getLhs())) != quotient)
    return std::nullopt;
  std::optional<int64_t> divisor = Dim(cast<DimAttr>(call.getRhs())).asConstant();
  return divisor && *divisor > 0 ? divisor : std::nullopt;
}

/// `sum` with one D*mod(floordiv(x, D), E) + mod(x, D), of which `term` is the latter, as mod(x, D*E),
/// all of it times the same constant; none where it holds no such pair. Merged axes leave these behind.
std::optional<Dim> mergeRemainders(Dim sum, const Term &term, Dim value, Dim divisor) {
  MLIRContext *context = sum.getContext();
  std::optional<int64_t> inner = divisor.asConstant();
  if (!inner || *inner <= 0 || term.atoms.size() != 1)
    return std::nullopt;
  Dim quotient = makeCall(context, "floordiv", value, divisor);
  for (const Term &other : sum.getTerms()) {
    Dim factor = Dim::constant(context, term.coefficient) * divisor;
    if (std::optional<int64_t> outer = remainderOf(other, factor, quotient))
      return sum - Dim::fromTerms(context, {other}) - Dim::fromTerms(context, {term}) +
             makeCall(context, "mod", value, divisor * *outer) * term.coefficient;
  }
  return std::nullopt;
}

/// `sum` with one D*floordiv(x, D) + mod(x, D) as x, all of it times the same factors; none where
/// it holds no such pair. A reshape and its inverse leave these behind.
std::optional<Dim> recomposeDivision(Dim sum) {
  SmallVector<Term> terms = sum.getTerms();
  if (terms.size() < 2)
    return std::nullopt;
  for (const Term &term : terms) {
    for (Attribute atom : term.atoms) {
      auto call = dyn_cast<DimCallAttr>(atom);
      if (!call || call.getFunction() != "mod")
        continue;
      Dim value(cast<DimAttr>(call.getLhs())), divisor(cast<DimAttr>(call.getRhs()));
      Dim factor =
          Dim::fromTerms(sum.getContext(), {{term.coefficient, *divideAtoms(term.atoms, {atom})}});
      Dim product = factor * divisor * makeCall(sum.getContext(), "floordiv", value, divisor);
      bool isPaired = llvm::all_of(product.getTerms(), [&](const Term &wanted) {
        return llvm::is_contained(terms, wanted);
      });
      // A divisor that may be negative may be 0 for sizes that are not, where no value exists.
      if (isPaired && divisor.isKnownNonNegative())
        return sum - product - Dim::fromTerms(sum.getContext(), {term}) + factor * value;
      if (std::optional<Dim> merged = mergeRemainders(sum, term, value, divisor))
        return merged;
    }
  }
  return std::nullopt;
}

} // namespace

Dim::Dim(DimAttr attr) : attribute(attr) {}

DimAttr Dim::getAttribute() const { return cast_or_null<DimAttr>(attribute); }

Dim Dim::constant(MLIRContext *context, int64_t value) { return fromTerms(context, {{value, {}}}); }

Dim Dim::symbol(MLIRContext *context, StringRef name) {
  return fromTerms(context, {{1, {StringAttr::get(context, name)}}});
}

SmallVector<Dim::Term> Dim::getTerms() const {
  SmallVector<Term> terms;
  DimAttr attr = getAttribute();
  for (auto [coefficient, monomial] : llvm::zip(attr.getCoefficients(), attr.getMonomials()))
    terms.push_back({coefficient, SmallVector<Attribute, 2>(monomial.begin(), monomial.end())});
  return terms;
}

Dim Dim::fromTerms(MLIRContext *context, SmallVector<Term> terms) {
  for (Term &term : terms)
    llvm::sort(term.atoms, atomLess);
  llvm::sort(terms, [](const Term &a, const Term &b) { return atomsLess(a.atoms, b.atoms); });
  SmallVector<int64_t> coefficients;
  SmallVector<ArrayAttr> monomials;
  for (const Term &term : terms) {
    auto monomial = ArrayAttr::get(context, term.atoms);
    if (!monomials.empty() && monomials.back() == monomial)
      coefficients.back() = static_cast<int64_t>(static_cast<uint64_t>(coefficients.back()) +
                                                 static_cast<uint64_t>(term.coefficient));
    else
      coefficients.push_back(term.coefficient), monomials.push_back(monomial);
    if (coefficients.back() == 0)
      coefficients.pop_back(), monomials.pop_back();
  }
  if (coefficients.empty())
    coefficients.push_back(0), monomials.push_back(ArrayAttr::get(context, {}));
  Dim sum(DimAttr::get(context, coefficients, monomials));
  return recomposeDivision(sum).value_or(sum);
}

std::optional<int64_t> Dim::asConstant() const {
  if (!attribute)
    return std::nullopt;
  DimAttr attr = getAttribute();
  if (attr.getMonomials().size() != 1 || !attr.getMonomials()[0].empty())
    return std::nullopt;
  return attr.getCoefficients()[0];
}

std::optional<StringRef> Dim::asSymbol() const {
  DimAttr attr = getAttribute();
  if (attr.getMonomials().size() != 1 || attr.getCoefficients()[0] != 1 ||
      attr.getMonomials()[0].size() != 1)
    return std::nullopt;
  auto symbol = dyn_cast<StringAttr>(attr.getMonomials()[0][0]);
  return symbol ? std::optional<StringRef>(symbol.getValue()) : std::nullopt;
}

Dim Dim::operator+(Dim other) const {
  SmallVector<Term> terms = getTerms();
  llvm::append_range(terms, other.getTerms());
  return fromTerms(getContext(), std::move(terms));
}

Dim Dim::operator-(Dim other) const { return *this + other * constant(getContext(), -1); }

Dim Dim::operator*(Dim other) const {
  SmallVector<Term> terms;
  for (const Term &a : getTerms()) {
    for (const Term &b : other.getTerms()) {
      Term product{static_cast<int64_t>(static_cast<uint64_t>(a.coefficient) *
                                        static_cast<uint64_t>(b.coefficient)),
                   a.atoms};
      product.atoms.append(b.atoms.begin(), b.atoms.end());
      terms.push_back(std::move(product));
    }
  }
  return fromTerms(getContext(), std::move(terms));
}

std::optional<Dim> Dim::exactDiv(Dim divisor) const {
  if (divisor.isConstant(0))
    return std::nullopt;
  auto [quotient, remainder] = divideTerms(*this, divisor);
  return remainder.isConstant(0) ? std::optional<Dim>(quotient) : std::nullopt;
}

std::pair<Dim, Dim> Dim::divide(Dim divisor, const Bounds &bounds) const {
  MLIRContext *context = getContext();
  auto a = asConstant(), b = divisor.asConstant();
  if (b == 0)
    return {makeCall(context, "floordiv", *this, divisor),
            makeCall(context, "mod", *this, divisor)};
  if (a && b && isDivisible(*a, *b))
    return {constant(context, floorDivide(*a, *b)), constant(context, floorModulo(*a, *b))};
  auto [quotient, remainder] = divideTerms(*this, divisor);
  if (remainder.isConstant(0) || (remainder.isKnownNonNegative(bounds) &&
                                  (divisor - remainder - 1).isKnownNonNegative(bounds)))
    return {quotient, remainder};
  return {quotient + makeCall(context, "floordiv", remainder, divisor),
          makeCall(context, "mod", remainder, divisor)};
}

Dim Dim::floorDiv(Dim divisor, const Bounds &bounds) const { return divide(divisor, bounds).first; }

Dim Dim::mod(Dim divisor, const Bounds &bounds) const { return divide(divisor, bounds).second; }

Dim Dim::ceilDiv(Dim divisor) const {
  if (std::optional<Dim> exact = exactDiv(divisor))
    return *exact;
  auto a = asConstant(), b = divisor.asConstant();
  if (a && b && *b > 0)
    return constant(getContext(), ceilDivide(*a, *b));
  return makeCall(getContext(), "ceildiv", *this, divisor);
}

Dim Dim::min(Dim other, const Bounds &bounds) const {
  if (isKnownLessEqual(other, bounds))
    return *this;
  if (other.isKnownLessEqual(*this, bounds))
    return other;
  return toString() < other.toString() ? makeCall(getContext(), "min", *this, other)
                                       : makeCall(getContext(), "min", other, *this);
}

Dim Dim::max(Dim other, const Bounds &bounds) const {
  if (isKnownLessEqual(other, bounds))
    return other;
  if (other.isKnownLessEqual(*this, bounds))
    return *this;
  return toString() < other.toString() ? makeCall(getContext(), "max", *this, other)
                                       : makeCall(getContext(), "max", other, *this);
}

std::optional<int64_t>
Dim::evaluate(llvm::function_ref<std::optional<int64_t>(StringRef)> lookup) const {
  auto evaluateAtom = [&](Attribute atom) -> std::optional<int64_t> {
    if (auto symbol = dyn_cast<StringAttr>(atom))
      return lookup(symbol.getValue());
    auto call = cast<DimCallAttr>(atom);
    auto a = Dim(cast<DimAttr>(call.getLhs())).evaluate(lookup),
         b = Dim(cast<DimAttr>(call.getRhs())).evaluate(lookup);
    if (!a || !b)
      return std::nullopt;
    StringRef function = call.getFunction();
    if (function == "min" || function == "max")
      return function == "min" ? std::min(*a, *b) : std::max(*a, *b);
    if (!isDivisible(*a, *b))
      return std::nullopt;
    if (function == "floordiv")
      return floorDivide(*a, *b);
    return function == "mod" ? floorModulo(*a, *b) : ceilDivide(*a, *b);
  };
  int64_t total = 0;
  for (const Term &term : getTerms()) {
    int64_t product = term.coefficient;
    for (Attribute atom : term.atoms) {
      auto value = evaluateAtom(atom);
      if (!value || __builtin_mul_overflow(product, *value, &product))
        return std::nullopt;
    }
    if (__builtin_add_overflow(total, product, &total))
      return std::nullopt;
  }
  return total;
}

Dim Dim::replace(llvm::function_ref<Dim(StringRef)> lookup, const Bounds &bounds) const {
  MLIRContext *context = getContext();
  auto replaceAtom = [&](Attribute atom) -> Dim {
    if (auto name = dyn_cast<StringAttr>(atom)) {
      Dim replacement = lookup(name.getValue());
      return replacement ? replacement : symbol(context, name.getValue());
    }
    auto call = cast<DimCallAttr>(atom);
    Dim a = Dim(cast<DimAttr>(call.getLhs())).replace(lookup, bounds);
    Dim b = Dim(cast<DimAttr>(call.getRhs())).replace(lookup, bounds);
    StringRef function = call.getFunction();
    if (function == "floordiv")
      return a.floorDiv(b, bounds);
    if (function == "mod")
      return a.mod(b, bounds);
    if (function == "ceildiv")
      return a.ceilDiv(b);
    return function == "min" ? a.min(b, bounds) : a.max(b, bounds);
  };
  Dim total = constant(context, 0);
  for (const Term &term : getTerms()) {
    Dim product = constant(context, term.coefficient);
    for (Attribute atom : term.atoms)
      product = product * replaceAtom(atom);
    total = total + product;
  }
  return total;
}

void Dim::forEachSymbol(llvm::function_ref<void(StringRef)> visit) const {
  for (const Term &term : getTerms()) {
    for (Attribute atom : term.atoms) {
      if (auto name = dyn_cast<StringAttr>(atom)) {
        visit(name.getValue());
        continue;
      }
      auto call = cast<DimCallAttr>(atom);
      Dim(cast<DimAttr>(call.getLhs())).forEachSymbol(visit);
      Dim(cast<DimAttr>(call.getRhs())).forEachSymbol(visit);
    }
  }
}

std::string Dim::toString() const {
  std::string text;
  for (const Term &term : getTerms()) {
    bool negative = term.coefficient < 0;
    uint64_t magnitude = negative ? -static_cast<uint64_t>(term.coefficient) : term.coefficient;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    bool showCoefficient = magnitude != 1 || term.atoms.empty();
    if (showCoefficient)
      text += std::to_string(magnitude);
    for (auto [index, atom] : llvm::enumerate(term.atoms))
      text += (index || showCoefficient ? "*" : "") + atomText(atom);
  }
  return text;
}

llvm::raw_ostream &operator<<(llvm::raw_ostream &stream, Dim dim) {
  return stream << dim.toString();
}

namespace {

/// factor := integer | symbol | function(expression, expression) | (expression)
FailureOr<Dim> parseFactor(AsmParser &parser) {
  MLIRContext *context = parser.getContext();
  if (succeeded(parser.parseOptionalLParen())) {
    FailureOr<Dim> inner = parseDim(parser);
    return failed(inner) || failed(parser.parseRParen()) ? FailureOr<Dim>(failure()) : inner;
  }
  int64_t value;
  OptionalParseResult integer = parser.parseOptionalInteger(value);
  if (integer.has_value())
    return failed(*integer) ? FailureOr<Dim>(failure()) : Dim::constant(context, value);
  StringRef name;
  llvm::SMLoc location = parser.getCurrentLocation();
  if (failed(parser.parseKeyword(&name)))
    return failure();
  if (failed(parser.parseOptionalLParen()))
    return Dim::symbol(context, name);
  FailureOr<Dim> lhs = parseDim(parser);
  if (failed(lhs) || failed(parser.parseComma()))
    return failure();
  FailureOr<Dim> rhs = parseDim(parser);
  if (failed(rhs) || failed(parser.parseRParen()))
    return failure();
  if (name == "floordiv")
    return lhs->floorDiv(*rhs);
  if (name == "mod")
    return lhs->mod(*rhs);
  if (name == "ceildiv")
    return lhs->ceilDiv(*rhs);
  if (name == "min" || name == "max")
    return name == "min" ? lhs->min(*rhs) : lhs->max(*rhs);
  return parser.emitError(location) << "unknown dimension function '" << name << "'", failure();
}

/// A few sums of two symbols multiply to more terms than there is memory for. What is printed multiplies no sums.
FailureOr<Dim> parseProduct(AsmParser &parser) {
  constexpr size_t kMaxTerms = 4096;
  FailureOr<Dim> product = parseFactor(parser);
  while (succeeded(product) && succeeded(parser.parseOptionalStar())) {
    FailureOr<Dim> factor = parseFactor(parser);
    if (failed(factor))
      return failure();
    if (product->getTerms().size() * factor->getTerms().size() > kMaxTerms)
      return parser.emitError(parser.getCurrentLocation())
                 << "a product of sizes has more than " << kMaxTerms << " terms",
             failure();
    product = *product * *factor;
  }
  return product;
}

} // namespace

FailureOr<Dim> parseDim(AsmParser &parser) {
  bool negative = succeeded(parser.parseOptionalMinus());
  FailureOr<Dim> sum = parseProduct(parser);
  if (failed(sum))
    return failure();
  if (negative)
    sum = *sum * -1;
  while (true) {
    bool plus = succeeded(parser.parseOptionalPlus());
    if (!plus && failed(parser.parseOptionalMinus()))
      return sum;
    FailureOr<Dim> term = parseProduct(parser);
    if (failed(term))
      return failure();
    sum = plus ? *sum + *term : *sum - *term;
  }
}

} // namespace smelt
