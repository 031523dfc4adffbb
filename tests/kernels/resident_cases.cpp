// Products of a short K whose right operand stays in shared memory, for the kernel tests: gemm_tma's three warpgroups in turn.
#include "tests/kernels/variants.h"

namespace smelt::kernel_tests {

namespace {

/// K of one step, of a part of one, of all that stays; columns of one tile and of many; rows that end inside a tile, more tiles
/// than blocks, and fewer blocks than multiprocessors: 9 tiles of columns divide no number of these.
std::vector<GemmShape> shapes() {
  return {{1, 8, 8, 1},        {77, 64, 64, 1},     {197, 200, 136, 1}, {513, 96, 16, 1},
          {2309, 1096, 24, 1}, {1027, 768, 384, 1}, {9000, 128, 80, 1}};
}

GemmVariant variantOf(const GemmTmaTiling &tiling, bool transposed, bool constant) {
  GemmVariant v;
  v.tiling = tiling;
  v.element = constant ? Element::kHalf : Element::kBfloat16;
  v.bTransposed = transposed;
  v.bConstant = constant;
  return v;
}

/// The epilogue in each of its forms: with a residual, with moments, in fragments. (Moments are not stored: others are chosen.)
void addEpilogues(std::vector<GemmCase> &cases, GemmVariant v) {
  cases.push_back({v, shapes()});
  v.rowGroups = 24;
  cases.push_back({v, shapes()});
  v.activation = v.residual = false;
  cases.push_back({v, shapes()});
  v.rowGroups = 0;
  cases.push_back({v, shapes()});
}

} // namespace

std::vector<GemmCase> residentChecks() {
  std::vector<GemmCase> cases;
  for (const GemmTmaTiling &tiling : kGemmResidentTilings) {
    for (bool transposed : {false, true})
      for (bool constant : {false, true})
        addEpilogues(cases, variantOf(tiling, transposed, constant));
    GemmVariant odd = variantOf(tiling, true, true); // columns that no vector access is aligned to
    odd.width = 1;
    cases.push_back({odd, {{77, 197, 136, 1}, {513, 513, 200, 1}, {1, 1, 8, 1}}});
    for (const ImageWindows &of : {ImageWindows{64, {13, 3, 2, 1, 1, 1}, {17}}, // 3x1
                                   ImageWindows{4, {37, 7, 2, 1, 0, 0}, {38, 8, 2}, true}}) {
      GemmVariant windows = variantOf(tiling, true, true);
      windows.windows = of;
      int rows = of.rowsOfImage();
      cases.push_back({windows, {{3 * rows, 136, of.depth(), 1}, {rows, 64, of.depth(), 1}}});
    }
    if (tiling.blockN % 64 != 0)
      continue;
    GemmVariant pair = variantOf(tiling, true, true);
    pair.products = 2;
    cases.push_back({pair, {{77, 400, 136, 1}, {2197, 1536, 384, 1}}});
  }
  return cases;
}

} // namespace smelt::kernel_tests
