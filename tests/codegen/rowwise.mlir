// RUN: emit-cuda %s | FileCheck %s

// Lookup, sum and norm: three passes over registers; the sum is a second result.
// CHECK: // rowwise+gather+gather+add+layer_norm 32 threads a row, 3 x 8 columns each
// CHECK-NEXT: // grid [ceildiv(b*s, 2), 1, 1], block [64]
// CHECK: float [[SUM:kept[0-9]+]][kChunks][W];
// Scale and bias are on their way before the kernel waits for its predecessors.
// CHECK: [[FACTORS:v[0-9]+Ahead]][chunk] = loadVector<W, Cache::kConstant>(in4 + col);
// CHECK: tile.waitForEarlierKernels();
// CHECK: g{{[0-9]+}} = clampIndex(
// CHECK: load<W, Cache::kConstant>(in2 + col + g{{[0-9]+}} * 768,
// CHECK: // Add_2
// CHECK: [[SUM]][chunk][i] =
// CHECK: const float [[TOTAL:total[0-9]+]] = tile.template reduce<Sum>(
// CHECK-NEXT: const float [[MEAN:mean[0-9]+]] = [[TOTAL]] / float(768);
// CHECK: deviation([[SUM]][chunk][i], [[MEAN]]) * deviation([[SUM]][chunk][i], [[MEAN]])
// CHECK: const float [[SCALE:scale[0-9]+]] = rsqrt(
// CHECK: if (!tile.isActive)
// CHECK-NEXT: return;
// CHECK: unpack<W>([[FACTORS]][chunk],
// CHECK: deviation([[SUM]][chunk][i], [[MEAN]]) * [[SCALE]] * {{.*}}; // Norm_3
// CHECK: store<W>(out0 + col + row * 768,
// CHECK: store<W>(out1 + col + row * 768,
func.func @embedding(%ids: !smelt.tensor<[b, s], i64>, %positions: !smelt.tensor<[1, s], i64>) -> (!smelt.tensor<[b, s, 768], f16>, !smelt.tensor<[b, s, 768], f16>) {
  %words = smelt.weight "words" <"w.bin", 0, 128000, ""> : <[1000, 768], f16>
  %places = smelt.weight "places" <"w.bin", 128000, 65536, ""> : <[512, 768], f16>
  %scale = smelt.weight "scale" <"w.bin", 193536, 128, ""> : <[768], f16>
  %bias = smelt.weight "bias" <"w.bin", 193536, 128, ""> : <[768], f16>
  %0:2 = smelt.fusion rowwise(%ids, %positions, %words, %places, %scale, %bias) : (!smelt.tensor<[b, s], i64>, !smelt.tensor<[1, s], i64>, !smelt.tensor<[1000, 768], f16>, !smelt.tensor<[512, 768], f16>, !smelt.tensor<[768], f16>, !smelt.tensor<[768], f16>) -> (!smelt.tensor<[b, s, 768], f16>, !smelt.tensor<[b, s, 768], f16>) {
  ^bb0(%i: !smelt.tensor<[b, s], i64>, %p: !smelt.tensor<[1, s], i64>, %w: !smelt.tensor<[1000, 768], f16>, %q: !smelt.tensor<[512, 768], f16>, %c: !smelt.tensor<[768], f16>, %d: !smelt.tensor<[768], f16>):
    %1 = smelt.gather %w, %i axis 0 : <[1000, 768], f16>, <[b, s], i64> -> <[b, s, 768], f16> loc("Gather_0")
    %2 = smelt.gather %q, %p axis 0 : <[512, 768], f16>, <[1, s], i64> -> <[1, s, 768], f16> loc("Gather_1")
    %3 = smelt.add %1, %2 : <[b, s, 768], f16>, <[1, s, 768], f16> -> <[b, s, 768], f16> loc("Add_2")
    %4 = smelt.layer_norm %3 scale %c : !smelt.tensor<[768], f16> bias %d : !smelt.tensor<[768], f16> axis 2 {epsilon = 1.0e-5 : f32} : <[b, s, 768], f16> -> <[b, s, 768], f16> loc("Norm_3")
    smelt.yield %3, %4 : !smelt.tensor<[b, s, 768], f16>, !smelt.tensor<[b, s, 768], f16>
  }
  return %0#0, %0#1 : !smelt.tensor<[b, s, 768], f16>, !smelt.tensor<[b, s, 768], f16>
}

