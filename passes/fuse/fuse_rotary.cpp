// Has a projection's kernel turn the heads that it computes: rotary embeddings become a part of its epilogue.
//
//   y = x W                                         l = x Wl   u = x Wu
//   q = y[:n] cos + rotate_half(y[:n]) sin    =>    y' = l cos - u sin | u cos + l sin   in the columns of q
//   v = y[n:]                                       y' = l | u                           in the others
//                                                   q = y'[:n]   v = y'[n:]
//
// Problem: an element of a turned head is computed of two columns, half a head apart, and no thread
// of a product's epilogue has both: between projection and attention a kernel of its own reads and
// writes queries and keys once more. Method: the columns of the heads' lower halves and those of
// their upper halves are two products of one left operand. The GEMM templates bring both sums of such a
// pair to one thread (gemm_group.h), whose epilogue computes both halves of a turned head and stores
// them where the head has them. Columns that are not turned, the values', pass by a selection. What
// turns, elementwise ops over whole heads whose halves change places, is read as one tree for each
// half (halved_tree.h): every spelling of the formula is found, and tables of any broadcast shape. Where sizes are 1 the columns are
// read as heads in several ways, with axes of size 1 here and there: all of them read one form first.
//
// Assumes: heads of multiples of 16 elements, as the columns of two products take turns by eights;
// weights that are known when compiling; heads that are turned whole, each element with the one half a
// head away; an axis of heads (a single head of keys may have lost its own, and keeps its kernel). Heads
// stay where they were in memory: caches of keys are none the wiser. Gain, on one H200, by turns: Qwen2 at 4x512 1.5 %, Llama at
// 1x512 and at 1x4096 0.7; a kernel of 4.4 to 15 us less a layer, of which projections take half again (gemm_fragment_epilogue.cuh).
#include "passes/constants.h"
#include "passes/fuse/fusion_group.h"
#include "passes/fuse/halved_tree.h"
#include "passes/fuse/merge_cost.h"
#include "passes/fuse/projection.h"
#include "passes/passes.h"
#include "passes/remark.h"
#include "passes/view_shape.h"

#include "ir/capabilities.h"
#include "ir/element_bytes.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEROTARY
#include "passes/passes.h.inc"

namespace {

/// Some heads of a projection, and the tree that turns them.
struct TurnedHeads {
  int64_t first, count;
  Value heads;                    ///< [..., count, size]
  SmallVector<ReshapeOp> readers; ///< who gave the columns other axes, where `heads` is new
  HalvedTree tree;
};

/// How `reshape` splits the last axis of what it reads: into `count` heads of `size` elements, between any axes of size 1.
struct HeadSplit {
  int64_t count, size;
  bool operator==(const HeadSplit &) const = default;

  static std::optional<HeadSplit> of(ReshapeOp reshape);
};

std::optional<HeadSplit> HeadSplit::of(ReshapeOp reshape) {
  SmallVector<Dim> shape = tensorType(reshape.getInput()).getShape(),
                   ofHeads = tensorType(reshape.getOutput()).getShape();
  if (shape.empty() || ofHeads.size() < 2)
    return std::nullopt;
  int64_t columns = shape.back().asConstant().value_or(0),
          size = ofHeads.back().asConstant().value_or(0);
  if (size == 0 || columns % size != 0)
    return std::nullopt;
  shape.back() = Dim::constant(reshape.getContext(), columns / size);
  if (withoutUnitAxes(ArrayRef(ofHeads).drop_back()) != withoutUnitAxes(shape))
    return std::nullopt;
  return HeadSplit{columns / size, size};
}

/// The readers of some of the heads' columns `value` as heads. Where sizes are 1 they give them axes in several ways, and none
/// may be [..., heads, element]: of one token, a transposition has become a reshape of the columns.
SmallVector<ReshapeOp> readersAsHeads(Value value) {
  SmallVector<ReshapeOp> readers;
  std::optional<HeadSplit> split;
  for (Operation *user : value.getUsers())
    if (auto reshape = dyn_cast<ReshapeOp>(user))
      if (std::optional<HeadSplit> own = HeadSplit::of(reshape); own && (!split || own == split)) {
        split = own;
        readers.push_back(reshape);
      }
  return readers;
}

/// `value` as [..., heads, element], which `readers` read from now on.
Value joinReaders(Value value, ArrayRef<ReshapeOp> readers, HeadSplit split) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  SmallVector<Dim> shape = tensorType(value).getShape();
  shape.back() = Dim::constant(value.getContext(), split.count);
  shape.push_back(Dim::constant(value.getContext(), split.size));
  Value heads = reshapeTo(builder, value.getLoc(), value, shape);
  for (ReshapeOp reader : readers)
    reader->setOperand(0, heads);
  return heads;
}

