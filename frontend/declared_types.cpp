#include "frontend/declared_types.h"

#include "frontend/element_type.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

using Tensor = onnx_wire::Type::TensorKind;

std::string declaredText(const Tensor &tensor) {
  std::string text = dataTypeName(tensor.elem_type());
  if (!tensor.has_shape())
    return text;
  SmallVector<std::string> sizes;
  for (const auto &dim : tensor.shape().dim())
    sizes.push_back(dim.has_dim_value()       ? std::to_string(dim.dim_value())
                    : dim.dim_param().empty() ? "?"
                                              : dim.dim_param());
  return text + " [" + llvm::join(sizes, ", ") + "]";
}

} // namespace

DeclaredTypes::DeclaredTypes(const onnx_wire::Graph &graph, bool sizesCount)
    : sizesCount(sizesCount) {
  for (const onnx_wire::ValueInfo &info : graph.value_info())
    infos[info.name()].push_back(&info);
  for (const onnx_wire::ValueInfo &info : graph.output())
    infos[info.name()].push_back(&info);
}

bool DeclaredTypes::contradicts(const Tensor &declared, TensorType type) const {
  bool isTyped = declared.elem_type() != onnx_wire::Tensor::UNDEFINED;
  if (isTyped && elementType(type.getContext(), declared.elem_type()) != type.getElementType())
    return true;
  if (!declared.has_shape())
    return false;
  SmallVector<Dim> shape = type.getShape();
  if (static_cast<size_t>(declared.shape().dim_size()) != shape.size())
    return true;
  return sizesCount && llvm::any_of(llvm::zip(declared.shape().dim(), shape), [](const auto &pair) {
           const auto &[claim, dim] = pair;
           auto size = dim.asConstant();
           bool isKnown = claim.has_dim_value() && claim.dim_value() >= 0; // some write -1 for any
           return isKnown && size && *size != claim.dim_value();
         });
}

std::string DeclaredTypes::findContradiction(StringRef name, TensorType type) const {
  auto found = infos.find(name);
  if (found == infos.end())
    return "";
  for (const onnx_wire::ValueInfo *info : found->second)
    if (info->type().has_tensor_type() && contradicts(info->type().tensor_type(), type))
      return "declared " + declaredText(info->type().tensor_type()) + ", but it is " +
             typeName(type.getElementType()) + " " + toString(type.getShape());
  return "";
}

} // namespace smelt::frontend
