// Names in the graphs that nodes hold as attributes: which of them belong to the graph around.
#pragma once

#include "frontend/onnx.pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace smelt::frontend {

bool holdsGraphs(const onnx_wire::Node &node);

/// The names that the node's graphs read and do not define, each once.
std::vector<std::string> namesFromAround(const onnx_wire::Node &node);

using Rename = llvm::function_ref<std::string(const std::string &)>;
/// An attribute as it is, or what it refers to; null where it is to be left out.
using ResolveAttribute =
    llvm::function_ref<const onnx_wire::Attribute *(const onnx_wire::Attribute &)>;

/// Gives new names to what `graph`, and the graphs in it, read from around it; its own names stay.
void renameInside(onnx_wire::Graph &graph, Rename rename, ResolveAttribute resolve);

} // namespace smelt::frontend