// Odd columns: one column at a time, the last chunk partly empty.
// CHECK: // rowwise+softmax 32 threads a row, 7 x 1 columns each
// CHECK: if (col >= 197)
// CHECK-NEXT: continue;
// CHECK: Max::combine(
// CHECK: float(1) / total
func.func @softmax(%x: !smelt.tensor<[b, 12, 197, 197], f32>) -> !smelt.tensor<[b, 12, 197, 197], f32> {
  %0 = smelt.fusion rowwise(%x) : (!smelt.tensor<[b, 12, 197, 197], f32>) -> !smelt.tensor<[b, 12, 197, 197], f32> {
  ^bb0(%a: !smelt.tensor<[b, 12, 197, 197], f32>):
    %1 = smelt.softmax %a axis 3 : <[b, 12, 197, 197], f32>
    smelt.yield %1 : !smelt.tensor<[b, 12, 197, 197], f32>
  }
  return %0 : !smelt.tensor<[b, 12, 197, 197], f32>
}

// Unknown columns are streamed; several axes are one row; a mean is one element a row.
// CHECK: // rowwise+softmax 128 threads a row, 1 columns at a time
// CHECK-COUNT-3: for (int col = tile.lane * W; col < size_s; col += kThreadsPerRow * W) {
// CHECK: // rowwise+reduce 8 threads a row, 1 x 8 columns each
// CHECK: if (tile.lane == 0) {
// CHECK-NEXT: out0[row] = convert<half>(reduced
// CHECK: // rowwise+rms_norm 128 threads a row, 4 x 8 columns each
func.func @others(%x: !smelt.tensor<[b, s], f32>, %y: !smelt.tensor<[b, s, 4, 16], f16>, %z: !smelt.tensor<[b, s, 4096], bf16>) -> (!smelt.tensor<[b, s], f32>, !smelt.tensor<[b, s, 1, 1], f16>, !smelt.tensor<[b, s, 4096], bf16>) {
  %0 = smelt.fusion rowwise(%x) : (!smelt.tensor<[b, s], f32>) -> !smelt.tensor<[b, s], f32> {
  ^bb0(%a: !smelt.tensor<[b, s], f32>):
    %1 = smelt.softmax %a axis 1 : <[b, s], f32>
    smelt.yield %1 : !smelt.tensor<[b, s], f32>
  }
  %2 = smelt.fusion rowwise(%y) : (!smelt.tensor<[b, s, 4, 16], f16>) -> !smelt.tensor<[b, s, 1, 1], f16> {
  ^bb0(%a: !smelt.tensor<[b, s, 4, 16], f16>):
    %1 = smelt.reduce mean %a axes [2, 3] : <[b, s, 4, 16], f16> -> <[b, s, 1, 1], f16>
    smelt.yield %1 : !smelt.tensor<[b, s, 1, 1], f16>
  }
  %3 = smelt.fusion rowwise(%z) : (!smelt.tensor<[b, s, 4096], bf16>) -> !smelt.tensor<[b, s, 4096], bf16> {
  ^bb0(%a: !smelt.tensor<[b, s, 4096], bf16>):
    %1 = smelt.rms_norm %a axis 2 {epsilon = 1.0e-6 : f32} : <[b, s, 4096], bf16> -> <[b, s, 4096], bf16>
    smelt.yield %1 : !smelt.tensor<[b, s, 4096], bf16>
  }
  return %0, %2, %3 : !smelt.tensor<[b, s], f32>, !smelt.tensor<[b, s, 1, 1], f16>, !smelt.tensor<[b, s, 4096], bf16>
}

