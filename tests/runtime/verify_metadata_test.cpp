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
plan::LaunchT &launch(Metadata &metadata, size_t index) {
  return *program(metadata).launches[index];
}
void setDim(Metadata &metadata, std::vector<plan::DimInstruction> program) {
  metadata.dims[0]->program = std::move(program);
}
void setArgument(Metadata &metadata, plan::Argument argument) {
  launch(metadata, 1).arguments[0] = argument;
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
    {"'sm_' is not an architecture", [](Metadata &m) { program(m).arch = "sm_"; }},
    {"'gfx90' is not an architecture", [](Metadata &m) { program(m).arch = "gfx90"; }},
    {"'sm_9x' is not an architecture", [](Metadata &m) { program(m).arch = "sm_9x"; }},
    {"module 'add_scale' lies outside",
     [](Metadata &m) { program(m).modules[0]->cubin = plan::Range(0, 2 << 20); }},
    {"kernel 'add' refers to module 7",
     [](Metadata &m) { program(m).kernels[0]->module_index = 7; }},
    {"buffer 1 refers to something", [](Metadata &m) { program(m).buffers[1]->index = 2; }},
    {"buffer 4 refers to something", [](Metadata &m) { program(m).buffers[4]->index = 1; }},
    {"arena buffer 4 has no size", [](Metadata &m) { program(m).buffers[4]->size_bytes = kNone; }},
    {"4000000000 arena slots", [](Metadata &m) { program(m).arena_slots = 4000000000; }},
    {"launch 1 refers to kernel 2", [](Metadata &m) { launch(m, 1).kernel = 2; }},
    {"launch 1 refers to dims", [](Metadata &m) { launch(m, 1).grid = plan::GridDims(0, 0, 999); }},
    {"launch 0 has a block of 0",
     [](Metadata &m) { launch(m, 0).block = plan::Extent3(32, 0, 1); }},
    {"launch 0 has a block of 0",
     [](Metadata &m) { launch(m, 0).block = plan::Extent3(65536, 65536, 65536); }},
    {"launch 0 has a cluster of 0",
     [](Metadata &m) { launch(m, 0).cluster = plan::Extent3(2, 0, 1); }},
    {"launch 0 has a cluster of 0",
     [](Metadata &m) { launch(m, 0).cluster = plan::Extent3(17, 1, 1); }},
    {"launch 1 depends on launch 1", [](Metadata &m) { launch(m, 1).depends_on = {1}; }},
    {"launch 1 names a dependency twice", [](Metadata &m) { launch(m, 1).depends_on = {0, 0}; }},
    {"argument 0 of launch 1 refers", [](Metadata &m) { setArgument(m, {Kind::pointer, 99}); }},
    {"argument 0 of launch 1 refers", [](Metadata &m) { setArgument(m, {Kind::size32, 999}); }},
    {"argument 0 of launch 1 refers",
     [](Metadata &m) { setArgument(m, {static_cast<Kind>(9), 0}); }},
    {"no launch writes the output 'out'", [](Metadata &m) { program(m).launches.pop_back(); }},
    {"launch 1 has 40000 bytes of parameters",
     [](Metadata &m) { launch(m, 1).arguments.assign(5000, {Kind::pointer, 0}); }},
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
}

} // namespace
} // namespace smelt
