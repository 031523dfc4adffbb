// RUN: smelt-opt %s --smelt-fuse-dequantization | FileCheck %s

// Two readers widen the bytes each for itself: all ops of the dequantisation.
// CHECK-LABEL: func @shared(
func.func @shared(%x: !smelt.tensor<[m, 77], ui8>, %y: !smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>) {
  // CHECK: %[[B0:.*]] = smelt.cast %arg0
  // CHECK-NEXT: %[[A0:.*]] = smelt.cast %arg0
  // CHECK-NEXT: %[[B1:.*]] = smelt.add %[[B0]], %[[ZERO:.*]] : <[m, 77], f32>, <[], f32>
  // CHECK-NEXT: %[[A1:.*]] = smelt.add %[[A0]], %[[ZERO]]
  // CHECK-NEXT: %[[B2:.*]] = smelt.mul %[[B1]], %[[SCALE:.*]] : <[m, 77], f32>, <[77], f32>
  // CHECK-NEXT: %[[A2:.*]] = smelt.mul %[[A1]], %[[SCALE]]
  // CHECK-NEXT: smelt.relu %[[A2]]
  // CHECK-NEXT: smelt.add %arg1, %[[B2]]
  // CHECK: return
  %scale = smelt.weight "scale" <"w.bin", 0, 308, ""> : <[77], f32>
  %zero = smelt.constant dense<-7.0> : tensor<f32> : <[], f32>
  %0 = smelt.cast %x : <[m, 77], ui8> -> <[m, 77], f32>
  %1 = smelt.add %0, %zero : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %2 = smelt.mul %1, %scale : <[m, 77], f32>, <[77], f32> -> <[m, 77], f32>
  %3 = smelt.relu %2 : <[m, 77], f32>
  %4 = smelt.add %y, %2 : <[m, 77], f32>, <[m, 77], f32> -> <[m, 77], f32>
  return %3, %4 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>
}

// Both operands of one op.
// CHECK-LABEL: func @square(
func.func @square(%x: !smelt.tensor<[1, 77], i8>) -> !smelt.tensor<[1, 77], f32> {
  // CHECK: %[[B:.*]] = smelt.cast %arg0
  // CHECK-NEXT: %[[A:.*]] = smelt.cast %arg0
  // CHECK-NEXT: smelt.mul %[[A]], %[[B]]
  %0 = smelt.cast %x : <[1, 77], i8> -> <[1, 77], f32>
  %1 = smelt.mul %0, %0 : <[1, 77], f32>, <[1, 77], f32> -> <[1, 77], f32>
  return %1 : !smelt.tensor<[1, 77], f32>
}

// What is computed with another tensor, or is not of bytes, is computed once.
// CHECK-LABEL: func @computed_once(
func.func @computed_once(%x: !smelt.tensor<[m, 77], i8>, %y: !smelt.tensor<[m, 77], f32>, %z: !smelt.tensor<[m, 77], i16>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>) {
  // CHECK-COUNT-2: smelt.cast
  // CHECK-NOT: smelt.cast
  // CHECK: return
  %0 = smelt.cast %x : <[m, 77], i8> -> <[m, 77], f32>
  %1 = smelt.mul %0, %y : <[m, 77], f32>, <[m, 77], f32> -> <[m, 77], f32>
  %2 = smelt.relu %1 : <[m, 77], f32>
  %3 = smelt.tanh %1 : <[m, 77], f32>
  %4 = smelt.cast %z : <[m, 77], i16> -> <[m, 77], f32>
  %5 = smelt.relu %4 : <[m, 77], f32>
  %6 = smelt.tanh %4 : <[m, 77], f32>
  return %2, %3, %5, %6 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>
}
