#include "tools/smelt/bisect_casts.h"

#include "runtime/text.h"
#include "tools/smelt/error_statistics.h"
#include "tools/smelt/interpreter_array.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/report.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smelt::tools {

static std::string describe(const CastVerdict &verdict) {
  std::string bound = scientificText(verdict.bound);
  if (verdict.wide.empty())
    return "no cast is to blame: narrowed in the interpreter, the outputs stay within " + bound;
  std::string text =
      joinText("the outputs stay within ", bound, " where ",
               verdict.wide.size() == 1 ? "this is" : "these are", " not cast to 16 bits:");
  for (const NarrowingReport::Wide &wide : verdict.wide)
    text += joinText("\n  ", wide.op, " of ", wide.nodes, ", which by itself is off by ",
                     scientificText(wide.error));
  return text;
}

Result<CastVerdict> bisectCasts(const OpenFlags &flags, const std::vector<Array> &inputs,
                                std::optional<double> tolerance) {
  setActivity("searching for the cast");
  CastVerdict verdict{
      tolerance.value_or(defaultTolerance(ElementType::f16, /*tf32=*/false)), {}, ""};
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, importModel(flags.model));
  FuseOptions options;
  options.narrowing.to = flags.precision;
  options.narrowing.within = verdict.bound;
  options.narrowing.onMeasured = [&](const NarrowingReport &report) { verdict.wide = report.wide; };
  auto main = model->module().lookupSymbol<mlir::func::FuncOp>("main");
  std::vector<HostTensor> &calibration = options.narrowing.calibration.emplace_back();
  for (auto [array, type] : llvm::zip(inputs, main.getArgumentTypes())) {
    SMELT_ASSIGN_OR_RETURN(HostTensor tensor, toInterpreter(array, type, Precision::f32));
    calibration.push_back(std::move(tensor));
  }
  Status searched = fuse(*model, options);
  if (searched.code() == StatusCode::kAccuracy) { // float32 itself breaks the bound
    verdict.text = "no cast is to blame alone: " + searched.message();
    return verdict;
  }
  SMELT_RETURN_IF_ERROR(searched);
  verdict.text = describe(verdict);
  return verdict;
}

} // namespace smelt::tools
