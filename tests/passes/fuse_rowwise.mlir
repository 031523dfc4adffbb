// RUN: smelt-opt %s --smelt-fuse-rowwise | FileCheck %s

// Lookup, sum and norm are one kernel; the sum, which a residual connection reads too, is its second result.
// CHECK-LABEL: @embedding
// CHECK: %[[F:.*]]:2 = smelt.fusion rowwise(
// CHECK-COUNT-2: smelt.gather
// CHECK: smelt.add
// CHECK: smelt.layer_norm
// CHECK: smelt.yield
// CHECK: smelt.matmul %[[F]]#1
// CHECK: smelt.add %{{.*}}, %[[F]]#0
func.func @embedding(%ids: !smelt.tensor<[b, s], i64>, %positions: !smelt.tensor<[1, s], i64>) -> !smelt.tensor<[b, s, 64], f16> {
  %words = smelt.weight "words" <"w.bin", 0, 128000, ""> : <[1000, 64], f16>
  %places = smelt.weight "places" <"w.bin", 128000, 65536, ""> : <[512, 64], f16>
  %scale = smelt.weight "scale" <"w.bin", 193536, 128, ""> : <[64], f16>
  %w = smelt.weight "w" <"w.bin", 193664, 8192, ""> : <[64, 64], f16>
  %0 = smelt.gather %words, %ids axis 0 : <[1000, 64], f16>, <[b, s], i64> -> <[b, s, 64], f16>
  %1 = smelt.gather %places, %positions axis 0 : <[512, 64], f16>, <[1, s], i64> -> <[1, s, 64], f16>
  %2 = smelt.add %0, %1 : <[b, s, 64], f16>, <[1, s, 64], f16> -> <[b, s, 64], f16>
  %3 = smelt.layer_norm %2 scale %scale : !smelt.tensor<[64], f16> axis 2 {epsilon = 1.0e-5 : f32} : <[b, s, 64], f16> -> <[b, s, 64], f16>
  %4 = smelt.matmul %3, %w : <[b, s, 64], f16>, <[64, 64], f16> -> <[b, s, 64], f16>
  %5 = smelt.add %4, %2 : <[b, s, 64], f16>, <[b, s, 64], f16> -> <[b, s, 64], f16>
  return %5 : !smelt.tensor<[b, s, 64], f16>
}

// A softmax over the last axis is rowwise, over another axis not.
// CHECK-LABEL: @axes
// CHECK: smelt.fusion rowwise
// CHECK: smelt.softmax {{.*}} axis 1
// CHECK: smelt.yield
// CHECK: smelt.softmax {{.*}} axis 0
func.func @axes(%x: !smelt.tensor<[a, b], f32>) -> !smelt.tensor<[a, b], f32> {
  %0 = smelt.softmax %x axis 1 : <[a, b], f32>
  %1 = smelt.softmax %0 axis 0 : <[a, b], f32>
  return %1 : !smelt.tensor<[a, b], f32>
}
