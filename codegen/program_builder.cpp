#include "codegen/program_builder.h"

#include "codegen/element_type.h"
#include "codegen/emit_expression.h"
#include "codegen/equal_fusions.h"
#include "codegen/fusion_numbers.h"
#include "codegen/kernel_text.h"
#include "ir/alias.h"
#include "ir/capabilities.h"
#include "ir/interpret/host_tensor.h"
#include "ir/location.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

plan::Extent3 extent(const std::array<unsigned, 3> &sizes) {
  return {sizes[0], sizes[1], sizes[2]};
}

Dim bytesOf(Value value) {
  TensorType type = tensorType(value);
  return type.getNumElements() * elementBytes(type.getElementType());
}

} // namespace

LogicalResult ProgramBuilder::select(const Selection &selection) {
  bool complete = true;
  EqualFusions selected;
  for (auto fusion : function.getOps<FusionOp>()) {
    if (std::optional<size_t> equal = selected.find(fusion)) {
      steps.push_back({fusion, steps[*equal].variants});
      continue;
    }
    FailureOr<std::vector<KernelVariant>> variants = selectKernels(fusion, target, selection);
    if (failed(variants)) {
      complete = false;
      continue;
    }
    selected.add(fusion, steps.size());
    steps.push_back({fusion, std::move(*variants)});
  }
  llvm::DenseSet<Operation *> once = fusionsThatRunOnce(function);
  for (Step &step : steps)
    step.runsOnce = once.contains(step.fusion);
  for (const Step &step : steps)
    cleared.add(step.fusion, step.variants, step.runsOnce);
  return success(complete);
}

SmallVector<KernelText> ProgramBuilder::texts() const {
  SmallVector<KernelText> all;
  for (const Step &step : steps)
    for (const GeneratedKernel *kernel : kernelsOf(step.variants))
      all.push_back(kernel->text);
  return all;
}

SmallVector<FusionOp> ProgramBuilder::fusionsOfTexts() const {
  SmallVector<FusionOp> all;
  for (const Step &step : steps)
    all.append(kernelsOf(step.variants).size(), step.fusion);
  return all;
}

std::set<std::string> ProgramBuilder::tunedProducts() const {
  std::set<std::string> products;
  for (const Step &step : steps)
    for (const GeneratedKernel *kernel : kernelsOf(step.variants))
      if (!kernel->tunedBy.empty())
        products.insert(kernel->tunedBy);
  return products;
}

uint32_t ProgramBuilder::bufferOf(Value value) {
  Value stored = storageOf(value);
  if (!buffers.contains(stored))
    addBuffer(stored, plan::BufferKind::weight, weights.index(stored));
  return buffers.at(stored);
}

uint32_t ProgramBuilder::bufferOf(const Step &step, const KernelVariant &variant,
                                  const LaunchBuffer &buffer) {
  FusionOp fusion = step.fusion;
  switch (buffer.kind) {
  case LaunchBuffer::input:
    return bufferOf(fusion.getInputs()[buffer.index]);
  case LaunchBuffer::output:
    return bufferOf(fusion.getOutputs()[buffer.index]);
  case LaunchBuffer::scratch:
    return scratchBuffer(step, variant, buffer.index);
  }
  llvm_unreachable("all kinds are handled");
}

/// Variants exclude each other, so that their scratch buffers share slots. Only those that a shape's
/// launches name count for the size of a slot.
uint32_t ProgramBuilder::scratchBuffer(const Step &step, const KernelVariant &variant,
                                       unsigned index) {
  auto [entry, isNew] =
      scratchBuffers.try_emplace({&variant, index}, static_cast<uint32_t>(program->buffers.size()));
  if (isNew) {
    auto buffer = std::make_unique<plan::BufferT>();
    buffer->kind = plan::BufferKind::arena;
    buffer->index = memory.slots[step.scratch[index]];
    buffer->size_bytes = dims.index(variant.scratch[index].bytes);
    program->buffers.push_back(std::move(buffer));
  }
  return entry->second;
}

