// smelt diff: what differs between two plans.
#include "compiler/resolve_shapes.h"
#include "runtime/mapped_file.h"
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/load_plan.h"
#include "tools/smelt/plan_changes.h"
#include "tools/smelt/report.h"

#include <algorithm>

namespace smelt::tools {

namespace {

struct Flags {
  std::string before, after;
  std::vector<std::string> shapes;
  bool json = false;
};

/// A shape for each input.
using Shapes = std::vector<std::vector<int64_t>>;

/// What two plans are described at.
struct ComparedShapes {
  Shapes before, after;
};

/// A change, and the architecture that it is about; "" for the plan as a whole.
struct PlacedChange {
  std::string arch;
  ReportChange change;
};

} // namespace

static NamedShapes named(const Signature &signature, const Shapes &shapes) {
  NamedShapes result;
  for (size_t i = 0; i < shapes.size(); ++i)
    result[signature.inputs[i].name] = shapes[i];
  return result;
}

/// The shapes of `first`, which `second` takes too where it can.
static Result<std::pair<Shapes, Shapes>>
shapesByFirst(const Signature &first, const Signature &second, const NamedShapes &given) {
  SMELT_ASSIGN_OR_RETURN(Shapes ofFirst, resolveShapes(first, given));
  SMELT_ASSIGN_OR_RETURN(Shapes ofSecond, resolveShapes(second, named(first, ofFirst)));
  return std::pair(std::move(ofFirst), std::move(ofSecond));
}

/// Shapes that both plans take, where there are such; else for each its own, with a note. Fails with
/// kUsage where the shapes given are none of a plan's.
static Result<ComparedShapes> chooseShapes(const Signature &before, const Signature &after,
                                           const NamedShapes &given) {
  if (auto both = shapesByFirst(after, before, given); both.isOk())
    return ComparedShapes{both->second, both->first};
  if (auto both = shapesByFirst(before, after, given); both.isOk()) // whose sizes are fixed
    return ComparedShapes{both->first, both->second};
  SMELT_ASSIGN_OR_RETURN(Shapes ofBefore, resolveShapes(before, given));
  SMELT_ASSIGN_OR_RETURN(Shapes ofAfter, resolveShapes(after, given));
  note("the plans take no common shapes: memory and launches are those of different ones");
  return ComparedShapes{ofBefore, ofAfter};
}

static Result<std::vector<PlacedChange>>
findChanges(const runtime::Plan &before, const runtime::Plan &after, const ComparedShapes &shapes) {
  std::vector<PlacedChange> found;
  for (ReportChange &change : planChanges(before, after))
    found.push_back({"", std::move(change)});
  for (const auto &program : after.metadata().programs) {
    const std::string &arch = program->arch;
    const auto &others = before.metadata().programs;
    if (std::none_of(others.begin(), others.end(),
                     [&](const auto &other) { return other->arch == arch; }))
      continue;
    SMELT_ASSIGN_OR_RETURN(ReportData old, describePlan(before, arch, shapes.before));
    SMELT_ASSIGN_OR_RETURN(ReportData now, describePlan(after, arch, shapes.after));
    for (ReportChange &change : programChanges(old, now))
      found.push_back({arch, std::move(change)});
  }
  return found;
}

static Result<bool> haveSameBytes(const std::string &before, const std::string &after) {
  SMELT_ASSIGN_OR_RETURN(runtime::MappedFile old, runtime::MappedFile::open(before));
  SMELT_ASSIGN_OR_RETURN(runtime::MappedFile now, runtime::MappedFile::open(after));
  return std::ranges::equal(old.bytes(), now.bytes());
}

static void printChanges(const std::vector<PlacedChange> &changes) {
  Table table({"what", "architecture", "before", "after"});
  for (const auto &[arch, change] : changes)
    table.add({change.what, arch.empty() ? "all" : arch, change.before, change.after});
  table.print();
}

static llvm::json::Object diffJson(const Flags &flags, const std::vector<PlacedChange> &changes) {
  llvm::json::Array list;
  for (const auto &[arch, change] : changes)
    list.push_back(llvm::json::Object{
        {"arch", arch}, {"what", change.what}, {"before", change.before}, {"after", change.after}});
  return llvm::json::Object{{"schema", "smelt.diff/1"},
                            {"before", flags.before},
                            {"after", flags.after},
                            {"equal", changes.empty()},
                            {"changes", std::move(list)}};
}

static Status diff(const Flags &flags) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan before, readPlan(flags.before));
  SMELT_ASSIGN_OR_RETURN(runtime::Plan after, readPlan(flags.after));
  SMELT_ASSIGN_OR_RETURN(NamedShapes given, parseShapes(flags.shapes));
  SMELT_ASSIGN_OR_RETURN(ComparedShapes shapes, chooseShapes(signatureOf(before.metadata()),
                                                             signatureOf(after.metadata()), given));
  SMELT_ASSIGN_OR_RETURN(std::vector<PlacedChange> changes, findChanges(before, after, shapes));
  SMELT_ASSIGN_OR_RETURN(bool areSame, haveSameBytes(flags.before, flags.after));
  if (!areSame && changes.empty())
    changes.push_back(
        {"", {"kernels of other shapes, decisions or IR", "-", "not the same bytes"}});
  if (flags.json)
    printJson(diffJson(flags, changes));
  else if (changes.empty())
    print("the plans are the same");
  else
    printChanges(changes);
  if (changes.empty())
    return {};
  return Status(StatusCode::kRunFailed, joinText("the plans differ in ", changes.size(),
                                                 changes.size() == 1 ? " thing" : " things"));
}

void addDiff(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command =
      line.add("diff", "Tell what differs between two plans", [flags] { return diff(*flags); });
  command.argument("before", flags->before, "The .plan file to start from");
  command.argument("after", flags->after, "The .plan file to compare with it");
  command.texts("--shape", flags->shapes, "NAME=1x128",
                "Shape of an input (repeatable) at which memory and launches are compared. "
                "Dimensions that none sets: 1 where they lead a shape, else 128");
  addJson(command, flags->json);
  command.footer("The code is 0 where the plans are the same, and 1 where they differ.\n"
                 "examples:\n"
                 "  smelt diff before.plan after.plan\n"
                 "  smelt diff before.plan after.plan --shape input_ids=8x512 --json");
}

} // namespace smelt::tools
