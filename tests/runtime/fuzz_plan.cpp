// Fuzzing of plans: whatever a file holds, reading it ends with a plan or with kPlan, and a plan that was taken runs on the fake
// driver or is refused, without a byte read or written where it should not be. Checksums would stop nearly every change, so that
// each input is read as it is, and once more with its checksums put right.
#include "runtime/checksum.h"
#include "runtime/context.h"
#include "runtime/fake_driver.h"
#include "runtime/update_weight.h"
#include "tests/runtime/diamond_plan.h"
#include "tests/support/fuzz_choice.h"

#include <algorithm>
#include <cstring>
#include <limits>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace smelt::runtime {
namespace {

using Bytes = std::vector<std::byte>;
using Table = std::array<plan::SectionEntry, plan::kSectionCount>;

constexpr size_t kFrontBytes = sizeof(plan::PlanHeader) + sizeof(Table);
constexpr uint64_t kMaxTensorBytes = 1 << 16;
constexpr uint64_t kMaxWorkspaceBytes = 1 << 22;

Table tableOf(const Bytes &file) {
  Table table;
  std::memcpy(table.data(), file.data() + sizeof(plan::PlanHeader), sizeof(table));
  return table;
}

/// Puts the file's size and all checksums right, of sections that lie within the file.
void seal(Bytes &file) {
  if (file.size() < kFrontBytes)
    return;
  Table table = tableOf(file);
  for (plan::SectionEntry &entry : table)
    if (entry.offset <= file.size() && entry.size <= file.size() - entry.offset)
      entry.checksum = checksumOf(std::span(file).subspan(entry.offset, entry.size));
  std::memcpy(file.data() + sizeof(plan::PlanHeader), table.data(), sizeof(table));
  plan::PlanHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  header.fileBytes = file.size();
  header.tableChecksum = checksumOf(std::as_bytes(std::span(table)));
  header.headerChecksum = checksumOf(
      std::as_bytes(std::span(&header, 1)).first(offsetof(plan::PlanHeader, headerChecksum)));
  std::memcpy(file.data(), &header, sizeof(header));
}

/// Plans to start from: of one kernel after the other, of a diamond, and of PTX.
Bytes seedPlan(size_t number) {
  test::DiamondPlan diamond;
  test::TestPlan line;
  std::string cubin = test::cubinWithParameters("add", 4);
  if (number % 4 == 1)
    line.usePtx(1, test::ptxOfAddAndScale("sm_80"));
  if (number % 4 == 2)
    line.contents.codes[0] = std::as_bytes(std::span<const char>(cubin));
  test::TestPlan &plan = number % 4 == 3 ? diamond : line;
  plan.table.resize(16); // small files are mutated where it matters
  plan.contents.weights.back() =
      codegen::WeightBytes::of(std::as_bytes(std::span<const float>(plan.table)));
  return test::planBytes(plan.contents);
}

/// Writes an odd number over 1, 4 or 8 bytes of the metadata or the code, where they would stand aligned.
void overwriteNumber(Bytes &file, test::FuzzChoice &choose) {
  constexpr int64_t kNumbers[] = {0,
                                  1,
                                  2,
                                  3,
                                  4,
                                  5,
                                  7,
                                  8,
                                  64,
                                  255,
                                  256,
                                  4096,
                                  -1,
                                  -2,
                                  -256,
                                  65535,
                                  1 << 20,
                                  std::numeric_limits<int32_t>::max(),
                                  std::numeric_limits<int32_t>::min(),
                                  int64_t{1} << 32,
                                  std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min()};
  plan::SectionEntry section = tableOf(file)[choose.below(8) == 0];
  if (section.offset > file.size() || section.size > file.size() - section.offset ||
      section.size < 8)
    return;
  size_t width = choose.one({1, 4, 4, 8});
  size_t at = section.offset + choose.below(section.size / width) * width;
  int64_t number = choose.one(kNumbers);
  if (choose.below(4) == 0) // what stands elsewhere, such as another index or opcode
    std::memcpy(&number, file.data() + section.offset + choose.below(section.size - 7), 8);
  std::memcpy(file.data() + at, &number, width);
}

class Life {
public:
  Life(const Plan &plan, test::FuzzChoice &choose) : plan(plan), choose(choose) {}

