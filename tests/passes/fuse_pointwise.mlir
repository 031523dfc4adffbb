// RUN: smelt-opt %s --smelt-fuse-pointwise | FileCheck %s

// A chain is one kernel; a value with two readers is a kernel of its own; literals go inside.
// CHECK-LABEL: @chain
// CHECK: %[[A:.*]] = smelt.fusion pointwise(%arg0)
// CHECK: smelt.constant
// CHECK: smelt.exp
// CHECK: smelt.mul
// CHECK: smelt.yield
// CHECK: smelt.fusion pointwise(%[[A]]
// CHECK: smelt.tanh
// CHECK: smelt.fusion pointwise(%[[A]]
// CHECK: smelt.sqrt
// CHECK: return
func.func @chain(%x: !smelt.tensor<[a, b], f32>) -> (!smelt.tensor<[a, b], f32>, !smelt.tensor<[a, b], f32>) {
  %c = smelt.constant dense<2.0> : tensor<f32> : <[], f32>
  %0 = smelt.exp %x : <[a, b], f32>
  %1 = smelt.mul %0, %c : <[a, b], f32>, <[], f32> -> <[a, b], f32>
  %2 = smelt.tanh %1 : <[a, b], f32>
  %3 = smelt.sqrt %1 : <[a, b], f32>
  return %2, %3 : !smelt.tensor<[a, b], f32>, !smelt.tensor<[a, b], f32>
}

// A transposed result must be written; a reshape of an input only renames it.
// CHECK-LABEL: @views
// CHECK-DAG: smelt.fusion pointwise
// CHECK-DAG: smelt.transpose
// CHECK-DAG: smelt.reshape %arg0
func.func @views(%x: !smelt.tensor<[a, b], f32>) -> (!smelt.tensor<[b, a], f32>, !smelt.tensor<[a*b], f32>) {
  %0 = smelt.transpose %x [1, 0] : <[a, b], f32> -> <[b, a], f32>
  %1 = smelt.reshape %x : <[a, b], f32> -> <[a*b], f32>
  return %0, %1 : !smelt.tensor<[b, a], f32>, !smelt.tensor<[a*b], f32>
}
