#pragma once

#include "runtime/status.h"

#include <string>

namespace smelt::compiler {

/// Creates the folder and those above it, for everyone whom the umask lets in. Fails with
/// kResources.
Status createFolder(const std::string &path);

} // namespace smelt::compiler
