// Elements of tensors: drawn at random, and as the bytes that ONNX files and buffers hold.
#pragma once

#include "tests/generate/drawing.h"

namespace smelt::generate {

/// Uniform within the bounds; integers and bools are whole, floats representable in their type.
double drawElement(Random &random, ElementType type, Bounds bounds);
/// `value` as the nearest number that the type holds.
double rounded(ElementType type, double value);
/// Little-endian; integers wrap.
std::string toBytes(ElementType type, const std::vector<double> &elements);
double elementAt(ElementType type, const char *bytes, size_t index);

} // namespace smelt::generate
