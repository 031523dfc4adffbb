#include "runtime/verify_cubin.h"

#include <cstring>
#include <elf.h>
#include <gtest/gtest.h>
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

} // namespace
} // namespace smelt::runtime