void ProgramBuilder::addBuffer(Value value, plan::BufferKind kind, uint32_t index) {
  buffers[value] = program->buffers.size();
  auto buffer = std::make_unique<plan::BufferT>();
  buffer->kind = kind;
  buffer->index = index;
  if (kind == plan::BufferKind::arena || kind == plan::BufferKind::shape)
    buffer->size_bytes = dims.index(bytesOf(value));
  program->buffers.push_back(std::move(buffer));
}

void ProgramBuilder::addBuffers() {
  for (BlockArgument argument : function.getArguments())
    addBuffer(argument, plan::BufferKind::input, argument.getArgNumber());
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    addBuffer(storageOf(value), plan::BufferKind::output, index);
  if (cleared.bytes() > 0) {
    commonBuffer = program->buffers.size();
    auto buffer = std::make_unique<plan::BufferT>();
    buffer->kind = plan::BufferKind::arena;
    buffer->size_bytes = dims.index(Dim::constant(function.getContext(), cleared.bytes()));
    program->buffers.push_back(std::move(buffer));
  }
  for (auto [result, offset] : cleared.inCommon())
    buffers[result] = commonBuffer;
  for (const Step &step : steps)
    for (Value result : FusionOp(step.fusion).getOutputs())
      if (!buffers.contains(result))
        addBuffer(result, step.runsOnce ? plan::BufferKind::shape : plan::BufferKind::arena, 0);
}

/// One buffer for each index of the variants' scratch buffers.
void ProgramBuilder::addScratch(Step &step, std::vector<Dim> &bytes) {
  for (const KernelVariant &variant : step.variants)
    for (auto [index, buffer] : llvm::enumerate(variant.scratch)) {
      if (index < step.scratch.size()) {
        Dim &most = bytes[step.scratch[index]];
        most = most.max(buffer.bytes);
        continue;
      }
      step.scratch.push_back(bytes.size());
      bytes.push_back(buffer.bytes);
    }
}

StepAccess ProgramBuilder::accessOf(const Step &step, const Hazards &hazards) const {
  if (step.runsOnce)
    return {.reads = {}, .writes = step.scratch, .runsOnce = true};
  StepAccess access;
  FusionOp fusion = step.fusion;
  access.isLight = fusion.getKind() == FusionKind::pointwise;
  for (Value input : fusion.getInputs()) {
    auto found = hazards.find(storageOf(input));
    if (found != hazards.end() && !llvm::is_contained(access.reads, found->second))
      access.reads.push_back(found->second);
  }
  for (Value output : fusion.getOutputs())
    access.writes.push_back(hazards.at(output));
  llvm::append_range(access.writes, step.scratch);
  return access;
}

/// Numbers are those of buffers, but for results in the common buffer, which have nothing to do with each other. `bytes`
/// receives the sizes of those that live in the arena.
ProgramBuilder::Hazards ProgramBuilder::hazards(std::vector<Dim> &bytes) {
  Hazards found;
  for (auto [value, index] : buffers) {
    const plan::BufferT &buffer = *program->buffers[index];
    if (cleared.offsetOf(value))
      continue;
    if (buffer.kind == plan::BufferKind::arena)
      bytes[index] = bytesOf(value);
    found[value] = index;
    if (buffer.kind == plan::BufferKind::output)
      if (auto alias = function.getResultAttrOfType<IntegerAttr>(buffer.index, kAliasName))
        found[value] = buffers.at(function.getArgument(alias.getInt()));
  }
  for (auto [result, offset] : cleared.inCommon()) {
    found[result] = bytes.size();
    bytes.emplace_back();
  }
  return found;
}

