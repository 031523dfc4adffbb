#include "tools/smelt/run_times.h"

#include "codegen/output_file.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace smelt::tools {

Status writeRunTimes(const runtime::RunTimes &times, const std::string &path) {
  llvm::json::Array runs;
  for (const runtime::RunTime &run : times.runs)
    runs.push_back(llvm::json::Object{{"in_ms", run.inMilliseconds},
                                      {"compute_ms", run.computeMilliseconds},
                                      {"out_ms", run.outMilliseconds},
                                      {"enqueue_us", run.enqueueMicroseconds}});
  llvm::json::Object object{{"schema", "smelt.times/1"}, {"runs", std::move(runs)}};
  std::string text = llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object)));
  return codegen::writeText(text, path);
}

} // namespace smelt::tools
