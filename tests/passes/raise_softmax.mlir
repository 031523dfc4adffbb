// RUN: smelt-opt %s --smelt-raise-softmax | FileCheck %s

// CHECK-LABEL: func @with_maximum
func.func @with_maximum(%x: !smelt.tensor<[b, s, 16], f32>) -> !smelt.tensor<[b, s, 16], f32> {
  %max = smelt.reduce max %x axes [2] : <[b, s, 16], f32> -> <[b, s, 1], f32>
  %0 = smelt.sub %x, %max : <[b, s, 16], f32>, <[b, s, 1], f32> -> <[b, s, 16], f32>
  %1 = smelt.exp %0 : <[b, s, 16], f32>
  %sum = smelt.reduce sum %1 axes [2] : <[b, s, 16], f32> -> <[b, s, 1], f32>
  %2 = smelt.div %1, %sum : <[b, s, 16], f32>, <[b, s, 1], f32> -> <[b, s, 16], f32>
  // CHECK-NEXT: smelt.softmax %arg0 axis 2
  // CHECK-NEXT: return
  return %2 : !smelt.tensor<[b, s, 16], f32>
}

// CHECK-LABEL: func @without_maximum
func.func @without_maximum(%x: !smelt.tensor<[b, s, 16], f32>) -> !smelt.tensor<[b, s, 16], f32> {
  %0 = smelt.exp %x : <[b, s, 16], f32>
  %sum = smelt.reduce sum %0 axes [1] : <[b, s, 16], f32> -> <[b, 1, 16], f32>
  %1 = smelt.div %0, %sum : <[b, s, 16], f32>, <[b, 1, 16], f32> -> <[b, s, 16], f32>
  // CHECK-NEXT: smelt.softmax %arg0 axis 1
  // CHECK-NEXT: return
  return %1 : !smelt.tensor<[b, s, 16], f32>
}

// The sum runs over other elements.
// CHECK-LABEL: func @other_sum
func.func @other_sum(%x: !smelt.tensor<[b, s, 16], f32>, %y: !smelt.tensor<[b, s, 16], f32>) -> !smelt.tensor<[b, s, 16], f32> {
  %0 = smelt.exp %x : <[b, s, 16], f32>
  %1 = smelt.exp %y : <[b, s, 16], f32>
  %sum = smelt.reduce sum %1 axes [2] : <[b, s, 16], f32> -> <[b, s, 1], f32>
  // CHECK: smelt.div
  %2 = smelt.div %0, %sum : <[b, s, 16], f32>, <[b, s, 1], f32> -> <[b, s, 16], f32>
  return %2 : !smelt.tensor<[b, s, 16], f32>
}
