#include "tests/generate/report.h"

#include "llvm/Support/FormatVariadic.h"

#include <set>

namespace smelt::generate {

namespace {

llvm::json::Array toArray(const std::vector<std::string> &texts) {
  llvm::json::Array array;
  for (const std::string &text : texts)
    array.push_back(text);
  return array;
}

std::vector<std::string> texts(const llvm::json::Object &object, llvm::StringRef key) {
  std::vector<std::string> result;
  if (const llvm::json::Array *array = object.getArray(key))
    for (const llvm::json::Value &value : *array)
      result.push_back(value.getAsString().value_or("").str());
  return result;
}

size_t number(const llvm::json::Object &object, llvm::StringRef key) {
  return static_cast<size_t>(object.getInteger(key).value_or(0));
}

std::string text(const llvm::json::Object &object, llvm::StringRef key) {
  return object.getString(key).value_or("").str();
}

std::string print(llvm::json::Value value) { return llvm::formatv("{0}", value).str(); }

llvm::json::Object histogram(const std::map<std::string, size_t> &counts) {
  llvm::json::Object object;
  for (const auto &[name, count] : counts)
    object[name] = count;
  return object;
}

} // namespace

std::string toLine(const Report &report) {
  llvm::json::Object object{{"task", report.task},
                            {"state", static_cast<int64_t>(report.state)},
                            {"seed", report.seed},
                            {"rejection", llvm::json::fixUTF8(report.rejection)},
                            {"redraws", report.redraws},
                            {"kernels", report.kernels},
                            {"comparisons", report.comparisons},
                            {"seconds", report.seconds},
                            {"dynamic", report.isDynamic},
                            {"ops", toArray(report.ops)},
                            {"types", toArray(report.types)},
                            {"pairs", toArray(report.pairs)}};
  if (report.failure) {
    object["stage"] = report.failure->stage;
    object["message"] = llvm::json::fixUTF8(report.failure->message.substr(0, 3000));
  }
  return print(std::move(object));
}

std::optional<Report> fromLine(const std::string &line) {
  auto parsed = llvm::json::parse(line);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = parsed->getAsObject();
  if (!object)
    return std::nullopt;
  Report report{number(*object, "task"), static_cast<Report::State>(number(*object, "state"))};
  report.seed = static_cast<uint64_t>(object->getInteger("seed").value_or(0));
  report.rejection = text(*object, "rejection");
  report.redraws = number(*object, "redraws"), report.kernels = number(*object, "kernels");
  report.comparisons = number(*object, "comparisons"),
  report.seconds = object->getNumber("seconds").value_or(0);
  report.isDynamic = object->getBoolean("dynamic").value_or(false);
  report.ops = texts(*object, "ops"), report.types = texts(*object, "types"),
  report.pairs = texts(*object, "pairs");
  if (!text(*object, "stage").empty())
    report.failure = Failure{text(*object, "stage"), text(*object, "message")};
  return report;
}

void describe(const Graph &graph, Report &report) {
  report.isDynamic = graph.isDynamic();
  report.ops.clear(), report.types.clear(), report.pairs.clear();
  std::map<std::string, std::string> producers;
  for (const onnx_wire::Node &node : graph.model.graph().node()) {
    report.ops.push_back(node.op_type());
    for (const std::string &name : node.output()) {
      producers[name] = node.op_type();
      report.types.push_back(typeName(graph.values.at(name).type));
    }
    for (const std::string &name : node.input())
      if (auto producer = producers.find(name); producer != producers.end())
        report.pairs.push_back(producer->second + ">" + node.op_type());
  }
}

void Summary::add(const Report &report) {
  std::optional<Report> &known = latest[report.task];
  if (!known)
    known = report;
  else if (report.failure && !known->failure) // NVRTC's verdict comes later
    known->failure = report.failure, known->state = Report::kFails;
}

std::vector<Report> Summary::failures() const {
  std::vector<Report> result;
  for (const auto &report : latest)
    if (report && report->state == Report::kFails)
      result.push_back(*report);
  return result;
}

size_t Summary::count(Report::State state) const {
  return static_cast<size_t>(std::count_if(latest.begin(), latest.end(), [&](const auto &report) {
    return report && report->state == state;
  }));
}

size_t Summary::reported() const {
  return static_cast<size_t>(std::count_if(latest.begin(), latest.end(),
                                           [](const auto &report) { return report.has_value(); }));
}

std::map<std::string, Summary::Row> Summary::rows() const {
  std::map<std::string, Row> result;
  for (size_t i = 0; i < latest.size(); ++i) {
    if (!latest[i])
      continue;
    const Report &report = *latest[i];
    for (const std::string &name : {tasks[i].kind, std::string("total")}) {
      Row &row = result[name];
      ++row.graphs;
      row.dynamic += report.isDynamic;
      row.agree += report.state == Report::kAgrees, row.fail += report.state == Report::kFails;
      row.rejected += report.state == Report::kRejected,
          row.impossible += report.state == Report::kImpossible;
      row.kernels += report.kernels, row.comparisons += report.comparisons,
          row.redraws += report.redraws;
      row.seconds += report.seconds;
    }
  }
  return result;
}

std::string Summary::table() const {
  std::string text =
      llvm::formatv("{0,-14}{1,8}{2,9}{3,8}{4,7}{5,10}{6,12}{7,9}{8,13}{9,9}{10,10}\n", "kind",
                    "graphs", "dynamic", "agree", "fail", "undecided", "impossible", "kernels",
                    "comparisons", "redrawn", "seconds");
  for (const auto &[name, row] : rows())
    text += llvm::formatv("{0,-14}{1,8}{2,9}{3,8}{4,7}{5,10}{6,12}{7,9}{8,13}{9,9}{10,10:F1}\n",
                          name, row.graphs, row.dynamic, row.agree, row.fail, row.rejected,
                          row.impossible, row.kernels, row.comparisons, row.redraws, row.seconds);
  return text;
}

llvm::json::Value Summary::json(double seconds) const {
  std::map<std::string, size_t> ops, types, pairs, stages;
  llvm::json::Array failed;
  for (const auto &report : latest) {
    if (!report)
      continue;
    for (const std::string &op : report->ops)
      ++ops[op];
    for (const std::string &type : report->types)
      ++types[type];
    for (const std::string &pair : report->pairs)
      ++pairs[pair];
  }
  for (const Report &report : failures()) {
    ++stages[report.failure->stage];
    failed.push_back(llvm::json::Object{{"graph", tasks[report.task].name()},
                                        {"seed", report.seed},
                                        {"stage", report.failure->stage},
                                        {"message", llvm::json::fixUTF8(report.failure->message)},
                                        {"ops", toArray(report.ops)}});
  }
  llvm::json::Object kinds;
  for (const auto &[name, row] : rows())
    kinds[name] = llvm::json::Object{{"graphs", row.graphs},      {"dynamic", row.dynamic},
                                     {"agree", row.agree},        {"fail", row.fail},
                                     {"undecided", row.rejected}, {"impossible", row.impossible},
                                     {"kernels", row.kernels},    {"comparisons", row.comparisons},
                                     {"redrawn", row.redraws},    {"seconds", row.seconds}};
  return llvm::json::Object{{"schema", "smelt.generate/1"},
                            {"seconds", seconds},
                            {"asked", tasks.size()},
                            {"judged", reported()},
                            {"kinds", std::move(kinds)},
                            {"stages_of_failures", histogram(stages)},
                            {"failures", std::move(failed)},
                            {"drawn", llvm::json::Object{{"ops", histogram(ops)},
                                                         {"result_types", histogram(types)},
                                                         {"distinct_pairs", pairs.size()},
                                                         {"pairs", histogram(pairs)}}}};
}

} // namespace smelt::generate
