#include "runtime/verify_cubin.h"

#include <cstring>
#include <elf.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace smelt::runtime {
namespace {

/// A header, one section of 16 bytes, the section table, the segment table.
struct Cubin {
  Elf64_Ehdr header = {};
  char text[16] = {};
  Elf64_Shdr section = {};
  Elf64_Phdr segment = {};

  Cubin() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shoff = offsetof(Cubin, section);
    header.e_shnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_phoff = offsetof(Cubin, segment);
    header.e_phnum = 1;
    header.e_phentsize = sizeof(Elf64_Phdr);
    section.sh_type = SHT_PROGBITS;
    section.sh_offset = segment.p_offset = offsetof(Cubin, text);
    section.sh_size = segment.p_filesz = sizeof(text);
  }

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(this, 1)); }
};

TEST(VerifyCubin, AcceptsWhatLiesWithin) {
  Cubin cubin;
  EXPECT_TRUE(verifyCubin(cubin.bytes()).isOk());
  cubin.section.sh_type = SHT_NOBITS; // takes no bytes of the file
  cubin.section.sh_size = 1 << 20;
  EXPECT_TRUE(verifyCubin(cubin.bytes()).isOk());
}

TEST(VerifyCubin, RefusesEveryTruncation) {
  Cubin cubin;
  for (size_t length = 0; length < sizeof(cubin); ++length)
    EXPECT_EQ(verifyCubin(cubin.bytes().first(length)).code(), StatusCode::kPlan) << length;
}

TEST(VerifyCubin, RefusesWhatPointsOutside) {
  void (*const changes[])(Cubin &) = {
      [](Cubin &cubin) { cubin.header.e_ident[0] = 'E'; },
      [](Cubin &cubin) { cubin.header.e_ident[EI_CLASS] = ELFCLASS32; },
      [](Cubin &cubin) { cubin.header.e_ident[EI_DATA] = ELFDATA2MSB; },
      [](Cubin &cubin) { cubin.header.e_shoff = UINT64_MAX - 8; },
      [](Cubin &cubin) { cubin.header.e_shnum = 100; },
      [](Cubin &cubin) { cubin.header.e_shnum = 0; },
      [](Cubin &cubin) { cubin.header.e_shentsize = 8; },
      [](Cubin &cubin) { cubin.header.e_phoff = sizeof(Cubin); },
      [](Cubin &cubin) { cubin.header.e_phnum = 2; },
      [](Cubin &cubin) { cubin.header.e_phentsize = 0; },
      [](Cubin &cubin) { cubin.section.sh_size = sizeof(Cubin); },
      [](Cubin &cubin) { cubin.section.sh_offset = UINT64_MAX; },
      [](Cubin &cubin) { cubin.segment.p_filesz = UINT64_MAX; },
  };
  for (auto change : changes) {
    Cubin cubin;
    change(cubin);
    EXPECT_EQ(verifyCubin(cubin.bytes()).code(), StatusCode::kPlan);
  }
}

/// Of that many segments or more, the count stands in the first section.
TEST(VerifyCubin, RefusesMoreSegmentsThanTheHeaderCounts) {
  Cubin cubin;
  std::vector<std::byte> file(sizeof(Cubin) + PN_XNUM * sizeof(Elf64_Phdr));
  cubin.header.e_phoff = sizeof(Cubin);
  cubin.header.e_phnum = PN_XNUM - 1;
  std::memcpy(file.data(), &cubin, sizeof(Cubin));
  EXPECT_TRUE(verifyCubin(file).isOk());
  cubin.header.e_phnum = PN_XNUM;
  std::memcpy(file.data(), &cubin, sizeof(Cubin));
  EXPECT_EQ(verifyCubin(file).code(), StatusCode::kPlan);
}

