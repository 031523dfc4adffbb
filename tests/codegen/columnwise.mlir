// RUN: emit-cuda %s | FileCheck %s
// RUN: emit-cuda %s sm_90a --compile | FileCheck %s --check-prefix=COMPILED
// RUN: emit-cuda %s sm_80 --compile | FileCheck %s --check-prefix=COMPILED

// COMPILED-COUNT-9: // compiled, 0 bytes of registers spilled

// A depthwise convolution: a thread takes seven neighbouring windows, which read nine vectors of a row of the image where they
// exist, and three of the filter. Elsewhere the image's are zeros, without a selection.
// CHECK: // columnwise+concat+concat+mul+reduce+add 4 results a thread, of 7 windows
// CHECK-NEXT: // grid [7*n, 1, 1], block [128]
// CHECK: kWidth = 4, kVectors = 128, kParts = 1
// CHECK-NEXT: kTogether = 7;
// CHECK: float partial[kTogether * W];
// CHECK: partial[i] = Sum::identity<float>();
// CHECK: #pragma unroll 1
// CHECK-NEXT: for (int r = part; r < 3; r += kParts) {
// CHECK: loadIf<W>(v{{[0-9]+}}, in0 +
// CHECK-COUNT-3: load<W, Cache::kConstant>(in1 + {{.*}} + r * 96
// CHECK-NOT: load<W, Cache::kConstant>
// CHECK-NOT: ? 0.0f
// CHECK: partial[i] = Sum::combine(partial[i],
// CHECK: partial[6 * W + i] = Sum::combine(partial[6 * W + i],
// CHECK: if (!block.template combine<Sum>(partial))
// CHECK-NEXT: return;
// CHECK-COUNT-7: store<W>(out0 +
func.func @depthwise(%x: !smelt.tensor<[n, 28, 28, 32], f16>) -> !smelt.tensor<[n, 28, 28, 32], f16> {
  %filter = smelt.weight "filter" <"w.bin", 0, 1152, ""> : <[3, 1, 3, 32], f32>
  %bias = smelt.weight "bias" <"w.bin", 1152, 128, ""> : <[32], f32>
  %0 = smelt.fusion columnwise(%x, %filter, %bias) : (!smelt.tensor<[n, 28, 28, 32], f16>, !smelt.tensor<[3, 1, 3, 32], f32>, !smelt.tensor<[32], f32>) -> !smelt.tensor<[n, 28, 28, 32], f16> {
  ^bb0(%a: !smelt.tensor<[n, 28, 28, 32], f16>, %f: !smelt.tensor<[3, 1, 3, 32], f32>, %b: !smelt.tensor<[32], f32>):
    %zero = smelt.constant dense<0.0> : tensor<f16> : <[], f16>
    %above = smelt.expand %zero : <[], f16> -> <[n, 1, 28, 32], f16>
    %1 = smelt.concat %above, %a, %above axis 1 : !smelt.tensor<[n, 1, 28, 32], f16>, !smelt.tensor<[n, 28, 28, 32], f16>, !smelt.tensor<[n, 1, 28, 32], f16> -> <[n, 30, 28, 32], f16>
    %beside = smelt.expand %zero : <[], f16> -> <[n, 30, 1, 32], f16>
    %2 = smelt.concat %beside, %1, %beside axis 2 : !smelt.tensor<[n, 30, 1, 32], f16>, !smelt.tensor<[n, 30, 28, 32], f16>, !smelt.tensor<[n, 30, 1, 32], f16> -> <[n, 30, 30, 32], f16>
    %3 = smelt.windows %2 axis 1 stride 1 dilation 1 : <[n, 30, 30, 32], f16> -> <[n, 28, 3, 30, 32], f16>
    %4 = smelt.windows %3 axis 3 stride 1 dilation 1 : <[n, 28, 3, 30, 32], f16> -> <[n, 28, 3, 28, 3, 32], f16>
    %5 = smelt.cast %4 : <[n, 28, 3, 28, 3, 32], f16> -> <[n, 28, 3, 28, 3, 32], f32>
    %6 = smelt.mul %5, %f : <[n, 28, 3, 28, 3, 32], f32>, <[3, 1, 3, 32], f32> -> <[n, 28, 3, 28, 3, 32], f32>
    %7 = smelt.reduce sum %6 axes [2, 4] : <[n, 28, 3, 28, 3, 32], f32> -> <[n, 28, 1, 28, 1, 32], f32>
    %8 = smelt.reshape %7 : <[n, 28, 1, 28, 1, 32], f32> -> <[n, 28, 28, 32], f32>
    %9 = smelt.add %8, %b : <[n, 28, 28, 32], f32>, <[32], f32> -> <[n, 28, 28, 32], f32>
    %10 = smelt.cast %9 : <[n, 28, 28, 32], f32> -> <[n, 28, 28, 32], f16>
    smelt.yield %10 : !smelt.tensor<[n, 28, 28, 32], f16>
  }
  return %0 : !smelt.tensor<[n, 28, 28, 32], f16>
}

