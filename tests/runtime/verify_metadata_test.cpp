#include "runtime/verify_metadata.h"

#include "tests/runtime/test_plan.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

constexpr SectionSizes kSections = {1 << 20, 1 << 20, 1 << 20};

TEST(VerifyMetadata, AcceptsTheTestPlan) {
  test::TestPlan plan;
  EXPECT_TRUE(verifyMetadata(plan.contents.metadata, kSections).isOk());
}

using Opcode = plan::DimOpcode;
using Kind = plan::ArgumentKind;
using plan::kNone;
using Metadata = plan::MetadataT;

struct Damage {
  const char *message;
  void (*apply)(Metadata &);
};

plan::ProgramT &program(Metadata &metadata) { return *metadata.programs[0]; }
plan::StepT &step(Metadata &metadata, size_t index) { return *program(metadata).steps[index]; }
plan::VariantT &variant(Metadata &metadata, size_t index) {
  return *step(metadata, index).variants[0];
}
plan::LaunchT &launch(Metadata &metadata, size_t index) {
  return *variant(metadata, index).launches[0];
}
plan::KernelNodeT &kernel(Metadata &metadata, size_t index) {
  return *launch(metadata, index).node.AsKernelNode();
}
void setDim(Metadata &metadata, std::vector<plan::DimInstruction> program) {
  metadata.dims[0]->program = std::move(program);
}
void setArgument(Metadata &metadata, plan::Argument argument) {
  kernel(metadata, 1).arguments[0] = argument;
}

/// A copy and a set of four bytes of the arena, and a kernel that reads all of it by a tensor map.
void addNodes(Metadata &metadata) {
  test::DimBuilder dims(metadata);
  uint32_t four = dims.constant(4);
  auto add = [&](auto node) {
    variant(metadata, 0).launches.push_back(std::make_unique<plan::LaunchT>());
    variant(metadata, 0).launches.back()->node.Set(std::move(node));
  };
  plan::CopyNodeT copy;
  copy.target = plan::Place(4, kNone);
  copy.source = plan::Place(4, four);
  copy.size_bytes = four;
  add(std::move(copy));
  plan::SetNodeT set;
  set.target = plan::Place(4, kNone);
  set.size_bytes = four;
  add(std::move(set));
  auto map = std::make_unique<plan::TensorMapT>();
  map->buffer = 4;
  map->sizes = {four, four};
  map->byte_strides = {dims.constant(16)};
  map->box = {4, 4};
  map->element_strides = {1, 1};
  kernel(metadata, 0).tensor_maps.push_back(std::move(map));
  kernel(metadata, 0).arguments.push_back({Kind::tensor_map, 0, 0});
}
plan::CopyNodeT &copyOf(Metadata &metadata) {
  addNodes(metadata);
  return *variant(metadata, 0).launches[1]->node.AsCopyNode();
}
plan::SetNodeT &setOf(Metadata &metadata) {
  addNodes(metadata);
  return *variant(metadata, 0).launches[2]->node.AsSetNode();
}
plan::TensorMapT &mapOf(Metadata &metadata) {
  addNodes(metadata);
  return *kernel(metadata, 0).tensor_maps[0];
}

/// Of two axes between the channels and the images.
plan::PixelWindowsT &windowsOf(Metadata &metadata) {
  plan::TensorMapT &map = mapOf(metadata);
  map.sizes.resize(4, map.sizes[0]), map.byte_strides.resize(3, map.byte_strides[0]);
  map.element_strides = {1, 2, 2, 1};
  map.box.clear();
  map.windows = std::make_unique<plan::PixelWindowsT>();
  map.windows->channels = 64, map.windows->pixels = 128;
  map.windows->lower_corner = {-128, 127}, map.windows->upper_corner = {-1, 0};
  return *map.windows;
}

plan::InitializerT &initializer(Metadata &metadata) { return *metadata.initializers[1]; }
plan::WeightPartT &part(Metadata &metadata) { return *initializer(metadata).parts[0]; }
void setLoop(Metadata &metadata, plan::CopyLoop loop) {
  initializer(metadata).shape = {4, 8};
  part(metadata).loops = {loop};
}

/// Lets the output take over the first input, with a capacity.
void addAlias(Metadata &metadata) {
  metadata.symbols.push_back("capacity");
  metadata.outputs[0]->alias = 0;
  metadata.outputs[0]->capacity = 2;
  metadata.outputs[0]->capacity_axis = 1;
}

