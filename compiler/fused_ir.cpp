#include "compiler/fused_ir.h"

#include "compiler/fuse.h"
#include "compiler/model.h"
#include "ir/decisions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace smelt::compiler {

/// nameOf() a precision that narrows.
static constexpr StringLiteral kNarrowedTo = "smelt.narrowed_to";
static constexpr StringLiteral kNarrowedWithin = "smelt.narrowed_within";

/// The model's file is the place of its inputs, its outputs and the module; ONNX nodes stay.
static void forgetFile(ModuleOp module) {
  Location file = module.getLoc(), nowhere = UnknownLoc::get(module.getContext());
  auto forget = [&](auto &placed) {
    if (placed.getLoc() == file)
      placed.setLoc(nowhere);
  };
  module.walk([&](Operation *op) {
    forget(*op);
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        forget(argument);
  });
}

std::string fusedIr(ModuleOp fused) {
  OwningOpRef<ModuleOp> kept = fused.clone();
  (*kept)->removeAttr(kModelPath);
  (*kept)->removeAttr(kRemarks);
  forgetFile(*kept);
  return moduleText(*kept);
}

FusedWith fusedWith(ModuleOp fused) {
  FusedWith with;
  with.refit = fused->hasAttr(kRefit);
  if (auto to = fused->getAttrOfType<StringAttr>(kNarrowedTo))
    with.precision =
        to.getValue() == nameOf(FloatPrecision::bf16) ? FloatPrecision::bf16 : FloatPrecision::fp16;
  if (auto within = fused->getAttrOfType<FloatAttr>(kNarrowedWithin))
    with.within = within.getValueAsDouble();
  return with;
}

void markNarrowed(ModuleOp module, const NarrowingOptions &narrowing) {
  Builder builder(module.getContext());
  module->setAttr(kNarrowedTo, builder.getStringAttr(nameOf(narrowing.to)));
  if (narrowing.within)
    module->setAttr(kNarrowedWithin, builder.getF64FloatAttr(*narrowing.within));
}

} // namespace smelt::compiler
