// Writes the diamond plan to the path that it is given.

#include "tests/runtime/diamond_plan.h"

#include <cstdio>

int main(int argumentCount, char **arguments) {
  if (argumentCount != 2) {
    std::fprintf(stderr, "usage: make_test_plan PATH\n");
    return 2;
  }
  smelt::test::DiamondPlan plan;
  smelt::Status status = smelt::codegen::writePlan(arguments[1], plan.contents);
  if (!status.isOk())
    std::fprintf(stderr, "make_test_plan: %s\n", status.message().c_str());
  return static_cast<int>(status.code());
}
