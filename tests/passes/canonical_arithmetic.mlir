// RUN: smelt-opt %s --smelt-simplify-canonical | FileCheck %s

// CHECK-LABEL: func @neutral
func.func @neutral(%x: !smelt.tensor<[b, 4], f32>) -> !smelt.tensor<[b, 4], f32> {
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %one = smelt.constant dense<1.0> : tensor<1xf32> : <[1], f32>
  %0 = smelt.add %zero, %x : <[], f32>, <[b, 4], f32> -> <[b, 4], f32>
  %1 = smelt.mul %0, %one : <[b, 4], f32>, <[1], f32> -> <[b, 4], f32>
  %2 = smelt.div %1, %one : <[b, 4], f32>, <[1], f32> -> <[b, 4], f32>
  %3 = smelt.sub %2, %zero : <[b, 4], f32>, <[], f32> -> <[b, 4], f32>
  // CHECK-NEXT: return %arg0
  return %3 : !smelt.tensor<[b, 4], f32>
}

// A uniform float tensor is a weight that is not trained yet: it stays.
// CHECK-LABEL: func @fresh_bias
func.func @fresh_bias(%x: !smelt.tensor<[b, 4], f32>) -> !smelt.tensor<[b, 4], f32> {
  %bias = smelt.constant dense<0.0> : tensor<4xf32> : <[4], f32>
  // CHECK: smelt.add %arg0
  %0 = smelt.add %bias, %x : <[4], f32>, <[b, 4], f32> -> <[b, 4], f32>
  return %0 : !smelt.tensor<[b, 4], f32>
}

// A quotient becomes a product only where the reciprocal is exact; a difference becomes a sum.
// CHECK-LABEL: func @constants
func.func @constants(%x: !smelt.tensor<[b, 4], f16>) -> (!smelt.tensor<[b, 4], f16>, !smelt.tensor<[b, 4], f16>, !smelt.tensor<[b, 4], f16>) {
  %eight = smelt.constant dense<8.0> : tensor<f16> : <[], f16>
  %root = smelt.constant dense<1.4140625> : tensor<f16> : <[], f16>
  // CHECK-DAG: %[[EIGHTH:.*]] = smelt.constant dense<1.250000e-01>
  // CHECK-DAG: %[[ROOT:.*]] = smelt.constant dense<1.414060e+00>
  // CHECK-DAG: %[[MINUS:.*]] = smelt.constant dense<-1.414060e+00>
  // CHECK: smelt.mul %arg0, %[[EIGHTH]]
  %0 = smelt.div %x, %eight : <[b, 4], f16>, <[], f16> -> <[b, 4], f16>
  // CHECK: smelt.div %arg0, %[[ROOT]]
  %1 = smelt.div %x, %root : <[b, 4], f16>, <[], f16> -> <[b, 4], f16>
  // CHECK: smelt.add %arg0, %[[MINUS]]
  %2 = smelt.sub %x, %root : <[b, 4], f16>, <[], f16> -> <[b, 4], f16>
  return %0, %1, %2 : !smelt.tensor<[b, 4], f16>, !smelt.tensor<[b, 4], f16>, !smelt.tensor<[b, 4], f16>
}

// 0.5 * 0.25 is exact in half; the product of two rounded roots is not.
// CHECK-LABEL: func @combined
func.func @combined(%x: !smelt.tensor<[b, 4], f16>) -> (!smelt.tensor<[b, 4], f16>, !smelt.tensor<[b, 4], f16>) {
  %half = smelt.constant dense<0.5> : tensor<f16> : <[], f16>
  %quarter = smelt.constant dense<0.25> : tensor<f16> : <[], f16>
  %root = smelt.constant dense<0.353515625> : tensor<f16> : <[], f16>
  // CHECK-DAG: %[[C:.*]] = smelt.constant dense<1.250000e-01>
  // CHECK-DAG: %[[R:.*]] = smelt.constant dense<3.535160e-01>
  // CHECK: smelt.mul %arg0, %[[C]]
  %0 = smelt.mul %x, %half : <[b, 4], f16>, <[], f16> -> <[b, 4], f16>
  %1 = smelt.mul %0, %quarter : <[b, 4], f16>, <[], f16> -> <[b, 4], f16>
  // CHECK: %[[ONCE:.*]] = smelt.mul %arg0, %[[R]]
  // CHECK: smelt.mul %[[ONCE]], %[[R]]
  %2 = smelt.mul %x, %root : <[b, 4], f16>, <[], f16> -> <[b, 4], f16>
  %3 = smelt.mul %2, %root : <[b, 4], f16>, <[], f16> -> <[b, 4], f16>
  return %1, %3 : !smelt.tensor<[b, 4], f16>, !smelt.tensor<[b, 4], f16>
}

