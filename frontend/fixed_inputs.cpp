#include "frontend/fixed_inputs.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace smelt::frontend {

std::vector<std::string> callerInputs(const onnx_wire::Graph &graph) {
  llvm::StringSet<> initialized;
  for (const onnx_wire::Tensor &tensor : graph.initializer())
    initialized.insert(tensor.name());
  std::vector<std::string> inputs;
  for (const onnx_wire::ValueInfo &input : graph.input())
    if (!initialized.contains(input.name()))
      inputs.push_back(input.name());
  return inputs;
}

void FixedInputs::addTo(onnx_wire::Graph &graph) {
  inputs = callerInputs(graph);
  for (const auto &[name, fixed] : values) {
    onnx_wire::Tensor &tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(fixed.value.dataType);
    for (int64_t size : fixed.value.shape)
      tensor.add_dims(size);
    tensor.set_raw_data(fixed.value.bytes);
  }
}

bool FixedInputs::fix(ArrayRef<std::string> names) {
  size_t before = values.size();
  for (auto [number, name] : llvm::enumerate(inputs))
    if (llvm::is_contained(names, name) && !values.contains(name))
      if (std::optional<TensorValue> value = options.valueOf(name, number))
        values[name] = {number, std::move(*value)};
  return values.size() > before;
}

std::vector<FixedInput> FixedInputs::list() const {
  std::vector<FixedInput> result;
  for (const auto &[name, fixed] : values)
    result.push_back({name, fixed.number});
  return result;
}

static bool fits(ArrayRef<int64_t> given, ArrayRef<int64_t> shape) {
  return given.size() == shape.size() && llvm::all_of(llvm::zip(given, shape), [](auto sizes) {
           return std::get<0>(sizes) == -1 || std::get<0>(sizes) == std::get<1>(sizes);
         });
}

ImportOptions FixedInputs::remainingOptions() const {
  ImportOptions remaining = options;
  llvm::erase_if(remaining.inputShapes, [&](const auto &input) {
    auto fixed = values.find(input.first);
    return fixed != values.end() && fits(input.second, fixed->second.value.shape);
  });
  return remaining;
}

HeldDiagnostics::HeldDiagnostics(MLIRContext &context) : context(context) {
  handler.emplace(&context,
                  [this](Diagnostic &diagnostic) { held.push_back(std::move(diagnostic)); });
}

void HeldDiagnostics::stop() { handler.reset(); }

void HeldDiagnostics::release() {
  stop();
  for (Diagnostic &diagnostic : held)
    context.getDiagEngine().emit(std::move(diagnostic));
  held.clear();
}

} // namespace smelt::frontend
