// RUN: smelt-opt %s --smelt-simplify-canonical | FileCheck %s

// A transpose moves above a reshape that merges, and the reshapes meet.
// CHECK-LABEL: func @transpose_of_merge
func.func @transpose_of_merge(%x: !smelt.tensor<[n, 14, 14, 8], f32>) -> !smelt.tensor<[n, 8, 196], f32> {
  %0 = smelt.transpose %x [0, 3, 1, 2] : <[n, 14, 14, 8], f32> -> <[n, 8, 14, 14], f32>
  %1 = smelt.reshape %0 : <[n, 8, 14, 14], f32> -> <[n, 8, 196], f32>
  %2 = smelt.transpose %1 [0, 2, 1] : <[n, 8, 196], f32> -> <[n, 196, 8], f32>
  %3 = smelt.transpose %2 [0, 2, 1] : <[n, 196, 8], f32> -> <[n, 8, 196], f32>
  // CHECK-NEXT: %[[T:.*]] = smelt.transpose %arg0 [0, 3, 1, 2]
  // CHECK-NEXT: smelt.reshape %[[T]] : <[n, 8, 14, 14], f32> -> <[n, 8, 196], f32>
  // CHECK-NEXT: return
  return %3 : !smelt.tensor<[n, 8, 196], f32>
}

// A reshape that splits moves above a transpose.
// CHECK-LABEL: func @split_of_transpose
func.func @split_of_transpose(%x: !smelt.tensor<[b, s, 96], f32>) -> !smelt.tensor<[b, 12, 8, s], f32> {
  %0 = smelt.transpose %x [0, 2, 1] : <[b, s, 96], f32> -> <[b, 96, s], f32>
  %1 = smelt.reshape %0 : <[b, 96, s], f32> -> <[b, 12, 8, s], f32>
  // CHECK-NEXT: %[[R:.*]] = smelt.reshape %arg0 : <[b, s, 96], f32> -> <[b, s, 12, 8], f32>
  // CHECK-NEXT: smelt.transpose %[[R]] [0, 2, 3, 1]
  // CHECK-NEXT: return
  return %1 : !smelt.tensor<[b, 12, 8, s], f32>
}

// Only axes of size 1 move: a reshape; and it meets its inverse.
// CHECK-LABEL: func @unit_axes
func.func @unit_axes(%x: !smelt.tensor<[b, s, 1], f32>) -> !smelt.tensor<[b, s, 1], f32> {
  %0 = smelt.transpose %x [2, 0, 1] : <[b, s, 1], f32> -> <[1, b, s], f32>
  %1 = smelt.reshape %0 : <[1, b, s], f32> -> <[b, 1, s, 1, 1], f32>
  %2 = smelt.transpose %1 [3, 0, 1, 2, 4] : <[b, 1, s, 1, 1], f32> -> <[1, b, 1, s, 1], f32>
  %3 = smelt.reshape %2 : <[1, b, 1, s, 1], f32> -> <[b, s, 1], f32>
  // CHECK-NEXT: return %arg0
  return %3 : !smelt.tensor<[b, s, 1], f32>
}

// Of more than three axes, those of size 1 are not transposed; an expand that only adds such axes is a reshape.
// CHECK-LABEL: func @unit_axes_of_many
func.func @unit_axes_of_many(%x: !smelt.tensor<[b, s, 1, 8], f32>, %y: !smelt.tensor<[s, 8], f32>) -> (!smelt.tensor<[8, 1, b, s], f32>, !smelt.tensor<[1, s, 8], f32>) {
  %0 = smelt.transpose %x [3, 2, 0, 1] : <[b, s, 1, 8], f32> -> <[8, 1, b, s], f32>
  %1 = smelt.expand %y : <[s, 8], f32> -> <[1, s, 8], f32>
  // CHECK-NEXT: %[[X:.*]] = smelt.reshape %arg0 : <[b, s, 1, 8], f32> -> <[b, s, 8], f32>
  // CHECK-NEXT: %[[T:.*]] = smelt.transpose %[[X]] [2, 0, 1]
  // CHECK-NEXT: smelt.reshape %[[T]] : <[8, b, s], f32> -> <[8, 1, b, s], f32>
  // CHECK-NEXT: smelt.reshape %arg1 : <[s, 8], f32> -> <[1, s, 8], f32>
  // CHECK-NEXT: return
  return %0, %1 : !smelt.tensor<[8, 1, b, s], f32>, !smelt.tensor<[1, s, 8], f32>
}

