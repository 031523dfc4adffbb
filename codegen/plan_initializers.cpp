#include "codegen/plan_initializers.h"

#include "codegen/element_type.h"
#include "codegen/weight_parts.h"
#include "ir/location.h"
#include "runtime/text.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

constexpr const char *kRemedy =
    "; compile with --refit, which keeps weights as they are where it can";

/// What became of the weights of the model, by name.
struct Fates {
  llvm::StringMap<std::vector<std::unique_ptr<plan::WeightPartT>>> parts;
  llvm::StringMap<std::string> obstacles;
};

std::unique_ptr<plan::WeightPartT> describePart(const WeightPart &part, uint32_t weight,
                                                Type type) {
  auto result = std::make_unique<plan::WeightPartT>();
  result->weight = weight;
  result->element_type = planElementType(type);
  result->source_offset = part.sourceOffset;
  result->target_offset = part.targetOffset;
  result->loops.assign(part.loops.begin(), part.loops.end());
  return result;
}

/// Every weight of the model that `value` is computed of cannot be told from the result.
void addObstacle(Value value, Operation *obstacle, Fates &fates) {
  std::string why = joinText("'", obstacle->getName().stripDialect().str(),
                             "' of it and others was computed when compiling");
  if (!nodeNames(obstacle->getLoc()).empty())
    why += ", for '" + nodeName(obstacle->getLoc()) + "'";
  SmallVector<Operation *> pending{value.getDefiningOp()};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!seen.insert(op).second)
      continue;
    if (auto weight = dyn_cast<WeightOp>(op))
      fates.obstacles.try_emplace(weight.getName(), why);
    for (Value operand : op->getOperands())
      pending.push_back(operand.getDefiningOp());
  }
}

Fates followWeights(ArrayRef<Value> weights) {
  Fates fates;
  for (auto [index, value] : llvm::enumerate(weights)) {
    WeightParts followed = weightPartsOf(value);
    if (followed.obstacle)
      addObstacle(value, followed.obstacle, fates);
    for (const WeightPart &part : followed.parts)
      fates.parts[WeightOp(part.source).getName()].push_back(
          describePart(part, index, tensorType(value).getElementType()));
  }
  return fates;
}

/// Why the initializer cannot be updated; "": it can.
std::string refusalOf(const ModelInitializer &initializer, const Fates &fates, bool isRefit) {
  const char *remedy = isRefit ? "" : kRemedy;
  if (StringRef refusal = structuralRefusal(initializer); !refusal.empty())
    return refusal.str();
  if (!isRefit && !initializer.twin.empty())
    return joinText("it has the same bytes as '", initializer.twin,
                    "', and the two are one weight of the plan", remedy);
  if (auto obstacle = fates.obstacles.find(initializer.name); obstacle != fates.obstacles.end())
    return obstacle->second + remedy;
  if (!fates.parts.contains(initializer.name))
    return joinText("its values became constants when compiling, or nothing uses it", remedy);
  return "";
}

} // namespace

StringRef structuralRefusal(const ModelInitializer &initializer) {
  Type element = initializer.type.getElementType();
  if (initializer.decides)
    return "its values decided the structure that was compiled";
  if (element.isInteger(32) || element.isInteger(64))
    return "integers of 32 and 64 bits may have decided the structure that was compiled";
  return "";
}

void describeInitializers(ArrayRef<ModelInitializer> initializers, ArrayRef<Value> weights,
                          bool isRefit, plan::MetadataT &metadata) {
  Fates fates = followWeights(weights);
  for (const ModelInitializer &initializer : initializers) {
    auto entry = std::make_unique<plan::InitializerT>();
    entry->name = initializer.name;
    entry->element_type = planElementType(initializer.type.getElementType());
    for (int64_t size : initializer.type.getStaticShape())
      entry->shape.push_back(static_cast<uint64_t>(size));
    entry->refusal = refusalOf(initializer, fates, isRefit);
    if (entry->refusal.empty())
      entry->parts = std::move(fates.parts[initializer.name]);
    metadata.initializers.push_back(std::move(entry));
  }
}

} // namespace smelt::codegen
