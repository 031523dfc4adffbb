// What an engine or a context tells its owner beside results: no global state, no output of its own.
#pragma once

#include "runtime/text.h"

#include <functional>

namespace smelt::runtime {

enum class Severity { kVerbose, kInfo, kWarning, kError };

/// Without a function, nobody listens.
struct Logger {
  /// Called on the thread of whatever call has something to tell; must not throw.
  std::function<void(Severity severity, const char *message)> write;
  Severity least = Severity::kInfo; ///< what is milder is not even put into words

  template <typename... Pieces> void log(Severity severity, const Pieces &...pieces) const {
    if (write && severity >= least)
      write(severity, joinText(pieces...).c_str());
  }
};

} // namespace smelt::runtime
