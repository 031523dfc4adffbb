#include "frontend/graph_builder.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace smelt::frontend {

LogicalResult checkSize(Location location, TensorType type) {
  auto refuse = [&](StringRef what) {
    return emitError(location) << "tensor " << toString(type.getShape()) << ' ' << what;
  };
  int64_t elements = 1;
  size_t symbolic = 0;
  for (Dim dim : type.getShape()) {
    SmallVector<Dim::Term> terms = dim.getTerms();
    if (terms.size() > kMaxDimTerms)
      return emitError(location) << "a dimension is the sum of more than " << kMaxDimTerms
                                 << " terms";
    int64_t largest = 1;
    for (const Dim::Term &term : terms) {
      symbolic += term.atoms.size();
      if (term.coefficient > kMaxElements || term.coefficient < -kMaxElements)
        return refuse("has a dimension that overflows");
      largest = std::max(largest, std::abs(term.coefficient));
    }
    if (__builtin_mul_overflow(elements, largest, &elements) || elements > kMaxElements)
      return refuse("has too many elements: its size overflows");
  }
  return symbolic <= kMaxSymbolicDims ? success() : refuse("has too many symbolic dimensions");
}

GraphBuilder::GraphBuilder(func::FuncOp function, ShapeFacts &facts)
    : facts(facts), sources(&function.getBody().front()), nodes(&function.getBody().emplaceBlock()),
      builder(OpBuilder::atBlockEnd(nodes)), location(function.getLoc()) {}

void GraphBuilder::finish(ValueRange results) {
  sources->getOperations().splice(sources->end(), nodes->getOperations());
  nodes->erase();
  builder.setInsertionPointToEnd(sources);
  func::ReturnOp::create(builder, location, results);
}

GraphBuilder::Scope::Scope(GraphBuilder &build, StringRef name, Block *block)
    : build(build), location(build.location), block(build.builder.getInsertionBlock()) {
  build.location = NameLoc::get(build.builder.getStringAttr(name));
  build.builder.setInsertionPointToEnd(block);
}

GraphBuilder::Scope::~Scope() {
  build.location = location;
  build.builder.setInsertionPointToEnd(block);
}

GraphBuilder::Scope GraphBuilder::at(StringRef name) {
  return Scope(*this, name, builder.getInsertionBlock());
}
GraphBuilder::Scope GraphBuilder::atStart(StringRef name) { return Scope(*this, name, sources); }

NamedAttribute GraphBuilder::attribute(StringRef name, Attribute value) {
  return builder.getNamedAttr(name, value);
}
NamedAttribute GraphBuilder::attribute(StringRef name, int64_t value) {
  return attribute(name, builder.getI64IntegerAttr(value));
}
NamedAttribute GraphBuilder::attribute(StringRef name, ArrayRef<int64_t> values) {
  return attribute(name, builder.getDenseI64ArrayAttr(values));
}
NamedAttribute GraphBuilder::attribute(StringRef name, float value) {
  return attribute(name, builder.getF32FloatAttr(value));
}
NamedAttribute GraphBuilder::flag(StringRef name) { return attribute(name, builder.getUnitAttr()); }

LogicalResult GraphBuilder::alignBroadcast(Operation *op) {
  if (!op->hasTrait<Elementwise>())
    return success();
  for (size_t index = 1; index < op->getNumOperands(); ++index)
    for (size_t other = 0; other < index; ++other)
      if (failed(facts.requireBroadcast(location, tensorType(op->getOperand(other)).getShape(),
                                        tensorType(op->getOperand(index)).getShape())))
        return failure();
  return success();
}

FailureOr<TensorType> GraphBuilder::inferType(Operation *op) {
  auto inference = cast<InferTypeOpInterface>(op);
  SmallVector<Type> types;
  if (failed(inference.inferReturnTypes(getContext(), location, op->getOperands(),
                                        op->getDiscardableAttrDictionary(),
                                        op->getPropertiesStorage(), op->getRegions(), types)))
    return failure();
  return cast<TensorType>(types.front());
}

