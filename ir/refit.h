// Models whose weights get other values after they were compiled.
#pragma once

#include "ir/dialect.h"

#include <string>

namespace smelt {

/// A unit attribute of a module: values of its weights may decide nothing and are computed with as
/// little as possible, since a plan's user exchanges them. Weights of equal bytes stay apart.
inline constexpr llvm::StringLiteral kRefit = "smelt.refit";

/// An initializer of the main graph of the model file, used or not.
struct ModelInitializer {
  std::string name; ///< also of the `smelt.weight` that it became, if it did
  TensorType type;
  /// Another weight of the model with the same bytes; the compiler may make them one. "": none.
  std::string twin = {};
  bool decides = false; ///< its values decided what was imported
};

} // namespace smelt
