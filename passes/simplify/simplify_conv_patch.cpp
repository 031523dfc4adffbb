// simplify-conv-patch: a convolution that reads each pixel once is a matrix product.
//
// Vision transformers embed patches with a convolution whose kernel equals its stride: without
// padding, dilation and groups it only cuts the image into patches. As views and a matmul it runs
// on the GEMM template with the views folded into its loads, and the reshape and transpose to
// tokens that follow it cancel.
//   [N, C, H, W] -> [N, C, h, kh, w, kw] -> [N, h, w, C, kh, kw] -> [N, h*w, C*kh*kw] x [C*kh*kw,
//   M]
// Of many channels, which what computes the image stores last (simplify-channels-last), a patch is
// [kh, kw, C] instead: its pixels are runs of channels in memory (ConvNeXt's patches of 2 x 2), which
// a norm before them stores one behind the other (fuse/row_order.h).
// Assumes sizes that the kernel divides; other convolutions stay.
#include "passes/passes.h"
#include "passes/view_shape.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_SIMPLIFYCONVPATCH
#include "passes/passes.h.inc"

namespace {

/// The kernel tiles the input: it equals the stride and divides the size along each spatial axis.
bool cutsPatches(ConvOp op) {
  TensorType input = tensorType(op.getInput()), filter = tensorType(op.getFilter()),
             output = tensorType(op.getOutput());
  if (op.getGroups() != 1 || llvm::any_of(op.getPads(), [](int64_t pad) { return pad != 0; }) ||
      llvm::any_of(op.getDilations(), [](int64_t dilation) { return dilation != 1; }))
    return false;
  for (auto [axis, stride] : llvm::enumerate(op.getStrides()))
    if (!filter.getDim(axis + 2).isConstant(stride) ||
        input.getDim(axis + 2) != output.getDim(axis + 2) * stride)
      return false;
  return true;
}

/// What computes the image stores its channels last, in runs of whole vectors; a caller's image has
/// them first.
bool hasChannelsLast(ConvOp op) {
  constexpr int64_t kVector = 8;
  std::optional<int64_t> channels = tensorType(op.getInput()).getDim(1).asConstant();
  return channels && *channels % kVector == 0 && !isa<BlockArgument>(op.getInput());
}

/// [N, patches, C * kernel], or [N, patches, kernel * C] where channels come last.
Value patchesOf(OpBuilder &builder, ConvOp op) {
  SmallVector<Dim> input = tensorType(op.getInput()).getShape(),
                   filter = tensorType(op.getFilter()).getShape();
  SmallVector<Dim> output = tensorType(op.getOutput()).getShape();
  int64_t spatial = op.getStrides().size();
  SmallVector<Dim> split{input[0], input[1]};
  SmallVector<int64_t> outer{0}, inner;
  for (int64_t axis = 0; axis < spatial; ++axis) {
    outer.push_back(split.size());
    inner.push_back(split.size() + 1);
    split.append({output[axis + 2], filter[axis + 2]});
  }
  inner.insert(hasChannelsLast(op) ? inner.end() : inner.begin(), 1);
  SmallVector<int64_t> permutation(outer);
  permutation.append(inner);
  Value cut = reshapeTo(builder, op.getLoc(), op.getInput(), split);
  Value ordered = TransposeOp::create(builder, op.getLoc(), cut, permutation);
  return reshapeTo(builder, op.getLoc(), ordered,
                   {input[0], product(ArrayRef<Dim>(output).drop_front(2), op.getContext()),
                    product(ArrayRef<Dim>(filter).drop_front(), op.getContext())});
}

/// [C * kernel, M], or [kernel * C, M]: rows in the order of a patch's elements.
Value matrixOf(OpBuilder &builder, ConvOp op) {
  SmallVector<Dim> filter = tensorType(op.getFilter()).getShape();
  auto order = llvm::to_vector(llvm::seq<int64_t>(1, filter.size()));
  if (hasChannelsLast(op))
    std::rotate(order.begin(), order.begin() + 1, order.end());
  order.push_back(0);
  Value turned = TransposeOp::create(builder, op.getLoc(), op.getFilter(), order);
  return reshapeTo(builder, op.getLoc(), turned,
                   {product(ArrayRef<Dim>(filter).drop_front(), op.getContext()), filter.front()});
}

void rewrite(ConvOp op, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  SmallVector<Dim> output = tensorType(op.getOutput()).getShape();
  Value result =
      MatmulOp::create(rewriter, op.getLoc(), patchesOf(rewriter, op), matrixOf(rewriter, op));
  if (op.getBias())
    result = AddOp::create(rewriter, op.getLoc(), result, op.getBias());
  // Channels last, then to their place.
  SmallVector<Dim> channelsLast(output);
  channelsLast.erase(channelsLast.begin() + 1);
  channelsLast.push_back(output[1]);
  SmallVector<int64_t> permutation{0, static_cast<int64_t>(output.size()) - 1};
  for (int64_t axis = 1; axis + 1 < static_cast<int64_t>(output.size()); ++axis)
    permutation.push_back(axis);
  Value image = reshapeTo(rewriter, op.getLoc(), result, channelsLast);
  rewriter.replaceOpWithNewOp<TransposeOp>(op, image, permutation);
}

struct SimplifyConvPatch : impl::SimplifyConvPatchBase<SimplifyConvPatch> {
  void runOnOperation() override {
    SmallVector<ConvOp> convolutions;
    getOperation().walk([&](ConvOp op) {
      if (cutsPatches(op))
        convolutions.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (ConvOp op : convolutions)
      rewrite(op, rewriter);
  }
};

} // namespace

} // namespace smelt::passes
