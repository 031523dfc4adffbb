#include "ir/interpret/symbols.h"

#include "ir/alias.h"
#include "ir/decisions.h"
#include "ir/interpret/host_tensor.h"

using namespace mlir;

namespace smelt {

namespace {

InFlightDiagnostic argumentError(func::FuncOp function, unsigned index, ArrayRef<int64_t> shape) {
  return function.emitError() << "input '" << argumentName(function, index) << "' of type "
                              << function.getArgumentTypes()[index] << " cannot have shape "
                              << toString(shape) << ": ";
}

TensorType argumentType(func::FuncOp function, unsigned index) {
  return cast<TensorType>(function.getArgumentTypes()[index]);
}

/// Takes the symbols from the axes that name one alone.
LogicalResult defineSymbols(func::FuncOp function, unsigned index, ArrayRef<int64_t> shape,
                            Symbols &symbols) {
  for (auto [axis, dim] : llvm::enumerate(argumentType(function, index).getShape())) {
    std::optional<StringRef> name = dim.asSymbol();
    if (!name)
      continue;
    if (shape[axis] < 0)
      return argumentError(function, index, shape) << "size '" << *name << "' must not be negative";
    auto [entry, isNew] = symbols.try_emplace(*name, shape[axis]);
    if (!isNew && entry->second != shape[axis])
      return argumentError(function, index, shape)
             << "axis " << axis << " is '" << *name << "', which another axis fixes as "
             << entry->second;
  }
  return success();
}

LogicalResult checkAxes(func::FuncOp function, unsigned index, ArrayRef<int64_t> shape,
                        const Symbols &symbols) {
  for (auto [axis, dim] : llvm::enumerate(argumentType(function, index).getShape())) {
    std::optional<int64_t> size = evaluateDim(dim, symbols);
    if (!size)
      return argumentError(function, index, shape) << "axis " << axis << " is " << dim.toString()
                                                   << ", which no input's shape determines";
    if (*size != shape[axis])
      return argumentError(function, index, shape)
             << "axis " << axis << " must be " << *size
             << (dim.asConstant() ? "" : " = " + dim.toString());
  }
  return success();
}

/// "seq = 513", or the number alone.
std::string sizeText(Dim dim, int64_t value) {
  return (dim.asConstant() ? "" : dim.toString() + " = ") + std::to_string(value);
}

LogicalResult checkGuard(ModuleOp module, GuardAttr guard, const Symbols &symbols) {
  Dim left(guard.getLeft()), right(guard.getRight());
  bool isEquality = guard.getRelation() == Relation::equal;
  auto a = evaluateDim(left, symbols), b = evaluateDim(right, symbols);
  if (a && b && (isEquality ? *a == *b : *a <= *b))
    return success();
  InFlightDiagnostic error = module.emitError("this model cannot run with ")
                             << toString(symbols) << ": ";
  if (!a || !b)
    return error << "cannot decide the guard " << guard;
  error << sizeText(left, *a) << " must " << (isEquality ? "equal " : "be at most ")
        << sizeText(right, *b);
  return guard.getMessage().empty() ? error : error << " (" << guard.getMessage() << ")";
}

} // namespace

std::optional<int64_t> evaluateDim(Dim dim, const Symbols &symbols) {
  return dim.evaluate([&](StringRef name) -> std::optional<int64_t> {
    auto found = symbols.find(name);
    return found == symbols.end() ? std::nullopt : std::optional<int64_t>(found->second);
  });
}

std::optional<Shape> evaluateShape(TensorType type, const Symbols &symbols) {
  Shape shape;
  for (Dim dim : type.getShape()) {
    std::optional<int64_t> size = evaluateDim(dim, symbols);
    if (!size || *size < 0)
      return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

FailureOr<Symbols> solveSymbols(func::FuncOp function, ArrayRef<Shape> shapes) {
  if (shapes.size() != function.getNumArguments())
    return function.emitError() << "needs " << function.getNumArguments() << " inputs, got "
                                << shapes.size();
  Symbols symbols;
  for (auto [index, shape] : llvm::enumerate(shapes)) {
    if (!isa<TensorType>(function.getArgumentTypes()[index]))
      return function.emitError() << argumentName(function, index) << " is not a smelt tensor";
    if (shape.size() != argumentType(function, index).getRank())
      return argumentError(function, index, shape) << "the ranks differ";
    if (failed(defineSymbols(function, index, shape, symbols)))
      return failure();
  }
  for (auto [index, shape] : llvm::enumerate(shapes))
    if (failed(checkAxes(function, index, shape, symbols)))
      return failure();
  if (failed(defineCapacities(function, symbols)))
    return failure();
  return symbols;
}

LogicalResult defineCapacities(func::FuncOp function, Symbols &symbols) {
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    auto capacity = function.getResultAttrOfType<StringAttr>(index, kCapacityName);
    auto axis = function.getResultAttrOfType<IntegerAttr>(index, kCapacityAxisName);
    if (!capacity || !axis)
      continue;
    std::optional<int64_t> needed =
        evaluateDim(cast<TensorType>(type).getDim(axis.getInt()), symbols);
    if (!needed)
      return function.emitError() << "result " << index
                                  << " grows to a size that no input's shape determines";
    int64_t &value = symbols[capacity.getValue()];
    value = std::max(value, *needed + 1);
  }
  return success();
}

LogicalResult checkGuards(ModuleOp module, const Symbols &symbols) {
  for (GuardAttr guard : getGuards(module))
    if (failed(checkGuard(module, guard, symbols)))
      return failure();
  return success();
}

std::string toString(const Symbols &symbols) {
  SmallVector<std::string> parts;
  for (const auto &entry : symbols)
    parts.push_back(entry.getKey().str() + " = " + std::to_string(entry.getValue()));
  llvm::sort(parts); // StringMap's order is that of its hashes
  return llvm::join(parts, ", ");
}

std::string argumentName(func::FuncOp function, unsigned index) {
  auto name = function.getArgAttrOfType<StringAttr>(index, "smelt.name");
  return name ? name.str() : "argument " + std::to_string(index);
}

} // namespace smelt