// Many elements a result: threads share them, of a number that nobody knows 64. A mean divides at the end.
// CHECK: // columnwise+reduce 8 results a thread, 64 threads a result
// CHECK-NEXT: // grid [2*n, 1, 1], block [256]
// CHECK: kWidth = 8, kVectors = 4, kParts = 64
// CHECK-NEXT: kTogether = 1;
// CHECK: #pragma unroll 4
// CHECK-NEXT: for (int r = part; r < size_h * size_w; r += kParts) {
// CHECK: float(partial[i]) / float(size_h * size_w)
func.func @mean(%x: !smelt.tensor<[n, h, w, 64], f16>) -> !smelt.tensor<[n, 1, 1, 64], f16> {
  %0 = smelt.fusion columnwise(%x) : (!smelt.tensor<[n, h, w, 64], f16>) -> !smelt.tensor<[n, 1, 1, 64], f16> {
  ^bb0(%a: !smelt.tensor<[n, h, w, 64], f16>):
    %1 = smelt.reduce mean %a axes [1, 2] : <[n, h, w, 64], f16> -> <[n, 1, 1, 64], f16>
    smelt.yield %1 : !smelt.tensor<[n, 1, 1, 64], f16>
  }
  return %0 : !smelt.tensor<[n, 1, 1, 64], f16>
}

// Few results of many elements keep all multiprocessors busy: two vectors of channels, a sector of memory, are a block's.
// CHECK: // columnwise+reduce 8 results a thread, 256 threads a result
// CHECK-NEXT: // grid [6*n, 1, 1], block [512]
// CHECK: kWidth = 8, kVectors = 2, kParts = 256
// CHECK: for (int r = part; r < 3136; r += kParts) {
// CHECK: // columnwise+reduce 8 results a thread, 16 threads a result
// CHECK-NEXT: // grid [ceildiv(480*n, 128), 1, 1], block [256]
// CHECK: // columnwise+reduce 8 results a thread, 8 threads a result
// CHECK: kWidth = 8, kVectors = 32, kParts = 8
func.func @pools(%x: !smelt.tensor<[n, 56, 56, 96], f16>, %y: !smelt.tensor<[n, 14, 14, 480], f16>, %z: !smelt.tensor<[n, 7, 7, 960], f16>) -> (!smelt.tensor<[n, 1, 1, 96], f16>, !smelt.tensor<[n, 1, 1, 480], f16>, !smelt.tensor<[n, 1, 1, 960], f16>) {
  %0 = smelt.fusion columnwise(%x) : (!smelt.tensor<[n, 56, 56, 96], f16>) -> !smelt.tensor<[n, 1, 1, 96], f16> {
  ^bb0(%a: !smelt.tensor<[n, 56, 56, 96], f16>):
    %r = smelt.reduce mean %a axes [1, 2] : <[n, 56, 56, 96], f16> -> <[n, 1, 1, 96], f16>
    smelt.yield %r : !smelt.tensor<[n, 1, 1, 96], f16>
  }
  %1 = smelt.fusion columnwise(%y) : (!smelt.tensor<[n, 14, 14, 480], f16>) -> !smelt.tensor<[n, 1, 1, 480], f16> {
  ^bb0(%a: !smelt.tensor<[n, 14, 14, 480], f16>):
    %r = smelt.reduce mean %a axes [1, 2] : <[n, 14, 14, 480], f16> -> <[n, 1, 1, 480], f16>
    smelt.yield %r : !smelt.tensor<[n, 1, 1, 480], f16>
  }
  %2 = smelt.fusion columnwise(%z) : (!smelt.tensor<[n, 7, 7, 960], f16>) -> !smelt.tensor<[n, 1, 1, 960], f16> {
  ^bb0(%a: !smelt.tensor<[n, 7, 7, 960], f16>):
    %r = smelt.reduce mean %a axes [1, 2] : <[n, 7, 7, 960], f16> -> <[n, 1, 1, 960], f16>
    smelt.yield %r : !smelt.tensor<[n, 1, 1, 960], f16>
  }
  return %0, %1, %2 : !smelt.tensor<[n, 1, 1, 96], f16>, !smelt.tensor<[n, 1, 1, 480], f16>, !smelt.tensor<[n, 1, 1, 960], f16>
}

