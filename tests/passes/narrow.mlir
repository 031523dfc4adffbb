// RUN: smelt-opt %s --smelt-narrow=type=f16 --split-input-file | FileCheck %s
// RUN: smelt-opt %s --smelt-narrow=type=bf16 --split-input-file | FileCheck %s --check-prefix=BF16
// RUN: not smelt-opt %s --smelt-narrow 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: narrow needs a type, f16 or bf16

// A product, its bias and its activation; the output's type stays, and its sums are not rounded.
// CHECK-LABEL: func @chain
// BF16-LABEL: func @chain
func.func @chain(%x: !smelt.tensor<[b, 64], f32>, %w: !smelt.tensor<[64, 32], f32>, %v: !smelt.tensor<[32, 16], f32>) -> !smelt.tensor<[b, 16], f32> {
  // BF16: smelt.matmul {{.*}} : <[b, 64], bf16>, <[64, 32], bf16> -> <[b, 32], bf16>
  // CHECK-DAG: %[[X:.*]] = smelt.cast %arg0 : <[b, 64], f32> -> <[b, 64], f16>
  // CHECK-DAG: %[[W:.*]] = smelt.cast %arg1
  // CHECK-DAG: %[[V:.*]] = smelt.cast %arg2
  // CHECK: %[[H:.*]] = smelt.matmul %[[X]], %[[W]] : <[b, 64], f16>, <[64, 32], f16> -> <[b, 32], f16>
  %0 = smelt.matmul %x, %w : <[b, 64], f32>, <[64, 32], f32> -> <[b, 32], f32>
  // CHECK-NEXT: %[[G:.*]] = smelt.gelu %[[H]] : <[b, 32], f16>
  %1 = smelt.gelu %0 : <[b, 32], f32>
  // CHECK-NEXT: %[[Y:.*]] = smelt.matmul %[[G]], %[[V]] : <[b, 32], f16>, <[32, 16], f16> -> <[b, 16], f32>
  %2 = smelt.matmul %1, %v : <[b, 32], f32>, <[32, 16], f32> -> <[b, 16], f32>
  // CHECK-NEXT: return %[[Y]]
  return %2 : !smelt.tensor<[b, 16], f32>
}

// -----
// Sums and exponentials stay wide, between narrow products.
// CHECK-LABEL: func @wide_between
func.func @wide_between(%x: !smelt.tensor<[b, 64], f32>, %w: !smelt.tensor<[64, 64], f32>) -> !smelt.tensor<[b, 64], f32> {
  // CHECK: %[[P:.*]] = smelt.matmul {{.*}} -> <[b, 64], f32>
  %0 = smelt.matmul %x, %w : <[b, 64], f32>, <[64, 64], f32> -> <[b, 64], f32>
  // CHECK-NEXT: %[[E:.*]] = smelt.exp %[[P]] : <[b, 64], f32>
  // CHECK-NEXT: %[[C:.*]] = smelt.cast %[[E]] : <[b, 64], f32> -> <[b, 64], f16>
  %1 = smelt.exp %0 : <[b, 64], f32>
  // CHECK-NEXT: smelt.matmul %[[C]]
  %2 = smelt.matmul %1, %w : <[b, 64], f32>, <[64, 64], f32> -> <[b, 64], f32>
  // CHECK-NEXT: smelt.reduce sum {{.*}} : <[b, 64], f32>
  %3 = smelt.reduce sum %2 axes [1] : <[b, 64], f32> -> <[b, 1], f32>
  %4 = smelt.div %2, %3 : <[b, 64], f32>, <[b, 1], f32> -> <[b, 64], f32>
  return %4 : !smelt.tensor<[b, 64], f32>
}

// -----
// The angles of rotary embeddings are products of positions: an f16 counts to 2048 only.
// CHECK: refused "16 bits"
// CHECK-LABEL: func @positions
// CHECK-NOT: f16
func.func @positions(%ids: !smelt.tensor<[b, 1, s], i64>) -> !smelt.tensor<[b, 4, s], f32> {
  %f = smelt.constant dense<[[[1.0], [0.1], [0.01], [0.001]]]> : tensor<1x4x1xf32> : !smelt.tensor<[1, 4, 1], f32>
  %0 = smelt.cast %ids : <[b, 1, s], i64> -> <[b, 1, s], f32>
  %1 = smelt.matmul %f, %0 : <[1, 4, 1], f32>, <[b, 1, s], f32> -> <[b, 4, s], f32>
  %2 = smelt.cos %1 : <[b, 4, s], f32>
  return %2 : !smelt.tensor<[b, 4, s], f32>
}

