// RUN: smelt-opt %s --smelt-fuse-selection --split-input-file | FileCheck %s

// What computes the elements moves in; both results leave.
// CHECK-LABEL: @scores
// CHECK: [[R:%[0-9]+]]:2 = smelt.fusion selection(%arg0)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: smelt.transpose
// CHECK-NEXT: smelt.sigmoid
// CHECK-NEXT: [[V:%[^, ]+]], [[P:%[^, ]+]] = smelt.top_k
// CHECK-NEXT: smelt.yield [[V]], [[P]]
// CHECK: return [[R]]#0, [[R]]#1
func.func @scores(%x: !smelt.tensor<[64, n], f32>) -> (!smelt.tensor<[n, 5], f32>, !smelt.tensor<[n, 5], i64>) {
  %0 = smelt.transpose %x [1, 0] : <[64, n], f32> -> <[n, 64], f32>
  %1 = smelt.sigmoid %0 : <[n, 64], f32>
  %v, %p = smelt.top_k %1 axis 1 : <[n, 64], f32> -> <[n, 5], f32>, <[n, 5], i64>
  return %v, %p : !smelt.tensor<[n, 5], f32>, !smelt.tensor<[n, 5], i64>
}

// -----

// A value that others read too is no part of it; a result that nobody reads is not yielded.
// CHECK-LABEL: @shared
// CHECK: [[S:%[0-9]+]] = smelt.sigmoid
// CHECK: smelt.fusion selection([[S]])
// CHECK: [[V:%[^, ]+]], [[P:%[^, ]+]] = smelt.top_k {{.*}} smallest
// CHECK-NEXT: smelt.yield [[P]]
func.func @shared(%x: !smelt.tensor<[n, 64], f32>) -> (!smelt.tensor<[n, 5], i64>, !smelt.tensor<[n, 64], f32>) {
  %0 = smelt.sigmoid %x : <[n, 64], f32>
  %v, %p = smelt.top_k %0 axis 1 smallest : <[n, 64], f32> -> <[n, 5], f32>, <[n, 5], i64>
  return %p, %0 : !smelt.tensor<[n, 5], i64>, !smelt.tensor<[n, 64], f32>
}
