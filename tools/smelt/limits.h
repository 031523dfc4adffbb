// The limits of time and memory that the user set. They hold for the process, whatever it is doing: code that never looks up from its
// work, such as NVRTC, stops at them too.
#pragma once

#include "runtime/status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace smelt::tools {

struct Limits {
  std::optional<double> seconds;
  /// Of memory that the process may write: files that it maps and a GPU's memory do not count.
  std::optional<uint64_t> bytes;
  /// Say on stderr what the process does.
  bool isVerbose = false;
};

/// "4G", "512M", "64K", "1T" (powers of 1024) or a number of bytes; nothing for anything else, 0, and what exceeds 2^63.
std::optional<uint64_t> parseSize(std::string_view text);

/// Ends the process and says why; called once, on any thread.
using Ending = std::function<void(const Status &)>;

/// From now on `end` is called with kResources where a limit is reached, and where LLVM gets no memory or thread. Once a process. Fails with
/// kResources where the system takes no limit.
Status setLimits(const Limits &limits, Ending end);

/// What the process does from now on, "importing model.onnx", for the message of a limit that is reached, and for who asked to be
/// told.
void setActivity(const std::string &what);

/// What to say of memory that ran out, and what it was for.
Status outOfMemory();

/// The status, which says of resources that ran out which limit of memory they were held to.
Status withLimits(const Status &status);

} // namespace smelt::tools
