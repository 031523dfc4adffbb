// The kernel cache: round trips, damaged entries, several processes, a full disk, pruning.
#include "codegen/cache.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smelt::codegen {
namespace {

struct Cache : testing::Test {
  llvm::SmallString<128> directory;

  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("smelt-cache-test", directory));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }

  std::string path() const { return directory.str().str(); }
  std::string entry(llvm::StringRef key) const { return path() + "/" + key.str() + ".kernel"; }
  unsigned files() const {
    unsigned count = 0;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(directory, error), end; !error && it != end;
         it.increment(error))
      ++count;
    return count;
  }
};

TEST_F(Cache, ReturnsWhatWasStored) {
  KernelCache cache(path());
  std::string key = KernelCache::key({"text", "sm_90a"});
  CompiledKernel kernel{std::string("\0code\xff", 6), 48};
  EXPECT_FALSE(cache.lookup(key));
  cache.store(key, kernel);
  EXPECT_EQ(cache.lookup(key), kernel);
  EXPECT_EQ(files(), 1u);
}

TEST_F(Cache, KeysDependOnPartsAndTheirBorders) {
  EXPECT_NE(KernelCache::key({"ab", "c"}), KernelCache::key({"a", "bc"}));
  EXPECT_NE(KernelCache::key({"ab"}), KernelCache::key({"ab", ""}));
  EXPECT_EQ(KernelCache::key({"ab"}).size(), 64u);
}

TEST_F(Cache, RejectsAndRemovesDamagedEntries) {
  KernelCache cache(path());
  std::string key = KernelCache::key({"text"});
  cache.store(key, {std::string(1000, 'x'), 0});
  std::ifstream in(entry(key), std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (size_t position = 0; position < whole.size(); position += position < 128 ? 1 : 13) {
    std::string damaged = whole;
    damaged[position] ^= 1;
    std::ofstream(entry(key), std::ios::binary) << damaged;
    EXPECT_FALSE(cache.lookup(key)) << "bit flip at " << position;
    EXPECT_EQ(files(), 0u);
  }
  for (size_t length = 0; length < whole.size(); length += 57) {
    std::ofstream(entry(key), std::ios::binary) << whole.substr(0, length);
    EXPECT_FALSE(cache.lookup(key)) << "cut to " << length;
  }
  std::string other = KernelCache::key({"other"});
  std::ofstream(entry(other), std::ios::binary) << whole;
  EXPECT_FALSE(cache.lookup(other)) << "an entry under another name";
}

TEST_F(Cache, AnEmptyDirectoryTurnsItOff) {
  KernelCache cache("");
  std::string key = KernelCache::key({"text"});
  cache.store(key, {"bytes", 0});
  EXPECT_FALSE(cache.lookup(key));
}

TEST_F(Cache, SeveralKilledProcessesLeaveNoTornEntry) {
  std::string key = KernelCache::key({"shared"});
  CompiledKernel kernel{std::string(1 << 20, 'y'), 0};
  std::vector<pid_t> writers;
  for (int i = 0; i < 4; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      KernelCache cache(path());
      while (true)
        cache.store(key, kernel);
    }
    writers.push_back(child);
  }
  KernelCache cache(path());
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    if (auto read = cache.lookup(key)) {
      ++found;
      EXPECT_TRUE(*read == kernel);
    }
    usleep(1000);
  }
  for (pid_t writer : writers)
    kill(writer, SIGKILL), waitpid(writer, nullptr, 0);
  EXPECT_GT(found, 0);
  auto read = cache.lookup(key);
  ASSERT_TRUE(read);
  EXPECT_TRUE(*read == kernel);
}

TEST_F(Cache, AFullDiskLeavesNothingBehind) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    KernelCache cache(path());
    cache.store(KernelCache::key({"large"}), {std::string(1 << 20, 'z'), 0});
    _exit(cache.lookup(KernelCache::key({"large"})) ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(files(), 0u);
}

TEST_F(Cache, PruningKeepsTheLimit) {
  KernelCache cache(path(), /*maxBytes=*/10000);
  for (int i = 0; i < 20; ++i)
    cache.store(KernelCache::key({std::to_string(i)}), {std::string(1000, 'p'), 0});
  cache.prune();
  EXPECT_LE(files(), 10u);
  EXPECT_GE(files(), 5u);
}

TEST_F(Cache, IsPrunedOnceAnHour) {
  KernelCache cache(path(), /*maxBytes=*/10000);
  auto fill = [&] {
    for (int i = 0; i < 20; ++i)
      cache.store(KernelCache::key({std::to_string(i)}), {std::string(1000, 'p'), 0});
  };
  auto setAge = [&](std::chrono::hours age) {
    auto time = std::filesystem::file_time_type::clock::now() - age;
    std::filesystem::last_write_time(path() + "/pruned", time);
  };
  fill();
  cache.pruneWhenDue();
  EXPECT_LE(files(), 11u);
  fill();
  cache.pruneWhenDue();
  EXPECT_EQ(files(), 21u);
  setAge(std::chrono::hours(2));
  cache.pruneWhenDue();
  EXPECT_LE(files(), 11u);
  fill();
  setAge(std::chrono::hours(-2)); // by a clock that was put right
  cache.pruneWhenDue();
  EXPECT_LE(files(), 11u);
}

TEST_F(Cache, IsNotMadeToBePruned) {
  KernelCache(path() + "/missing").pruneWhenDue();
  EXPECT_EQ(files(), 0u);
  KernelCache("").pruneWhenDue();
}

} // namespace
} // namespace smelt::codegen
