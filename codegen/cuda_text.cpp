#include "codegen/cuda_text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <utility>

using namespace mlir;

namespace smelt::codegen {

StringRef storageType(Type type) {
  if (type.isF16())
    return "half";
  if (type.isBF16())
    return "bfloat16";
  if (type.getIntOrFloatBitWidth() > 8 || type.isInteger(1))
    return computeType(type);
  if (isa<Float8E4M3FNType>(type))
    return "f8e4m3fn";
  if (isa<Float8E4M3FNUZType>(type))
    return "f8e4m3fnuz";
  if (isa<Float8E5M2Type>(type))
    return "f8e5m2";
  if (isa<Float8E5M2FNUZType>(type))
    return "f8e5m2fnuz";
  if (isa<Float4E2M1FNType>(type))
    return "f4e2m1";
  if (isa<Float8E8M0FNUType>(type))
    return "f8e8m0";
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 2:
    return isUnsigned ? "u2" : "i2";
  case 4:
    return isUnsigned ? "u4" : "i4";
  default:
    return computeType(type);
  }
}

StringRef computeType(Type type) {
  if (isa<FloatType>(type))
    return type.isF64() ? "double" : "float";
  if (type.isInteger(1))
    return "bool";
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 2:
  case 4:
  case 8:
    return isUnsigned ? "uint8_t" : "int8_t";
  case 16:
    return isUnsigned ? "uint16_t" : "int16_t";
  case 32:
    return isUnsigned ? "uint32_t" : "int";
  default:
    return isUnsigned ? "uint64_t" : "int64_t";
  }
}

bool isStorageOnly(Type type) { return storageType(type) != computeType(type); }

bool isHalfWidth(Type type) { return type.isF16() || type.isBF16(); }

static std::string floatLiteral(const APFloat &value, Type type) {
  bool isDouble = type.isF64();
  APFloat exact = value;
  bool losesInfo;
  exact.convert(isDouble ? APFloat::IEEEdouble() : APFloat::IEEEsingle(),
                APFloat::rmNearestTiesToEven, &losesInfo);
  if (exact.isNaN())
    return isDouble ? "__longlong_as_double(0x7ff8000000000000)" : "__int_as_float(0x7fc00000)";
  if (exact.isInfinity()) {
    std::string infinity = isDouble ? "double(infinity())" : "infinity()";
    return exact.isNegative() ? "(-" + infinity + ")" : infinity;
  }
  // 9 and 17 significant digits bring back the very value.
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (isDouble)
    stream << llvm::format("%.17g", exact.convertToDouble());
  else
    stream << llvm::format("%.9g", static_cast<double>(exact.convertToFloat()));
  if (StringRef(text).find_first_of(".e") == StringRef::npos)
    text += ".0";
  if (!isDouble)
    text += "f";
  return text.front() == '-' ? "(" + text + ")" : text;
}

/// Of the type itself: an operand of another type would leave templates without an instance.
static std::string integerLiteral(const APInt &value, Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  std::string suffix = bits == 64 ? "ll" : "";
  if (type.isUnsignedInteger())
    suffix = "u" + suffix;
  SmallString<24> digits;
  value.toString(digits, 10, /*Signed=*/!type.isUnsignedInteger());
  std::string text = (digits + suffix).str();
  if (bits < 32)
    return computeType(type).str() + "(" + text + ")";
  if (type.isUnsignedInteger() || !value.isNegative())
    return text;
  // The most negative number has no literal: its magnitude would be of a wider type.
  return value.isMinSignedValue() ? "(" + integerLiteral(value + 1, type) + " - 1" + suffix + ")"
                                  : "(" + text + ")";
}

std::string literal(Attribute attribute, Type type) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return floatLiteral(number.getValue(), type);
  auto integer = cast<IntegerAttr>(attribute);
  if (type.isInteger(1))
    return integer.getValue().isZero() ? "false" : "true";
  return integerLiteral(integer.getValue(), type);
}

std::string join(ArrayRef<std::string> parts, StringRef separator) {
  return llvm::join(parts, separator);
}

/// `text` as an operand of any operator.
static std::string parenthesized(const std::string &text) {
  if (!StringRef(text).contains(' '))
    return text;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0)
      return i + 1 == text.size() && text.front() == '(' ? text : "(" + text + ")";
  }
  return text;
}

std::string DimPrinter::print(Dim dim) {
  // Positive terms first, so that no text begins with a minus where it need not.
  std::string positive, negative;
  for (Dim::Term &term : dim.getTerms()) {
    bool isNegative = term.coefficient < 0;
    term.coefficient = std::abs(term.coefficient);
    std::string text = printTerm(term);
    if (isNegative)
      negative += " - " + text;
    else
      positive += (positive.empty() ? "" : " + ") + text;
  }
  if (positive.empty() && !negative.empty())
    return "-" + negative.substr(3);
  return positive + negative;
}

std::string DimPrinter::printWide(Dim dim) {
  isWide = true;
  std::string result = print(dim);
  isWide = false;
  return result;
}

std::string DimPrinter::printAtLane(Dim dim, const llvm::StringSet<> &symbols) {
  laneSymbols = &symbols;
  std::string result = print(dim);
  laneSymbols = nullptr;
  return result;
}

std::string DimPrinter::printTerm(const Dim::Term &term) {
  SmallVector<std::string> factors;
  bool widens = std::exchange(isWide, false);
  for (Attribute atom : term.atoms)
    factors.push_back(printAtom(atom));
  if (widens && !factors.empty())
    factors.front() = "int64_t(" + factors.front() + ")";
  isWide = widens;
  // A quotient as a later factor would bind wrongly: a * (b / c) is not a * b / c.
  bool isProduct = factors.size() > 1 || (term.coefficient != 1 && !factors.empty());
  if (isProduct)
    for (std::string &factor : factors)
      factor = parenthesized(factor);
  if (term.coefficient != 1 || factors.empty())
    factors.push_back(std::to_string(term.coefficient));
  return join(factors, " * ");
}

std::string DimPrinter::printAtom(Attribute atom) {
  if (auto symbol = dyn_cast<StringAttr>(atom))
    return printSymbol(symbol.getValue());
  auto call = cast<DimCallAttr>(atom);
  Dim lhs(cast<DimAttr>(call.getLhs())), rhs(cast<DimAttr>(call.getRhs()));
  std::string left = print(lhs), right = print(rhs);
  StringRef function = call.getFunction();
  if (function == "min" || function == "max")
    return function.str() + "(" + left + ", " + right + ")";
  if (function == "ceildiv")
    return "ceilDiv(" + left + ", " + right + ")";
  // C++ rounds towards zero, which is the same only where nothing is negative.
  if (!lhs.isKnownNonNegative(bounds))
    return (function == "mod" ? "moduloFloor(" : "divideFloor(") + left + ", " + right + ")";
  return parenthesized(left) + (function == "mod" ? " % " : " / ") + parenthesized(right);
}

std::string DimPrinter::printSymbol(StringRef symbol) {
  if (symbol.starts_with("%")) {
    usedCoordinates.insert(symbol.str());
    std::string name = symbol.drop_front().str();
    return laneSymbols && laneSymbols->contains(symbol) ? "(" + name + " + i)" : name;
  }
  usedSizes.insert(symbol.str());
  return sizeName(symbol);
}

} // namespace smelt::codegen