TEST(VerifyMetadata, AcceptsEveryKindOfNodeAndAnAlias) {
  test::TestPlan plan;
  addNodes(plan.contents.metadata);
  addAlias(plan.contents.metadata);
  Status status = verifyMetadata(plan.contents.metadata, kSections);
  EXPECT_TRUE(status.isOk()) << status.message();
}

const Damage kDamages[] = {
    {"holds no program", [](Metadata &m) { m.programs.clear(); }},
    {"dim 0 refers to symbol 2 of 2", [](Metadata &m) { setDim(m, {{Opcode::symbol, 2}}); }},
    {"dim 0 refers to symbol -1 of 2", [](Metadata &m) { setDim(m, {{Opcode::symbol, -1}}); }},
    {"dim 0 leaves 0 values", [](Metadata &m) { setDim(m, {}); }},
    {"dim 0 leaves 2 values",
     [](Metadata &m) { setDim(m, {{Opcode::constant, 1}, {Opcode::constant, 2}}); }},
    {"dim 0 takes more values than it has", [](Metadata &m) { setDim(m, {{Opcode::add, 0}}); }},
    {"dim 0 has an unknown instruction",
     [](Metadata &m) { setDim(m, {{static_cast<Opcode>(99), 0}}); }},
    {"dim 0 is nested too deeply",
     [](Metadata &m) { m.dims[0]->program.assign(65, {Opcode::constant, 1}); }},
    {"dim 0 has 5000 instructions",
     [](Metadata &m) { m.dims[0]->program.assign(5000, {Opcode::constant, 1}); }},
    {"no input dimension defines the symbol 'heads'",
     [](Metadata &m) { m.symbols.push_back("heads"); }},
    {"two inputs are named 'x'", [](Metadata &m) { m.inputs[1]->name = "x"; }},
    {"input 'x' has an unknown element type",
     [](Metadata &m) { m.inputs[0]->element_type = static_cast<plan::ElementType>(77); }},
    {"output 'out' refers to dim 1000", [](Metadata &m) { m.outputs[0]->dims[1] = 1000; }},
    {"the guard 'the position table has 512 rows' refers",
     [](Metadata &m) { m.guards[0]->right = kNone; }},
    {"weight 'table' lies outside",
     [](Metadata &m) { m.weights[1]->data = plan::Range(1 << 20, 1); }},
    {"weight 'table' lies outside",
     [](Metadata &m) { m.weights[1]->data = plan::Range(256, UINT64_MAX - 100); }},
    {"weight 'table' is not aligned", [](Metadata &m) { m.weights[1]->data = plan::Range(8, 8); }},
    {"two initializers are named 'gain'",
     [](Metadata &m) { m.initializers[1]->name = "gain"; }},
    {"or one has no name", [](Metadata &m) { initializer(m).name = ""; }},
    {"initializer 'table' has an unknown element type",
     [](Metadata &m) { initializer(m).element_type = static_cast<plan::ElementType>(77); }},
    {"initializer 'table' is too large",
     [](Metadata &m) { initializer(m).shape = {uint64_t(1) << 32, uint64_t(1) << 32}; }},
    {"initializer 'table' is too large",
     [](Metadata &m) { initializer(m).shape = {uint64_t(1) << 63}; }},
    {"the IR lies outside", [](Metadata &m) { m.ir = plan::Range(0, (1 << 20) + 1); }},
    {"initializer 'table' lies nowhere", [](Metadata &m) { initializer(m).parts.clear(); }},
    {"initializer 'table' lies nowhere", [](Metadata &m) { initializer(m).refusal = "folded"; }},
    {"initializer 'table' refers to weight 2 of 2", [](Metadata &m) { part(m).weight = 2; }},
    {"initializer 'table' becomes elements of a type",
     [](Metadata &m) { part(m).element_type = static_cast<plan::ElementType>(77); }},
    {"initializer 'table' becomes elements of a type",
     [](Metadata &m) { part(m).element_type = plan::ElementType::i8; }},
    {"initializer 'table' is copied by loops",
     [](Metadata &m) { part(m).loops.assign(9, {1, 1, 1}); }},
    {"initializer 'table' is copied by loops", [](Metadata &m) { setLoop(m, {0, 1, 1}); }},
    {"initializer 'table' is copied by loops",
     [](Metadata &m) { setLoop(m, {UINT64_MAX, 0, 0}); }},
    {"initializer 'table' is copied by loops",
     [](Metadata &m) { part(m).loops.assign(2, {uint64_t(1) << 33, 0, 0}); }},
    {"initializer 'table' is copied beyond itself", [](Metadata &m) { setLoop(m, {33, 1, 1}); }},
    {"initializer 'table' is copied beyond itself",
     [](Metadata &m) { setLoop(m, {2, UINT64_MAX, 1}); }},
    {"initializer 'table' is copied beyond itself",
     [](Metadata &m) { setLoop(m, {3, UINT64_MAX / 2 + 1, 1}); }},
    {"initializer 'table' is copied beyond itself",
     [](Metadata &m) { setLoop(m, {4, 1, 80 * 1024 / 4 / 3 + 1}); }},
    {"initializer 'table' is copied beyond itself",
     [](Metadata &m) { part(m).source_offset = 1; }},
    {"initializer 'table' is copied beyond itself",
     [](Metadata &m) { part(m).target_offset = UINT64_MAX; }},
    {"'sm_' is not an architecture", [](Metadata &m) { program(m).arch = "sm_"; }},
    {"'gfx90' is not an architecture", [](Metadata &m) { program(m).arch = "gfx90"; }},
    {"'sm_9x' is not an architecture", [](Metadata &m) { program(m).arch = "sm_9x"; }},
    {"module 'add_scale' lies outside",
     [](Metadata &m) { program(m).modules[0]->code = plan::Range(0, 2 << 20); }},
    {"kernel 'add' refers to module 7",
     [](Metadata &m) { program(m).kernels[0]->module_index = 7; }},
    {"buffer 1 refers to something", [](Metadata &m) { program(m).buffers[1]->index = 2; }},
    {"buffer 4 refers to something", [](Metadata &m) { program(m).buffers[4]->index = 1; }},
    {"arena buffer 4 has no size", [](Metadata &m) { program(m).buffers[4]->size_bytes = kNone; }},
    {"4000000000 arena slots", [](Metadata &m) { program(m).arena_slots = 4000000000; }},
    {"launch 1 refers to kernel 2", [](Metadata &m) { kernel(m, 1).kernel = 2; }},
    {"launch 1 refers to dims", [](Metadata &m) { kernel(m, 1).grid = plan::GridDims(0, 0, 999); }},
    {"launch 0 has a block of 0",
     [](Metadata &m) { kernel(m, 0).block = plan::Extent3(32, 0, 1); }},
    {"launch 0 has a block of 0",
     [](Metadata &m) { kernel(m, 0).block = plan::Extent3(65536, 65536, 65536); }},
    {"launch 0 has a cluster of 0",
     [](Metadata &m) { kernel(m, 0).cluster = plan::Extent3(2, 0, 1); }},
    {"launch 0 has a cluster of 0",
     [](Metadata &m) { kernel(m, 0).cluster = plan::Extent3(17, 1, 1); }},
    {"step 1 depends on step 1", [](Metadata &m) { step(m, 1).depends_on = {1}; }},
    {"step 1 names a dependency twice", [](Metadata &m) { step(m, 1).depends_on = {0, 0}; }},
    {"step 1 has no variant", [](Metadata &m) { step(m, 1).variants.clear(); }},
    {"a variant of step 1 launches nothing", [](Metadata &m) { variant(m, 1).launches.clear(); }},
    {"a rule of step 1 refers",
     [](Metadata &m) {
       variant(m, 1).rule = std::make_unique<plan::SizeRuleT>();
       variant(m, 1).rule->value = 999;
     }},
    {"launch 1 is of an unknown kind", [](Metadata &m) { launch(m, 1).node.Reset(); }},
    {"launch 1 refers to dims", [](Metadata &m) { launch(m, 1).bytes = 999; }},
    {"the copy of launch 1 refers", [](Metadata &m) { copyOf(m).target = plan::Place(99, kNone); }},
    {"the copy of launch 1 refers", [](Metadata &m) { copyOf(m).source = plan::Place(4, 999); }},
    {"the copy of launch 1 refers", [](Metadata &m) { copyOf(m).size_bytes = kNone; }},
    {"the set of launch 2 refers", [](Metadata &m) { setOf(m).target = plan::Place(99, kNone); }},
    {"the set of launch 2 refers", [](Metadata &m) { setOf(m).size_bytes = 999; }},
    {"tensor map 0 of launch 0 refers", [](Metadata &m) { mapOf(m).buffer = 99; }},
    {"tensor map 0 of launch 0 refers", [](Metadata &m) { mapOf(m).offset = 999; }},
    {"tensor map 0 of launch 0 refers", [](Metadata &m) { mapOf(m).sizes[1] = 999; }},
    {"tensor map 0 of launch 0 refers", [](Metadata &m) { mapOf(m).byte_strides[0] = 999; }},
    {"tensor map 0 of launch 0 makes no sense", [](Metadata &m) { mapOf(m).sizes = {}; }},
    {"tensor map 0 of launch 0 makes no sense",
     [](Metadata &m) {
       plan::TensorMapT &map = mapOf(m);
       map.sizes.resize(6), map.byte_strides.resize(5);
       map.box.resize(6, 1), map.element_strides.resize(6, 1);
     }},
    {"tensor map 0 of launch 0 makes no sense", [](Metadata &m) { mapOf(m).byte_strides = {}; }},
    {"tensor map 0 of launch 0 makes no sense", [](Metadata &m) { mapOf(m).box = {4}; }},
    {"tensor map 0 of launch 0 makes no sense", [](Metadata &m) { mapOf(m).box = {0, 4}; }},
    {"tensor map 0 of launch 0 makes no sense", [](Metadata &m) { mapOf(m).box = {257, 4}; }},
    {"tensor map 0 of launch 0 makes no sense",
     [](Metadata &m) { mapOf(m).element_strides = {9, 1}; }},
    {"tensor map 0 of launch 0 makes no sense",
     [](Metadata &m) { mapOf(m).swizzle = static_cast<plan::Swizzle>(9); }},
    {"tensor map 0 of launch 0 makes no sense",
     [](Metadata &m) { mapOf(m).interleave = static_cast<plan::Interleave>(9); }},
    {"tensor map 0 of launch 0 makes no sense",
     [](Metadata &m) { mapOf(m).l2_promotion = static_cast<plan::L2Promotion>(9); }},
    {"tensor map 0 of launch 0 makes no sense",
     [](Metadata &m) { mapOf(m).element_type = static_cast<plan::ElementType>(77); }},
    {"tensor map 0 of launch 0 makes no sense", [](Metadata &m) { windowsOf(m).channels = 0; }},
    {"tensor map 0 of launch 0 makes no sense", [](Metadata &m) { windowsOf(m).channels = 257; }},
    {"tensor map 0 of launch 0 makes no sense", [](Metadata &m) { windowsOf(m).pixels = 0; }},
    {"tensor map 0 of launch 0 makes no sense", [](Metadata &m) { windowsOf(m).pixels = 1025; }},
    {"tensor map 0 of launch 0 makes no sense",
     [](Metadata &m) { windowsOf(m).lower_corner = {-129, 0}; }},
    {"tensor map 0 of launch 0 makes no sense",
     [](Metadata &m) { windowsOf(m).upper_corner = {0, 128}; }},
    {"tensor map 0 of launch 0 makes no sense",
     [](Metadata &m) { windowsOf(m).upper_corner = {0}; }},
    {"tensor map 0 of launch 0 makes no sense",
     [](Metadata &m) {
       windowsOf(m);
       kernel(m, 0).tensor_maps[0]->box = {1, 1, 1, 1};
     }},
    {"tensor map 0 of launch 0 makes no sense",
     [](Metadata &m) {
       windowsOf(m);
       plan::TensorMapT &map = *kernel(m, 0).tensor_maps[0];
       map.sizes.resize(2), map.byte_strides.resize(1), map.element_strides.resize(2);
     }},
    {"a launch that runs once takes an input",
     [](Metadata &m) { program(m).once.push_back(std::make_unique<plan::StepT>(step(m, 0))); }},
    {"arena buffer 3 has no size",
     [](Metadata &m) {
       program(m).buffers[3]->kind = plan::BufferKind::shape;
       program(m).buffers[3]->index = 0;
     }},
    {"buffer 3 refers to something",
     [](Metadata &m) {
       program(m).buffers[3]->kind = plan::BufferKind::shape;
       program(m).buffers[3]->index = 1;
     }},
    {"input 'x' takes over", [](Metadata &m) { m.inputs[0]->alias = 0; }},
    {"output 'out' cannot take over", [](Metadata &m) { addAlias(m), m.outputs[0]->alias = 2; }},
    {"output 'out' cannot take over",
     [](Metadata &m) { addAlias(m), m.outputs[0]->alias = kNone; }},
    {"output 'out' cannot take over",
     [](Metadata &m) { addAlias(m), m.outputs[0]->element_type = plan::ElementType::i64; }},
    {"output 'out' cannot take over",
     [](Metadata &m) { addAlias(m), m.outputs[0]->dims.push_back(0); }},
    {"output 'out' has a capacity of symbol 3",
     [](Metadata &m) { addAlias(m), m.outputs[0]->capacity = 3; }},
    {"output 'out' has a capacity of symbol 2 along axis 2",
     [](Metadata &m) { addAlias(m), m.outputs[0]->capacity_axis = 2; }},
    {"the capacity 'batch' is the size of an input's axis, too",
     [](Metadata &m) { addAlias(m), m.outputs[0]->capacity = 0; }},
    {"the shape of 'y' depends on a capacity",
     [](Metadata &m) {
       addAlias(m);
       m.inputs[1]->dims[1] = test::DimBuilder(m).apply(
           Opcode::add, test::DimBuilder(m).constant(1), test::DimBuilder(m).symbol("capacity"));
     }},
    {"argument 0 of launch 1 refers",
     [](Metadata &m) { setArgument(m, {Kind::pointer, 99, kNone}); }},
    {"argument 0 of launch 1 refers", [](Metadata &m) { setArgument(m, {Kind::pointer, 0, 999}); }},
    {"argument 0 of launch 1 refers", [](Metadata &m) { setArgument(m, {Kind::size32, 999, 0}); }},
    {"argument 0 of launch 1 refers", [](Metadata &m) { setArgument(m, {Kind::size64, 999, 0}); }},
    {"argument 0 of launch 1 refers", [](Metadata &m) { setArgument(m, {Kind::bytes, 0, 1}); }},
    {"argument 0 of launch 1 refers", [](Metadata &m) { setArgument(m, {Kind::bytes, 0, 0}); }},
    {"argument 0 of launch 1 refers",
     [](Metadata &m) { setArgument(m, {Kind::tensor_map, 0, 0}); }},
    {"argument 0 of launch 1 refers",
     [](Metadata &m) { setArgument(m, {static_cast<Kind>(9), 0, 0}); }},
    {"no launch writes the output 'out'", [](Metadata &m) { program(m).steps.pop_back(); }},
    {"launch 1 has 40000 bytes of parameters",
     [](Metadata &m) { kernel(m, 1).arguments.assign(5000, {Kind::pointer, 0, kNone}); }},
};

