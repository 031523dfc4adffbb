#include "codegen/program_builder.h"

#include "codegen/emit_expression.h"
#include "codegen/kernel_text.h"
#include "codegen/plan_memory.h"
#include "ir/interpret/host_tensor.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

bool isConstantInput(Value value) {
  Operation *op = value.getDefiningOp();
  return op && !isa<FusionOp>(op);
}

plan::Extent3 extent(const std::array<unsigned, 3> &sizes) {
  return {sizes[0], sizes[1], sizes[2]};
}

} // namespace

LogicalResult ProgramBuilder::select(bool tf32) {
  bool complete = true;
  for (auto fusion : function.getOps<FusionOp>()) {
    FailureOr<std::vector<GeneratedKernel>> kernels = selectKernels(fusion, target, tf32);
    if (failed(kernels))
      complete = false;
    else
      steps.push_back({fusion, std::move(*kernels)});
  }
  return success(complete);
}

SmallVector<KernelText> ProgramBuilder::texts() const {
  SmallVector<KernelText> all;
  for (const Step &step : steps)
    for (const GeneratedKernel &kernel : step.kernels)
      all.push_back(kernel.text);
  return all;
}

Value ProgramBuilder::storage(Value value) {
  // A reshape of a constant is a weight expression of its own.
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    Value input = reshape.getInput();
    while (auto inner = input.getDefiningOp<ReshapeOp>())
      input = inner.getInput();
    if (isConstantInput(input))
      return value;
    value = input;
  }
  return value;
}

uint32_t ProgramBuilder::bufferOf(Value value, plan::ProgramT &program) {
  auto [entry, isNew] = buffers.try_emplace(storage(value), program.buffers.size());
  if (isNew) {
    auto buffer = std::make_unique<plan::BufferT>();
    buffer->kind = plan::BufferKind::weight;
    buffer->index = weights.index(storage(value));
    program.buffers.push_back(std::move(buffer));
  }
  return entry->second;
}

void ProgramBuilder::addBuffers(plan::ProgramT &program) {
  auto add = [&](Value value, plan::BufferKind kind, uint32_t index) {
    buffers[value] = program.buffers.size();
    auto buffer = std::make_unique<plan::BufferT>();
    buffer->kind = kind;
    buffer->index = index;
    if (kind == plan::BufferKind::arena) {
      TensorType type = tensorType(value);
      buffer->size_bytes = dims.index(type.getNumElements() * elementBytes(type.getElementType()));
    }
    program.buffers.push_back(std::move(buffer));
  };
  for (BlockArgument argument : function.getArguments())
    add(argument, plan::BufferKind::input, argument.getArgNumber());
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    add(storage(value), plan::BufferKind::output, index);
  for (const Step &step : steps)
    for (Value result : FusionOp(step.fusion).getOutputs())
      if (!buffers.count(result))
        add(result, plan::BufferKind::arena, 0);
}

void ProgramBuilder::planArena(plan::ProgramT &program) {
  std::vector<Dim> bytes(program.buffers.size());
  for (auto [value, index] : buffers)
    if (program.buffers[index]->kind == plan::BufferKind::arena)
      bytes[index] =
          tensorType(value).getNumElements() * elementBytes(tensorType(value).getElementType());
  std::vector<LaunchAccess> accesses;
  for (const Step &step : steps) {
    LaunchAccess access;
    FusionOp fusion = step.fusion;
    for (Value input : fusion.getInputs()) {
      auto found = buffers.find(storage(input));
      if (found != buffers.end() &&
          program.buffers[found->second]->kind != plan::BufferKind::input &&
          !llvm::is_contained(access.reads, found->second))
        access.reads.push_back(found->second);
    }
    for (Value output : fusion.getOutputs())
      access.writes.push_back(buffers.at(output));
    accesses.push_back(std::move(access));
  }
  MemoryPlan memory = planMemory(accesses, bytes);
  for (auto [index, buffer] : llvm::enumerate(program.buffers))
    if (buffer->kind == plan::BufferKind::arena)
      buffer->index = memory.slots[index];
  program.arena_slots = memory.slotCount;
  dependsOn = std::move(memory.dependsOn);
}

std::unique_ptr<plan::LaunchT> ProgramBuilder::buildLaunch(const Step &step,
                                                           const GeneratedKernel &kernel,
                                                           plan::ProgramT &program) {
  FusionOp fusion = step.fusion;
  auto launch = std::make_unique<plan::LaunchT>();
  launch->grid = {dims.index(kernel.grid[0]), dims.index(kernel.grid[1]),
                  dims.index(kernel.grid[2])};
  launch->block = extent(kernel.block);
  launch->cluster = extent(kernel.cluster);
  launch->shared_bytes = kernel.sharedBytes;
  launch->programmatic = kernel.programmatic && target.instructions.programmaticLaunch;
  for (const KernelArgument &argument : kernel.arguments) {
    if (argument.kind == KernelArgument::size) {
      launch->arguments.emplace_back(plan::ArgumentKind::size32, dims.index(argument.value));
      continue;
    }
    Value value = argument.kind == KernelArgument::input ? fusion.getInputs()[argument.index]
                                                         : fusion.getOutputs()[argument.index];
    launch->arguments.emplace_back(plan::ArgumentKind::pointer, bufferOf(value, program));
  }
  launch->name = kernel.name;
  for (std::string &node : nodeNames(fusion.getLoc()))
    launch->onnx_nodes.push_back(std::move(node));
  if (kernel.bytes)
    launch->bytes = dims.index(kernel.bytes);
  if (kernel.flops)
    launch->flops = dims.index(kernel.flops);
  return launch;
}

std::unique_ptr<plan::ProgramT> ProgramBuilder::build(std::vector<size_t> &firstUse) {
  auto program = std::make_unique<plan::ProgramT>();
  program->arch = target.arch;
  addBuffers(*program);
  planArena(*program);
  llvm::StringMap<uint32_t> kernelOfText;
  std::vector<std::vector<uint32_t>> launchesOfStep;
  size_t textIndex = 0;
  for (auto [index, step] : llvm::enumerate(steps)) {
    launchesOfStep.emplace_back();
    for (const GeneratedKernel &kernel : step.kernels) {
      auto [entry, isNew] =
          kernelOfText.try_emplace(withoutComments(kernel.text.text), program->kernels.size());
      if (isNew) {
        auto built = std::make_unique<plan::KernelT>();
        built->entry = kernel.text.entry;
        built->module_index = program->modules.size();
        program->kernels.push_back(std::move(built));
        auto module = std::make_unique<plan::ModuleT>();
        module->name = kernel.text.entry;
        program->modules.push_back(std::move(module));
        firstUse.push_back(textIndex);
      }
      ++textIndex;
      std::unique_ptr<plan::LaunchT> launch = buildLaunch(step, kernel, *program);
      launch->kernel = entry->second;
      // Variants of one fusion exclude each other, so each follows all variants of what it depends
      // on.
      for (unsigned dependency : dependsOn[index])
        llvm::append_range(launch->depends_on, launchesOfStep[dependency]);
      launchesOfStep.back().push_back(program->launches.size());
      program->launches.push_back(std::move(launch));
    }
  }
  return program;
}

} // namespace smelt::codegen
