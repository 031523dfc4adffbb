// RUN: smelt-opt %s --smelt-simplify-shapes | FileCheck %s

// Shape -> Gather -> Unsqueeze -> Concat of an exporter is one smelt.dims.
// CHECK-LABEL: func @shape_chain
func.func @shape_chain() -> !smelt.tensor<[3], i64> {
  %shape = smelt.dims [batch, seq] : !smelt.tensor<[2], i64>
  %zero = smelt.constant dense<0> : tensor<i64> : !smelt.tensor<[], i64>
  %one = smelt.constant dense<1> : tensor<1xi64> : !smelt.tensor<[1], i64>
  %twelve = smelt.constant dense<12> : tensor<1xi64> : !smelt.tensor<[1], i64>
  %0 = smelt.gather %shape, %zero axis 0 : !smelt.tensor<[2], i64>, !smelt.tensor<[], i64> -> !smelt.tensor<[], i64>
  %1 = smelt.reshape %0 : !smelt.tensor<[], i64> -> !smelt.tensor<[1], i64>
  %2 = smelt.gather %shape, %one axis 0 : !smelt.tensor<[2], i64>, !smelt.tensor<[1], i64> -> !smelt.tensor<[1], i64>
  %3 = smelt.mul %2, %twelve : !smelt.tensor<[1], i64>, !smelt.tensor<[1], i64> -> !smelt.tensor<[1], i64>
  %4 = smelt.concat %1, %3, %twelve axis 0 : !smelt.tensor<[1], i64>, !smelt.tensor<[1], i64>, !smelt.tensor<[1], i64> -> !smelt.tensor<[3], i64>
  // CHECK-NEXT: %[[D:.*]] = smelt.dims [batch, 12*seq, 12]
  // CHECK-NEXT: return %[[D]]
  return %4 : !smelt.tensor<[3], i64>
}

// The guard that exporters put before Expand: where(shape == -1, 1, shape).
// CHECK-LABEL: func @expand_guard
func.func @expand_guard() -> !smelt.tensor<[2], i64> {
  %shape = smelt.dims [batch, -1] : !smelt.tensor<[2], i64>
  %minus = smelt.constant dense<-1> : tensor<2xi64> : !smelt.tensor<[2], i64>
  %ones = smelt.constant dense<1> : tensor<2xi64> : !smelt.tensor<[2], i64>
  %0 = smelt.equal %shape, %minus : !smelt.tensor<[2], i64>, !smelt.tensor<[2], i64> -> !smelt.tensor<[2], i1>
  %1 = smelt.select %0, %ones, %shape : !smelt.tensor<[2], i1>, !smelt.tensor<[2], i64>, !smelt.tensor<[2], i64> -> !smelt.tensor<[2], i64>
  // CHECK-NEXT: smelt.dims [batch, 1]
  return %1 : !smelt.tensor<[2], i64>
}

// Values that do not fit the element type are left to the op.
// CHECK-LABEL: func @narrow
func.func @narrow() -> !smelt.tensor<[], i8> {
  %0 = smelt.constant dense<300> : tensor<i64> : !smelt.tensor<[], i64>
  // CHECK: smelt.cast
  %1 = smelt.cast %0 : !smelt.tensor<[], i64> -> !smelt.tensor<[], i8>
  return %1 : !smelt.tensor<[], i8>
}

// So is what wraps around, and what builds on it; what does not is known.
// CHECK-LABEL: func @unsigned
func.func @unsigned() -> (!smelt.tensor<[], i64>, !smelt.tensor<[], i1>, !smelt.tensor<[], i64>) {
  %three = smelt.constant dense<3> : tensor<ui32> : !smelt.tensor<[], ui32>
  %five = smelt.constant dense<5> : tensor<ui32> : !smelt.tensor<[], ui32>
  %most = smelt.constant dense<18446744073709551615> : tensor<ui64> : !smelt.tensor<[], ui64>
  // CHECK: %[[D:.*]] = smelt.sub
  // CHECK: %[[C:.*]] = smelt.cast %[[D]]
  %0 = smelt.sub %three, %five : !smelt.tensor<[], ui32>, !smelt.tensor<[], ui32> -> !smelt.tensor<[], ui32>
  %1 = smelt.cast %0 : !smelt.tensor<[], ui32> -> !smelt.tensor<[], i64>
  // CHECK: %[[L:.*]] = smelt.less
  %2 = smelt.cast %five : !smelt.tensor<[], ui32> -> !smelt.tensor<[], ui64>
  %3 = smelt.less %most, %2 : !smelt.tensor<[], ui64>, !smelt.tensor<[], ui64> -> !smelt.tensor<[], i1>
  // CHECK: %[[S:.*]] = smelt.constant dense<2> : tensor<i64>
  %4 = smelt.sub %five, %three : !smelt.tensor<[], ui32>, !smelt.tensor<[], ui32> -> !smelt.tensor<[], ui32>
  %5 = smelt.cast %4 : !smelt.tensor<[], ui32> -> !smelt.tensor<[], i64>
  // CHECK: return %[[C]], %[[L]], %[[S]]
  return %1, %3, %5 : !smelt.tensor<[], i64>, !smelt.tensor<[], i1>, !smelt.tensor<[], i64>
}

// What depends on data stays.
// CHECK-LABEL: func @data
func.func @data(%ids: !smelt.tensor<[2], i64>) -> !smelt.tensor<[2], i64> {
  %shape = smelt.dims [batch, seq] : !smelt.tensor<[2], i64>
  // CHECK: smelt.add
  %0 = smelt.add %shape, %ids : !smelt.tensor<[2], i64>, !smelt.tensor<[2], i64> -> !smelt.tensor<[2], i64>
  return %0 : !smelt.tensor<[2], i64>
}
