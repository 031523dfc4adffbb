#include "codegen/plan_weights.h"

#include "codegen/weight_moves.h"

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
  WeightParts parts = weightPartsOf(value);
  if (areAllOf(value, parts))
    return WeightBytes{byteCount(value), [this, value, parts](const ByteSink &sink) {
                         return move(value, parts, sink);
                       }};
  return WeightBytes{byteCount(value),
                     [this, value](const ByteSink &sink) { return compute(value, sink); }};
}

static Status cannotCompute() {
  return Status(StatusCode::kInvalidModel,
                "a weight could not be computed; see the messages before this one");
}

std::span<std::byte> PlanWeights::room(size_t bytes) {
  moved.resize(std::max(moved.size(), bytes));
  return std::span(moved).first(bytes);
}

Status PlanWeights::move(Value value, const WeightParts &parts, const ByteSink &sink) {
  std::span target = room(byteCount(value));
  for (const WeightPart &part : parts.parts) {
    FailureOr<ArrayRef<char>> source = store.bytes(part.source);
    if (failed(source))
      return cannotCompute();
    copyPart(part, elementBytes(tensorType(value).getElementType()),
             std::as_bytes(std::span(source->data(), source->size())), target);
  }
  return sink(target);
}

/// What is turned round only to be stored is computed as it was: of it, sums of columns are computed next, and its bytes
/// are turned round faster than the interpreter's floats.
Status PlanWeights::compute(Value value, const ByteSink &sink) {
  auto turned = value.getDefiningOp<TransposeOp>();
  Value own = turned ? turned.getInput() : value;
  EvaluateOptions options;
  options.weights = &store;
  FailureOr<HostTensor> computed = evaluate(own, last, Symbols(), options);
  if (failed(computed))
    return cannotCompute();
  last.clear();
  last[own] = *computed;
  std::vector<char> raw = computed->toBytes();
  std::span bytes = std::as_bytes(std::span(raw));
  if (!turned)
    return sink(bytes);
  std::span target = room(raw.size());
  copyTransposed(turned, bytes, target);
  return sink(target);
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
