#include "runtime/c_api.h"

#include "runtime/text.h"
#include "tests/runtime/expect_refused.h"
#include "tests/runtime/fake_model.h"

#include <cstring>
#include <dlfcn.h>

namespace smelt::runtime {
namespace {

using test::AddScaleData;
using test::FakeModel;

class CApiTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(test::isOk(create(nullptr, &engine)));
    ASSERT_EQ(smelt_context_create(engine, nullptr, &context, nullptr), SMELT_OK);
  }
  void TearDown() override {
    smelt_engine_destroy(engine); // the context keeps what it needs
    smelt_context_destroy(context);
    EXPECT_EQ(model.fake.leaks(), std::vector<std::string>());
  }

  Status create(const smelt_engine_options *options, smelt_engine **created) {
    SMELT_ASSIGN_OR_RETURN(Plan read, readPlan(model.file, "m.plan"));
    return createEngine(read, model.fake.driver(), options, created);
  }

  void bind(AddScaleData &data) {
    smelt_binding x = test::cHostBinding(data.x), y = test::cHostBinding(data.y),
                  out = test::cHostBinding(data.out);
    for (const char *name : {"x", "y"})
      ASSERT_EQ(smelt_context_set_input_shape(context, name, data.shape.data(), 2, nullptr),
                SMELT_OK);
    ASSERT_EQ(smelt_context_bind_input(context, "x", &x, nullptr), SMELT_OK);
    ASSERT_EQ(smelt_context_bind_input(context, "y", &y, nullptr), SMELT_OK);
    ASSERT_EQ(smelt_context_bind_output(context, "out", &out, nullptr), SMELT_OK);
  }

  FakeModel model;
  smelt_engine *engine = nullptr;
  smelt_context *context = nullptr;
};

TEST_F(CApiTest, DescribesTheModel) {
  EXPECT_STREQ(smelt_engine_model_name(engine), "add_scale");
  EXPECT_STREQ(smelt_engine_device_name(engine), "Fake GPU");
  EXPECT_EQ(smelt_engine_input_count(engine), 2u);
  EXPECT_EQ(smelt_engine_output_count(engine), 1u);
  smelt_tensor_info info = SMELT_TENSOR_INFO_INIT;
  ASSERT_EQ(smelt_engine_input(engine, 1, &info, nullptr), SMELT_OK);
  EXPECT_STREQ(info.name, "y");
  EXPECT_EQ(info.element_type, SMELT_F32);
  ASSERT_EQ(info.rank, 2u);
  EXPECT_EQ(info.extents[0], -1);
  ASSERT_EQ(smelt_engine_output(engine, 0, &info, nullptr), SMELT_OK);
  EXPECT_STREQ(info.name, "out");
  EXPECT_REFUSED(SMELT_USAGE, "there is no tensor 2; there are 2", smelt_engine_input, engine, 2,
                 &info);
}

TEST_F(CApiTest, TellsHowExtentsAreWritten) {
  smelt_tensor_info info = SMELT_TENSOR_INFO_INIT;
  ASSERT_EQ(smelt_engine_input(engine, 0, &info, nullptr), SMELT_OK);
  ASSERT_EQ(info.rank, 2u);
  std::string first = info.extent_texts[0];
  EXPECT_NE(first, "");
  EXPECT_EQ(first.find_first_of("0123456789"), std::string::npos) << first;
  ASSERT_EQ(smelt_engine_output(engine, 0, &info, nullptr), SMELT_OK);
  EXPECT_EQ(info.extent_texts[0], first);

  // Callers of the version before have no room for it.
  smelt_tensor_info old = SMELT_TENSOR_INFO_INIT;
  old.struct_size = offsetof(smelt_tensor_info, extent_texts);
  ASSERT_EQ(smelt_engine_input(engine, 0, &old, nullptr), SMELT_OK);
  EXPECT_EQ(old.extent_texts, nullptr);
  EXPECT_EQ(old.rank, 2u);
}

