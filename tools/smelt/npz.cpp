#include "tools/smelt/npz.h"

#include "codegen/output_file.h"
#include "runtime/mapped_file.h"
#include "runtime/text.h"
#include "tools/smelt/npy.h"

#include "llvm/ADT/StringExtras.h"

#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <cstring>

namespace smelt::tools {

static constexpr std::string_view kEnding = ".npy";
static constexpr size_t kMostNameBytes = 0xffff; // a zip archive's limit
static constexpr uint64_t kLargestZip32 = 0xffffffff;
static constexpr size_t kChunk = size_t{1} << 20;
static constexpr uLong kIsEncrypted = 1, kNameIsUtf8 = 1 << 11; // a member's flags

bool isNpz(std::string_view path) { return path.ends_with(".npz"); }

struct NpzFile::Archive {
  explicit Archive(unzFile file) : file(file) {}
  Archive(const Archive &) = delete;
  Archive &operator=(const Archive &) = delete;
  ~Archive() { unzClose(file); }

  unzFile file;
  std::map<std::string, unz64_file_pos> members; ///< by the array's name
};

static Status refuseArchive(const std::string &path, const std::string &why) {
  return Status(StatusCode::kUsage, joinText(path, ": ", why));
}

Result<NpzFile> NpzFile::open(const std::string &path) {
  SMELT_RETURN_IF_ERROR(runtime::MappedFile::open(path).status()); // a pipe would wait for a writer
  unzFile file = unzOpen64(path.c_str());
  if (!file)
    return refuseArchive(path,
                         "is no .npz file (a zip archive of .npy files), or its end is cut off");
  NpzFile opened(path, std::make_shared<Archive>(file));
  SMELT_RETURN_IF_ERROR(opened.list());
  return opened;
}

Status NpzFile::list() {
  unz_global_info64 archiveInfo = {};
  unzGetGlobalInfo64(archive->file, &archiveInfo);
  if (archiveInfo.number_entry == 0) // or its end is cut off, which minizip does not tell apart
    return refuseArchive(path, "holds no arrays, or its end is cut off");
  std::string buffer(kMostNameBytes + 1, '\0');
  int state = unzGoToFirstFile(archive->file);
  for (; state == UNZ_OK; state = unzGoToNextFile(archive->file)) {
    unz_file_info64 info = {};
    unz64_file_pos position = {};
    if (unzGetCurrentFileInfo64(archive->file, &info, buffer.data(), buffer.size(), nullptr, 0,
                                nullptr, 0) != UNZ_OK ||
        unzGetFilePos64(archive->file, &position) != UNZ_OK)
      break;
    std::string name = buffer.substr(0, info.size_filename);
    if (!std::string_view(name).ends_with(kEnding))
      return refuseArchive(path, joinText("its member '", name, "' is no .npy file"));
    name.resize(name.size() - kEnding.size());
    if (!archive->members.emplace(name, position).second)
      return refuseArchive(path, joinText("holds two arrays called '", name, "'"));
    arrayNames.push_back(std::move(name));
  }
  if (state != UNZ_END_OF_LIST_OF_FILE)
    return refuseArchive(path, "the list of what it holds is damaged");
  return {};
}

/// What the archive's current member unpacks to; nothing where it is damaged.
static std::optional<std::string> unpack(unzFile file) {
  if (unzOpenCurrentFile(file) != UNZ_OK)
    return std::nullopt;
  std::string bytes; // grows by what is there, whatever size the archive claims
  int got = 0;
  do {
    size_t size = bytes.size();
    bytes.resize(size + kChunk);
    got = unzReadCurrentFile(file, bytes.data() + size, kChunk);
    bytes.resize(size + static_cast<size_t>(std::max(got, 0)));
  } while (got > 0);
  bool isIntact = unzCloseCurrentFile(file) == UNZ_OK && got == 0; // with its checksum
  return isIntact ? std::optional(std::move(bytes)) : std::nullopt;
}

Result<Array> NpzFile::read(const std::string &name) const {
  auto member = archive->members.find(name);
  if (member == archive->members.end())
    return refuseArchive(path, joinText("holds no array called '", name, "'; it has ",
                                        llvm::join(arrayNames, ", ")));
  auto damaged = [&] { return refuseArchive(path, joinText("its array '", name, "' is damaged")); };
  unz_file_info64 info = {};
  unz64_file_pos position = member->second;
  if (unzGoToFilePos64(archive->file, &position) != UNZ_OK ||
      unzGetCurrentFileInfo64(archive->file, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
    return damaged();
  if (info.flag & kIsEncrypted)
    return refuseArchive(path, joinText("its array '", name, "' is encrypted"));
  if (info.compression_method != 0 && info.compression_method != Z_DEFLATED)
    return refuseArchive(path, joinText("its array '", name, "' is packed by method ",
                                        info.compression_method,
                                        " of zip; numpy.savez and savez_compressed use others"));
  std::optional<std::string> bytes = unpack(archive->file);
  if (!bytes || bytes->size() != info.uncompressed_size)
    return damaged();
  return parseNpy(joinText(path, ": array '", name, "'"), *bytes);
}

Result<Array> readArray(const std::string &path, const std::string &name) {
  if (!isNpz(path))
    return readNpy(path);
  SMELT_ASSIGN_OR_RETURN(NpzFile file, NpzFile::open(path));
  bool isOnlyOne = file.names().size() == 1;
  return file.read(isOnlyOne ? file.names().front() : name);
}

namespace {

/// What minizip writes goes into a file that appears whole or not at all.
struct Sink {
  codegen::OutputFile &file;
  uint64_t position = 0;
  Status status = {};

  Status write(std::span<const std::byte> bytes) {
    if (position == file.size())
      return file.append(bytes);
    return file.overwrite(position, bytes); // sizes and checksums, once they are known
  }

  static uLong write(void *sink, void *, const void *data, uLong size) {
    auto &self = *static_cast<Sink *>(sink);
    if (self.status.isOk())
      self.status = self.write({static_cast<const std::byte *>(data), size});
    self.position += size;
    return self.status.isOk() ? size : 0;
  }

  static long seek(void *sink, void *, ZPOS64_T offset, int origin) {
    auto &self = *static_cast<Sink *>(sink);
    uint64_t from = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                    : origin == ZLIB_FILEFUNC_SEEK_CUR ? self.position
                                                       : self.file.size();
    self.position = from + offset;
    return 0;
  }

  static zlib_filefunc64_def functions(Sink &sink) {
    zlib_filefunc64_def functions = {};
    functions.zopen64_file = [](void *opaque, const void *, int) { return opaque; };
    functions.zwrite_file = write;
    functions.ztell64_file = [](void *opaque, void *) -> ZPOS64_T {
      return static_cast<Sink *>(opaque)->position;
    };
    functions.zseek64_file = seek;
    functions.zclose_file = [](void *, void *) { return 0; };
    functions.zerror_file = [](void *opaque, void *) {
      return static_cast<Sink *>(opaque)->status.isOk() ? 0 : 1;
    };
    functions.opaque = &sink;
    return functions;
  }
};

} // namespace

static std::string memberOf(const std::string &name) { return name + std::string(kEnding); }

/// Starts a member without compression, of one and the same date.
static int beginMember(zipFile zip, const std::string &name, uint64_t size) {
  zip_fileinfo info = {};
  info.tmz_date.tm_mday = 1;
  info.tmz_date.tm_year = 1980;
  uLong flags = llvm::all_of(name, [](char c) { return llvm::isASCII(c); }) ? 0 : kNameIsUtf8;
  return zipOpenNewFileInZip4_64(zip, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                                 /*method=*/0, /*level=*/0, /*raw=*/0, -MAX_WBITS, DEF_MEM_LEVEL,
                                 Z_DEFAULT_STRATEGY, nullptr, 0, /*versionMadeBy=*/0, flags,
                                 size >= kLargestZip32);
}

static int addMember(zipFile zip, const std::string &name, std::span<const std::byte> bytes) {
  int state = beginMember(zip, name, bytes.size());
  while (state == ZIP_OK && !bytes.empty()) {
    auto chunk = bytes.first(std::min(bytes.size(), kChunk));
    state = zipWriteInFileInZip(zip, chunk.data(), static_cast<unsigned>(chunk.size()));
    bytes = bytes.subspan(chunk.size());
  }
  return state == ZIP_OK ? zipCloseFileInZip(zip) : state;
}

static Status addMembers(zipFile zip, std::span<const NamedArray> arrays) {
  for (const auto &[name, array] : arrays) {
    codegen::ByteBuffer bytes;
    SMELT_RETURN_IF_ERROR(appendNpy(bytes, *array));
    if (addMember(zip, memberOf(name), bytes.take()) != ZIP_OK)
      return Status(StatusCode::kResources, joinText("'", name, "' cannot be added"));
  }
  return {};
}

Status writeNpz(const std::string &path, std::span<const NamedArray> arrays) {
  for (const auto &[name, array] : arrays)
    if (memberOf(name).size() > kMostNameBytes || name.find('\0') != std::string::npos)
      return refuseArchive(path, joinText("no .npz file can hold an array called '", name, "'"));
  SMELT_ASSIGN_OR_RETURN(codegen::OutputFile file, codegen::OutputFile::create(path));
  if (!file.isSeekable())
    return refuseArchive(path, "a .npz file cannot be written to a pipe; name a file");
  Sink sink{file};
  zlib_filefunc64_def functions = Sink::functions(sink);
  zipFile zip = zipOpen2_64(path.c_str(), APPEND_STATUS_CREATE, nullptr, &functions);
  if (!zip)
    return Status(StatusCode::kResources, path + ": the archive cannot be begun");
  Status added = addMembers(zip, arrays);
  bool isClosed = zipClose(zip, nullptr) == ZIP_OK;
  SMELT_RETURN_IF_ERROR(sink.status);
  SMELT_RETURN_IF_ERROR(added.within(path));
  return isClosed ? file.publish()
                  : Status(StatusCode::kResources, path + ": the archive cannot be finished");
}

} // namespace smelt::tools
