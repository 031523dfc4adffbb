#include "tests/runtime/test_plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace smelt::test {

uint32_t DimBuilder::add(std::vector<plan::DimInstruction> program) {
  auto dim = std::make_unique<plan::DimExpressionT>();
  dim->program = std::move(program);
  metadata.dims.push_back(std::move(dim));
  return static_cast<uint32_t>(metadata.dims.size() - 1);
}

uint32_t DimBuilder::constant(int64_t value) { return add({{plan::DimOpcode::constant, value}}); }

uint32_t DimBuilder::symbol(const std::string &name) {
  auto found = std::find(metadata.symbols.begin(), metadata.symbols.end(), name);
  int64_t index = found - metadata.symbols.begin();
  if (found == metadata.symbols.end())
    metadata.symbols.push_back(name);
  return add({{plan::DimOpcode::symbol, index}});
}

uint32_t DimBuilder::apply(plan::DimOpcode opcode, uint32_t left, uint32_t right) {
  std::vector<plan::DimInstruction> program = metadata.dims[left]->program;
  const auto &rightProgram = metadata.dims[right]->program;
  program.insert(program.end(), rightProgram.begin(), rightProgram.end());
  program.emplace_back(opcode, 0);
  return add(std::move(program));
}

plan::LaunchT &launchOf(plan::ProgramT &program, size_t step) {
  return *program.steps[step]->variants[0]->launches[0];
}

plan::KernelNodeT &kernelOf(plan::ProgramT &program, size_t step) {
  return *launchOf(program, step).node.AsKernelNode();
}

namespace {

std::unique_ptr<plan::TensorT> makeTensor(const char *name, std::vector<uint32_t> dims) {
  auto tensor = std::make_unique<plan::TensorT>();
  tensor->name = name;
  tensor->element_type = plan::ElementType::f32;
  tensor->dims = std::move(dims);
  return tensor;
}

std::unique_ptr<plan::BufferT> makeBuffer(plan::BufferKind kind, uint32_t index,
                                          uint32_t sizeBytes = plan::kNone) {
  auto buffer = std::make_unique<plan::BufferT>();
  buffer->kind = kind;
  buffer->index = index;
  buffer->size_bytes = sizeBytes;
  return buffer;
}

plan::Argument pointer(uint32_t buffer) {
  return {plan::ArgumentKind::pointer, buffer, plan::kNone};
}

/// The dims that the test plan's launches use.
struct LaunchDims {
  uint32_t grid, one, count, bytes;
};

/// A step of one variant of one launch.
std::unique_ptr<plan::StepT> makeStep(uint32_t kernel, const LaunchDims &dims,
                                      std::vector<plan::Argument> arguments, const char *name,
                                      const char *node) {
  plan::KernelNodeT launched;
  launched.kernel = kernel;
  launched.grid = plan::GridDims(dims.grid, dims.one, dims.one);
  launched.block = plan::Extent3(256, 1, 1);
  launched.arguments = std::move(arguments);
  auto launch = std::make_unique<plan::LaunchT>();
  launch->node.Set(std::move(launched));
  launch->name = name;
  launch->bytes = dims.bytes;
  launch->flops = dims.count;
  auto step = std::make_unique<plan::StepT>();
  step->onnx_nodes = {node};
  step->variants.push_back(std::make_unique<plan::VariantT>());
  step->variants[0]->launches.push_back(std::move(launch));
  return step;
}

std::unique_ptr<plan::KernelT> makeKernel(const char *entry) {
  auto kernel = std::make_unique<plan::KernelT>();
  kernel->entry = entry;
  return kernel;
}

std::unique_ptr<plan::ProgramT> makeProgram(const char *arch, const LaunchDims &dims) {
  auto program = std::make_unique<plan::ProgramT>();
  program->arch = arch;
  auto module = std::make_unique<plan::ModuleT>();
  module->name = "add_scale";
  program->modules.push_back(std::move(module));
  program->kernels.push_back(makeKernel("add"));
  program->kernels.push_back(makeKernel("scale"));
  enum : uint32_t { kX, kY, kOut, kGain, kSum };
  program->buffers.push_back(makeBuffer(plan::BufferKind::input, 0));
  program->buffers.push_back(makeBuffer(plan::BufferKind::input, 1));
  program->buffers.push_back(makeBuffer(plan::BufferKind::output, 0));
  program->buffers.push_back(makeBuffer(plan::BufferKind::weight, 0));
  program->buffers.push_back(makeBuffer(plan::BufferKind::arena, 0, dims.bytes));
  program->arena_slots = 1;
  plan::Argument count = {plan::ArgumentKind::size32, dims.count, 0};
  program->steps.push_back(
      makeStep(0, dims, {pointer(kX), pointer(kY), pointer(kSum), count}, "add", "/layer/Add"));
  program->steps.push_back(makeStep(1, dims, {pointer(kSum), pointer(kGain), pointer(kOut), count},
                                    "scale", "/layer/Mul"));
  program->steps[1]->depends_on = {0};
  kernelOf(*program, 1).programmatic = true;
  return program;
}

std::unique_ptr<plan::WeightT> makeWeight(const char *name) {
  auto weight = std::make_unique<plan::WeightT>();
  weight->name = name;
  return weight;
}

/// Floats that begin the weight.
std::unique_ptr<plan::InitializerT> makeInitializer(const std::string &name, uint32_t weight,
                                                    uint64_t count) {
  auto initializer = std::make_unique<plan::InitializerT>();
  initializer->name = name;
  initializer->shape = {count};
  initializer->parts.push_back(std::make_unique<plan::WeightPartT>());
  initializer->parts[0]->weight = weight;
  initializer->parts[0]->loops = {{count, 1, 1}};
  return initializer;
}

} // namespace

