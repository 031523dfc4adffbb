// RUN: smelt-opt %s --smelt-simplify-quantized | FileCheck %s

// Floats of 8 bits, whose numbers were rounded to 16 on their way: they are multiplied, and the product is what is rounded.
// CHECK-LABEL: func @floats8(
func.func @floats8(%a: !smelt.tensor<[m, 77], f8E4M3FN>) -> !smelt.tensor<[m, 5], f16> {
  // CHECK: %[[W:.*]] = smelt.transpose %{{.*}} [1, 0] : <[5, 77], f8E5M2> -> <[77, 5], f8E5M2>
  // CHECK: %[[SUMS:.*]] = smelt.matmul %arg0, %[[W]] : <[m, 77], f8E4M3FN>, <[77, 5], f8E5M2> -> <[m, 5], f32>
  // CHECK-NEXT: %[[SCALE:.*]] = smelt.mul {{.*}} -> <[1, 5], f32>
  // CHECK-NEXT: %[[PRODUCT:.*]] = smelt.mul %[[SUMS]], %[[SCALE]]
  // CHECK-NEXT: %[[Y:.*]] = smelt.cast %[[PRODUCT]] : <[m, 5], f32> -> <[m, 5], f16>
  // CHECK-NEXT: return %[[Y]]
  %w = smelt.weight "w" <"w.bin", 0, 385, ""> : <[5, 77], f8E5M2>
  %sw = smelt.weight "sw" <"w.bin", 400, 20, ""> : <[5, 1], f32>
  %sa = smelt.constant dense<0.3> : tensor<f32> : <[], f32>
  %0 = smelt.cast %a : <[m, 77], f8E4M3FN> -> <[m, 77], f32>
  %1 = smelt.mul %0, %sa : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %2 = smelt.cast %1 : <[m, 77], f32> -> <[m, 77], f16>
  %3 = smelt.cast %w : <[5, 77], f8E5M2> -> <[5, 77], f32>
  %4 = smelt.mul %3, %sw : <[5, 77], f32>, <[5, 1], f32> -> <[5, 77], f32>
  %5 = smelt.cast %4 : <[5, 77], f32> -> <[5, 77], f16>
  %6 = smelt.transpose %5 [1, 0] : <[5, 77], f16> -> <[77, 5], f16>
  %7 = smelt.matmul %2, %6 : <[m, 77], f16>, <[77, 5], f16> -> <[m, 5], f16>
  return %7 : !smelt.tensor<[m, 5], f16>
}

// Casts alone: a scale of one, which later passes drop. A zero point of zero is none.
// CHECK-LABEL: func @floats8_without_scale(
func.func @floats8_without_scale(%a: !smelt.tensor<[m, 77], f8E5M2>) -> !smelt.tensor<[m, 5], bf16> {
  // CHECK: %[[SUMS:.*]] = smelt.matmul %arg0, %{{.*}} : <[m, 77], f8E5M2>, <[77, 5], f8E5M2> -> <[m, 5], f32>
  // CHECK-NEXT: %[[ONE:.*]] = smelt.constant dense<1.000000e+00>
  // CHECK-NEXT: %[[PRODUCT:.*]] = smelt.mul %[[SUMS]], %[[ONE]]
  // CHECK-NEXT: smelt.cast %[[PRODUCT]] : <[m, 5], f32> -> <[m, 5], bf16>
  %w = smelt.weight "w" <"w.bin", 0, 385, ""> : <[77, 5], f8E5M2>
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %0 = smelt.cast %a : <[m, 77], f8E5M2> -> <[m, 77], bf16>
  %1 = smelt.cast %w : <[77, 5], f8E5M2> -> <[77, 5], f32>
  %2 = smelt.sub %1, %zero : <[77, 5], f32>, <[], f32> -> <[77, 5], f32>
  %3 = smelt.cast %2 : <[77, 5], f32> -> <[77, 5], bf16>
  %4 = smelt.matmul %0, %3 : <[m, 77], bf16>, <[77, 5], bf16> -> <[m, 5], bf16>
  return %4 : !smelt.tensor<[m, 5], bf16>
}

