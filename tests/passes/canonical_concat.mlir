// RUN: smelt-opt %s --smelt-simplify-canonical | FileCheck %s

// CHECK-LABEL: func @flatten
func.func @flatten(%x: !smelt.tensor<[b, 4], f32>, %y: !smelt.tensor<[b, 2], f32>) -> (!smelt.tensor<[b, 10], f32>, !smelt.tensor<[b, 4], f32>) {
  %0 = smelt.concat %x, %y axis 1 : !smelt.tensor<[b, 4], f32>, !smelt.tensor<[b, 2], f32> -> <[b, 6], f32>
  %1 = smelt.concat %0, %x axis 1 : !smelt.tensor<[b, 6], f32>, !smelt.tensor<[b, 4], f32> -> <[b, 10], f32>
  %2 = smelt.concat %x axis 1 : !smelt.tensor<[b, 4], f32> -> <[b, 4], f32>
  // CHECK-NEXT: %[[C:.*]] = smelt.concat %arg0, %arg1, %arg0 axis 1
  // CHECK-NEXT: return %[[C]], %arg0
  return %1, %2 : !smelt.tensor<[b, 10], f32>, !smelt.tensor<[b, 4], f32>
}

// Neighbouring slices are one slice, here the whole; slices that leave a gap are not.
// CHECK-LABEL: func @join
func.func @join(%x: !smelt.tensor<[b, 8], f32>) -> (!smelt.tensor<[b, 8], f32>, !smelt.tensor<[b, 6], f32>) {
  %0 = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[b, 8], f32> -> <[b, 3], f32>
  %1 = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<3>] steps [1, 1] : <[b, 8], f32> -> <[b, 5], f32>
  %2 = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<5>] steps [1, 1] : <[b, 8], f32> -> <[b, 3], f32>
  %3 = smelt.concat %0, %1 axis 1 : !smelt.tensor<[b, 3], f32>, !smelt.tensor<[b, 5], f32> -> <[b, 8], f32>
  // CHECK: %[[GAP:.*]] = smelt.concat
  %4 = smelt.concat %0, %2 axis 1 : !smelt.tensor<[b, 3], f32>, !smelt.tensor<[b, 3], f32> -> <[b, 6], f32>
  // CHECK: return %arg0, %[[GAP]]
  return %3, %4 : !smelt.tensor<[b, 8], f32>, !smelt.tensor<[b, 6], f32>
}

// A slice reads the piece that it lies in, with symbolic sizes too; one that crosses two pieces stays.
// CHECK-LABEL: func @slice
func.func @slice(%x: !smelt.tensor<[s, 4], f32>, %y: !smelt.tensor<[t, 4], f32>) -> (!smelt.tensor<[t, 4], f32>, !smelt.tensor<[2, 4], f32>) {
  %0 = smelt.concat %x, %y axis 0 : !smelt.tensor<[s, 4], f32>, !smelt.tensor<[t, 4], f32> -> <[s + t, 4], f32>
  %1 = smelt.slice %0 starts [#smelt.dim<s>, #smelt.dim<0>] steps [1, 1] : <[s + t, 4], f32> -> <[t, 4], f32>
  // CHECK: %[[C:.*]] = smelt.concat
  // CHECK: %[[S:.*]] = smelt.slice %[[C]] starts [#smelt.dim<s - 1>
  %2 = smelt.slice %0 starts [#smelt.dim<s - 1>, #smelt.dim<0>] steps [1, 1] : <[s + t, 4], f32> -> <[2, 4], f32>
  // CHECK: return %arg1, %[[S]]
  return %1, %2 : !smelt.tensor<[t, 4], f32>, !smelt.tensor<[2, 4], f32>
}
