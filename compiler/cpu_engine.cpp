#include "compiler/cpu_engine.h"

#include "compiler/cpu_context.h"
#include "runtime/api_context.h"

#include <new>

namespace smelt::compiler {

using api::guarded;
using api::loggedAs;
using api::required;
using runtime::Binding;
using runtime::ContextOptions;
using runtime::Logger;

namespace {

/// As strictly aligned as a device's.
constexpr std::align_val_t kAlignment{plan::kWeightBytes};

class HostMemory : public smelt_memory {
public:
  /// Its address is null where there is no memory.
  explicit HostMemory(size_t bytes) : memory(operator new(bytes, kAlignment, std::nothrow)) {}
  ~HostMemory() override { operator delete(memory, kAlignment); }
  HostMemory(const HostMemory &) = delete;
  void *address() const noexcept override { return memory; }

private:
  void *memory;
};

Result<std::unique_ptr<HostMemory>> allocateHost(uint64_t bytes) {
  auto memory = std::make_unique<HostMemory>(bytes);
  if (memory->address() == nullptr)
    return Status(StatusCode::kResources,
                  joinText("there is no host memory for a tensor of ", bytes, " bytes"));
  return memory;
}

class CpuApiContext : public api::ApiContext<CpuContext> {
public:
  using ApiContext::ApiContext;

private:
  Status timeLaunches(CpuContext &context, size_t repetitions, LaunchReceiver onLaunch,
                      void *user) override {
    return Status(StatusCode::kUsage, "a profile is of kernels, and the engine runs on the CPU");
  }
  DLDevice device(const CpuContext &context) const override { return {dlpack::kCpu, 0}; }
  Result<dlpack::Room> allocate(CpuContext &context, uint64_t bytes) const override {
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<HostMemory> memory, allocateHost(bytes));
    std::shared_ptr<const HostMemory> kept = std::move(memory);
    return dlpack::Room{kept, kept->address()};
  }
};

} // namespace

CpuEngine::CpuEngine(std::shared_ptr<CpuModel> shared)
    : ApiEngine(shared->metadata()), model(std::move(shared)), name(cpuName()) {}

smelt_code CpuEngine::updateWeight(const char *name, const smelt_binding *values, void *stream,
                                   smelt_error *error) noexcept {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(name, "name", values, "values"));
    SMELT_ASSIGN_OR_RETURN(Binding binding, api::readBinding(values));
    Status status = refuseStream(stream);
    return loggedAs(model->logger(), status.isOk() ? model->updateWeight(name, binding) : status);
  });
}

smelt_code CpuEngine::allocateMemory(size_t bytes, smelt_memory **memory,
                                     smelt_error *error) const noexcept {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(memory, "memory"));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<HostMemory> allocated,
                           allocateHost(std::max<size_t>(bytes, 1)));
    *memory = allocated.release();
    return {};
  });
}

smelt_code CpuEngine::createContext(const smelt_context_options *given, smelt_context **context,
                                    smelt_error *error) const noexcept {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context"));
    SMELT_ASSIGN_OR_RETURN(ContextOptions options, api::readContextOptions(given));
    Result<std::unique_ptr<CpuContext>> created = CpuContext::create(model, options);
    const Logger &logger = options.logger ? *options.logger : model->logger();
    SMELT_RETURN_IF_ERROR(loggedAs(logger, created.status()));
    *context = std::make_unique<CpuApiContext>(std::move(*created)).release();
    return {};
  });
}

} // namespace smelt::compiler