// CHECK-LABEL: func @powers
func.func @powers(%a: !smelt.tensor<[4], f32>) -> (!smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>) {
  %two = smelt.constant dense<2> : tensor<i64> : <[], i64>
  %three = smelt.constant dense<3.0> : tensor<f32> : <[], f32>
  %half = smelt.constant dense<0.5> : tensor<f32> : <[], f32>
  %minus = smelt.constant dense<-0.5> : tensor<f32> : <[], f32>
  %other = smelt.constant dense<2.5> : tensor<f32> : <[], f32>
  %x = smelt.abs %a : <[4], f32>
  // CHECK: %[[X:.*]] = smelt.abs
  // CHECK: %[[S:.*]] = smelt.mul %[[X]], %[[X]]
  %0 = smelt.pow %x, %two : <[4], f32>, <[], i64> -> <[4], f32>
  // CHECK: smelt.mul %[[S]], %[[X]]
  %1 = smelt.pow %x, %three : <[4], f32>, <[], f32> -> <[4], f32>
  // CHECK: smelt.sqrt %[[X]]
  %2 = smelt.pow %x, %half : <[4], f32>, <[], f32> -> <[4], f32>
  // CHECK: smelt.rsqrt %[[X]]
  %3 = smelt.pow %x, %minus : <[4], f32>, <[], f32> -> <[4], f32>
  // CHECK: smelt.pow %[[X]]
  %4 = smelt.pow %x, %other : <[4], f32>, <[], f32> -> <[4], f32>
  return %0, %1, %2, %3, %4 : !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>
}

// CHECK-LABEL: func @roots
func.func @roots(%x: !smelt.tensor<[4], f32>, %a: !smelt.tensor<[4], f32>) -> (!smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>) {
  %one = smelt.constant dense<1.0> : tensor<f32> : <[], f32>
  %y = smelt.abs %a : <[4], f32>
  %root = smelt.sqrt %y : <[4], f32>
  // CHECK: %[[R:.*]] = smelt.rsqrt
  // CHECK: %[[Q:.*]] = smelt.mul %arg0, %[[R]]
  %0 = smelt.div %x, %root : <[4], f32>, <[4], f32> -> <[4], f32>
  %1 = smelt.reciprocal %root : <[4], f32>
  %inverse = smelt.div %one, %y : <[], f32>, <[4], f32> -> <[4], f32>
  // CHECK: %[[D:.*]] = smelt.div %arg0
  %2 = smelt.mul %inverse, %x : <[4], f32>, <[4], f32> -> <[4], f32>
  // CHECK: return %[[Q]], %[[R]], %[[D]]
  return %0, %1, %2 : !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>
}

// The smallest integer is its own negative.
// CHECK-LABEL: func @wrapped
func.func @wrapped(%x: !smelt.tensor<[4], i64>) -> !smelt.tensor<[4], i64> {
  %smallest = smelt.constant dense<-9223372036854775808> : tensor<i64> : <[], i64>
  // CHECK: %[[C:.*]] = smelt.constant dense<-9223372036854775808>
  // CHECK-NEXT: smelt.add %arg0, %[[C]]
  %0 = smelt.sub %x, %smallest : <[4], i64>, <[], i64> -> <[4], i64>
  return %0 : !smelt.tensor<[4], i64>
}

