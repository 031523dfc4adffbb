// Random projections of which some heads are turned, each by one of several spellings, and others are read as they are: what
// fuse-rotary rewrites, and what it leaves, computes what it computed. Each seed is one program; a failure names the seed and
// prints the program.
#include "tests/passes/equivalence.h"

#include "ir/interpret/random.h"
#include "passes/passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

using namespace mlir;

class RotaryGenerator {
public:
  RotaryGenerator(MLIRContext &context, uint64_t seed)
      : random(seed), context(context), builder(&context), element(builder.getF32Type()) {}

  OwningOpRef<ModuleOp> generate() {
    auto module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module.getBody());
    constexpr int64_t kSizes[] = {6, 8, 16, 32, 48};
    size = kSizes[below(5)];
    Dim s = Dim::symbol(&context, "s");
    lead = below(3) == 0   ? SmallVector<Dim>{s}
           : below(3) == 0 ? SmallVector<Dim>{number(1), s}
                           : SmallVector<Dim>{Dim::symbol(&context, "b"), s};
    SmallVector<Type> arguments{type(append(lead, {number(kDepth)})), type({s, number(size / 2)}),
                                type({s, number(size)})};
    auto function =
        func::FuncOp::create(builder, location(), "main", builder.getFunctionType(arguments, {}));
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    angles = block->getArgument(1);
    table = block->getArgument(2);
    project(block->getArgument(0));
    func::ReturnOp::create(builder, location(), results);
    function.setType(builder.getFunctionType(arguments, TypeRange(ValueRange(results))));
    return module;
  }

