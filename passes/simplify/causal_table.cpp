#include "passes/simplify/causal_table.h"

#include "ir/interpret/host_tensor.h"
#include "passes/constants.h"
#include "passes/view_shape.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace smelt::passes {

namespace {

/// Tables of 4096 positions; larger ones are read as data.
constexpr int64_t kMaxElements = int64_t{1} << 24;

/// table[i][j] is `below` where j <= i + diagonal, else `above`.
struct Diagonal {
  int64_t diagonal;
  double below, above;
};

/// The table's rows and columns; none where another axis is longer than 1 or the table is too small
/// to tell.
std::optional<std::pair<int64_t, int64_t>> tableShape(TensorType type) {
  if (!type.isStatic() || type.getRank() < 2)
    return std::nullopt;
  SmallVector<int64_t> shape = type.getStaticShape();
  auto outer = ArrayRef<int64_t>(shape).drop_back(2);
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  bool isTable = llvm::all_of(outer, [](int64_t size) { return size == 1; }) && rows > 1 &&
                 columns > 1 && rows <= kMaxElements / columns;
  return isTable ? std::optional(std::pair(rows, columns)) : std::nullopt;
}

std::optional<Diagonal> matchDiagonal(const HostTensor &table, int64_t rows, int64_t columns) {
  double below = table.getDouble(0), above = table.getDouble(columns - 1);
  // Larger integers are not all doubles.
  auto isKept = [&](double value) {
    return isa<FloatType>(table.getElementType()) || std::abs(value) <= 0x1p53;
  };
  if (!(below != above) || !isKept(below) || !isKept(above))
    return std::nullopt;
  int64_t diagonal = 0;
  while (table.getDouble(diagonal + 1) == below)
    ++diagonal;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (table.getDouble(i * columns + j) != (j <= i + diagonal ? below : above))
        return std::nullopt;
  return Diagonal{diagonal, below, above};
}

/// The first row holds one value, then another: tells most weights apart without converting them.
bool startsLikeTable(ArrayRef<char> bytes, int64_t columns, int64_t width) {
  auto equals = [&](int64_t i, int64_t j) {
    return std::memcmp(bytes.data() + i * width, bytes.data() + j * width, width) == 0;
  };
  int64_t changes = 0;
  for (int64_t i = 1; i < columns && changes < 2; ++i)
    changes += !equals(i - 1, i);
  return changes == 1;
}

std::optional<HostTensor> readTable(Operation *source, int64_t columns, WeightStore *weights) {
  if (auto constant = dyn_cast<ConstantOp>(source))
    return HostTensor::fromAttribute(constant.getValue());
  auto weight = dyn_cast<WeightOp>(source);
  if (!weight || !weights)
    return std::nullopt;
  FailureOr<ArrayRef<char>> bytes = weights->bytes(weight);
  TensorType type = tensorType(weight.getOutput());
  if (failed(bytes) || !startsLikeTable(*bytes, columns, elementBytes(type.getElementType())))
    return std::nullopt;
  return HostTensor::fromBytes(type.getStaticShape(), type.getElementType(), *bytes);
}

} // namespace

Value rebuildCausalTable(OpBuilder &builder, Operation *source, WeightStore *weights) {
  if (!isa<ConstantOp, WeightOp>(source))
    return {};
  TensorType type = tensorType(source->getResult(0));
  auto shape = tableShape(type);
  std::optional<HostTensor> table =
      shape ? readTable(source, shape->second, weights) : std::nullopt;
  auto match = table ? matchDiagonal(*table, shape->first, shape->second) : std::nullopt;
  if (!match)
    return {};
  Location location = source->getLoc();
  MLIRContext *context = builder.getContext();
  Type index = builder.getI64Type(), elementType = type.getElementType();
  Dim rows = Dim::constant(context, shape->first), columns = Dim::constant(context, shape->second);
  Value i = IotaOp::create(builder, location, TensorType::get({rows}, index));
  Value j = IotaOp::create(builder, location, TensorType::get({columns}, index));
  if (match->diagonal != 0)
    i = AddOp::create(builder, location, i,
                      makeScalarInteger(builder, location, match->diagonal, index));
  i = reshapeTo(builder, location, i, {rows, Dim::constant(context, 1)});
  Value visible = LessEqualOp::create(builder, location, j, i);
  if (!elementType.isInteger(1))
    visible = SelectOp::create(builder, location, visible,
                               makeScalar(builder, location, match->below, elementType),
                               makeScalar(builder, location, match->above, elementType));
  else if (match->below == 0)
    visible = NotOp::create(builder, location, visible.getType(), visible);
  return reshapeTo(builder, location, visible, type.getShape());
}

} // namespace smelt::passes