/// Takes joinReaders back.
void separateReaders(Value heads, ArrayRef<ReshapeOp> readers) {
  Operation *reshape = heads.getDefiningOp();
  for (ReshapeOp reader : readers)
    reader->setOperand(0, reshape->getOperand(0));
  reshape->erase();
}

/// Takes back what was built in vain.
struct BuiltOps : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    ops.push_back(op);
  }
  void erase() {
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }
  SmallVector<Operation *> ops;
};

/// A projection, and those of its heads that are turned.
class RotaryProjection {
public:
  explicit RotaryProjection(Projection projection);

  /// In the order of the heads.
  ArrayRef<TurnedHeads> turnedHeads() const { return turned; }
  /// The predicate that keeps the trees apart from the product; empty where nothing does.
  StringRef findObstacle();
  /// False where what turns is no tree of halves; then nothing has changed, but for what restore() takes back.
  bool rewrite();
  /// Gives the heads' readers back what they read, where they stay as they are.
  void restore();
  KernelCost saving() const;

private:
  void consider(Value value, int64_t firstColumn);
  bool precedes(Value value);
  bool readsTurned(Operation *reader);
  Value halfOfColumns(OpBuilder &builder, Value value, unsigned axis, int64_t half);
  Value buildHalf(OpBuilder &builder, int64_t half);
  std::optional<Halves> buildTurned(OpBuilder &builder, Halves plain);
  Value selectBelow(OpBuilder &builder, int64_t end, Value below, Value above);
  void replace(OpBuilder &builder, Halves halves);

  Dim size(int64_t value) { return Dim::constant(output.getContext(), value); }
  /// The last axis of `output` is that of its columns.
  unsigned lastAxis() { return tensorType(output).getRank() - 1; }

  Projection projection;
  Value output;
  Location location;
  int64_t columns = 0, headSize = 0; ///< of all heads; of one
  SmallVector<TurnedHeads> turned;
};

RotaryProjection::RotaryProjection(Projection projection)
    : projection(projection), output(projection.end()->getResult(0)),
      location(projection.end()->getLoc()) {
  if (projection.add)
    location = FusedLoc::get(output.getContext(), {projection.matmul.getLoc(), location});
  columns = tensorType(output).getDim(lastAxis()).asConstant().value_or(0);
  consider(output, 0);
  for (Operation *user : output.getUsers())
    if (auto slice = dyn_cast<SliceOp>(user)) {
      auto first = Dim(cast<DimAttr>(slice.getStarts().getValue().back())).asConstant();
      if (first && slice.getSteps().back() == 1)
        consider(slice.getOutput(), *first);
    }
  llvm::sort(turned, [](auto &a, auto &b) { return a.first < b.first; });
}

/// `value`, the columns from `firstColumn` on, may be read as heads that are turned.
void RotaryProjection::consider(Value value, int64_t firstColumn) {
  SmallVector<ReshapeOp> readers = readersAsHeads(value);
  // Who else reads all columns is found by readsTurned().
  bool hasOthers = value != output && readers.size() != llvm::range_size(value.getUses());
  if (readers.empty() || hasOthers)
    return;
  HeadSplit split = *HeadSplit::of(readers.front());
  if (firstColumn % split.size != 0 || firstColumn + split.count * split.size > columns)
    return;
  Value heads = readers.front().getOutput();
  bool isNew = readers.size() > 1 || tensorType(heads).getShape().end()[-2] != size(split.count);
  if (isNew)
    heads = joinReaders(value, readers, split);
  else
    readers.clear();
  std::optional<HalvedTree> tree = HalvedTree::grow(heads);
  if (tree && elementType(tree->result()) == elementType(output)) {
    headSize = split.size;
    turned.push_back(
        {firstColumn / headSize, split.count, heads, std::move(readers), std::move(*tree)});
  } else if (isNew) {
    separateReaders(heads, readers);
  }
}

void RotaryProjection::restore() {
  for (TurnedHeads &part : turned)
    if (!part.readers.empty())
      separateReaders(part.heads, part.readers);
}

