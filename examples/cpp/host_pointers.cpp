// Runs a plan on host memory, in C++17: every input is filled with ones, every output's first
// values are printed.
//
//   host_pointers model.plan [extent]     extent (8 by default) stands for dimensions left open

#include <smelt.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

namespace {

std::size_t countOf(const smelt::Shape &shape) {
  std::size_t count = 1;
  for (std::int64_t extent : shape)
    count *= static_cast<std::size_t>(extent);
  return count;
}

/// A tensor in host memory.
struct Tensor {
  Tensor(smelt_element_type type, smelt::Shape shape)
      : type(type), shape(std::move(shape)),
        bytes(countOf(this->shape) * smelt_element_bytes(type)) {}

  smelt::Memory memory() { return smelt::host(type, bytes.data(), countOf(shape)); }

  void fillWithOnes() {
    if (type == SMELT_F32)
      std::fill_n(reinterpret_cast<float *>(bytes.data()), countOf(shape), 1.0f);
    if (type == SMELT_I64)
      std::fill_n(reinterpret_cast<std::int64_t *>(bytes.data()), countOf(shape), 1);
    if (type == SMELT_F16)
      std::fill_n(reinterpret_cast<std::uint16_t *>(bytes.data()), countOf(shape), 0x3C00);
  }

  void print(const std::string &name) const {
    std::cout << name << " [";
    for (std::size_t i = 0; i < shape.size(); ++i)
      std::cout << (i > 0 ? ", " : "") << shape[i];
    std::cout << "]";
    if (type == SMELT_F32)
      for (std::size_t i = 0; i < std::min<std::size_t>(4, countOf(shape)); ++i)
        std::cout << " " << reinterpret_cast<const float *>(bytes.data())[i];
    std::cout << "\n";
  }

  smelt_element_type type;
  smelt::Shape shape;
  std::vector<unsigned char> bytes;
};

void run(const std::string &path, std::int64_t extent) {
  smelt::Engine engine(path);
  smelt::Context context(engine);
  std::map<std::string, Tensor> inputs, outputs;
  for (const smelt::TensorInfo &info : engine.inputs()) {
    smelt::Shape shape = info.shape;
    std::replace(shape.begin(), shape.end(), std::int64_t(-1), extent);
    Tensor &tensor = inputs.try_emplace(info.name, info.elementType, shape).first->second;
    tensor.fillWithOnes();
    context.setInputShape(info.name, shape);
    context.bindInput(info.name, tensor.memory());
  }
  for (const smelt::TensorInfo &info : engine.outputs()) {
    smelt::Shape shape = context.outputShape(info.name);
    Tensor &tensor = outputs.try_emplace(info.name, info.elementType, shape).first->second;
    context.bindOutput(info.name, tensor.memory());
  }
  context.run();
  std::cout << engine.modelName() << " on " << engine.deviceName() << "\n";
  for (const auto &[name, tensor] : outputs)
    tensor.print(name);
}

} // namespace

int main(int argumentCount, char **arguments) {
  if (argumentCount < 2) {
    std::cerr << "usage: host_pointers model.plan [extent]\n";
    return SMELT_USAGE;
  }
  try {
    run(arguments[1], argumentCount > 2 ? std::atol(arguments[2]) : 8);
  } catch (const smelt::Error &error) {
    std::cerr << "host_pointers: " << error.what() << "\n";
    return error.code();
  }
  return 0;
}
