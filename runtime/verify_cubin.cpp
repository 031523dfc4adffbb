#include "runtime/verify_cubin.h"

#include "runtime/checked_math.h"
#include "runtime/verify_shared.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

namespace smelt::runtime {

namespace {

using Bytes = std::span<const std::byte>;

/// Reads entry `index` of a table of T that lies at `offset`.
template <typename T> T entryOf(Bytes cubin, uint64_t offset, size_t index) {
  T entry;
  std::memcpy(&entry, cubin.data() + offset + index * sizeof(T), sizeof(T));
  return entry;
}

/// Whether the count of a table stands elsewhere than in the header (ELF's extended numbering),
/// which no cubin of ours has.
bool hasExtendedCounts(const Elf64_Ehdr &header) {
  return (header.e_shnum == 0 && header.e_shoff != 0) || header.e_phnum == PN_XNUM;
}

/// Whether a table of `count` entries of T lies within the cubin.
template <typename T> bool holdsTable(Bytes cubin, uint64_t offset, size_t count, size_t size) {
  return count == 0 || (size == sizeof(T) && liesWithin(offset, count * size, cubin.size()));
}

/// Whether a section takes bytes of the cubin: of one that does not, offset and size may be anything.
bool hasBytes(const Elf64_Shdr &section) {
  return section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
}

} // namespace

Status verifyCubin(Bytes cubin) {
  if (cubin.size() < sizeof(Elf64_Ehdr))
    return invalidCode("is cut off");
  auto header = entryOf<Elf64_Ehdr>(cubin, 0, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    return invalidCode("is no ELF file");
  if (hasExtendedCounts(header))
    return invalidCode("has more sections or segments than its header counts");
  if (!holdsTable<Elf64_Shdr>(cubin, header.e_shoff, header.e_shnum, header.e_shentsize) ||
      !holdsTable<Elf64_Phdr>(cubin, header.e_phoff, header.e_phnum, header.e_phentsize))
    return invalidCode("has tables beyond its end");
  for (size_t i = 0; i < header.e_shnum; ++i) {
    auto section = entryOf<Elf64_Shdr>(cubin, header.e_shoff, i);
    if (hasBytes(section) && !liesWithin(section.sh_offset, section.sh_size, cubin.size()))
      return invalidCode("has a section beyond its end");
  }
  for (size_t i = 0; i < header.e_phnum; ++i) {
    auto segment = entryOf<Elf64_Phdr>(cubin, header.e_phoff, i);
    if (!liesWithin(segment.p_offset, segment.p_filesz, cubin.size()))
      return invalidCode("has a segment beyond its end");
  }
  return {};
}

namespace {

/// Whether the string at `offset` of a table of strings is `text`.
bool isString(Bytes strings, uint64_t offset, const std::string &text) {
  return liesWithin(offset, text.size() + 1, strings.size()) &&
         std::memcmp(strings.data() + offset, text.c_str(), text.size() + 1) == 0;
}

/// What the table of sections says of the one of this name in a verified cubin.
std::optional<Elf64_Shdr> headerOf(Bytes cubin, const std::string &name) {
  auto header = entryOf<Elf64_Ehdr>(cubin, 0, 0);
  if (header.e_shstrndx >= header.e_shnum)
    return std::nullopt;
  auto names = entryOf<Elf64_Shdr>(cubin, header.e_shoff, header.e_shstrndx);
  if (!hasBytes(names))
    return std::nullopt;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    auto section = entryOf<Elf64_Shdr>(cubin, header.e_shoff, i);
    if (isString(cubin.subspan(names.sh_offset, names.sh_size), section.sh_name, name))
      return section;
  }
  return std::nullopt;
}

/// The bytes of the section of this name in a verified cubin; empty where there is none.
Bytes sectionNamed(Bytes cubin, const std::string &name) {
  std::optional<Elf64_Shdr> section = headerOf(cubin, name);
  return section && hasBytes(*section) ? cubin.subspan(section->sh_offset, section->sh_size)
                                       : Bytes();
}

/// One attribute of a kernel: what it is, and how it is stored.
struct Attribute {
  uint8_t format;
  uint8_t name;
  uint16_t value; ///< bytes that follow, where the format says so
};

constexpr uint8_t kBytesFollow = 4;
constexpr uint8_t kParameterInfo = 0x17; // EIATTR_KPARAM_INFO: one for each parameter
constexpr uint8_t kFrameSize = 0x11;     // EIATTR_FRAME_SIZE: of a symbol
constexpr uint8_t kRegisterCount = 0x2f; // EIATTR_REGCOUNT: of a symbol

/// What kFrameSize and kRegisterCount hold.
struct SymbolValue {
  uint32_t symbol;
  uint32_t value;
};

/// Calls `visit` for each attribute that has bytes, with its name and these.
template <typename Visit> void forEachAttribute(Bytes attributes, Visit visit) {
  while (attributes.size() >= sizeof(Attribute)) {
    auto attribute = entryOf<Attribute>(attributes, 0, 0);
    attributes = attributes.subspan(sizeof(Attribute));
    if (attribute.format != kBytesFollow)
      continue;
    Bytes bytes = attributes.first(std::min<size_t>(attribute.value, attributes.size()));
    visit(attribute.name, bytes);
    attributes = attributes.subspan(bytes.size());
  }
}

/// The string at `offset` of a table of strings; "" where it does not end within the table.
std::string stringAt(Bytes strings, uint64_t offset) {
  if (offset >= strings.size())
    return "";
  const char *text = reinterpret_cast<const char *>(strings.data()) + offset;
  size_t length = strnlen(text, strings.size() - offset);
  return length < strings.size() - offset ? std::string(text, length) : "";
}

/// The number of the symbol called `entry`.
std::optional<uint32_t> symbolNamed(Bytes cubin, const std::string &entry) {
  Bytes symbols = sectionNamed(cubin, ".symtab"), strings = sectionNamed(cubin, ".strtab");
  for (size_t i = 0; i < symbols.size() / sizeof(Elf64_Sym); ++i)
    if (isString(strings, entryOf<Elf64_Sym>(symbols, 0, i).st_name, entry))
      return static_cast<uint32_t>(i);
  return std::nullopt;
}

} // namespace

std::optional<size_t> parameterCount(Bytes cubin, const std::string &entry) {
  size_t count = 0;
  forEachAttribute(sectionNamed(cubin, ".nv.info." + entry),
                   [&](uint8_t name, Bytes) { count += name == kParameterInfo; });
  return count > 0 ? std::optional(count) : std::nullopt;
}

std::vector<std::string> kernelsOf(Bytes cubin) {
  constexpr std::string_view kOfOneKernel = ".nv.info.";
  auto header = entryOf<Elf64_Ehdr>(cubin, 0, 0);
  std::vector<std::string> kernels;
  if (header.e_shstrndx >= header.e_shnum)
    return kernels;
  auto names = entryOf<Elf64_Shdr>(cubin, header.e_shoff, header.e_shstrndx);
  for (size_t i = 0; hasBytes(names) && i < header.e_shnum; ++i) {
    auto section = entryOf<Elf64_Shdr>(cubin, header.e_shoff, i);
    std::string name = stringAt(cubin.subspan(names.sh_offset, names.sh_size), section.sh_name);
    if (name.starts_with(kOfOneKernel))
      kernels.push_back(name.substr(kOfOneKernel.size()));
  }
  return kernels;
}

std::optional<KernelResources> resourcesOf(Bytes cubin, const std::string &entry) {
  std::optional<uint32_t> symbol = symbolNamed(cubin, entry);
  KernelResources resources;
  forEachAttribute(sectionNamed(cubin, ".nv.info"), [&](uint8_t name, Bytes bytes) {
    if (bytes.size() < sizeof(SymbolValue))
      return;
    auto held = entryOf<SymbolValue>(bytes, 0, 0);
    if (held.symbol != symbol)
      return;
    if (name == kRegisterCount)
      resources.registers = held.value;
    else if (name == kFrameSize)
      resources.localBytes = held.value;
  });
  if (std::optional<Elf64_Shdr> shared = headerOf(cubin, ".nv.shared." + entry))
    resources.sharedBytes = static_cast<uint32_t>(shared->sh_size);
  return resources.registers > 0 ? std::optional(resources) : std::nullopt;
}

} // namespace smelt::runtime
