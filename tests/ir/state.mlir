// Buffers of inputs that grow in place: their spelling, and what their verifiers refuse.
// RUN: smelt-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @state
func.func @state(%past: !smelt.tensor<[batch, past, 8], f16>, %new: !smelt.tensor<[batch, seq, 8], f16>) -> !smelt.tensor<[batch, past + seq, 8], f16> {
  // CHECK: %[[B:.*]] = smelt.buffer %arg0 : <[batch, past, 8], f16> -> <[batch, room, 8], f16>
  %0 = smelt.buffer %past : !smelt.tensor<[batch, past, 8], f16> -> !smelt.tensor<[batch, room, 8], f16>
  // CHECK: %[[A:.*]] = smelt.append %[[B]], %arg1 at <past> axis 1 : <[batch, room, 8], f16>, <[batch, seq, 8], f16> -> <[batch, room, 8], f16>
  %1 = smelt.append %0, %new at <past> axis 1 : !smelt.tensor<[batch, room, 8], f16>, !smelt.tensor<[batch, seq, 8], f16> -> !smelt.tensor<[batch, room, 8], f16>
  // CHECK: smelt.contents %[[A]] : <[batch, room, 8], f16> -> <[batch, past + seq, 8], f16>
  %2 = smelt.contents %1 : !smelt.tensor<[batch, room, 8], f16> -> !smelt.tensor<[batch, past + seq, 8], f16>
  return %2 : !smelt.tensor<[batch, past + seq, 8], f16>
}

// -----

func.func @buffer_of_no_input(%x: !smelt.tensor<[n, 4], f32>) {
  %0 = smelt.neg %x : !smelt.tensor<[n, 4], f32>
  // expected-error@+1 {{must give an input of the model room along one axis}}
  %1 = smelt.buffer %0 : !smelt.tensor<[n, 4], f32> -> !smelt.tensor<[room, 4], f32>
  return
}

// -----

func.func @append_of_other_rows(%x: !smelt.tensor<[n, 4], f32>, %y: !smelt.tensor<[m, 5], f32>) {
  %0 = smelt.buffer %x : !smelt.tensor<[n, 4], f32> -> !smelt.tensor<[room, 4], f32>
  // expected-error@+2 {{differ from the buffer}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = smelt.append %0, %y at <n> axis 0 : !smelt.tensor<[room, 4], f32>, !smelt.tensor<[m, 5], f32> -> !smelt.tensor<[room, 4], f32>
  return
}

// -----

func.func @contents_of_two_axes(%x: !smelt.tensor<[n, 4], f32>) {
  %0 = smelt.buffer %x : !smelt.tensor<[n, 4], f32> -> !smelt.tensor<[room, 4], f32>
  // expected-error@+1 {{must be a buffer without its room along one axis}}
  %1 = smelt.contents %0 : !smelt.tensor<[room, 4], f32> -> !smelt.tensor<[n, 3], f32>
  return
}
