// The nested loops by which a plan says where the elements of an initializer lie in a weight
// (plan::WeightPart), and whether copies alone go along them.
#pragma once

#include "runtime/plan_format.h"

#include <span>
#include <vector>

namespace smelt::runtime {

/// How often the innermost loop's body runs.
uint64_t roundsOf(std::span<const plan::CopyLoop> loops);

/// The loops, of which the innermost goes along neighbours of both sides.
std::vector<plan::CopyLoop> withRows(std::span<const plan::CopyLoop> loops);

/// Loops around what one copy does.
std::span<const plan::CopyLoop> outerLoops(std::span<const plan::CopyLoop> loops);

/// Whether elements of `type` get into the part by few enough copies.
bool isCopied(plan::ElementType type, const plan::WeightPartT &part);

/// Whether updates are copies alone: nothing is laid out anew or converted by the host first.
bool isUpdatedByCopies(const plan::InitializerT &initializer);

} // namespace smelt::runtime
