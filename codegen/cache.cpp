#include "codegen/cache.h"

#include "codegen/output_file.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace fs = llvm::sys::fs;

namespace smelt::codegen {

namespace {

constexpr char kSuffix[] = ".kernel";
constexpr char kTemporary[] = ".tmp";
constexpr char kPruned[] = "pruned"; ///< its time is that of the last pruning
constexpr std::chrono::hours kPruneInterval(1);

/// Precedes the bytes of an entry.
struct EntryHeader {
  char magic[8];
  char key[64];
  uint64_t spillBytes;
  uint64_t length;
  XXH128_canonical_t checksum; ///< of the code, seeded with spillBytes
};
constexpr char kMagic[8] = {'S', 'M', 'L', 'T', 'K', 'R', 'N', '1'};

XXH128_canonical_t checksum(llvm::StringRef code, uint64_t spillBytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_withSeed(code.data(), code.size(), spillBytes));
  return canonical;
}

/// The content of a sound entry for `key`.
std::optional<CompiledKernel> readEntry(llvm::StringRef file, llvm::StringRef key) {
  EntryHeader header;
  if (file.size() < sizeof(header))
    return std::nullopt;
  std::memcpy(&header, file.data(), sizeof(header));
  llvm::StringRef bytes = file.drop_front(sizeof(header));
  XXH128_canonical_t actual = checksum(bytes, header.spillBytes);
  bool sound = !std::memcmp(header.magic, kMagic, sizeof(kMagic)) &&
               llvm::StringRef(header.key, 64) == key && header.length == bytes.size() &&
               !std::memcmp(&header.checksum, &actual, sizeof(actual));
  return sound ? std::optional(CompiledKernel{bytes.str(), header.spillBytes}) : std::nullopt;
}

struct Entry {
  std::string path;
  uint64_t size;
  llvm::sys::TimePoint<> read;
};

/// The entries of the directory; stale temporary files are removed on the way.
std::vector<Entry> listEntries(llvm::StringRef directory) {
  std::vector<Entry> entries;
  auto stale = std::chrono::system_clock::now() - std::chrono::hours(1);
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    fs::file_status status;
    if (fs::status(it->path(), status))
      continue;
    llvm::StringRef extension = llvm::sys::path::extension(it->path());
    if (extension == kTemporary && status.getLastModificationTime() < stale)
      fs::remove(it->path());
    else if (extension == kSuffix)
      entries.push_back({it->path(), status.getSize(), status.getLastAccessedTime()});
  }
  return entries;
}

bool wasPrunedLately(const llvm::Twine &stamp) {
  fs::file_status status;
  if (fs::status(stamp, status))
    return false;
  auto age = std::chrono::system_clock::now() - status.getLastModificationTime();
  return age >= age.zero() && age < kPruneInterval;
}

/// False where it cannot be written, and where there is no directory.
bool stampNow(const llvm::Twine &stamp) {
  std::error_code error;
  llvm::raw_fd_ostream file(stamp.str(), error);
  if (!error)
    file << "When this file was written, the cache was last cut down to its size.\n";
  return !error;
}

} // namespace

KernelCache::KernelCache(std::string directory, uint64_t maxBytes)
    : directory(std::move(directory)), maxBytes(maxBytes) {}

std::string KernelCache::key(llvm::ArrayRef<llvm::StringRef> parts) {
  llvm::BLAKE3 hasher;
  for (llvm::StringRef part : parts) {
    uint64_t length = part.size();
    hasher.update(llvm::StringRef(reinterpret_cast<const char *>(&length), sizeof(length)));
    hasher.update(part);
  }
  return llvm::toHex(hasher.final<32>(), /*LowerCase=*/true);
}

std::string KernelCache::entryPath(llvm::StringRef key) const {
  llvm::SmallString<256> path(directory);
  llvm::sys::path::append(path, key + kSuffix);
  return path.str().str();
}

std::optional<CompiledKernel> KernelCache::lookup(llvm::StringRef key) const {
  if (directory.empty())
    return std::nullopt;
  std::string path = entryPath(key);
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return std::nullopt;
  if (auto kernel = readEntry((*file)->getBuffer(), key))
    return kernel;
  fs::remove(path);
  return std::nullopt;
}

void KernelCache::store(llvm::StringRef key, const CompiledKernel &kernel) const {
  if (directory.empty() || key.size() != sizeof(EntryHeader::key) ||
      fs::create_directories(directory, /*IgnoreExisting=*/true, fs::owner_all))
    return;
  auto file = OutputFile::create(entryPath(key));
  if (!file.isOk())
    return;
  EntryHeader header;
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  std::memcpy(header.key, key.data(), sizeof(header.key));
  header.spillBytes = kernel.spillBytes;
  header.length = kernel.code.size();
  header.checksum = checksum(kernel.code, kernel.spillBytes);
  // A cache that cannot be written costs time, nothing else.
  if (file->append(std::as_bytes(std::span(&header, 1))).isOk() &&
      file->append(std::as_bytes(std::span(kernel.code))).isOk())
    (void)file->publish(OutputFile::Durability::kEventually).isOk();
}

void KernelCache::pruneWhenDue() const {
  llvm::SmallString<256> stamp(directory);
  llvm::sys::path::append(stamp, kPruned);
  if (!directory.empty() && !wasPrunedLately(stamp) && stampNow(stamp))
    prune();
}

void KernelCache::prune() const {
  if (directory.empty())
    return;
  std::vector<Entry> entries = listEntries(directory);
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.read > b.read; });
  uint64_t total = 0;
  for (const Entry &entry : entries) {
    total += entry.size;
    if (total > maxBytes)
      fs::remove(entry.path);
  }
}

} // namespace smelt::codegen
