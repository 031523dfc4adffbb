#include "runtime/engine.h"

#include "runtime/block_placement.h"
#include "runtime/checked_math.h"
#include "runtime/text.h"
#include "runtime/verify_cubin.h"
#include "runtime/verify_ptx.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace smelt::runtime {

/// How code for an architecture comes to run on a device, worst first.
enum class Fit { kNone, kTranslated, kPortable, kExact, kSpecific };

/// Portable code runs on its own and every later minor version of the same generation, PTX on
/// everything later.
static Fit fitOf(const Architecture &architecture, int computeCapability) {
  if (architecture.isPtx)
    return architecture.number <= computeCapability ? Fit::kTranslated : Fit::kNone;
  if (architecture.number == computeCapability)
    return architecture.specific ? Fit::kSpecific : Fit::kExact;
  bool isSameGeneration = architecture.number / 10 == computeCapability / 10;
  bool runs = !architecture.specific && isSameGeneration && architecture.number < computeCapability;
  return runs ? Fit::kPortable : Fit::kNone;
}

/// The most shared memory that one of the program's blocks takes.
static uint32_t sharedBytesOf(const plan::ProgramT &program) {
  uint32_t most = 0;
  for (const auto *steps : {&program.once, &program.steps})
    for (const auto &step : *steps)
      for (const auto &variant : step->variants)
        for (const auto &launch : variant->launches)
          if (const plan::KernelNodeT *kernel = launch->node.AsKernelNode())
            most = std::max(most, kernel->shared_bytes);
  return most;
}

const plan::ProgramT *chooseProgram(const plan::MetadataT &metadata, int computeCapability,
                                    uint32_t maxSharedBytes) {
  const plan::ProgramT *best = nullptr;
  std::tuple<bool, Fit, int> bestFit; // of two that fit alike, the later architecture
  for (const auto &program : metadata.programs) {
    Result<Architecture> architecture = parseArchitecture(program->arch);
    if (!architecture.isOk())
      continue;
    Fit fit = fitOf(*architecture, computeCapability);
    std::tuple ranked(sharedBytesOf(*program) <= maxSharedBytes, fit, architecture->number);
    if (fit != Fit::kNone && (best == nullptr || ranked > bestFit)) {
      best = program.get();
      bestFit = ranked;
    }
  }
  return best;
}

static Status noProgram(const plan::MetadataT &metadata, const Device &device) {
  std::string held;
  for (const auto &program : metadata.programs)
    held += (held.empty() ? "" : ", ") + program->arch;
  return Status(StatusCode::kEnvironment,
                joinText("the plan holds code for ", held, ", which does not run on ",
                         device.name(), " (sm_", device.computeCapability(),
                         "); compile the model with --arch sm_", device.computeCapability(),
                         ", or with compute_80 for every GPU since 8.0"));
}

Result<SharedEngine> Engine::create(const Plan &plan, Driver driver, const EngineOptions &options) {
  SMELT_ASSIGN_OR_RETURN(SharedDevice device,
                         options.context ? Device::adopt(std::move(driver), options.context)
                                         : Device::open(std::move(driver), options.device));
  const SharedEngine &sharer = options.sharesWeightsWith;
  if (sharer && sharer->device()->context() != device->context())
    return Status(StatusCode::kUsage,
                  "engines share weights within one CUDA context, and the one to "
                  "share with is in another, or on another device");
  std::shared_ptr<Engine> engine(new Engine(plan, std::move(device), options));
  SMELT_RETURN_IF_ERROR(engine->load(plan, options.progress));
  return SharedEngine(std::move(engine));
}

Engine::Engine(const Plan &plan, SharedDevice device, const EngineOptions &options)
    : planMetadata(plan.sharedMetadata()), openDevice(std::move(device)),
      memoryAllocator(options.allocator), log(options.logger),
      pool(options.sharesWeightsWith ? options.sharesWeightsWith->pool
                                     : std::make_shared<WeightPool>()) {}

Engine::~Engine() {
  if (modules.empty())
    return;
  Result<CurrentContext> current = CurrentContext::enter(*openDevice);
  RelaxedCapture relaxed(api());
  for (CUmodule module : modules)
    api().cuModuleUnload(module);
}

