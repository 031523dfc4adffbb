// RUN: smelt-opt %s --smelt-fuse-rowwise | FileCheck %s

// Lookup, sum and norm are one kernel; the sum, which a residual connection reads too, is its second result.
// CHECK-LABEL: @embedding
// CHECK: %[[F:.*]]:2 = smelt.fusion rowwise(
// CHECK-COUNT-2: smelt.gather
// CHECK: smelt.add
// CHECK: smelt.layer_norm
// CHECK: smelt.yield
// CHECK: smelt.matmul %[[F]]#1
// CHECK: smelt.add %{{.*}}, %[[F]]#0
func.func @embedding(%ids: !smelt.tensor<[b, s], i64>, %positions: !smelt.tensor<[1, s], i64>) -> !smelt.tensor<[b, s, 64], f16> {
  %words = smelt.weight "words" <"w.bin", 0, 128000, ""> : <[1000, 64], f16>
  %places = smelt.weight "places" <"w.bin", 128000, 65536, ""> : <[512, 64], f16>
  %scale = smelt.weight "scale" <"w.bin", 193536, 128, ""> : <[64], f16>
  %w = smelt.weight "w" <"w.bin", 193664, 8192, ""> : <[64, 64], f16>
  %0 = smelt.gather %words, %ids axis 0 : <[1000, 64], f16>, <[b, s], i64> -> <[b, s, 64], f16>
  %1 = smelt.gather %places, %positions axis 0 : <[512, 64], f16>, <[1, s], i64> -> <[1, s, 64], f16>
  %2 = smelt.add %0, %1 : <[b, s, 64], f16>, <[1, s, 64], f16> -> <[b, s, 64], f16>
  %3 = smelt.layer_norm %2 scale %scale : !smelt.tensor<[64], f16> axis 2 {epsilon = 1.0e-5 : f32} : <[b, s, 64], f16> -> <[b, s, 64], f16>
  %4 = smelt.matmul %3, %w : <[b, s, 64], f16>, <[64, 64], f16> -> <[b, s, 64], f16>
  %5 = smelt.add %4, %2 : <[b, s, 64], f16>, <[b, s, 64], f16> -> <[b, s, 64], f16>
  return %5 : !smelt.tensor<[b, s, 64], f16>
}

// A softmax over the last axis is rowwise, over another axis not.
// CHECK-LABEL: @axes
// CHECK: smelt.fusion rowwise
// CHECK: smelt.softmax {{.*}} axis 1
// CHECK: smelt.yield
// CHECK: smelt.softmax {{.*}} axis 0
func.func @axes(%x: !smelt.tensor<[a, b], f32>) -> !smelt.tensor<[a, b], f32> {
  %0 = smelt.softmax %x axis 1 : <[a, b], f32>
  %1 = smelt.softmax %0 axis 0 : <[a, b], f32>
  return %1 : !smelt.tensor<[a, b], f32>
}

// A norm that a residual connection reads too is rounded to bytes in its kernel, and the bytes are summed up there for the
// zero point of what they are multiplied by.
// CHECK-LABEL: @rounded
// CHECK: %[[F:.*]]:3 = smelt.fusion rowwise(
// CHECK: smelt.layer_norm
// CHECK: smelt.round
// CHECK: smelt.cast {{.*}} -> <[m, 77], i8>
// CHECK: smelt.cast {{.*}} : <[m, 77], i8> -> <[m, 77], i32>
// CHECK: smelt.reduce sum {{.*}} -> <[m, 1], i32>
// CHECK: smelt.yield
// CHECK: smelt.matmul
// CHECK: return
func.func @rounded(%x: !smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 5], i32>, !smelt.tensor<[m, 77], f32>) {
  %scale = smelt.weight "scale" <"w.bin", 0, 308, ""> : <[77], f32>
  %w = smelt.weight "w" <"w.bin", 308, 385, ""> : <[77, 5], ui8>
  %c = smelt.constant dense<0.3> : tensor<f32> : <[], f32>
  %low = smelt.constant dense<-128.0> : tensor<f32> : <[], f32>
  %high = smelt.constant dense<127.0> : tensor<f32> : <[], f32>
  %z = smelt.constant dense<7> : tensor<i32> : <[], i32>
  %0 = smelt.layer_norm %x scale %scale : !smelt.tensor<[77], f32> axis 1 {epsilon = 1.0e-5 : f32} : <[m, 77], f32> -> <[m, 77], f32>
  %1 = smelt.div %0, %c : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %2 = smelt.max %1, %low : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %3 = smelt.min %2, %high : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %4 = smelt.round %3 : <[m, 77], f32>
  %5 = smelt.cast %4 : <[m, 77], f32> -> <[m, 77], i8>
  %6 = smelt.cast %5 : <[m, 77], i8> -> <[m, 77], i32>
  %7 = smelt.mul %6, %z : <[m, 77], i32>, <[], i32> -> <[m, 77], i32>
  %8 = smelt.reduce sum %7 axes [1] : <[m, 77], i32> -> <[m, 1], i32>
  %9 = smelt.matmul %5, %w : <[m, 77], i8>, <[77, 5], ui8> -> <[m, 5], i32>
  %10 = smelt.sub %9, %8 : <[m, 5], i32>, <[m, 1], i32> -> <[m, 5], i32>
  return %10, %0 : !smelt.tensor<[m, 5], i32>, !smelt.tensor<[m, 77], f32>
}

