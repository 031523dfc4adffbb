// Writes the diamond plan to the path that it is given; with "ptx" behind it, with code that declares
// its kernels to a driver that does not know them; with "newer", as the format's next version; with "ir" and a file, with
// that as the text of its fused IR.

#include "runtime/checksum.h"
#include "tests/runtime/diamond_plan.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

/// Raises the version in the header of a plan's file, and seals it again.
static void makeNewer(const char *path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  smelt::plan::PlanHeader header;
  file.read(reinterpret_cast<char *>(&header), sizeof(header));
  ++header.formatMinor;
  auto sealed =
      std::as_bytes(std::span(&header, 1)).first(offsetof(smelt::plan::PlanHeader, headerChecksum));
  header.headerChecksum = smelt::checksumOf(sealed);
  file.seekp(0).write(reinterpret_cast<const char *>(&header), sizeof(header));
}

static std::string readText(const char *path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int main(int argumentCount, char **arguments) {
  std::string_view kind = argumentCount >= 3 ? arguments[2] : "";
  bool isKnown = kind.empty() || kind == "ptx" || kind == "newer" || kind == "ir";
  if (argumentCount < 2 || argumentCount > 4 || !isKnown ||
      (argumentCount == 4) != (kind == "ir")) {
    std::fprintf(stderr, "usage: make_test_plan PATH [ptx|newer|ir FILE]\n");
    return 2;
  }
  std::string ir = kind == "ir" ? readText(arguments[3]) : "";
  smelt::test::DiamondPlan plan;
  if (kind == "ptx")
    plan.usePtx(0, smelt::test::ptxOfAddAndScale("sm_80"));
  plan.contents.ir = ir;
  smelt::Status status = smelt::codegen::writePlan(arguments[1], plan.contents);
  if (!status.isOk())
    std::fprintf(stderr, "make_test_plan: %s\n", status.message().c_str());
  else if (kind == "newer")
    makeNewer(arguments[1]);
  return static_cast<int>(status.code());
}
