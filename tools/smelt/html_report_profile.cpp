// Times that `smelt bench --json` measured, for a report.
#include "codegen/shallow_json.h"
#include "runtime/text.h"
#include "tools/smelt/html_report_data.h"

#include "llvm/Support/MemoryBuffer.h"

#include <deque>
#include <map>

namespace smelt::tools {

namespace json = llvm::json;

static constexpr llvm::StringLiteral kSchema = "smelt.bench/1";

static Status refuse(const std::string &path, const std::string &why) {
  return Status(StatusCode::kUsage,
                joinText("--profile: ", path, " ", why, "; give what smelt bench --json printed"));
}

Result<json::Object> readProfile(const std::string &path) {
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return refuse(path, "cannot be read: " + text.getError().message());
  llvm::Expected<llvm::json::Value> value = codegen::parseShallowJson((*text)->getBuffer());
  if (!value)
    return refuse(path, "is no JSON: " + llvm::toString(value.takeError()));
  json::Object *object = value->getAsObject();
  if (!object || object->getString("schema") != kSchema || !object->getObject("latency_ms") ||
      !object->getArray("kernels"))
    return refuse(path, joinText("has no latency and kernels of the schema ", kSchema.str()));
  return std::move(*object);
}

Result<std::vector<std::string>> profileShapes(const json::Object &profile,
                                               const std::string &path) {
  std::vector<std::string> flags;
  const json::Object *shapes = profile.getObject("shapes");
  if (!shapes)
    return refuse(path, "names no shapes");
  for (const auto &[name, value] : *shapes) {
    const json::Array *extents = value.getAsArray();
    if (!extents)
      return refuse(path, "has a shape that is no list");
    std::string text;
    for (const llvm::json::Value &extent : *extents)
      text += joinText(text.empty() ? "" : "x", extent.getAsInteger().value_or(-1));
    flags.push_back(joinText(llvm::StringRef(name).str(), "=", text));
  }
  return flags;
}

/// What tells a kernel of the profile from others: what it computes, of which nodes.
using Identity = std::pair<std::string, std::vector<std::string>>;

static Identity identify(const json::Object &kernel) {
  Identity identity{kernel.getString("name").value_or("").str(), {}};
  if (const json::Array *nodes = kernel.getArray("onnx_nodes"))
    for (const llvm::json::Value &node : *nodes)
      identity.second.push_back(node.getAsString().value_or("").str());
  return identity;
}

/// The roofline is the measured device's own, where the profile says how much of it was reached.
static void take(ReportLaunch &launch, const json::Object &kernel) {
  launch.microseconds = kernel.getNumber("time_us");
  if (std::optional<double> share = kernel.getNumber("roofline_share");
      share && launch.microseconds)
    launch.leastMicroseconds = *share * *launch.microseconds;
}

Status addProfile(ReportData &report, const json::Object &profile, const std::string &path) {
  std::map<Identity, std::deque<const json::Object *>> kernels;
  for (const llvm::json::Value &kernel : *profile.getArray("kernels"))
    if (const json::Object *object = kernel.getAsObject())
      kernels[identify(*object)].push_back(object);
  size_t unmatched = 0, wanted = 0;
  for (ReportLaunch &launch : report.launches) {
    const ReportStep &step = report.steps[launch.step];
    if (step.runsOnce)
      continue;
    ++wanted;
    auto found = kernels.find({launch.name, step.onnxNodes});
    if (found == kernels.end() || found->second.empty()) {
      ++unmatched;
      continue;
    }
    take(launch, *found->second.front());
    found->second.pop_front();
  }
  if (unmatched && !profile.getArray("kernels")->empty())
    return Status(StatusCode::kUsage,
                  joinText("--profile: ", path, " has no times for ", unmatched, " of ", wanted,
                           " launches; measure this model at these shapes, compiled alike"));
  const json::Object &latency = *profile.getObject("latency_ms");
  auto number = [&](const char *key) { return latency.getNumber(key).value_or(0); };
  report.profile = {path,
                    profile.getString("device").value_or("").str(),
                    number("median"),
                    number("p99"),
                    number("min"),
                    number("mean")};
  if (profile.getArray("kernels")->empty())
    report.missing.push_back("Times of kernels: the profile has none (it was measured on " +
                             report.profile->device + ").");
  return {};
}

void placeInTime(ReportData &report) {
  for (ReportLaunch &launch : report.launches)
    for (size_t earlier : launch.dependencies) {
      const ReportLaunch &before = report.launches[earlier];
      launch.start = std::max(launch.start, before.start + ReportData::timeOf(before));
    }
}

} // namespace smelt::tools
