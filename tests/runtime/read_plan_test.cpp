#include "runtime/read_plan.h"

#include "runtime/checksum.h"
#include "tests/runtime/test_plan.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>

namespace smelt::runtime {
namespace {

using Bytes = std::vector<std::byte>;

Bytes goodPlan() {
  test::TestPlan plan;
  return test::planBytes(plan.contents);
}

using Table = std::array<plan::SectionEntry, plan::kSectionCount>;

Table tableOf(const Bytes &bytes) {
  Table table;
  std::memcpy(table.data(), bytes.data() + sizeof(plan::PlanHeader), sizeof(table));
  return table;
}

/// Reads and checks that a failure is of the plan's class.
std::string refusal(std::span<const std::byte> bytes) {
  Result<Plan> plan = readPlan(bytes, "m.plan");
  EXPECT_EQ(plan.status().code(), StatusCode::kPlan);
  return plan.status().message();
}

testing::AssertionResult contains(const std::string &text, const std::string &part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

void flip(Bytes &bytes, size_t bit) { bytes[bit / 8] ^= std::byte(1 << (bit % 8)); }

TEST(ReadPlan, ReadsWhatWasWritten) {
  test::TestPlan written;
  Bytes bytes = test::planBytes(written.contents);
  Result<Plan> plan = readPlan(bytes, "m.plan");
  ASSERT_TRUE(plan.isOk()) << plan.status().message();
  const plan::MetadataT &metadata = plan->metadata();
  EXPECT_EQ(metadata.model_name, "add_scale");
  EXPECT_EQ(metadata.inputs[1]->name, "y");
  EXPECT_EQ(metadata.programs[1]->arch, "sm_80");
  const plan::ModuleT &module = *metadata.programs[1]->modules[0];
  EXPECT_EQ(plan->source(module), written.source);
  auto cubin = plan->code(module);
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(cubin.data()), cubin.size()), written.cubin);
  auto table = plan->bytes(*metadata.weights[1]);
  ASSERT_EQ(table.size(), written.table.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(table.data(), written.table.data(), table.size()), 0);
}

TEST(ReadPlan, FindsEqualCubinsStoredOnceAndWeightsOnAPage) {
  test::TestPlan written;
  Bytes bytes = test::planBytes(written.contents);
  EXPECT_EQ(tableOf(bytes)[1].size, written.cubin.size());
  EXPECT_EQ(tableOf(bytes)[3].offset % plan::kPageBytes, 0u);
}

TEST(ReadPlan, NoticesEveryFlippedBitOfHeaderTableAndMetadata) {
  Bytes bytes = goodPlan();
  plan::SectionEntry metadata = tableOf(bytes)[0];
  for (size_t bit = 0; bit < (metadata.offset + metadata.size) * 8; ++bit) {
    flip(bytes, bit);
    ASSERT_EQ(readPlan(bytes, "m.plan").status().code(), StatusCode::kPlan) << "bit " << bit;
    flip(bytes, bit);
  }
}

TEST(ReadPlan, NoticesRandomFlippedBitsElsewhere) {
  Bytes bytes = goodPlan();
  plan::SectionEntry metadata = tableOf(bytes)[0];
  std::mt19937_64 random(7);
  std::uniform_int_distribution<size_t> position((metadata.offset + metadata.size) * 8,
                                                 bytes.size() * 8 - 1);
  for (int i = 0; i < 100'000; ++i) {
    size_t bit = position(random);
    flip(bytes, bit);
    ASSERT_EQ(readPlan(bytes, "m.plan").status().code(), StatusCode::kPlan) << "bit " << bit;
    flip(bytes, bit);
  }
}

TEST(ReadPlan, NoticesEveryTruncation) {
  Bytes bytes = goodPlan();
  ASSERT_GT(bytes.size(), 65536u);
  auto isRefused = [&](size_t length) {
    return readPlan(std::span(bytes).first(length), "m.plan").status().code() == StatusCode::kPlan;
  };
  for (size_t length = 0; length < 65536; ++length)
    ASSERT_TRUE(isRefused(length)) << length;
  std::mt19937_64 random(11);
  std::uniform_int_distribution<size_t> lengths(65536, bytes.size() - 1);
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(isRefused(lengths(random)));
}

TEST(ReadPlan, TellsDamageTruncationAndForeignFilesApart) {
  Bytes bytes = goodPlan();
  EXPECT_EQ(refusal(std::span(bytes).first(70000)),
            "m.plan: the plan is truncated: it should have " + std::to_string(bytes.size()) +
                " bytes but has 70000; copy it again, or compile the model again");
  EXPECT_TRUE(contains(refusal({}), "not a Smelt plan"));
  EXPECT_TRUE(contains(refusal(std::as_bytes(std::span("onnx"))), "not a Smelt plan"));
  Bytes longer = bytes;
  longer.push_back(std::byte(0));
  EXPECT_TRUE(contains(refusal(longer), "1 bytes follow its end"));
  Bytes damaged = bytes;
  flip(damaged, tableOf(bytes)[3].offset * 8);
  EXPECT_TRUE(contains(refusal(damaged), "the checksum of its weights section does not match"));
}

/// The plan with its header changed and sealed again.
Bytes withHeader(Bytes bytes, void (*change)(plan::PlanHeader &)) {
  plan::PlanHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  header.headerChecksum = checksumOf(
      std::as_bytes(std::span(&header, 1)).first(offsetof(plan::PlanHeader, headerChecksum)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

/// The plan with another section table, sealed.
Bytes withTable(Bytes bytes, const Table &table) {
  std::memcpy(bytes.data() + sizeof(plan::PlanHeader), table.data(), sizeof(table));
  plan::PlanHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.tableChecksum = checksumOf(std::as_bytes(std::span(table)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return withHeader(std::move(bytes), [](plan::PlanHeader &) {});
}

TEST(ReadPlan, NamesBothVersions) {
  auto refusalOf = [](void (*change)(plan::PlanHeader &)) {
    return refusal(withHeader(goodPlan(), change));
  };
  EXPECT_TRUE(contains(refusalOf([](plan::PlanHeader &header) { header.formatMajor += 1; }),
                       "format 4.7, this Smelt reads format 3.7: it was written by a newer Smelt"));
  EXPECT_TRUE(contains(refusalOf([](plan::PlanHeader &header) { header.formatMinor += 1; }),
                       "format 3.8, this Smelt reads format 3.7: it was written by a newer Smelt"));
  EXPECT_TRUE(contains(refusalOf([](plan::PlanHeader &header) { header.formatMajor = 1; }),
                       "written by an older Smelt; compile the model again"));
}

TEST(ReadPlan, RefusesSealedHeadersThatMakeNoSense) {
  auto refusalOf = [](void (*change)(plan::PlanHeader &)) {
    return refusal(withHeader(goodPlan(), change));
  };
  EXPECT_TRUE(contains(refusalOf([](plan::PlanHeader &h) { h.sectionCount = 5; }), "unknown"));
  EXPECT_TRUE(contains(refusalOf([](plan::PlanHeader &h) { h.reserved = 1; }), "unknown"));
  Bytes tiny = withHeader(goodPlan(), [](plan::PlanHeader &h) { h.fileBytes = 64; });
  tiny.resize(64);
  EXPECT_TRUE(contains(refusal(tiny), "truncated"));
}

TEST(ReadPlan, RefusesSealedTablesThatMakeNoSense) {
  using Entry = plan::SectionEntry;
  void (*const changes[])(Entry &) = {
      [](Entry &entry) { entry.offset = UINT64_MAX - 64; },
      [](Entry &entry) { entry.offset += 1; },
      [](Entry &entry) { entry.offset += 64; },
      [](Entry &entry) { entry.offset = 0; },
      [](Entry &entry) { entry.size = UINT64_MAX; },
      [](Entry &entry) { entry.size += 1; },
      [](Entry &entry) { entry.alignment = 0; },
      [](Entry &entry) { entry.alignment = 3; },
      [](Entry &entry) { entry.reserved = 1; },
      [](Entry &entry) { entry.type = static_cast<plan::SectionType>(9); },
  };
  Bytes bytes = goodPlan();
  for (size_t index = 0; index < plan::kSectionCount; ++index)
    for (auto change : changes) {
      Table table = tableOf(bytes);
      change(table[index]);
      refusal(withTable(bytes, table));
    }
}

TEST(ReadPlan, RefusesStrayBytesBetweenSections) {
  Bytes bytes = goodPlan();
  Table table = tableOf(bytes);
  ASSERT_LT(table[2].offset + table[2].size, table[3].offset);
  bytes[table[3].offset - 1] = std::byte(1);
  EXPECT_TRUE(contains(refusal(bytes), "stray bytes before its weights section"));
}

/// Metadata that survives its checksum and still lies: random bytes under a fresh seal.
TEST(ReadPlan, SurvivesSealedNonsenseInTheMetadata) {
  Bytes good = goodPlan();
  std::mt19937_64 random(3);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    Bytes bytes = good;
    Table table = tableOf(good);
    for (int k = 0; k < 4; ++k)
      bytes[table[0].offset + random() % table[0].size] = std::byte(random());
    table[0].checksum = checksumOf(std::span(bytes).subspan(table[0].offset, table[0].size));
    Result<Plan> plan = readPlan(withTable(std::move(bytes), table), "m.plan");
    if (!plan.isOk()) {
      ASSERT_EQ(plan.status().code(), StatusCode::kPlan);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

/// The plan with other metadata, sealed.
Bytes withMetadata(std::span<const uint8_t> metadata) {
  Bytes bytes = goodPlan();
  Table table = tableOf(bytes);
  Bytes changed(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(table[0].offset));
  std::span<const std::byte> added = std::as_bytes(metadata);
  Bytes whole = bytes;
  table[0].size = added.size();
  table[0].checksum = checksumOf(added);
  changed.insert(changed.end(), added.begin(), added.end());
  for (size_t i = 1; i < table.size(); ++i) {
    auto section = std::span(whole).subspan(table[i].offset, table[i].size);
    changed.resize((changed.size() + table[i].alignment - 1) / table[i].alignment *
                   table[i].alignment);
    table[i].offset = changed.size();
    changed.insert(changed.end(), section.begin(), section.end());
  }
  plan::PlanHeader header;
  std::memcpy(&header, changed.data(), sizeof(header));
  header.fileBytes = changed.size();
  std::memcpy(changed.data(), &header, sizeof(header));
  return withTable(std::move(changed), table);
}

TEST(ReadPlan, RefusesMetadataThatUnpacksToFarMoreThanItsBytes) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<plan::DimInstruction> program(1000, {plan::DimOpcode::constant, 1});
  auto shared = builder.CreateVectorOfStructs(program);
  std::vector<flatbuffers::Offset<plan::DimExpression>> dims;
  for (int i = 0; i < 1000; ++i)
    dims.push_back(plan::CreateDimExpression(builder, shared));
  auto vector = builder.CreateVector(dims);
  plan::MetadataBuilder metadata(builder);
  metadata.add_dims(vector);
  builder.Finish(metadata.Finish());
  ASSERT_LT(builder.GetSize(), 50'000u);
  EXPECT_TRUE(contains(refusal(withMetadata({builder.GetBufferPointer(), builder.GetSize()})),
                       "the same things again and again"));
}

TEST(ReadPlan, RefusesCodeThatIsNoCubin) {
  for (const std::string &cubin : {std::string(), std::string("PTX"), std::string(200, 'x'),
                                   test::minimalCubin("").substr(1)}) {
    test::TestPlan plan;
    for (auto &bytes : plan.contents.codes)
      bytes = std::as_bytes(std::span(cubin));
    EXPECT_TRUE(contains(refusal(test::planBytes(plan.contents)), "module 'add_scale' of sm_90a"));
  }
}

TEST(ReadPlan, RefusesCodeThatIsNoPtx) {
  std::string good = test::ptxOfAddAndScale("sm_80"), cut = good.substr(0, good.size() - 1);
  auto statusOf = [](const std::string &ptx) {
    test::TestPlan plan;
    plan.usePtx(1, ptx);
    return readPlan(test::planBytes(plan.contents), "m.plan").status();
  };
  EXPECT_TRUE(statusOf(good).isOk()) << statusOf(good).message();
  std::string withNul = good;
  withNul[20] = '\0';
  for (const std::string &ptx : {std::string(), cut, withNul, good + "more", std::string(200, 'x'),
                                 std::string("text") + '\0', test::minimalCubin("")}) {
    Status status = statusOf(ptx);
    EXPECT_EQ(status.code(), StatusCode::kPlan);
    EXPECT_TRUE(contains(status.message(), "module 'add_scale' of compute_80: its code is no"));
  }
}

TEST(ReadPlan, DoesNotWaitForPipes) {
  test::TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  Result<Plan> plan = readPlan(folder.path("pipe"));
  EXPECT_EQ(plan.status().code(), StatusCode::kUsage);
  EXPECT_TRUE(contains(plan.status().message(), "it is not a regular file"));
}

TEST(ReadPlan, SaysWhatCannotBeOpened) {
  test::TemporaryFolder folder;
  Result<Plan> missing = readPlan(folder.path("missing.plan"));
  EXPECT_EQ(missing.status().code(), StatusCode::kUsage);
  EXPECT_EQ(missing.status().message(),
            folder.path("missing.plan") + ": cannot be read: No such file or directory");
  EXPECT_EQ(readPlan(folder.path("")).status().code(), StatusCode::kUsage);
}

} // namespace
} // namespace smelt::runtime