/// `value` can be computed before the product.
bool RotaryProjection::precedes(Value value) {
  Operation *product = projection.matmul;
  SmallVector<Value> pending{value};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (op == product)
      return false;
    if (op && product->isBeforeInBlock(op) && seen.insert(op).second)
      pending.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

/// `reader` reads the product's columns of turned heads, beside the trees that turn them.
bool RotaryProjection::readsTurned(Operation *reader) {
  auto slice = dyn_cast<SliceOp>(reader);
  int64_t begin = 0, end = columns;
  if (slice) {
    Dim size = tensorType(slice.getOutput()).getDim(lastAxis());
    std::optional<int64_t> first =
                               Dim(cast<DimAttr>(slice.getStarts().getValue().back())).asConstant(),
                           count = size.asConstant();
    if (!first || !count || slice.getSteps().back() != 1)
      return true;
    begin = *first, end = *first + *count;
  }
  return llvm::any_of(turned, [&](const TurnedHeads &part) {
    Operation *heads = part.heads.getDefiningOp();
    bool isOwn = reader == heads || (slice && heads->getOperand(0) == slice.getOutput());
    return !isOwn && begin < (part.first + part.count) * headSize && part.first * headSize < end;
  });
}

StringRef RotaryProjection::findObstacle() {
  if (headSize % (2 * kInterleavedColumns) != 0 || columns % headSize != 0)
    return "heads are of multiples of 16 elements";
  if (!isa<FloatType>(elementType(projection.matmul.getRhs())))
    return "the product is one of floats";
  int64_t end = 0;
  for (TurnedHeads &part : turned) {
    if (tensorType(part.heads).getShape().back() != size(headSize) || part.first < end)
      return "all heads have one size, and each is turned once";
    end = part.first + part.count;
    if (!llvm::all_of(part.tree.tables(), [&](Value table) { return precedes(table); }))
      return "angles do not depend on the product";
  }
  if (llvm::any_of(output.getUsers(), [&](Operation *reader) { return readsTurned(reader); }))
    return "nothing else reads the heads that are turned";
  return {};
}

/// The columns of all heads' lower or upper halves, side by side.
Value RotaryProjection::halfOfColumns(OpBuilder &builder, Value value, unsigned axis,
                                      int64_t half) {
  SmallVector<Dim> shape = tensorType(value).getShape(), parts(shape);
  Dim heads = size(columns / headSize);
  parts.back() = heads;
  parts.append({size(2), size(headSize / 2)});
  Value whole = reshapeTo(builder, location, value, parts);
  shape.back() = size(columns / 2);
  return reshapeTo(builder, location,
                   partOf(builder, location, whole, axis + 1, size(half), size(1)), shape);
}

/// One of the two products, with its bias, as [..., heads, element].
Value RotaryProjection::buildHalf(OpBuilder &builder, int64_t half) {
  MatmulOp matmul = projection.matmul;
  Value result = MatmulOp::create(builder, location, matmul.getLhs(),
                                  halfOfColumns(builder, matmul.getRhs(), 1, half));
  TensorType type = tensorType(result);
  result.setType(type.withElementType(elementType(matmul.getOutput())));
  if (projection.bias)
    result =
        AddOp::create(builder, location, result, halfOfColumns(builder, projection.bias, 0, half));
  SmallVector<Dim> shape = type.getShape();
  shape.back() = size(columns / headSize);
  shape.push_back(size(headSize / 2));
  return reshapeTo(builder, location, result, shape);
}

/// `below` in heads before `end`, `above` in the others.
Value RotaryProjection::selectBelow(OpBuilder &builder, int64_t end, Value below, Value above) {
  Type index = builder.getI32Type();
  Dim heads = size(columns / headSize);
  Value head = IotaOp::create(builder, location, TensorType::get({heads}, index));
  Value isBelow =
      LessOp::create(builder, location, reshapeTo(builder, location, head, {heads, size(1)}),
                     makeScalarInteger(builder, location, end, index));
  return SelectOp::create(builder, location, isBelow, below, above);
}

/// All heads, from the last ones on: turned where a tree turns them, else as they are in `plain`.
std::optional<Halves> RotaryProjection::buildTurned(OpBuilder &builder, Halves plain) {
  int64_t begun = columns / headSize; // heads from this one on are built
  Halves result;
  auto prepend = [&](int64_t first, Halves part) {
    if (first == begun)
      return;
    result = !result.lower ? part
                           : Halves{selectBelow(builder, begun, part.lower, result.lower),
                                    selectBelow(builder, begun, part.upper, result.upper)};
    begun = first;
  };
  SmallVector<Dim> shape = tensorType(plain.lower).getShape();
  for (TurnedHeads &part : llvm::reverse(turned)) {
    SmallVector<Dim> own = tensorType(part.heads).getShape();
    own.pop_back_n(2);
    own.append(shape.end() - 2, shape.end());
    std::optional<Halves> halves =
        part.tree.build(builder, {reshapeTo(builder, location, plain.lower, own),
                                  reshapeTo(builder, location, plain.upper, own)});
    if (!halves)
      return std::nullopt;
    prepend(part.first + part.count, plain);
    prepend(part.first, {reshapeTo(builder, location, halves->lower, shape),
                         reshapeTo(builder, location, halves->upper, shape)});
  }
  prepend(0, plain);
  return result;
}

/// The halves become heads again, which all readers of the product and of the trees read.
void RotaryProjection::replace(OpBuilder &builder, Halves halves) {
  SmallVector<Dim> shape = tensorType(halves.lower).getShape();
  shape.insert(shape.end() - 1, size(1));
  Value parts[] = {reshapeTo(builder, location, halves.lower, shape),
                   reshapeTo(builder, location, halves.upper, shape)};
  Value heads = ConcatOp::create(builder, location, parts, lastAxis() + 1);
  Value all = reshapeTo(builder, location, heads, tensorType(output).getShape());
  for (TurnedHeads &part : turned) {
    Value own = part.count * headSize == columns
                    ? all
                    : partOf(builder, location, all, lastAxis(), size(part.first * headSize),
                             size(part.count * headSize));
    own = reshapeTo(builder, location, own, tensorType(part.heads).getShape());
    part.tree.result().replaceAllUsesWith(part.tree.asResult(builder, own));
    for (Operation *op : llvm::reverse(part.tree.ops()))
      op->erase();
  }
  output.replaceAllUsesWith(all);
  for (TurnedHeads &part : turned)
    for (Operation *op = part.heads.getDefiningOp();
         op && op->use_empty() && op->hasTrait<View>();) {
      Operation *input = op->getOperand(0).getDefiningOp();
      op->erase();
      op = input;
    }
  if (projection.add)
    projection.add.erase();
  projection.matmul.erase();
}

bool RotaryProjection::rewrite() {
  Operation *product = projection.matmul;
  for (TurnedHeads &part : turned)
    for (Value table : part.tree.tables())
      moveBefore(table, product);
  if (projection.bias)
    moveBefore(projection.bias, product);
  BuiltOps built;
  OpBuilder builder(output.getContext(), &built);
  builder.setInsertionPoint(product);
  Halves plain{buildHalf(builder, 0), buildHalf(builder, 1)};
  std::optional<Halves> halves = buildTurned(builder, plain);
  if (!halves) {
    built.erase();
    return false;
  }
  replace(builder, *halves);
  return true;
}

/// Somebody joins `value`, or a view of it, with other tensors: it is copied.
bool isJoined(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<ConcatOp, AppendOp>(user) ||
           (user->hasTrait<View>() && isJoined(user->getResult(0)));
  });
}

