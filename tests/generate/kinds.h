// Kinds of graphs: what is drawn together.
#pragma once

#include "tests/generate/drawing.h"

namespace smelt::generate {

/// "mixed", "elementwise", "views", "reductions", "products", "norms", "attention", "convolutions", "images", "empty",
/// "contrib", "quantized", "control".
const std::vector<std::string> &kindNames();

/// The graph of this kind and seed; the same one every time.
Graph drawGraph(const std::string &kind, uint64_t seed, const DrawOptions &options);

/// A chain of single ops on one input of this type: each reads what the former gave. None where an op does not take it.
std::optional<Graph> drawChain(const std::vector<std::string> &ops, ElementType type,
                               uint64_t seed);

} // namespace smelt::generate