TEST_F(CApiTest, DescribesAPlanWithoutADevice) {
  model.fake.clearCalls();
  smelt_plan *plan = nullptr;
  ASSERT_EQ(smelt_plan_open_from_memory(model.file.data(), model.file.size(), &plan, nullptr),
            SMELT_OK);
  EXPECT_STREQ(smelt_plan_model_name(plan), "add_scale");
  EXPECT_EQ(smelt_plan_input_count(plan), 2u);
  EXPECT_EQ(smelt_plan_output_count(plan), 1u);
  smelt_tensor_info info = SMELT_TENSOR_INFO_INIT;
  ASSERT_EQ(smelt_plan_input(plan, 1, &info, nullptr), SMELT_OK);
  EXPECT_STREQ(info.name, "y");
  EXPECT_EQ(info.rank, 2u);
  EXPECT_REFUSED(SMELT_USAGE, "there is no tensor 1; there are 1", smelt_plan_output, plan, 1,
                 &info);
  smelt_plan_close(plan);
  smelt_plan_close(nullptr);
  EXPECT_EQ(model.fake.calls(), std::vector<std::string>());

  model.file[model.file.size() / 2] ^= std::byte(1);
  EXPECT_REFUSED(SMELT_BAD_PLAN, "the plan in memory", smelt_plan_open_from_memory,
                 model.file.data(), model.file.size(), &plan);
  EXPECT_REFUSED(SMELT_USAGE, "missing.plan", smelt_plan_open, "missing.plan", &plan);
}

TEST_F(CApiTest, TellsWhatAPlanAsksOfSizesWithoutADevice) {
  test::TestPlan contents;
  plan::MetadataT &metadata = contents.contents.metadata;
  test::DimBuilder dims(metadata);
  auto guard = [&](uint32_t left, plan::Relation relation, uint32_t right) {
    metadata.guards.push_back(std::make_unique<plan::GuardT>());
    plan::GuardT &added = *metadata.guards.back();
    added.left = left, added.relation = relation, added.right = right;
  };
  uint32_t batch = dims.symbol("batch"), seq = dims.symbol("seq");
  guard(dims.constant(2), plan::Relation::less_equal, seq);
  guard(seq, plan::Relation::less_equal, dims.constant(4096)); // which the other limit implies
  guard(batch, plan::Relation::less_equal, seq);
  std::vector<std::byte> file = test::planBytes(contents.contents);
  model.fake.clearCalls();
  smelt_plan *plan = nullptr;
  ASSERT_EQ(smelt_plan_open_from_memory(file.data(), file.size(), &plan, nullptr), SMELT_OK);

  ASSERT_EQ(smelt_plan_dimension_count(plan), 2u);
  smelt_dimension_info dimension = SMELT_DIMENSION_INFO_INIT;
  ASSERT_EQ(smelt_plan_dimension(plan, 0, &dimension, nullptr), SMELT_OK);
  EXPECT_STREQ(dimension.name, "batch");
  EXPECT_EQ(dimension.least, 0);
  EXPECT_EQ(dimension.most, -1);
  ASSERT_EQ(smelt_plan_dimension(plan, 1, &dimension, nullptr), SMELT_OK);
  EXPECT_STREQ(dimension.name, "seq");
  EXPECT_EQ(dimension.least, 2);
  EXPECT_EQ(dimension.most, 512);
  EXPECT_REFUSED(SMELT_USAGE, "there is no dimension 2; there are 2", smelt_plan_dimension, plan, 2,
                 &dimension);

  ASSERT_EQ(smelt_plan_guard_count(plan), 4u);
  smelt_guard_info info = SMELT_GUARD_INFO_INIT;
  ASSERT_EQ(smelt_plan_guard(plan, 0, &info, nullptr), SMELT_OK);
  EXPECT_STREQ(info.text, "seq <= 512");
  EXPECT_STREQ(info.message, "the position table has 512 rows");
  ASSERT_EQ(smelt_plan_guard(plan, 3, &info, nullptr), SMELT_OK);
  EXPECT_STREQ(info.text, "batch <= seq");
  EXPECT_REFUSED(SMELT_USAGE, "there is no guard 4; there are 4", smelt_plan_guard, plan, 4, &info);
  info.struct_size = 8;
  EXPECT_REFUSED(SMELT_USAGE, "SMELT_GUARD_INFO_INIT", smelt_plan_guard, plan, 0, &info);
  EXPECT_REFUSED(SMELT_USAGE, "info is NULL", smelt_plan_dimension, plan, 0, nullptr);

  EXPECT_EQ(smelt_plan_weight_bytes(plan), 80 * 1024 + sizeof(float));
  smelt_plan_close(plan);
  EXPECT_EQ(model.fake.calls(), std::vector<std::string>());
  EXPECT_EQ(smelt_plan_guard_count(nullptr) + smelt_plan_dimension_count(nullptr), 0u);
  EXPECT_EQ(smelt_plan_weight_bytes(nullptr), 0u);
}

