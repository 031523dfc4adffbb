// RUN: smelt-opt %s --smelt-fuse-generic | FileCheck %s

// CHECK-LABEL: @single
// CHECK: smelt.fusion generic(%arg0)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: smelt.cumsum
// CHECK-NEXT: smelt.yield
// CHECK: smelt.mul
// CHECK-NOT: smelt.fusion
func.func @single(%x: !smelt.tensor<[a, b], i64>) -> !smelt.tensor<[a, b], i64> {
  %0 = smelt.cumsum %x axis 1 : <[a, b], i64>
  %1 = smelt.mul %0, %x : <[a, b], i64>, <[a, b], i64> -> <[a, b], i64>
  return %1 : !smelt.tensor<[a, b], i64>
}

// Moments of rows that no kernel of a product or of columns ends at.
// CHECK-LABEL: @moments
// CHECK: smelt.fusion generic(%arg0)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: smelt.row_moments
// CHECK-NEXT: smelt.yield
func.func @moments(%x: !smelt.tensor<[n, 64], f16>) -> !smelt.tensor<[n, 2, 2], f32> {
  %0 = smelt.row_moments %x : <[n, 64], f16> -> <[n, 2, 2], f32>
  return %0 : !smelt.tensor<[n, 2, 2], f32>
}
