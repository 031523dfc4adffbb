// RUN: smelt-opt %s --smelt-simplify-canonical | FileCheck %s

// Tokens stay unflattened around a product with a weight, also where heads merge on the way.
// CHECK-LABEL: func @flattened
func.func @flattened(%x: !smelt.tensor<[b, s, 4, 8], f32>, %w: !smelt.tensor<[32, 16], f32>) -> !smelt.tensor<[b, s, 16], f32> {
  %0 = smelt.reshape %x : <[b, s, 4, 8], f32> -> <[b*s, 32], f32>
  %1 = smelt.matmul %0, %w : <[b*s, 32], f32>, <[32, 16], f32> -> <[b*s, 16], f32>
  %2 = smelt.reshape %1 : <[b*s, 16], f32> -> <[b, s, 16], f32>
  // CHECK-NEXT: %[[X:.*]] = smelt.reshape %arg0 : <[b, s, 4, 8], f32> -> <[b, s, 32], f32>
  // CHECK-NEXT: smelt.matmul %[[X]], %arg1 : {{.*}} -> <[b, s, 16], f32>
  // CHECK-NEXT: return
  return %2 : !smelt.tensor<[b, s, 16], f32>
}

// Heads merged into the batch around batched products and a softmax, as BMM exports have them.
// CHECK-LABEL: func @merged_heads
func.func @merged_heads(%q: !smelt.tensor<[b, 4, s, 8], f32>, %kt: !smelt.tensor<[b, 4, 8, s], f32>) -> !smelt.tensor<[b, 4, s, s], f32> {
  %0 = smelt.reshape %q : <[b, 4, s, 8], f32> -> <[4*b, s, 8], f32>
  %1 = smelt.reshape %kt : <[b, 4, 8, s], f32> -> <[4*b, 8, s], f32>
  %2 = smelt.matmul %0, %1 : <[4*b, s, 8], f32>, <[4*b, 8, s], f32> -> <[4*b, s, s], f32>
  %3 = smelt.softmax %2 axis 2 : <[4*b, s, s], f32>
  %4 = smelt.reshape %3 : <[4*b, s, s], f32> -> <[b, 4, s, s], f32>
  // CHECK-NEXT: %[[S:.*]] = smelt.matmul %arg0, %arg1
  // CHECK-NEXT: smelt.softmax %[[S]] axis 3
  // CHECK-NEXT: return
  return %4 : !smelt.tensor<[b, 4, s, s], f32>
}

// Sums that stay in f32 do so wherever the reshapes go.
// CHECK-LABEL: func @wide_sums
func.func @wide_sums(%q: !smelt.tensor<[1, 2, 8, n], f16>, %k: !smelt.tensor<[2, n, 8], f16>) -> !smelt.tensor<[1, 2, 8, 8], f32> {
  %0 = smelt.reshape %k : <[2, n, 8], f16> -> <[1, 2, n, 8], f16>
  %1 = smelt.matmul %q, %0 : <[1, 2, 8, n], f16>, <[1, 2, n, 8], f16> -> <[1, 2, 8, 8], f32>
  // CHECK: smelt.matmul {{.*}} -> <[2, 8, 8], f32>
  // CHECK-NEXT: smelt.reshape {{.*}} -> <[1, 2, 8, 8], f32>
  return %1 : !smelt.tensor<[1, 2, 8, 8], f32>
}

// A batch axis of size 1 is dropped before a product and comes back below the softmax.
// CHECK-LABEL: func @unit_batch
func.func @unit_batch(%q: !smelt.tensor<[1, b, 4, s, 8], f32>, %kt: !smelt.tensor<[4, 8, s], f32>) -> !smelt.tensor<[1, b, 4, s, s], f32> {
  %0 = smelt.matmul %q, %kt : <[1, b, 4, s, 8], f32>, <[4, 8, s], f32> -> <[1, b, 4, s, s], f32>
  %1 = smelt.softmax %0 axis 4 : <[1, b, 4, s, s], f32>
  // CHECK-NEXT: %[[Q:.*]] = smelt.reshape %arg0 : <[1, b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  // CHECK-NEXT: %[[S:.*]] = smelt.matmul %[[Q]], %arg1
  // CHECK-NEXT: %[[P:.*]] = smelt.softmax %[[S]] axis 3
  // CHECK-NEXT: smelt.reshape %[[P]] : <[b, 4, s, s], f32> -> <[1, b, 4, s, s], f32>
  // CHECK-NEXT: return
  return %1 : !smelt.tensor<[1, b, 4, s, s], f32>
}

// So it is where the other side has no batch.
// CHECK-LABEL: func @unit_batch_of_one_side
func.func @unit_batch_of_one_side(%x: !smelt.tensor<[1, 1, 7, 16], f32>, %w: !smelt.tensor<[16, 10], f32>) -> !smelt.tensor<[1, 1, 7, 10], f32> {
  %0 = smelt.matmul %x, %w : <[1, 1, 7, 16], f32>, <[16, 10], f32> -> <[1, 1, 7, 10], f32>
  // CHECK-NEXT: %[[X:.*]] = smelt.reshape %arg0 : <[1, 1, 7, 16], f32> -> <[7, 16], f32>
  // CHECK-NEXT: %[[Y:.*]] = smelt.matmul %[[X]], %arg1
  // CHECK-NEXT: smelt.reshape %[[Y]] : <[7, 10], f32> -> <[1, 1, 7, 10], f32>
  // CHECK-NEXT: return
  return %0 : !smelt.tensor<[1, 1, 7, 10], f32>
}

