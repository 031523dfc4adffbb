// Contractions: matmul, convolution, attention.
#include "ir/element_bytes.h"
#include "ir/ops/common.h"

using namespace mlir;

namespace smelt {

namespace {

/// Two constant sizes that differ; symbolic sizes are taken to agree.
bool contradict(Dim a, Dim b) { return a.asConstant() && b.asConstant() && a != b; }

/// Aligned at the end, each size is 1 or may be that of `full`.
bool broadcastsTo(ArrayRef<Dim> shape, ArrayRef<Dim> full) {
  auto fits = [](auto sizes) {
    return std::get<0>(sizes).isConstant(1) || !contradict(std::get<0>(sizes), std::get<1>(sizes));
  };
  return shape.size() <= full.size() &&
         llvm::all_of(llvm::zip(shape, full.take_back(shape.size())), fits);
}

/// The result type that the operands imply, or the type of its sums where it is a narrower one.
bool isSumOf(TensorType inferred, Type actual) {
  bool widens = inferred.getElementType().isF16() || inferred.getElementType().isBF16();
  return actual == inferred ||
         (widens && actual == inferred.withElementType(Float32Type::get(inferred.getContext())));
}

/// Of a product of bytes, which need not be of one type; null where that is none.
Type sumsOfBytes(Type lhs, Type rhs) {
  if (lhs.isInteger(8) && rhs.isInteger(8))
    return IntegerType::get(lhs.getContext(), 32);
  if (isFloat8Operand(lhs) && isFloat8Operand(rhs))
    return Float32Type::get(lhs.getContext());
  return {};
}

} // namespace

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr, OpaqueProperties,
                                         RegionRange, SmallVectorImpl<Type> &results) {
  TensorType lhs = tensorType(operands[0]), rhs = tensorType(operands[1]);
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return inferError(location, "operands need at least two axes, got ", lhs, " and ", rhs);
  Type element = sumsOfBytes(lhs.getElementType(), rhs.getElementType());
  if (!element && lhs.getElementType() != rhs.getElementType())
    return inferError(location, "operands have different element types, ", lhs.getElementType(),
                      " and ", rhs.getElementType());
  SmallVector<Dim> a = lhs.getShape(), b = rhs.getShape();
  FailureOr<SmallVector<Dim>> shape =
      broadcastShapes(ArrayRef(a).drop_back(2), ArrayRef(b).drop_back(2));
  if (failed(shape) || contradict(a.back(), b[b.size() - 2]))
    return inferError(location, "cannot multiply ", toString(a), " by ", toString(b));
  shape->push_back(a[a.size() - 2]);
  shape->push_back(b.back());
  results.push_back(
      lhs.withShape(*shape).withElementType(element ? element : lhs.getElementType()));
  return success();
}

bool MatmulOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return isSumOf(cast<TensorType>(inferred[0]), actual[0]);
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                       ValueRange operands, DictionaryAttr attributes,
                                       OpaqueProperties properties, RegionRange regions,
                                       SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  TensorType input = tensorType(operands[0]), filter = tensorType(operands[1]);
  size_t spatial = adaptor.getStrides().size();
  if (input.getRank() != spatial + 2 || filter.getRank() != spatial + 2 ||
      adaptor.getPads().size() != 2 * spatial || adaptor.getDilations().size() != spatial)
    return inferError(location, "strides, pads and dilations do not fit ", input, " and ", filter);
  int64_t groups = adaptor.getGroups();
  if (groups <= 0 || contradict(input.getDim(1), filter.getDim(1) * groups) ||
      (filter.getDim(0).asConstant() && *filter.getDim(0).asConstant() % groups != 0))
    return inferError(location, groups, " groups do not fit input ", input, " and filter ", filter);
  SmallVector<Dim> shape{input.getDim(0), filter.getDim(0)};
  for (size_t axis = 0; axis < spatial; ++axis) {
    int64_t stride = adaptor.getStrides()[axis], dilation = adaptor.getDilations()[axis];
    if (stride <= 0 || dilation <= 0)
      return inferError(location, "strides and dilations must be positive");
    Dim window = (filter.getDim(axis + 2) - 1) * dilation + 1;
    Dim padded =
        input.getDim(axis + 2) + adaptor.getPads()[axis] + adaptor.getPads()[axis + spatial];
    Dim size = (padded - window).floorDiv(Dim::constant(context, stride)) + 1;
    if (auto value = size.asConstant(); value && *value < 0)
      return inferError(location, "the filter ", filter, " is larger than the padded input ",
                        input);
    shape.push_back(size);
  }
  results.push_back(input.withShape(shape));
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &results) {
  TensorType query = tensorType(operands[0]), key = tensorType(operands[1]),
             value = tensorType(operands[2]);
  if (query.getRank() != 4 || key.getRank() != 4 || value.getRank() != 4)
    return inferError(location, "query, key and value need four axes");
  if (contradict(query.getDim(3), key.getDim(3)) || contradict(key.getDim(2), value.getDim(2)) ||
      contradict(key.getDim(1), value.getDim(1)) || contradict(query.getDim(0), key.getDim(0)))
    return inferError(location, "query ", query, ", key ", key, " and value ", value,
                      " do not fit");
  auto heads = query.getDim(1).asConstant(), groups = key.getDim(1).asConstant();
  if (!heads || !groups || *groups == 0 || *heads % *groups != 0)
    return inferError(location, "heads must be constant, and query heads a multiple of key heads");
  Dim scores[] = {query.getDim(0), query.getDim(1), query.getDim(2), key.getDim(2)};
  if (operands.size() > 3 && !broadcastsTo(tensorType(operands[3]).getShape(), scores))
    return inferError(location, "the bias ", tensorType(operands[3]),
                      " does not broadcast to the scores of query ", query, " and key ", key);
  results.push_back(
      query.withShape({query.getDim(0), query.getDim(1), query.getDim(2), value.getDim(3)}));
  return success();
}

bool AttentionOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return isSumOf(cast<TensorType>(inferred[0]), actual[0]);
}

} // namespace smelt
