// The kernel cache: what NVRTC compiled once is not compiled again.
//
// An entry is one file named by a BLAKE3 hash over everything that decides its bytes (canonical
// text, headers, architecture, NVRTC's version, flags). Entries are published by writing a temporary
// file and renaming it, so that several processes may share the directory and a killed one leaves no
// torn entry; each carries its key, length and XXH3-128 and is checked when read. The cache never
// fails a compilation: an unreadable directory or entry only costs a compile.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace smelt::codegen {

struct CompiledKernel {
  std::string code;        ///< a cubin, or PTX and a final NUL
  uint64_t spillBytes = 0; ///< of registers, stored and loaded; 0 where they sufficed

  bool operator==(const CompiledKernel &) const = default;
};

class KernelCache {
public:
  static constexpr uint64_t kDefaultMaxBytes = uint64_t{1} << 30;

  /// An empty directory turns the cache off. The directory is made (mode 0700) when the first entry
  /// is stored.
  explicit KernelCache(std::string directory, uint64_t maxBytes = kDefaultMaxBytes);

  /// Hexadecimal BLAKE3 over the parts and their lengths.
  static std::string key(llvm::ArrayRef<llvm::StringRef> parts);

  /// What was stored under `key`; nothing where there is no sound entry. A damaged entry is
  /// removed.
  std::optional<CompiledKernel> lookup(llvm::StringRef key) const;

  /// Publishes an entry. Safe from several threads and processes; failures are silent by design.
  void store(llvm::StringRef key, const CompiledKernel &kernel) const;

  /// Removes the entries above the size limit that were read longest ago, as far as the file system
  /// notes it (often once a day), and temporary files older than an hour.
  void prune() const;

  /// Prunes unless some process did within the last hour: to look at ten thousand entries takes
  /// longer than to compile a small model whose kernels are known.
  void pruneWhenDue() const;

private:
  std::string entryPath(llvm::StringRef key) const;

  std::string directory;
  uint64_t maxBytes;
};

} // namespace smelt::codegen
