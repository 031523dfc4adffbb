// The test plan on the fake driver, with kernels that compute what they say.
#pragma once

#include "runtime/context.h"
#include "runtime/fake_driver.h"
#include "runtime/smelt.h"
#include "tests/runtime/test_plan.h"

#include <gtest/gtest.h>

namespace smelt::test {

/// Fails the test with the status's message.
testing::AssertionResult isOk(const Status &status);
template <typename T> testing::AssertionResult isOk(const Result<T> &result) {
  return isOk(result.status());
}

/// Whether a call was refused with this code and a message that contains `part`.
testing::AssertionResult isRefused(const Status &status, StatusCode code, const std::string &part);

/// Makes the fake driver compute add and scale.
void addKernels(runtime::FakeDriver &fake);

/// out = (x + y) * gain on host vectors.
struct AddScaleData {
  explicit AddScaleData(runtime::Shape shape, uint32_t seed = 1);

  /// What the diamond plan makes of x and y.
  std::vector<float> expectedTwice() const;

  runtime::Shape shape;
  std::vector<float> x, y, out, expected;
};

runtime::Binding hostBinding(std::vector<float> &values);
smelt_binding cHostBinding(std::vector<float> &values); // for C

class FakeModel {
public:
  explicit FakeModel(runtime::FakeDevice device = {});

  Result<runtime::SharedEngine> createEngine(const runtime::EngineOptions &options = {});
  /// Sets shapes and binds host memory.
  static Status bindHost(runtime::Context &context, AddScaleData &data);

  TestPlan plan;
  std::vector<std::byte> file;
  runtime::FakeDriver fake;
};

} // namespace smelt::test
