// NVRTC installs handlers of its own whenever it compiles, which call exit() below other threads at
// work. A signal that every thread blocks reaches no handler: one thread waits for it and decides.
#include "tools/smelt/interrupts.h"

#include "codegen/unfinished_files.h"

#include <csignal>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace smelt::tools {

static constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
static constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPIPE};

static void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

/// Ends the process by `signal`. Safe in a handler, where the signal is blocked.
static void die(int signal) {
  codegen::removeUnfinishedFiles();
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
  raise(signal);
  handle(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  _exit(128 + signal);
}

static bool isIgnored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// A thread that waits for one of `awaited`; not where no thread can start.
static bool startWaiting(const sigset_t &awaited) {
  try {
    std::thread([awaited] {
      int signal = 0;
      while (sigwait(&awaited, &signal) != 0) {
      }
      codegen::removeUnfinishedFilesForGood();
      die(signal);
    }).detach();
  } catch (const std::system_error &) {
    return false;
  }
  return true;
}

void dieOfSignals() {
  for (int signal : kCrashes)
    if (!isIgnored(signal))
      handle(signal, die);
  sigset_t awaited;
  sigemptyset(&awaited);
  for (int signal : kInterrupts)
    if (!isIgnored(signal))
      sigaddset(&awaited, signal);
  pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
  if (startWaiting(awaited))
    return;
  for (int signal : kInterrupts)
    if (sigismember(&awaited, signal))
      handle(signal, die);
  pthread_sigmask(SIG_UNBLOCK, &awaited, nullptr);
}

} // namespace smelt::tools