/// The first step's memory sets write what it clears.
void ProgramBuilder::addClearing(const Hazards &hazards, std::vector<StepAccess> &accesses) const {
  auto first = llvm::find_if(accesses, [](const StepAccess &access) { return !access.runsOnce; });
  if (first == accesses.end())
    return;
  for (auto [result, offset] : cleared.inCommon())
    first->writes.push_back(hazards.at(result));
  for (Value result : cleared.alone(/*runsOnce=*/false))
    first->writes.push_back(hazards.at(result));
}

/// Steps that run once come before all others and need neither slots nor order. Their results are
/// no hazards for the others, which only read them.
void ProgramBuilder::planArena() {
  std::vector<Dim> bytes(program->buffers.size());
  Hazards known = hazards(bytes);
  std::vector<StepAccess> accesses;
  for (Step &step : steps) {
    addScratch(step, bytes);
    accesses.push_back(accessOf(step, known));
  }
  addClearing(known, accesses);
  memory = planMemory(accesses, bytes);
  for (auto [index, buffer] : llvm::enumerate(program->buffers))
    if (buffer->kind == plan::BufferKind::arena)
      buffer->index = index == commonBuffer ? memory.slotCount++ : memory.slots[index];
  program->arena_slots = memory.slotCount;
}

/// Equal kernels are stored once.
uint32_t ProgramBuilder::kernelOf(const GeneratedKernel &kernel) {
  auto [entry, isNew] =
      kernelOfText.try_emplace(canonicalText(kernel.text.text), program->kernels.size());
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
  return entry->second;
}

/// The dim of `buffer`'s place in the plan's buffer, or none.
uint32_t ProgramBuilder::offsetOf(const Step &step, const LaunchBuffer &buffer) {
  FusionOp fusion = step.fusion;
  std::optional<int64_t> start;
  if (buffer.kind == LaunchBuffer::input)
    start = cleared.offsetOf(storageOf(fusion.getInputs()[buffer.index]));
  else if (buffer.kind == LaunchBuffer::output)
    start = cleared.offsetOf(fusion.getOutputs()[buffer.index]);
  if (!start || *start == 0)
    return dimOrNone(buffer.offset);
  Dim from = Dim::constant(function.getContext(), *start);
  return dims.index(buffer.offset ? from + buffer.offset : from);
}

plan::Place ProgramBuilder::place(const Step &step, const KernelVariant &variant,
                                  const LaunchBuffer &buffer) {
  return {bufferOf(step, variant, buffer), offsetOf(step, buffer)};
}

std::unique_ptr<plan::TensorMapT>
ProgramBuilder::describe(const Step &step, const KernelVariant &variant, const TensorMap &map) {
  auto described = std::make_unique<plan::TensorMapT>();
  described->buffer = bufferOf(step, variant, map.buffer);
  described->offset = offsetOf(step, map.buffer);
  described->element_type = planElementType(map.elementType);
  for (Dim size : map.sizes)
    described->sizes.push_back(dims.index(size));
  for (Dim stride : map.byteStrides)
    described->byte_strides.push_back(dims.index(stride));
  described->box.assign(map.box.begin(), map.box.end());
  described->element_strides.assign(map.elementStrides.begin(), map.elementStrides.end());
  described->element_strides.resize(map.sizes.size(), 1);
  described->interleave = map.interleave;
  described->swizzle = map.swizzle;
  described->l2_promotion = map.l2Promotion;
  described->fills_nan = map.fillsNan;
  if (map.windows) {
    described->windows = std::make_unique<plan::PixelWindowsT>();
    described->windows->channels = map.windows->channels;
    described->windows->pixels = map.windows->pixels;
    described->windows->lower_corner.assign(map.windows->lowerCorner.begin(),
                                            map.windows->lowerCorner.end());
    described->windows->upper_corner.assign(map.windows->upperCorner.begin(),
                                            map.windows->upperCorner.end());
  }
  return described;
}

