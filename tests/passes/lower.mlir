// RUN: smelt-opt %s --smelt-lower -split-input-file -verify-diagnostics | FileCheck %s

// What nobody reads goes; weight expressions and renaming reshapes stay.
// CHECK-LABEL: @clean
// CHECK-NOT: smelt.iota
// CHECK: smelt.concat
// CHECK: smelt.reshape
// CHECK: return
func.func @clean(%x: !smelt.tensor<[a, 4], f32>) -> (!smelt.tensor<[a*4], f32>, !smelt.tensor<[8], f32>) {
  %unused = smelt.iota : <[a], i64>
  %w = smelt.weight "w" <"w.bin", 0, 16, ""> : <[4], f32>
  %0 = smelt.concat %w, %w axis 0 : !smelt.tensor<[4], f32>, !smelt.tensor<[4], f32> -> <[8], f32>
  %1 = smelt.reshape %x : <[a, 4], f32> -> <[a*4], f32>
  return %1, %0 : !smelt.tensor<[a*4], f32>, !smelt.tensor<[8], f32>
}

// A result is a buffer of its own that a kernel writes: what is an input, a constant or another result is copied.
// CHECK-LABEL: @shared
// CHECK: %[[WEIGHT:.*]] = smelt.weight
// CHECK: %[[Y:.*]] = smelt.fusion pointwise(%arg0)
// CHECK: smelt.exp
// CHECK: %[[FLAT:.*]] = smelt.reshape %[[Y]]
// CHECK: %[[FLAT_COPY:.*]] = smelt.fusion pointwise(%[[FLAT]])
// CHECK-NEXT: ^bb0(%[[ARGUMENT:.*]]: !smelt.tensor<{{.*}}>)
// CHECK-NEXT: smelt.yield %[[ARGUMENT]]
// CHECK: %[[INPUT_COPY:.*]] = smelt.fusion pointwise(%arg0)
// CHECK: %[[WEIGHT_COPY:.*]] = smelt.fusion pointwise(%[[WEIGHT]])
// CHECK: return %[[Y]], %[[FLAT_COPY]], %[[INPUT_COPY]], %[[WEIGHT_COPY]]
func.func @shared(%x: !smelt.tensor<[a, 4], f32>) -> (!smelt.tensor<[a, 4], f32>, !smelt.tensor<[a*4], f32>, !smelt.tensor<[a, 4], f32>, !smelt.tensor<[4], f32>) {
  %w = smelt.weight "w" <"w.bin", 0, 16, ""> : <[4], f32>
  %y = smelt.fusion pointwise(%x) : (!smelt.tensor<[a, 4], f32>) -> !smelt.tensor<[a, 4], f32> {
  ^bb0(%arg: !smelt.tensor<[a, 4], f32>):
    %0 = smelt.exp %arg : <[a, 4], f32>
    smelt.yield %0 : !smelt.tensor<[a, 4], f32>
  }
  %1 = smelt.reshape %y : <[a, 4], f32> -> <[a*4], f32>
  return %y, %1, %x, %w : !smelt.tensor<[a, 4], f32>, !smelt.tensor<[a*4], f32>, !smelt.tensor<[a, 4], f32>, !smelt.tensor<[4], f32>
}

// -----

func.func @unfused(%x: !smelt.tensor<[a, 4], f32>) -> !smelt.tensor<[a, 4], f32> {
  // expected-error@+1 {{is in no fusion}}
  %0 = smelt.exp %x : <[a, 4], f32>
  return %0 : !smelt.tensor<[a, 4], f32>
}