// What depends on the column stands inside the loop over columns: parts of the coordinate, and
// conditions that all lanes of a vector share.
// CHECK: // rowwise+concat+reduce 32 threads a row, 3 x 8 columns each
// CHECK-NOT: col{{[0-9]}} =
// CHECK: for (int chunk = 0;
// CHECK-NEXT: const int col = tile.template column<W>(chunk);
// CHECK: const int col0 = col / 128;
// CHECK-NEXT: const int col1 = col % 128;
// CHECK: bool [[FIRST:v[0-9]+]] = col1 < 32;
// CHECK: loadIf<W>([[FIRST]], in0 + col0 * 32 + col1 + row * 160,
func.func @joined(%x: !smelt.tensor<[b, 5, 32], f16>, %y: !smelt.tensor<[b, 5, 96], f16>) -> !smelt.tensor<[b, 1, 1], f16> {
  %0 = smelt.fusion rowwise(%x, %y) : (!smelt.tensor<[b, 5, 32], f16>, !smelt.tensor<[b, 5, 96], f16>) -> !smelt.tensor<[b, 1, 1], f16> {
  ^bb0(%a: !smelt.tensor<[b, 5, 32], f16>, %c: !smelt.tensor<[b, 5, 96], f16>):
    %1 = smelt.concat %a, %c axis 2 : !smelt.tensor<[b, 5, 32], f16>, !smelt.tensor<[b, 5, 96], f16> -> <[b, 5, 128], f16>
    %2 = smelt.reduce sum %1 axes [1, 2] : <[b, 5, 128], f16> -> <[b, 1, 1], f16>
    smelt.yield %2 : !smelt.tensor<[b, 1, 1], f16>
  }
  return %0 : !smelt.tensor<[b, 1, 1], f16>
}

// Stored through views: whole vectors, where the product that reads them finds them.
// CHECK: // rowwise+layer_norm 8 threads a row, 1 x 8 columns each
// CHECK: store<W>(out0 + col + row0 * 12544 + (row1 / 7) * 6272 + (row2 / 7) * 3136 + (row1 % 7) * 448 + (row2 % 7) * 64,
func.func @ordered(%x: !smelt.tensor<[b, 14, 14, 64], f16>, %scale: !smelt.tensor<[64], f16>) -> !smelt.tensor<[b, 4, 49, 64], f16> {
  %0 = smelt.fusion rowwise(%x, %scale) : (!smelt.tensor<[b, 14, 14, 64], f16>, !smelt.tensor<[64], f16>) -> !smelt.tensor<[b, 4, 49, 64], f16> {
  ^bb0(%a: !smelt.tensor<[b, 14, 14, 64], f16>, %s: !smelt.tensor<[64], f16>):
    %1 = smelt.layer_norm %a scale %s : !smelt.tensor<[64], f16> axis 3 {epsilon = 1.0e-5 : f32} : <[b, 14, 14, 64], f16> -> <[b, 14, 14, 64], f16>
    %2 = smelt.reshape %1 : <[b, 14, 14, 64], f16> -> <[b, 2, 7, 2, 7, 64], f16>
    %3 = smelt.transpose %2 [0, 1, 3, 2, 4, 5] : <[b, 2, 7, 2, 7, 64], f16> -> <[b, 2, 2, 7, 7, 64], f16>
    %4 = smelt.reshape %3 : <[b, 2, 2, 7, 7, 64], f16> -> <[b, 4, 49, 64], f16>
    smelt.yield %4 : !smelt.tensor<[b, 4, 49, 64], f16>
  }
  return %0 : !smelt.tensor<[b, 4, 49, 64], f16>
}