TEST_F(CApiTest, AFixedSizeIsBothLimits) {
  test::TestPlan contents;
  plan::GuardT &guard = *contents.contents.metadata.guards[0];
  guard.relation = plan::Relation::equal;
  std::vector<std::byte> file = test::planBytes(contents.contents);
  smelt_plan *plan = nullptr;
  ASSERT_EQ(smelt_plan_open_from_memory(file.data(), file.size(), &plan, nullptr), SMELT_OK);
  smelt_dimension_info dimension = SMELT_DIMENSION_INFO_INIT;
  ASSERT_EQ(smelt_plan_dimension(plan, 1, &dimension, nullptr), SMELT_OK);
  EXPECT_EQ(dimension.least, 512);
  EXPECT_EQ(dimension.most, 512);
  smelt_plan_close(plan);
}

TEST_F(CApiTest, HandsOutDeviceMemory) {
  smelt_memory *memory = nullptr;
  ASSERT_EQ(smelt_memory_allocate(engine, 0, &memory, nullptr), SMELT_OK);
  EXPECT_NE(smelt_memory_address(memory), nullptr);
  smelt_memory_release(memory);
  ASSERT_EQ(smelt_memory_allocate(engine, 1000, &memory, nullptr), SMELT_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(smelt_memory_address(memory)) % 256, 0u);
  smelt_memory_release(memory);
  smelt_memory_release(nullptr);
  EXPECT_REFUSED(SMELT_RESOURCES, "a tensor", smelt_memory_allocate, engine, size_t(1) << 60,
                 &memory);
}

