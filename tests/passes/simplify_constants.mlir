// RUN: smelt-opt %s --smelt-simplify-constants | FileCheck %s

// The scale that torch leaves in the graph: sqrt(1 / sqrt(64)).
// CHECK-LABEL: func @scale
func.func @scale() -> !smelt.tensor<[], f32> {
  %size = smelt.constant dense<64> : tensor<i64> : <[], i64>
  %one = smelt.constant dense<1.0> : tensor<f32> : <[], f32>
  %0 = smelt.cast %size : <[], i64> -> <[], f32>
  %1 = smelt.sqrt %0 : <[], f32>
  %2 = smelt.div %one, %1 : <[], f32>, <[], f32> -> <[], f32>
  %3 = smelt.sqrt %2 : <[], f32>
  // CHECK-NEXT: %[[C:.*]] = smelt.constant dense<0.353553385> : tensor<f32>
  // CHECK-NEXT: return %[[C]]
  return %3 : !smelt.tensor<[], f32>
}

// Rounded once, to the result's type.
// CHECK-LABEL: func @half
func.func @half() -> !smelt.tensor<[2], f16> {
  %a = smelt.constant dense<[1.0, 3.0]> : tensor<2xf16> : <[2], f16>
  %b = smelt.constant dense<3.0> : tensor<f16> : <[], f16>
  // CHECK-NEXT: smelt.constant dense<[3.332520e-01, 1.000000e+00]> : tensor<2xf16>
  %0 = smelt.div %a, %b : <[2], f16>, <[], f16> -> <[2], f16>
  return %0 : !smelt.tensor<[2], f16>
}

// Large results, symbolic sizes, data and bad indices are left.
// CHECK-LABEL: func @left
func.func @left(%x: !smelt.tensor<[], f32>) -> (!smelt.tensor<[1000], f32>, !smelt.tensor<[s], f32>, !smelt.tensor<[], f32>, !smelt.tensor<[], f32>) attributes {test.not_interpreted = "an index outside its data"} {
  %a = smelt.constant dense<1.0> : tensor<f32> : <[], f32>
  %table = smelt.constant dense<[1.0, 2.0]> : tensor<2xf32> : <[2], f32>
  %bad = smelt.constant dense<7> : tensor<i64> : <[], i64>
  // CHECK: smelt.expand
  %0 = smelt.expand %a : <[], f32> -> <[1000], f32>
  // CHECK: smelt.expand
  %1 = smelt.expand %a : <[], f32> -> <[s], f32>
  // CHECK: smelt.add
  %2 = smelt.add %x, %a : <[], f32>, <[], f32> -> <[], f32>
  // CHECK: smelt.gather
  %3 = smelt.gather %table, %bad axis 0 : <[2], f32>, <[], i64> -> <[], f32>
  return %0, %1, %2, %3 : !smelt.tensor<[1000], f32>, !smelt.tensor<[s], f32>, !smelt.tensor<[], f32>, !smelt.tensor<[], f32>
}
