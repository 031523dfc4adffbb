// Symbolic dimensions.
//
// A Dim is a polynomial over size symbols with integer coefficients, kept in one canonical, uniqued
// form: two Dims are equal exactly where their handles are. `batch*seq` is the same value wherever
// it is computed, so shape arithmetic folds by construction. What a polynomial cannot say
// (floordiv, ceildiv, mod, min, max) is an atom; a division's two halves, D*floordiv(x, D) +
// mod(x, D), are x again.
//
// Sizes may be 0. Where a division by a size folds, (batch*seq) floordiv seq, the result is what the
// fold says at 0 too: such a tensor has no elements, and its shape goes on as for other sizes.
//
// The same algebra serves index expressions in the code generator: coordinates are symbols with a
// known upper bound, and `Bounds` lets (i*768 + j) floordiv 768 become i. Where a coordinate has a
// value, its axis has an element: the sizes that bound it are at least 1 there.
#pragma once

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace smelt {

class DimAttr;
class Dim;

/// Exclusive upper bounds of coordinate symbols: 0 <= symbol < bound. Symbols that are not listed
/// are sizes, >= 0.
using Bounds = llvm::StringMap<Dim>;

class Dim {
public:
  Dim() = default;
  explicit Dim(DimAttr attribute);

  static Dim constant(mlir::MLIRContext *context, int64_t value);
  static Dim symbol(mlir::MLIRContext *context, llvm::StringRef name);

  explicit operator bool() const { return static_cast<bool>(attribute); }
  bool operator==(Dim other) const { return attribute == other.attribute; }
  bool operator!=(Dim other) const { return attribute != other.attribute; }
  DimAttr getAttribute() const;
  mlir::MLIRContext *getContext() const { return attribute.getContext(); }

  std::optional<int64_t> asConstant() const;
  bool isConstant(int64_t value) const { return asConstant() == value; }
  /// The symbol's name where the Dim is exactly one symbol.
  std::optional<llvm::StringRef> asSymbol() const;

  Dim operator+(Dim other) const;
  Dim operator-(Dim other) const;
  Dim operator*(Dim other) const;
  Dim operator+(int64_t value) const { return *this + constant(getContext(), value); }
  Dim operator-(int64_t value) const { return *this - constant(getContext(), value); }
  Dim operator*(int64_t value) const { return *this * constant(getContext(), value); }

  /// Rounds towards minus infinity. Simplifies with what `bounds` proves. A division by the
  /// constant 0 is not folded.
  Dim floorDiv(Dim divisor, const Bounds &bounds = {}) const;
  Dim ceilDiv(Dim divisor) const;
  Dim mod(Dim divisor, const Bounds &bounds = {}) const;
  /// floorDiv and mod, proven together.
  std::pair<Dim, Dim> divide(Dim divisor, const Bounds &bounds = {}) const;
  Dim min(Dim other, const Bounds &bounds = {}) const;
  Dim max(Dim other, const Bounds &bounds = {}) const;
  /// The polynomial quotient where the division leaves no remainder.
  std::optional<Dim> exactDiv(Dim divisor) const;

  /// Proves `*this >= 0` for all sizes >= 0 and all coordinates within their bounds; false where it
  /// cannot.
  bool isKnownNonNegative(const Bounds &bounds = {}) const;
  bool isKnownLessEqual(Dim other, const Bounds &bounds = {}) const {
    return (other - *this).isKnownNonNegative(bounds);
  }

  /// The value for given symbols; none where a symbol is missing, a divisor is 0 or an int64
  /// overflows.
  std::optional<int64_t>
  evaluate(llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> lookup) const;
  /// Replaces symbols; `lookup` returns an empty Dim for those that stay.
  Dim replace(llvm::function_ref<Dim(llvm::StringRef)> lookup, const Bounds &bounds = {}) const;
  void forEachSymbol(llvm::function_ref<void(llvm::StringRef)> visit) const;

  /// One summand: coefficient times the product of atoms. An atom is a symbol (StringAttr) or a
  /// DimCallAttr.
  struct Term {
    int64_t coefficient;
    llvm::SmallVector<mlir::Attribute, 2> atoms;
    bool operator==(const Term &other) const {
      return coefficient == other.coefficient && atoms == other.atoms;
    }
  };
  llvm::SmallVector<Term> getTerms() const;
  /// Builds the canonical form of a sum of terms.
  static Dim fromTerms(mlir::MLIRContext *context, llvm::SmallVector<Term> terms);

  std::string toString() const;
  friend llvm::hash_code hash_value(Dim dim) { return mlir::hash_value(dim.attribute); }

private:
  mlir::Attribute
      attribute; // a DimAttr; the base class keeps this header independent of the generated one
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &stream, Dim dim);

/// Parses `expression` := sum of products of integers, symbols, `floordiv(a, b)` and the like.
mlir::FailureOr<Dim> parseDim(mlir::AsmParser &parser);

} // namespace smelt
