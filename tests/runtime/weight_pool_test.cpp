#include "runtime/weight_pool.h"

#include "runtime/text.h"
#include "tests/runtime/fake_model.h"

#include <cstring>
#include <thread>

namespace smelt::runtime {
namespace {

using test::AddScaleData;
using test::FakeModel;
using test::isOk;
using test::isRefused;

/// Engines of several plans on one fake device.
class WeightPoolTest : public testing::Test {
protected:
  void TearDown() override { EXPECT_EQ(first.fake.leaks(), std::vector<std::string>()); }

  /// An engine of a plan whose gain is `name` with this value.
  SharedEngine make(const SharedEngine &sharer, const char *name = "gain", float gain = 3,
                    CUcontext context = nullptr) {
    Result<SharedEngine> made = tryMake(sharer, name, gain, context);
    EXPECT_TRUE(isOk(made));
    return made.isOk() ? *made : nullptr;
  }

  Result<SharedEngine> tryMake(const SharedEngine &sharer, const char *name = "gain",
                               float gain = 3, CUcontext context = nullptr) {
    test::TestPlan plan;
    plan.gain[0] = gain;
    plan.contents.metadata.weights[0]->name = name;
    if (usesTable) // the second weight, instead of the first
      for (size_t i = 0; i < 2; ++i)
        plan.program(i).buffers.push_back(weightBuffer(1));
    if (equalTable)
      plan.contents.weights[1] = plan.contents.weights[0];
    file = test::planBytes(plan.contents);
    SMELT_ASSIGN_OR_RETURN(Plan read, readPlan(file, "m.plan"));
    EngineOptions options;
    options.sharesWeightsWith = sharer;
    options.context = context;
    return Engine::create(read, first.fake.driver(), options);
  }

  static std::unique_ptr<plan::BufferT> weightBuffer(uint32_t weight) {
    auto buffer = std::make_unique<plan::BufferT>();
    buffer->kind = plan::BufferKind::weight;
    buffer->index = weight;
    return buffer;
  }

  size_t uploads() const { return first.fake.countOf("cuMemcpyHtoDAsync"); }

