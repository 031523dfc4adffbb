// RUN: smelt-opt %s --smelt-simplify-canonical | FileCheck %s

// CHECK-LABEL: func @and_or
func.func @and_or(%x: !smelt.tensor<[b, 4], i1>) -> (!smelt.tensor<[b, 4], i1>, !smelt.tensor<[b, 4], i1>, !smelt.tensor<[b, 4], i1>) {
  %true = smelt.constant dense<true> : tensor<i1> : <[], i1>
  // CHECK: %[[TRUE:.*]] = smelt.constant dense<true>
  // CHECK: %[[WIDE:.*]] = smelt.expand %[[TRUE]] : <[], i1> -> <[b, 4], i1>
  %0 = smelt.and %true, %x : <[], i1>, <[b, 4], i1> -> <[b, 4], i1>
  %1 = smelt.or %x, %true : <[b, 4], i1>, <[], i1> -> <[b, 4], i1>
  %2 = smelt.and %x, %x : <[b, 4], i1>, <[b, 4], i1> -> <[b, 4], i1>
  // CHECK: return %arg0, %[[WIDE]], %arg0
  return %0, %1, %2 : !smelt.tensor<[b, 4], i1>, !smelt.tensor<[b, 4], i1>, !smelt.tensor<[b, 4], i1>
}

// The negation of an integer comparison is the other comparison; for floats NaN stands between.
// CHECK-LABEL: func @negations
func.func @negations(%i: !smelt.tensor<[4], i64>, %j: !smelt.tensor<[4], i64>, %x: !smelt.tensor<[4], f32>, %y: !smelt.tensor<[4], f32>) -> (!smelt.tensor<[4], i1>, !smelt.tensor<[4], i1>) {
  %0 = smelt.less %i, %j : <[4], i64>, <[4], i64> -> <[4], i1>
  %1 = smelt.not %0 : <[4], i1>
  %2 = smelt.not %1 : <[4], i1>
  %3 = smelt.not %2 : <[4], i1>
  // CHECK-NEXT: %[[LE:.*]] = smelt.less_equal %arg1, %arg0
  // CHECK-NEXT: %[[L:.*]] = smelt.less %arg2, %arg3
  // CHECK-NEXT: %[[N:.*]] = smelt.not %[[L]]
  %4 = smelt.less %x, %y : <[4], f32>, <[4], f32> -> <[4], i1>
  %5 = smelt.not %4 : <[4], i1>
  // CHECK-NEXT: return %[[LE]], %[[N]]
  return %3, %5 : !smelt.tensor<[4], i1>, !smelt.tensor<[4], i1>
}

// Bools that exporters carry as numbers.
// CHECK-LABEL: func @carried
func.func @carried(%x: !smelt.tensor<[4], i1>) -> (!smelt.tensor<[4], i1>, !smelt.tensor<[4], i1>, !smelt.tensor<[4], i1>) {
  %zero = smelt.constant dense<0> : tensor<i64> : <[], i64>
  %one = smelt.constant dense<1.0> : tensor<f32> : <[], f32>
  %fzero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %0 = smelt.cast %x : <[4], i1> -> <[4], i64>
  // CHECK: %[[NOT:.*]] = smelt.not %arg0
  %1 = smelt.equal %0, %zero : <[4], i64>, <[], i64> -> <[4], i1>
  %2 = smelt.cast %0 : <[4], i64> -> <[4], i1>
  %3 = smelt.select %x, %fzero, %one : <[4], i1>, <[], f32>, <[], f32> -> <[4], f32>
  %4 = smelt.cast %3 : <[4], f32> -> <[4], i1>
  // CHECK: return %[[NOT]], %arg0, %[[NOT]]
  return %1, %2, %4 : !smelt.tensor<[4], i1>, !smelt.tensor<[4], i1>, !smelt.tensor<[4], i1>
}

// CHECK-LABEL: func @selections
func.func @selections(%c: !smelt.tensor<[4], i1>, %x: !smelt.tensor<[4], f32>, %y: !smelt.tensor<[4], f32>) -> (!smelt.tensor<[4], f32>, !smelt.tensor<[b, 4], f32>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>) {
  %true = smelt.constant dense<true> : tensor<i1> : <[], i1>
  %wide = smelt.expand %true : <[], i1> -> <[b, 4], i1>
  %not = smelt.not %c : <[4], i1>
  %0 = smelt.select %c, %x, %x : <[4], i1>, <[4], f32>, <[4], f32> -> <[4], f32>
  // CHECK: %[[W:.*]] = smelt.expand %arg1 : <[4], f32> -> <[b, 4], f32>
  %1 = smelt.select %wide, %x, %y : <[b, 4], i1>, <[4], f32>, <[4], f32> -> <[b, 4], f32>
  // CHECK: %[[S:.*]] = smelt.select %arg0, %arg2, %arg1
  %2 = smelt.select %not, %x, %y : <[4], i1>, <[4], f32>, <[4], f32> -> <[4], f32>
  %3 = smelt.select %c, %2, %y : <[4], i1>, <[4], f32>, <[4], f32> -> <[4], f32>
  // CHECK: return %arg1, %[[W]], %[[S]], %arg2
  return %0, %1, %2, %3 : !smelt.tensor<[4], f32>, !smelt.tensor<[b, 4], f32>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>
}

// A wider type holds infinities and NaN as they are; a narrower one has infinities of its own.
// CHECK-LABEL: @tests_of_widened
// CHECK: smelt.is_inf %arg0
// CHECK: smelt.is_nan %arg0
// CHECK: %[[NARROW:.*]] = smelt.cast %arg1
// CHECK: smelt.is_inf %[[NARROW]]
func.func @tests_of_widened(%x: !smelt.tensor<[a, b], f16>, %y: !smelt.tensor<[a, b], f32>) -> (!smelt.tensor<[a, b], i1>, !smelt.tensor<[a, b], i1>, !smelt.tensor<[a, b], i1>) {
  %0 = smelt.cast %x : <[a, b], f16> -> <[a, b], f64>
  %1 = smelt.is_inf %0 : <[a, b], f64> -> <[a, b], i1>
  %2 = smelt.is_nan %0 : <[a, b], f64> -> <[a, b], i1>
  %3 = smelt.cast %y : <[a, b], f32> -> <[a, b], f16>
  %4 = smelt.is_inf %3 : <[a, b], f16> -> <[a, b], i1>
  return %1, %2, %4 : !smelt.tensor<[a, b], i1>, !smelt.tensor<[a, b], i1>, !smelt.tensor<[a, b], i1>
}