Operation *GraphBuilder::build(StringRef name, ArrayRef<TensorType> types, ValueRange operands,
                               ArrayRef<NamedAttribute> attributes) {
  if (llvm::any_of(operands, [](Value operand) { return !operand; }))
    return nullptr;
  SmallVector<Type> results;
  for (TensorType type : types)
    results.push_back(facts.canonical(type));
  // Until it is inferred, the result has a type that every verifier would refuse.
  if (types.empty())
    results.push_back(builder.getNoneType());
  OperationState state(location, name, operands, results, attributes);
  Operation *op = Operation::create(state);
  auto discard = [&] {
    op->destroy();
    return nullptr;
  };
  if (failed(alignBroadcast(op)))
    return discard();
  if (types.empty()) {
    FailureOr<TensorType> inferred = inferType(op);
    if (failed(inferred))
      return discard();
    op->getResult(0).setType(*inferred);
  }
  for (Value result : op->getResults())
    if (failed(checkSize(location, tensorType(result))))
      return discard();
  builder.insert(op);
  if (succeeded(mlir::verify(op, /*verifyRecursively=*/false)))
    return op;
  op->erase();
  return nullptr;
}

Value GraphBuilder::cast(Value input, Type elementType) {
  if (!input || tensorType(input).getElementType() == elementType)
    return input;
  return createAs<CastOp>(tensorType(input).withElementType(elementType), input);
}

Value GraphBuilder::widen(Value input) {
  Type element = input ? tensorType(input).getElementType() : Type();
  bool isHalf = element && (element.isF16() || element.isBF16());
  return isHalf ? cast(input, builder.getF32Type()) : input;
}

LogicalResult GraphBuilder::requireSizes(ArrayRef<Dim> shape) {
  if (llvm::none_of(shape, [](Dim dim) { return dim.asConstant().value_or(0) < 0; }))
    return success();
  return emitError(location) << "needs a tensor of shape " << toString(shape)
                             << ", whose sizes are beyond what can be counted";
}

Value GraphBuilder::reshape(Value input, ArrayRef<Dim> shape) {
  if (!input || tensorType(input).getShape() == shape)
    return input;
  return view<ReshapeOp>(input, shape);
}

Value GraphBuilder::transpose(Value input, ArrayRef<int64_t> permutation) {
  if (input && llvm::is_sorted(permutation))
    return input;
  return create<TransposeOp>(input, attribute("permutation", permutation));
}

Value GraphBuilder::transposeMatrix(Value input) {
  if (!input)
    return {};
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(input).getRank()));
  std::swap(permutation[permutation.size() - 2], permutation.back());
  return transpose(input, permutation);
}

Value GraphBuilder::expand(Value input, ArrayRef<Dim> shape) {
  if (!input || tensorType(input).getShape() == shape)
    return input;
  return view<ExpandOp>(input, shape);
}

Value GraphBuilder::slice(Value input, int64_t axis, Dim start, Dim length, int64_t step) {
  if (!input)
    return {};
  SmallVector<Dim> shape = tensorType(input).getShape();
  if (start.isConstant(0) && step == 1 && length == shape[axis])
    return input;
  SmallVector<Attribute> starts(shape.size(), size(0).getAttribute());
  SmallVector<int64_t> steps(shape.size(), 1);
  starts[axis] = start.getAttribute(), steps[axis] = step, shape[axis] = length;
  return view<SliceOp>(
      input, shape, {attribute("starts", builder.getArrayAttr(starts)), attribute("steps", steps)});
}

Value GraphBuilder::concat(ValueRange inputs, int64_t axis) {
  return inputs.size() == 1 ? inputs[0] : create<ConcatOp>(inputs, attribute("axis", axis));
}

