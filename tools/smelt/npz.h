// NumPy's .npz files: zip archives of .npy files, one an array.
#pragma once

#include "tools/smelt/array.h"

#include <map>
#include <memory>
#include <span>
#include <utility>

namespace smelt::tools {

/// Whether `path` names a .npz file: by its ending.
bool isNpz(std::string_view path);

class NpzFile {
public:
  /// Reads what the archive lists, no array yet. Fails with kUsage, naming the file, where it cannot be
  /// opened, is no zip archive, or has a member that is no .npy file, or two of one name.
  static Result<NpzFile> open(const std::string &path);

  /// The arrays, in the order of the archive: what members are called without their ".npy".
  const std::vector<std::string> &names() const { return arrayNames; }

  /// Reads one array. Fails with kUsage where there is none of that name, its member is encrypted,
  /// packed by other than deflate, or damaged, and as readNpy() does.
  Result<Array> read(const std::string &name) const;

private:
  struct Archive;
  explicit NpzFile(std::string path, std::shared_ptr<Archive> archive)
      : path(std::move(path)), archive(std::move(archive)) {}
  Status list();

  std::string path;
  std::shared_ptr<Archive> archive;
  std::vector<std::string> arrayNames;
};

/// The array for the input called `name`: a .npy file's, or of a .npz file the one of that name, or the
/// only one that it has.
Result<Array> readArray(const std::string &path, const std::string &name);

/// An array and what it is called.
using NamedArray = std::pair<std::string, const Array *>;

/// Writes the arrays as numpy.savez does, without compression; types as writeNpy(). The file appears
/// whole or not at all. Fails with kResources, and with kUsage for a name that no archive can have.
Status writeNpz(const std::string &path, std::span<const NamedArray> arrays);

} // namespace smelt::tools