// An expand comes last.
// CHECK-LABEL: func @expand_last
func.func @expand_last(%x: !smelt.tensor<[b, 1, s], f32>) -> !smelt.tensor<[s, 4, b, 1], f32> {
  %0 = smelt.expand %x : <[b, 1, s], f32> -> <[b, 4, s], f32>
  %1 = smelt.transpose %0 [2, 1, 0] : <[b, 4, s], f32> -> <[s, 4, b], f32>
  %2 = smelt.reshape %1 : <[s, 4, b], f32> -> <[s, 4, b, 1], f32>
  // CHECK-NEXT: %[[T:.*]] = smelt.transpose %arg0 [2, 1, 0]
  // CHECK-NEXT: %[[R:.*]] = smelt.reshape %[[T]] : <[s, 1, b], f32> -> <[s, 1, b, 1], f32>
  // CHECK-NEXT: smelt.expand %[[R]] : <[s, 1, b, 1], f32> -> <[s, 4, b, 1], f32>
  return %2 : !smelt.tensor<[s, 4, b, 1], f32>
}

// A repeated axis that merges with one that is not stays: grouped heads are recognised by it.
// CHECK-LABEL: func @repeated_heads
func.func @repeated_heads(%x: !smelt.tensor<[b, 2, 1, s, 8], f32>) -> !smelt.tensor<[b, 8, s, 8], f32> {
  // CHECK-NEXT: %[[E:.*]] = smelt.expand %arg0
  // CHECK-NEXT: smelt.reshape %[[E]]
  %0 = smelt.expand %x : <[b, 2, 1, s, 8], f32> -> <[b, 2, 4, s, 8], f32>
  %1 = smelt.reshape %0 : <[b, 2, 4, s, 8], f32> -> <[b, 8, s, 8], f32>
  return %1 : !smelt.tensor<[b, 8, s, 8], f32>
}

