#include "tests/runtime/idle_kernels.h"

#include <cstring>
#include <elf.h>
#include <set>
#include <string_view>

namespace smelt::test {
namespace {

/// What a section ".nv.info.<entry>" says of one parameter: a record of attribute 0x17, whose last
/// word has the size above its 18 low bits.
struct ParameterRecord {
  uint32_t index;
  uint16_t ordinal;
  uint16_t offset;
  uint32_t bits;
};

constexpr uint8_t kSizedRecord = 4;
constexpr uint8_t kParameter = 0x17;

template <typename T> T readAt(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

std::vector<size_t> parameterBytes(const char *info, size_t size) {
  std::vector<size_t> bytes;
  for (size_t at = 0; at + 4 <= size;) {
    bool isSized = static_cast<uint8_t>(info[at]) == kSizedRecord;
    size_t length = isSized ? readAt<uint16_t>(info + at + 2) : 0;
    bool isParameter = isSized && static_cast<uint8_t>(info[at + 1]) == kParameter;
    if (isParameter && length == sizeof(ParameterRecord)) {
      auto record = readAt<ParameterRecord>(info + at + 4);
      bytes.resize(std::max<size_t>(bytes.size(), record.ordinal + 1u));
      bytes[record.ordinal] = record.bits >> 18;
    }
    at += 4 + length;
  }
  return bytes;
}

} // namespace

void addIdleKernels(runtime::FakeDriver &fake, const void *cubin) {
  constexpr std::string_view kInfo = ".nv.info.";
  const char *file = static_cast<const char *>(cubin);
  auto header = readAt<Elf64_Ehdr>(file);
  auto section = [&](unsigned index) {
    return readAt<Elf64_Shdr>(file + header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr))
    return;
  const char *names = file + section(header.e_shstrndx).sh_offset;
  for (unsigned index = 0; index < header.e_shnum; ++index) {
    Elf64_Shdr info = section(index);
    std::string_view name = names + info.sh_name;
    if (name.starts_with(kInfo))
      fake.addKernel(std::string(name.substr(kInfo.size())),
                     {parameterBytes(file + info.sh_offset, info.sh_size), nullptr});
  }
}

} // namespace smelt::test