// Results in an odd number: one at a time, and what is shorter than a register is kept in a whole one.
// CHECK: // columnwise+reduce 1 results a thread
// CHECK: kWidth = 1, kVectors = 128, kParts = 1
// CHECK: int partial[kTogether * W];
// CHECK: Max::combine(partial[i], int(int8_t(
func.func @most(%x: !smelt.tensor<[3, 5, 7], i8>) -> !smelt.tensor<[3, 1, 7], i8> {
  %0 = smelt.fusion columnwise(%x) : (!smelt.tensor<[3, 5, 7], i8>) -> !smelt.tensor<[3, 1, 7], i8> {
  ^bb0(%a: !smelt.tensor<[3, 5, 7], i8>):
    %1 = smelt.reduce max %a axes [1] : <[3, 5, 7], i8> -> <[3, 1, 7], i8>
    smelt.yield %1 : !smelt.tensor<[3, 1, 7], i8>
  }
  return %0 : !smelt.tensor<[3, 1, 7], i8>
}

// Moments of rows are a second result of each window, of the values as they are stored; whole warps exchange them where all
// of their threads exist.
// CHECK: // columnwise+mul+reduce+row_moments 4 results a thread, of 4 windows
// CHECK: kWidth = 4, kVectors = 128, kParts = 1
// CHECK: constexpr bool WholeWarps = true;
// CHECK: r0[i] = [[SUM:v[0-9]+]];
// CHECK-NEXT: r1[i] = rounded<half>([[SUM]]);
// CHECK: store<W>(out0 + [[E:.*]], r0);
// CHECK-NEXT: storeMoments<W, WholeWarps>(out1 + {{.*}} / 32) * 2, r1);
// CHECK-NEXT: store<W>(out0 + [[E]] + 64, r2);
// CHECK-NEXT: storeMoments<W, WholeWarps>(out1 + {{.*}} / 32) * 2 + 4, r3);
func.func @moments(%x: !smelt.tensor<[n, 18, 64], f16>, %f: !smelt.tensor<[3, 64], f16>) -> (!smelt.tensor<[n, 16, 64], f16>, !smelt.tensor<[n, 16, 2, 2], f32>) {
  %0:2 = smelt.fusion columnwise(%x, %f) : (!smelt.tensor<[n, 18, 64], f16>, !smelt.tensor<[3, 64], f16>) -> (!smelt.tensor<[n, 16, 64], f16>, !smelt.tensor<[n, 16, 2, 2], f32>) {
  ^bb0(%a: !smelt.tensor<[n, 18, 64], f16>, %b: !smelt.tensor<[3, 64], f16>):
    %1 = smelt.windows %a axis 1 stride 1 dilation 1 : <[n, 18, 64], f16> -> <[n, 16, 3, 64], f16>
    %2 = smelt.mul %1, %b : <[n, 16, 3, 64], f16>, <[3, 64], f16> -> <[n, 16, 3, 64], f16>
    %3 = smelt.reduce sum %2 axes [2] : <[n, 16, 3, 64], f16> -> <[n, 16, 1, 64], f16>
    %4 = smelt.reshape %3 : <[n, 16, 1, 64], f16> -> <[n, 16, 64], f16>
    %5 = smelt.row_moments %4 : <[n, 16, 64], f16> -> <[n, 16, 2, 2], f32>
    smelt.yield %4, %5 : !smelt.tensor<[n, 16, 64], f16>, !smelt.tensor<[n, 16, 2, 2], f32>
  }
  return %0#0, %0#1 : !smelt.tensor<[n, 16, 64], f16>, !smelt.tensor<[n, 16, 2, 2], f32>
}

