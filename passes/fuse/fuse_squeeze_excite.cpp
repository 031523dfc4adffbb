// Makes squeeze and excitation one kernel: the mean of an image's pixels, the two products behind it, and
// what scales the image's channels by their result.
//
//   image * sigmoid(relu(mean(image) S) E)   =>   one kernel
//
// Problem: the mean needs the whole image and the scaling the whole mean, so that no epilogue holds them; as
// kernels of their own they are four with little work each, and read the image twice (ir/squeeze_excite.h,
// codegen/kernels/squeeze_excite/squeeze_excite.cuh). The scaling of one image gets back the axis that it lost.
// Assumes: no other reader on the way. Each image reads both weights: taken where that costs less than what it saves.
#include "ir/capabilities.h"
#include "ir/squeeze_excite.h"
#include "passes/fuse/fusion_group.h"
#include "passes/fuse/merge_cost.h"
#include "passes/passes.h"
#include "passes/remark.h"
#include "passes/view_shape.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSESQUEEZEEXCITE
#include "passes/passes.h.inc"

namespace {

/// Against a kernel each for the mean, the products and the scaling.
KernelCost savingOf(const SqueezeExcite &parts) {
  ReduceOp reduction = parts.reduction;
  TensorType image = tensorType(reduction.getInput()),
             weight = tensorType(parts.excite->getOperand(1));
  auto bytesOf = [](TensorType type) {
    return typicalSize(type.getNumElements()) * (type.getElementType().getIntOrFloatBitWidth() / 8);
  };
  int64_t pixels = bytesOf(image), weights = 2 * bytesOf(weight);
  int scalings = parts.scalesImage() ? 1 : 0;
  KernelCost apart{3 + scalings, pixels * (1 + 2 * scalings) + weights},
      together{1, pixels * (1 + scalings) + typicalSize(image.getDim(0)) * weights};
  return apart - together;
}

/// What scales the image by `gate` without the axis of images; null where nothing does, or with it.
MulOp scalingWithoutImages(Value gate, Value image) {
  if (!gate.hasOneUse())
    return nullptr;
  Operation *reader = *gate.user_begin();
  if (isa<ReshapeOp>(reader) && reader->hasOneUse())
    reader = *reader->user_begin();
  auto mul = dyn_cast<MulOp>(reader);
  auto isImage = [&](Value operand) {
    auto reshape = operand.getDefiningOp<ReshapeOp>();
    return reshape && reshape.getInput() == image &&
           differInUnitAxes(tensorType(image).getShape(), tensorType(operand).getShape());
  };
  return mul && llvm::any_of(mul->getOperands(), isImage) &&
                 differInUnitAxes(tensorType(image).getShape(),
                                  tensorType(mul.getOutput()).getShape())
             ? mul
             : nullptr;
}

/// Of one image, elementwise ops have lost the axis of images: the scaling gets it back, as that of several images has it.
void giveImagesBack(SqueezeExcite &parts) {
  Value image = parts.reduction.getInput();
  MulOp mul = parts.scalesImage() ? MulOp() : scalingWithoutImages(parts.gate, image);
  if (!mul)
    return;
  OpBuilder builder(mul);
  SmallVector<Dim> shape = tensorType(image).getShape();
  std::fill(shape.begin() + 1, shape.end() - 1, Dim::constant(mul.getContext(), 1));
  Value gate = reshapeTo(builder, mul.getLoc(), parts.gate, shape);
  Value scaled = MulOp::create(builder, mul.getLoc(), gate, image);
  SmallVector<Value> operands(mul->getOperands());
  mul.replaceAllUsesWith(
      reshapeTo(builder, mul.getLoc(), scaled, tensorType(mul.getOutput()).getShape()));
  mul.erase();
  for (Value operand : operands)
    if (operand.use_empty() && operand.getDefiningOp<ReshapeOp>())
      operand.getDefiningOp()->erase();
}

void fuse(const SqueezeExcite &parts) {
  FusionGroup group;
  for (Operation *op : parts.ops())
    group.add(op);
  SmallVector<Operation *> members(group.ops());
  for (Operation *op : members)
    for (OpOperand &operand : op->getOpOperands())
      if (!isWeightExpression(operand.get()) || isLiteral(operand.get()))
        group.absorbViews(operand);
  group.outline(FusionKind::squeeze_excite);
}

struct FuseSqueezeExcite : impl::FuseSqueezeExciteBase<FuseSqueezeExcite> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<SqueezeExcite> found;
    SmallVector<ReduceOp> reductions;
    getOperation().walk([&](ReduceOp op) { reductions.push_back(op); });
    for (ReduceOp reduction : reductions) {
      if (std::optional<SqueezeExcite> parts = SqueezeExcite::match(reduction))
        giveImagesBack(*parts);
      std::optional<SqueezeExcite> parts = SqueezeExcite::match(reduction);
      if (parts && llvm::all_of(parts->ops(), isFree))
        found.push_back(*parts);
    }
    for (SqueezeExcite &parts : found) {
      KernelCost saving = savingOf(parts);
      if (saving.microseconds() <= 0) {
        remarks.refused(parts.reduction.getLoc(), "squeeze_excite",
                        "reading the weights for each image costs less than its kernels",
                        describeSaving(saving));
        continue;
      }
      remarks.taken(parts.reduction.getLoc(), "squeeze_excite",
                    "the mean, two products" +
                        std::string(parts.scalesImage() ? " and the scaling" : "") + ": " +
                        describeSaving(saving));
      fuse(parts);
    }
  }
};

} // namespace
} // namespace smelt::passes
