// narrow: float32 values become f16 or bf16 where a 16-bit export of the model would have them.
//
// Problem: nearly every file that people have is float32, and tensor cores are an order of magnitude
// faster in 16 bits. Method: it runs once norms, softmax, attention and activations are one op each,
// whose statistics are float32 inside. Products, convolutions and attention become narrow, and with
// them what only moves or mildly changes their results, down to the next op that is not. Everything
// else stays: sums, powers, exponentials, positions, what may exceed the range of 16 bits, inputs and
// outputs. Casts stand between; inside a kernel they cost nothing, and those of weights are done at
// compile time.
//
// NVIDIA's AutoCast decides by magnitude and depth alone; here the compiler may also measure
// (compiler/narrow_within.h) and mark what must stay wide.
#include "passes/narrow/narrowing.h"
#include "passes/passes.h"
#include "passes/remark.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_NARROW
#include "passes/passes.h.inc"

namespace {

struct Narrow : impl::NarrowBase<Narrow> {
  using NarrowBase::NarrowBase;
  Narrow(StringRef to, WeightStore *weights) : weights(weights) { type = to.str(); }

  void runOnOperation() override {
    if (type != "f16" && type != "bf16") {
      getOperation().emitError("narrow needs a type, f16 or bf16");
      return signalPassFailure();
    }
    Builder builder(&getContext());
    narrowType = type == "f16" ? FloatType(builder.getF16Type()) : builder.getBF16Type();
    for (auto function : getOperation().getOps<func::FuncOp>())
      rewrite(function);
  }

private:
  void rewrite(func::FuncOp function) {
    Narrowing decisions(function, narrowType, weights);
    Remarks remarks(getOperation());
    Block &block = function.getBody().front();
    SmallVector<Operation *> ops(llvm::make_pointer_range(block));
    for (Operation *op : ops) {
      if (StringRef why = decisions.whyWide(op); !why.empty())
        remarks.refused(op->getLoc(), "16 bits", "16 bits hold its operands", why);
      for (OpOperand &operand : op->getOpOperands())
        convert(operand, decisions);
      if (decisions.narrowsResults(op))
        for (Value result : op->getResults())
          if (tensorType(result).getElementType().isF32())
            setType(result);
      op->removeAttr(kKeepWide);
    }
    converted.clear();
  }

  void setType(Value result) {
    result.setType(tensorType(result).withElementType(narrowType));
    wasFloat32.insert(result);
  }

  /// Lets `operand` read its value as wide as its op wants it.
  void convert(OpOperand &operand, const Narrowing &decisions) {
    Operation *op = operand.getOwner();
    Value value = operand.get();
    auto tensor = dyn_cast<TensorType>(value.getType());
    bool isNarrowed = wasFloat32.contains(value);
    if (!tensor || (!isNarrowed && !tensor.getElementType().isF32()))
      return;
    bool wantsNarrow = decisions.narrowsOperands(op) && !decisions.keepsOperand(operand);
    if (wantsNarrow != isNarrowed)
      operand.set(cast(value, wantsNarrow));
  }

  /// `value` in the other width, once.
  Value cast(Value value, bool toNarrow) {
    Value &result = converted[value];
    if (result)
      return result;
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(value);
    Type element = toNarrow ? Type(narrowType) : builder.getF32Type();
    return result = CastOp::create(builder, value.getLoc(), value, element);
  }

  WeightStore *weights = nullptr;
  FloatType narrowType;
  DenseSet<Value> wasFloat32; // values that are narrow now
  DenseMap<Value, Value> converted;
};

} // namespace

std::unique_ptr<Pass> createNarrow(StringRef type, WeightStore *weights) {
  return std::make_unique<Narrow>(type, weights);
}

} // namespace smelt::passes
