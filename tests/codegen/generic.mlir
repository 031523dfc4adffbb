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

// The data are copied to the result, then one thread walks one line of the updates; what is invalid updates nothing.
// CHECK: // generic+scatter_elements
// CHECK: int count() const { return size_n; }
// CHECK: for (int i = 0; i < size_k; ++i) {
// CHECK: int64_t widetarget = read<int64_t>(in1 +
// CHECK: if (widetarget < 0 || widetarget >= 5) continue;
// CHECK: float value = read<float>(in2 +
// CHECK: float old = read<float>(out0 +
// CHECK: value = old + value;
// CHECK: write(out0 +
func.func @scatter(%x: !smelt.tensor<[n, 5], f16>, %i: !smelt.tensor<[n, k], i32>, %u: !smelt.tensor<[n, k], f16>) -> !smelt.tensor<[n, 5], f16> {
  %0 = smelt.fusion generic(%x, %i, %u) : (!smelt.tensor<[n, 5], f16>, !smelt.tensor<[n, k], i32>, !smelt.tensor<[n, k], f16>) -> !smelt.tensor<[n, 5], f16> {
  ^bb0(%a: !smelt.tensor<[n, 5], f16>, %b: !smelt.tensor<[n, k], i32>, %c: !smelt.tensor<[n, k], f16>):
    %1 = smelt.scatter_elements %a, %b, %c axis 1 by sum : <[n, 5], f16>, <[n, k], i32>, <[n, k], f16> -> <[n, 5], f16> loc("ScatterElements_0")
    smelt.yield %1 : !smelt.tensor<[n, 5], f16>
  }
  return %0 : !smelt.tensor<[n, 5], f16>
}

// Of slices one thread walks all updates of one element.
// CHECK: // generic+scatter_nd
// CHECK: int count() const { return 5; }
// CHECK: for (int t0 = 0; t0 < size_k; ++t0) {
// CHECK: int target0 = int(widetarget0);
// CHECK: write(out0 + ((target0) * (5) + (s0)), value);
func.func @scatter_nd(%x: !smelt.tensor<[n, 5], i32>, %i: !smelt.tensor<[k, 1], i64>, %u: !smelt.tensor<[k, 5], i32>) -> !smelt.tensor<[n, 5], i32> {
  %0 = smelt.fusion generic(%x, %i, %u) : (!smelt.tensor<[n, 5], i32>, !smelt.tensor<[k, 1], i64>, !smelt.tensor<[k, 5], i32>) -> !smelt.tensor<[n, 5], i32> {
  ^bb0(%a: !smelt.tensor<[n, 5], i32>, %b: !smelt.tensor<[k, 1], i64>, %c: !smelt.tensor<[k, 5], i32>):
    %1 = smelt.scatter_nd %a, %b, %c : <[n, 5], i32>, <[k, 1], i64>, <[k, 5], i32> -> <[n, 5], i32> loc("ScatterND_0")
    smelt.yield %1 : !smelt.tensor<[n, 5], i32>
  }
  return %0 : !smelt.tensor<[n, 5], i32>
}

// One thread computes one number of a group: its mean, or its sum of squared deviations.
// CHECK: // generic+row_moments
// CHECK: int count() const { return size_n * 4; }
// CHECK: float origin = read<float>(in0 + ((o0) * (64) + (o1 * 32))), mean = 0, squares = 0;
// CHECK: mean += read<float>(in0 + ((o0) * (64) + (o1 * 32 + i))) - origin;
// CHECK: mean = origin + mean / 32;
// CHECK: write(out0 + e, o2 == 0 ? mean : squares);
func.func @moments(%x: !smelt.tensor<[n, 64], f16>) -> !smelt.tensor<[n, 2, 2], f32> {
  %0 = smelt.fusion generic(%x) : (!smelt.tensor<[n, 64], f16>) -> !smelt.tensor<[n, 2, 2], f32> {
  ^bb0(%a: !smelt.tensor<[n, 64], f16>):
    %1 = smelt.row_moments %a : <[n, 64], f16> -> <[n, 2, 2], f32>
    smelt.yield %1 : !smelt.tensor<[n, 2, 2], f32>
  }
  return %0 : !smelt.tensor<[n, 2, 2], f32>
}
