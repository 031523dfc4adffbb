#include "frontend/graph_inputs.h"

#include "frontend/element_type.h"
#include "frontend/graph_builder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

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

/// No node's name, so that messages do not speak of one.
Location inputLocation(Location location, StringRef input) {
  return NameLoc::get(StringAttr::get(location.getContext(), "input '" + input + "'"));
}

/// Whether a `dim_param` says no more than that a size is open, so that two of them may differ:
/// "?" (PaddlePaddle), "None" (Keras), "-1".
bool isPlaceholder(StringRef parameter) {
  static constexpr StringLiteral kWords[] = {"none", "null", "any", "unknown", "dynamic"};
  return llvm::none_of(parameter, llvm::isAlpha) ||
         llvm::any_of(kWords, [&](StringRef word) { return parameter.equals_insensitive(word); });
}

std::string axisName(const onnx_wire::ValueInfo &input, size_t axis) {
  return input.name() + "_d" + std::to_string(axis);
}

FailureOr<SmallVector<Dim>> readShape(Location location, const onnx_wire::ValueInfo &input,
                                      SymbolNames &symbols) {
  MLIRContext *context = location.getContext();
  const onnx_wire::Shape &shape = input.type().tensor_type().shape();
  if (shape.dim_size() > kMaxRank)
    return emitError(location) << "has " << shape.dim_size() << " dimensions, at most " << kMaxRank
                               << " are supported";
  SmallVector<Dim> dims;
  for (auto [axis, dim] : llvm::enumerate(shape.dim())) {
    bool isOpen = dim.has_dim_value() && dim.dim_value() == -1;
    if (isOpen)
      emitWarning(location) << "declares -1 for dimension " << axis << ": it may have any size";
    else if (dim.has_dim_value() && dim.dim_value() < 0)
      return emitError(location) << "declares the negative dimension " << dim.dim_value();
    if (dim.has_dim_value() && !isOpen)
      dims.push_back(Dim::constant(context, dim.dim_value()));
    else if (!isPlaceholder(dim.dim_param()))
      dims.push_back(Dim::symbol(context, symbols.get(dim.dim_param())));
    else
      dims.push_back(Dim::symbol(context, symbols.makeUnique(axisName(input, axis))));
  }
  return dims;
}

/// The shape of an input that declares none; -1 leaves a dimension open.
SmallVector<Dim> givenShape(MLIRContext *context, const onnx_wire::ValueInfo &input,
                            ArrayRef<int64_t> sizes, SymbolNames &symbols) {
  SmallVector<Dim> dims;
  for (auto [axis, size] : llvm::enumerate(sizes))
    dims.push_back(size < 0 ? Dim::symbol(context, symbols.makeUnique(axisName(input, axis)))
                            : Dim::constant(context, size));
  return dims;
}

/// Takes over the sizes given for an input. A symbol that is given a size has it in every input.
LogicalResult pinShape(Location location, ArrayRef<int64_t> pinned, SmallVector<Dim> &shape,
                       llvm::StringMap<Dim> &symbolSizes, bool replacesDeclared) {
  if (pinned.size() != shape.size())
    return emitError(location) << "the given shape has " << pinned.size()
                               << " dimensions, the input has " << shape.size();
  for (auto [size, dim] : llvm::zip(pinned, shape)) {
    if (size == -1)
      continue;
    auto symbol = dim.asSymbol();
    if (symbol && size < 0)
      return emitError(location) << "the given dimension " << size << " is negative";
    Dim known = symbol ? symbolSizes.lookup(*symbol) : dim;
    bool contradicts = known && !known.isConstant(size);
    if (contradicts && replacesDeclared && !symbol && size >= 0)
      emitWarning(location) << "the declared dimension " << known.toString() << " is taken to be "
                            << size << ", as given: the model needs another";
    else if (contradicts)
      return emitError(location) << "the given dimension " << size << " does not fit the declared "
                                 << known.toString();
    Dim constant = Dim::constant(location.getContext(), size);
    if (symbol)
      symbolSizes[*symbol] = constant;
    dim = constant;
  }
  return success();
}

FailureOr<TensorType> readType(Location location, const onnx_wire::ValueInfo &input,
                               SymbolNames &symbols, const std::vector<int64_t> *given,
                               llvm::StringMap<Dim> &symbolSizes, bool replacesDeclared) {
  if (!input.type().has_tensor_type())
    return emitError(location) << "is no tensor; sequences, maps and optionals are not supported";
  const auto &tensor = input.type().tensor_type();
  Type element = elementType(location.getContext(), tensor.elem_type());
  if (!element)
    return emitError(location) << "is of type " << dataTypeName(tensor.elem_type())
                               << ", which is not supported";
  if (!tensor.has_shape() && !given)
    return emitError(location) << "declares no shape; give it one, such as --shape " << input.name()
                               << "=1x128";
  if (!tensor.has_shape())
    return TensorType::get(givenShape(location.getContext(), input, *given, symbols), element);
  FailureOr<SmallVector<Dim>> shape = readShape(location, input, symbols);
  if (failed(shape) ||
      (given && failed(pinShape(location, *given, *shape, symbolSizes, replacesDeclared))))
    return failure();
  return TensorType::get(*shape, element);
}

const std::vector<int64_t> *find(const PinnedShapes &shapes, StringRef name) {
  auto found = llvm::find_if(shapes, [&](const auto &entry) { return entry.first == name; });
  return found == shapes.end() ? nullptr : &found->second;
}

} // namespace

FailureOr<std::vector<GraphInput>> readInputs(Location location, const onnx_wire::Graph &graph,
                                              const PinnedShapes &pinned,
                                              const PinnedShapes &undeclared,
                                              bool replacesDeclared) {
  llvm::StringSet<> initialized;
  for (const onnx_wire::Tensor &tensor : graph.initializer())
    initialized.insert(tensor.name());
  std::vector<GraphInput> inputs;
  SymbolNames symbols;
  llvm::StringMap<Dim> symbolSizes;
  for (const onnx_wire::ValueInfo &input : graph.input()) {
    if (initialized.contains(input.name()))
      continue;
    const std::vector<int64_t> *given = find(pinned, input.name());
    if (!given && !input.type().tensor_type().has_shape())
      given = find(undeclared, input.name());
    FailureOr<TensorType> type = readType(inputLocation(location, input.name()), input, symbols,
                                          given, symbolSizes, replacesDeclared);
    if (failed(type))
      return failure();
    inputs.push_back({input.name(), *type});
  }
  auto sizeOf = [&](StringRef symbol) { return symbolSizes.lookup(symbol); };
  for (GraphInput &input : inputs) {
    input.type = input.type.withShape(
        llvm::map_to_vector(input.type.getShape(), [&](Dim dim) { return dim.replace(sizeOf); }));
    if (failed(checkSize(inputLocation(location, input.name), input.type)))
      return failure();
  }
  for (const auto &[name, shape] : pinned)
    if (llvm::none_of(inputs, [&](const GraphInput &input) { return input.name == name; }))
      return emitError(location) << "a shape is given for '" << name << "', which is "
                                 << (initialized.contains(name)
                                         ? "an initializer, which is constant for Smelt"
                                         : "no input of the model");
  return inputs;
}

} // namespace smelt::frontend
