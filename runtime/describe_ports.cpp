#include "runtime/describe_ports.h"

#include "runtime/shape_program.h"
namespace smelt::api {

namespace {

/// The extent where it is the same for every shape, else -1.
smelt_int64 fixedExtent(const plan::DimExpressionT &dim) {
  bool isFixed = dim.program.size() == 1 && dim.program[0].opcode() == plan::DimOpcode::constant;
  return isFixed ? dim.program[0].operand() : -1;
}

/// The axis along which rows of a tensor may lie apart; -1: they lie behind each other.
smelt_int64 capacityAxisOf(const plan::MetadataT &metadata, const plan::TensorT &tensor) {
  for (const auto &output : metadata.outputs) {
    bool isMeant = output.get() == &tensor || (output->alias < metadata.inputs.size() &&
                                               metadata.inputs[output->alias].get() == &tensor);
    if (isMeant && output->capacity != plan::kNone)
      return output->capacity_axis;
  }
  return -1;
}

PortDescription describe(const plan::MetadataT &metadata, const plan::TensorT &tensor) {
  PortDescription port;
  port.name = tensor.name;
  port.elementType = static_cast<int>(tensor.element_type);
  port.alias = tensor.alias == plan::kNone ? -1 : static_cast<smelt_int64>(tensor.alias);
  port.capacityAxis = capacityAxisOf(metadata, tensor);
  for (uint32_t dim : tensor.dims) {
    port.extents.push_back(fixedExtent(*metadata.dims[dim]));
    port.texts.push_back(runtime::dimText(metadata, dim));
  }
  return port;
}

} // namespace

PortDescriptions::PortDescriptions(const plan::MetadataT &metadata) {
  for (const auto &input : metadata.inputs)
    inputPorts.push_back(describe(metadata, *input));
  for (const auto &output : metadata.outputs)
    outputPorts.push_back(describe(metadata, *output));
  pointToTexts(inputPorts);
  pointToTexts(outputPorts);
}

} // namespace smelt::api
