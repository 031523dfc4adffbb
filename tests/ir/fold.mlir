// The ops' own folds: identities and chains of one kind of view.
// RUN: smelt-opt --canonicalize %s | FileCheck %s

// CHECK-LABEL: func.func @views
func.func @views(%x: !smelt.tensor<[n, 6, 4], f32>) -> (!smelt.tensor<[n, 6, 4], f32>, !smelt.tensor<[n*24], f32>, !smelt.tensor<[4, n, 6], f32>, !smelt.tensor<[n, 6, 4], f32>) {
  %0 = smelt.reshape %x : !smelt.tensor<[n, 6, 4], f32> -> !smelt.tensor<[n, 24], f32>
  %1 = smelt.reshape %0 : !smelt.tensor<[n, 24], f32> -> !smelt.tensor<[n, 6, 4], f32>
  // CHECK: %[[FLAT:.*]] = smelt.reshape %arg0 : <[n, 6, 4], f32> -> <[24*n], f32>
  %2 = smelt.reshape %0 : !smelt.tensor<[n, 24], f32> -> !smelt.tensor<[n*24], f32>
  // CHECK: %[[TURNED:.*]] = smelt.transpose %arg0 [2, 0, 1]
  %3 = smelt.transpose %x [1, 2, 0] : !smelt.tensor<[n, 6, 4], f32> -> !smelt.tensor<[6, 4, n], f32>
  %4 = smelt.transpose %3 [1, 2, 0] : !smelt.tensor<[6, 4, n], f32> -> !smelt.tensor<[4, n, 6], f32>
  %5 = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : !smelt.tensor<[n, 6, 4], f32> -> !smelt.tensor<[n, 6, 4], f32>
  // CHECK: return %arg0, %[[FLAT]], %[[TURNED]], %arg0
  return %1, %2, %4, %5 : !smelt.tensor<[n, 6, 4], f32>, !smelt.tensor<[n*24], f32>, !smelt.tensor<[4, n, 6], f32>, !smelt.tensor<[n, 6, 4], f32>
}

// CHECK-LABEL: func.func @identities
func.func @identities(%x: !smelt.tensor<[n], f32>) -> (!smelt.tensor<[n], f32>, !smelt.tensor<[n], f32>, !smelt.tensor<[n], f32>) {
  %0 = smelt.cast %x : !smelt.tensor<[n], f32> -> !smelt.tensor<[n], f32>
  %1 = smelt.concat %x axis 0 : !smelt.tensor<[n], f32> -> !smelt.tensor<[n], f32>
  %2 = smelt.expand %x : !smelt.tensor<[n], f32> -> !smelt.tensor<[n], f32>
  // CHECK-NEXT: return %arg0, %arg0, %arg0
  return %0, %1, %2 : !smelt.tensor<[n], f32>, !smelt.tensor<[n], f32>, !smelt.tensor<[n], f32>
}
