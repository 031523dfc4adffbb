// Outputs of a plan that were recorded elsewhere, for the fake driver to hand out.
#pragma once

#include "runtime/plan_format.h"
#include "runtime/status.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace smelt::runtime {

/// One recorded output; without bytes where it was not recorded.
struct RecordedOutput {
  std::string name;
  std::optional<std::vector<std::byte>> bytes;
};

/// The outputs of one plan. A driver knows no names: a run copies its outputs to the host in the order
/// of the plan, on the thread that launched it.
class RecordedOutputs {
public:
  /// Recordings of another plan are forgotten. Fails where the plan cannot be read.
  Status usePlan(const std::string &path);
  /// Fails with kUsage where the plan has no such output.
  Status record(const std::string &output, std::span<const std::byte> bytes);
  /// Records every output from its NAME.npy.
  Status recordFolder(const std::string &folder);

  /// A run was launched by the calling thread.
  void beginRun();
  /// What the calling thread's run copies to the host next; null where that is no output.
  const RecordedOutput *next();

private:
  std::string plan;
  std::vector<RecordedOutput> outputs;
  std::vector<plan::ElementType> types; ///< of the outputs
  std::map<std::thread::id, size_t> positions;
};

} // namespace smelt::runtime
