// What the verifiers of metadata, programs and code share.
#pragma once

#include "runtime/status.h"
#include "runtime/text.h"

namespace smelt {

/// The error of every reference, number or name in a plan's metadata that cannot be.
template <typename... Pieces> Status invalid(const Pieces &...pieces) {
  return Status(StatusCode::kPlan, joinText("the plan's metadata is inconsistent: ", pieces...));
}

/// The error of a kernel's code, machine code or PTX, that is not what it claims to be.
inline Status invalidCode(const char *problem) {
  return Status(StatusCode::kPlan, joinText("its code ", problem));
}

/// Whether a number that was read as an enumerator is one.
template <typename Enum> bool isKnown(Enum value) {
  return value >= Enum::MIN && value <= Enum::MAX;
}

} // namespace smelt
