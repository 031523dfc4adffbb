#include "tools/smelt/html_report_measure.h"

#include "tools/smelt/bench_report.h"
#include "tools/smelt/inputs.h"
#include "tools/smelt/report.h"

namespace smelt::tools {

Result<llvm::json::Object> measurePlan(std::unique_ptr<CudaSession> session,
                                       const std::string &path,
                                       const std::vector<std::string> &shapes,
                                       const MeasureOptions &options) {
  InputFlags flags{shapes, {}};
  SMELT_ASSIGN_OR_RETURN(RunInputs inputs, makeInputs(session->signature(), flags));
  CudaSession *cuda = session.get();
  OpenModel open{nullptr, std::move(session), cuda};
  SMELT_ASSIGN_OR_RETURN(Measurement measured, measure(open, inputs.inputs, options));
  for (const std::string &warning : measured.warnings)
    note("warning: " + warning);
  return benchJson(path, *cuda, inputs.inputs, measured,
                   {std::begin(kUsualPercentiles), std::end(kUsualPercentiles)});
}

} // namespace smelt::tools
