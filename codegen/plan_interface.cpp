#include "codegen/plan_interface.h"

#include "codegen/element_type.h"
#include "ir/alias.h"
#include "ir/decisions.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace smelt::codegen {

static std::unique_ptr<plan::TensorT> describe(TensorType type, Attribute name, DimTable &dims) {
  auto tensor = std::make_unique<plan::TensorT>();
  if (auto text = dyn_cast_or_null<StringAttr>(name))
    tensor->name = text.getValue().str();
  tensor->element_type = planElementType(type.getElementType());
  for (Dim dim : type.getShape())
    tensor->dims.push_back(dims.index(dim));
  return tensor;
}

/// The memory that the result takes over, and how it is laid out.
static void describeAlias(func::FuncOp function, unsigned result, plan::TensorT &tensor,
                          DimTable &dims) {
  if (auto alias = function.getResultAttrOfType<IntegerAttr>(result, kAliasName))
    tensor.alias = alias.getInt();
  if (auto capacity = function.getResultAttrOfType<StringAttr>(result, kCapacityName)) {
    tensor.capacity = dims.symbolIndex(capacity.getValue());
    auto axis = function.getResultAttrOfType<IntegerAttr>(result, kCapacityAxisName);
    tensor.capacity_axis = axis.getInt();
  }
}

void describeInterface(func::FuncOp function, plan::MetadataT &metadata, DimTable &dims) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    metadata.inputs.push_back(
        describe(tensorType(argument), function.getArgAttr(index, "smelt.name"), dims));
    if (auto bound = function.getArgAttrOfType<IntegerAttr>(index, "smelt.row_bound"))
      metadata.inputs.back()->row_bound = bound.getInt();
  }
  for (auto [index, value] :
       llvm::enumerate(function.getBody().front().getTerminator()->getOperands())) {
    metadata.outputs.push_back(
        describe(tensorType(value), function.getResultAttr(index, "smelt.name"), dims));
    describeAlias(function, index, *metadata.outputs.back(), dims);
  }
}

void addGuard(plan::MetadataT &metadata, DimTable &dims, Dim left, plan::Relation relation,
              Dim right, std::string message) {
  auto guard = std::make_unique<plan::GuardT>();
  guard->left = dims.index(left);
  guard->relation = relation;
  guard->right = dims.index(right);
  guard->message = std::move(message);
  metadata.guards.push_back(std::move(guard));
}

void copyGuards(ModuleOp module, plan::MetadataT &metadata, DimTable &dims) {
  for (GuardAttr guard : getGuards(module))
    addGuard(metadata, dims, Dim(guard.getLeft()),
             guard.getRelation() == Relation::equal ? plan::Relation::equal
                                                    : plan::Relation::less_equal,
             Dim(guard.getRight()), guard.getMessage().str());
}

Status checkSymbols(func::FuncOp function, const plan::MetadataT &metadata) {
  llvm::StringSet<> defined;
  for (BlockArgument argument : function.getArguments())
    for (Dim dim : tensorType(argument).getShape())
      if (auto symbol = dim.asSymbol())
        defined.insert(*symbol);
  for (const auto &output : metadata.outputs)
    if (output->capacity != plan::kNone)
      defined.insert(metadata.symbols[output->capacity]);
  for (const std::string &symbol : metadata.symbols)
    if (!defined.contains(symbol))
      return Status(StatusCode::kInvalidModel,
                    "size '" + symbol + "' is the size of no input's axis, so it has no value");
  return Status();
}

} // namespace smelt::codegen
