// Arena slots and step dependencies, checked against a brute-force model on random step graphs.
#include "codegen/plan_memory.h"

#include "ir/dialect.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <set>

namespace smelt::codegen {
namespace {

struct PlanMemory : testing::Test {
  mlir::MLIRContext context;
  Dim sequence = (context.loadDialect<SmeltDialect>(), Dim::symbol(&context, "seq"));
  Dim bytes(int64_t perToken) { return sequence * perToken; }

  /// completed[i]: every step ordered before i by the plan's dependencies.
  static std::vector<std::set<unsigned>> closure(const MemoryPlan &plan) {
    std::vector<std::set<unsigned>> before(plan.dependsOn.size());
    for (unsigned i = 0; i < before.size(); ++i)
      for (unsigned dependency : plan.dependsOn[i]) {
        before[i].insert(dependency);
        before[i].insert(before[dependency].begin(), before[dependency].end());
      }
    return before;
  }

  static void expectSound(llvm::ArrayRef<StepAccess> steps, const MemoryPlan &plan) {
    auto before = closure(plan);
    std::vector<std::vector<unsigned>> touching(plan.slots.size());
    std::vector<int> writer(plan.slots.size(), -1);
    for (unsigned i = 0; i < steps.size(); ++i) {
      for (unsigned buffer : steps[i].writes)
        writer[buffer] = i, touching[buffer].push_back(i);
      for (unsigned buffer : steps[i].reads) {
        touching[buffer].push_back(i);
        EXPECT_TRUE(before[i].count(writer[buffer]))
            << "step " << i << " may read buffer " << buffer << " too early";
      }
    }
    for (unsigned a = 0; a < plan.slots.size(); ++a)
      for (unsigned b = 0; b < plan.slots.size(); ++b) {
        if (a == b || plan.slots[a] != plan.slots[b] || writer[a] > writer[b])
          continue;
        for (unsigned user : touching[a])
          EXPECT_TRUE(before[writer[b]].count(user))
              << "buffer " << b << " may overwrite buffer " << a << " under step " << user;
      }
  }
};

TEST_F(PlanMemory, AChainAlternatesBetweenTwoSlots) {
  std::vector<StepAccess> steps{{{}, {0}}, {{0}, {1}}, {{1}, {2}}, {{2}, {3}}};
  std::vector<Dim> sizes(4, bytes(64));
  MemoryPlan plan = planMemory(steps, sizes);
  EXPECT_EQ(plan.slotCount, 2u);
  EXPECT_EQ(plan.slots, (std::vector<unsigned>{0, 1, 0, 1}));
  EXPECT_EQ(plan.dependsOn, (std::vector<std::vector<unsigned>>{{}, {0}, {1}, {2}}));
  expectSound(steps, plan);
}

TEST_F(PlanMemory, DependenciesAreTransitivelyReduced) {
  // 2 reads what 0 and 1 wrote; 1 already follows 0.
  std::vector<StepAccess> steps{{{}, {0}}, {{0}, {1}}, {{0, 1}, {2}}};
  std::vector<Dim> sizes(3, bytes(64));
  EXPECT_EQ(planMemory(steps, sizes).dependsOn[2], std::vector<unsigned>{1});
}

TEST_F(PlanMemory, ABufferThatLivesOnKeepsItsSlot) {
  std::vector<StepAccess> steps{{{}, {0}}, {{0}, {1}}, {{1}, {2}}, {{0, 2}, {3}}};
  std::vector<Dim> sizes(4, bytes(64));
  MemoryPlan plan = planMemory(steps, sizes);
  EXPECT_NE(plan.slots[0], plan.slots[1]);
  EXPECT_NE(plan.slots[0], plan.slots[2]);
  EXPECT_NE(plan.slots[0], plan.slots[3]) << "a step must not overwrite what it reads";
  expectSound(steps, plan);
}

TEST_F(PlanMemory, SizesThatCannotBeComparedDoNotShare) {
  std::vector<StepAccess> steps{{{}, {0}}, {{0}, {1}}, {{1}, {2}}};
  Dim batch = Dim::symbol(&context, "batch");
  std::vector<Dim> sizes{sequence * sequence, bytes(64), batch * 1024};
  EXPECT_EQ(planMemory(steps, sizes).slotCount, 3u);
}

TEST_F(PlanMemory, PinnedBuffersAreOrderedButShareNoSlot) {
  std::vector<StepAccess> steps{{{}, {0}}, {{0}, {1}}, {{1}, {2}}};
  std::vector<Dim> sizes{bytes(64), Dim(), bytes(64)};
  MemoryPlan plan = planMemory(steps, sizes);
  EXPECT_EQ(plan.slots[1], MemoryPlan::kPinned);
  EXPECT_EQ(plan.slotCount, 1u);
  EXPECT_EQ(plan.dependsOn[2], std::vector<unsigned>{1});
}

/// Memory is cheaper than an edge that lets one tower wait for the other.
TEST_F(PlanMemory, TwoTowersRunSideBySide) {
  constexpr unsigned kFloors = 20;
  std::vector<StepAccess> steps;
  std::vector<Dim> sizes;
  for (unsigned floor = 0; floor < kFloors; ++floor)
    for (unsigned tower = 0; tower < 2; ++tower) {
      StepAccess step;
      if (floor > 0)
        step.reads.push_back(steps.size() - 2);
      step.writes.push_back(steps.size());
      steps.push_back(step);
      sizes.push_back(bytes(64));
    }
  unsigned last = steps.size();
  steps.push_back({{last - 2, last - 1}, {last}});
  sizes.push_back(bytes(64));
  MemoryPlan plan = planMemory(steps, sizes);
  for (unsigned i = 0; i < last; ++i)
    EXPECT_EQ(plan.dependsOn[i], i < 2 ? std::vector<unsigned>() : std::vector<unsigned>{i - 2});
  EXPECT_EQ(plan.dependsOn[last], (std::vector<unsigned>{last - 2, last - 1}));
  EXPECT_EQ(plan.slotCount, 4u) << "each tower alternates between two slots";
  expectSound(steps, plan);
}

/// 0 writes a, 1 and 2 read it, 3 writes it again, 4 reads that.
TEST_F(PlanMemory, OrdersReadersAndWritersOfABufferThatIsWrittenTwice) {
  std::vector<StepAccess> steps{{{}, {0}}, {{0}, {1}}, {{0}, {2}}, {{}, {0}}, {{0}, {3}}};
  std::vector<Dim> sizes(4, Dim());
  MemoryPlan plan = planMemory(steps, sizes);
  EXPECT_EQ(plan.dependsOn, (std::vector<std::vector<unsigned>>{{}, {0}, {0}, {1, 2}, {3}}));
}

/// The caller's memory has no writer before the first step that updates it.
TEST_F(PlanMemory, AnUpdateInPlaceWaitsForTheReadersOfWhatWasThere) {
  std::vector<StepAccess> steps{{{0}, {1}}, {{0}, {2}}, {{0, 1}, {0}}, {{0, 2}, {3}}};
  std::vector<Dim> sizes{Dim(), bytes(64), bytes(64), bytes(64)};
  MemoryPlan plan = planMemory(steps, sizes);
  EXPECT_EQ(plan.dependsOn, (std::vector<std::vector<unsigned>>{{}, {}, {0, 1}, {2}}));
  expectSound({{{}, {1}}, {{}, {2}}, {{1}, {}}, {{2}, {3}}}, plan);
}

TEST_F(PlanMemory, ScratchLivesForOneStep) {
  std::vector<StepAccess> steps{{{}, {0, 1}}, {{0}, {2, 3}}, {{2}, {4, 5}}};
  std::vector<Dim> sizes(6, bytes(64));
  MemoryPlan plan = planMemory(steps, sizes);
  EXPECT_EQ(plan.slotCount, 3u);
  EXPECT_NE(plan.slots[0], plan.slots[1]);
  expectSound(steps, plan);
}

/// A chain, a comb (each tooth is read at the end) and a wide fan, of 50,000 steps each. Quadratic
/// plans take minutes here.
TEST_F(PlanMemory, TimeGrowsWithTheStepsAlone) {
  constexpr unsigned kSteps = 50000;
  Dim size = bytes(64);
  std::vector<Dim> sizes(kSteps + 1, size);
  std::vector<StepAccess> chain(kSteps), comb(kSteps), fan(kSteps);
  for (unsigned i = 0; i < kSteps; ++i) {
    chain[i].writes = comb[i].writes = fan[i].writes = {i};
    if (i > 0) {
      chain[i].reads = {i - 1};
      comb[i].reads = {i % 2 == 0 ? i - 2 : i - 1};
      fan[i].reads = {0};
    }
  }
  for (auto *steps : {&chain, &comb, &fan}) {
    StepAccess last;
    for (unsigned i = steps == &chain ? kSteps - 1 : 0; i < kSteps; ++i)
      last.reads.push_back(i);
    last.writes = {kSteps};
    steps->push_back(last);
    std::clock_t start = std::clock(); // of this process: neighbours cost nothing
    MemoryPlan plan = planMemory(*steps, sizes);
    double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 40.0); // with sanitizers; squares take minutes
    EXPECT_LE(plan.slotCount, steps == &chain ? 2u : kSteps + 1);
  }
}

TEST_F(PlanMemory, RandomGraphsAreSound) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 200; ++round) {
    unsigned count = 2 + random() % 40;
    std::vector<StepAccess> steps(count);
    std::vector<Dim> sizes;
    for (unsigned i = 0; i < count; ++i) {
      steps[i].writes.push_back(i);
      sizes.push_back(bytes(64 << random() % 3));
      std::set<unsigned> reads;
      for (unsigned k = 0; i > 0 && k < random() % 4; ++k)
        reads.insert(i - 1 - random() % std::min(i, 6u));
      steps[i].reads.assign(reads.begin(), reads.end());
    }
    MemoryPlan plan = planMemory(steps, sizes);
    expectSound(steps, plan);
  }
}

} // namespace
} // namespace smelt::codegen
