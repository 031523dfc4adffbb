// RUN: emit-cuda %s | FileCheck %s

// A whole tensor to one number: parts by many blocks, then the parts; what stands before the
// reduction is computed with the parts, what stands behind it once.
// CHECK: // rowwise+is_inf+reduce+less parts of rows in vectors of 8
// CHECK-NEXT: // grid [{{.*}}, 1, 1], block [256]
// CHECK: block.template forEach<W>([&](int col) {
// CHECK: load<W>(in0 + col,
// CHECK: isInfinite(
// CHECK: [[PARTIAL:partial[0-9]+]] = Sum::combine([[PARTIAL]],
// CHECK: [[PARTIAL]] = block.template reduce<Sum>([[PARTIAL]]);
// CHECK-NEXT: if (threadIdx.x == 0)
// CHECK-NEXT: scratch0[row * gridDim.x + blockIdx.x] = [[PARTIAL]];
// CHECK: // rowwise+is_inf+reduce+less rows of parts
// CHECK: scratch0[row * parts + part]
// CHECK: const int64_t [[TOTAL:total[0-9]+]] = block.template reduce<Sum>(
// CHECK: if (threadIdx.x == 0) {
// CHECK-NEXT: bool [[MORE:v[0-9]+]] = 0ll < [[TOTAL]];
// CHECK-NEXT: out0[row] = convert<bool>([[MORE]]);
func.func @overflows(%x: !smelt.tensor<[8, 512, 512], f16>) -> !smelt.tensor<[1, 1, 1], i1> {
  %0 = smelt.fusion rowwise(%x) : (!smelt.tensor<[8, 512, 512], f16>) -> !smelt.tensor<[1, 1, 1], i1> {
  ^bb0(%a: !smelt.tensor<[8, 512, 512], f16>):
    %zero = smelt.constant dense<0> : tensor<i64> : <[], i64>
    %1 = smelt.is_inf %a : <[8, 512, 512], f16> -> <[8, 512, 512], i1>
    %2 = smelt.cast %1 : <[8, 512, 512], i1> -> <[8, 512, 512], i64>
    %3 = smelt.reduce sum %2 axes [0, 1, 2] : <[8, 512, 512], i64> -> <[1, 1, 1], i64>
    %4 = smelt.less %zero, %3 : <[], i64>, <[1, 1, 1], i64> -> <[1, 1, 1], i1>
    smelt.yield %4 : !smelt.tensor<[1, 1, 1], i1>
  }
  return %0 : !smelt.tensor<[1, 1, 1], i1>
}

// Open sizes: both forms, and a rule. Two reductions share the pass over the row.
// CHECK: // rowwise+reduce+reduce parts of rows in vectors of 4
// CHECK: Max::combine(
// CHECK: Sum::combine(
// CHECK: scratch1[row * gridDim.x + blockIdx.x]
// CHECK: // rowwise+reduce+reduce rows of parts
// CHECK: / float(size_s * 4)
// CHECK: // rowwise+reduce+reduce 128 threads a row
func.func @open(%x: !smelt.tensor<[b, s, 4], f32>) -> (!smelt.tensor<[b, 1, 1], f32>, !smelt.tensor<[b, 1, 1], f32>) {
  %0:2 = smelt.fusion rowwise(%x) : (!smelt.tensor<[b, s, 4], f32>) -> (!smelt.tensor<[b, 1, 1], f32>, !smelt.tensor<[b, 1, 1], f32>) {
  ^bb0(%a: !smelt.tensor<[b, s, 4], f32>):
    %1 = smelt.reduce max %a axes [1, 2] : <[b, s, 4], f32> -> <[b, 1, 1], f32>
    %2 = smelt.reduce mean %a axes [1, 2] : <[b, s, 4], f32> -> <[b, 1, 1], f32>
    smelt.yield %1, %2 : !smelt.tensor<[b, 1, 1], f32>, !smelt.tensor<[b, 1, 1], f32>
  }
  return %0#0, %0#1 : !smelt.tensor<[b, 1, 1], f32>, !smelt.tensor<[b, 1, 1], f32>
}

// Short rows, and rows that are needed whole, stay with one block each.
// CHECK: // rowwise+reduce 64 threads a row
// CHECK: // rowwise+layer_norm 128 threads a row
// CHECK-NOT: rows of parts
func.func @whole(%x: !smelt.tensor<[4, 2048], f16>, %y: !smelt.tensor<[1, 100000], f16>) -> (!smelt.tensor<[4, 1], f16>, !smelt.tensor<[1, 100000], f16>) {
  %0 = smelt.fusion rowwise(%x) : (!smelt.tensor<[4, 2048], f16>) -> !smelt.tensor<[4, 1], f16> {
  ^bb0(%a: !smelt.tensor<[4, 2048], f16>):
    %1 = smelt.reduce sum %a axes [1] : <[4, 2048], f16> -> <[4, 1], f16>
    smelt.yield %1 : !smelt.tensor<[4, 1], f16>
  }
  %2 = smelt.fusion rowwise(%y) : (!smelt.tensor<[1, 100000], f16>) -> !smelt.tensor<[1, 100000], f16> {
  ^bb0(%a: !smelt.tensor<[1, 100000], f16>):
    %1 = smelt.layer_norm %a axis 1 {epsilon = 1.0e-5 : f32} : <[1, 100000], f16> -> <[1, 100000], f16>
    smelt.yield %1 : !smelt.tensor<[1, 100000], f16>
  }
  return %0, %2 : !smelt.tensor<[4, 1], f16>, !smelt.tensor<[1, 100000], f16>
}

// A size that a slice leaves, rounded down: the kernel's entry names it too.
// CHECK-LABEL: // rowwise+reduce parts of rows
// CHECK: reduceParts<{{[0-9]+}}, {{[0-9]+}}>(Problem{{{.*}}}, divideFloor(size_s - 1, 2) + 1);
func.func @every_other(%x: !smelt.tensor<[4, floordiv(s + -1, 2) + 1], f32>) -> !smelt.tensor<[4, 1], f32> {
  %0 = smelt.fusion rowwise(%x) : (!smelt.tensor<[4, floordiv(s + -1, 2) + 1], f32>) -> !smelt.tensor<[4, 1], f32> {
  ^bb0(%a: !smelt.tensor<[4, floordiv(s + -1, 2) + 1], f32>):
    %1 = smelt.reduce sum %a axes [1] : <[4, floordiv(s + -1, 2) + 1], f32> -> <[4, 1], f32>
    smelt.yield %1 : !smelt.tensor<[4, 1], f32>
  }
  return %0 : !smelt.tensor<[4, 1], f32>
}
