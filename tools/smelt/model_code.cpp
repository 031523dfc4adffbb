#include "tools/smelt/model_code.h"

#include "runtime/text.h"
#include "tools/smelt/kernel_sets.h"
#include "tools/smelt/load_plan.h"
#include "tools/smelt/repeats.h"
#include "tools/smelt/report.h"
#include "tools/smelt/temporary_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace smelt::tools {

Result<std::vector<LaunchCode>> compileAndMeasureCode(Model &fused, const BuildFlags &flags) {
  SMELT_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::create("plan"));
  SMELT_RETURN_IF_ERROR(build(fused, flags, file.path()));
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, readPlan(file.path()));
  const plan::ProgramT &program = *plan.metadata().programs.front();
  std::vector<LaunchCode> launches;
  for (const PlanLaunch &each : launchesOf(program))
    launches.push_back({each.kernelNumber, each.number, each.launch->name,
                        ruleText(each.variant->rule.get()), factsOf(plan, program, *each.launch)});
  return launches;
}

static std::vector<std::string> cellsOf(const LaunchCode &launch) {
  if (!launch.facts)
    return {launch.name, launch.sizes, "-", "-", "-", "-", "-"};
  const KernelFacts &facts = *launch.facts;
  return {launch.name,
          launch.sizes,
          std::to_string(facts.needs.registers),
          facts.sharedBytes() ? bytesText(facts.sharedBytes()) : "-",
          std::to_string(facts.occupancy.blocks),
          numberText(100 * facts.occupancy.threads, 0),
          facts.occupancy.limitedBy};
}

void printLaunchCode(const std::vector<LaunchCode> &launches) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> texts;
  for (const LaunchCode &launch : launches) {
    rows.push_back(cellsOf(launch));
    texts.push_back(llvm::join(rows.back(), "\n"));
  }
  Table table({"#", "times", "launch", "runs at", "registers", "shared memory", "blocks",
               "occupancy, %", "limited by"});
  for (const Repeat &repeat : foldRepeats(texts))
    for (size_t i = repeat.first; i < repeat.first + repeat.period; ++i) {
      std::vector<std::string> cells{launches[i].number, "x " + std::to_string(repeat.count)};
      llvm::append_range(cells, rows[i]);
      table.add(std::move(cells));
    }
  table.print();
}

void addLaunchCode(llvm::json::Array &kernels, const std::vector<LaunchCode> &launches) {
  for (const LaunchCode &launch : launches) {
    llvm::json::Object object{
        {"number", launch.number}, {"name", launch.name}, {"runs_at", launch.sizes}};
    if (launch.facts)
      object["machine_code"] = factsJson(*launch.facts);
    llvm::json::Object &kernel = *kernels[launch.kernel].getAsObject();
    llvm::json::Value &list = kernel.try_emplace("launches", llvm::json::Array()).first->second;
    list.getAsArray()->push_back(std::move(object));
  }
}

} // namespace smelt::tools
