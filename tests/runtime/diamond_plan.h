// A plan of four launches that depend on each other like a diamond, in PTX that a driver compiles.
#pragma once

#include "tests/runtime/test_plan.h"

namespace smelt::test {

/// out = gain*(x + y) + gain*(x + y): add, two independent scales, and add again, each of which may
/// overlap with what it depends on. For sm_90 and sm_80.
struct DiamondPlan : TestPlan {
  DiamondPlan();

  std::string sources[2];
};

} // namespace smelt::test
