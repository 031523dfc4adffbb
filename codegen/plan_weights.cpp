#include "codegen/plan_weights.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

std::string weightName(Value value, uint32_t index) {
  if (auto weight = value.getDefiningOp<WeightOp>())
    return weight.getName().str();
  return (value.getDefiningOp()->getName().stripDialect() + "_" + llvm::Twine(index)).str();
}

uint64_t byteCount(Value value) {
  TensorType type = tensorType(value);
  return static_cast<uint64_t>(*type.getNumElements().asConstant()) *
         elementBytes(type.getElementType());
}

} // namespace

uint32_t PlanWeights::index(Value value) {
  return weights.try_emplace(value, weights.size()).first->second;
}

FailureOr<WeightBytes> PlanWeights::bytesOf(Value value) {
  if (auto weight = value.getDefiningOp<WeightOp>()) {
    FailureOr<ArrayRef<char>> bytes = store.bytes(weight);
    if (failed(bytes))
      return failure();
    return WeightBytes::of(std::as_bytes(std::span(bytes->data(), bytes->size())));
  }
  WeightBytes bytes;
  bytes.size = byteCount(value);
  bytes.produce = [this, value](const ByteSink &sink) -> Status {
    EvaluateOptions options;
    options.weights = &store;
    FailureOr<HostTensor> tensor = evaluate(value, last, Symbols(), options);
    if (failed(tensor))
      return Status(StatusCode::kInvalidModel,
                    "a weight could not be computed; see the messages before this one");
    last.clear();
    last[value] = *tensor;
    std::vector<char> raw = tensor->toBytes();
    return sink(std::as_bytes(std::span(raw.data(), raw.size())));
  };
  return bytes;
}

FailureOr<std::vector<WeightBytes>> PlanWeights::collect(plan::MetadataT &metadata) {
  std::vector<WeightBytes> all;
  for (auto [value, index] : weights) {
    FailureOr<WeightBytes> bytes = bytesOf(value);
    if (failed(bytes))
      return failure();
    auto weight = std::make_unique<plan::WeightT>();
    weight->name = weightName(value, index);
    metadata.weights.push_back(std::move(weight));
    all.push_back(std::move(*bytes));
  }
  return all;
}

} // namespace smelt::codegen
