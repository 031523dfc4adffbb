// What becomes of `smelt` when a signal ends it.
#pragma once

namespace smelt::tools {

/// From now on the process dies of SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGXCPU, and of a crash that
/// nobody recovers from, by that very signal, and takes its unfinished files with it. Signals that
/// were ignored stay so. To be called before another thread is started.
void dieOfSignals();

} // namespace smelt::tools