class VerifyMetadataDamage : public testing::TestWithParam<Damage> {};

TEST_P(VerifyMetadataDamage, IsRefused) {
  test::TestPlan plan;
  GetParam().apply(plan.contents.metadata);
  Status status = verifyMetadata(plan.contents.metadata, kSections);
  EXPECT_EQ(status.code(), StatusCode::kPlan);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

INSTANTIATE_TEST_SUITE_P(All, VerifyMetadataDamage, testing::ValuesIn(kDamages));

TEST(ParseArchitecture, ReadsNumberAndSuffix) {
  auto specific = parseArchitecture("sm_90a");
  ASSERT_TRUE(specific.isOk());
  EXPECT_EQ(specific->number, 90);
  EXPECT_TRUE(specific->specific);
  auto plain = parseArchitecture("sm_120");
  ASSERT_TRUE(plain.isOk());
  EXPECT_EQ(plain->number, 120);
  EXPECT_FALSE(plain->specific);
  EXPECT_FALSE(plain->isPtx);
}

TEST(ParseArchitecture, KnowsPtxWhichIsNeverSpecific) {
  auto ptx = parseArchitecture("compute_80");
  ASSERT_TRUE(ptx.isOk());
  EXPECT_EQ(ptx->number, 80);
  EXPECT_TRUE(ptx->isPtx);
  EXPECT_FALSE(ptx->specific);
  for (const char *name : {"compute_90a", "compute_", "ptx_80", "sm80"})
    EXPECT_EQ(parseArchitecture(name).status().code(), StatusCode::kPlan) << name;
}

} // namespace
} // namespace smelt