TestPlan::TestPlan() : table(80 * 1024 / sizeof(float)) {
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = 0.5f * static_cast<float>(i % 977);
  plan::MetadataT &metadata = contents.metadata;
  metadata.smelt_version = "test";
  metadata.model_name = "add_scale";
  DimBuilder dims(metadata);
  uint32_t batch = dims.symbol("batch"), seq = dims.symbol("seq");
  uint32_t count = dims.apply(plan::DimOpcode::mul, batch, seq);
  uint32_t bytes = dims.apply(plan::DimOpcode::mul, count, dims.constant(4));
  uint32_t grid = dims.apply(plan::DimOpcode::ceil_div, count, dims.constant(256));
  LaunchDims launchDims = {grid, dims.constant(1), count, bytes};
  metadata.inputs.push_back(makeTensor("x", {batch, seq}));
  metadata.inputs.push_back(makeTensor("y", {batch, seq}));
  metadata.outputs.push_back(makeTensor("out", {batch, seq}));
  auto guard = std::make_unique<plan::GuardT>();
  guard->left = seq;
  guard->relation = plan::Relation::less_equal;
  guard->right = dims.constant(512);
  guard->message = "the position table has 512 rows";
  metadata.guards.push_back(std::move(guard));
  metadata.weights.push_back(makeWeight("gain"));
  metadata.weights.push_back(makeWeight("table"));
  metadata.weights[0]->data = plan::Range(0, sizeof(gain)); // as the writer will place them
  metadata.weights[1]->data = plan::Range(plan::kWeightBytes, table.size() * sizeof(float));
  metadata.initializers.push_back(makeInitializer("gain", 0, 1));
  metadata.initializers.push_back(makeInitializer("table", 1, 1));
  metadata.initializers.push_back(std::make_unique<plan::InitializerT>());
  metadata.initializers.back()->name = "epsilon";
  metadata.initializers.back()->refusal = "kernels hold it as a literal";
  for (const char *arch : {"sm_90a", "sm_80"}) {
    metadata.programs.push_back(makeProgram(arch, launchDims));
    contents.codes.push_back(std::as_bytes(std::span(cubin.data(), cubin.size())));
    contents.sources.push_back(source);
    contents.fusions.emplace_back();
  }
  contents.weights.push_back(codegen::WeightBytes::of(std::as_bytes(std::span(gain))));
  contents.weights.push_back(codegen::WeightBytes::of(std::as_bytes(std::span(table))));
}

void TestPlan::usePtx(size_t index, std::string text) {
  ptx = std::move(text);
  program(index).arch = "compute_80";
  contents.codes[index] = std::as_bytes(std::span(ptx.data(), ptx.size()));
}

std::string minimalCubin(const std::string &text) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  return std::string(reinterpret_cast<const char *>(&header), sizeof(header)) + text;
}

std::string cubinWithParameters(const std::string &entry, size_t count) {
  std::string names = std::string("\0.shstrtab\0.nv.info.", 20) + entry + '\0', attributes;
  const char isGlobal[] = {4, 0x11, 4, 0, 1, 0, 0, 0}; // one of no concern
  const char parameter[] = {4, 0x17, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const char total[] = {3, 0x19, static_cast<char>(8 * count), 0}; // a value in place
  attributes.append(isGlobal, sizeof(isGlobal));
  attributes.append(total, sizeof(total));
  for (size_t i = 0; i < count; ++i)
    attributes.append(parameter, sizeof(parameter));
  Elf64_Ehdr header = {};
  std::memcpy(&header, minimalCubin("").data(), sizeof(header));
  header.e_shoff = sizeof(header) + names.size() + attributes.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 1;
  Elf64_Shdr sections[3] = {};
  auto describe = [&](Elf64_Shdr &section, uint32_t name, uint32_t type, size_t offset,
                      size_t bytes) {
    section.sh_name = name;
    section.sh_type = type;
    section.sh_offset = offset;
    section.sh_size = bytes;
  };
  describe(sections[1], 1, SHT_STRTAB, sizeof(header), names.size());
  describe(sections[2], 11, SHT_LOPROC, sizeof(header) + names.size(), attributes.size());
  return std::string(reinterpret_cast<const char *>(&header), sizeof(header)) + names + attributes +
         std::string(reinterpret_cast<const char *>(sections), sizeof(sections));
}

/// An empty kernel in PTX.
static std::string ptxKernel(const std::string &entry, size_t parameters) {
  std::string text = ".visible .entry " + entry + "(\n";
  for (size_t i = 0; i < parameters; ++i) {
    bool isLast = i + 1 == parameters;
    text += std::string("\t.param ") + (isLast ? ".u32 " : ".u64 ") + entry + "_param_" +
            std::to_string(i) + (isLast ? "\n" : ",\n");
  }
  return text + ")\n{\n\tret;\n}\n";
}

std::string ptxOfAddAndScale(const std::string &target, size_t addParameters) {
  std::string text = ".version 7.0\n.target " + target + "\n.address_size 64\n";
  text += ptxKernel("add", addParameters) + ptxKernel("scale", 4);
  return text + '\0';
}

std::vector<std::byte> readBytes(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  std::span<const std::byte> view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

std::vector<std::byte> planBytes(codegen::PlanContents &contents) {
  TemporaryFolder folder;
  Status status = codegen::writePlan(folder.path("model.plan"), contents);
  EXPECT_TRUE(status.isOk()) << status.message();
  return readBytes(folder.path("model.plan"));
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = testing::TempDir() + "/smelt_XXXXXX";
  folder = mkdtemp(pattern.data());
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(folder); }

std::vector<std::string> TemporaryFolder::names() const {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

} // namespace smelt::test