Status Engine::load(const Plan &plan, const LoadProgressHandler &progress) {
  const plan::ProgramT *chosen = chooseProgram(metadata(), openDevice->computeCapability(),
                                               static_cast<uint32_t>(openDevice->maxSharedBytes()));
  if (chosen == nullptr)
    return noProgram(metadata(), *openDevice);
  launchTable.emplace(*chosen);
  SMELT_ASSIGN_OR_RETURN(architecture, parseArchitecture(chosen->arch));
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*openDevice));
  RelaxedCapture relaxed(api());
  SMELT_RETURN_IF_ERROR(loadModules(plan, progress));
  SMELT_RETURN_IF_ERROR(loadKernels());
  SMELT_RETURN_IF_ERROR(checkParameters(plan));
  SMELT_RETURN_IF_ERROR(configureKernels());
  SMELT_RETURN_IF_ERROR(placeWeights(plan, progress));
  log.log(Severity::kInfo, "loaded '", metadata().model_name, "' onto ", openDevice->name(),
          ": the program for ", chosen->arch, ", ", functions.size(), " kernels, ",
          weights.uploadedBytes, " bytes of weights", weights.sharedBytes > 0 ? ", and " : "",
          weights.sharedBytes > 0 ? joinText(weights.sharedBytes, " that it shares") : "");
  return {};
}

Status Engine::loadModules(const Plan &plan, const LoadProgressHandler &progress) {
  if (architecture.isPtx)
    log.log(Severity::kWarning, "no machine code in the plan suits ", openDevice->name(),
            ", so the driver translates its PTX now; compile the model with --arch sm_",
            openDevice->computeCapability(), " for kernels made for it");
  modules.reserve(program().modules.size());
  for (const auto &module : program().modules) {
    CUmodule loaded = nullptr;
    if (architecture.isPtx)
      SMELT_RETURN_IF_ERROR(translate(*module, plan.code(*module), loaded));
    else
      SMELT_RETURN_IF_CUDA_ERROR(api(), joinText("loading the code of '", module->name, "'"),
                                 cuModuleLoadDataEx, &loaded, plan.code(*module).data(), 0, nullptr,
                                 nullptr);
    modules.push_back(loaded);
    SMELT_RETURN_IF_ERROR(tell(progress, {"kernels", modules.size(), program().modules.size()}));
  }
  return {};
}

/// Has the driver compile PTX for the device; it keeps what it made for the next time.
Status Engine::translate(const plan::ModuleT &module, std::span<const std::byte> ptx,
                         CUmodule &loaded) {
  std::array<char, 4096> log = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  CUresult result =
      api().cuModuleLoadDataEx(&loaded, ptx.data(), std::size(options), options, values);
  if (result == CUDA_SUCCESS)
    return {};
  Status failed = cudaFailure(api(), result, "cuModuleLoadDataEx",
                              joinText("translating the PTX of '", module.name, "'"));
  if (failed.code() != StatusCode::kEnvironment)
    return failed;
  return Status(StatusCode::kEnvironment,
                joinText(failed.message(), log[0] ? ": " : "", log.data(),
                         "; update the driver, or compile the model with --arch sm_",
                         openDevice->computeCapability()));
}

Status Engine::loadKernels() {
  for (const auto &kernel : program().kernels) {
    CUfunction function = nullptr;
    CUresult found =
        api().cuModuleGetFunction(&function, modules[kernel->module_index], kernel->entry.c_str());
    if (found == CUDA_ERROR_NOT_FOUND)
      return Status(StatusCode::kPlan,
                    joinText("the code of '", program().modules[kernel->module_index]->name,
                             "' holds no kernel ", kernel->entry));
    if (found != CUDA_SUCCESS)
      return cudaFailure(api(), found, "cuModuleGetFunction",
                         joinText("looking for the kernel ", kernel->entry));
    functions.push_back(function);
  }
  return {};
}

/// What the launches of one kernel ask of it.
struct KernelDemand {
  uint32_t sharedBytes = 0;
  uint32_t clusterBlocks = 0;
};

static std::vector<KernelDemand> demandsOf(const LaunchTable &table) {
  std::vector<KernelDemand> demands(table.program().kernels.size());
  for (const PlannedLaunch &launch : table.launches()) {
    const plan::KernelNodeT *kernel = launch.kernel();
    if (kernel == nullptr)
      continue;
    KernelDemand &demand = demands[kernel->kernel];
    demand.sharedBytes = std::max(demand.sharedBytes, kernel->shared_bytes);
    const plan::Extent3 &cluster = kernel->cluster;
    demand.clusterBlocks = std::max(demand.clusterBlocks, cluster.x() * cluster.y() * cluster.z());
  }
  return demands;
}

