// RUN: smelt-opt %s --smelt-in-place="pairs=past.*=present.*" --split-input-file | FileCheck %s

// The rows are appended to the input's buffer; readers read the start of it, and so does the caller.
// CHECK-LABEL: func @append
// CHECK-SAME: smelt.alias = 1 : i64, smelt.capacity = "capacity", smelt.capacity_axis = 1 : i64, smelt.name = "present.key"
func.func @append(%new: !smelt.tensor<[b, seq, 4], f16> {smelt.name = "x"}, %past: !smelt.tensor<[b, past, 4], f16> {smelt.name = "past.key"})
    -> (!smelt.tensor<[b, past + seq, 4], f16> {smelt.name = "present.key"}, !smelt.tensor<[b, past + seq, 4], f16> {smelt.name = "y"}) {
  // CHECK: %[[B:.*]] = smelt.buffer %arg1 : <[b, past, 4], f16> -> <[b, capacity, 4], f16>
  // CHECK: %[[A:.*]] = smelt.append %[[B]], %arg0 at <past> axis 1
  // CHECK: %[[C:.*]] = smelt.contents %[[A]] : <[b, capacity, 4], f16> -> <[b, past + seq, 4], f16>
  // CHECK: %[[S:.*]] = smelt.slice %[[A]]
  // CHECK-SAME: <[b, capacity, 4], f16> -> <[b, past + seq, 4], f16>
  // CHECK: %[[Y:.*]] = smelt.neg %[[S]]
  // CHECK: return %[[C]], %[[Y]]
  %0 = smelt.concat %past, %new axis 1 : !smelt.tensor<[b, past, 4], f16>, !smelt.tensor<[b, seq, 4], f16> -> <[b, past + seq, 4], f16>
  %1 = smelt.neg %0 : !smelt.tensor<[b, past + seq, 4], f16>
  return %0, %1 : !smelt.tensor<[b, past + seq, 4], f16>, !smelt.tensor<[b, past + seq, 4], f16>
}

// -----

// Who reads the input itself reads it in its buffer; several pieces are appended as one; inputs of one length have one
// capacity, whose name is no size's.
// CHECK-LABEL: func @others
// CHECK-SAME: smelt.capacity = "capacity2"
// CHECK-SAME: smelt.capacity = "capacity2"
func.func @others(%x: !smelt.tensor<[capacity, 4], f32> {smelt.name = "x"}, %k: !smelt.tensor<[past, 4], f32> {smelt.name = "past.k"}, %v: !smelt.tensor<[past, 4], f32> {smelt.name = "past.v"})
    -> (!smelt.tensor<[past + 2*capacity, 4], f32> {smelt.name = "present.k"}, !smelt.tensor<[past, 4], f32> {smelt.name = "y"}, !smelt.tensor<[past + capacity, 4], f32> {smelt.name = "present.v"}) {
  // CHECK: %[[R:.*]] = smelt.concat %arg0, %arg0 axis 0
  // CHECK: smelt.append %{{.*}}, %[[R]] at <past> axis 0
  %0 = smelt.concat %k, %x, %x axis 0 : !smelt.tensor<[past, 4], f32>, !smelt.tensor<[capacity, 4], f32>, !smelt.tensor<[capacity, 4], f32> -> <[past + 2*capacity, 4], f32>
  // CHECK: smelt.neg %{{.*}} : <[past, 4], f32>
  %1 = smelt.neg %k : !smelt.tensor<[past, 4], f32>
  %2 = smelt.concat %v, %x axis 0 : !smelt.tensor<[past, 4], f32>, !smelt.tensor<[capacity, 4], f32> -> <[past + capacity, 4], f32>
  return %0, %1, %2 : !smelt.tensor<[past + 2*capacity, 4], f32>, !smelt.tensor<[past, 4], f32>, !smelt.tensor<[past + capacity, 4], f32>
}
