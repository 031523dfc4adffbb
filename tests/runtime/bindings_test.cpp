// The caller's memory: outputs that take over inputs, capacities, overlaps.
#include "tests/runtime/growing_plan.h"

namespace smelt::runtime {
namespace {

using test::FakeModel;
using test::isOk;
using test::isRefused;

class GrowingTest : public testing::Test {
protected:
  static constexpr int kBatch = 2, kPast = 3, kFresh = 2;

  void SetUp() override {
    test::GrowingPlan plan;
    model.file = test::planBytes(plan.contents);
    test::addAppend(model.fake, wasInPlace);
    Result<SharedEngine> engine = model.createEngine();
    ASSERT_TRUE(isOk(engine));
    Result<std::unique_ptr<Context>> created = Context::create(*engine, {});
    ASSERT_TRUE(isOk(created));
    context = std::move(*created);
    ASSERT_TRUE(isOk(context->setInputShape("past", {kBatch, kPast})));
    ASSERT_TRUE(isOk(context->setInputShape("fresh", {kBatch, kFresh})));
    ASSERT_TRUE(isOk(context->bindInput("fresh", binding(fresh, Location::kHost))));
  }

  template <typename Values>
  static Binding binding(Values &values, Location location, int64_t capacity = 0) {
    return {plan::ElementType::f32, location, values.data(), values.size() * sizeof(float),
            capacity};
  }
  /// Device memory of the fake driver, so that it takes copies to and from it.
  std::span<float> deviceMemory(const std::vector<float> &values) {
    Result<CurrentContext> current = CurrentContext::enter(*context->engine().device());
    Result<DeviceMemory> room = DeviceMemory::allocate(context->engine().device(), {},
                                                       values.size() * sizeof(float), "a test");
    EXPECT_TRUE(isOk(room));
    memory.push_back(std::move(*room));
    std::span<float> held(reinterpret_cast<float *>(memory.back().address()), values.size());
    std::copy(values.begin(), values.end(), held.begin());
    return held;
  }
  /// Rows of `past` with room for `capacity`, and -1 where there is nothing yet.
  std::vector<float> laidOut(int capacity) const {
    std::vector<float> rows(static_cast<size_t>(kBatch * capacity), -1.0f);
    for (int row = 0; row < kBatch; ++row)
      for (int i = 0; i < kPast; ++i)
        rows[static_cast<size_t>(row * capacity + i)] = past[static_cast<size_t>(row * kPast + i)];
    return rows;
  }
  static std::vector<float> toVector(std::span<const float> values) {
    return {values.begin(), values.end()};
  }

  FakeModel model;
  bool wasInPlace = false;
  std::vector<float> past = {1, 2, 3, 11, 12, 13}, fresh = {4, 5, 14, 15};
  std::vector<float> dense = {1, 2, 3, 4, 5, 11, 12, 13, 14, 15};
  std::vector<float> grown = {1, 2, 3, 4, 5, -1, -1, 11, 12, 13, 14, 15, -1, -1};
  std::unique_ptr<Context> context;
  std::vector<DeviceMemory> memory; // released before the context's device
};

TEST_F(GrowingTest, UpdatesInPlaceWithoutACopy) {
  std::span<float> cache = deviceMemory(laidOut(7));
  ASSERT_TRUE(isOk(context->bindInput("past", binding(cache, Location::kDevice, 7))));
  ASSERT_TRUE(isOk(context->bindOutput("present", binding(cache, Location::kDevice, 7))));
  ASSERT_TRUE(isOk(context->run(nullptr)));
  EXPECT_TRUE(wasInPlace);
  EXPECT_EQ(toVector(cache), grown);
  EXPECT_EQ(model.fake.countOf("cuMemcpyDtoDAsync") + model.fake.countOf("cuMemcpy2DAsync"), 0u);
}

TEST_F(GrowingTest, LeavesAnInputThatLiesElsewhereAsItIs) {
  std::span<float> from = deviceMemory(past);
  std::span<float> to = deviceMemory(std::vector<float>(14, -1.0f));
  ASSERT_TRUE(isOk(context->bindInput("past", binding(from, Location::kDevice))));
  ASSERT_TRUE(isOk(context->bindOutput("present", binding(to, Location::kDevice, 7))));
  ASSERT_TRUE(isOk(context->run(nullptr)));
  EXPECT_TRUE(wasInPlace);
  EXPECT_EQ(toVector(from), past);
  EXPECT_EQ(toVector(to), grown);
}

TEST_F(GrowingTest, TakesDenseHostMemory) {
  std::vector<float> out(dense.size());
  ASSERT_TRUE(isOk(context->bindInput("past", binding(past, Location::kHost))));
  ASSERT_TRUE(isOk(context->bindOutput("present", binding(out, Location::kHost))));
  ASSERT_TRUE(isOk(context->run(nullptr)));
  EXPECT_EQ(out, dense);
  EXPECT_EQ(past, (std::vector<float>{1, 2, 3, 11, 12, 13}));
}

TEST_F(GrowingTest, TakesHostMemoryWithRoomForMore) {
  std::vector<float> cache = laidOut(7);
  ASSERT_TRUE(isOk(context->bindInput("past", binding(cache, Location::kHost, 7))));
  ASSERT_TRUE(isOk(context->bindOutput("present", binding(cache, Location::kHost, 7))));
  ASSERT_TRUE(isOk(context->run(nullptr)));
  EXPECT_EQ(cache, grown);
}

TEST_F(GrowingTest, FollowsACapacityThatChanges) {
  for (int capacity : {7, 5, 9, 7}) {
    std::span<float> cache = deviceMemory(laidOut(capacity));
    ASSERT_TRUE(isOk(context->bindInput("past", binding(cache, Location::kDevice, capacity))));
    ASSERT_TRUE(isOk(context->bindOutput("present", binding(cache, Location::kDevice, capacity))));
    ASSERT_TRUE(isOk(context->run(nullptr)));
    for (int row = 0; row < kBatch; ++row)
      for (int i = 0; i < kPast + kFresh; ++i)
        EXPECT_EQ(cache[static_cast<size_t>(row * capacity + i)],
                  dense[static_cast<size_t>(row * 5 + i)]);
  }
}

TEST_F(GrowingTest, RefusesMemoryThatCannotGrow) {
  std::span<float> cache = deviceMemory(laidOut(7));
  auto bind = [&](int64_t from, int64_t to) {
    ASSERT_TRUE(isOk(context->bindInput("past", binding(cache, Location::kDevice, from))));
    ASSERT_TRUE(isOk(context->bindOutput("present", binding(cache, Location::kDevice, to))));
  };
  bind(7, 4);
  EXPECT_TRUE(isRefused(context->run(nullptr), StatusCode::kUsage, "capacity of 4 along axis 1"));
  bind(0, 0);
  EXPECT_TRUE(isRefused(context->run(nullptr), StatusCode::kUsage,
                        "rows lie 12 and 20 bytes apart; bind both with the same capacity"));
  bind(8, 8);
  EXPECT_TRUE(isRefused(context->run(nullptr), StatusCode::kUsage, "takes 64 bytes"));
  EXPECT_TRUE(isRefused(context->bindInput("fresh", binding(fresh, Location::kHost, 9)),
                        StatusCode::kUsage, "does not let it grow in place"));
  bind(7, 7);
  EXPECT_TRUE(isOk(context->run(nullptr)));
}

class OverlapTest : public testing::Test {
protected:
  static constexpr size_t kCount = 3 * 80;