// A kernel ends at bytes: what a norm widens again is computed by whoever reads it.
// CHECK-LABEL: @ends_at_bytes
// CHECK: %[[BYTES:.*]] = smelt.fusion rowwise(
// CHECK: smelt.softmax
// CHECK: %[[STORED:.*]] = smelt.cast {{.*}} -> <[1, 77], ui8>
// CHECK-NEXT: smelt.yield %[[STORED]]
// CHECK: smelt.fusion rowwise(%[[BYTES]]
// CHECK: smelt.cast {{.*}} : <[1, 77], ui8> -> <[1, 77], f32>
// CHECK: smelt.layer_norm
// CHECK: return
func.func @ends_at_bytes(%x: !smelt.tensor<[1, 77], f32>) -> !smelt.tensor<[1, 77], f32> {
  %scale = smelt.weight "scale" <"w.bin", 0, 308, ""> : <[77], f32>
  %c = smelt.constant dense<0.00390625> : tensor<f32> : <[], f32>
  %high = smelt.constant dense<255.0> : tensor<f32> : <[], f32>
  %0 = smelt.softmax %x axis 1 : <[1, 77], f32>
  %1 = smelt.div %0, %c : <[1, 77], f32>, <[], f32> -> <[1, 77], f32>
  %2 = smelt.min %1, %high : <[1, 77], f32>, <[], f32> -> <[1, 77], f32>
  %3 = smelt.round %2 : <[1, 77], f32>
  %4 = smelt.cast %3 : <[1, 77], f32> -> <[1, 77], ui8>
  %5 = smelt.cast %4 : <[1, 77], ui8> -> <[1, 77], f32>
  %6 = smelt.mul %5, %c : <[1, 77], f32>, <[], f32> -> <[1, 77], f32>
  %7 = smelt.layer_norm %6 scale %scale : !smelt.tensor<[77], f32> axis 1 {epsilon = 1.0e-5 : f32} : <[1, 77], f32> -> <[1, 77], f32>
  return %7 : !smelt.tensor<[1, 77], f32>
}

// Rows that are looked up and that a residual connection reads too are a second result.
// CHECK-LABEL: @looked_up
// CHECK: %[[BOTH:.*]]:2 = smelt.fusion rowwise(%table, %arg0, %scale)
// CHECK: %[[ROWS:.*]] = smelt.gather
// CHECK: %[[NORM:.*]] = smelt.rms_norm %[[ROWS]]
// CHECK: smelt.yield %[[ROWS]], %[[NORM]]
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func @looked_up(%ids: !smelt.tensor<[b, s], i64>) -> (!smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[b, s, 64], f16>) {
  %table = smelt.weight "table" <"w.bin", 0, 12800, ""> : <[100, 64], f16>
  %scale = smelt.weight "scale" <"w.bin", 12800, 128, ""> : <[64], f16>
  %0 = smelt.gather %table, %ids axis 0 : <[100, 64], f16>, <[b, s], i64> -> <[b, s, 64], f16>
  %1 = smelt.rms_norm %0 scale %scale : !smelt.tensor<[64], f16> axis 2 {epsilon = 1.0e-6 : f32} : <[b, s, 64], f16> -> <[b, s, 64], f16>
  return %0, %1 : !smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[b, s, 64], f16>
}

// A norm of what another one's kernel computes finds its rows there; not one of other rows.
// CHECK-LABEL: @norm_of_norm
// CHECK: %[[BOTH:.*]]:2 = smelt.fusion rowwise(%arg0, %scale)
// CHECK: %[[FIRST:.*]] = smelt.layer_norm
// CHECK: %[[SUM:.*]] = smelt.add %[[FIRST]]
// CHECK: %[[SECOND:.*]] = smelt.layer_norm %[[SUM]]
// CHECK: smelt.yield %[[SUM]], %[[SECOND]]
// CHECK: %[[OTHER:.*]] = smelt.fusion rowwise(%[[BOTH]]#1
// CHECK: smelt.layer_norm {{.*}} axis 0
// CHECK: return %[[BOTH]]#0, %[[OTHER]]
func.func @norm_of_norm(%x: !smelt.tensor<[9, 64], f16>) -> (!smelt.tensor<[9, 64], f16>, !smelt.tensor<[9, 64], f16>) {
  %scale = smelt.weight "scale" <"w.bin", 0, 128, ""> : <[64], f16>
  %all = smelt.weight "all" <"w.bin", 128, 1152, ""> : <[9, 64], f16>
  %one = smelt.constant dense<1.0> : tensor<f16> : <[], f16>
  %0 = smelt.layer_norm %x scale %scale : !smelt.tensor<[64], f16> axis 1 {epsilon = 1.0e-5 : f32} : <[9, 64], f16> -> <[9, 64], f16>
  %1 = smelt.add %0, %one : <[9, 64], f16>, <[], f16> -> <[9, 64], f16>
  %2 = smelt.layer_norm %1 scale %scale : !smelt.tensor<[64], f16> axis 1 {epsilon = 1.0e-5 : f32} : <[9, 64], f16> -> <[9, 64], f16>
  %3 = smelt.layer_norm %2 scale %all : !smelt.tensor<[9, 64], f16> axis 0 {epsilon = 1.0e-5 : f32} : <[9, 64], f16> -> <[9, 64], f16>
  return %1, %3 : !smelt.tensor<[9, 64], f16>, !smelt.tensor<[9, 64], f16>
}

