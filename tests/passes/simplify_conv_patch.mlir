// RUN: smelt-opt %s --smelt-simplify-conv-patch --smelt-simplify-canonical | FileCheck %s

// The patch embedding of a vision transformer, with the reshape and transpose to tokens that follow it.
// CHECK-LABEL: func @patch_embedding
func.func @patch_embedding(%x: !smelt.tensor<[n, 3, 224, 224], f16>, %f: !smelt.tensor<[768, 3, 16, 16], f16>, %b: !smelt.tensor<[768], f16>) -> !smelt.tensor<[n, 196, 768], f16> {
  %0 = smelt.conv %x, %f bias %b : !smelt.tensor<[768], f16> {strides = array<i64: 16, 16>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 3, 224, 224], f16>, <[768, 3, 16, 16], f16> -> <[n, 768, 14, 14], f16>
  %1 = smelt.reshape %0 : <[n, 768, 14, 14], f16> -> <[n, 768, 196], f16>
  %2 = smelt.transpose %1 [0, 2, 1] : <[n, 768, 196], f16> -> <[n, 196, 768], f16>
  // CHECK-NEXT: %[[CUT:.*]] = smelt.reshape %arg0 : <[n, 3, 224, 224], f16> -> <[n, 3, 14, 16, 14, 16], f16>
  // CHECK-NEXT: %[[ORDERED:.*]] = smelt.transpose %[[CUT]] [0, 2, 4, 1, 3, 5]
  // CHECK-NEXT: %[[PATCHES:.*]] = smelt.reshape %[[ORDERED]] : {{.*}} -> <[n, 196, 768], f16>
  // CHECK-NEXT: %[[LAST:.*]] = smelt.transpose %arg1 [1, 2, 3, 0]
  // CHECK-NEXT: %[[MATRIX:.*]] = smelt.reshape %[[LAST]] : <[3, 16, 16, 768], f16> -> <[768, 768], f16>
  // CHECK-NEXT: %[[Y:.*]] = smelt.matmul %[[PATCHES]], %[[MATRIX]]
  // CHECK-NEXT: %[[Z:.*]] = smelt.add %[[Y]], %arg2
  // CHECK-NEXT: return %[[Z]]
  return %2 : !smelt.tensor<[n, 196, 768], f16>
}

// Overlapping windows, padding, a size that the kernel does not divide, an unknown size: they stay convolutions.
// CHECK-LABEL: func @other_convolutions
func.func @other_convolutions(%x: !smelt.tensor<[n, 3, 30, 30], f16>, %u: !smelt.tensor<[n, 3, w, w], f16>, %f: !smelt.tensor<[8, 3, 4, 4], f16>) -> (!smelt.tensor<[n, 8, 14, 14], f16>, !smelt.tensor<[n, 8, 8, 8], f16>, !smelt.tensor<[n, 8, 7, 7], f16>, !smelt.tensor<[n, 8, floordiv(w - 4, 4) + 1, floordiv(w - 4, 4) + 1], f16>) {
  // CHECK-COUNT-4: smelt.conv
  %0 = smelt.conv %x, %f {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 3, 30, 30], f16>, <[8, 3, 4, 4], f16> -> <[n, 8, 14, 14], f16>
  %1 = smelt.conv %x, %f {strides = array<i64: 4, 4>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 3, 30, 30], f16>, <[8, 3, 4, 4], f16> -> <[n, 8, 8, 8], f16>
  %2 = smelt.conv %x, %f {strides = array<i64: 4, 4>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 3, 30, 30], f16>, <[8, 3, 4, 4], f16> -> <[n, 8, 7, 7], f16>
  %3 = smelt.conv %u, %f {strides = array<i64: 4, 4>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 3, w, w], f16>, <[8, 3, 4, 4], f16> -> <[n, 8, floordiv(w - 4, 4) + 1, floordiv(w - 4, 4) + 1], f16>
  return %0, %1, %2, %3 : !smelt.tensor<[n, 8, 14, 14], f16>, !smelt.tensor<[n, 8, 8, 8], f16>, !smelt.tensor<[n, 8, 7, 7], f16>, !smelt.tensor<[n, 8, floordiv(w - 4, 4) + 1, floordiv(w - 4, 4) + 1], f16>
}

// An image whose channels were stored last: a patch is its pixels' channels one after the other.
// CHECK-LABEL: func @channels_last
func.func @channels_last(%x: !smelt.tensor<[n, 8, 6, 32], f16>, %f: !smelt.tensor<[48, 32, 2, 2], f16>) -> !smelt.tensor<[n, 48, 4, 3], f16> {
  // CHECK-NEXT: %[[CUT:.*]] = smelt.reshape %arg0 : <[n, 8, 6, 32], f16> -> <[n, 4, 2, 3, 2, 32], f16>
  // CHECK-NEXT: %[[ORDERED:.*]] = smelt.transpose %[[CUT]] [0, 1, 3, 2, 4, 5]
  // CHECK-NEXT: %[[PATCHES:.*]] = smelt.reshape %[[ORDERED]] : {{.*}} -> <[n, 12, 128], f16>
  // CHECK-NEXT: %[[LAST:.*]] = smelt.transpose %arg1 [2, 3, 1, 0]
  // CHECK-NEXT: %[[MATRIX:.*]] = smelt.reshape %[[LAST]] : <[2, 2, 32, 48], f16> -> <[128, 48], f16>
  // CHECK-NEXT: smelt.matmul %[[PATCHES]], %[[MATRIX]]
  %0 = smelt.transpose %x [0, 3, 1, 2] : <[n, 8, 6, 32], f16> -> <[n, 32, 8, 6], f16>
  %1 = smelt.conv %0, %f {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 32, 8, 6], f16>, <[48, 32, 2, 2], f16> -> <[n, 48, 4, 3], f16>
  return %1 : !smelt.tensor<[n, 48, 4, 3], f16>
}
