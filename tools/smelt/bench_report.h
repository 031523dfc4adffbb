// What `smelt bench --json` prints, and what a report takes over.
#pragma once

#include "tools/smelt/measurement.h"

#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace smelt::tools {

/// Percentiles of single runs that are told where nothing else is asked for.
inline constexpr const char *kUsualPercentiles[] = {"90", "95", "99"};

/// The launches of one run that run the same machine code.
struct KernelGroup {
  std::string name;
  size_t launches = 0;
  double microseconds = 0, leastMicroseconds = 0;
  int64_t bytes = 0, flops = 0;
};

/// Those that take most first.
std::vector<KernelGroup> groupKernels(const Measurement &measured);
double totalMicroseconds(const std::vector<KernelGroup> &groups);
/// Of what the memory and the arithmetic of the device allow for all kernels.
double leastMilliseconds(const Measurement &measured);

/// {"schema": "smelt.bench/1", ...} of a session that ran with these inputs. `model` is the path that the user gave, `percents` the
/// percentiles of single runs.
llvm::json::Object benchJson(const std::string &model, const Session &session,
                             const std::vector<Array> &inputs, const Measurement &measured,
                             const std::vector<std::string> &percents);

} // namespace smelt::tools
