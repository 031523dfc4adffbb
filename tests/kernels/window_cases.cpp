// Products whose left operand is made of windows of images, for the kernel tests: convolutions on gemm_tma.
#include "tests/kernels/variants.h"

namespace smelt::kernel_tests {

namespace {

/// Windows that differ in one thing each. 64 channels but for the last ones.
std::vector<ImageWindows> windows() {
  ImageAxis same{14, 3, 1, 1, 1, 1};
  return {
      {64, same, same},                                // 3x3
      {64, {7, 3, 1, 1, 1, 1}, {7, 3, 1, 1, 1, 1}},    // images smaller than a tile
      {64, {13, 3, 1, 1, 1, 1}, {17, 3, 1, 1, 1, 1}},  // axes that differ, odd
      {64, {14, 3, 2, 1, 1, 1}, {14, 3, 2, 1, 1, 1}},  // every other pixel, an even size
      {64, {13, 3, 2, 1, 1, 1}, {17, 3, 2, 1, 1, 1}},  // an odd size
      {64, {14, 3, 2, 1, 1, 0}, {17, 3, 3, 1, 0, 1}},  // strides that differ, zeros on one side
      {64, {14}, {14, 7, 1, 1, 3, 3}},                 // 1x7
      {64, {14, 7, 1, 1, 3, 3}, {14}},                 // 7x1
      {64, {13, 3, 1, 2, 2, 2}, {17, 3, 1, 2, 2, 2}},  // dilated
      {64, {14, 3, 1, 2, 2, 2}, {14, 3, 1, 3, 3, 3}},  // by different distances
      {64, {13, 3, 1, 1, 2, 0}, {17, 5, 1, 1, 0, 4}},  // zeros on one side
      {64, {13, 4, 3, 2, 5, 1}, {17, 2, 2, 3, 1, 4}},  // all at once
      {64, {14, 3}, {14, 3}},                          // no zeros
      {64, {15, 1, 2}, {14, 1, 2}},                    // one pixel of two
      {64, {3, 3, 1, 1, 0, 0}, {3, 3, 1, 1, 0, 0}},    // one pixel of the result
      {64, {1}, {257, 3, 1, 1, 1, 1}},                 // a line
      {128, {13, 3, 2, 1, 1, 1}, {17, 3, 1, 1, 1, 1}}, // two steps a tap
      {192, {7, 3, 1, 1, 1, 1}, {14, 1, 1, 1, 0, 0}},  // three
  };
}

GemmShape shapeOf(const ImageWindows &w, int images, int n) {
  return {images * w.rowsOfImage(), n, w.depth(), 1};
}

GemmVariant variantOf(GemmTmaTiling tiling, const ImageWindows &of) {
  GemmVariant v;
  v.tiling = tiling;
  v.windows = of;
  v.bTransposed = true;
  return v;
}

} // namespace

std::vector<GemmCase> windowChecks() {
  constexpr GemmTmaTiling kNarrow = kGemmTmaTilings[0];
  std::vector<GemmCase> cases;
  for (const ImageWindows &of : windows()) // columns that end inside a tile; a batch and one image
    cases.push_back({variantOf(kNarrow, of), {shapeOf(of, 3, 136), shapeOf(of, 1, 64)}});
  const ImageWindows strided{64, {13, 3, 2, 1, 1, 1}, {17, 3, 1, 1, 1, 1}};
  for (const GemmTmaTiling &tiling : kGemmTmaTilings) { // more tiles than blocks with the first
    GemmVariant v = variantOf(tiling, strided);
    v.element = Element::kBfloat16;
    cases.push_back({v, {shapeOf(strided, 200, 200), shapeOf(strided, 2, 512)}});
    v.bTransposed = false;
    v.bConstant = false;
    cases.push_back({v, {shapeOf(strided, 5, 72)}});
  }
  for (const GemmTmaTiling &tiling : kGemmFragmentTilings)
    for (bool transposed : {true, false}) {
      GemmVariant v = variantOf(tiling, strided);
      v.bTransposed = v.bConstant = transposed;
      v.activation = v.residual = false;
      cases.push_back({v, {shapeOf(strided, 200, 200), shapeOf(strided, 5, 72)}});
    }
  for (const ImageWindows &few :
       {ImageWindows{4, {37, 7, 2, 1, 0, 0}, {38, 8, 2}, true}, // rows of 64 bytes, an odd number
        ImageWindows{4, {37, 3, 2, 2, 2, 1}, {38, 4, 2}, true}, // of 32 bytes
        ImageWindows{8, {13, 3, 1, 1, 1, 1}, {18, 8, 1}, true}, // of 128 bytes
        ImageWindows{8, {13, 1}, {18, 4, 3}, true}})
    for (GemmTmaTiling tiling : {kNarrow, kGemmTmaTilings[4]}) { // and ping-pong
      GemmVariant v = variantOf(tiling, few);
      v.bTransposed = tiling.blockN == 64;
      cases.push_back({v, {shapeOf(few, 3, 136), shapeOf(few, 1, 64)}});
    }
  GemmVariant odd = variantOf(kNarrow, strided); // columns that no vector access is aligned to
  odd.width = 1;
  cases.push_back({odd, {shapeOf(strided, 3, 77)}});
  GemmVariant pair = variantOf(kNarrow, strided);
  pair.products = 2;
  cases.push_back({pair, {shapeOf(strided, 3, 112)}});
  GemmVariant moments = variantOf(kNarrow, strided);
  moments.storesMoments = true;
  cases.push_back({moments, {shapeOf(strided, 3, 96)}});
  const ImageWindows ofBytes{128, {13, 3, 2, 1, 1, 1}, {17, 3, 1, 1, 1, 1}};
  GemmVariant bytes = variantOf(kNarrow, ofBytes);
  bytes.element = Element::kUint8, bytes.elementB = Element::kInt8;
  bytes.aVector = bytes.bVector = 16;
  cases.push_back({bytes, {shapeOf(ofBytes, 3, 136)}});
  bytes.element = Element::kFloat8E4M3, bytes.elementB = Element::kFloat8E4M3;
  cases.push_back({bytes, {shapeOf(ofBytes, 3, 136)}});
  return cases;
}

} // namespace smelt::kernel_tests
