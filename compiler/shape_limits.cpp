#include "compiler/shape_limits.h"

#include "codegen/cuda_text.h"
#include "ir/decisions.h"
#include "runtime/text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace smelt::compiler {

namespace {

/// One number of a limiting shape, and the dimension that it limits.
struct Limit {
  const char *which;
  std::string input;
  size_t axis;
  Dim dim;
  int64_t extent;
};

Status refuse(const Limit &limit, const std::string &why) {
  return Status(StatusCode::kUsage, joinText(limit.which, " of '", limit.input, "': dimension ",
                                             limit.axis, " cannot be ", limit.extent, ": ", why));
}

/// The limits that `shapes` set for the open dimensions, in the inputs' order.
Result<std::vector<Limit>> readLimits(const char *which, ModuleOp module,
                                      const Signature &signature, const NamedShapes &shapes) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  std::vector<Limit> limits;
  NamedShapes unknown = shapes;
  for (auto [index, input] : llvm::enumerate(signature.inputs)) {
    auto given = shapes.find(input.name);
    if (given == shapes.end())
      continue;
    unknown.erase(input.name);
    if (given->second.size() != input.shape.size())
      return Status(StatusCode::kUsage,
                    joinText(which, " of '", input.name, "': the input is ", typeText(input)));
    SmallVector<Dim> shape = cast<TensorType>(main.getArgumentTypes()[index]).getShape();
    for (auto [axis, extent] : llvm::enumerate(given->second))
      if (extent >= 0)
        limits.push_back({which, input.name, axis, shape[axis], extent});
  }
  if (!unknown.empty())
    return unknownInput(signature, unknown.begin()->first).within(which);
  return limits;
}

/// Fixed dimensions need no guard, but the limit must allow them.
Status checkFixed(const Limit &limit, bool isSmallest) {
  auto fixed = limit.dim.asConstant();
  if (fixed && (isSmallest ? limit.extent > *fixed : limit.extent < *fixed))
    return refuse(limit, joinText("the model fixes it as ", *fixed));
  return {};
}

Status checkOrder(ArrayRef<Limit> smallest, ArrayRef<Limit> largest) {
  for (const Limit &lower : smallest)
    for (const Limit &upper : largest)
      if (lower.dim == upper.dim && lower.extent > upper.extent)
        return refuse(lower, joinText("the ", upper.which, " of '", upper.input, "' limits it to ",
                                      upper.extent));
  return {};
}

/// Whether an input of the smallest sizes (1 where none is set) has more elements than a kernel can
/// address. What has no open size is no limit's fault; expressions are left to the plan's guards:
/// they may become smaller as symbols grow.
bool isTooLarge(TensorType input, const llvm::StringMap<int64_t> &smallest) {
  auto isPlain = [](Dim dim) { return dim.asConstant() || dim.asSymbol(); };
  if (input.isStatic() || !llvm::all_of(input.getShape(), isPlain))
    return false;
  auto lookup = [&](StringRef symbol) {
    auto set = smallest.find(symbol);
    return std::optional<int64_t>(set == smallest.end() ? 1 : set->second);
  };
  std::optional<int64_t> count = input.getNumElements().evaluate(lookup); // none: it overflows
  return !count || *count > codegen::DimPrinter::kMaxElements;
}

Status checkElementCounts(ModuleOp module, const Signature &signature, ArrayRef<Limit> lower) {
  llvm::StringMap<int64_t> smallest;
  for (const Limit &limit : lower)
    if (auto symbol = limit.dim.asSymbol())
      smallest[*symbol] = std::max(smallest.lookup(*symbol), limit.extent);
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (auto [port, type] : llvm::zip(signature.inputs, main.getArgumentTypes()))
    if (!smallest.empty() && isTooLarge(cast<TensorType>(type), smallest))
      return Status(StatusCode::kUsage,
                    joinText("smallest shape: input '", port.name, "', ", typeText(port),
                             ", has more elements than a kernel can address (",
                             codegen::DimPrinter::kMaxElements, ")"));
  return {};
}

/// One `lower <= upper` of the module's guards.
GuardAttr guard(const Limit &limit, bool isSmallest) {
  Dim extent = Dim::constant(limit.dim.getContext(), limit.extent);
  Dim lower = isSmallest ? extent : limit.dim, upper = isSmallest ? limit.dim : extent;
  std::string message =
      joinText("the model was compiled for a ", limit.which, " of '", limit.input, "'");
  return GuardAttr::get(limit.dim.getContext(), lower.getAttribute(), Relation::less_equal,
                        upper.getAttribute(), message);
}

} // namespace

Status addShapeLimits(ModuleOp module, const Signature &signature, const NamedShapes &smallest,
                      const NamedShapes &largest) {
  SMELT_ASSIGN_OR_RETURN(std::vector<Limit> lower,
                         readLimits("smallest shape", module, signature, smallest));
  SMELT_ASSIGN_OR_RETURN(std::vector<Limit> upper,
                         readLimits("largest shape", module, signature, largest));
  SMELT_RETURN_IF_ERROR(checkOrder(lower, upper));
  SMELT_RETURN_IF_ERROR(checkElementCounts(module, signature, lower));
  SmallVector<GuardAttr> guards;
  for (const auto *limits : {&lower, &upper})
    for (const Limit &limit : *limits) {
      SMELT_RETURN_IF_ERROR(checkFixed(limit, limits == &lower));
      if (!limit.dim.asConstant())
        guards.push_back(guard(limit, limits == &lower));
    }
  addGuards(module, guards);
  return {};
}

} // namespace smelt::compiler
