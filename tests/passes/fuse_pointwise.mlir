// RUN: smelt-opt %s --smelt-fuse-pointwise | FileCheck %s

// A chain is one kernel; a value with two readers is a kernel of its own; literals go inside.
// CHECK-LABEL: @chain
// CHECK: %[[A:.*]] = smelt.fusion pointwise(%arg0)
// CHECK: smelt.exp
// CHECK: smelt.constant
// CHECK: smelt.mul
// CHECK: smelt.yield
// CHECK: smelt.fusion pointwise(%[[A]]
// CHECK: smelt.tanh
// CHECK: smelt.fusion pointwise(%[[A]]
// CHECK: smelt.sqrt
// CHECK: return
func.func @chain(%x: !smelt.tensor<[a, b], f32>) -> (!smelt.tensor<[a, b], f32>, !smelt.tensor<[a, b], f32>) {
  %c = smelt.constant dense<2.0> : tensor<f32> : <[], f32>
  %0 = smelt.exp %x : <[a, b], f32>
  %1 = smelt.mul %0, %c : <[a, b], f32>, <[], f32> -> <[a, b], f32>
  %2 = smelt.tanh %1 : <[a, b], f32>
  %3 = smelt.sqrt %1 : <[a, b], f32>
  return %2, %3 : !smelt.tensor<[a, b], f32>, !smelt.tensor<[a, b], f32>
}

// A transposed result must be written; a reshape of an input only renames it.
// CHECK-LABEL: @views
// CHECK-DAG: smelt.fusion pointwise
// CHECK-DAG: smelt.transpose
// CHECK-DAG: smelt.reshape %arg0
func.func @views(%x: !smelt.tensor<[a, b], f32>) -> (!smelt.tensor<[b, a], f32>, !smelt.tensor<[a*b], f32>) {
  %0 = smelt.transpose %x [1, 0] : <[a, b], f32> -> <[b, a], f32>
  %1 = smelt.reshape %x : <[a, b], f32> -> <[a*b], f32>
  return %0, %1 : !smelt.tensor<[b, a], f32>, !smelt.tensor<[a*b], f32>
}

// A concatenation of many tensors is a fusion of its own: it computes nothing, and nobody computes
// it along with something else.
// CHECK-LABEL: func.func @joins_many
// CHECK: smelt.fusion pointwise
// CHECK: smelt.neg
// CHECK: smelt.fusion pointwise
// CHECK-NOT: smelt.neg
// CHECK-NOT: smelt.exp
// CHECK: smelt.concat
// CHECK: smelt.fusion pointwise
// CHECK: smelt.exp
func.func @joins_many(%x0: !smelt.tensor<[2], f32>, %x1: !smelt.tensor<[2], f32>, %x2: !smelt.tensor<[2], f32>, %x3: !smelt.tensor<[2], f32>, %x4: !smelt.tensor<[2], f32>, %x5: !smelt.tensor<[2], f32>, %x6: !smelt.tensor<[2], f32>, %x7: !smelt.tensor<[2], f32>, %x8: !smelt.tensor<[2], f32>, %x9: !smelt.tensor<[2], f32>, %x10: !smelt.tensor<[2], f32>, %x11: !smelt.tensor<[2], f32>, %x12: !smelt.tensor<[2], f32>, %x13: !smelt.tensor<[2], f32>, %x14: !smelt.tensor<[2], f32>, %x15: !smelt.tensor<[2], f32>, %x16: !smelt.tensor<[2], f32>) -> !smelt.tensor<[34], f32> {
  %0 = smelt.neg %x0 : !smelt.tensor<[2], f32>
  %1 = smelt.concat %0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11, %x12, %x13, %x14, %x15, %x16 axis 0 : !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32>, !smelt.tensor<[2], f32> -> <[34], f32>
  %2 = smelt.exp %1 : !smelt.tensor<[34], f32>
  return %2 : !smelt.tensor<[34], f32>
}

// A kernel's text is limited: sines are long, and 256 sums' worth of them are two kernels.
// CHECK-LABEL: func.func @many_sines
// CHECK-COUNT-2: smelt.fusion pointwise
// CHECK-NOT: smelt.fusion
// CHECK: return
func.func @many_sines(%x: !smelt.tensor<[a], f32>) -> !smelt.tensor<[a], f32> {
  %0 = smelt.sin %x : <[a], f32>
  %1 = smelt.sin %0 : <[a], f32>
  %2 = smelt.sin %1 : <[a], f32>
  %3 = smelt.sin %2 : <[a], f32>
  %4 = smelt.sin %3 : <[a], f32>
  %5 = smelt.sin %4 : <[a], f32>
  %6 = smelt.sin %5 : <[a], f32>
  %7 = smelt.sin %6 : <[a], f32>
  return %7 : !smelt.tensor<[a], f32>
}

// So is the arithmetic of positions, which doubles with each view of a view.
// CHECK-LABEL: func.func @many_views
// CHECK-COUNT-2: smelt.fusion pointwise
// CHECK: return
func.func @many_views(%x: !smelt.tensor<[a, 8, 16], f32>) -> !smelt.tensor<[a, 8, 16], f32> {
  %0 = smelt.transpose %x [0, 2, 1] : <[a, 8, 16], f32> -> <[a, 16, 8], f32>
  %1 = smelt.reshape %0 : <[a, 16, 8], f32> -> <[a, 8, 16], f32>
  %2 = smelt.transpose %1 [0, 2, 1] : <[a, 8, 16], f32> -> <[a, 16, 8], f32>
  %3 = smelt.reshape %2 : <[a, 16, 8], f32> -> <[a, 8, 16], f32>
  %4 = smelt.transpose %3 [0, 2, 1] : <[a, 8, 16], f32> -> <[a, 16, 8], f32>
  %5 = smelt.reshape %4 : <[a, 16, 8], f32> -> <[a, 8, 16], f32>
  %6 = smelt.transpose %5 [0, 2, 1] : <[a, 8, 16], f32> -> <[a, 16, 8], f32>
  %7 = smelt.reshape %6 : <[a, 16, 8], f32> -> <[a, 8, 16], f32>
  return %7 : !smelt.tensor<[a, 8, 16], f32>
}

// A kernel follows the flow of its data, not the order in which the ops stand: equal layers are one kernel.
// CHECK-LABEL: @in_order
// CHECK: smelt.fusion pointwise(%arg0, %arg1)
// CHECK: smelt.exp
// CHECK: smelt.neg
// CHECK: smelt.add
func.func @in_order(%x: !smelt.tensor<[a, b], f32>, %y: !smelt.tensor<[a, b], f32>) -> !smelt.tensor<[a, b], f32> {
  %0 = smelt.exp %x : <[a, b], f32>
  %1 = smelt.neg %y : <[a, b], f32>
  %2 = smelt.add %0, %1 : <[a, b], f32>, <[a, b], f32> -> <[a, b], f32>
  return %2 : !smelt.tensor<[a, b], f32>
}

// CHECK-LABEL: @in_another_order
// CHECK: smelt.fusion pointwise(%arg0, %arg1)
// CHECK: smelt.exp
// CHECK: smelt.neg
// CHECK: smelt.add
func.func @in_another_order(%x: !smelt.tensor<[a, b], f32>, %y: !smelt.tensor<[a, b], f32>) -> !smelt.tensor<[a, b], f32> {
  %1 = smelt.neg %y : <[a, b], f32>
  %0 = smelt.exp %x : <[a, b], f32>
  %2 = smelt.add %0, %1 : <[a, b], f32>, <[a, b], f32> -> <[a, b], f32>
  return %2 : !smelt.tensor<[a, b], f32>
}
