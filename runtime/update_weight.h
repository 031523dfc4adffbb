// New values for the weights of an engine: refit, LoRA.
#pragma once

#include "runtime/bindings.h"
#include "runtime/engine.h"

#include <string>

namespace smelt::runtime {

/// Gives the initializer `name` of the model the values at `values`, of its type and size, in stream
/// order. Where copies alone do not suffice, waits for them. Engines that share the weights have the
/// new values, too. Fails with kUsage where the plan has no such initializer, where it cannot be
/// updated, saying why, for memory that does not fit, and on a capturing stream.
Status updateWeight(const Engine &engine, const std::string &name, const Binding &values,
                    CUstream stream);

} // namespace smelt::runtime