// A reduction of the last axis stands above a reshape of the others.
// CHECK-LABEL: func @reduction
func.func @reduction(%x: !smelt.tensor<[b, s, 8], f32>) -> !smelt.tensor<[b*s, 8], f32> {
  %0 = smelt.reshape %x : <[b, s, 8], f32> -> <[b*s, 8], f32>
  %1 = smelt.reduce max %0 axes [1] : <[b*s, 8], f32> -> <[b*s, 1], f32>
  %2 = smelt.sub %0, %1 : <[b*s, 8], f32>, <[b*s, 1], f32> -> <[b*s, 8], f32>
  // CHECK-NEXT: %[[M:.*]] = smelt.reduce max %arg0 axes [2]
  // CHECK-NEXT: %[[D:.*]] = smelt.sub %arg0, %[[M]]
  // CHECK-NEXT: smelt.reshape %[[D]]
  // CHECK-NEXT: return
  return %2 : !smelt.tensor<[b*s, 8], f32>
}

// A norm of flattened tokens.
// CHECK-LABEL: func @norm
func.func @norm(%x: !smelt.tensor<[b, s, 8], f32>, %g: !smelt.tensor<[8], f32>) -> !smelt.tensor<[b, s, 8], f32> {
  %0 = smelt.reshape %x : <[b, s, 8], f32> -> <[b*s, 8], f32>
  %1 = smelt.layer_norm %0 scale %g : !smelt.tensor<[8], f32> axis 1 {epsilon = 1.0e-5 : f32} : <[b*s, 8], f32> -> <[b*s, 8], f32>
  %2 = smelt.reshape %1 : <[b*s, 8], f32> -> <[b, s, 8], f32>
  // CHECK-NEXT: smelt.layer_norm %arg0 scale %arg1 : !smelt.tensor<[8], f32> axis 2
  // CHECK-NEXT: return
  return %2 : !smelt.tensor<[b, s, 8], f32>
}

// Leading ones of a weight and repeated batches are broadcasting's own.
// CHECK-LABEL: func @broadcast
func.func @broadcast(%x: !smelt.tensor<[b, s, 8], f32>, %w: !smelt.tensor<[8, 4], f32>) -> !smelt.tensor<[b, s, 4], f32> {
  %0 = smelt.reshape %w : <[8, 4], f32> -> <[1, 8, 4], f32>
  %1 = smelt.expand %0 : <[1, 8, 4], f32> -> <[b, 8, 4], f32>
  %2 = smelt.matmul %x, %1 : <[b, s, 8], f32>, <[b, 8, 4], f32> -> <[b, s, 4], f32>
  // CHECK-NEXT: smelt.matmul %arg0, %arg1
  // CHECK-NEXT: return
  return %2 : !smelt.tensor<[b, s, 4], f32>
}

// The last axis is torn apart: nothing moves.
// CHECK-LABEL: func @torn
func.func @torn(%x: !smelt.tensor<[b, 12], f32>, %w: !smelt.tensor<[4, 16], f32>) -> !smelt.tensor<[3*b, 16], f32> {
  // CHECK: smelt.reshape %arg0 : <[b, 12], f32> -> <[3*b, 4], f32>
  // CHECK-NEXT: smelt.matmul
  %0 = smelt.reshape %x : <[b, 12], f32> -> <[3*b, 4], f32>
  %1 = smelt.matmul %0, %w : <[3*b, 4], f32>, <[4, 16], f32> -> <[3*b, 16], f32>
  return %1 : !smelt.tensor<[3*b, 16], f32>
}

// Behind casts of 16 bits, though a reshape stands between: of one sequence, whose axis elementwise ops have lost.
// CHECK-LABEL: @attention_of_widened
// CHECK-NOT: smelt.cast
// CHECK: %[[Q:.*]] = smelt.reshape %arg0 : <[4, s, 16], f16> -> <[1, 4, s, 16], f16>
// CHECK-NOT: smelt.cast
// CHECK: smelt.attention %[[Q]], %arg1, %arg2 {{.*}} -> <[1, 4, s, 16], f32>
// CHECK: return
func.func @attention_of_widened(%q: !smelt.tensor<[4, s, 16], f16>, %k: !smelt.tensor<[1, 4, t, 16], f16>, %v: !smelt.tensor<[1, 4, t, 16], f16>) -> !smelt.tensor<[1, 4, s, 16], f32> {
  %q32 = smelt.cast %q : <[4, s, 16], f16> -> <[4, s, 16], f32>
  %q4 = smelt.reshape %q32 : <[4, s, 16], f32> -> <[1, 4, s, 16], f32>
  %k32 = smelt.cast %k : <[1, 4, t, 16], f16> -> <[1, 4, t, 16], f32>
  %v32 = smelt.cast %v : <[1, 4, t, 16], f16> -> <[1, 4, t, 16], f32>
  %a = smelt.attention %q4, %k32, %v32 {scale = 2.500000e-01 : f32} : <[1, 4, s, 16], f32>, <[1, 4, t, 16], f32>, <[1, 4, t, 16], f32> -> <[1, 4, s, 16], f32>
  return %a : !smelt.tensor<[1, 4, s, 16], f32>
}
