// A report as a page, as a trace and as a graph of Graphviz.
#include "runtime/text.h"
#include "tools/smelt/html_report_data.h"
#include "tools/smelt/html_report_page.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace smelt::tools {

namespace json = llvm::json;

/// Nothing in a script element may look like its end, or like a comment: "<" stands in strings of
/// JSON alone, where it may be written so.
static std::string scriptText(const json::Object &object) {
  std::string plain = llvm::formatv("{0}", json::Value(json::Object(object)));
  std::string text;
  for (char c : plain)
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text;
}

std::string reportPage(const ReportData &report) {
  llvm::StringRef page(pageTemplate());
  auto [before, after] = page.split(kDataMark);
  return before.str() + scriptText(reportJson(report)) + after.str();
}

json::Object reportTrace(const ReportData &report) {
  json::Array events;
  for (const ReportLaunch &launch : report.launches) {
    const ReportStep &step = report.steps[launch.step];
    if (step.runsOnce)
      continue;
    std::string nodes = llvm::join(step.onnxNodes, " ");
    events.push_back(
        json::Object{{"name", llvm::json::fixUTF8(joinText(launch.number, " ", launch.name))},
                     {"cat", launch.microseconds ? "measured" : "predicted by the roofline"},
                     {"ph", "X"},
                     {"ts", launch.start},
                     {"dur", ReportData::timeOf(launch)},
                     {"pid", 0},
                     {"tid", 0},
                     {"args", json::Object{{"number", launch.number},
                                           {"onnx_nodes", llvm::json::fixUTF8(nodes)},
                                           {"bytes", launch.bytes},
                                           {"flops", launch.flops}}}});
  }
  return json::Object{{"displayTimeUnit", "ns"},
                      {"otherData", json::Object{{"model", llvm::json::fixUTF8(report.model)},
                                                 {"command", llvm::json::fixUTF8(report.command)}}},
                      {"traceEvents", std::move(events)}};
}

/// A string of Graphviz's language.
static std::string quoted(llvm::StringRef text) {
  std::string result = "\"";
  for (char c : text)
    if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else
      result += llvm::isPrint(c) || (c & 0x80) ? c : ' ';
  return result + "\"";
}

std::string reportDot(const ReportData &report) {
  std::string text = "digraph " + quoted(report.model) + " {\n  node [shape=box];\n";
  std::vector<std::string> names(report.steps.size());
  for (const ReportLaunch &launch : report.launches)
    names[launch.step] += (names[launch.step].empty() ? "" : ", ") + launch.name;
  for (size_t step = 0; step < names.size(); ++step)
    if (!names[step].empty())
      text += joinText("  k", step, " [label=", quoted(joinText(step, " ", names[step])),
                       ", tooltip=", quoted(llvm::join(report.steps[step].onnxNodes, " ")), "];\n");
  size_t port = 0;
  for (const ReportBuffer &buffer : report.buffers) {
    std::string from;
    bool isInput = buffer.kind == plan::BufferKind::input;
    if (buffer.steps.empty() || buffer.kind == plan::BufferKind::weight)
      continue;
    if (!buffer.name.empty())
      text += joinText("  p", port++, " [shape=ellipse, label=", quoted(buffer.name), "];\n");
    from = isInput ? joinText("p", port - 1) : joinText("k", buffer.steps[0]);
    for (size_t i = isInput ? 0 : 1; i < buffer.steps.size(); ++i)
      text += joinText("  ", from, " -> k", buffer.steps[i], ";\n");
    if (!isInput && !buffer.name.empty())
      text += joinText("  ", from, " -> p", port - 1, ";\n");
  }
  return text + "}\n";
}

} // namespace smelt::tools
