// The plan that smelt compare judges, and what is inside of it.
//
// Problem: a plan hands out the model's outputs, and which of its kernels is wrong shows in what each of them
// leaves. Method: the plan keeps the fused IR (compiler/fused_ir.h). With every fusion's results as outputs it
// becomes a plan again, in which each kernel has the code that it has in the given one, whatever became of
// it since: patched kernels stay so, and nothing is compiled. Assumes that the kernels of today's templates
// are those of the plan, which their names say: a plan of another Smelt may have others, and is refused.
#pragma once

#include "codegen/tuning.h"
#include "compiler/fused_ir.h"
#include "tools/smelt/open.h"

namespace smelt::tools {

class JudgedPlan {
public:
  /// Reads the plan at `path`, and the model from which it was compiled for what its IR needs. Fails as
  /// runtime::readPlan() does; of an IR that cannot be had inside() says why.
  static Result<JudgedPlan> read(const std::string &path, const ModelFlags &model);

  const runtime::Plan &plan() const { return given; }
  /// Whether fused() has a model: kUsage for a plan that keeps no IR, kInvalidModel for one of other
  /// weights, kPlan where its IR cannot be read.
  const Status &inside() const { return reason; }
  Model &fused() const { return *model; }

  /// What the parts of the model have to be compiled with to be like the plan. Fails with kUsage where
  /// `flags` ask for something else.
  Status adjust(OpenFlags &flags) const;
  /// Whether parts of the model can be compiled as it was. kUsage, saying why, where they cannot.
  Status checkReducible() const;

  /// Runs `exposed`, which is fused() with more results, by the plan's own code of `program`. Fails with
  /// kUsage where the plan lacks a kernel.
  Result<std::vector<Array>> run(const plan::ProgramT &program, Model &exposed,
                                 const std::vector<Array> &inputs, int device) const;

private:
  JudgedPlan(std::string path, runtime::Plan plan)
      : path(std::move(path)), given(std::move(plan)) {}
  bool isTf32() const { return given.metadata().compile_options == "tf32"; }

  std::string path;
  runtime::Plan given;
  std::unique_ptr<Model> model;
  std::shared_ptr<const codegen::Tuning> tuning; ///< that decided about its kernels, if one did
  Status reason;
};

} // namespace smelt::tools
