#include "runtime/verify_cubin.h"

#include "runtime/checked_math.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

namespace smelt::runtime {

namespace {

using Bytes = std::span<const std::byte>;

Status invalid(const char *problem) {
  return Status(StatusCode::kPlan, std::string("its code ") + problem);
}

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
    return invalid("is cut off");
  auto header = entryOf<Elf64_Ehdr>(cubin, 0, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    return invalid("is no ELF file");
  if (hasExtendedCounts(header))
    return invalid("has more sections or segments than its header counts");
  if (!holdsTable<Elf64_Shdr>(cubin, header.e_shoff, header.e_shnum, header.e_shentsize) ||
      !holdsTable<Elf64_Phdr>(cubin, header.e_phoff, header.e_phnum, header.e_phentsize))
    return invalid("has tables beyond its end");
  for (size_t i = 0; i < header.e_shnum; ++i) {
    auto section = entryOf<Elf64_Shdr>(cubin, header.e_shoff, i);
    if (hasBytes(section) && !liesWithin(section.sh_offset, section.sh_size, cubin.size()))
      return invalid("has a section beyond its end");
  }
  for (size_t i = 0; i < header.e_phnum; ++i) {
    auto segment = entryOf<Elf64_Phdr>(cubin, header.e_phoff, i);
    if (!liesWithin(segment.p_offset, segment.p_filesz, cubin.size()))
      return invalid("has a segment beyond its end");
  }
  return {};
}

namespace {

/// The bytes of the section of this name in a verified cubin; empty where there is none.
Bytes sectionNamed(Bytes cubin, const std::string &name) {
  auto header = entryOf<Elf64_Ehdr>(cubin, 0, 0);
  if (header.e_shstrndx >= header.e_shnum)
    return {};
  auto names = entryOf<Elf64_Shdr>(cubin, header.e_shoff, header.e_shstrndx);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    auto section = entryOf<Elf64_Shdr>(cubin, header.e_shoff, i);
    bool isNamed = hasBytes(names) && hasBytes(section) &&
                   liesWithin(section.sh_name, name.size() + 1, names.sh_size) &&
                   std::memcmp(cubin.data() + names.sh_offset + section.sh_name, name.c_str(),
                               name.size() + 1) == 0;
    if (isNamed)
      return cubin.subspan(section.sh_offset, section.sh_size);
  }
  return {};
}

/// One attribute of a kernel: what it is, and how it is stored.
struct Attribute {
  uint8_t format;
  uint8_t name;
  uint16_t value; ///< bytes that follow, where the format says so
};

constexpr uint8_t kBytesFollow = 4;
constexpr uint8_t kParameterInfo = 0x17; // EIATTR_KPARAM_INFO: one for each parameter

} // namespace

std::optional<size_t> parameterCount(Bytes cubin, const std::string &entry) {
  Bytes attributes = sectionNamed(cubin, ".nv.info." + entry);
  size_t count = 0;
  while (attributes.size() >= sizeof(Attribute)) {
    auto attribute = entryOf<Attribute>(attributes, 0, 0);
    count += attribute.format == kBytesFollow && attribute.name == kParameterInfo ? 1 : 0;
    size_t bytes = sizeof(Attribute) + (attribute.format == kBytesFollow ? attribute.value : 0);
    attributes = attributes.subspan(std::min(bytes, attributes.size()));
  }
  return count > 0 ? std::optional(count) : std::nullopt;
}

} // namespace smelt::runtime
