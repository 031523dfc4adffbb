#include "frontend/graph_inputs.h"

#include "frontend/element_type.h"
#include "frontend/graph_builder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr int kMaxRank = 64;

/// Gives each dim_param one identifier.
class SymbolNames {
public:
  std::string get(StringRef parameter) {
    auto [known, isNew] = names.try_emplace(parameter, "");
    if (isNew)
      known->second = makeUnique(parameter);
    return known->second;
  }

  std::string makeUnique(StringRef text) {
    std::string name;
    for (char character : text.take_front(64))
      name += llvm::isAlnum(character) ? character : '_';
    if (name.empty() || llvm::isDigit(name[0]))
      name = "d" + name;
    std::string unique = name;
    for (int suffix = 1; !taken.insert(unique).second; ++suffix)
      unique = name + "_" + std::to_string(suffix);
    return unique;
  }

private:
  llvm::StringMap<std::string> names;
  llvm::StringSet<> taken;
};

Location at(Location location, StringRef input) {
  return NameLoc::get(StringAttr::get(location.getContext(), input));
}

FailureOr<SmallVector<Dim>> readShape(Location location, const onnx_wire::ValueInfo &input,
                                      SymbolNames &symbols) {
  MLIRContext *context = location.getContext();
  const onnx_wire::Shape &shape = input.type().tensor_type().shape();
  if (shape.dim_size() > kMaxRank)
    return emitError(location) << "the input has " << shape.dim_size() << " dimensions, at most "
                               << kMaxRank << " are supported";
  SmallVector<Dim> dims;
  for (auto [axis, dim] : llvm::enumerate(shape.dim())) {
    if (dim.has_dim_value() && dim.dim_value() < 0)
      return emitError(location) << "the input declares the negative dimension " << dim.dim_value();
    if (dim.has_dim_value())
      dims.push_back(Dim::constant(context, dim.dim_value()));
    else if (!dim.dim_param().empty())
      dims.push_back(Dim::symbol(context, symbols.get(dim.dim_param())));
    else
      dims.push_back(
          Dim::symbol(context, symbols.makeUnique(input.name() + "_d" + std::to_string(axis))));
  }
  return dims;
}

/// Takes over the sizes given for an input. A symbol that is given a size has it in every input.
LogicalResult pinShape(Location location, ArrayRef<int64_t> pinned, bool hasShape,
                       SmallVector<Dim> &shape, llvm::StringMap<Dim> &symbolSizes) {
  if (!hasShape)
    shape.assign(pinned.size(), Dim());
  if (pinned.size() != shape.size())
    return emitError(location) << "the given shape has " << pinned.size()
                               << " dimensions, the input has " << shape.size();
  for (auto [size, dim] : llvm::zip(pinned, shape)) {
    if (size == -1 && dim)
      continue;
    auto symbol = dim ? dim.asSymbol() : std::nullopt;
    Dim known = symbol ? symbolSizes.lookup(*symbol) : dim;
    if (size < 0 || (known && !known.isConstant(size)))
      return emitError(location) << "the given dimension " << size << " does not fit the declared "
                                 << (known ? known.toString() : "one, which is unknown");
    Dim constant = Dim::constant(location.getContext(), size);
    if (symbol)
      symbolSizes[*symbol] = constant;
    dim = constant;
  }
  return success();
}

FailureOr<TensorType> readType(Location location, const onnx_wire::ValueInfo &input,
                               SymbolNames &symbols, const std::vector<int64_t> *pinned,
                               llvm::StringMap<Dim> &symbolSizes) {
  if (!input.type().has_tensor_type())
    return emitError(location)
           << "the input is no tensor; sequences, maps and optionals are not supported";
  const auto &tensor = input.type().tensor_type();
  Type element = elementType(location.getContext(), tensor.elem_type());
  if (!element)
    return emitError(location) << "the input is of type " << dataTypeName(tensor.elem_type())
                               << ", which is not supported";
  if (!tensor.has_shape() && !pinned)
    return emitError(location) << "the input declares no shape; give it one, such as --shape "
                               << input.name() << "=1x128";
  FailureOr<SmallVector<Dim>> shape = readShape(location, input, symbols);
  if (failed(shape) ||
      (pinned && failed(pinShape(location, *pinned, tensor.has_shape(), *shape, symbolSizes))))
    return failure();
  return TensorType::get(*shape, element);
}

} // namespace

FailureOr<std::vector<GraphInput>> readInputs(Location location, const onnx_wire::Graph &graph,
                                              const PinnedShapes &pinned) {
  llvm::StringSet<> initialized;
  for (const onnx_wire::Tensor &tensor : graph.initializer())
    initialized.insert(tensor.name());
  std::vector<GraphInput> inputs;
  SymbolNames symbols;
  llvm::StringMap<Dim> symbolSizes;
  for (const onnx_wire::ValueInfo &input : graph.input()) {
    if (initialized.contains(input.name()))
      continue;
    auto given =
        llvm::find_if(pinned, [&](const auto &entry) { return entry.first == input.name(); });
    const std::vector<int64_t> *sizes = given == pinned.end() ? nullptr : &given->second;
    FailureOr<TensorType> type =
        readType(at(location, input.name()), input, symbols, sizes, symbolSizes);
    if (failed(type))
      return failure();
    inputs.push_back({input.name(), *type});
  }
  auto sizeOf = [&](StringRef symbol) { return symbolSizes.lookup(symbol); };
  for (GraphInput &input : inputs) {
    input.type = input.type.withShape(
        llvm::map_to_vector(input.type.getShape(), [&](Dim dim) { return dim.replace(sizeOf); }));
    if (failed(checkSize(at(location, input.name), input.type)))
      return failure();
  }
  for (const auto &[name, shape] : pinned)
    if (llvm::none_of(inputs, [&](const GraphInput &input) { return input.name == name; }))
      return emitError(location) << "a shape is given for '" << name
                                 << "', which is no input of the model";
  return inputs;
}

} // namespace smelt::frontend
