#include "service.h"

#include <algorithm>

namespace {

std::size_t bytesOf(smelt_element_type type, const smelt::Shape &shape) {
  std::size_t bytes = smelt_element_bytes(type);
  for (smelt_int64 extent : shape)
    bytes *= static_cast<std::size_t>(extent);
  return bytes;
}

smelt::Memory hostMemory(smelt_element_type type, std::vector<unsigned char> &bytes) {
  return smelt::host(type, bytes.data(), bytes.size() / smelt_element_bytes(type));
}

} // namespace

Service::Session::Session(const std::string &plan, smelt_int64 extent)
    : engine(plan), context(engine) {
  for (const smelt::TensorInfo &info : engine.inputs()) {
    smelt::Shape shape = info.shape;
    std::replace(shape.begin(), shape.end(), smelt_int64(-1), extent);
    context.setInputShape(info.name, shape);
    auto &bytes = inputs[info.name];
    bytes.resize(bytesOf(info.elementType, shape));
    context.bindInput(info.name, hostMemory(info.elementType, bytes));
  }
  for (const smelt::TensorInfo &info : engine.outputs()) {
    auto &bytes = outputs[info.name];
    bytes.resize(bytesOf(info.elementType, context.outputShape(info.name)));
    context.bindOutput(info.name, hostMemory(info.elementType, bytes));
  }
}

Service::Service(std::string plan, smelt_int64 extent)
    : plan(std::move(plan)), extent(extent),
      session(std::make_unique<Session>(this->plan, extent)) {}

Answer Service::answer() {
  try {
    if (session) {
      session->context.run();
      return session->outputs;
    }
  } catch (const smelt::Error &) {
    // Started anew below.
  }
  session.reset(); // first, for its memory
  ++restarted;
  session = std::make_unique<Session>(plan, extent);
  session->context.run();
  return session->outputs;
}
