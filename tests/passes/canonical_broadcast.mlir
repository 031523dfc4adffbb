// RUN: smelt-opt %s --smelt-simplify-canonical | FileCheck %s

// Broadcasting is implicit: expands, leading ones and uniform constants of any shape go.
// CHECK-LABEL: func @implicit
func.func @implicit(%x: !smelt.tensor<[b, s, 8], f32>, %y: !smelt.tensor<[8], f32>, %z: !smelt.tensor<[b, 1, 8], f32>) -> !smelt.tensor<[b, s, 8], f32> {
  %two = smelt.constant dense<3.0> : tensor<1x1x1xf32> : <[1, 1, 1], f32>
  %0 = smelt.reshape %y : <[8], f32> -> <[1, 1, 8], f32>
  %1 = smelt.add %x, %0 : <[b, s, 8], f32>, <[1, 1, 8], f32> -> <[b, s, 8], f32>
  %2 = smelt.expand %z : <[b, 1, 8], f32> -> <[b, s, 8], f32>
  %3 = smelt.mul %1, %2 : <[b, s, 8], f32>, <[b, s, 8], f32> -> <[b, s, 8], f32>
  %4 = smelt.mul %3, %two : <[b, s, 8], f32>, <[1, 1, 1], f32> -> <[b, s, 8], f32>
  // CHECK-NEXT: %[[C:.*]] = smelt.constant dense<3.000000e+00> : tensor<f32> : <[], f32>
  // CHECK-NEXT: %[[A:.*]] = smelt.add %arg0, %arg1
  // CHECK-NEXT: %[[M:.*]] = smelt.mul %[[A]], %arg2
  // CHECK-NEXT: smelt.mul %[[M]], %[[C]]
  return %4 : !smelt.tensor<[b, s, 8], f32>
}

// What is computed on repeated values is computed once and repeated.
// CHECK-LABEL: func @once
func.func @once(%mask: !smelt.tensor<[b, 1, 1, s], i1>) -> !smelt.tensor<[b, 1, s, s], f32> {
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %low = smelt.constant dense<-1.0e9> : tensor<f32> : <[], f32>
  %0 = smelt.expand %mask : <[b, 1, 1, s], i1> -> <[b, 1, s, s], i1>
  %1 = smelt.select %0, %zero, %low : <[b, 1, s, s], i1>, <[], f32>, <[], f32> -> <[b, 1, s, s], f32>
  // CHECK: %[[S:.*]] = smelt.select %arg0, %{{.*}} -> <[b, 1, 1, s], f32>
  // CHECK-NEXT: smelt.expand %[[S]] : <[b, 1, 1, s], f32> -> <[b, 1, s, s], f32>
  return %1 : !smelt.tensor<[b, 1, s, s], f32>
}

// Scores of one head take a mask of four axes without the axis of the head; so does what the mask is computed from.
// CHECK-LABEL: func @one_head
func.func @one_head(%scores: !smelt.tensor<[b, s, s], f32>, %mask: !smelt.tensor<[b, 1, s, s], i1>) -> !smelt.tensor<[b, 1, s, s], f32> {
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %low = smelt.constant dense<-1.0e9> : tensor<f32> : <[], f32>
  %0 = smelt.reshape %scores : <[b, s, s], f32> -> <[b, 1, s, s], f32>
  %1 = smelt.select %mask, %zero, %low : <[b, 1, s, s], i1>, <[], f32>, <[], f32> -> <[b, 1, s, s], f32>
  %2 = smelt.add %0, %1 : <[b, 1, s, s], f32>, <[b, 1, s, s], f32> -> <[b, 1, s, s], f32>
  // CHECK: %[[M:.*]] = smelt.reshape %arg1 : <[b, 1, s, s], i1> -> <[b, s, s], i1>
  // CHECK-NEXT: %[[B:.*]] = smelt.select %[[M]]
  // CHECK-NEXT: %[[S:.*]] = smelt.add %arg0, %[[B]] : {{.*}} -> <[b, s, s], f32>
  // CHECK-NEXT: smelt.reshape %[[S]] : <[b, s, s], f32> -> <[b, 1, s, s], f32>
  return %2 : !smelt.tensor<[b, 1, s, s], f32>
}