Status Engine::configureKernels() {
  constexpr uint32_t kPlainSharedBytes = 48 * 1024;
  constexpr uint32_t kPortableClusterBlocks = 8;
  std::vector<KernelDemand> demands = demandsOf(launches());
  for (size_t i = 0; i < demands.size(); ++i) {
    const std::string &entry = program().kernels[i]->entry;
    if (demands[i].sharedBytes > static_cast<uint32_t>(openDevice->maxSharedBytes()))
      return Status(StatusCode::kEnvironment,
                    joinText("the kernel ", entry, " needs ", demands[i].sharedBytes,
                             " bytes of shared memory, ", openDevice->name(), " has ",
                             openDevice->maxSharedBytes(), " for a block"));
    uint32_t granted = demands[i].sharedBytes;
    if (granted >= kLeastPlacedBytes && openDevice->startsKernelsEarly()) // more may be asked for
      granted = std::max(granted, mostSpreadingBytes(openDevice->multiprocessors()));
    if (granted > kPlainSharedBytes)
      SMELT_RETURN_IF_CUDA_ERROR(
          api(), joinText("granting shared memory to ", entry), cuFuncSetAttribute, functions[i],
          CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(granted));
    if (demands[i].clusterBlocks > kPortableClusterBlocks)
      SMELT_RETURN_IF_CUDA_ERROR(api(), joinText("granting large clusters to ", entry),
                                 cuFuncSetAttribute, functions[i],
                                 CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  }
  return {};
}

/// The driver copies as many parameter bytes as the kernel declares, so the plan's arguments must
/// agree with the code one by one.
Status Engine::checkParameters(const Plan &plan) const {
  for (const PlannedLaunch &launch : launches().launches())
    if (const plan::KernelNodeT *kernel = launch.kernel())
      SMELT_RETURN_IF_ERROR(checkParameters(plan, *kernel));
  return {};
}

/// How many parameters there are is read from the code: asking the driver for one too many would
/// be an error in the eyes of tools that watch its calls. Only where the code does not say it, which
/// NVRTC's does, the driver is asked all the same: a launch reads as many as the kernel takes.
Status Engine::checkParameters(const Plan &plan, const plan::KernelNodeT &kernel) const {
  const std::string &entry = program().kernels[kernel.kernel]->entry;
  const plan::ModuleT &module = *program().modules[program().kernels[kernel.kernel]->module_index];
  std::span<const std::byte> code = plan.code(module);
  std::optional<size_t> count =
      architecture.isPtx ? ptxParameterCount(code, entry) : parameterCount(code, entry);
  if (count && *count != kernel.arguments.size())
    return Status(StatusCode::kPlan, joinText("the kernel ", entry, " takes ", *count,
                                              " arguments, not the ", kernel.arguments.size(),
                                              " that the plan passes it; compile the model again"));
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    size_t offset = 0, size = 0, expected = argumentBytes(kernel.arguments[i]);
    CUresult result = api().cuFuncGetParamInfo(functions[kernel.kernel], i, &offset, &size);
    if (result == CUDA_ERROR_INVALID_VALUE || (result == CUDA_SUCCESS && size != expected))
      return Status(StatusCode::kPlan,
                    joinText("the kernel ", entry, " does not take argument ", i, " of ", expected,
                             " bytes, which the plan passes it; compile the model again"));
    if (result != CUDA_SUCCESS)
      return cudaFailure(api(), result, "cuFuncGetParamInfo", "checking parameters of " + entry);
  }
  size_t offset = 0, size = 0;
  if (!count && api().cuFuncGetParamInfo(functions[kernel.kernel], kernel.arguments.size(), &offset,
                                         &size) == CUDA_SUCCESS)
    return Status(StatusCode::kPlan,
                  joinText("the kernel ", entry, " takes more than the ", kernel.arguments.size(),
                           " arguments that the plan passes it; compile the "
                           "model again"));
  return {};
}

Status Engine::placeWeights(const Plan &plan, const LoadProgressHandler &progress) {
  std::vector<bool> isUsed(metadata().weights.size());
  for (const auto &buffer : program().buffers)
    if (buffer->kind == plan::BufferKind::weight)
      isUsed[buffer->index] = true;
  SMELT_ASSIGN_OR_RETURN(weights, pool->place(plan, isUsed, openDevice, memoryAllocator, progress));
  return {};
}

} // namespace smelt::runtime
