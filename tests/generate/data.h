// The data of a graph's inputs.
#pragma once

#include "tests/generate/drawing.h"

namespace smelt::generate {

struct Array {
  ElementType type = Wire::FLOAT;
  std::vector<int64_t> shape;
  std::string bytes; ///< row-major, little-endian

  size_t count() const;
};

/// One array for each input of the graph, in order, within the input's bounds; fresh for each assignment and seed.
std::vector<Array> drawInputs(const Graph &graph, size_t assignment, uint64_t seed);

/// An ONNX tensor with these elements.
onnx_wire::Tensor toWire(const std::string &name, const Array &array);

} // namespace smelt::generate
