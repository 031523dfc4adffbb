// smelt_plan_*: plans that are asked, not run.
#include "runtime/api_boundary.h"
#include "runtime/describe_guards.h"
#include "runtime/describe_ports.h"
#include "runtime/describe_weights.h"
#include "runtime/read_plan.h"

using smelt::Status;
using smelt::api::describePort;
using smelt::api::GuardDescriptions;
using smelt::api::guarded;
using smelt::api::PortDescriptions;
using smelt::api::required;
using smelt::api::WeightDescriptions;
using smelt::runtime::Plan;

struct smelt_plan {
  explicit smelt_plan(const Plan &plan)
      : modelName(plan.metadata().model_name), ports(plan.metadata()), guards(plan.metadata()),
        weights(plan.metadata()) {}

  std::string modelName;
  PortDescriptions ports;
  GuardDescriptions guards;
  WeightDescriptions weights;
};

smelt_code smelt_plan_open(const char *path, smelt_plan **plan, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(path, "path", plan, "plan"));
    SMELT_ASSIGN_OR_RETURN(Plan read, smelt::runtime::readPlan(path));
    *plan = new smelt_plan(read);
    return {};
  });
}

smelt_code smelt_plan_open_from_memory(const void *data, size_t bytes, smelt_plan **plan,
                                       smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(data, "data", plan, "plan"));
    std::span file(static_cast<const std::byte *>(data), bytes);
    SMELT_ASSIGN_OR_RETURN(Plan read, smelt::runtime::readPlan(file, "the plan in memory"));
    *plan = new smelt_plan(read);
    return {};
  });
}

void smelt_plan_close(smelt_plan *plan) { delete plan; }

const char *smelt_plan_model_name(const smelt_plan *plan) {
  return plan ? plan->modelName.c_str() : "";
}

size_t smelt_plan_input_count(const smelt_plan *plan) {
  return plan ? plan->ports.inputs().size() : 0;
}

size_t smelt_plan_output_count(const smelt_plan *plan) {
  return plan ? plan->ports.outputs().size() : 0;
}

smelt_code smelt_plan_input(const smelt_plan *plan, size_t index, smelt_tensor_info *info,
                            smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(plan, "plan", info, "info"));
    return describePort(plan->ports.inputs(), index, info);
  });
}

smelt_code smelt_plan_output(const smelt_plan *plan, size_t index, smelt_tensor_info *info,
                             smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(plan, "plan", info, "info"));
    return describePort(plan->ports.outputs(), index, info);
  });
}

size_t smelt_plan_dimension_count(const smelt_plan *plan) {
  return plan ? plan->guards.dimensionCount() : 0;
}

smelt_code smelt_plan_dimension(const smelt_plan *plan, size_t index, smelt_dimension_info *info,
                                smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(plan, "plan", info, "info"));
    return plan->guards.describe(index, info);
  });
}

size_t smelt_plan_guard_count(const smelt_plan *plan) {
  return plan ? plan->guards.guardCount() : 0;
}

smelt_code smelt_plan_guard(const smelt_plan *plan, size_t index, smelt_guard_info *info,
                            smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(plan, "plan", info, "info"));
    return plan->guards.describe(index, info);
  });
}

size_t smelt_plan_weight_bytes(const smelt_plan *plan) { return plan ? plan->weights.bytes() : 0; }

size_t smelt_plan_weight_count(const smelt_plan *plan) { return plan ? plan->weights.size() : 0; }

smelt_code smelt_plan_weight(const smelt_plan *plan, size_t index, smelt_weight_info *info,
                             smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(plan, "plan", info, "info"));
    return plan->weights.describe(index, info);
  });
}