private:
  static constexpr int64_t kDepth = 12;

  int64_t below(int64_t bound) { return random.integer(0, bound); }
  Dim number(int64_t value) { return Dim::constant(&context, value); }
  Location location() { return builder.getUnknownLoc(); }
  smelt::TensorType type(ArrayRef<Dim> shape) { return smelt::TensorType::get(shape, element); }
  static SmallVector<Dim> append(ArrayRef<Dim> front, ArrayRef<Dim> back) {
    SmallVector<Dim> all(front);
    all.append(back.begin(), back.end());
    return all;
  }

  Value weight(StringRef name, ArrayRef<int64_t> shape) {
    SmallVector<Dim> dims = llvm::map_to_vector(shape, [&](int64_t each) { return number(each); });
    int64_t bytes = sizeof(float);
    for (int64_t each : shape)
      bytes *= each;
    return WeightOp::create(builder, location(), type(dims), name,
                            SourceAttr::get(&context, "missing.bin", 0, bytes, ""));
  }

  Value slice(Value value, int64_t start, int64_t count) {
    smelt::TensorType of = tensorType(value);
    SmallVector<Attribute> starts(of.getRank(), number(0).getAttribute());
    starts.back() = number(start).getAttribute();
    SmallVector<Dim> shape = of.getShape();
    shape.back() = number(count);
    return SliceOp::create(builder, location(), of.withShape(shape), value,
                           builder.getArrayAttr(starts), SmallVector<int64_t>(of.getRank(), 1));
  }

  Value reshape(Value value, ArrayRef<Dim> shape) {
    return ReshapeOp::create(builder, location(), type(shape), value);
  }

  /// [.., s, heads, x] as [.., heads, s, x].
  Value swap(Value value) {
    SmallVector<int64_t> order(tensorType(value).getRank());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 2], order[order.size() - 3]);
    return TransposeOp::create(builder, location(), value, order);
  }

  /// One to three parts of the heads in some order, and perhaps somebody who reads what he likes.
  void project(Value input) {
    SmallVector<int64_t> counts;
    for (int64_t part = 0, parts = 1 + below(3); part < parts; ++part)
      counts.push_back(1 + below(3));
    int64_t heads = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    Value y = MatmulOp::create(builder, location(), input, weight("w", {kDepth, heads * size}));
    if (below(2))
      y = AddOp::create(builder, location(), y, weight("bias", {heads * size}));
    int64_t first = 0;
    for (int64_t count : counts) {
      Value columns = counts.size() == 1 ? y : slice(y, first * size, count * size);
      if (below(4))
        results.push_back(turn(reshape(columns, append(lead, {number(count), number(size)}))));
      else
        results.push_back(columns);
      first += count;
    }
    if (below(6) == 0)
      results.push_back(below(3) ? slice(y, below(heads * size - 2), 2) : y);
    if (results.empty())
      results.push_back(y);
  }

  Value times(Value a, Value b) { return MulOp::create(builder, location(), a, b); }

  /// A table [s, size] for what has its heads in front of the last axis, or in front of s.
  Value angle(bool isSwapped) {
    Value rows =
        below(2) ? table
                 : ConcatOp::create(builder, location(), ValueRange{angles, angles}, 1).getOutput();
    if (below(2))
      rows = CosOp::create(builder, location(), rows);
    Dim s = lead.back();
    return isSwapped ? rows : reshape(rows, {s, number(1), number(size)});
  }

  Value turn(Value heads) {
    if (below(8) == 0)
      results.push_back(heads);
    Value lower = slice(heads, 0, size / 2), upper = slice(heads, size / 2, size / 2);
    auto last = [](Value value) { return static_cast<int64_t>(tensorType(value).getRank()) - 1; };
    auto join = [&](Value a, Value b) -> Value {
      return ConcatOp::create(builder, location(), ValueRange{a, b}, last(a));
    };
    Value negative = NegOp::create(builder, location(), upper);
    switch (below(4)) {
    case 0: { // halves by themselves
      Value c = slice(angle(false), 0, size / 2), n = slice(angle(false), size / 2, size / 2);
      Value low = SubOp::create(builder, location(), times(c, lower), times(n, upper));
      return join(low, AddOp::create(builder, location(), times(n, lower), times(c, upper)));
    }
    case 1: { // whole heads, the rows of heads swapped on the way
      Value whole = swap(times(heads, angle(false)));
      Value turned = times(join(swap(negative), swap(lower)), angle(true));
      return AddOp::create(builder, location(), whole, turned);
    }
    case 2: { // swapped at the end, through another shape
      Value sum = AddOp::create(builder, location(), times(heads, angle(false)),
                                times(join(negative, lower), angle(false)));
      SmallVector<Dim> shape = tensorType(sum).getShape();
      return swap(reshape(sum, append({number(1)}, shape)));
    }
    default: // halves that stay: no rotation, but a tree of halves all the same
      return SubOp::create(builder, location(), times(heads, angle(false)),
                           times(join(lower, negative), angle(false)));
    }
  }

  Random random;
  MLIRContext &context;
  OpBuilder builder;
  Type element;
  int64_t size = 0; ///< of a head
  SmallVector<Dim> lead;
  Value angles, table;
  SmallVector<Value> results;
};

TEST(FuseRotaryFuzz, KeepsValues) {
  constexpr uint64_t kPrograms = 3000;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<SmeltDialect, func::FuncDialect>();
  int pairs = 0, joined = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    OwningOpRef<ModuleOp> before = RotaryGenerator(context, seed).generate();
    ASSERT_TRUE(succeeded(verify(*before))) << "seed " << seed;
    OwningOpRef<ModuleOp> after = before->clone();
    PassManager manager(&context);
    manager.addPass(passes::createFuseRotary());
    manager.addPass(passes::createFuseGemm());
    manager.addPass(passes::createFusePointwise());
    manager.nest<func::FuncOp>().addPass(passes::createLower());
    ASSERT_TRUE(succeeded(manager.run(*after))) << "seed " << seed << '\n' << textOf(*before);
    after->walk([&](FusionOp fusion) {
      auto products = llvm::to_vector(fusion.getBlock().getOps<MatmulOp>());
      pairs += products.size() == 2;
      joined +=
          products.size() == 2 && isa<ConcatOp>(fusion.getYield()->getOperand(0).getDefiningOp());
    });
    ASSERT_TRUE(keepsValues(*before, *after, SizeChoice{3, 2}, seed));
  }
  EXPECT_GT(pairs, 800);
  EXPECT_EQ(joined, pairs);
}

} // namespace
} // namespace smelt
