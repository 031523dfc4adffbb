// RUN: smelt-opt %s --smelt-fuse-gemm --smelt-fuse-rowwise | FileCheck %s

// A product that reads a norm window by window: the norm's kernel stores its rows in that order.
// CHECK-LABEL: @windows
// CHECK: %[[ROWS:.*]] = smelt.fusion rowwise(%arg0
// CHECK: smelt.layer_norm
// CHECK-NEXT: smelt.reshape
// CHECK-NEXT: smelt.transpose
// CHECK-NEXT: %[[ORDERED:.*]] = smelt.reshape {{.*}} -> <[b, 4, 49, 64], f16>
// CHECK-NEXT: smelt.yield %[[ORDERED]]
// CHECK: smelt.fusion gemm(%{{.*}}, %[[ROWS]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: smelt.transpose {{.*}} [1, 0]
// CHECK-NEXT: smelt.matmul
func.func @windows(%x: !smelt.tensor<[b, 14, 14, 64], f16>) -> !smelt.tensor<[b, 4, 49, 32], f16> {
  %scale = smelt.weight "scale" <"w.bin", 0, 128, ""> : <[64], f16>
  %w = smelt.weight "w" <"w.bin", 128, 4096, ""> : <[64, 32], f16>
  %0 = smelt.layer_norm %x scale %scale : !smelt.tensor<[64], f16> axis 3 {epsilon = 1.0e-5 : f32} : <[b, 14, 14, 64], f16> -> <[b, 14, 14, 64], f16>
  %1 = smelt.reshape %0 : <[b, 14, 14, 64], f16> -> <[b, 2, 7, 2, 7, 64], f16>
  %2 = smelt.transpose %1 [0, 1, 3, 2, 4, 5] : <[b, 2, 7, 2, 7, 64], f16> -> <[b, 2, 2, 7, 7, 64], f16>
  %3 = smelt.reshape %2 : <[b, 2, 2, 7, 7, 64], f16> -> <[b, 4, 49, 64], f16>
  %4 = smelt.matmul %3, %w : <[b, 4, 49, 64], f16>, <[64, 32], f16> -> <[b, 4, 49, 32], f16>
  return %4 : !smelt.tensor<[b, 4, 49, 32], f16>
}

// Patches of pixels are rows of the product, the norm's rows parts of them.
// CHECK-LABEL: @patches
// CHECK: smelt.fusion rowwise
// CHECK: smelt.rms_norm
// CHECK: smelt.transpose
// CHECK: -> <[b, 12, 128], f16>
// CHECK-NEXT: smelt.yield
// CHECK: smelt.fusion gemm
func.func @patches(%x: !smelt.tensor<[b, 8, 6, 32], f16>) -> !smelt.tensor<[b, 12, 48], f16> {
  %scale = smelt.weight "scale" <"w.bin", 0, 64, ""> : <[32], f16>
  %w = smelt.weight "w" <"w.bin", 64, 12288, ""> : <[128, 48], f16>
  %0 = smelt.rms_norm %x scale %scale : !smelt.tensor<[32], f16> axis 3 {epsilon = 1.0e-5 : f32} : <[b, 8, 6, 32], f16> -> <[b, 8, 6, 32], f16>
  %1 = smelt.reshape %0 : <[b, 8, 6, 32], f16> -> <[b, 4, 2, 3, 2, 32], f16>
  %2 = smelt.transpose %1 [0, 1, 3, 2, 4, 5] : <[b, 4, 2, 3, 2, 32], f16> -> <[b, 4, 3, 2, 2, 32], f16>
  %3 = smelt.reshape %2 : <[b, 4, 3, 2, 2, 32], f16> -> <[b, 12, 128], f16>
  %4 = smelt.matmul %3, %w : <[b, 12, 128], f16>, <[128, 48], f16> -> <[b, 12, 48], f16>
  return %4 : !smelt.tensor<[b, 12, 48], f16>
}

// Another reader wants the rows as they are; a transposition that takes neighbours apart would be stored one by one.
// CHECK-LABEL: @others
// CHECK: smelt.fusion rowwise
// CHECK: smelt.layer_norm
// CHECK-NEXT: smelt.yield
// CHECK: smelt.fusion gemm
// CHECK: smelt.transpose {{.*}} [1, 0, 2]
// CHECK: smelt.fusion rowwise
// CHECK: smelt.layer_norm
// CHECK-NEXT: smelt.yield
// CHECK: smelt.fusion gemm
// CHECK: smelt.transpose {{.*}} [0, 2, 1]
func.func @others(%x: !smelt.tensor<[a, b, 64], f16>, %y: !smelt.tensor<[a, 64, 32], f16>) -> (!smelt.tensor<[b, a, 32], f16>, !smelt.tensor<[a, b, 64], f16>, !smelt.tensor<[a, 32, 32], f16>) {
  %scale = smelt.weight "scale" <"w.bin", 0, 128, ""> : <[64], f16>
  %short = smelt.weight "short" <"w.bin", 0, 64, ""> : <[32], f16>
  %w = smelt.weight "w" <"w.bin", 128, 4096, ""> : <[64, 32], f16>
  %0 = smelt.layer_norm %x scale %scale : !smelt.tensor<[64], f16> axis 2 {epsilon = 1.0e-5 : f32} : <[a, b, 64], f16> -> <[a, b, 64], f16>
  %1 = smelt.transpose %0 [1, 0, 2] : <[a, b, 64], f16> -> <[b, a, 64], f16>
  %2 = smelt.matmul %1, %w : <[b, a, 64], f16>, <[64, 32], f16> -> <[b, a, 32], f16>
  %3 = smelt.layer_norm %y scale %short : !smelt.tensor<[32], f16> axis 2 {epsilon = 1.0e-5 : f32} : <[a, 64, 32], f16> -> <[a, 64, 32], f16>
  %4 = smelt.transpose %3 [0, 2, 1] : <[a, 64, 32], f16> -> <[a, 32, 64], f16>
  %5 = smelt.matmul %4, %w : <[a, 32, 64], f16>, <[64, 32], f16> -> <[a, 32, 32], f16>
  return %2, %0, %5 : !smelt.tensor<[b, a, 32], f16>, !smelt.tensor<[a, b, 64], f16>, !smelt.tensor<[a, 32, 32], f16>
}
