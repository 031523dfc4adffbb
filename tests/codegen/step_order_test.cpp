// The order of steps, checked against brute force on random step graphs.
#include "codegen/step_order.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <set>

namespace smelt::codegen {
namespace {

using Dependencies = std::vector<std::vector<unsigned>>;
using Sets = std::vector<std::set<unsigned>>;

/// A step that writes a buffer of its own number.
StepAccess step(unsigned number, llvm::ArrayRef<unsigned> reads, bool isLight = false) {
  return {.reads = llvm::SmallVector<unsigned>(reads), .writes = {number}, .isLight = isLight};
}

Dependencies order(llvm::ArrayRef<StepAccess> steps) {
  return orderSteps(steps, steps.size()).dependsOn;
}

Dependencies line(unsigned length) {
  Dependencies dependsOn(length);
  for (unsigned i = 1; i < length; ++i)
    dependsOn[i] = {i - 1};
  return dependsOn;
}

/// Every step that must complete before each.
Sets closure(const Dependencies &dependsOn) {
  Sets before(dependsOn.size());
  for (unsigned i = 0; i < before.size(); ++i)
    for (unsigned earlier : dependsOn[i]) {
      before[i].insert(earlier);
      before[i].insert(before[earlier].begin(), before[earlier].end());
    }
  return before;
}

/// As a BERT begins: embedding, projection, mask (of the inputs), attention; then the next layers,
/// which read the mask too.
TEST(StepOrder, AMaskBesideAProjectionIsTakenIntoTheLine) {
  std::vector<StepAccess> steps{step(0, {}),     step(1, {0}), step(2, {}, true),
                                step(3, {1, 2}), step(4, {3}), step(5, {2, 4})};
  EXPECT_EQ(order(steps), line(6));
}

/// As a reaction model's second half begins: two light steps at one join, one at the next whose
/// step comes before the join's other end.
TEST(StepOrder, SeveralLightStepsAtFollowingJoinsAreTakenIn) {
  std::vector<StepAccess> steps{step(0, {}),        step(1, {}, true), step(2, {}, true),
                                step(3, {0, 1, 2}), step(4, {}, true), step(5, {3}),
                                step(6, {4, 5})};
  EXPECT_EQ(order(steps), line(7));
}

TEST(StepOrder, ALightStepThatNobodyReadsIsTakenIn) {
  EXPECT_EQ(order({step(0, {}), step(1, {0}, true), step(2, {0}), step(3, {2})}), line(4));
  EXPECT_EQ(order({step(0, {}), step(1, {0}), step(2, {1}), step(3, {0}, true)}), line(4));
}

TEST(StepOrder, HeavyBranchesStaySideBySide) {
  std::vector<StepAccess> steps{step(0, {}), step(1, {0}), step(2, {0}), step(3, {1, 2})};
  EXPECT_EQ(order(steps), (Dependencies{{}, {0}, {0}, {1, 2}}));
}

/// Each tower ends in a light step; the other tower must not wait for it.
TEST(StepOrder, ATowerWaitsForNoOtherBecauseItEndsInALightStep) {
  std::vector<StepAccess> steps{step(0, {}), step(1, {0}, true), step(2, {}), step(3, {2}),
                                step(4, {1, 3})};
  EXPECT_EQ(order(steps), (Dependencies{{}, {0}, {}, {2}, {1, 3}}));
}

/// Two towers read one mask: it waits for neither's projection.
TEST(StepOrder, AMaskOfTwoTowersWaitsForNeither) {
  std::vector<StepAccess> steps{step(0, {}), step(1, {}, true), step(2, {0, 1}), step(3, {}),
                                step(4, {1, 3})};
  Sets before = closure(order(steps));
  EXPECT_FALSE(before[1].count(0) || before[1].count(3));
  EXPECT_FALSE(before[3].count(0)) << "one tower waits for the other";
}

TEST(StepOrder, WhatRunsOnceIsNotOrdered) {
  std::vector<StepAccess> steps{
      {.reads = {}, .writes = {0}, .runsOnce = true}, step(1, {}, true), step(2, {1}, true)};
  EXPECT_EQ(order(steps), (Dependencies{{}, {}, {1}}));
}

std::vector<StepAccess> randomSteps(std::mt19937 &random) {
  unsigned count = 2 + random() % 40;
  std::vector<StepAccess> steps;
  for (unsigned i = 0; i < count; ++i) {
    std::set<unsigned> reads;
    for (unsigned k = 0; i > 0 && k < random() % 4; ++k)
      reads.insert(i - 1 - random() % std::min(i, 6u));
    steps.push_back(step(i, std::vector<unsigned>(reads.begin(), reads.end()), random() % 2 == 0));
  }
  return steps;
}

/// Nothing is ordered less, and no heavy step waits for a heavy one that it did not wait for.
TEST(StepOrder, RandomGraphsKeepTheirOrderAndTheirHeavyBranches) {
  std::mt19937 random(20261122);
  int taken = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<StepAccess> steps = randomSteps(random), heavy = steps;
    for (StepAccess &access : heavy)
      access.isLight = false;
    Sets before = closure(order(heavy)), after = closure(order(steps));
    for (unsigned i = 0; i < steps.size(); ++i) {
      for (unsigned earlier : steps[i].reads)
        EXPECT_TRUE(before[i].count(earlier));
      for (unsigned earlier : before[i])
        EXPECT_TRUE(after[i].count(earlier));
      for (unsigned earlier : after[i])
        EXPECT_TRUE(steps[i].isLight || steps[earlier].isLight || before[i].count(earlier))
            << "step " << i << " waits for step " << earlier << ", round " << round;
      taken += after[i].size() > before[i].size();
    }
  }
  EXPECT_GT(taken, 1000);
}

/// Dependencies name no step that another of them implies.
TEST(StepOrder, DependenciesAreTransitivelyReduced) {
  std::mt19937 random(20261123);
  for (int round = 0; round < 200; ++round) {
    Dependencies dependsOn = order(randomSteps(random));
    Sets before = closure(dependsOn);
    for (const std::vector<unsigned> &direct : dependsOn)
      for (unsigned one : direct)
        for (unsigned other : direct)
          EXPECT_FALSE(before[one].count(other));
  }
}

/// Light steps of which each has its join, and light steps that all have one: 50,000 of both.
TEST(StepOrder, TimeGrowsWithTheStepsAlone) {
  constexpr unsigned kSteps = 50000;
  std::vector<StepAccess> ladder{step(0, {})}, fan{step(0, {})};
  std::vector<unsigned> all;
  for (unsigned i = 1; i < kSteps; ++i) {
    bool isRung = i % 2 == 1;
    ladder.push_back(isRung ? step(i, {}, true) : step(i, {i - 2, i - 1}));
    fan.push_back(step(i, {0}, true));
    all.push_back(i);
  }
  fan.push_back(step(kSteps, all));
  std::clock_t start = std::clock(); // of this process: neighbours cost nothing
  EXPECT_EQ(order(ladder), line(kSteps));
  order(fan);
  double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 30.0); // with sanitizers; squares take minutes
}

} // namespace
} // namespace smelt::codegen