  void SetUp() override {
    Result<SharedEngine> engine = model.createEngine();
    ASSERT_TRUE(isOk(engine));
    Result<std::unique_ptr<Context>> created = Context::create(*engine, {});
    ASSERT_TRUE(isOk(created));
    context = std::move(*created);
    ASSERT_TRUE(isOk(context->setInputShape("x", {3, 80})));
    ASSERT_TRUE(isOk(context->setInputShape("y", {3, 80})));
  }

  void bind(size_t x, size_t y, size_t out) {
    ASSERT_TRUE(isOk(context->bindInput("x", at(x))));
    ASSERT_TRUE(isOk(context->bindInput("y", at(y))));
    ASSERT_TRUE(isOk(context->bindOutput("out", at(out))));
  }
  Binding at(size_t offset) {
    return {plan::ElementType::f32, Location::kDevice, room + offset, kCount * sizeof(float)};
  }

  FakeModel model;
  std::unique_ptr<Context> context;
  alignas(256) float room[4 * kCount] = {};
};

TEST_F(OverlapTest, LetsInputsShareMemory) {
  bind(0, 0, kCount);
  EXPECT_TRUE(isOk(context->run(nullptr)));
  bind(0, 4, kCount + 4);
  EXPECT_TRUE(isOk(context->run(nullptr)));
}

TEST_F(OverlapTest, RefusesAnOutputThatTouchesAnInput) {
  for (size_t out : {size_t(0), size_t(4), kCount - 4, kCount, kCount + 4, 2 * kCount - 4}) {
    bind(0, kCount, out);
    EXPECT_TRUE(isRefused(context->prepare(), StatusCode::kUsage, "overlap in device memory"))
        << out;
    EXPECT_TRUE(isRefused(context->enqueue(nullptr), StatusCode::kUsage, "'out'")) << out;
  }
  bind(0, kCount, 2 * kCount);
  EXPECT_TRUE(isOk(context->run(nullptr)));
}

/// Bindings may move between runs without preparing again.
TEST_F(OverlapTest, LooksAgainWhenMemoryMoves) {
  bind(0, kCount, 2 * kCount);
  ASSERT_TRUE(isOk(context->run(nullptr)));
  bind(0, kCount, 4);
  EXPECT_TRUE(isRefused(context->enqueue(nullptr), StatusCode::kUsage,
                        "input 'x' and output 'out' overlap in device memory"));
}

TEST_F(OverlapTest, RefusesAWorkspaceThatTouchesABinding) {
  bind(0, kCount, 2 * kCount);
  ASSERT_TRUE(isOk(context->setWorkspace(room + 128, 1024)));
  EXPECT_TRUE(isRefused(context->prepare(), StatusCode::kUsage, "the workspace"));
}

} // namespace
} // namespace smelt::runtime
