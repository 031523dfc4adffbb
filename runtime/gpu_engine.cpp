#include "runtime/gpu_engine.h"

#include "runtime/api_context.h"
#include "runtime/c_api.h"
#include "runtime/context.h"
#include "runtime/profile.h"
#include "runtime/update_weight.h"

namespace smelt::runtime {

using api::guarded;
using api::loggedAs;
using api::required;

namespace {

class GpuMemory : public smelt_memory {
public:
  explicit GpuMemory(DeviceMemory memory) : memory(std::move(memory)) {}
  void *address() const noexcept override { return reinterpret_cast<void *>(memory.address()); }

private:
  DeviceMemory memory;
};

class GpuContext : public api::ApiContext<Context> {
public:
  using ApiContext::ApiContext;

private:
  Status timeLaunches(Context &context, size_t repetitions, LaunchReceiver onLaunch,
                      void *user) override;
  DLDevice device(const Context &context) const override {
    return {dlpack::kCuda, context.engine().device()->ordinal()};
  }
  Result<dlpack::Room> allocate(Context &context, uint64_t bytes) const override;
};

void report(const LaunchTime &launch, void (*receive)(void *, const smelt_launch_time *),
            void *user) {
  std::vector<const char *> nodes;
  nodes.reserve(launch.planned->step->onnx_nodes.size());
  for (const std::string &node : launch.planned->step->onnx_nodes)
    nodes.push_back(node.c_str());
  smelt_launch_time described = {sizeof(smelt_launch_time),
                                 launch.planned->launch->name.c_str(),
                                 launch.microseconds,
                                 launch.bytes,
                                 launch.flops,
                                 nodes.data(),
                                 nodes.size(),
                                 launch.planned->number.c_str()};
  receive(user, &described);
}

Status GpuContext::timeLaunches(Context &context, size_t repetitions, LaunchReceiver onLaunch,
                                void *user) {
  SMELT_ASSIGN_OR_RETURN(std::vector<LaunchTime> launches, profileLaunches(context, repetitions));
  for (const LaunchTime &launch : launches)
    report(launch, onLaunch, user);
  return {};
}

Result<dlpack::Room> GpuContext::allocate(Context &context, uint64_t bytes) const {
  const Engine &engine = context.engine();
  SMELT_ASSIGN_OR_RETURN(auto current, CurrentContext::enter(*engine.device()));
  RelaxedCapture relaxed(engine.api());
  SMELT_ASSIGN_OR_RETURN(
      DeviceMemory memory,
      DeviceMemory::allocate(engine.device(), engine.allocator(), bytes, "an output"));
  auto kept = std::make_shared<const DeviceMemory>(std::move(memory));
  return dlpack::Room{kept, reinterpret_cast<void *>(kept->address())};
}

} // namespace

Status createEngine(const Plan &plan, Driver driver, const smelt_engine_options *given,
                    smelt_engine **engine) {
  SMELT_ASSIGN_OR_RETURN(EngineOptions options, api::readEngineOptions(given));
  Result<SharedEngine> created = Engine::create(plan, std::move(driver), options);
  SMELT_RETURN_IF_ERROR(loggedAs(options.logger, created.status()));
  *engine = new GpuEngine(std::move(*created));
  return {};
}

smelt_code GpuEngine::updateWeight(const char *name, const smelt_binding *values, void *stream,
                                   smelt_error *error) noexcept {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(name, "name", values, "values"));
    SMELT_ASSIGN_OR_RETURN(Binding binding, api::readBinding(values));
    return loggedAs(engine->logger(),
                    runtime::updateWeight(*engine, name, binding, static_cast<CUstream>(stream)));
  });
}

smelt_code GpuEngine::allocateMemory(size_t bytes, smelt_memory **memory,
                                     smelt_error *error) const noexcept {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(memory, "memory"));
    SMELT_ASSIGN_OR_RETURN(auto current, CurrentContext::enter(*engine->device()));
    SMELT_ASSIGN_OR_RETURN(DeviceMemory allocated,
                           DeviceMemory::allocate(engine->device(), engine->allocator(),
                                                  std::max<size_t>(bytes, 1), "a tensor"));
    *memory = std::make_unique<GpuMemory>(std::move(allocated)).release();
    return {};
  });
}

smelt_code GpuEngine::createContext(const smelt_context_options *given, smelt_context **context,
                                    smelt_error *error) const noexcept {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context"));
    SMELT_ASSIGN_OR_RETURN(ContextOptions options, api::readContextOptions(given));
    Result<std::unique_ptr<Context>> created = Context::create(engine, options);
    const Logger &logger = options.logger ? *options.logger : engine->logger();
    SMELT_RETURN_IF_ERROR(loggedAs(logger, created.status()));
    *context = std::make_unique<GpuContext>(std::move(*created)).release();
    return {};
  });
}

} // namespace smelt::runtime
