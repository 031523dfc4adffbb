// A plan of four launches that depend on each other like a diamond.
#pragma once

#include "tests/runtime/test_plan.h"

namespace smelt::test {

/// out = gain*(x + y) + gain*(x + y): add, two independent scales, and add again, each of which may
/// overlap with what it depends on. For sm_90 and sm_80.
struct DiamondPlan : TestPlan {
  DiamondPlan();
  /// What stands in for the code of a program; only a fake driver takes what is there at first.
  void setCubin(size_t program, std::string bytes);

  /// Of each program in PTX.
  std::string sources[2];

private:
  std::string cubins[2];
};

} // namespace smelt::test
