// What `smelt compile --tune` tells its worker process to measure, and what that tells back.
#pragma once

#include "runtime/status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smelt::tools {

/// Tilings of one product to compare at one number of rows.
struct TuneJob {
  std::string module;                   ///< codegen::TunableProduct::module
  std::map<std::string, int64_t> sizes; ///< by symbol
  std::vector<std::string> tilings;
};

struct TuneJobs {
  std::string architecture;
  bool tf32 = false;
  int64_t weightBytes = 0; ///< codegen::productWeightBytes() of the model
  std::vector<TuneJob> jobs;
};

/// As a file for the worker. Fails with kResources.
Status writeJobs(const TuneJobs &jobs, const std::string &path);
/// Fails with kUsage where the file is none that writeJobs() wrote.
Result<TuneJobs> readJobs(const std::string &path);

/// A line of the worker's, about one tiling of a job: what it begins now, or what came out.
struct TuneReport {
  enum class Kind { kBuilds, kRuns, kTook, kFailed, kEnds } kind;
  size_t job = 0, tiling = 0; ///< indices; kEnds is of the job
  double microseconds = 0;    ///< of kTook
  std::string failure = {};   ///< of kFailed
};

std::string lineOf(const TuneReport &report);
/// None for a line that is no report.
std::optional<TuneReport> parseReport(const std::string &line);

} // namespace smelt::tools
