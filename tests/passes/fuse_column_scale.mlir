// RUN: smelt-opt %s --smelt-fuse-column-scale | FileCheck %s

// Many pixels, few columns: the weights of each image are scaled.
// CHECK-LABEL: @image
// CHECK: %[[COLUMN:.*]] = smelt.reshape %arg1 : <[b, 1, 1, 32], f16> -> <[b, 32, 1], f16>
// CHECK-NEXT: %[[WEIGHTS:.*]] = smelt.mul %[[COLUMN]], %w {{.*}} -> <[b, 32, 16], f16>
// CHECK-NEXT: %[[ROWS:.*]] = smelt.reshape %arg0 : <[b, 112, 112, 32], f16> -> <[b, 12544, 32], f16>
// CHECK-NEXT: %[[PRODUCT:.*]] = smelt.matmul %[[ROWS]], %[[WEIGHTS]]
// CHECK-NEXT: %[[RESULT:.*]] = smelt.reshape %[[PRODUCT]] {{.*}} -> <[b, 112, 112, 16], f16>
// CHECK-NEXT: smelt.add %[[RESULT]]
func.func @image(%x: !smelt.tensor<[b, 112, 112, 32], f16>, %s: !smelt.tensor<[b, 1, 1, 32], f16>) -> !smelt.tensor<[b, 112, 112, 16], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 1024, ""> : <[32, 16], f16>
  %b = smelt.weight "b" <"w.bin", 1024, 32, ""> : <[16], f16>
  %0 = smelt.mul %s, %x : <[b, 1, 1, 32], f16>, <[b, 112, 112, 32], f16> -> <[b, 112, 112, 32], f16>
  %1 = smelt.matmul %0, %w : <[b, 112, 112, 32], f16>, <[32, 16], f16> -> <[b, 112, 112, 16], f16>
  %2 = smelt.add %1, %b : <[b, 112, 112, 16], f16>, <[16], f16> -> <[b, 112, 112, 16], f16>
  return %2 : !smelt.tensor<[b, 112, 112, 16], f16>
}

// Few pixels; a scale of each pixel; an image that is read scaled by another, too: nothing changes.
// CHECK-LABEL: @others
// CHECK-COUNT-3: smelt.matmul %{{[0-9]+}}, %w
func.func @others(%x: !smelt.tensor<[b, 7, 7, 32], f16>, %y: !smelt.tensor<[b, 112, 112, 32], f16>, %s: !smelt.tensor<[b, 1, 1, 32], f16>, %t: !smelt.tensor<[b, 112, 112, 1], f16>) -> (!smelt.tensor<[b, 7, 7, 16], f16>, !smelt.tensor<[b, 112, 112, 16], f16>, !smelt.tensor<[b, 112, 112, 16], f16>, !smelt.tensor<[b, 112, 112, 32], f16>) {
  %w = smelt.weight "w" <"w.bin", 0, 1024, ""> : <[32, 16], f16>
  %0 = smelt.mul %x, %s : <[b, 7, 7, 32], f16>, <[b, 1, 1, 32], f16> -> <[b, 7, 7, 32], f16>
  %1 = smelt.matmul %0, %w : <[b, 7, 7, 32], f16>, <[32, 16], f16> -> <[b, 7, 7, 16], f16>
  %2 = smelt.mul %y, %t : <[b, 112, 112, 32], f16>, <[b, 112, 112, 1], f16> -> <[b, 112, 112, 32], f16>
  %3 = smelt.matmul %2, %w : <[b, 112, 112, 32], f16>, <[32, 16], f16> -> <[b, 112, 112, 16], f16>
  %4 = smelt.mul %y, %s : <[b, 112, 112, 32], f16>, <[b, 1, 1, 32], f16> -> <[b, 112, 112, 32], f16>
  %5 = smelt.matmul %4, %w : <[b, 112, 112, 32], f16>, <[32, 16], f16> -> <[b, 112, 112, 16], f16>
  return %1, %3, %5, %4 : !smelt.tensor<[b, 7, 7, 16], f16>, !smelt.tensor<[b, 112, 112, 16], f16>, !smelt.tensor<[b, 112, 112, 16], f16>, !smelt.tensor<[b, 112, 112, 32], f16>
}
