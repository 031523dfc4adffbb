// A report as JSON, which its page shows.
#include "tools/smelt/html_report_data.h"
#include "tools/smelt/report.h"

namespace smelt::tools {

namespace json = llvm::json;

template <typename Numbers> static json::Array numbers(const Numbers &values) {
  json::Array list;
  for (auto value : values)
    list.push_back(static_cast<int64_t>(value));
  return list;
}

static llvm::json::Value orNull(std::optional<double> value) {
  return value ? jsonNumber(*value) : llvm::json::Value(nullptr);
}

/// Names of a model's file may hold bytes that are no UTF-8.
static std::string utf8(const std::string &text) {
  return llvm::json::isUTF8(text) ? text : llvm::json::fixUTF8(text);
}

static json::Array texts(const std::vector<std::string> &values) {
  json::Array list;
  for (const std::string &value : values)
    list.push_back(utf8(value));
  return list;
}

/// A list with an object for each of `items`.
template <typename Item, typename Describe>
static json::Array listOf(const std::vector<Item> &items, Describe describe) {
  json::Array list;
  for (const Item &item : items)
    list.push_back(describe(item));
  return list;
}

static json::Object portJson(const ReportPort &port) {
  return json::Object{
      {"name", utf8(port.name)}, {"type", utf8(port.type)}, {"shape", numbers(port.shape)}};
}

static json::Object launchJson(const ReportLaunch &launch) {
  json::Object object{{"step", static_cast<int64_t>(launch.step)},
                      {"number", launch.number},
                      {"name", utf8(launch.name)},
                      {"bytes", launch.bytes},
                      {"flops", launch.flops},
                      {"time_us", orNull(launch.microseconds)},
                      {"least_us", orNull(launch.leastMicroseconds)},
                      {"start_us", launch.start},
                      {"depends_on", numbers(launch.dependencies)}};
  if (launch.isBoundByMemory)
    object["bound_by"] = *launch.isBoundByMemory ? "memory" : "arithmetic";
  if (launch.kernel) {
    object["kernel"] = static_cast<int64_t>(*launch.kernel);
    object["grid"] = numbers(launch.grid);
    object["block"] = numbers(launch.block);
    object["shared_bytes"] = static_cast<int64_t>(launch.sharedBytes);
    object["machine_code"] =
        launch.facts ? llvm::json::Value(factsJson(*launch.facts)) : llvm::json::Value(nullptr);
  }
  return object;
}

static json::Object bufferJson(const ReportBuffer &buffer) {
  return json::Object{{"kind", plan::EnumNameBufferKind(buffer.kind)},
                      {"name", utf8(buffer.name)},
                      {"bytes", static_cast<int64_t>(buffer.bytes)},
                      {"offset", static_cast<int64_t>(buffer.offset)},
                      {"steps", numbers(buffer.steps)}};
}

static llvm::json::Value profileJson(const std::optional<ReportProfile> &profile) {
  if (!profile)
    return nullptr;
  return json::Object{{"path", utf8(profile->path)}, {"device", utf8(profile->device)},
                      {"median", profile->median},   {"p99", profile->p99},
                      {"min", profile->least},       {"mean", profile->mean}};
}

static json::Object nodeJson(const ReportNode &node) {
  return json::Object{
      {"name", utf8(node.name)}, {"op", utf8(node.op)}, {"inputs", numbers(node.inputs)}};
}

json::Object reportJson(const ReportData &report) {
  auto step = [](const ReportStep &item) {
    return json::Object{{"onnx_nodes", texts(item.onnxNodes)}, {"once", item.runsOnce}};
  };
  auto kernel = [](const ReportKernel &item) {
    return json::Object{{"entry", utf8(item.entry)}, {"source", utf8(item.source)}};
  };
  auto remark = [](const ReportRemark &item) {
    return json::Object{
        {"node", utf8(item.node)}, {"text", utf8(item.text)}, {"taken", item.taken}};
  };
  auto change = [](const ReportChange &item) {
    return json::Object{
        {"what", utf8(item.what)}, {"before", utf8(item.before)}, {"after", utf8(item.after)}};
  };
  return json::Object{{"schema", "smelt.report/1"},
                      {"model", utf8(report.model)},
                      {"command", utf8(report.command)},
                      {"smelt_version", report.compiler},
                      {"arch", report.arch},
                      {"architectures", texts(report.architectures)},
                      {"part", report.part},
                      {"inputs", listOf(report.inputs, portJson)},
                      {"outputs", listOf(report.outputs, portJson)},
                      {"plan_bytes", static_cast<int64_t>(report.planBytes)},
                      {"weight_bytes", static_cast<int64_t>(report.weightBytes)},
                      {"arena_bytes", static_cast<int64_t>(report.arenaBytes)},
                      {"has_graph", report.hasGraph},
                      {"nodes", listOf(report.nodes, nodeJson)},
                      {"steps", listOf(report.steps, step)},
                      {"launches", listOf(report.launches, launchJson)},
                      {"kernels", listOf(report.kernels, kernel)},
                      {"buffers", listOf(report.buffers, bufferJson)},
                      {"remarks", listOf(report.remarks, remark)},
                      {"profile", profileJson(report.profile)},
                      {"against", utf8(report.against)},
                      {"changes", listOf(report.changes, change)},
                      {"missing", texts(report.missing)}};
}

} // namespace smelt::tools