// Groups of columns lie in one block: fewer threads share a result, so that eight vectors of four are a block's. The last
// warp may have threads that do not exist.
// CHECK: // columnwise+reduce+row_moments 4 results a thread, 64 threads a result
// CHECK-NEXT: // grid [3*n, 1, 1], block [512]
// CHECK: kWidth = 4, kVectors = 8, kParts = 64
// CHECK: constexpr bool WholeWarps = false;
// CHECK: storeMoments<W, WholeWarps>(out1 + {{.*}}, r1);
func.func @moments_of_means(%x: !smelt.tensor<[n, 3136, 96], f32>) -> (!smelt.tensor<[n, 1, 96], f32>, !smelt.tensor<[n, 1, 3, 2], f32>) {
  %0:2 = smelt.fusion columnwise(%x) : (!smelt.tensor<[n, 3136, 96], f32>) -> (!smelt.tensor<[n, 1, 96], f32>, !smelt.tensor<[n, 1, 3, 2], f32>) {
  ^bb0(%a: !smelt.tensor<[n, 3136, 96], f32>):
    %1 = smelt.reduce mean %a axes [1] : <[n, 3136, 96], f32> -> <[n, 1, 96], f32>
    %2 = smelt.row_moments %1 : <[n, 1, 96], f32> -> <[n, 1, 3, 2], f32>
    smelt.yield %1, %2 : !smelt.tensor<[n, 1, 96], f32>, !smelt.tensor<[n, 1, 3, 2], f32>
  }
  return %0#0, %0#1 : !smelt.tensor<[n, 1, 96], f32>, !smelt.tensor<[n, 1, 3, 2], f32>
}

// Columns that are windows themselves are neighbours in lanes and threads, not of one thread.
// CHECK: // columnwise+reduce+row_moments 1 results a thread
// CHECK: kTogether = 1;
// CHECK: storeMoments<W, WholeWarps>(out1 + e0 * 4 + (e1 / 32) * 2, r1);
func.func @moments_of_windows(%x: !smelt.tensor<[n, 66, 1], f32>) -> (!smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 2, 2], f32>) {
  %0:2 = smelt.fusion columnwise(%x) : (!smelt.tensor<[n, 66, 1], f32>) -> (!smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 2, 2], f32>) {
  ^bb0(%a: !smelt.tensor<[n, 66, 1], f32>):
    %1 = smelt.windows %a axis 1 stride 1 dilation 1 : <[n, 66, 1], f32> -> <[n, 64, 3, 1], f32>
    %2 = smelt.reduce max %1 axes [2] : <[n, 64, 3, 1], f32> -> <[n, 64, 1, 1], f32>
    %3 = smelt.reshape %2 : <[n, 64, 1, 1], f32> -> <[n, 64], f32>
    %4 = smelt.row_moments %3 : <[n, 64], f32> -> <[n, 2, 2], f32>
    smelt.yield %3, %4 : !smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 2, 2], f32>
  }
  return %0#0, %0#1 : !smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 2, 2], f32>
}
