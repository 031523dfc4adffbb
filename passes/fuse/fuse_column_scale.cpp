// Moves what scales the channels of a large image from the image to the weights behind it.
//
//   (x s) W   =>   x (s' W)      x [b, h, w, k], s [b, 1, 1, k], W [k, n]
//
// Channel attention (squeeze and excitation: EfficientNet, MobileNet, RegNet) scales each channel of an
// image by a number that only the whole image tells, so that no epilogue computes it, and multiplies by
// weights. Scaling is a kernel that reads and writes the image; the weights of each image are far fewer
// where it has many pixels and the product few columns, as first layers have. The product then is one of
// batches, an image each, that have weights of their own.
//
// EfficientNet-B0's first three, of 16 images: kernels of 10, 8 and 11 us became of 2.5 on an H200.
//
// (By fuse_squeeze_excite.cpp scaling is no kernel of its own, and this still pays: without it EfficientNet-B0 of 16
// images takes 0.464 ms there, with it 0.447.)
//
// Assumes: floats; s is one row an image, and only the product reads what it scales. Rounds s' W instead
// of x s: to the same type, by as much. Taken where it saves kLeastGain: tensor maps reach no products of
// batches, which so take up to 3 us longer.
#include "ir/capabilities.h"
#include "passes/fuse/merge_cost.h"
#include "passes/passes.h"
#include "passes/remark.h"
#include "passes/view_shape.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSECOLUMNSCALE
#include "passes/passes.h.inc"

namespace {

constexpr double kLeastGain = 4; ///< us, at typical sizes

/// A product whose left operand is an image with scaled channels.
struct ScaledProduct {
  MatmulOp matmul;
  Value image, scale;

  static std::optional<ScaledProduct> match(MatmulOp matmul);
  /// Against a kernel that scales the image.
  KernelCost saving() const;
  void rewrite() const;
};

/// One row for each image of `image` [b, ..., k].
bool isRowOfImage(Value scale, TensorType image) {
  TensorType type = tensorType(scale);
  if (type.getRank() != image.getRank() || type.getDim(0) != image.getDim(0) ||
      type.getDim(type.getRank() - 1) != image.getDim(image.getRank() - 1))
    return false;
  SmallVector<Dim> shape = type.getShape();
  return llvm::all_of(ArrayRef(shape).drop_front().drop_back(),
                      [](Dim dim) { return dim.isConstant(1); });
}

std::optional<ScaledProduct> ScaledProduct::match(MatmulOp matmul) {
  auto mul = matmul.getLhs().getDefiningOp<MulOp>();
  if (!mul || !mul->hasOneUse() || tensorType(matmul.getRhs()).getRank() != 2 ||
      !isWeightExpression(matmul.getRhs()))
    return std::nullopt;
  TensorType type = tensorType(mul.getOutput());
  if (type.getRank() < 3 || !isa<FloatType>(type.getElementType()) ||
      tensorType(matmul.getRhs()).getElementType() != type.getElementType())
    return std::nullopt;
  for (auto [image, scale] :
       {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
    if (tensorType(image) == type && isRowOfImage(scale, type) && !isWeightExpression(scale))
      return ScaledProduct{matmul, image, scale};
  return std::nullopt;
}

KernelCost ScaledProduct::saving() const {
  TensorType type = tensorType(image), weight = tensorType(matmul->getOperand(1));
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8,
          pixels = typicalSize(type.getNumElements()) * bytes,
          shared = typicalSize(weight.getNumElements()) * bytes,
          scaled = typicalSize(type.getDim(0)) * shared;
  KernelCost onImage{1, 2 * pixels + shared}, onWeights{1, shared + 2 * scaled};
  return onImage - onWeights;
}

void ScaledProduct::rewrite() const {
  OpBuilder builder(matmul);
  Location location = builder.getFusedLoc({image.getLoc(), matmul->getLoc()});
  SmallVector<Dim> shape = tensorType(image).getShape();
  Dim images = shape.front(), depth = shape.back(), one = Dim::constant(builder.getContext(), 1),
      pixels = product(ArrayRef(shape).drop_front().drop_back(), builder.getContext());
  Value column = reshapeTo(builder, location, scale, {images, depth, one});
  Value weights = MulOp::create(builder, location, column, matmul->getOperand(1));
  Value rows = reshapeTo(builder, location, image, {images, pixels, depth});
  Value result = MatmulOp::create(builder, location, rows, weights);
  MatmulOp replaced = matmul;
  replaced.getOutput().replaceAllUsesWith(
      reshapeTo(builder, location, result, tensorType(replaced.getOutput()).getShape()));
  Operation *scaling = replaced.getLhs().getDefiningOp();
  replaced.erase();
  scaling->erase();
}

struct FuseColumnScale : impl::FuseColumnScaleBase<FuseColumnScale> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<ScaledProduct> products;
    getOperation().walk([&](MatmulOp matmul) {
      if (std::optional<ScaledProduct> found = ScaledProduct::match(matmul))
        products.push_back(*found);
    });
    for (const ScaledProduct &scaled : products) {
      KernelCost saving = scaled.saving();
      if (saving.microseconds() < kLeastGain) {
        remarks.refused(MatmulOp(scaled.matmul).getLoc(), "column_scale",
                        "scaling the weights of each image takes 4 us less than the image",
                        describeSaving(saving));
        continue;
      }
      remarks.taken(MatmulOp(scaled.matmul).getLoc(), "column_scale",
                    "the weights of each image are scaled: " + describeSaving(saving));
      scaled.rewrite();
    }
  }
};

} // namespace
} // namespace smelt::passes
