// The shapes of all inputs from those that are given: sizes follow through the symbols that inputs
// share and through the model's own guards.
#pragma once

#include "compiler/signature.h"

namespace smelt::compiler {

/// What follows from the given shapes, for each input; kAnyExtent stands where a size stays open.
/// Fails with kUsage for an unknown input, for shapes that the model does not take, naming the input
/// and the axis, and for shapes that contradict each other, naming the inputs and what they meet in.
Result<NamedShapes> followShapes(const Signature &signature, const NamedShapes &given);

/// A shape for each input, in order: as followShapes() has it. Open symbols become 1 where they lead
/// an input's shape and 128 elsewhere, or sizes near these that the guards allow.
Result<std::vector<std::vector<int64_t>>> resolveShapes(const Signature &signature,
                                                        const NamedShapes &given);

} // namespace smelt::compiler
