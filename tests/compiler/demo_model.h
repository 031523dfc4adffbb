// The demo model, imported, for tests of what comes after.
#pragma once

#include "compiler/model.h"

#include <gtest/gtest.h>

namespace smelt::compiler {

/// Null after a failed expectation.
inline std::unique_ptr<Model> demoModel() {
  ModelOptions options;
  options.path = SMELT_DEMO_MODEL;
  Result<std::unique_ptr<Model>> model = Model::import(options);
  EXPECT_TRUE(model.isOk()) << model.status().message();
  return model.isOk() ? std::move(*model) : nullptr;
}

} // namespace smelt::compiler
