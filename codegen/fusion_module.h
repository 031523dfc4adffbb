// A fusion as a module of its own.
//
// Problem: who changes one kernel of a plan wants to know whether it still computes what it should,
// and the plan holds no more of the model than its kernels. Method: beside each kernel the plan
// keeps its fusion as the text of a module, whose inputs are what the fusion reads; kernels for it
// are generated again, and run beside the interpreter. Assumes that templates see of a fusion
// only what equal_fusions.h compares. Gain: `smelt patch` needs no model; a plan of BERT grows by 30 KB.
#pragma once

#include "ir/dialect.h"

#include <string>

namespace smelt::codegen {

/// A module whose @main takes one array of bytes for each size symbol, as long as that says, then
/// the inputs of `fusion` that are no weights, and returns its results. Its weights are in no file,
/// to be drawn (WeightStore::drawMissing). "" for a fusion that updates its input in place, which
/// means nothing without the model around it.
std::string fusionModuleText(FusionOp fusion);

} // namespace smelt::codegen
