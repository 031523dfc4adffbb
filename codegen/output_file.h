// A file that appears whole or not at all.
#pragma once

#include "codegen/byte_output.h"

#include <future>
#include <string>

namespace smelt::codegen {

/// Bytes are written by another thread while the caller prepares the next: of a plan's time, on two cores, a third is to
/// write weights and a third to compute them.
///
/// A temporary file in the folder of `path` that publish() renames to `path`; removed when it was
/// not published; on the list of unfinished files until then. Symbolic links stay: the file that they lead
/// to is replaced. A device or a pipe at `path` is written to as it is. Failures have the code
/// kResources and name the path and the cause.
class OutputFile : public ByteOutput {
public:
  static Result<OutputFile> create(const std::string &path);

  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile() override;

  /// Appends; small pieces are gathered into large writes.
  Status append(std::span<const std::byte> bytes) override;
  Status appendZeros(uint64_t count) override;
  /// False for a pipe or a terminal, which takes bytes in their order only.
  bool isSeekable() const;
  /// Needs a file that isSeekable().
  Status overwrite(uint64_t offset, std::span<const std::byte> bytes) override;
  uint64_t size() const override { return flushedBytes + pending.size(); }
  enum class Durability { kOnDisk, kEventually };
  /// Flushes, to the disk unless the file may be lost with it, and renames to the final path.
  Status publish(Durability durability = Durability::kOnDisk);

private:
  static Result<OutputFile> openSpecial(const std::string &path);
  /// `path` is what the links of `name` lead to.
  static Result<OutputFile> createBeside(const std::string &name, const std::string &path);
  OutputFile(std::string path, std::string temporaryPath, int descriptor);
  Status flush();
  Status flushBehind();
  Status finishBehind();
  Status writeAt(uint64_t offset, std::span<const std::byte> bytes);
  Status failure(const char *action, int error) const;

  std::future<Status> written; ///< by a thread that uses what follows: the first to be moved
  std::string path;
  std::string temporaryPath; ///< empty when published, and where no file is written
  int descriptor;
  std::vector<std::byte> pending;
  uint64_t flushedBytes = 0;
  std::vector<std::byte> behind; ///< what another thread writes meanwhile
};

/// The file at `path` becomes the text, whole or not at all. Fails as OutputFile does.
Status writeText(const std::string &text, const std::string &path);

} // namespace smelt::codegen
