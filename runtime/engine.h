// A plan loaded onto one device: modules, kernels and weights. Immutable but for the values of its
// weights (update_weight.h), so that any number of threads and contexts may use one.
#pragma once

#include "runtime/device.h"
#include "runtime/launch_table.h"
#include "runtime/load_progress.h"
#include "runtime/logger.h"
#include "runtime/read_plan.h"
#include "runtime/verify_metadata.h"
#include "runtime/weight_pool.h"

#include <vector>

namespace smelt::runtime {

class Engine;
using SharedEngine = std::shared_ptr<const Engine>;

struct EngineOptions {
  int device = 0; ///< CUDA ordinal
  /// For weights, and for the contexts' workspaces; must be callable from any thread.
  DeviceAllocator allocator;
  CUcontext context =
      nullptr; ///< of the caller, who keeps it alive; null: the device's primary one
  Logger logger = {};
  SharedEngine sharesWeightsWith =
      nullptr;                       ///< in the same context of the same device; null: nobody
  LoadProgressHandler progress = {}; ///< hears of "kernels" and "weights"
};

class Engine {
public:
  /// Loads the plan's program for the device, uploads its weights. The plan is not needed
  /// afterwards. Fails with kEnvironment when the plan holds no code for the device.
  static Result<SharedEngine> create(const Plan &plan, Driver driver, const EngineOptions &options);
  ~Engine();
  Engine(const Engine &) = delete;

  const plan::MetadataT &metadata() const { return *planMetadata; }
  const plan::ProgramT &program() const { return launchTable->program(); }
  const LaunchTable &launches() const { return *launchTable; }
  const SharedDevice &device() const { return openDevice; }
  const DriverApi &api() const { return openDevice->api(); }
  const DeviceAllocator &allocator() const { return memoryAllocator; }
  const Logger &logger() const { return log; }
  CUfunction function(uint32_t kernel) const { return functions[kernel]; }
  /// The address of one of the metadata's weights; 0 when the program does not use it.
  CUdeviceptr weightAddress(uint32_t weight) const { return weights.addresses[weight]; }
  /// Of this engine and those that it shares weights with.
  WeightPool &weightPool() const { return *pool; }

private:
  Engine(const Plan &plan, SharedDevice device, const EngineOptions &options);
  Status load(const Plan &plan, const LoadProgressHandler &progress);
  Status loadModules(const Plan &plan, const LoadProgressHandler &progress);
  Status translate(const plan::ModuleT &module, std::span<const std::byte> ptx, CUmodule &loaded);
  Status loadKernels();
  Status checkParameters(const Plan &plan) const;
  Status configureKernels();
  Status checkParameters(const Plan &plan, const plan::KernelNodeT &kernel) const;
  Status placeWeights(const Plan &plan, const LoadProgressHandler &progress);

  std::shared_ptr<const plan::MetadataT> planMetadata;
  SharedDevice openDevice;
  DeviceAllocator memoryAllocator;
  Logger log;
  std::optional<LaunchTable> launchTable; ///< of the program that was chosen
  Architecture architecture;              ///< of that program
  std::vector<CUmodule> modules;
  std::vector<CUfunction> functions;
  std::shared_ptr<WeightPool> pool;
  PlacedWeights weights;
};

/// The program that runs best on a device of this compute capability whose blocks may have so much
/// shared memory: code for exactly this architecture before portable code of the same generation,
/// and that before PTX; what the memory does not suffice for only where nothing else runs. Null when
/// there is none.
const plan::ProgramT *chooseProgram(const plan::MetadataT &metadata, int computeCapability,
                                    uint32_t maxSharedBytes);

} // namespace smelt::runtime
