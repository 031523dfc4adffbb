// RUN: smelt-opt %s --smelt-simplify-canonical | FileCheck %s
//
// What the families do together; each family has its own file canonical_*.mlir.

// K^T as torch writes it: the heads merged into the batch around a transpose.
// CHECK-LABEL: func @key_transposed
func.func @key_transposed(%k: !smelt.tensor<[b, 12, s, 64], f16>) -> !smelt.tensor<[b, 12, 64, s], f16> {
  %scale = smelt.constant dense<2.0> : tensor<f16> : !smelt.tensor<[], f16>
  %0 = smelt.reshape %k : !smelt.tensor<[b, 12, s, 64], f16> -> !smelt.tensor<[12*b, s, 64], f16>
  %1 = smelt.transpose %0 [0, 2, 1] : !smelt.tensor<[12*b, s, 64], f16> -> !smelt.tensor<[12*b, 64, s], f16>
  %2 = smelt.reshape %1 : !smelt.tensor<[12*b, 64, s], f16> -> !smelt.tensor<[b, 12, 64, s], f16>
  %3 = smelt.div %2, %scale : !smelt.tensor<[b, 12, 64, s], f16>, !smelt.tensor<[], f16> -> !smelt.tensor<[b, 12, 64, s], f16>
  // CHECK-NEXT: %[[HALF:.*]] = smelt.constant dense<5.000000e-01>
  // CHECK-NEXT: %[[M:.*]] = smelt.mul %arg0, %[[HALF]]
  // CHECK-NEXT: %[[T:.*]] = smelt.transpose %[[M]] [0, 1, 3, 2]
  // CHECK-NEXT: return %[[T]]
  return %3 : !smelt.tensor<[b, 12, 64, s], f16>
}

// A Gemm over flattened tokens, as GPT-2 exports have it, with an activation and a residual.
// CHECK-LABEL: func @flattened_gemm
func.func @flattened_gemm(%x: !smelt.tensor<[b, s, 768], f16>, %w: !smelt.tensor<[768, 768], f16>, %bias: !smelt.tensor<[768], f16>) -> !smelt.tensor<[b, s, 768], f16> {
  %0 = smelt.reshape %x : !smelt.tensor<[b, s, 768], f16> -> !smelt.tensor<[b*s, 768], f16>
  %1 = smelt.matmul %0, %w : !smelt.tensor<[b*s, 768], f16>, !smelt.tensor<[768, 768], f16> -> !smelt.tensor<[b*s, 768], f16>
  %2 = smelt.add %bias, %1 : !smelt.tensor<[768], f16>, !smelt.tensor<[b*s, 768], f16> -> !smelt.tensor<[b*s, 768], f16>
  %3 = smelt.gelu %2 : !smelt.tensor<[b*s, 768], f16>
  %4 = smelt.reshape %3 : !smelt.tensor<[b*s, 768], f16> -> !smelt.tensor<[b, s, 768], f16>
  %5 = smelt.add %4, %x : !smelt.tensor<[b, s, 768], f16>, !smelt.tensor<[b, s, 768], f16> -> !smelt.tensor<[b, s, 768], f16>
  // CHECK-NEXT: smelt.matmul %arg0, %arg1
  // CHECK-NEXT: smelt.add
  // CHECK-NEXT: smelt.gelu
  // CHECK-NEXT: smelt.add
  // CHECK-NEXT: return
  return %5 : !smelt.tensor<[b, s, 768], f16>
}

// Weights with the same bytes are one weight; what is computed from them alike is computed once.
// CHECK-LABEL: func @shared_weights
func.func @shared_weights(%x: !smelt.tensor<[4], f32>) -> (!smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>) attributes {test.not_interpreted = "missing weights are drawn by name, not by hash"} {
  // CHECK-NEXT: smelt.weight "a"
  %a = smelt.weight "a" <"m.onnx", 0, 16, "00ff"> : !smelt.tensor<[4], f32>
  %b = smelt.weight "b" <"m.onnx", 64, 16, "00ff"> : !smelt.tensor<[4], f32>
  // CHECK-NEXT: %[[Y:.*]] = smelt.add
  // CHECK-NEXT: return %[[Y]], %[[Y]]
  %0 = smelt.add %x, %a : !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32> -> !smelt.tensor<[4], f32>
  %1 = smelt.add %b, %x : !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32> -> !smelt.tensor<[4], f32>
  return %0, %1 : !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>
}

// Two weights of unknown bytes at different places stay two.
// CHECK-LABEL: func @unknown_weights
func.func @unknown_weights() -> (!smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>) {
  // CHECK: smelt.weight "a"
  // CHECK: smelt.weight "b"
  %a = smelt.weight "a" <"w.bin", 0, 16, ""> : !smelt.tensor<[4], f32>
  %b = smelt.weight "b" <"w.bin", 16, 16, ""> : !smelt.tensor<[4], f32>
  return %a, %b : !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32>
}