// Slices come first, and compose.
// CHECK-LABEL: func @slices
func.func @slices(%x: !smelt.tensor<[b, s, 96], f32>) -> !smelt.tensor<[4, b, 5, s], f32> {
  %0 = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<10>] steps [1, 1, 2] : <[b, s, 96], f32> -> <[b, s, 20], f32>
  %1 = smelt.transpose %0 [0, 2, 1] : <[b, s, 20], f32> -> <[b, 20, s], f32>
  %2 = smelt.slice %1 starts [#smelt.dim<0>, #smelt.dim<3>, #smelt.dim<0>] steps [1, 3, 1] : <[b, 20, s], f32> -> <[b, 5, s], f32>
  %3 = smelt.reshape %2 : <[b, 5, s], f32> -> <[1, b, 5, s], f32>
  %4 = smelt.expand %3 : <[1, b, 5, s], f32> -> <[8, b, 5, s], f32>
  %5 = smelt.slice %4 starts [#smelt.dim<2>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[8, b, 5, s], f32> -> <[4, b, 5, s], f32>
  // CHECK-NEXT: %[[S:.*]] = smelt.slice %arg0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<16>] steps [1, 1, 6] : <[b, s, 96], f32> -> <[b, s, 5], f32>
  // CHECK-NEXT: %[[T:.*]] = smelt.transpose %[[S]] [0, 2, 1]
  // CHECK-NEXT: smelt.expand %[[T]] : <[b, 5, s], f32> -> <[4, b, 5, s], f32>
  return %5 : !smelt.tensor<[4, b, 5, s], f32>
}

// CHECK-LABEL: func @of_constants
func.func @of_constants() -> (!smelt.tensor<[2, 1], i64>, !smelt.tensor<[3, 2], i64>) {
  %table = smelt.constant dense<[1, 2]> : tensor<2xi64> : <[2], i64>
  %splat = smelt.constant dense<7> : tensor<2x3xi64> : <[2, 3], i64>
  // CHECK-DAG: %[[T:.*]] = smelt.constant dense<{{.*}}> : tensor<2x1xi64>
  // CHECK-DAG: %[[S:.*]] = smelt.constant dense<7> : tensor<i64>
  // CHECK: %[[E:.*]] = smelt.expand %[[S]] : <[], i64> -> <[3, 2], i64>
  %0 = smelt.reshape %table : <[2], i64> -> <[2, 1], i64>
  %1 = smelt.transpose %splat [1, 0] : <[2, 3], i64> -> <[3, 2], i64>
  // CHECK: return %[[T]], %[[E]]
  return %0, %1 : !smelt.tensor<[2, 1], i64>, !smelt.tensor<[3, 2], i64>
}

// One of three stacked projections is a slice of the packed tensor.
// CHECK-LABEL: func @packed
func.func @packed(%x: !smelt.tensor<[b, s, 96], f32>) -> !smelt.tensor<[b, 4, s, 8], f32> {
  %0 = smelt.reshape %x : <[b, s, 96], f32> -> <[b, s, 3, 4, 8], f32>
  %1 = smelt.transpose %0 [2, 0, 3, 1, 4] : <[b, s, 3, 4, 8], f32> -> <[3, b, 4, s, 8], f32>
  %2 = smelt.slice %1 starts [#smelt.dim<1>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1, 1] : <[3, b, 4, s, 8], f32> -> <[1, b, 4, s, 8], f32>
  %3 = smelt.reshape %2 : <[1, b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  // CHECK-NEXT: %[[S:.*]] = smelt.slice %arg0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<32>] steps [1, 1, 1] : <[b, s, 96], f32> -> <[b, s, 32], f32>
  // CHECK-NEXT: %[[R:.*]] = smelt.reshape %[[S]] : <[b, s, 32], f32> -> <[b, s, 4, 8], f32>
  // CHECK-NEXT: smelt.transpose %[[R]] [0, 2, 1, 3]
  // CHECK-NEXT: return
  return %3 : !smelt.tensor<[b, 4, s, 8], f32>
}

// Of what only a slice reads, only the slice is computed.
// CHECK-LABEL: func @last_token
func.func @last_token(%x: !smelt.tensor<[b, s, 8], f32>, %y: !smelt.tensor<[b, s, 8], f32>, %z: !smelt.tensor<[8], f32>) -> !smelt.tensor<[b, 1, 8], f32> {
  %0 = smelt.add %x, %y : <[b, s, 8], f32>, <[b, s, 8], f32> -> <[b, s, 8], f32>
  %1 = smelt.mul %0, %z : <[b, s, 8], f32>, <[8], f32> -> <[b, s, 8], f32>
  %2 = smelt.slice %1 starts [#smelt.dim<0>, #smelt.dim<s - 1>, #smelt.dim<0>] steps [1, 1, 1] : <[b, s, 8], f32> -> <[b, 1, 8], f32>
  // CHECK-NEXT: smelt.slice %arg0
  // CHECK-NEXT: smelt.slice %arg1
  // CHECK-NEXT: smelt.add {{.*}} -> <[b, 1, 8], f32>
  // CHECK-NEXT: smelt.mul {{.*}} -> <[b, 1, 8], f32>
  // CHECK-NEXT: return
  return %2 : !smelt.tensor<[b, 1, 8], f32>
}

// Pixels are reduced where they lie, their channels last; not where others read the transposed too.
// CHECK-LABEL: func @reduce_across_transpose
func.func @reduce_across_transpose(%x: !smelt.tensor<[b, 7, 5, 96], f16>, %y: !smelt.tensor<[b, 9, 32], f32>)
    -> (!smelt.tensor<[b, 96, 1, 1], f16>, !smelt.tensor<[b, 32, 9], f32>, !smelt.tensor<[b, 32, 1], f32>) {
  // CHECK-DAG: %[[MEAN:.*]] = smelt.reduce  mean %arg0 axes [1, 2] : <[b, 7, 5, 96], f16> -> <[b, 1, 1, 96], f16>
  // CHECK-DAG: smelt.reshape %[[MEAN]] : <[b, 1, 1, 96], f16> -> <[b, 96, 1, 1], f16>
  %0 = smelt.transpose %x [0, 3, 1, 2] : <[b, 7, 5, 96], f16> -> <[b, 96, 7, 5], f16>
  %1 = smelt.reduce mean %0 axes [2, 3] : <[b, 96, 7, 5], f16> -> <[b, 96, 1, 1], f16>
  // CHECK-DAG: smelt.reduce  max %{{.*}} axes [2] : <[b, 32, 9], f32> -> <[b, 32, 1], f32>
  %2 = smelt.transpose %y [0, 2, 1] : <[b, 9, 32], f32> -> <[b, 32, 9], f32>
  %3 = smelt.reduce max %2 axes [2] : <[b, 32, 9], f32> -> <[b, 32, 1], f32>
  return %1, %2, %3 : !smelt.tensor<[b, 96, 1, 1], f16>, !smelt.tensor<[b, 32, 9], f32>, !smelt.tensor<[b, 32, 1], f32>
}

// What is transposed is summed up by rows as they lie; not where the axes are not the last of what lies there.
// CHECK-LABEL: func @reduce_of_transpose
func.func @reduce_of_transpose(%x: !smelt.tensor<[b, 5, 77], i32>, %y: !smelt.tensor<[2, 3, 5, 77], f32>, %z: !smelt.tensor<[b, 5, 77], i32>)
    -> (!smelt.tensor<[b, 1, 5], i32>, !smelt.tensor<[1, 3, 1, 2], f32>, !smelt.tensor<[1, b, 77], i32>) {
  // CHECK-DAG: %[[X:.*]] = smelt.reduce  sum %arg0 axes [2] : <[b, 5, 77], i32> -> <[b, 5, 1], i32>
  // CHECK-DAG: smelt.reshape %[[X]] : <[b, 5, 1], i32> -> <[b, 1, 5], i32>
  // CHECK-DAG: %[[Y:.*]] = smelt.transpose %arg1 [1, 0, 2, 3]
  // CHECK-DAG: smelt.reduce  max %[[Y]] axes [2, 3] : <[3, 2, 5, 77], f32> -> <[3, 2, 1, 1], f32>
  // CHECK-DAG: smelt.reduce  sum %{{.*}} axes [0] : <[5, b, 77], i32> -> <[1, b, 77], i32>
  // CHECK: return
  %0 = smelt.transpose %x [0, 2, 1] : <[b, 5, 77], i32> -> <[b, 77, 5], i32>
  %1 = smelt.reduce sum %0 axes [1] : <[b, 77, 5], i32> -> <[b, 1, 5], i32>
  %2 = smelt.transpose %y [3, 1, 2, 0] : <[2, 3, 5, 77], f32> -> <[77, 3, 5, 2], f32>
  %3 = smelt.reduce max %2 axes [0, 2] : <[77, 3, 5, 2], f32> -> <[1, 3, 1, 2], f32>
  %4 = smelt.transpose %z [1, 0, 2] : <[b, 5, 77], i32> -> <[5, b, 77], i32>
  %5 = smelt.reduce sum %4 axes [0] : <[5, b, 77], i32> -> <[1, b, 77], i32>
  return %1, %3, %5 : !smelt.tensor<[b, 1, 5], i32>, !smelt.tensor<[1, 3, 1, 2], f32>, !smelt.tensor<[1, b, 77], i32>
}
