#include "tests/runtime/fake_model.h"

#include <random>

namespace smelt::test {

testing::AssertionResult isOk(const Status &status) {
  if (status.isOk())
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.message();
}

testing::AssertionResult isRefused(const Status &status, StatusCode code, const std::string &part) {
  if (status.code() == code && status.message().find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "code " << static_cast<int>(status.code()) << ": " << status.message();
}

void addKernels(runtime::FakeDriver &fake) {
  using Call = runtime::FakeKernelCall;
  fake.addKernel("add", {{8, 8, 8, 4}, [](const Call &call) {
                           auto x = call.parameter<const float *>(0);
                           auto y = call.parameter<const float *>(1);
                           auto sum = call.parameter<float *>(2);
                           for (int i = 0; i < call.parameter<int>(3); ++i)
                             sum[i] = x[i] + y[i];
                         }});
  fake.addKernel("scale", {{8, 8, 8, 4}, [](const Call &call) {
                             auto sum = call.parameter<const float *>(0);
                             auto gain = call.parameter<const float *>(1);
                             auto out = call.parameter<float *>(2);
                             for (int i = 0; i < call.parameter<int>(3); ++i)
                               out[i] = sum[i] * gain[0];
                           }});
}

AddScaleData::AddScaleData(runtime::Shape shape, uint32_t seed) : shape(std::move(shape)) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  auto count = static_cast<size_t>(this->shape[0] * this->shape[1]);
  for (size_t i = 0; i < count; ++i) {
    x.push_back(normal(random));
    y.push_back(normal(random));
    expected.push_back((x[i] + y[i]) * 3.0f);
  }
  out.resize(count);
}

std::vector<float> AddScaleData::expectedTwice() const {
  std::vector<float> twice = expected;
  for (float &value : twice)
    value += value;
  return twice;
}

runtime::Binding hostBinding(std::vector<float> &values) {
  return {plan::ElementType::f32, runtime::Location::kHost, values.data(),
          values.size() * sizeof(float)};
}

smelt_binding cHostBinding(std::vector<float> &values) {
  smelt_binding binding = SMELT_BINDING_INIT;
  binding.location = SMELT_HOST;
  binding.data = values.data();
  binding.bytes = values.size() * sizeof(float);
  return binding;
}

FakeModel::FakeModel(runtime::FakeDevice device) : file(planBytes(plan.contents)), fake(device) {
  addKernels(fake);
}

Result<runtime::SharedEngine> FakeModel::createEngine(const runtime::EngineOptions &options) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan read, runtime::readPlan(file, "m.plan"));
  return runtime::Engine::create(read, fake.driver(), options);
}

Status FakeModel::bindHost(runtime::Context &context, AddScaleData &data) {
  SMELT_RETURN_IF_ERROR(context.setInputShape("x", data.shape));
  SMELT_RETURN_IF_ERROR(context.setInputShape("y", data.shape));
  SMELT_RETURN_IF_ERROR(context.bindInput("x", hostBinding(data.x)));
  SMELT_RETURN_IF_ERROR(context.bindInput("y", hostBinding(data.y)));
  return context.bindOutput("out", hostBinding(data.out));
}

} // namespace smelt::test
