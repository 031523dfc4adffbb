#include "tools/smelt/tune_jobs.h"

#include "codegen/output_file.h"
#include "codegen/shallow_json.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <array>

namespace smelt::tools {

static constexpr std::array<const char *, 5> kKinds = {"builds", "runs", "took", "failed", "ends"};

Status writeJobs(const TuneJobs &jobs, const std::string &path) {
  llvm::json::Array list;
  for (const TuneJob &job : jobs.jobs) {
    llvm::json::Object sizes;
    for (const auto &[symbol, size] : job.sizes)
      sizes[symbol] = size;
    list.push_back(llvm::json::Object{{"module", llvm::json::fixUTF8(job.module)},
                                      {"sizes", std::move(sizes)},
                                      {"tilings", llvm::json::Array(job.tilings)}});
  }
  llvm::json::Value value = llvm::json::Object{{"architecture", jobs.architecture},
                                               {"tf32", jobs.tf32},
                                               {"weight_bytes", jobs.weightBytes},
                                               {"jobs", std::move(list)}};
  return codegen::writeText(llvm::formatv("{0}\n", value).str(), path);
}

static bool readJob(const llvm::json::Value &value, TuneJob &job) {
  const llvm::json::Object *object = value.getAsObject();
  auto module = object ? object->getString("module") : std::nullopt;
  const llvm::json::Object *sizes = object ? object->getObject("sizes") : nullptr;
  const llvm::json::Array *tilings = object ? object->getArray("tilings") : nullptr;
  if (!module || !sizes || !tilings)
    return false;
  job.module = module->str();
  for (const auto &[symbol, size] : *sizes)
    job.sizes[symbol.str()] = size.getAsInteger().value_or(1);
  for (const llvm::json::Value &tiling : *tilings)
    job.tilings.push_back(tiling.getAsString().value_or("").str());
  return true;
}

Result<TuneJobs> readJobs(const std::string &path) {
  Status none(StatusCode::kUsage, path + " holds no jobs of smelt compile --tune");
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return none;
  llvm::Expected<llvm::json::Value> value = codegen::parseShallowJson((*file)->getBuffer());
  if (!value) {
    llvm::consumeError(value.takeError());
    return none;
  }
  const llvm::json::Object *object = value->getAsObject();
  auto architecture = object ? object->getString("architecture") : std::nullopt;
  const llvm::json::Array *list = object ? object->getArray("jobs") : nullptr;
  if (!architecture || !list)
    return none;
  TuneJobs jobs{architecture->str(),
                object->getBoolean("tf32").value_or(false),
                object->getInteger("weight_bytes").value_or(0),
                {}};
  for (const llvm::json::Value &each : *list)
    if (!readJob(each, jobs.jobs.emplace_back()))
      return none;
  return jobs;
}

std::string lineOf(const TuneReport &report) {
  llvm::json::Object object{{"kind", kKinds[static_cast<size_t>(report.kind)]},
                            {"job", static_cast<int64_t>(report.job)},
                            {"tiling", static_cast<int64_t>(report.tiling)}};
  if (report.kind == TuneReport::Kind::kTook)
    object["us"] = report.microseconds;
  if (report.kind == TuneReport::Kind::kFailed)
    object["failure"] = llvm::json::fixUTF8(report.failure);
  return llvm::formatv("{0}\n", llvm::json::Value(std::move(object))).str();
}

std::optional<TuneReport> parseReport(const std::string &line) {
  llvm::Expected<llvm::json::Value> value = codegen::parseShallowJson(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject();
  auto kind = object ? object->getString("kind") : std::nullopt;
  auto job = object ? object->getInteger("job") : std::nullopt;
  auto tiling = object ? object->getInteger("tiling") : std::nullopt;
  const auto *known = std::find(kKinds.begin(), kKinds.end(), kind.value_or(""));
  if (known == kKinds.end() || !job || !tiling || *job < 0 || *tiling < 0)
    return std::nullopt;
  return TuneReport{static_cast<TuneReport::Kind>(known - kKinds.begin()),
                    static_cast<size_t>(*job), static_cast<size_t>(*tiling),
                    object->getNumber("us").value_or(0),
                    object->getString("failure").value_or("").str()};
}

} // namespace smelt::tools
