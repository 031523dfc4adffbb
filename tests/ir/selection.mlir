// RUN: smelt-opt %s | smelt-opt | FileCheck %s

// CHECK-LABEL: @top_k
// CHECK: smelt.top_k %{{.*}} axis 1 smallest : <[n, 9], f16> -> <[n, k], f16>, <[n, k], i64>
func.func @top_k(%x: !smelt.tensor<[n, 9], f16>) -> !smelt.tensor<[n, k], i64> {
  %v, %p = smelt.top_k %x axis 1 smallest : <[n, 9], f16> -> <[n, k], f16>, <[n, k], i64>
  return %p : !smelt.tensor<[n, k], i64>
}
