// tools/smelt/temporary_file: temporary plans.
#include "tools/smelt/temporary_file.h"

#include "tools/smelt/interrupts.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

using namespace smelt;
using namespace smelt::tools;

TEST(TemporaryFile, GoesWithTheObject) {
  std::string path;
  {
    Result<TemporaryFile> file = TemporaryFile::create("plan");
    ASSERT_TRUE(file.isOk());
    TemporaryFile moved = std::move(*file);
    path = moved.path();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryFile, GoesWithAnInterruptedProcess) {
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