/// KernelArgument::Direction. Where half of L2 holds all that a kernel moves, the way back only costs: BERT at 1x128 took 1.2 %
/// longer, EfficientNet-B0 of 16 images 0.4.
Dim ProgramBuilder::directionOf(const Step &step, const GeneratedKernel &kernel) {
  Dim few = Dim::constant(function.getContext(), target.part.l2Bytes / 2);
  return kernel.bytes.floorDiv(few).min(Dim::constant(function.getContext(), 1)) *
         int64_t(step.reversed);
}

void ProgramBuilder::addArgument(const Step &step, const KernelVariant &variant,
                                 const GeneratedKernel &kernel, const KernelArgument &argument,
                                 plan::KernelNodeT &node) {
  using plan::ArgumentKind;
  if (const auto *pointer = std::get_if<KernelArgument::Pointer>(&argument.held)) {
    plan::Place held = place(step, variant, pointer->buffer);
    node.arguments.emplace_back(ArgumentKind::pointer, held.buffer(), held.offset());
  } else if (const auto *size = std::get_if<KernelArgument::Size>(&argument.held)) {
    node.arguments.emplace_back(size->is64 ? ArgumentKind::size64 : ArgumentKind::size32,
                                dims.index(size->value), 0);
  } else if (const auto *constant = std::get_if<KernelArgument::Bytes>(&argument.held)) {
    node.arguments.emplace_back(ArgumentKind::bytes, node.constants.size(), constant->bytes.size());
    llvm::append_range(node.constants, constant->bytes);
  } else if (std::holds_alternative<KernelArgument::Direction>(argument.held)) {
    node.arguments.emplace_back(ArgumentKind::size32, dims.index(directionOf(step, kernel)), 0);
  } else {
    node.arguments.emplace_back(ArgumentKind::tensor_map, node.tensor_maps.size(), 0);
    node.tensor_maps.push_back(describe(step, variant, std::get<TensorMap>(argument.held)));
  }
}

std::unique_ptr<plan::LaunchT> ProgramBuilder::buildLaunch(const Step &step,
                                                           const KernelVariant &variant,
                                                           const GeneratedKernel &kernel) {
  plan::KernelNodeT node;
  node.kernel = kernelOf(kernel);
  node.grid = {dims.index(kernel.grid[0]), dims.index(kernel.grid[1]), dims.index(kernel.grid[2])};
  node.block = extent(kernel.block);
  node.cluster = extent(kernel.cluster);
  node.shared_bytes = kernel.sharedBytes;
  node.programmatic = kernel.programmatic && target.instructions.programmaticLaunch;
  for (const KernelArgument &argument : kernel.arguments)
    addArgument(step, variant, kernel, argument, node);
  auto launch = std::make_unique<plan::LaunchT>();
  launch->node.Set(std::move(node));
  launch->name = kernel.name;
  launch->bytes = dimOrNone(kernel.bytes);
  launch->flops = dimOrNone(kernel.flops);
  launch->arithmetic = kernel.arithmetic;
  launch->tuned = !kernel.tunedBy.empty();
  return launch;
}

std::unique_ptr<plan::LaunchT> ProgramBuilder::buildLaunch(const Step &step,
                                                           const KernelVariant &variant,
                                                           const MemoryCopy &copy) {
  plan::CopyNodeT node;
  node.target = place(step, variant, copy.target);
  node.source = place(step, variant, copy.source);
  node.size_bytes = dims.index(copy.bytes);
  auto launch = std::make_unique<plan::LaunchT>();
  launch->node.Set(std::move(node));
  launch->name = "memory copy";
  launch->bytes = dims.index(copy.bytes * 2);
  return launch;
}

std::unique_ptr<plan::LaunchT> ProgramBuilder::buildSet(plan::Place target, uint8_t value,
                                                        Dim bytes) {
  plan::SetNodeT node;
  node.target = target;
  node.value = value;
  node.size_bytes = dims.index(bytes);
  auto launch = std::make_unique<plan::LaunchT>();
  launch->node.Set(std::move(node));
  launch->name = "memory set";
  launch->bytes = dims.index(bytes);
  return launch;
}

