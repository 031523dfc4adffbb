// Spelling of types, numbers and sizes in CUDA text.
#pragma once

#include "ir/dialect.h"
#include "ir/element_bytes.h"

#include "llvm/ADT/StringSet.h"

#include <set>

namespace smelt::codegen {

/// The type that memory holds: "half", "bfloat16", "float", "int64_t", "bool", ...
llvm::StringRef storageType(mlir::Type elementType);
/// The type in which a kernel computes: float for smaller floats, 8 bits for smaller integers, else
/// the storage type.
llvm::StringRef computeType(mlir::Type elementType);
/// A kernel computes with another type.
bool isStorageOnly(mlir::Type elementType);
/// Floats of 16 bits.
bool isHalfWidth(mlir::Type elementType);

/// A literal of the compute type with exactly the value of `attribute`.
std::string literal(mlir::Attribute attribute, mlir::Type elementType);

/// The names of parameters that hold sizes begin so.
inline constexpr llvm::StringRef kSizePrefix = "size_";

/// Prints sizes and coordinates as `int` expressions and notes which symbols they use.
///
/// Elements of one tensor are counted in 32 bits: a plan carries guards that no tensor of a kernel
/// has more than kMaxElements (compile.cpp adds them), so no offset overflows.
class DimPrinter {
public:
  /// No tensor has more elements; leaves room for the round-up of a grid's last block.
  static constexpr int64_t kMaxElements = (int64_t{1} << 31) - (int64_t{1} << 18);

  /// Symbols that are known not to be negative: coordinates with their bounds.
  explicit DimPrinter(const Bounds &bounds) : bounds(bounds) {}

  std::string print(Dim dim);
  /// The same computed in 64 bits, of an offset in a tensor of more than kMaxElements. Quotients and other
  /// factors of its terms still have 32.
  std::string printWide(Dim dim);
  /// The same at lane `i` of the loop over lanes: coordinates of `laneSymbols` plus i.
  std::string printAtLane(Dim dim, const llvm::StringSet<> &laneSymbols);

  /// Names of the size symbols printed so far.
  const std::set<std::string> &sizes() const { return usedSizes; }
  bool uses(llvm::StringRef coordinate) const { return usedCoordinates.contains(coordinate.str()); }

  /// The parameter that holds a size symbol.
  static std::string sizeName(llvm::StringRef symbol) { return (kSizePrefix + symbol).str(); }

private:
  std::string printTerm(const Dim::Term &term);
  std::string printAtom(mlir::Attribute atom);
  std::string printSymbol(llvm::StringRef symbol);

  const Bounds &bounds;
  const llvm::StringSet<> *laneSymbols = nullptr;
  bool isWide = false; ///< the terms' first factors
  std::set<std::string> usedSizes, usedCoordinates;
};

/// A comma-separated list.
std::string join(llvm::ArrayRef<std::string> parts, llvm::StringRef separator = ", ");

} // namespace smelt::codegen