/// Such a section takes no bytes of the file, so that its offset and size may be anything.
TEST(VerifyCubin, ReadsNoNamesOfASectionWithoutBytes) {
  for (uint32_t type : {SHT_NULL, SHT_NOBITS}) {
    Cubin cubin;
    cubin.header.e_shstrndx = 0;
    cubin.section.sh_type = type;
    cubin.section.sh_offset = cubin.section.sh_size = uint64_t{1} << 60;
    EXPECT_TRUE(verifyCubin(cubin.bytes()).isOk());
    EXPECT_EQ(parameterCount(cubin.bytes(), "kernel"), std::nullopt);
  }
}

/// Sections by their names, behind a table of them: as an assembler writes what it says of kernels.
class Sections {
public:
  Sections() { add("", SHT_NULL, {}); }
  void add(const std::string &name, uint32_t type, const std::string &bytes, uint64_t size = 0) {
    Elf64_Shdr section = {};
    section.sh_name = static_cast<uint32_t>(names.size());
    section.sh_type = type;
    section.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
    section.sh_size = type == SHT_NOBITS ? size : bytes.size();
    names += name + '\0';
    contents += bytes;
    sections.push_back(section);
  }
  std::string file() {
    add(".shstrtab", SHT_STRTAB, "");
    sections.back().sh_size = names.size();
    contents += names;
    Elf64_Ehdr header = Cubin().header;
    header.e_phnum = 0;
    header.e_shnum = static_cast<uint16_t>(sections.size());
    header.e_shstrndx = static_cast<uint16_t>(sections.size() - 1);
    header.e_shoff = sizeof(Elf64_Ehdr) + contents.size();
    return bytesOf(header) + contents +
           std::string(reinterpret_cast<const char *>(sections.data()),
                       sections.size() * sizeof(Elf64_Shdr));
  }
  template <typename T> static std::string bytesOf(const T &value) {
    return {reinterpret_cast<const char *>(&value), sizeof(value)};
  }

private:
  std::string contents, names;
  std::vector<Elf64_Shdr> sections;
};

/// EIATTR_REGCOUNT or EIATTR_FRAME_SIZE of a symbol.
std::string attribute(uint8_t name, uint32_t symbol, uint32_t value) {
  struct {
    uint8_t format = 4, name;
    uint16_t bytes = 8;
    uint32_t symbol, value;
  } held;
  held.name = name, held.symbol = symbol, held.value = value;
  return Sections::bytesOf(held);
}

TEST(VerifyCubin, ReadsWhatAKernelTakes) {
  Elf64_Sym none = {}, other = {}, kernel = {};
  other.st_name = 1;
  kernel.st_name = 7;
  Sections sections;
  sections.add(".strtab", SHT_STRTAB, std::string("\0other\0kernel\0", 14));
  sections.add(".symtab", SHT_SYMTAB,
               Sections::bytesOf(none) + Sections::bytesOf(other) + Sections::bytesOf(kernel));
  constexpr uint8_t kFrame = 0x11, kRegisters = 0x2f;
  sections.add(".nv.info", SHT_LOPROC,
               attribute(kRegisters, 2, 168) + attribute(kFrame, 2, 48) +
                   std::string("\x03\x1b\xff\0", 4) + attribute(kRegisters, 1, 20));
  sections.add(".nv.shared.kernel", SHT_NOBITS, "", 2048);
  std::string file = sections.file();
  auto bytes = std::as_bytes(std::span(file));
  ASSERT_TRUE(verifyCubin(bytes).isOk());
  std::optional<KernelResources> known = resourcesOf(bytes, "kernel");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->registers, 168u);
  EXPECT_EQ(known->localBytes, 48u);
  EXPECT_EQ(known->sharedBytes, 2048u);
  EXPECT_EQ(resourcesOf(bytes, "other")->registers, 20u);
  EXPECT_EQ(resourcesOf(bytes, "other")->sharedBytes, 0u);
  EXPECT_FALSE(resourcesOf(bytes, "kerne"));
  EXPECT_FALSE(resourcesOf(Cubin().bytes(), "kernel"));
}

} // namespace
} // namespace smelt::runtime
