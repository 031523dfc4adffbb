// What becomes of `smelt` when a signal ends it.
#pragma once

#include "tools/smelt/crash_report.h"

#include <functional>
#include <string>

namespace smelt::tools {

/// From now on the process dies of SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU and SIGPIPE, by that very signal, and takes its
/// unfinished files with it. A crash, on whatever thread, ends with `report`, which must live as long as the process. Signals that
/// were ignored stay so. To be called before another thread is started.
void dieOfSignals(const CrashReport &report);

/// What is still done after a crash; returns what to add to the report.
using LastWords = std::function<std::string()>;

/// From now on a crash is followed by `words`, if it can: on a thread of its own, and for ten seconds at most, since what crashed may
/// hold any lock. Null for nothing.
void setLastWords(LastWords words);

} // namespace smelt::tools
