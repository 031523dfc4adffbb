// Which tilings of attention_decode.cuh run an attention, and at which sizes each.
#pragma once

#include "codegen/kernels/attention/attention_choice.h"

namespace smelt::codegen {

/// Those that suit the shape and fit the target, in the order in which they are to be asked; each has its
/// rule. Of a known number of queries one holds at every size, of an open one those that hold take few
/// queries. None where the other templates are better at every size.
std::vector<AttentionChoice> attentionDecodeChoices(const AttentionShape &shape,
                                                    const Target &target);

} // namespace smelt::codegen