// -----
// A mask of numbers beyond f16 is added as it is; bf16 has their range, but positions stay exact.
// CHECK-LABEL: func @masked
// BF16-LABEL: func @masked
func.func @masked(%q: !smelt.tensor<[b, 2, s, 16], f32>, %k: !smelt.tensor<[b, 2, s, 16], f32>, %v: !smelt.tensor<[b, 2, s, 16], f32>, %m: !smelt.tensor<[b, 1, 1, s], i1>, %w: !smelt.tensor<[16, 16], f32>) -> !smelt.tensor<[b, 2, s, 16], f32> {
  %zero = smelt.constant dense<0.0> : tensor<f32> : !smelt.tensor<[], f32>
  %large = smelt.constant dense<-3.4e38> : tensor<f32> : !smelt.tensor<[], f32>
  %bias = smelt.select %m, %zero, %large : <[b, 1, 1, s], i1>, <[], f32>, <[], f32> -> <[b, 1, 1, s], f32>
  // CHECK: smelt.attention {{.*}} bias %{{.*}} : !smelt.tensor<[b, 1, 1, s], f32>
  // CHECK-SAME: <[b, 2, s, 16], f16>
  // BF16: smelt.attention {{.*}} bias
  %0 = smelt.attention %q, %k, %v bias %bias : !smelt.tensor<[b, 1, 1, s], f32> {scale = 0.25 : f32} : <[b, 2, s, 16], f32>, <[b, 2, s, 16], f32>, <[b, 2, s, 16], f32> -> <[b, 2, s, 16], f32>
  %1 = smelt.matmul %0, %w : <[b, 2, s, 16], f32>, <[16, 16], f32> -> <[b, 2, s, 16], f32>
  return %1 : !smelt.tensor<[b, 2, s, 16], f32>
}

// -----
// A sum with a number that f16 rounds to 0 stays wide; bf16 has it.
// CHECK-LABEL: func @tiny
// BF16-LABEL: func @tiny
func.func @tiny(%x: !smelt.tensor<[b, 64], f32>, %w: !smelt.tensor<[64, 64], f32>) -> !smelt.tensor<[b, 64], f32> {
  %epsilon = smelt.constant dense<1.0e-12> : tensor<f32> : !smelt.tensor<[], f32>
  %0 = smelt.matmul %x, %w : <[b, 64], f32>, <[64, 64], f32> -> <[b, 64], f32>
  // CHECK: smelt.add {{.*}} : <[b, 64], f32>, <[], f32> -> <[b, 64], f32>
  // CHECK: smelt.matmul {{.*}} : <[b, 64], f16>
  // BF16: smelt.add {{.*}} : <[b, 64], bf16>, <[], bf16> -> <[b, 64], bf16>
  %1 = smelt.add %0, %epsilon : <[b, 64], f32>, <[], f32> -> <[b, 64], f32>
  %2 = smelt.matmul %1, %w : <[b, 64], f32>, <[64, 64], f32> -> <[b, 64], f32>
  return %2 : !smelt.tensor<[b, 64], f32>
}

// -----
// What was measured to need float32 keeps it, and a table's rows are as narrow as what reads them.
// CHECK-LABEL: func @kept
func.func @kept(%ids: !smelt.tensor<[b, s], i64>) -> !smelt.tensor<[b, s, 8], f32> {
  %table = smelt.weight "table" <"w.bin", 0, 3200, ""> : !smelt.tensor<[100, 8], f32>
  %w = smelt.weight "w" <"w.bin", 3200, 256, ""> : !smelt.tensor<[8, 8], f32>
  // CHECK: smelt.gather {{.*}} : <[100, 8], f16>, <[b, s], i64> -> <[b, s, 8], f16>
  %0 = smelt.gather %table, %ids axis 0 : <[100, 8], f32>, <[b, s], i64> -> <[b, s, 8], f32>
  // CHECK: smelt.matmul {{.*}} : <[b, s, 8], f16>, <[8, 8], f16> -> <[b, s, 8], f32>
  %1 = smelt.matmul %0, %w : <[b, s, 8], f32>, <[8, 8], f32> -> <[b, s, 8], f32>
  // CHECK: smelt.layer_norm {{.*}} : <[b, s, 8], f32> -> <[b, s, 8], f32>
  // CHECK-NOT: keep_wide
  %2 = smelt.layer_norm %1 axis 2 {epsilon = 1.0e-5 : f32, smelt.keep_wide} : <[b, s, 8], f32> -> <[b, s, 8], f32>
  // CHECK: smelt.matmul {{.*}} : <[b, s, 8], f16>, <[8, 8], f16> -> <[b, s, 8], f32>
  %3 = smelt.matmul %2, %w : <[b, s, 8], f32>, <[8, 8], f32> -> <[b, s, 8], f32>
  return %3 : !smelt.tensor<[b, s, 8], f32>
}
