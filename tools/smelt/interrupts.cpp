// NVRTC installs handlers of its own whenever it compiles, which call exit() below other threads at
// work. A signal that every thread blocks reaches no handler: one thread waits for it and decides.
#include "tools/smelt/interrupts.h"

#include "codegen/unfinished_files.h"

#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <csignal>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace smelt::tools {

static constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
static constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
/// Wakes the thread that waits.
static constexpr int kCrashed = SIGUSR1;
static constexpr unsigned kSecondsForLastWords = 10;

namespace {

/// Global, for handlers are given a number alone.
struct State {
  const CrashReport *report = nullptr;
  std::optional<pthread_t> waiting; ///< the thread that waits for signals
  std::atomic_flag hasCrashed;
  std::mutex mutex; ///< of the words
  LastWords words;
};

/// Never destroyed: a signal may come while the process exits.
State &state() {
  static State &state = *new State;
  return state;
}

} // namespace

/// `flags` are those of sigaction().
static void handle(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
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

static void endWithReport(int) { state().report->end(); }

/// Ends the process when there was time enough, by this thread if by no other.
static void startAlarm() {
  handle(SIGALRM, endWithReport);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  alarm(kSecondsForLastWords);
}

/// The handler of a crash: leaves the rest to the thread that waits, unless that is what crashed.
static void handOver(int) {
  if (!state().waiting || pthread_equal(*state().waiting, pthread_self()))
    state().report->end();
  if (!state().hasCrashed.test_and_set()) {
    startAlarm();
    pthread_kill(*state().waiting, kCrashed);
  }
  for (;;)
    pause();
}

/// The rest, with whatever locks taken for ever: the alarm ends what waits for one.
[[noreturn]] static void endAfterLastWords() {
  std::string line;
  {
    std::lock_guard lock(state().mutex);
    if (state().words)
      line = state().words();
  }
  llvm::outs().flush(); // what was written before comes before the error
  if (line.empty())
    state().report->end();
  state().report->with(line).end();
}

static bool isIgnored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void waitForSignals(const sigset_t &awaited) {
  int signal = 0;
  do {
    if (sigwait(&awaited, &signal) == 0 && state().hasCrashed.test())
      endAfterLastWords();
  } while (signal == 0 || isIgnored(signal));
  codegen::removeUnfinishedFilesForGood();
  die(signal);
}

/// A thread that waits for one of `awaited`; not where no thread can start.
static bool startWaiting(const sigset_t &awaited) {
  try {
    std::thread waiting(waitForSignals, awaited);
    state().waiting = waiting.native_handle();
    waiting.detach();
  } catch (const std::system_error &) {
    return false;
  }
  return true;
}

/// For a crash of the calling thread that comes of having no stack left.
static void reserveStack() {
  alignas(16) static char bytes[64 << 10];
  stack_t stack = {};
  stack.ss_sp = bytes;
  stack.ss_size = sizeof(bytes);
  sigaltstack(&stack, nullptr);
}

void dieOfSignals(const CrashReport &report) {
  state().report = &report;
  reserveStack();
  for (int signal : kCrashes)
    if (!isIgnored(signal))
      handle(signal, handOver, SA_ONSTACK);
  if (!isIgnored(SIGPIPE))
    handle(SIGPIPE, die);
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, kCrashed);
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

void setLastWords(LastWords words) {
  std::lock_guard lock(state().mutex);
  state().words = std::move(words);
}

} // namespace smelt::tools
