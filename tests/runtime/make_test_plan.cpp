// Writes the diamond plan to the path that it is given; with "ptx" behind it, with code that declares
// its kernels to a driver that does not know them.

#include "tests/runtime/diamond_plan.h"

#include <cstdio>
#include <string_view>

int main(int argumentCount, char **arguments) {
  bool isPtx = argumentCount == 3 && std::string_view(arguments[2]) == "ptx";
  if (argumentCount != 2 && !isPtx) {
    std::fprintf(stderr, "usage: make_test_plan PATH [ptx]\n");
    return 2;
  }
  smelt::test::DiamondPlan plan;
  if (isPtx)
    plan.usePtx(0, smelt::test::ptxOfAddAndScale("sm_80"));
  smelt::Status status = smelt::codegen::writePlan(arguments[1], plan.contents);
  if (!status.isOk())
    std::fprintf(stderr, "make_test_plan: %s\n", status.message().c_str());
  return static_cast<int>(status.code());
}
