// RUN: smelt-opt %s --smelt-lower -split-input-file -verify-diagnostics | FileCheck %s

// What nobody reads goes; weight expressions and renaming reshapes stay.
// CHECK-LABEL: @clean
// CHECK-NOT: smelt.iota
// CHECK: smelt.concat
// CHECK: smelt.reshape
func.func @clean(%x: !smelt.tensor<[a, 4], f32>) -> (!smelt.tensor<[a*4], f32>, !smelt.tensor<[8], f32>) {
  %unused = smelt.iota : <[a], i64>
  %w = smelt.weight "w" <"w.bin", 0, 16, ""> : <[4], f32>
  %0 = smelt.concat %w, %w axis 0 : !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32> -> <[8], f32>
  %1 = smelt.reshape %x : <[a, 4], f32> -> <[a*4], f32>
  return %1, %0 : !smelt.tensor<[a*4], f32>, !smelt.tensor<[8], f32>
}

// -----

func.func @unfused(%x: !smelt.tensor<[a, 4], f32>) -> !smelt.tensor<[a, 4], f32> {
  // expected-error@+1 {{is in no fusion}}
  %0 = smelt.exp %x : <[a, 4], f32>
  return %0 : !smelt.tensor<[a, 4], f32>
}
