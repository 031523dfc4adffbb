// What stands behind the handles of smelt_compiler.h.
#pragma once

#include "compiler/build_plan.h"
#include "compiler/smelt_compiler.h"

struct smelt_compilation {
  smelt::compiler::ModelOptions model;
  smelt::compiler::PlanOptions plan;
  smelt::compiler::FloatPrecision precision = smelt::compiler::FloatPrecision::fp32;
  std::string explanation; ///< what smelt_compile_explain gave last

  /// The model, imported and fused.
  smelt::Result<std::unique_ptr<smelt::compiler::Model>> fused() const;
};
