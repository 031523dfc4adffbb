// Which weight an update is of, and whether it may be, wherever the engine runs.
#pragma once

#include "runtime/binding.h"
#include "runtime/status.h"

#include <string>

namespace smelt::runtime {

/// Fails with kUsage where the model has no such initializer, where it cannot be updated, saying why,
/// and for values that are not all of it, of its type.
Result<const plan::InitializerT *> findUpdated(const plan::MetadataT &metadata,
                                               const std::string &name, const Binding &values);

} // namespace smelt::runtime