// The mask that attention adds follows from the caller's alone, one element a row: the embedding's kernel computes it.
// CHECK-LABEL: @mask
// CHECK: %[[ROWS:.*]]:2 = smelt.fusion rowwise(
// CHECK: smelt.layer_norm
// CHECK: smelt.select
// CHECK: smelt.yield
// CHECK: smelt.fusion attention({{.*}}, %[[ROWS]]#1)
// One that takes a norm's result of another kernel is not drawn in, nor is a mask into that kernel.
// CHECK: smelt.fusion rowwise(
// CHECK-NOT: smelt.select
// CHECK: smelt.yield
// CHECK: smelt.select
func.func @mask(%ids: !smelt.tensor<[b, s], i64>, %given: !smelt.tensor<[b, s], i64>, %q: !smelt.tensor<[b, 4, s, 64], f16>) -> (!smelt.tensor<[b, 4, s, 64], f16>, !smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[b, s], f16>) {
  %words = smelt.weight "words" <"w.bin", 0, 128000, ""> : <[1000, 64], f16>
  %scale = smelt.weight "scale" <"w.bin", 193536, 128, ""> : <[64], f16>
  %zero = smelt.constant dense<0.0> : tensor<f16> : <[], f16>
  %low = smelt.constant dense<-65504.0> : tensor<f16> : <[], f16>
  %0 = smelt.gather %words, %ids axis 0 : <[1000, 64], f16>, <[b, s], i64> -> <[b, s, 64], f16>
  %1 = smelt.layer_norm %0 scale %scale : !smelt.tensor<[64], f16> axis 2 {epsilon = 1.0e-5 : f32} : <[b, s, 64], f16> -> <[b, s, 64], f16>
  %2 = smelt.cast %given : <[b, s], i64> -> <[b, s], i1>
  %3 = smelt.select %2, %zero, %low : <[b, s], i1>, <[], f16>, <[], f16> -> <[b, s], f16>
  %4 = smelt.fusion attention(%q, %3) : (!smelt.tensor<[b, 4, s, 64], f16>, !smelt.tensor<[b, s], f16>) -> !smelt.tensor<[b, 4, s, 64], f16> {
  ^bb0(%a: !smelt.tensor<[b, 4, s, 64], f16>, %m: !smelt.tensor<[b, s], f16>):
    %5 = smelt.reshape %m : <[b, s], f16> -> <[b, 1, 1, s], f16>
    %6 = smelt.attention %a, %a, %a bias %5 : !smelt.tensor<[b, 1, 1, s], f16> {scale = 1.250000e-01 : f32} : <[b, 4, s, 64], f16>, <[b, 4, s, 64], f16>, <[b, 4, s, 64], f16> -> <[b, 4, s, 64], f16>
    smelt.yield %6 : !smelt.tensor<[b, 4, s, 64], f16>
  }
  %7 = smelt.fusion pointwise(%1) : (!smelt.tensor<[b, s, 64], f16>) -> !smelt.tensor<[b, s, 64], f16> {
  ^bb0(%a: !smelt.tensor<[b, s, 64], f16>):
    %8 = smelt.tanh %a : <[b, s, 64], f16>
    smelt.yield %8 : !smelt.tensor<[b, s, 64], f16>
  }
  %9 = smelt.layer_norm %7 scale %scale : !smelt.tensor<[64], f16> axis 2 {epsilon = 1.0e-5 : f32} : <[b, s, 64], f16> -> <[b, s, 64], f16>
  %10 = smelt.equal %given, %ids : <[b, s], i64>, <[b, s], i64> -> <[b, s], i1>
  %11 = smelt.select %10, %zero, %low : <[b, s], i1>, <[], f16>, <[], f16> -> <[b, s], f16>
  return %4, %9, %11 : !smelt.tensor<[b, 4, s, 64], f16>, !smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[b, s], f16>
}
