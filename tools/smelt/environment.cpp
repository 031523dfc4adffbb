#include "tools/smelt/environment.h"

#include <cstdlib>

namespace smelt::tools {

static std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string cacheDirectory() {
  if (std::string folder = variable("SMELT_CACHE_DIR"); !folder.empty())
    return folder;
  if (std::string folder = variable("XDG_CACHE_HOME"); !folder.empty())
    return folder + "/smelt";
  std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/smelt";
}

std::string nvrtcPath() { return variable("SMELT_NVRTC_PATH"); }

} // namespace smelt::tools