// Scaled in 16 bits.
// CHECK-LABEL: func @floats8_scaled_in_16_bits(
func.func @floats8_scaled_in_16_bits(%a: !smelt.tensor<[m, 77], f8E4M3FN>, %s: !smelt.tensor<[], f16>) -> !smelt.tensor<[m, 5], f16> {
  // CHECK: %[[SCALE:.*]] = smelt.cast %arg1 : <[], f16> -> <[], f32>
  // CHECK: %[[SUMS:.*]] = smelt.matmul %arg0, %{{.*}} : <[m, 77], f8E4M3FN>, <[77, 5], f8E4M3FN> -> <[m, 5], f32>
  // CHECK-NEXT: %[[BOTH:.*]] = smelt.mul %[[SCALE]], %{{.*}} : <[], f32>, <[], f32> -> <[], f32>
  // CHECK-NEXT: smelt.mul %[[SUMS]], %[[BOTH]]
  %w = smelt.weight "w" <"w.bin", 0, 385, ""> : <[77, 5], f8E4M3FN>
  %0 = smelt.cast %a : <[m, 77], f8E4M3FN> -> <[m, 77], f16>
  %1 = smelt.mul %0, %s : <[m, 77], f16>, <[], f16> -> <[m, 77], f16>
  %2 = smelt.cast %w : <[77, 5], f8E4M3FN> -> <[77, 5], f16>
  %3 = smelt.matmul %1, %2 : <[m, 77], f16>, <[77, 5], f16> -> <[m, 5], f16>
  return %3 : !smelt.tensor<[m, 5], f16>
}

// Two activations, which attention multiplies; a zero point; a type that tensor cores do not multiply; and integers.
// CHECK-LABEL: func @floats8_kept(
func.func @floats8_kept(%a: !smelt.tensor<[m, 77], f8E4M3FN>, %b: !smelt.tensor<[77, 5], f8E4M3FN>, %c: !smelt.tensor<[m, 77], f8E4M3FNUZ>) -> (!smelt.tensor<[m, 5], f16>, !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f16>, !smelt.tensor<[m, 5], f32>) {
  // CHECK: smelt.matmul {{.*}}, f16> -> <[m, 5], f16>
  // CHECK: smelt.matmul {{.*}}, f32> -> <[m, 5], f32>
  // CHECK: smelt.matmul {{.*}}, f16> -> <[m, 5], f16>
  // CHECK: smelt.matmul {{.*}}, f32> -> <[m, 5], f32>
  %w = smelt.weight "w" <"w.bin", 0, 385, ""> : <[77, 5], f8E4M3FN>
  %v = smelt.weight "v" <"w.bin", 0, 385, ""> : <[77, 5], i8>
  %one = smelt.constant dense<1.0> : tensor<f32> : <[], f32>
  %0 = smelt.cast %a : <[m, 77], f8E4M3FN> -> <[m, 77], f16>
  %1 = smelt.cast %b : <[77, 5], f8E4M3FN> -> <[77, 5], f16>
  %2 = smelt.matmul %0, %1 : <[m, 77], f16>, <[77, 5], f16> -> <[m, 5], f16>
  %3 = smelt.cast %a : <[m, 77], f8E4M3FN> -> <[m, 77], f32>
  %4 = smelt.sub %3, %one : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %5 = smelt.cast %w : <[77, 5], f8E4M3FN> -> <[77, 5], f32>
  %6 = smelt.matmul %4, %5 : <[m, 77], f32>, <[77, 5], f32> -> <[m, 5], f32>
  %7 = smelt.cast %c : <[m, 77], f8E4M3FNUZ> -> <[m, 77], f16>
  %8 = smelt.cast %w : <[77, 5], f8E4M3FN> -> <[77, 5], f16>
  %9 = smelt.matmul %7, %8 : <[m, 77], f16>, <[77, 5], f16> -> <[m, 5], f16>
  %10 = smelt.cast %v : <[77, 5], i8> -> <[77, 5], f32>
  %11 = smelt.mul %10, %one : <[77, 5], f32>, <[], f32> -> <[77, 5], f32>
  %12 = smelt.matmul %3, %11 : <[m, 77], f32>, <[77, 5], f32> -> <[m, 5], f32>
  return %2, %6, %9, %12 : !smelt.tensor<[m, 5], f16>, !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f16>, !smelt.tensor<[m, 5], f32>
}
