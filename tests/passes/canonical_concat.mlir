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

// The rows of a norm are brought into another order before it; not where something else reads the norm, and not along
// what it normalises.
// CHECK-LABEL: func @reorder
func.func @reorder(%x: !smelt.tensor<[b, 7, 8], f16>) -> (!smelt.tensor<[b, 7, 8], f16>, !smelt.tensor<[b, 7, 8], f16>) {
  %scale = smelt.weight "scale" <"w.bin", 0, 16, ""> : <[8], f16>
  // CHECK: %[[LAST:.*]] = smelt.slice %arg0 starts [#smelt.dim<0>, #smelt.dim<3>, #smelt.dim<0>]
  // CHECK: %[[FIRST:.*]] = smelt.slice %arg0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>]
  // CHECK: %[[ROWS:.*]] = smelt.concat %[[LAST]], %[[FIRST]] axis 1
  // CHECK: %[[NORM:.*]] = smelt.layer_norm %[[ROWS]]
  %0 = smelt.layer_norm %x scale %scale : !smelt.tensor<[8], f16> axis 2 {epsilon = 1.0e-5 : f32} : <[b, 7, 8], f16> -> <[b, 7, 8], f16>
  %1 = smelt.slice %0 starts [#smelt.dim<0>, #smelt.dim<3>, #smelt.dim<0>] steps [1, 1, 1] : <[b, 7, 8], f16> -> <[b, 4, 8], f16>
  %2 = smelt.slice %0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[b, 7, 8], f16> -> <[b, 3, 8], f16>
  %3 = smelt.concat %1, %2 axis 1 : !smelt.tensor<[b, 4, 8], f16>, !smelt.tensor<[b, 3, 8], f16> -> <[b, 7, 8], f16>
  // CHECK: %[[COLUMNS:.*]] = smelt.layer_norm %arg0
  // CHECK: %[[ROLLED:.*]] = smelt.concat {{.*}} axis 2
  %4 = smelt.layer_norm %x scale %scale : !smelt.tensor<[8], f16> axis 2 {epsilon = 1.0e-6 : f32} : <[b, 7, 8], f16> -> <[b, 7, 8], f16>
  %5 = smelt.slice %4 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<5>] steps [1, 1, 1] : <[b, 7, 8], f16> -> <[b, 7, 3], f16>
  %6 = smelt.slice %4 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[b, 7, 8], f16> -> <[b, 7, 5], f16>
  %7 = smelt.concat %5, %6 axis 2 : !smelt.tensor<[b, 7, 3], f16>, !smelt.tensor<[b, 7, 5], f16> -> <[b, 7, 8], f16>
  // CHECK: return %[[NORM]], %[[ROLLED]]
  return %3, %7 : !smelt.tensor<[b, 7, 8], f16>, !smelt.tensor<[b, 7, 8], f16>
}

// CHECK-LABEL: func @read_twice
func.func @read_twice(%x: !smelt.tensor<[b, 7, 8], f16>) -> (!smelt.tensor<[b, 7, 8], f16>, !smelt.tensor<[b, 7, 8], f16>) {
  %scale = smelt.weight "scale" <"w.bin", 0, 16, ""> : <[8], f16>
  // CHECK: %[[NORM:.*]] = smelt.layer_norm %arg0
  // CHECK: %[[ROLLED:.*]] = smelt.concat
  // CHECK: return %[[NORM]], %[[ROLLED]]
  %0 = smelt.layer_norm %x scale %scale : !smelt.tensor<[8], f16> axis 2 {epsilon = 1.0e-5 : f32} : <[b, 7, 8], f16> -> <[b, 7, 8], f16>
  %1 = smelt.slice %0 starts [#smelt.dim<0>, #smelt.dim<3>, #smelt.dim<0>] steps [1, 1, 1] : <[b, 7, 8], f16> -> <[b, 4, 8], f16>
  %2 = smelt.slice %0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[b, 7, 8], f16> -> <[b, 3, 8], f16>
  %3 = smelt.concat %1, %2 axis 1 : !smelt.tensor<[b, 4, 8], f16>, !smelt.tensor<[b, 3, 8], f16> -> <[b, 7, 8], f16>
  return %0, %3 : !smelt.tensor<[b, 7, 8], f16>, !smelt.tensor<[b, 7, 8], f16>
}
