// Lets inputs grow in place: a key-value cache that each step returns with a few rows more.
//
// Problem: a decoder takes its cache as an input and returns it with the new rows behind, so that
// each step copies everything it has seen, twice a layer. Method: the caller says which input
// becomes which output. Where that output is concat(input, rows), the input's buffer gets room
// along the axis, the rows are appended to it, and all readers read a slice of the buffer, which
// costs nothing: kernels step over the room as over any stride.
//
// Assumes: caller and plan agree that input and output share one buffer of `capacity` rows, which
// hold the result (ir/alias.h). Gain: of 2 * past * width bytes a cache and step, none are left.
#include "ir/alias.h"
#include "passes/passes.h"
#include "passes/state/name_pattern.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_INPLACE
#include "passes/passes.h.inc"

namespace {

struct InPlace : impl::InPlaceBase<InPlace> {
  using InPlaceBase::InPlaceBase;
  InPlace(const std::vector<std::string> &wanted, std::function<void()> onRefusal)
      : onRefusal(std::move(onRefusal)) {
    pairs = wanted;
  }

  void runOnOperation() override {
    auto functions = getOperation().getOps<func::FuncOp>();
    if (pairs.empty() || functions.empty())
      return;
    function = *functions.begin();
    for (const std::string &pair : pairs)
      if (failed(applyPair(pair))) {
        if (onRefusal)
          onRefusal();
        return signalPassFailure();
      }
  }

private:
  /// `pair` is "input=output"; a * in both stands for the same text.
  LogicalResult applyPair(StringRef pair) {
    auto [from, to] = pair.split('=');
    bool found = false;
    for (unsigned input = 0; input < function.getNumArguments(); ++input) {
      std::optional<StringRef> part = matchPattern(from, nameOf(input));
      if (!part)
        continue;
      found = true;
      std::string wanted = fillPattern(to, *part);
      std::optional<unsigned> output = findOutput(wanted);
      if (!output)
        return function.emitError("has no output '")
               << wanted << "' for input '" << nameOf(input) << "' to become in place";
      if (failed(growInPlace(input, *output)))
        return failure();
    }
    return found ? success()
                 : function.emitError("has no input '") << from << "' that could grow in place";
  }

  StringRef nameOf(unsigned input) {
    auto name = function.getArgAttrOfType<StringAttr>(input, "smelt.name");
    return name ? name.getValue() : "";
  }

  std::optional<unsigned> findOutput(StringRef wanted) {
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (auto name = function.getResultAttrOfType<StringAttr>(index, "smelt.name");
          name && name.getValue() == wanted)
        return index;
    return std::nullopt;
  }

  LogicalResult growInPlace(unsigned input, unsigned output) {
    BlockArgument argument = function.getArgument(input);
    OpOperand &returned = function.front().getTerminator()->getOpOperand(output);
    auto concat = returned.get().getDefiningOp<ConcatOp>();
    bool hasBuffer =
        llvm::any_of(argument.getUsers(), [](Operation *user) { return isa<BufferOp>(user); });
    if (!concat || concat.getInputs().front() != argument || concat.getInputs().size() < 2 ||
        hasBuffer)
      return function.emitError("output '")
             << function.getResultAttrOfType<StringAttr>(output, "smelt.name").getValue()
             << "' cannot take the place of input '" << nameOf(input)
             << (hasBuffer ? "': another output does"
                           : "': it is not that input with rows concatenated behind it");
    declare(input, output, concat.getAxis());
    OpBuilder builder(concat);
    Value rows = rowsBehind(builder, concat), buffer = giveRoom(argument, concat.getAxis());
    Dim past = tensorType(argument).getDim(concat.getAxis());
    auto append = AppendOp::create(builder, concat.getLoc(), buffer, rows, past.getAttribute(),
                                   concat.getAxis());
    returned.set(
        ContentsOp::create(builder, concat.getLoc(), concat.getOutput().getType(), append));
    concat.replaceAllUsesWith(contentsView(builder, tensorType(concat.getOutput()), append));
    concat.erase();
    return success();
  }

  void declare(unsigned input, unsigned output, unsigned axis) {
    Dim room = capacityFor(tensorType(function.getArgument(input)).getDim(axis));
    Builder builder(&getContext());
    function.setResultAttr(output, kAliasName, builder.getI64IntegerAttr(input));
    function.setResultAttr(output, kCapacityName, builder.getStringAttr(*room.asSymbol()));
    function.setResultAttr(output, kCapacityAxisName, builder.getI64IntegerAttr(axis));
  }

  /// The buffer that holds the argument, which is read there from now on.
  Value giveRoom(BlockArgument argument, unsigned axis) {
    OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
    TensorType type = tensorType(argument);
    SmallVector<Dim> shape = type.getShape();
    shape[axis] = capacityFor(shape[axis]);
    auto buffer = BufferOp::create(builder, argument.getLoc(), type.withShape(shape), argument);
    argument.replaceAllUsesExcept(contentsView(builder, type, buffer), buffer);
    return buffer;
  }

  static Value rowsBehind(OpBuilder &builder, ConcatOp concat) {
    ValueRange rows = concat.getInputs().drop_front();
    return rows.size() == 1
               ? rows.front()
               : ConcatOp::create(builder, concat.getLoc(), rows, concat.getAxis()).getOutput();
  }

  /// The start of `buffer`, of the size of `type`.
  static Value contentsView(OpBuilder &builder, TensorType type, Value buffer) {
    SmallVector<Attribute> starts(type.getRank(),
                                  Dim::constant(buffer.getContext(), 0).getAttribute());
    return SliceOp::create(builder, buffer.getLoc(), type, buffer, builder.getArrayAttr(starts),
                           builder.getDenseI64ArrayAttr(SmallVector<int64_t>(type.getRank(), 1)));
  }

  /// One symbol for all inputs of one length, so that equal layers share their kernels.
  Dim capacityFor(Dim past) {
    auto [entry, isNew] = capacities.try_emplace(past.getAttribute());
    if (isNew) {
      std::string name = "capacity";
      for (unsigned number = 2; isTaken(name); ++number)
        name = "capacity" + std::to_string(number);
      entry->second = Dim::symbol(&getContext(), name);
    }
    return entry->second;
  }

  bool isTaken(StringRef name) {
    bool taken = llvm::any_of(capacities, [&](const auto &entry) {
      return entry.second && entry.second.asSymbol() == name;
    });
    for (Type type : function.getArgumentTypes())
      for (Dim dim : cast<TensorType>(type).getShape())
        dim.forEachSymbol([&](StringRef other) { taken |= other == name; });
    return taken;
  }

  std::function<void()> onRefusal;
  func::FuncOp function;
  llvm::DenseMap<Attribute, Dim> capacities; // by the length of the input
};

} // namespace

std::unique_ptr<Pass> createInPlace(const std::vector<std::string> &pairs,
                                    std::function<void()> onRefusal) {
  return std::make_unique<InPlace>(pairs, std::move(onRefusal));
}

} // namespace smelt::passes