// CHECK-LABEL: func @signs
func.func @signs(%x: !smelt.tensor<[4], f32>, %y: !smelt.tensor<[4], f32>) -> (!smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>) {
  %0 = smelt.neg %y : <[4], f32>
  // CHECK-NEXT: %[[D:.*]] = smelt.sub %arg0, %arg1
  %1 = smelt.add %0, %x : <[4], f32>, <[4], f32> -> <[4], f32>
  %2 = smelt.neg %0 : <[4], f32>
  // CHECK-NEXT: return %[[D]], %arg1
  return %1, %2 : !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>
}

// Widening and narrowing again is nothing; narrowing first rounds; an integer through a float may not wrap.
// CHECK-LABEL: func @casts
func.func @casts(%x: !smelt.tensor<[4], f16>, %w: !smelt.tensor<[4], f32>, %i: !smelt.tensor<[4], i16>) -> (!smelt.tensor<[4], f16>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], i8>, !smelt.tensor<[4], f32>) {
  %0 = smelt.cast %x : <[4], f16> -> <[4], f32>
  %1 = smelt.cast %0 : <[4], f32> -> <[4], f16>
  // CHECK: smelt.cast %arg1 : <[4], f32> -> <[4], f16>
  %2 = smelt.cast %w : <[4], f32> -> <[4], f16>
  // CHECK: smelt.cast %{{.*}} : <[4], f16> -> <[4], f32>
  %3 = smelt.cast %2 : <[4], f16> -> <[4], f32>
  // CHECK: %[[WIDE:.*]] = smelt.cast %arg2 : <[4], i16> -> <[4], f32>
  %4 = smelt.cast %i : <[4], i16> -> <[4], f32>
  // CHECK: smelt.cast %[[WIDE]] : <[4], f32> -> <[4], i8>
  %5 = smelt.cast %4 : <[4], f32> -> <[4], i8>
  %6 = smelt.cast %i : <[4], i16> -> <[4], i32>
  %7 = smelt.cast %6 : <[4], i32> -> <[4], f32>
  // CHECK: return %arg0, %{{.*}}, %{{.*}}, %[[WIDE]]
  return %1, %3, %5, %7 : !smelt.tensor<[4], f16>, !smelt.tensor<[4], f32>, !smelt.tensor<[4], i8>, !smelt.tensor<[4], f32>
}

// 1.5 * 2^23 added and taken away rounds to an integer, as quantizers do.
// CHECK-LABEL: func @rounding
func.func @rounding(%x: !smelt.tensor<[b], f32>) -> !smelt.tensor<[b], f32> {
  %magic = smelt.constant dense<12582912.0> : tensor<f32> : <[], f32>
  // CHECK: %[[UP:.*]] = smelt.add %arg0
  // CHECK-NEXT: smelt.add %[[UP]]
  %0 = smelt.add %x, %magic : <[b], f32>, <[], f32> -> <[b], f32>
  %1 = smelt.sub %0, %magic : <[b], f32>, <[], f32> -> <[b], f32>
  return %1 : !smelt.tensor<[b], f32>
}

// x * 1024 may be infinite in half, and stays so.
// CHECK-LABEL: func @overflow
func.func @overflow(%x: !smelt.tensor<[b], f16>) -> !smelt.tensor<[b], f16> {
  %large = smelt.constant dense<1024.0> : tensor<f16> : <[], f16>
  %small = smelt.constant dense<0.0009765625> : tensor<f16> : <[], f16>
  // CHECK: %[[UP:.*]] = smelt.mul %arg0
  // CHECK-NEXT: smelt.mul %[[UP]]
  %0 = smelt.mul %x, %large : <[b], f16>, <[], f16> -> <[b], f16>
  %1 = smelt.mul %0, %small : <[b], f16>, <[], f16> -> <[b], f16>
  return %1 : !smelt.tensor<[b], f16>
}