Value GraphBuilder::pad(Value input, int64_t axis, Dim before, Dim after, Value fill) {
  if (!input || !fill)
    return {};
  auto isNegative = [](Dim count) { return count.asConstant().value_or(0) < 0; };
  Dim start = isNegative(before) ? before * -1 : size(0), end = tensorType(input).getDim(axis);
  Dim taken = isNegative(after) ? start - after : start;
  if (failed(facts.requireAtMost(location, taken, end,
                                 "negative pads take away elements that the axis has")))
    return {};
  end = isNegative(after) ? end + after : end;
  SmallVector<Value> parts{slice(input, axis, start, end - start)};
  auto filled = [&](Dim count) {
    SmallVector<Dim> shape = tensorType(input).getShape();
    shape[axis] = count;
    return expand(fill, shape);
  };
  if (!isNegative(before) && !before.isConstant(0))
    parts.insert(parts.begin(), filled(before));
  if (!isNegative(after) && !after.isConstant(0))
    parts.push_back(filled(after));
  if (parts.size() > 1)
    llvm::erase_if(parts,
                   [&](Value part) { return part && tensorType(part).getDim(axis).isConstant(0); });
  return parts.empty() ? Value() : concat(parts, axis);
}

Value GraphBuilder::windows(Value input, int64_t axis, Dim count, Dim length, int64_t stride,
                            int64_t dilation) {
  if (!input)
    return {};
  SmallVector<Dim> shape = tensorType(input).getShape();
  shape[axis] = count;
  shape.insert(shape.begin() + axis + 1, length);
  return view<WindowsOp>(
      input, shape,
      {attribute("axis", axis), attribute("stride", stride), attribute("dilation", dilation)});
}

Value GraphBuilder::reduce(ReductionKind kind, Value input, ArrayRef<int64_t> axes) {
  return create<ReduceOp>(input, {attribute("kind", ReductionKindAttr::get(getContext(), kind)),
                                  attribute("axes", axes)});
}

Value GraphBuilder::constant(DenseElementsAttr value) {
  return createAs<ConstantOp>(fromBuiltin(value.getType()), {}, attribute("value", value));
}

Value GraphBuilder::scalar(double value, Type elementType) {
  auto type = RankedTensorType::get({}, elementType);
  if (auto floatType = dyn_cast<FloatType>(elementType))
    return constant(
        DenseElementsAttr::get(type, builder.getFloatAttr(floatType, value).getValue()));
  bool isUnsigned = elementType.isUnsignedInteger() || elementType.isInteger(1), isExact;
  llvm::APSInt bits(elementType.getIntOrFloatBitWidth(), isUnsigned);
  llvm::APFloat(value).convertToInteger(bits, llvm::APFloat::rmTowardZero, &isExact);
  return constant(DenseElementsAttr::get(type, bits));
}

Value GraphBuilder::integers(ArrayRef<int64_t> values, Type elementType) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, elementType);
  unsigned width = elementType.getIntOrFloatBitWidth();
  SmallVector<llvm::APInt> elements = llvm::map_to_vector(values, [&](int64_t value) {
    return llvm::APInt(width, value, /*isSigned=*/true, /*implicitTrunc=*/true);
  });
  return constant(DenseElementsAttr::get(type, elements));
}

Value GraphBuilder::dims(ArrayRef<Dim> values, Type elementType) {
  if (llvm::all_of(values, [](Dim dim) { return dim.asConstant().has_value(); }))
    return integers(llvm::map_to_vector(values, [](Dim dim) { return *dim.asConstant(); }),
                    elementType);
  SmallVector<Attribute> attributes =
      llvm::map_to_vector(values, [](Dim dim) -> Attribute { return dim.getAttribute(); });
  auto type = TensorType::get({size(values.size())}, elementType);
  return createAs<DimsOp>(type, {}, attribute("dims", builder.getArrayAttr(attributes)));
}

Value GraphBuilder::dim(Dim value, Type elementType) {
  return reshape(dims(value, elementType), {});
}

SmallVector<BlockArgument> GraphBuilder::inputsOf(Value value) const {
  SmallVector<BlockArgument> inputs;
  SmallVector<Value> pending{value};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op && !llvm::is_contained(inputs, next))
      inputs.push_back(cast<BlockArgument>(next));
    else if (op && seen.insert(op).second)
      pending.append(op->operand_begin(), op->operand_end());
  }
  return inputs;
}

void GraphBuilder::needValue(Value value) {
  for (BlockArgument input : inputsOf(value))
    needed.insert(input);
}

} // namespace smelt::frontend
