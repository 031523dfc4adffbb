#include "tests/generate/data.h"

#include "tests/generate/tensor_bytes.h"

namespace smelt::generate {

size_t Array::count() const { return bytes.size() / elementBytes(type); }

std::vector<Array> drawInputs(const Graph &graph, size_t assignment, uint64_t seed) {
  std::vector<Array> inputs;
  for (const onnx_wire::ValueInfo &info : graph.model.graph().input()) {
    const Value &value = graph.values.at(info.name());
    Random random(seed * 1000003 + assignment * 7919 + inputs.size());
    Array array{value.type, {}, {}};
    int64_t count = 1;
    for (const Size &size : value.shape) {
      array.shape.push_back(size.values[assignment]);
      count *= size.values[assignment];
    }
    std::vector<double> elements(static_cast<size_t>(count));
    for (double &element : elements)
      element = drawElement(random, value.type, value.bounds);
    array.bytes = toBytes(value.type, elements);
    inputs.push_back(std::move(array));
  }
  return inputs;
}

onnx_wire::Tensor toWire(const std::string &name, const Array &array) {
  onnx_wire::Tensor tensor;
  tensor.set_name(name);
  tensor.set_data_type(array.type);
  *tensor.mutable_dims() = {array.shape.begin(), array.shape.end()};
  tensor.set_raw_data(array.bytes);
  return tensor;
}

} // namespace smelt::generate