  /// Loads the plan and runs it on two shapes, as far as it lets itself be.
  void live() {
    FakeDriver fake({.computeCapability = static_cast<int>(choose.one({80, 90})),
                     .memoryBytes = size_t{1} << 26});
    for (const auto &program : plan.metadata().programs)
      fake.addKernels(*program);
    Result<SharedEngine> engine = Engine::create(plan, fake.driver(), {});
    if (engine.isOk()) {
      Result<std::unique_ptr<Context>> context = Context::create(*engine, {});
      for (int i = 0; context.isOk() && i < 2; ++i)
        run(**context);
      updateWeights(**engine);
    }
    engine = Status(StatusCode::kUsage, "released");
    std::vector<std::string> leaks = fake.leaks();
    test::require(leaks.empty(), leaks.empty() ? "" : "leaks " + leaks[0]);
  }

private:
  /// Gives each initializer that is small new values from the host.
  void updateWeights(const Engine &engine) {
    for (const auto &initializer : plan.metadata().initializers) {
      Shape shape(initializer->shape.begin(), initializer->shape.end());
      plan::TensorT tensor;
      tensor.element_type = initializer->element_type;
      if (std::optional<Binding> values = memoryFor(tensor, shape))
        (void)updateWeight(engine, initializer->name, *values, nullptr).isOk();
    }
  }

  Shape chooseShape(const plan::TensorT &tensor) {
    Shape shape;
    for (uint32_t dim : tensor.dims) {
      const auto &program = plan.metadata().dims[dim]->program;
      bool isConstant = program.size() == 1 && program[0].opcode() == plan::DimOpcode::constant;
      shape.push_back(isConstant ? program[0].operand()
                                 : static_cast<int64_t>(choose.one({0, 1, 2, 3, 4, 4, 4, 17})));
    }
    return shape;
  }

  /// Host memory for the tensor; none where it would be large.
  std::optional<Binding> memoryFor(const plan::TensorT &tensor, const Shape &shape) {
    uint64_t bytes = plan::elementBytes(tensor.element_type);
    for (int64_t extent : shape) {
      if (extent < 0 || static_cast<uint64_t>(extent) > kMaxTensorBytes)
        return std::nullopt;
      bytes *= static_cast<uint64_t>(extent);
      if (bytes > kMaxTensorBytes)
        return std::nullopt;
    }
    memory.push_back(std::make_unique<Bytes>(bytes));
    return Binding{tensor.element_type, Location::kHost, memory.back()->data(), bytes};
  }

  bool bindOutputs(Context &context) {
    for (const auto &output : plan.metadata().outputs) {
      Result<Shape> shape = context.outputShape(output->name);
      std::optional<Binding> binding;
      if (shape.isOk())
        binding = memoryFor(*output, *shape);
      if (!binding || !context.bindOutput(output->name, *binding).isOk())
        return false;
    }
    return true;
  }

  void run(Context &context) {
    memory.clear();
    for (const auto &input : plan.metadata().inputs) {
      Shape shape = chooseShape(*input);
      std::optional<Binding> binding = memoryFor(*input, shape);
      if (!binding || !context.setInputShape(input->name, shape).isOk() ||
          !context.bindInput(input->name, *binding).isOk())
        return;
    }
    if (!bindOutputs(context))
      return;
    Result<uint64_t> workspace = context.workspaceBytes();
    if (workspace.isOk() && *workspace <= kMaxWorkspaceBytes)
      (void)context.run(nullptr).isOk();
  }

  const Plan &plan;
  test::FuzzChoice &choose;
  std::vector<std::unique_ptr<Bytes>> memory;
};

void readAndLive(const Bytes &file, test::FuzzChoice &choose) {
  Result<Plan> plan = readPlan(file, "fuzzed.plan");
  if (plan.isOk())
    Life(*plan, choose).live();
  else
    test::require(plan.status().code() == StatusCode::kPlan, plan.status().message());
}

} // namespace
} // namespace smelt::runtime

using namespace smelt;
using namespace smelt::runtime;

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  test::FuzzChoice choose({reinterpret_cast<const uint8_t *>(&seed), sizeof(seed)});
  if (size >= kFrontBytes && choose.below(8) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  Bytes file = size < kFrontBytes ? seedPlan(seed)
                                  : Bytes(reinterpret_cast<std::byte *>(data),
                                          reinterpret_cast<std::byte *>(data) + size);
  for (size_t i = size < kFrontBytes ? 0 : 1 + choose.below(3); i > 0; --i)
    overwriteNumber(file, choose);
  seal(file);
  size_t kept = std::min(file.size(), maxSize);
  std::memcpy(data, file.data(), kept);
  return kept;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  test::FuzzChoice choose({data, size});
  Bytes file(reinterpret_cast<const std::byte *>(data),
             reinterpret_cast<const std::byte *>(data) + size);
  readAndLive(file, choose);
  Bytes sealed = file;
  seal(sealed);
  if (sealed != file)
    readAndLive(sealed, choose);
  return 0;
}
