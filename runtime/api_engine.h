// What all engines of smelt.h have in common: they say what their model is.
#pragma once

#include "runtime/api_boundary.h"
#include "runtime/describe_ports.h"
#include "runtime/describe_weights.h"
#include "runtime/engine_interface.h"

namespace smelt::api {

class ApiEngine : public smelt_engine {
public:
  /// Takes what it needs of `metadata`.
  explicit ApiEngine(const plan::MetadataT &metadata)
      : name(metadata.model_name), ports(metadata), weights(metadata) {}

  const char *modelName() const noexcept override { return name.c_str(); }
  size_t inputCount() const noexcept override { return ports.inputs().size(); }
  size_t outputCount() const noexcept override { return ports.outputs().size(); }
  size_t weightCount() const noexcept override { return weights.size(); }

  smelt_code input(size_t index, smelt_tensor_info *info,
                   smelt_error *error) const noexcept override {
    return guarded(error, [&]() -> Status {
      SMELT_RETURN_IF_ERROR(required(info, "info"));
      return describePort(ports.inputs(), index, info);
    });
  }
  smelt_code output(size_t index, smelt_tensor_info *info,
                    smelt_error *error) const noexcept override {
    return guarded(error, [&]() -> Status {
      SMELT_RETURN_IF_ERROR(required(info, "info"));
      return describePort(ports.outputs(), index, info);
    });
  }
  smelt_code weight(size_t index, smelt_weight_info *info,
                    smelt_error *error) const noexcept override {
    return guarded(error, [&]() -> Status {
      SMELT_RETURN_IF_ERROR(required(info, "info"));
      return weights.describe(index, info);
    });
  }

private:
  std::string name;
  PortDescriptions ports;
  WeightDescriptions weights;
};

} // namespace smelt::api
