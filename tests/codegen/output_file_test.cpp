// Files that appear whole or not at all, and what stands at their path already.
#include "codegen/output_file.h"
#include "codegen/unfinished_files.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smelt::codegen {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/smelt_XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder); }

  static Status write(const fs::path &path, const std::string &text) {
    SMELT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path.string()));
    SMELT_RETURN_IF_ERROR(file.append(std::as_bytes(std::span(text))));
    return file.publish();
  }

  static std::string read(const fs::path &path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
  }

  fs::path folder;
};

TEST_F(OutputFileTest, ReplacesTheOldFileWhenItIsWhole) {
  ASSERT_TRUE(write(folder / "out", "old").isOk());
  {
    Result<OutputFile> file = OutputFile::create((folder / "out").string());
    ASSERT_TRUE(file.isOk());
    ASSERT_TRUE(file->append(std::as_bytes(std::span("new"))).isOk());
    EXPECT_EQ(read(folder / "out"), "old");
  }
  EXPECT_EQ(files(), 1u); // not published: gone
  ASSERT_TRUE(write(folder / "out", "new").isOk());
  EXPECT_EQ(read(folder / "out"), "new");
}

/// Of all sizes, across what is written behind; the start is replaced at the end, as a plan's header is.
TEST_F(OutputFileTest, HoldsAllPiecesInTheirOrder) {
  std::vector<std::byte> all;
  auto moved = OutputFile::create((folder / "out").string());
  ASSERT_TRUE(moved.isOk());
  auto append = [&](OutputFile &file, size_t size) {
    std::vector<std::byte> piece(size);
    for (size_t i = 0; i < size; ++i)
      piece[i] = static_cast<std::byte>((all.size() + i) * 2654435761u >> 13);
    all.insert(all.end(), piece.begin(), piece.end());
    ASSERT_TRUE(file.append(piece).isOk());
    EXPECT_EQ(file.size(), all.size());
  };
  for (size_t size : {5u << 20, 1u, 4u << 20})
    append(*moved, size);
  OutputFile file = std::move(*moved);
  for (size_t size : {0u, (4u << 20) - 1, 3u, 9u << 20, 77u})
    append(file, size);
  std::vector<std::byte> header(100, std::byte{7});
  ASSERT_TRUE(file.overwrite(0, header).isOk());
  std::copy(header.begin(), header.end(), all.begin());
  append(file, 6 << 20);
  ASSERT_TRUE(file.publish().isOk());
  std::string text = read(folder / "out");
  ASSERT_EQ(text.size(), all.size());
  EXPECT_EQ(std::memcmp(text.data(), all.data(), all.size()), 0);
}

/// What the thread that writes behind has failed with is told.
TEST_F(OutputFileTest, TellsWhereTheDiskIsFull) {
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limited = {6 << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limited);
  Status status = write((folder / "out").string(), std::string(32 << 20, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(status.code(), StatusCode::kResources);
  EXPECT_NE(status.message().find("nothing was left behind"), std::string::npos)
      << status.message();
  EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFileTest, FollowsLinks) {
  fs::create_directory(folder / "real");
  fs::create_symlink("real/target", folder / "second");
  fs::create_symlink("second", folder / "first");
  for (const char *text : {"made", "replaced"}) {
    Status status = write(folder / "first", text);
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_TRUE(fs::is_symlink(folder / "first"));
    EXPECT_TRUE(fs::is_symlink(folder / "second"));
    EXPECT_EQ(read(folder / "real/target"), text);
  }
  EXPECT_EQ(files(), 3u);
}

TEST_F(OutputFileTest, WritesToDevicesAsTheyAre) {
  fs::create_symlink("/dev/null", folder / "link");
  for (const fs::path &path : {fs::path("/dev/null"), folder / "link"}) {
    Status status = write(path, "gone");
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  Status full = write("/dev/full", "much");
  EXPECT_EQ(full.code(), StatusCode::kResources);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(OutputFileTest, WritesToPipesInOrder) {
  fs::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0)
    _exit(write(pipe, std::string(3 << 20, 'x') + "end").isOk() ? 0 : 1);
  std::string text = read(pipe);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text.size(), (3u << 20) + 3);
  EXPECT_TRUE(text.ends_with("xend"));
}

TEST_F(OutputFileTest, RefusesFolders) {
  Status status = write(folder, "text");
  EXPECT_EQ(status.code(), StatusCode::kResources);
  EXPECT_NE(status.message().find(folder.string()), std::string::npos) << status.message();
}

/// As a program that catches signals does.
void die(int signal) {
  removeUnfinishedFiles();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

TEST_F(OutputFileTest, AnInterruptedProcessLeavesNothing) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::signal(signal, die);
      auto finished = OutputFile::create((folder / "finished").string()); // leaves its place to out
      (void)finished->publish().isOk();
      std::filesystem::remove(folder / "finished");
      auto file = OutputFile::create((folder / "out").string());
      bool isWritten = ::write(ready[1], file.isOk() ? "y" : "n", 1) == 1;
      while (isWritten)
        pause();
      _exit(1);
    }
    char answer = 0;
    ASSERT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    EXPECT_EQ(files(), 1u);
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    EXPECT_EQ(files(), 0u);
    close(ready[0]);
    close(ready[1]);
  }
}

} // namespace
} // namespace smelt::codegen