// Leading ones that only one operand brings come back below.
// CHECK-LABEL: func @leading_ones
func.func @leading_ones(%scores: !smelt.tensor<[4, s, s], f32>, %mask: !smelt.tensor<[1, 1, s, s], f32>) -> !smelt.tensor<[1, 4, s, s], f32> {
  %0 = smelt.add %scores, %mask : <[4, s, s], f32>, <[1, 1, s, s], f32> -> <[1, 4, s, s], f32>
  // CHECK-NEXT: %[[M:.*]] = smelt.reshape %arg1 : <[1, 1, s, s], f32> -> <[1, s, s], f32>
  // CHECK-NEXT: %[[S:.*]] = smelt.add %arg0, %[[M]] : {{.*}} -> <[4, s, s], f32>
  // CHECK-NEXT: smelt.reshape %[[S]]
  return %0 : !smelt.tensor<[1, 4, s, s], f32>
}

// Views sink below elementwise ops: a bias over the last axis, a scalar, the same view on both sides.
// CHECK-LABEL: func @sink
func.func @sink(%x: !smelt.tensor<[b, s, 4, 8], f32>, %bias: !smelt.tensor<[8], f32>) -> !smelt.tensor<[b, 4, s, 8], f32> {
  %half = smelt.constant dense<0.5> : tensor<f32> : <[], f32>
  %0 = smelt.reshape %x : <[b, s, 4, 8], f32> -> <[b*s, 4, 8], f32>
  %1 = smelt.add %0, %bias : <[b*s, 4, 8], f32>, <[8], f32> -> <[b*s, 4, 8], f32>
  %2 = smelt.reshape %1 : <[b*s, 4, 8], f32> -> <[b, s, 4, 8], f32>
  %3 = smelt.transpose %2 [0, 2, 1, 3] : <[b, s, 4, 8], f32> -> <[b, 4, s, 8], f32>
  %4 = smelt.tanh %3 : <[b, 4, s, 8], f32>
  %5 = smelt.mul %4, %half : <[b, 4, s, 8], f32>, <[], f32> -> <[b, 4, s, 8], f32>
  %6 = smelt.add %5, %3 : <[b, 4, s, 8], f32>, <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  // CHECK-NEXT: smelt.constant
  // CHECK-NEXT: %[[B:.*]] = smelt.add %arg0, %arg1
  // CHECK-NEXT: %[[T:.*]] = smelt.tanh %[[B]]
  // CHECK-NEXT: %[[M:.*]] = smelt.mul %[[T]]
  // CHECK-NEXT: %[[A:.*]] = smelt.add %[[M]], %[[B]]
  // CHECK-NEXT: smelt.transpose %[[A]] [0, 2, 1, 3]
  // CHECK-NEXT: return
  return %6 : !smelt.tensor<[b, 4, s, 8], f32>
}

// A bias along another axis takes the axis with it; a whole weight is transposed, which costs nothing at run time.
// CHECK-LABEL: func @weights
func.func @weights(%x: !smelt.tensor<[n, 14, 8], f32>, %bias: !smelt.tensor<[8, 1], f32>) -> !smelt.tensor<[n, 8, 14], f32> {
  %position = smelt.weight "position" <"w.bin", 0, 448, ""> : <[1, 8, 14], f32>
  %0 = smelt.transpose %x [0, 2, 1] : <[n, 14, 8], f32> -> <[n, 8, 14], f32>
  %1 = smelt.add %0, %bias : <[n, 8, 14], f32>, <[8, 1], f32> -> <[n, 8, 14], f32>
  %2 = smelt.add %position, %1 : <[1, 8, 14], f32>, <[n, 8, 14], f32> -> <[n, 8, 14], f32>
  // CHECK: %[[W:.*]] = smelt.weight
  // CHECK-NEXT: %[[B:.*]] = smelt.reshape %arg1 : <[8, 1], f32> -> <[8], f32>
  // CHECK-NEXT: %[[Y:.*]] = smelt.add %arg0, %[[B]]
  // CHECK: smelt.transpose %[[W]]
  // CHECK: %[[Z:.*]] = smelt.add %[[Y]]
  // CHECK-NEXT: smelt.transpose %[[Z]] [0, 2, 1]
  return %2 : !smelt.tensor<[n, 8, 14], f32>
}

// Two whole tensors of which only one was reshaped: neither takes the other's view.
// CHECK-LABEL: func @residual
func.func @residual(%x: !smelt.tensor<[n, 8], f32>, %y: !smelt.tensor<[n, 2, 4], f32>) -> !smelt.tensor<[n, 2, 4], f32> {
  // CHECK-NEXT: smelt.reshape
  // CHECK-NEXT: smelt.add
  // CHECK-NEXT: return
  %0 = smelt.reshape %x : <[n, 8], f32> -> <[n, 2, 4], f32>
  %1 = smelt.add %0, %y : <[n, 2, 4], f32>, <[n, 2, 4], f32> -> <[n, 2, 4], f32>
  return %1 : !smelt.tensor<[n, 2, 4], f32>
}
