// Global, for so are the limits: handlers of failed allocations take no argument. A limit that is reached ends the process where it
// is, since neither a kernel's compilation nor code built without exceptions can be unwound.
#include "tools/smelt/limits.h"

#include "runtime/text.h"
#include "tools/smelt/report.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <new>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace smelt::tools {

namespace {

/// NVRTC neither reports nor survives an allocation that fails, and may hang. So that the system refuses memory only so far above
/// the limit, which nothing but one large allocation of our own reaches before it is noticed that the limit is behind.
constexpr uint64_t kRoomAbove = 256 << 20;
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);

struct State {
  Limits limits;
  Ending end;
  rlimit memoryBefore = {};
  std::atomic_flag isEnding;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::mutex mutex; ///< of the activity, in which nothing is allocated
  char activity[512] = "starting";
};

/// Never destroyed: a limit may be reached while the process exits.
State &state() {
  static State &state = *new State;
  return state;
}

std::string activity() {
  std::lock_guard lock(state().mutex);
  return state().activity;
}

Status reached(std::string (*why)()) {
  return Status(StatusCode::kResources, joinText(why(), " while ", activity()));
}

/// Ends the process. Memory can be had again meanwhile.
[[noreturn]] void reach(std::string (*why)()) {
  if (state().isEnding.test_and_set())
    for (;;) // another thread does it
      pause();
  if (state().limits.bytes)
    setrlimit(RLIMIT_DATA, &state().memoryBefore);
  state().end(reached(why));
  _exit(static_cast<int>(StatusCode::kResources));
}

std::string memoryText() {
  if (!state().limits.bytes)
    return "out of memory";
  return joinText("the limit of ", bytesText(static_cast<double>(*state().limits.bytes)),
                  " of memory (--max-memory) was reached");
}

std::string timeText() {
  return joinText("the limit of ", shortText(*state().limits.seconds),
                  " s (--timeout) was reached");
}

/// Memory that may be written, as RLIMIT_DATA counts it. Allocates nothing.
uint64_t dataBytes() {
  static const int descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[256] = {};
  if (descriptor < 0 || pread(descriptor, text, sizeof(text) - 1, 0) <= 0)
    return 0; // then the system's own limit is all there is
  uint64_t pages = 0;
  sscanf(text, "%*s %*s %*s %*s %*s %" SCNu64, &pages);
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/// A thread that `work` keeps until the process ends.
Status startThread(const char *what, std::function<void()> work) {
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error &error) {
    return Status(StatusCode::kResources,
                  joinText("no thread for ", what, " can be started: ", error.what()));
  }
  return {};
}

/// LLVM tells nobody that it starts a thread, and ends the process where it cannot.
void onFatalError(void *, const char *reason, bool) {
  if (!std::string_view(reason).starts_with("pthread_create"))
    return; // a crash like any other
  reach([]() -> std::string {
    return state().limits.bytes ? memoryText() : "the system starts no more threads: out of memory";
  });
}

Status limitMemory(uint64_t bytes) {
  getrlimit(RLIMIT_DATA, &state().memoryBefore);
  rlimit limited = state().memoryBefore;
  limited.rlim_cur = std::min<rlim_t>(bytes + kRoomAbove, limited.rlim_cur);
  if (dataBytes() > bytes)
    return outOfMemory();
  SMELT_RETURN_IF_ERROR(startThread("--max-memory", [bytes] {
    while (dataBytes() <= bytes)
      std::this_thread::sleep_for(kBetweenLooks);
    reach(memoryText);
  }));
  if (setrlimit(RLIMIT_DATA, &limited) != 0)
    return Status(StatusCode::kResources,
                  joinText("the system takes no limit of memory: ", std::strerror(errno)));
  std::set_new_handler([] { reach(memoryText); });
  return {};
}

/// A thread that waits for the end of the time.
Status limitTime(double seconds) {
  return startThread("--timeout", [seconds] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    reach(timeText);
  });
}

} // namespace

std::optional<uint64_t> parseSize(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr uint64_t kMaxBytes = uint64_t{1} << 63;
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  size_t power = unit.empty() ? 0 : kUnits.find(unit) + 1;
  bool isKnown = unit.empty() || (unit.size() == 1 && power != 0);
  if (error != std::errc() || !isKnown || number == 0 || number > kMaxBytes >> (10 * power))
    return std::nullopt;
  return number << (10 * power);
}

Status setLimits(const Limits &limits, Ending end) {
  state().limits = limits;
  state().end = std::move(end);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { reach(memoryText); });
  llvm::install_fatal_error_handler(onFatalError);
  if (limits.seconds) // before memory is limited, of which its thread needs some
    SMELT_RETURN_IF_ERROR(limitTime(*limits.seconds));
  return limits.bytes ? limitMemory(*limits.bytes) : Status();
}

void setActivity(const std::string &what) {
  {
    std::lock_guard lock(state().mutex);
    size_t kept = std::min(what.size(), sizeof(State::activity) - 1);
    std::memcpy(state().activity, what.data(), kept);
    state().activity[kept] = '\0';
  }
  if (!state().limits.isVerbose)
    return;
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - state().start;
  note(joinText(numberText(elapsed.count(), 3), " s: ", what));
}

Status outOfMemory() { return reached(memoryText); }

Status withLimits(const Status &status) {
  if (status.code() != StatusCode::kResources || !state().limits.bytes)
    return status;
  return Status(status.code(), joinText(status.message(), "; --max-memory allows ",
                                        bytesText(static_cast<double>(*state().limits.bytes))));
}

} // namespace smelt::tools
