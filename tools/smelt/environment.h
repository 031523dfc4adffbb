// What the environment decides. No other file of Smelt reads it.
#pragma once

#include <string>

namespace smelt::tools {

/// Folder of compiled kernels: $SMELT_CACHE_DIR, else $XDG_CACHE_HOME/smelt, else ~/.cache/smelt;
/// "" (no cache) where none is set.
std::string cacheDirectory();

/// File or folder of NVRTC: $SMELT_NVRTC_PATH, or "" (search).
std::string nvrtcPath();

} // namespace smelt::tools
