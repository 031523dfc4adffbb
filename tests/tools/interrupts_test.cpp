// tools/smelt/interrupts: signals that end the process, and crashes.
#include "tools/smelt/interrupts.h"

#include "tools/smelt/temporary_file.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace smelt;
using namespace smelt::tools;

/// What a `smelt` without arguments would say.
static void dieOfSignals() {
  static char name[] = "smelt";
  static char *arguments[] = {name};
  static const CrashReport report("of this test", 1, arguments, /*asksForJson=*/false);
  dieOfSignals(report);
}

TEST(DieOfSignals, TakesUnfinishedFilesAlong) {
  int names[2];
  ASSERT_EQ(pipe(names), 0);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    dieOfSignals();
    Result<TemporaryFile> file = TemporaryFile::create("plan");
    if (!file.isOk() || write(names[1], file->path().c_str(), file->path().size()) < 0)
      _exit(1);
    while (true)
      pause();
  }
  std::string path(4096, '\0');
  ssize_t length = read(names[0], path.data(), path.size());
  ASSERT_GT(length, 0);
  path.resize(static_cast<size_t>(length));
  EXPECT_TRUE(std::filesystem::exists(path));
  kill(child, SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(DieOfSignals, ReportsACrashOnAnyThread) {
  std::string left = testing::TempDir() + "left";
  auto crash = [&] {
    dieOfSignals();
    Result<TemporaryFile> file = TemporaryFile::create("plan");
    std::ofstream(left) << (file.isOk() ? file->path() : "");
    std::thread([] { raise(SIGSEGV); }).join();
    _exit(1);
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(static_cast<int>(StatusCode::kInternal)),
              "smelt: error: crashed; this is a defect of Smelt of this test");
  std::string path;
  std::ifstream(left) >> path;
  EXPECT_NE(path, "");
  EXPECT_FALSE(std::filesystem::exists(path));
  std::filesystem::remove(left);
}

/// Deeper than any stack.
static int fall(volatile int *depth) {
  volatile int here = *depth + 1;
  return here < 0 ? 0 : fall(&here) + here;
}

TEST(DieOfSignals, ReportsAStackThatIsFull) {
  auto crash = [] {
    dieOfSignals();
    volatile int depth = 0;
    _exit(fall(&depth) & 1);
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(static_cast<int>(StatusCode::kInternal)),
              "this is a defect of Smelt of this test");
}

TEST(DieOfSignals, EndsLastWordsThatWaitForEver) {
  auto crash = [] {
    sigset_t all;
    sigfillset(&all); // as a thread has it whose signals are blocked
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    dieOfSignals();
    setLastWords([]() -> std::string {
      for (;;)
        pause();
    });
    abort();
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(static_cast<int>(StatusCode::kInternal)),
              "this is a defect of Smelt of this test");
}

TEST(DieOfSignals, ReportsLastWords) {
  auto crash = [] {
    dieOfSignals();
    setLastWords([] { return std::string("farewell"); });
    abort();
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(static_cast<int>(StatusCode::kInternal)),
              "\nfarewell");
}
