// The mutations of the fuzz targets that take models: half of them are of the bytes, half of the
// model that they spell, so that the handlers are reached and not only the parser.
#include "frontend/onnx.pb.h"

#include <cstdint>
#include <limits>
#include <random>
#include <string>

using namespace smelt;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

using Random = std::minstd_rand;

int pick(Random &random, int count) {
  return static_cast<int>(random() % static_cast<unsigned>(count));
}

int64_t interestingNumber(Random &random) {
  constexpr int64_t kNumbers[] = {0,
                                  1,
                                  -1,
                                  2,
                                  -2,
                                  3,
                                  4,
                                  7,
                                  8,
                                  16,
                                  64,
                                  512,
                                  65536,
                                  std::numeric_limits<int32_t>::max(),
                                  int64_t{1} << 32,
                                  int64_t{1} << 48,
                                  std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min()};
  return kNumbers[pick(random, std::size(kNumbers))];
}

/// Any name of a value in the graph.
std::string anyName(Random &random, const onnx_wire::Graph &graph) {
  int nodes = graph.node_size(), inputs = graph.input_size(),
      initializers = graph.initializer_size();
  int chosen = pick(random, nodes + inputs + initializers + 1);
  if (chosen < nodes)
    return graph.node(chosen).output_size() > 0 ? graph.node(chosen).output(0) : "";
  if (chosen < nodes + inputs)
    return graph.input(chosen - nodes).name();
  if (chosen < nodes + inputs + initializers)
    return graph.initializer(chosen - nodes - inputs).name();
  return "";
}

void mutateTensor(Random &random, onnx_wire::Tensor &tensor) {
  switch (pick(random, 5)) {
  case 0:
    tensor.set_data_type(pick(random, 27));
    return;
  case 1:
    tensor.add_dims(interestingNumber(random));
    return;
  case 2:
    if (tensor.dims_size() > 0)
      tensor.set_dims(pick(random, tensor.dims_size()), interestingNumber(random));
    return;
  case 3:
    if (tensor.int64_data_size() > 0)
      tensor.set_int64_data(pick(random, tensor.int64_data_size()), interestingNumber(random));
    return;
  default:
    if (size_t bytes = tensor.raw_data().size(); bytes >= 8) {
      int64_t value = interestingNumber(random);
      size_t at = random() % (bytes / 8) * 8;
      tensor.mutable_raw_data()->replace(at, 8, reinterpret_cast<const char *>(&value), 8);
    }
  }
}

void mutateAttribute(Random &random, onnx_wire::Attribute &attribute) {
  if (attribute.ints_size() > 0)
    attribute.set_ints(pick(random, attribute.ints_size()), interestingNumber(random));
  else if (attribute.has_t())
    mutateTensor(random, *attribute.mutable_t());
  else if (attribute.has_f())
    attribute.set_f(static_cast<float>(interestingNumber(random)));
  else
    attribute.set_i(interestingNumber(random));
}

void mutateInput(Random &random, onnx_wire::ValueInfo &input) {
  auto &tensor = *input.mutable_type()->mutable_tensor_type();
  int dims = tensor.shape().dim_size();
  if (dims == 0 || pick(random, 4) == 0) {
    tensor.set_elem_type(1 + pick(random, 16));
    return;
  }
  auto &dim = *tensor.mutable_shape()->mutable_dim(pick(random, dims));
  if (pick(random, 2) == 0)
    dim.set_dim_param(std::string(1, static_cast<char>('a' + pick(random, 3))));
  else
    dim.set_dim_value(interestingNumber(random));
}

void mutateNode(Random &random, onnx_wire::Graph &graph, onnx_wire::Node &node) {
  switch (pick(random, 5)) {
  case 0:
    if (node.input_size() > 0)
      node.set_input(pick(random, node.input_size()), anyName(random, graph));
    return;
  case 1:
    node.add_input(anyName(random, graph));
    return;
  case 2:
    if (graph.node_size() > 0)
      node.set_op_type(graph.node(pick(random, graph.node_size())).op_type());
    return;
  case 3:
    if (node.attribute_size() > 0)
      mutateAttribute(random, *node.mutable_attribute(pick(random, node.attribute_size())));
    return;
  default:
    onnx_wire::Node copy = node;
    if (copy.output_size() > 0)
      copy.set_output(0, copy.output(0) + "'");
    *graph.add_node() = copy;
  }
}

void mutateModel(Random &random, onnx_wire::Model &model) {
  onnx_wire::Graph &graph = *model.mutable_graph();
  int kind = pick(random, 8);
  if (kind < 4 && graph.node_size() > 0)
    mutateNode(random, graph, *graph.mutable_node(pick(random, graph.node_size())));
  else if (kind < 6 && graph.input_size() > 0)
    mutateInput(random, *graph.mutable_input(pick(random, graph.input_size())));
  else if (kind < 7 && graph.initializer_size() > 0)
    mutateTensor(random, *graph.mutable_initializer(pick(random, graph.initializer_size())));
  else if (model.opset_import_size() > 0)
    model.mutable_opset_import(0)->set_version(7 + pick(random, 20));
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  onnx_wire::Model model;
  if (pick(random, 2) == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, maxSize);
  mutateModel(random, model);
  size_t bytes = model.ByteSizeLong();
  if (bytes > maxSize || !model.SerializeToArray(data, static_cast<int>(bytes)))
    return LLVMFuzzerMutate(data, size, maxSize);
  return bytes;
}
