// How @main says that a result is updated in place: attributes of the function's results.
//
// A result with `smelt.alias = N` takes over the memory of argument N: kernels see one buffer under
// both names, which holds the argument's elements before the run and the result's afterwards. No
// two results take over the same argument, and element types agree.
//
// Where such a result grows along an axis, the buffer's rows cannot move, so they are laid out for
// more than the present extent: with `smelt.capacity = "symbol"` and `smelt.capacity_axis = A`,
// rows of both argument and result lie as if the extent of axis A were `symbol`. The symbol is the
// size of no input's axis: its value comes with the caller's memory, and is at least the result's
// extent of that axis.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace smelt {

inline constexpr llvm::StringLiteral kAliasName = "smelt.alias";                ///< IntegerAttr
inline constexpr llvm::StringLiteral kCapacityName = "smelt.capacity";          ///< StringAttr
inline constexpr llvm::StringLiteral kCapacityAxisName = "smelt.capacity_axis"; ///< IntegerAttr

} // namespace smelt