  FakeModel first;
  std::vector<std::byte> file;
  bool usesTable = false, equalTable = false;
};

TEST_F(WeightPoolTest, UploadsWeightsThatAreSharedOnce) {
  SharedEngine prefill = make(nullptr);
  size_t allocations = first.fake.countOf("cuMemAlloc");
  SharedEngine decode = make(prefill);
  EXPECT_EQ(first.fake.countOf("cuMemAlloc"), allocations);
  EXPECT_EQ(uploads(), 1u);
  EXPECT_EQ(decode->weightAddress(0), prefill->weightAddress(0));
}

TEST_F(WeightPoolTest, SharesNothingUnlessAskedTo) {
  SharedEngine prefill = make(nullptr), decode = make(nullptr);
  EXPECT_EQ(uploads(), 2u);
  EXPECT_NE(decode->weightAddress(0), prefill->weightAddress(0));
}

TEST_F(WeightPoolTest, SharesOnlyWhatIsEqual) {
  SharedEngine prefill = make(nullptr), other = make(prefill, "gain", 4);
  EXPECT_EQ(uploads(), 2u);
  EXPECT_NE(other->weightAddress(0), prefill->weightAddress(0));
}

TEST_F(WeightPoolTest, SharesByBytesWhereExportersNameThemOtherwise) {
  SharedEngine prefill = make(nullptr), decode = make(prefill, "onnx::Mul_77");
  EXPECT_EQ(uploads(), 1u);
  EXPECT_EQ(decode->weightAddress(0), prefill->weightAddress(0));
}

/// Two biases of zeros are not one weight, or an update of one would change the other.
TEST_F(WeightPoolTest, TellsEqualWeightsApartByName) {
  usesTable = equalTable = true;
  SharedEngine prefill = make(nullptr);
  EXPECT_NE(prefill->weightAddress(0), prefill->weightAddress(1));
  SharedEngine decode = make(prefill);
  EXPECT_EQ(uploads(), 2u);
  EXPECT_EQ(decode->weightAddress(0), prefill->weightAddress(0));
  EXPECT_EQ(decode->weightAddress(1), prefill->weightAddress(1));
  SharedEngine renamed = make(prefill, "onnx::Mul_77");
  EXPECT_EQ(uploads(), 3u);
  EXPECT_NE(renamed->weightAddress(0), prefill->weightAddress(0));
  EXPECT_NE(renamed->weightAddress(0), prefill->weightAddress(1));
}

/// More than is uploaded between two reports of how far it is.
TEST_F(WeightPoolTest, UploadsALargeWeightInPieces) {
  test::TestPlan plan;
  plan.table.resize(kLoadProgressBytes / sizeof(float) + 1000);
  for (size_t i = 0; i < plan.table.size(); ++i)
    plan.table[i] = static_cast<float>(i % 100003);
  plan.contents.weights[1] = codegen::WeightBytes::of(std::as_bytes(std::span(plan.table)));
  plan.contents.metadata.initializers.clear();
  for (size_t i = 0; i < 2; ++i)
    plan.program(i).buffers.push_back(weightBuffer(1));
  file = test::planBytes(plan.contents);
  std::vector<uint64_t> done;
  EngineOptions options;
  options.progress = [&](const LoadProgress &progress) {
    if (progress.phase == std::string_view("weights"))
      done.push_back(progress.done);
    return true;
  };
  Result<Plan> read = readPlan(file, "m.plan");
  ASSERT_TRUE(isOk(read));
  Result<SharedEngine> engine = Engine::create(*read, first.fake.driver(), options);
  ASSERT_TRUE(isOk(engine));
  uint64_t bytes = plan.table.size() * sizeof(float);
  EXPECT_EQ(done, (std::vector<uint64_t>{0, 4, 4 + kLoadProgressBytes, 4 + bytes}));
  std::vector<float> held(plan.table.size());
  Result<CurrentContext> current = CurrentContext::enter(*(*engine)->device());
  ASSERT_TRUE(isOk(current));
  CUstream stream = first.fake.stream();
  ASSERT_EQ(first.fake.driver()->cuMemcpyDtoHAsync(held.data(), (*engine)->weightAddress(1), bytes,
                                                   stream),
            CUDA_SUCCESS);
  ASSERT_EQ(first.fake.driver()->cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_TRUE(held == plan.table);
}

TEST_F(WeightPoolTest, UploadsWhatAnotherPlanHasBesides) {
  SharedEngine prefill = make(nullptr);
  usesTable = true;
  SharedEngine decode = make(prefill);
  EXPECT_EQ(uploads(), 2u);
  EXPECT_EQ(decode->weightAddress(0), prefill->weightAddress(0));
  SharedEngine third = make(prefill); // of what the second brought, too
  EXPECT_EQ(uploads(), 2u);
  EXPECT_EQ(third->weightAddress(1), decode->weightAddress(1));
}

TEST_F(WeightPoolTest, KeepsSharedWeightsUntilTheLastEngineEnds) {
  SharedEngine prefill = make(nullptr), decode = make(prefill);
  prefill.reset();
  float gain = 0;
  std::memcpy(&gain, reinterpret_cast<const void *>(decode->weightAddress(0)), sizeof(gain));
  EXPECT_EQ(gain, 3);
  EXPECT_EQ(first.fake.countOf("cuMemFree"), 0u);
  SharedEngine third = make(decode);
  EXPECT_EQ(uploads(), 1u);
  decode.reset();
  third.reset();
  EXPECT_EQ(first.fake.countOf("cuMemFree"), 1u);
}

TEST_F(WeightPoolTest, UploadsAgainWhatWasReleased) {
  SharedEngine prefill = make(nullptr), other = make(prefill, "gain", 4);
  prefill.reset();
  make(other);
  EXPECT_EQ(uploads(), 3u);
}

TEST_F(WeightPoolTest, SharesWithinOneCudaContextOnly) {
  SharedEngine prefill = make(nullptr);
  EXPECT_TRUE(isRefused(tryMake(prefill, "gain", 3, first.fake.createContext()).status(),
                        StatusCode::kUsage, "engines share weights within one CUDA context"));
}

TEST_F(WeightPoolTest, SharesNoUploadThatFailed) {
  SharedEngine other = make(nullptr, "gain", 4);
  first.fake.failCall("cuStreamSynchronize", 0, CUDA_ERROR_UNKNOWN);
  EXPECT_FALSE(tryMake(other).isOk());
  size_t before = uploads();
  SharedEngine prefill = make(other);
  EXPECT_EQ(uploads(), before + 1);
}

/// Plans before 3.5 hold no hashes.
TEST_F(WeightPoolTest, SharesNoWeightsOfUnknownBytes) {
  test::TestPlan plan;
  Result<Plan> read = readPlan(file = test::planBytes(plan.contents), "m.plan");
  ASSERT_TRUE(isOk(read));
  const_cast<plan::MetadataT &>(read->metadata()).weights[0]->content = {};
  EngineOptions options;
  Result<SharedEngine> one = Engine::create(*read, first.fake.driver(), options);
  ASSERT_TRUE(isOk(one));
  options.sharesWeightsWith = *one;
  Result<SharedEngine> two = Engine::create(*read, first.fake.driver(), options);
  ASSERT_TRUE(isOk(two));
  EXPECT_NE((*one)->weightAddress(0), (*two)->weightAddress(0));
}

TEST_F(WeightPoolTest, TakesManyThreads) {
  SharedEngine prefill = make(nullptr);
  test::TestPlan plan;
  file = test::planBytes(plan.contents);
  std::vector<std::thread> threads;
  std::atomic<int> shared = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      Result<Plan> read = readPlan(file, "m.plan");
      EngineOptions options;
      options.sharesWeightsWith = prefill;
      for (int round = 0; round < 20; ++round) {
        Result<SharedEngine> engine = Engine::create(*read, first.fake.driver(), options);
        shared += engine.isOk() && (*engine)->weightAddress(0) == prefill->weightAddress(0);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(shared, 160);
  EXPECT_EQ(uploads(), 1u);
}

} // namespace
} // namespace smelt::runtime
