#include "runtime/idle_kernels.h"

#include <cstring>
#include <elf.h>
#include <regex>
#include <set>
#include <string_view>

namespace smelt::runtime {
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

/// Of a declaration such as `.param .u64 .ptr .align 1 x` or `.param .align 64 .b8 map[128]`.
size_t parameterBytes(const std::string &declaration) {
  static const std::regex kType(R"(\.[usbf](8|16|32|64)\b)"), kCount(R"(\[(\d+)\])");
  std::smatch type, count;
  size_t bits = std::regex_search(declaration, type, kType) ? std::stoul(type[1]) : 0;
  return bits / 8 * (std::regex_search(declaration, count, kCount) ? std::stoul(count[1]) : 1);
}

std::map<std::string, FakeKernel> kernelsOfPtx(const std::string &ptx) {
  static const std::regex kEntry(R"(\.entry\s+(\w+)\s*\(([^)]*)\))"), kParameter(R"(\.param[^,]*)");
  using Matches = std::sregex_iterator;
  std::map<std::string, FakeKernel> kernels;
  for (Matches entry(ptx.begin(), ptx.end(), kEntry), end; entry != end; ++entry) {
    std::string parameters = (*entry)[2];
    FakeKernel &kernel = kernels[(*entry)[1]];
    for (Matches one(parameters.begin(), parameters.end(), kParameter); one != end; ++one)
      kernel.parameterBytes.push_back(parameterBytes(one->str()));
  }
  return kernels;
}

std::map<std::string, FakeKernel> kernelsOfCubin(const char *file) {
  constexpr std::string_view kInfo = ".nv.info.";
  auto header = readAt<Elf64_Ehdr>(file);
  auto section = [&](unsigned index) {
    return readAt<Elf64_Shdr>(file + header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  std::map<std::string, FakeKernel> kernels;
  if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr))
    return kernels;
  const char *names = file + section(header.e_shstrndx).sh_offset;
  for (unsigned index = 0; index < header.e_shnum; ++index) {
    Elf64_Shdr info = section(index);
    std::string_view name = names + info.sh_name;
    if (name.starts_with(kInfo))
      kernels[std::string(name.substr(kInfo.size()))].parameterBytes =
          parameterBytes(file + info.sh_offset, info.sh_size);
  }
  return kernels;
}

} // namespace

std::map<std::string, FakeKernel> idleKernels(const void *code) {
  auto *bytes = static_cast<const char *>(code);
  bool isCubin = std::strncmp(bytes, ELFMAG, SELFMAG) == 0;
  return isCubin ? kernelsOfCubin(bytes) : kernelsOfPtx(bytes);
}

void addIdleKernels(FakeDriver &fake, const void *code) {
  for (auto &[name, kernel] : idleKernels(code))
    fake.addKernelIfNew(name, std::move(kernel));
}

std::shared_ptr<DriverApi> driverOfAnyPlan(FakeDriver &fake) {
  auto api = std::make_shared<DriverApi>(*fake.driver());
  api->cuModuleLoadDataEx =
      [&fake, load = api->cuModuleLoadDataEx](CUmodule *module, const void *code, unsigned count,
                                              CUjit_option *options, void **values) {
        addIdleKernels(fake, code);
        return load(module, code, count, options, values);
      };
  return api;
}

} // namespace smelt::runtime
