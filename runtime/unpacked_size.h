// How much a plan's metadata becomes when it is unpacked, and whether it can be.
#pragma once

#include "runtime/plan_format.h"

namespace smelt::runtime {

/// Whether the strings and vectors of verified metadata hold at most `bytes` bytes, each counted as
/// often as it is referred to. Tables of a FlatBuffer may share one vector, which unpacking would
/// copy for each of them: a small file could take any amount of memory. Also false where elements do
/// not lie on multiples of their alignment, `metadata` being on one of 8 bytes.
bool unpacksWithin(const plan::Metadata &metadata, uint64_t bytes);

} // namespace smelt::runtime
