// The element types of generated graphs.
#pragma once

#include "frontend/onnx.pb.h"

#include <string>
#include <vector>

namespace smelt::generate {

using ElementType = onnx_wire::Tensor::DataType;
using Wire = onnx_wire::Tensor;

/// All that Smelt computes with, once each: not those of few bits, which are for storage.
const std::vector<ElementType> &everyType();

bool isFloat(ElementType type);
bool isInteger(ElementType type); ///< bools are not
/// Has negative numbers.
bool isSigned(ElementType type);
size_t elementBytes(ElementType type);
/// The largest number that is safe to hold: far inside the range of floats, the end of it for integers.
double safeMagnitude(ElementType type);
std::string typeName(ElementType type); ///< "float16"

} // namespace smelt::generate
