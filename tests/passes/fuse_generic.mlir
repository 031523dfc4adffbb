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