TEST_F(CApiTest, WaitsForTheRunThatWasEnqueued) {
  AddScaleData data({3, 77});
  bind(data);
  ASSERT_EQ(smelt_context_wait(context, nullptr), SMELT_OK);
  EXPECT_EQ(model.fake.countOf("cuEventSynchronize"), 0u);
  ASSERT_EQ(smelt_context_prepare(context, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_enqueue(context, model.fake.stream(), nullptr), SMELT_OK);
  size_t before = model.fake.countOf("cuEventSynchronize");
  ASSERT_EQ(smelt_context_wait(context, nullptr), SMELT_OK);
  EXPECT_EQ(model.fake.countOf("cuEventSynchronize"), before + 1);
}

TEST_F(CApiTest, ProfilesEveryLaunch) {
  model.fake.setKernelTimes(
      [](const FakeKernelCall &call) { return call.entry == "add" ? 1e6 : 3e6; });
  AddScaleData data({3, 77});
  bind(data);
  std::vector<double> times;
  auto append = [](void *user, const smelt_launch_time *launch) {
    auto *times = static_cast<std::vector<double> *>(user);
    EXPECT_EQ(launch->number, std::to_string(times->size()));
    EXPECT_NE(std::string(launch->name), "");
    EXPECT_EQ(launch->flops, 3 * 77);
    EXPECT_EQ(launch->bytes, 3 * 77 * 4);
    ASSERT_EQ(launch->onnx_node_count, 1u);
    EXPECT_NE(std::string(launch->onnx_nodes[0]), "");
    times->push_back(launch->microseconds);
  };
  ASSERT_EQ(smelt_context_prepare(context, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_profile(context, 2, append, &times, nullptr), SMELT_OK);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_NEAR(times[0], 1e6, 5e5);
  EXPECT_NEAR(times[1], 3e6, 5e5);
  EXPECT_REFUSED(SMELT_USAGE, "at least one repetition", smelt_context_profile, context, 0, append,
                 &times);
  EXPECT_REFUSED(SMELT_USAGE, "on_launch is NULL", smelt_context_profile, context, 1, nullptr,
                 &times);
}

TEST_F(CApiTest, RunsOnHostMemory) {
  AddScaleData data({3, 77});
  bind(data);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(data.out, data.expected);
}

TEST_F(CApiTest, PreparesThenEnqueuesInTheCallersWorkspace) {
  AddScaleData data({3, 77});
  bind(data);
  size_t bytes = 0;
  ASSERT_EQ(smelt_context_workspace_bytes(context, &bytes, nullptr), SMELT_OK);
  Driver driver = model.fake.driver();
  Result<CurrentContext> current = CurrentContext::enter(**Device::open(driver, 0));
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver->cuMemAlloc(&memory, bytes), CUDA_SUCCESS);
  auto *workspace = reinterpret_cast<void *>(memory);
  ASSERT_EQ(smelt_context_set_workspace(context, workspace, bytes, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_prepare(context, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_enqueue(context, model.fake.stream(), nullptr), SMELT_OK);
  EXPECT_EQ(data.out, data.expected);
  ASSERT_EQ(driver->cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(CApiTest, TellsOutputShapes) {
  AddScaleData data({3, 77});
  bind(data);
  smelt_int64 extents[2] = {};
  size_t rank = 0;
  ASSERT_EQ(smelt_context_output_shape(context, "out", extents, 2, &rank, nullptr), SMELT_OK);
  EXPECT_EQ(rank, 2u);
  EXPECT_EQ(extents[1], 77);
  EXPECT_REFUSED(SMELT_USAGE, "output 'out' has 2 dimensions, there is room for 1",
                 smelt_context_output_shape, context, "out", extents, 1, &rank);
}

TEST_F(CApiTest, RefusesNullPointers) {
  smelt_context *none = nullptr;
  smelt_binding binding = SMELT_BINDING_INIT;
  size_t size = 0;
  EXPECT_REFUSED(SMELT_USAGE, "context is NULL", smelt_context_run, none, nullptr);
  EXPECT_REFUSED(SMELT_USAGE, "context is NULL", smelt_context_prepare, none);
  EXPECT_REFUSED(SMELT_USAGE, "context is NULL", smelt_context_enqueue, none, nullptr);
  EXPECT_REFUSED(SMELT_USAGE, "context is NULL", smelt_context_set_workspace, none, nullptr, 0);
  EXPECT_REFUSED(SMELT_USAGE, "name is NULL", smelt_context_bind_input, context, nullptr, &binding);
  EXPECT_REFUSED(SMELT_USAGE, "binding is NULL", smelt_context_bind_output, context, "out",
                 nullptr);
  EXPECT_REFUSED(SMELT_USAGE, "extents is NULL", smelt_context_set_input_shape, context, "x",
                 nullptr, 2);
  EXPECT_REFUSED(SMELT_USAGE, "bytes is NULL", smelt_context_workspace_bytes, context, nullptr);
  EXPECT_REFUSED(SMELT_USAGE, "rank is NULL", smelt_context_output_shape, context, "out", nullptr,
                 0, nullptr);
  EXPECT_REFUSED(SMELT_USAGE, "engine is NULL", smelt_context_create, nullptr, nullptr, &none);
  EXPECT_REFUSED(SMELT_USAGE, "path is NULL", smelt_engine_create, nullptr, nullptr, &engine);
  EXPECT_REFUSED(SMELT_USAGE, "info is NULL", smelt_engine_input, engine, 0, nullptr);
  EXPECT_REFUSED(SMELT_USAGE, "plan is NULL", smelt_engine_create_from_memory, nullptr, 8, nullptr,
                 &engine);
  EXPECT_EQ(smelt_engine_input_count(nullptr), size);
  EXPECT_STREQ(smelt_engine_model_name(nullptr), "");
  smelt_engine_destroy(nullptr);
  smelt_context_destroy(nullptr);
}

TEST_F(CApiTest, RefusesUnknownEnumerators) {
  AddScaleData data({3, 77});
  smelt_binding binding = test::cHostBinding(data.x);
  binding.element_type = 77;
  EXPECT_REFUSED(SMELT_USAGE, "77 is not an element type", smelt_context_bind_input, context, "x",
                 &binding);
  binding = test::cHostBinding(data.x);
  binding.location = 3;
  EXPECT_REFUSED(SMELT_USAGE, "3 is not a location", smelt_context_bind_input, context, "x",
                 &binding);
  EXPECT_EQ(smelt_element_bytes(77), 0u);
  EXPECT_EQ(smelt_element_bytes(256), 0u);
  EXPECT_EQ(smelt_element_bytes(-1), 0u);
  EXPECT_EQ(smelt_element_bytes(SMELT_U2 + 1), 0u);
  EXPECT_EQ(smelt_element_bytes(SMELT_BF16), 2u);
  EXPECT_EQ(smelt_element_bytes(SMELT_U16), 2u);
  EXPECT_EQ(smelt_element_bytes(SMELT_U32), 4u);
  EXPECT_EQ(smelt_element_bytes(SMELT_U64), 8u);
  for (int type = SMELT_F8E4M3FN; type <= SMELT_U2; ++type)
    EXPECT_EQ(smelt_element_bytes(type), 1u);
}

TEST_F(CApiTest, TakesOptionsOfOtherVersions) {
  struct {
    smelt_context_options options = SMELT_CONTEXT_OPTIONS_INIT;
    size_t later = 0;
  } newer;
  newer.options.struct_size = sizeof(newer);
  smelt_context *created = nullptr;
  EXPECT_EQ(smelt_context_create(engine, &newer.options, &created, nullptr), SMELT_OK);
  smelt_context_destroy(created);
  newer.later = 1;
  EXPECT_REFUSED(SMELT_USAGE, "context options sets options that this version of Smelt",
                 smelt_context_create, engine, &newer.options, &created);
  smelt_context_options older = SMELT_CONTEXT_OPTIONS_INIT;
  older.struct_size = sizeof(size_t); // knows of nothing else
  older.cached_shapes = 0;
  EXPECT_EQ(smelt_context_create(engine, &older, &created, nullptr), SMELT_OK);
  smelt_context_destroy(created);
  smelt_context_options unset = {};
  EXPECT_REFUSED(SMELT_USAGE, "struct_size is 0; initialise the struct with its macro",
                 smelt_context_create, engine, &unset, &created);
}

/// Device memory of the fake, counted.
struct Pool {
  static void *allocate(void *user, size_t bytes) {
    auto *pool = static_cast<Pool *>(user);
    CUdeviceptr memory = 0;
    if (pool->driver->cuMemAlloc(&memory, bytes) != CUDA_SUCCESS)
      return nullptr;
    pool->held += bytes;
    return reinterpret_cast<void *>(memory);
  }
  static void release(void *user, void *memory, size_t bytes) {
    auto *pool = static_cast<Pool *>(user);
    pool->driver->cuMemFree(reinterpret_cast<CUdeviceptr>(memory));
    pool->held -= bytes;
  }

  Driver driver;
  size_t held = 0;
};

TEST_F(CApiTest, TakesMemoryFromTheCallersAllocator) {
  Pool pool = {model.fake.driver()};
  smelt_allocator allocator = SMELT_ALLOCATOR_INIT;
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.allocator = &allocator;
  smelt_engine *pooled = nullptr;
  EXPECT_TRUE(test::isRefused(create(&options, &pooled), StatusCode::kUsage,
                              "an allocator needs both allocate and release"));
  allocator.user = &pool;
  allocator.allocate = &Pool::allocate;
  allocator.release = &Pool::release;
  ASSERT_TRUE(test::isOk(create(&options, &pooled)));
  EXPECT_EQ(pool.held, 256u); // the weights
  smelt_context_destroy(context);
  context = nullptr;
  ASSERT_EQ(smelt_context_create(pooled, nullptr, &context, nullptr), SMELT_OK);
  AddScaleData data({3, 77});
  bind(data);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(data.out, data.expected);
  EXPECT_EQ(pool.held, 256u + 4 * 1024u); // and the workspace
  smelt_engine_destroy(pooled);
  smelt_context_destroy(context);
  context = nullptr;
  EXPECT_EQ(pool.held, 0u);
}

/// A pool whose callbacks throw, the first allocation excepted.
struct ThrowingPool : Pool {
  static void *allocate(void *user, size_t bytes) {
    auto *pool = static_cast<ThrowingPool *>(user);
    if (pool->held == 0)
      return Pool::allocate(user, bytes);
    if (pool->isOutOfMemory)
      throw std::bad_alloc();
    throw 7;
  }
  static void release(void *user, void *memory, size_t bytes) {
    Pool::release(static_cast<Pool *>(user), memory, bytes);
    throw 8;
  }

  bool isOutOfMemory = false;
};

TEST_F(CApiTest, LetsNoExceptionOfACallbackThrough) {
  ThrowingPool pool;
  pool.driver = model.fake.driver();
  smelt_allocator allocator = SMELT_ALLOCATOR_INIT;
  allocator.user = &pool;
  allocator.allocate = &ThrowingPool::allocate;
  allocator.release = &ThrowingPool::release;
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.allocator = &allocator;
  smelt_engine *throwing = nullptr;
  ASSERT_TRUE(test::isOk(create(&options, &throwing)));
  smelt_context_destroy(context);
  ASSERT_EQ(smelt_context_create(throwing, nullptr, &context, nullptr), SMELT_OK);
  AddScaleData data({3, 77});
  bind(data);
  EXPECT_REFUSED(SMELT_INTERNAL, "a callback threw", smelt_context_run, context, nullptr);
  pool.isOutOfMemory = true;
  EXPECT_REFUSED(SMELT_RESOURCES, "out of host memory", smelt_context_prepare, context);
  smelt_context_destroy(context);
  smelt_engine_destroy(throwing); // releases the weights
  context = nullptr;
  EXPECT_EQ(pool.held, 0u);
}

TEST_F(CApiTest, LeavesAnErrorOfUnknownSizeAlone) {
  smelt_error error = SMELT_ERROR_INIT;
  error.struct_size = 8;
  EXPECT_EQ(smelt_context_prepare(nullptr, &error), SMELT_USAGE);
  EXPECT_STREQ(error.message, "");
}

TEST_F(CApiTest, NamesPlaceAndCutsLongMessages) {
  smelt_error error = SMELT_ERROR_INIT;
  std::string name(5000, 'n');
  EXPECT_EQ(smelt_context_set_input_shape(context, name.c_str(), nullptr, 0, &error), SMELT_USAGE);
  EXPECT_EQ(std::strlen(error.message), sizeof(error.message) - 1);
  EXPECT_STREQ(error.file, "runtime/bindings.cpp");
  EXPECT_GT(error.line, 0);
}

/// Callers of an older version have a smaller struct, of which nothing beyond the end is touched.
TEST_F(CApiTest, DescribesFailuresAsFarAsTheStructReaches) {
  for (size_t size = 0; size < sizeof(smelt_error) + 64; ++size) {
    std::vector<unsigned char> room(sizeof(smelt_error) + 64, 0xEE);
    auto *error = reinterpret_cast<smelt_error *>(room.data());
    error->struct_size = size;
    EXPECT_EQ(smelt_context_set_input_shape(context, "none", nullptr, 0, error), SMELT_USAGE);
    for (size_t i = std::max(size, sizeof(size_t)); i < room.size(); ++i)
      ASSERT_EQ(room[i], 0xEE) << size;
    constexpr size_t kMessage = offsetof(smelt_error, message);
    std::string start = "the model has no input";
    if (size > kMessage)
      EXPECT_EQ(std::string(error->message, std::min(size - kMessage - 1, start.size())),
                start.substr(0, size - kMessage - 1));
  }
}

TEST_F(CApiTest, DescribesTensorsToCallersOfAnOlderVersion) {
  smelt_tensor_info whole = SMELT_TENSOR_INFO_INIT, old = SMELT_TENSOR_INFO_INIT;
  ASSERT_EQ(smelt_engine_output(engine, 0, &whole, nullptr), SMELT_OK);
  EXPECT_EQ(whole.alias, -1);
  EXPECT_EQ(whole.capacity_axis, -1);
  old.struct_size = offsetof(smelt_tensor_info, alias);
  old.alias = 77;
  ASSERT_EQ(smelt_engine_output(engine, 0, &old, nullptr), SMELT_OK);
  EXPECT_STREQ(old.name, whole.name);
  EXPECT_EQ(old.alias, 77);
}

TEST(CApi, NamesItsVersionCodesAndTypes) {
  EXPECT_EQ(std::string(smelt_version()),
            joinText(SMELT_VERSION_MAJOR, ".", SMELT_VERSION_MINOR, ".", SMELT_VERSION_PATCH));
  EXPECT_STREQ(smelt_code_name(SMELT_OK), "SMELT_OK");
  EXPECT_STREQ(smelt_code_name(SMELT_INTERNAL), "SMELT_INTERNAL");
  EXPECT_STREQ(smelt_code_name(static_cast<smelt_code>(4)), "unknown code"); // the command line's
  EXPECT_STREQ(smelt_element_type_name(SMELT_BF16), "bfloat16");
  for (int type = SMELT_F32; type <= SMELT_U2; ++type)
    EXPECT_NE(smelt_element_type_name(type), nullptr) << type;
  EXPECT_STREQ(smelt_element_type_name(SMELT_U2 + 1), "unknown type");
  EXPECT_STREQ(smelt_element_type_name(-1), "unknown type");
}

TEST(CApi, ReadsThePlanBeforeItLooksForADriver) {
  smelt_engine *engine = nullptr;
  EXPECT_REFUSED(SMELT_USAGE, "cannot be read", smelt_engine_create, "no such file", nullptr,
                 &engine);
  EXPECT_REFUSED(SMELT_BAD_PLAN, "the plan in memory: this is not a Smelt plan",
                 smelt_engine_create_from_memory, "nonsense", 8, nullptr, &engine);
}

TEST(CApi, SaysThatThereIsNoDriver) {
  if (void *library = dlopen("libcuda.so.1", RTLD_NOW)) {
    dlclose(library);
    GTEST_SKIP() << "this machine has a CUDA driver";
  }
  test::TestPlan plan;
  std::vector<std::byte> file = test::planBytes(plan.contents);
  smelt_engine *engine = nullptr;
  EXPECT_REFUSED(SMELT_ENVIRONMENT, "no usable CUDA driver", smelt_engine_create_from_memory,
                 file.data(), file.size(), nullptr, &engine);
}

} // namespace
} // namespace smelt::runtime
