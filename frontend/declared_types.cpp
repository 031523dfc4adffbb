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

bool contradictsElements(const Tensor &declared, TensorType type) {
  return declared.elem_type() != onnx_wire::Tensor::UNDEFINED &&
         elementType(type.getContext(), declared.elem_type()) != type.getElementType();
}

} // namespace

DeclaredTypes::DeclaredTypes(const onnx_wire::Graph &graph, bool sizesCount)
    : sizesCount(sizesCount) {
  for (const onnx_wire::ValueInfo &info : graph.value_info())
    infos[info.name()].push_back(&info);
  for (const onnx_wire::ValueInfo &info : graph.output())
    infos[info.name()].push_back(&info);
}

bool DeclaredTypes::contradictsShape(const Tensor &declared, TensorType type) const {
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

LogicalResult DeclaredTypes::check(Location location, StringRef what, StringRef name,
                                   TensorType type) const {
  auto found = infos.find(name);
  if (found == infos.end())
    return success();
  for (const onnx_wire::ValueInfo *info : found->second) {
    if (!info->type().has_tensor_type())
      continue;
    const Tensor &declared = info->type().tensor_type();
    bool isOfElements = contradictsElements(declared, type);
    if (!isOfElements && !contradictsShape(declared, type))
      continue;
    std::string text =
        (what + " '" + name + "' is declared " + declaredText(declared) + ", but it is " +
         typeName(type.getElementType()) + " " + toString(type.getShape()))
            .str();
    if (isOfElements)
      return emitError(location) << text;
    emitWarning(location) << text << "; the declaration is ignored";
    return success();
  }
  return success();
}

} // namespace smelt::frontend
