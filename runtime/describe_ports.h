// Inputs and outputs of a plan, as the C API describes them.
#pragma once

#include "runtime/plan_format.h"
#include "runtime/port_description.h"

namespace smelt::api {

class PortDescriptions {
public:
  explicit PortDescriptions(const plan::MetadataT &metadata);
  PortDescriptions(PortDescriptions &&) = default;

  const std::vector<PortDescription> &inputs() const { return inputPorts; }
  const std::vector<PortDescription> &outputs() const { return outputPorts; }

private:
  std::vector<PortDescription> inputPorts, outputPorts;
};

} // namespace smelt::api
