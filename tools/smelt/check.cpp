// smelt check: what keeps a model from being compiled, all of it at once.
#include "compiler/node_list.h"
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/StringSet.h"

namespace smelt::tools {

namespace {
struct Flags {
  ModelFlags model;
  bool json = false;
};
} // namespace

/// Every node; those are supported that have a handler and no problem.
static llvm::json::Array nodesJson(const Flags &flags, const std::vector<Problem> &problems) {
  llvm::StringSet<> places;
  for (const Problem &problem : problems)
    places.insert(problem.place);
  llvm::json::Array nodes;
  for (const ListedNode &node : listNodes(flags.model.path))
    nodes.push_back(
        llvm::json::Object{{"name", node.name},
                           {"op", node.op},
                           {"supported", node.hasHandler && !places.contains(node.name)}});
  return nodes;
}

static llvm::json::Object problemJson(const Problem &problem) {
  std::string message = problem.message;
  for (const std::string &note : problem.notes)
    message += "\n  note: " + note;
  return llvm::json::Object{{"place", problem.place}, {"message", message}};
}

static void printProblems(const Flags &flags, const std::vector<Problem> &problems) {
  llvm::json::Array list;
  for (const Problem &problem : problems)
    list.push_back(problemJson(problem));
  if (flags.json)
    return printJson(llvm::json::Object{{"schema", "smelt.check/1"},
                                        {"model", flags.model.path},
                                        {"supported", problems.empty()},
                                        {"problems", std::move(list)},
                                        {"nodes", nodesJson(flags, problems)}});
  for (const Problem &problem : problems)
    print(problemText(problem, flags.model.path));
  if (problems.empty())
    print(flags.model.path + ": supported");
}

static Status check(const Flags &flags) {
  SMELT_ASSIGN_OR_RETURN(ModelOptions options, modelOptions(flags.model));
  Status unread;
  SMELT_RETURN_IF_ERROR(giveValues(options, flags.model.values, unread));
  SMELT_ASSIGN_OR_RETURN(std::vector<Problem> problems, checkModel(options));
  SMELT_RETURN_IF_ERROR(unread);
  printProblems(flags, problems);
  if (problems.empty())
    return {};
  return Status(StatusCode::kInvalidModel,
                joinText(flags.model.path, ": ", problems.size(),
                         problems.size() == 1 ? " problem" : " problems"));
}

void addCheck(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command =
      line.add("check", "Say whether Smelt supports a model; list everything that it does not",
               [flags] { return check(*flags); });
  command.argument("model", flags->model.path, "The .onnx file");
  command.texts("--shape", flags->model.shapes, "NAME=1x128",
                "Check what would be compiled for this shape (repeatable)");
  addValues(command, flags->model.values);
  addRandomWeights(command, flags->model.randomWeights);
  addJson(command, flags->json);
  command.footer("example:\n  smelt check model.onnx --json");
}

} // namespace smelt::tools
