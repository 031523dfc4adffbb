// What one set of input shapes makes of a program: which launches run and after which others, what
// they are called with, how much memory they take and where buffers lie in it. Computed on the
// host, without a device.
#pragma once

#include "runtime/launch_table.h"
#include "runtime/shape_program.h"

#include <array>
#include <memory>

namespace smelt::runtime {

/// A launch that runs for these shapes, with everything filled in but what depends on addresses.
struct ScheduledLaunch {
  uint32_t id = 0;                   ///< of the launch table
  std::array<uint32_t, 3> grid = {}; ///< kernels
  uint32_t sharedBytes = 0;          ///< of a block, at least what the plan says; kernels
  uint64_t bytes = 0;                ///< memory copies and sets
  uint32_t firstBlock = 0;           ///< of Schedule::parameters; kernels
  uint32_t firstDependency = 0;      ///< of Schedule::dependencies
  uint32_t dependencyCount = 0;
};

struct Schedule {
  std::shared_ptr<const ShapeValues> shapes;
  std::vector<ScheduledLaunch> once;     ///< run in this order, before the first run
  std::vector<ScheduledLaunch> launches; ///< in an order in which they may run one by one
  /// Earlier ones of `launches` that each must follow: variants that do not run are passed over.
  std::vector<uint32_t> dependencies;
  /// The parameters of kernels, as they read them. Those that hold addresses are filled in later.
  std::vector<ParameterBlock> parameters;
  std::vector<uint64_t> inputBytes; ///< of each model input, dense
  std::vector<uint64_t> outputBytes;
  std::vector<uint64_t> slotOffsets; ///< of each arena slot; multiples of plan::kWeightBytes
  uint64_t arenaBytes = 0;
  std::vector<uint64_t> shapeOffsets; ///< of each buffer of the program that is kept for the shape
  uint64_t shapeBytes = 0;

  std::byte *parametersOf(const ScheduledLaunch &launch) {
    return parameters[launch.firstBlock].bytes;
  }
};

/// Fails with kUsage when the shapes lead to sizes that no device can take, and with kPlan when a
/// step has no variant for them.
Result<Schedule> makeSchedule(const plan::MetadataT &metadata, const LaunchTable &table,
                              std::shared_ptr<const ShapeValues> shapes);

} // namespace smelt::runtime
