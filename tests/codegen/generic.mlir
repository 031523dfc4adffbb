// RUN: emit-cuda %s | FileCheck %s

// One thread walks one line of a running sum.
// CHECK: // generic+cumsum
// CHECK: int count() const { return size_a; }
// CHECK: int64_t sum = 0;
// CHECK: for (int i = 0; i < size_b; ++i) {
// CHECK-NEXT: sum += read<int64_t>(in0 +
// CHECK-NEXT: write(out0 +
func.func @running(%x: !smelt.tensor<[a, b], i64>) -> !smelt.tensor<[a, b], i64> {
  %0 = smelt.fusion generic(%x) : (!smelt.tensor<[a, b], i64>) -> !smelt.tensor<[a, b], i64> {
  ^bb0(%y: !smelt.tensor<[a, b], i64>):
    %1 = smelt.cumsum %y axis 1 : <[a, b], i64> loc("CumSum_0")
    smelt.yield %1 : !smelt.tensor<[a, b], i64>
  }
  return %0 : !smelt.tensor<[a, b], i64>
}

// A convolution skips what lies in the padding.
// CHECK: // generic+conv
// CHECK: float sum = 0;
// CHECK: for (int c = 0; c < 3; ++c) {
// CHECK: int i0 = o2 * 2 + k0 * 1 - 1;
// CHECK: if (i0 < 0 || i0 >= 8) continue;
// CHECK: sum += read<float>(in0 + {{.*}} * read<float>(in1 +
// CHECK: write(out0 + e, sum);
func.func @padded(%x: !smelt.tensor<[b, 3, 8, 8], f16>, %w: !smelt.tensor<[4, 3, 3, 3], f16>) -> !smelt.tensor<[b, 4, 4, 4], f16> {
  %0 = smelt.fusion generic(%x, %w) : (!smelt.tensor<[b, 3, 8, 8], f16>, !smelt.tensor<[4, 3, 3, 3], f16>) -> !smelt.tensor<[b, 4, 4, 4], f16> {
  ^bb0(%y: !smelt.tensor<[b, 3, 8, 8], f16>, %v: !smelt.tensor<[4, 3, 3, 3], f16>):
    %1 = smelt.conv %y, %v {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[b, 3, 8, 8], f16>, <[4, 3, 3, 3], f16> -> <[b, 4, 4, 4], f16> loc("Conv_0")
    smelt.yield %1 : !smelt.tensor<[b, 4, 4, 4], f16>
  }
  return %0 : !smelt.tensor<[b, 4, 4, 4], f16>
}