/// Against a kernel that reads what is turned, and writes it where nobody else does.
KernelCost RotaryProjection::saving() const {
  KernelCost saved;
  for (const TurnedHeads &part : turned)
    if (!isJoined(part.tree.result())) {
      TensorType type = tensorType(part.heads);
      saved = saved + KernelCost{1, 2 * typicalSize(type.getNumElements()) *
                                        elementBytes(type.getElementType())};
    }
  return saved;
}

struct FuseRotary : impl::FuseRotaryBase<FuseRotary> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<Projection> projections;
    getOperation().walk([&](MatmulOp matmul) {
      if (std::optional<Projection> projection = Projection::match(matmul))
        projections.push_back(*projection);
    });
    for (const Projection &projection : projections)
      turn(projection, remarks);
  }

private:
  static void turn(const Projection &projection, Remarks &remarks) {
    RotaryProjection rotary(projection);
    if (rotary.turnedHeads().empty())
      return;
    SmallVector<Location> locations = llvm::map_to_vector(
        rotary.turnedHeads(), [](const TurnedHeads &part) { return part.tree.result().getLoc(); });
    std::string product = nodeName(projection.end()->getLoc()),
                saving = describeSaving(rotary.saving());
    StringRef obstacle = rotary.findObstacle();
    if (obstacle.empty() && !rotary.rewrite())
      obstacle = "halves of heads change places, and tables are repeated along the heads";
    if (!obstacle.empty())
      rotary.restore();
    for (Location location : locations)
      if (obstacle.empty())
        remarks.taken(location, "rotary",
                      "turned by the kernel of " + Twine(product) + ": " + saving);
      else
        remarks.refused(location, "rotary", obstacle, "it is computed of heads of " + product);
  }
};

} // namespace
} // namespace smelt::passes
