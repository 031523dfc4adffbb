// Signals and the threads that this library starts in somebody's program.
#pragma once

#include <csignal>
#include <pthread.h>

namespace smelt::codegen {

/// Blocks signals while it lives, but those of crashes: a thread that starts meanwhile runs no
/// handler of the program's, nor one that NVRTC installs.
class BlockedSignals {
public:
  BlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
      sigdelset(&blocked, crash);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
  }
  BlockedSignals(const BlockedSignals &) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

} // namespace smelt::codegen
