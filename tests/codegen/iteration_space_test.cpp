// Positions through views against a plain model: random chains of views over small tensors,
// followed element by element; lane claims against the offsets that they speak about.
#include "codegen/iteration_space.h"

#include "mlir/IR/Builders.h"
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

using namespace mlir;

namespace smelt::codegen {
namespace {

using SymbolValues = std::map<std::string, int64_t>;
using Shape = std::vector<int64_t>;

int64_t evaluate(Dim dim, const SymbolValues &values) {
  std::optional<int64_t> value = dim.evaluate([&](StringRef name) -> std::optional<int64_t> {
    auto found = values.find(name.str());
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
  EXPECT_TRUE(value.has_value()) << dim.toString();
  return value.value_or(-1);
}

int64_t count(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// Calls `visit` for every position of `shape`, in row-major order.
void forEachPosition(const Shape &shape, llvm::function_ref<void(const Shape &)> visit) {
  for (int64_t flat = 0; flat < count(shape); ++flat) {
    Shape position(shape.size());
    int64_t rest = flat;
    for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
      position[axis] = rest % shape[axis];
    visit(position);
  }
}

int64_t offsetOf(const Shape &position, const Shape &shape) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    offset = offset * shape[axis] + position[axis];
  return offset;
}

/// A chain of random views, and for each element of its result the element of the input that the
/// plain model finds.
class RandomViews {
public:
  explicit RandomViews(unsigned seed)
      : random(seed), location(UnknownLoc::get(&context)), builder(&context) {
    context.loadDialect<SmeltDialect>();
    module = ModuleOp::create(location);
    builder.setInsertionPointToEnd(module->getBody());
    sizes = {{"b", pick(1, 3)}, {"s", pick(1, 4)}};
    static const char *const kInputs[][4] = {
        {"b", "s", "12", ""}, {"2", "3", "4", ""}, {"b", "2", "s", "6"}, {"s", "8", "", ""}};
    for (const char *extent : kInputs[pick(0, 3)])
      if (*extent)
        shape.push_back(dim(extent));
    TensorType type = TensorType::get(shape, Float32Type::get(&context));
    block.addArgument(type, location);
    value = block.getArgument(0);
    sources.resize(count(extents()));
    std::iota(sources.begin(), sources.end(), 0);
    for (int i = 0; i < 5; ++i)
      step();
  }

  /// Checks the map from the result to the input at every position.
  void check() {
    IterationSpace space;
    Index index = space.addFlat(&context, "e", shape);
    Dim offset = inputOffset(index, space);
    Dim collapsed = space.collapse(offset);
    Shape concrete = extents();
    forEachPosition(concrete, [&](const Shape &position) {
      SymbolValues values = sizes;
      for (size_t axis = 0; axis < position.size(); ++axis)
        values["%e" + std::to_string(axis)] = position[axis];
      int64_t flat = offsetOf(position, concrete);
      values["%e"] = flat;
      ASSERT_EQ(evaluate(offset, values), sources[flat]) << text(offset);
      ASSERT_EQ(evaluate(collapsed, values), sources[flat]) << text(collapsed);
    });
  }

  /// Checks what laneStride and knownDivisor claim about the offset in the input.
  void checkLanes(int64_t width) {
    if (extents().empty() || extents().back() % width != 0)
      return;
    IterationSpace space;
    Index index = space.addFlat(&context, "e", shape);
    Lanes lanes = space.lanesAlong("e", width);
    Dim offset = space.collapse(inputOffset(index, space));
    std::optional<int64_t> stride = laneStride(offset, lanes);
    int64_t divisor = knownDivisor(offset, lanes);
    for (int64_t first = 0; first < count(extents()); first += width) {
      int64_t start = sources[first];
      if (divisor == 0)
        ASSERT_EQ(start, 0);
      else
        ASSERT_EQ(start % divisor, 0) << text(offset);
      for (int64_t lane = 1; stride && lane < width; ++lane)
        ASSERT_EQ(sources[first + lane], start + lane * *stride) << text(offset);
    }
  }

private:
  int64_t pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  }
  Dim dim(StringRef text) {
    int64_t number;
    return text.getAsInteger(10, number) ? Dim::symbol(&context, text)
                                         : Dim::constant(&context, number);
  }
  Shape extents() const {
    Shape result;
    for (Dim extent : shape)
      result.push_back(evaluate(extent, sizes));
    return result;
  }
  std::string text(Dim offset) {
    std::string result = "offset " + offset.toString() + " through";
    for (Operation &op : *module->getBody())
      result += " " + op.getName().getStringRef().str();
    return result;
  }

  Dim inputOffset(Index index, const IterationSpace &space) {
    FailureOr<InputElement> element = space.throughViews(value, std::move(index));
    EXPECT_TRUE(succeeded(element));
    return linearize(element->index, tensorType(element->input).getShape(), &context);
  }

  /// Makes `value` a view of itself; `from` is the position in the old value of a new position.
  void extend(Value view, llvm::function_ref<Shape(const Shape &)> from) {
    Shape old = extents();
    value = view;
    shape = tensorType(view).getShape();
    std::vector<int64_t> next;
    forEachPosition(extents(), [&](const Shape &position) {
      next.push_back(sources[offsetOf(from(position), old)]);
    });
    sources = std::move(next);
  }

  void step() {
    switch (pick(0, 4)) {
    case 0:
      return transpose();
    case 1:
      return slice();
    case 2:
      return expand();
    default:
      return reshape();
    }
  }

  void transpose() {
    SmallVector<int64_t> permutation(shape.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random);
    Value view = TransposeOp::create(builder, location, value, permutation);
    extend(view, [&](const Shape &position) {
      Shape result(position.size());
      for (size_t axis = 0; axis < position.size(); ++axis)
        result[permutation[axis]] = position[axis];
      return result;
    });
  }

  void slice() {
    if (shape.empty())
      return;
    size_t axis = pick(0, shape.size() - 1);
    int64_t extent = evaluate(shape[axis], sizes);
    if (!shape[axis].asConstant() || extent < 2)
      return;
    int64_t start = pick(0, extent - 1), length = pick(1, extent - start), stepSize = 1;
    if (pick(0, 2) == 0) { // backwards
      stepSize = -1;
      length = pick(1, start + 1);
    }
    SmallVector<Attribute> starts(shape.size(), dim("0").getAttribute());
    starts[axis] = Dim::constant(&context, start).getAttribute();
    SmallVector<int64_t> steps(shape.size(), 1);
    steps[axis] = stepSize;
    SmallVector<Dim> result(shape);
    result[axis] = Dim::constant(&context, length);
    Value view = SliceOp::create(builder, location, tensorType(value).withShape(result), value,
                                 builder.getArrayAttr(starts), steps);
    extend(view, [&](const Shape &position) {
      Shape from = position;
      from[axis] = start + position[axis] * stepSize;
      return from;
    });
  }

  void expand() {
    if (shape.size() > 4)
      return;
    SmallVector<Dim> result(shape);
    result.insert(result.begin(), dim("2"));
    size_t rank = shape.size();
    Value view = ExpandOp::create(builder, location, tensorType(value).withShape(result), value);
    extend(view,
           [&](const Shape &position) { return Shape(position.end() - rank, position.end()); });
  }

  /// Merges two neighbouring axes, splits a constant one, or adds a 1.
  void reshape() {
    SmallVector<Dim> result(shape);
    size_t axis = shape.empty() ? 0 : pick(0, shape.size() - 1);
    if (pick(0, 1) && axis + 1 < shape.size()) {
      result[axis] = result[axis] * result[axis + 1];
      result.erase(result.begin() + axis + 1);
    } else if (auto extent = shape.empty() ? std::nullopt : shape[axis].asConstant();
               extent && *extent % 2 == 0 && *extent > 0) {
      result[axis] = Dim::constant(&context, *extent / 2);
      result.insert(result.begin() + axis + pick(0, 1), dim("2"));
    } else {
      result.insert(result.begin() + axis, dim("1"));
    }
    Value view = ReshapeOp::create(builder, location, tensorType(value).withShape(result), value);
    Shape old = extents(), next;
    for (Dim extent : result)
      next.push_back(evaluate(extent, sizes));
    extend(view, [&](const Shape &position) {
      int64_t flat = offsetOf(position, next);
      Shape from(old.size());
      for (size_t i = old.size(); i-- > 0; flat /= old[i])
        from[i] = flat % old[i];
      return from;
    });
  }

  std::mt19937 random;
  MLIRContext context;
  Location location;
  OpBuilder builder;
  Block block; // holds the input; outlives the ops that read it
  OwningOpRef<ModuleOp> module;
  SymbolValues sizes;
  SmallVector<Dim> shape;
  Value value;
  std::vector<int64_t> sources;
};

TEST(IterationSpace, RandomViewsReachTheRightElement) {
  for (unsigned seed = 0; seed < 400 && !testing::Test::HasFatalFailure(); ++seed)
    RandomViews(seed).check();
}

TEST(IterationSpace, LaneClaimsHold) {
  for (unsigned seed = 0; seed < 400 && !testing::Test::HasFatalFailure(); ++seed) {
    RandomViews views(seed);
    for (int64_t width : {2, 4})
      views.checkLanes(width);
  }
}

struct IterationSpaceFolding : testing::Test {
  MLIRContext context;
  IterationSpace space;
  Dim size(StringRef name) { return Dim::symbol(&context, name); }
  Dim number(int64_t value) { return Dim::constant(&context, value); }
  IterationSpaceFolding() { context.loadDialect<SmeltDialect>(); }
};

TEST_F(IterationSpaceFolding, SplittingHeadsAndBackCostsNothing) {
  SmallVector<Dim> merged{size("b"), size("s"), number(768)};
  SmallVector<Dim> split{size("b"), size("s"), number(12), number(64)};
  Index index = space.addFlat(&context, "e", merged);
  Index heads = reshapeIndex(index, merged, split, space.getBounds());
  EXPECT_EQ(heads[2].toString(), "floordiv(%e2, 64)");
  EXPECT_EQ(heads[3].toString(), "mod(%e2, 64)");
  Index split4;
  IterationSpace other;
  split4 = other.addFlat(&context, "e", split);
  Index back = reshapeIndex(split4, split, merged, other.getBounds());
  EXPECT_EQ(back[2].toString(), "64*%e2 + %e3");
  EXPECT_EQ(reshapeIndex(back, merged, split, other.getBounds()), split4);
}

TEST_F(IterationSpaceFolding, RowMajorPartsBecomeTheFlatCoordinate) {
  SmallVector<Dim> shape{size("b"), size("s"), number(768)};
  Index index = space.addFlat(&context, "e", shape);
  EXPECT_EQ(space.collapse(linearize(index, shape, &context)).toString(), "%e");
  // All but the last axis: the flat coordinate's quotient.
  Dim rows = linearize(ArrayRef(index).take_front(2), ArrayRef(shape).take_front(2), &context);
  EXPECT_EQ(space.collapse(rows).toString(), "floordiv(%e, 768)");
  // Broadcast over the batch: parts stay.
  EXPECT_EQ(space.collapse(index[1] * 768 + index[2]).toString(), "768*%e1 + %e2");
}

TEST_F(IterationSpaceFolding, LanesWithinAPeriodStayTogether) {
  Index index = space.addFlat(&context, "e", {size("b"), number(768)});
  Lanes lanes = space.lanesAlong("e", 8);
  Dim column = index[1];
  EXPECT_EQ(laneStride(column.floorDiv(number(64)), lanes), 0);
  EXPECT_EQ(laneStride(column.mod(number(64)), lanes), 1);
  EXPECT_EQ(laneStride(column.mod(number(12)), lanes), std::nullopt);
  EXPECT_EQ(laneStride(column * size("s"), lanes), std::nullopt);
  EXPECT_EQ(knownDivisor(column + index[0] * 768 + 4, lanes), 4);
  EXPECT_EQ(knownDivisor(number(0), lanes), 0);
}

} // namespace
} // namespace smelt::codegen