std::unique_ptr<plan::LaunchT>
ProgramBuilder::buildLaunch(const Step &step, const KernelVariant &variant, const MemorySet &set) {
  return buildSet(place(step, variant, set.target), set.value, set.bytes);
}

std::unique_ptr<plan::LaunchT> ProgramBuilder::buildLaunch(const Step &step,
                                                           const KernelVariant &variant,
                                                           const GeneratedLaunch &launch) {
  return std::visit([&](const auto &held) { return buildLaunch(step, variant, held); }, launch);
}

std::unique_ptr<plan::StepT> ProgramBuilder::buildStep(const Step &step) {
  auto built = std::make_unique<plan::StepT>();
  for (const KernelVariant &variant : step.variants) {
    auto described = std::make_unique<plan::VariantT>();
    if (variant.rule.value) {
      described->rule = std::make_unique<plan::SizeRuleT>();
      described->rule->value = dims.index(variant.rule.value);
      described->rule->first = variant.rule.first;
      described->rule->last = variant.rule.last;
      described->rule->unit = variant.rule.unit;
    }
    for (const GeneratedLaunch &launch : variant.launches)
      described->launches.push_back(buildLaunch(step, variant, launch));
    built->variants.push_back(std::move(described));
  }
  for (StringRef node : nodeNames(FusionOp(step.fusion).getLoc()))
    built->onnx_nodes.push_back(node.str());
  return built;
}

/// Of any variant's kernels.
static bool goesEitherWay(ArrayRef<KernelVariant> variants) {
  return llvm::any_of(kernelsOf(variants), [](const GeneratedKernel *kernel) {
    return llvm::any_of(kernel->arguments, [](const KernelArgument &argument) {
      return std::holds_alternative<KernelArgument::Direction>(argument.held);
    });
  });
}

/// Neighbours go opposite ways: see device/direction.cuh. Those that cannot choose go forward.
void ProgramBuilder::chooseDirections() {
  bool isReversed = true;
  for (Step &step : steps) {
    if (step.runsOnce)
      continue;
    isReversed = !isReversed && goesEitherWay(step.variants);
    step.reversed = isReversed;
  }
}

/// Has `first` of its list clear what kernels add to, whichever variant runs.
void ProgramBuilder::prependClearing(plan::StepT &first, bool runsOnce) {
  for (auto &variant : first.variants) {
    std::vector<std::unique_ptr<plan::LaunchT>> launches;
    if (!runsOnce && commonBuffer != plan::kNone)
      launches.push_back(buildSet({commonBuffer, plan::kNone}, 0,
                                  Dim::constant(function.getContext(), cleared.bytes())));
    for (Value result : cleared.alone(runsOnce))
      launches.push_back(buildSet({buffers.at(result), plan::kNone}, 0, bytesOf(result)));
    variant->launches.insert(variant->launches.begin(), std::make_move_iterator(launches.begin()),
                             std::make_move_iterator(launches.end()));
  }
}

std::unique_ptr<plan::ProgramT> ProgramBuilder::build(std::vector<size_t> &uses) {
  program = std::make_unique<plan::ProgramT>();
  program->arch = target.arch;
  chooseDirections();
  addBuffers();
  planArena();
  std::vector<uint32_t> position(steps.size());
  for (auto [index, step] : llvm::enumerate(steps)) {
    std::unique_ptr<plan::StepT> built = buildStep(step);
    auto &list = step.runsOnce ? program->once : program->steps;
    if (list.empty())
      prependClearing(*built, step.runsOnce);
    position[index] = list.size();
    for (unsigned dependency : memory.dependsOn[index])
      if (!step.runsOnce)
        built->depends_on.push_back(position[dependency]);
    list.push_back(std::move(built));
  }
  uses = std::move(firstUse);
  return std::move(program);
}

} // namespace smelt::codegen
