// A BERT's signature, for tests.
#pragma once

#include "compiler/signature.h"

#include <optional>
#include <string>

namespace smelt::compiler {

inline Extent symbol(const char *name) { return {name, std::nullopt}; }
inline Extent number(int64_t value) { return {std::to_string(value), value}; }

inline Signature bertSignature() {
  Port ids{"input_ids", ElementType::i64, {symbol("batch"), symbol("seq")}, 30522};
  Port mask{"attention_mask", ElementType::i64, {symbol("batch"), symbol("seq")}, std::nullopt};
  Port bias{"bias", ElementType::f32, {symbol("batch"), number(12), symbol("2*seq")}, std::nullopt};
  return {{ids, mask, bias}, {}, {}, {}, {}};
}

} // namespace smelt::compiler
