// Which way a kernel goes through its rows: from the first to the last, or back.
//
// Problem: of a tensor that L2 does not hold whole, a kernel that starts where the one before it started finds nothing
// in the cache: what it asks for has been replaced by what was written last. Method: of neighbours in a plan that move more
// than half of what L2 holds, one goes forward and the next one back (codegen/program_builder.cpp), so that it starts with
// what the one before it wrote last. Problems of the templates that go either way have a member `int reversed`: products of
// more than a few rows, attention by tensor maps without a causal mask, pointwise, row-wise and column-wise kernels.
//
// Assumes: blocks start in the order of their numbers, as far as the hardware says; but no result depends on it.
// Gain, products and attention only, in models, by turns on one H200: ResNet-50 of 64 images 1.537 ms to 1.511, ConvNeXt-T of 16
// 0.772 to 0.765, ViT-B of 64 5.05 to 5.02, Swin-T 0.746 to 0.743. Where L2 held all, the way back cost BERT at 1x128 1.2 %.
#pragma once

namespace smelt {

/// The place of number `index` of `count`. `reversed`: 1 for the way back, else 0.
__device__ __forceinline__ constexpr int inDirection(int reversed, int index, int count) {
  return reversed ? count - 1 - index : index;
}

} // namespace smelt
