// Every op prints as it parses, in its one spelling.
// RUN: smelt-opt %s | smelt-opt | FileCheck %s

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: !smelt.tensor<[batch, seq, 8], f32>, %y: !smelt.tensor<[8], f32>) -> !smelt.tensor<[batch, seq, 8], f32> {
  // CHECK: smelt.abs %{{.*}} : <[batch, seq, 8], f32>
  %0 = smelt.abs %x : !smelt.tensor<[batch, seq, 8], f32>
  // CHECK: smelt.gelu %{{.*}} tanh : <[batch, seq, 8], f32>
  %1 = smelt.gelu %0 tanh : !smelt.tensor<[batch, seq, 8], f32>
  // CHECK: smelt.gelu %{{.*}} : <[batch, seq, 8], f32>
  %2 = smelt.gelu %1 : !smelt.tensor<[batch, seq, 8], f32>
  // CHECK: smelt.add %{{.*}}, %{{.*}} : <[batch, seq, 8], f32>, <[8], f32> -> <[batch, seq, 8], f32>
  %3 = smelt.add %2, %y : !smelt.tensor<[batch, seq, 8], f32>, !smelt.tensor<[8], f32> -> !smelt.tensor<[batch, seq, 8], f32>
  // CHECK: smelt.mod %{{.*}}, %{{.*}} fmod : <[batch, seq, 8], f32>, <[8], f32> -> <[batch, seq, 8], f32>
  %4 = smelt.mod %3, %y fmod : !smelt.tensor<[batch, seq, 8], f32>, !smelt.tensor<[8], f32> -> !smelt.tensor<[batch, seq, 8], f32>
  // CHECK: smelt.less %{{.*}}, %{{.*}} : <[batch, seq, 8], f32>, <[8], f32> -> <[batch, seq, 8], i1>
  %5 = smelt.less %4, %y : !smelt.tensor<[batch, seq, 8], f32>, !smelt.tensor<[8], f32> -> !smelt.tensor<[batch, seq, 8], i1>
  // CHECK: smelt.select %{{.*}}, %{{.*}}, %{{.*}} : <[batch, seq, 8], i1>, <[batch, seq, 8], f32>, <[8], f32> -> <[batch, seq, 8], f32>
  %6 = smelt.select %5, %4, %y : !smelt.tensor<[batch, seq, 8], i1>, !smelt.tensor<[batch, seq, 8], f32>, !smelt.tensor<[8], f32> -> !smelt.tensor<[batch, seq, 8], f32>
  // CHECK: smelt.cast %{{.*}} : <[batch, seq, 8], f32> -> <[batch, seq, 8], bf16>
  %7 = smelt.cast %6 : !smelt.tensor<[batch, seq, 8], f32> -> !smelt.tensor<[batch, seq, 8], bf16>
  // CHECK: smelt.is_nan %{{.*}} : <[batch, seq, 8], bf16> -> <[batch, seq, 8], i1>
  %8 = smelt.is_nan %7 : !smelt.tensor<[batch, seq, 8], bf16> -> !smelt.tensor<[batch, seq, 8], i1>
  return %6 : !smelt.tensor<[batch, seq, 8], f32>
}

// CHECK-LABEL: func.func @sources
func.func @sources() {
  // CHECK: smelt.constant dense<[1, 2]> : tensor<2xi64> : <[2], i64>
  %0 = smelt.constant dense<[1, 2]> : tensor<2xi64> : !smelt.tensor<[2], i64>
  // CHECK: smelt.weight "encoder.weight" <"weights.bin", 128, 64, "0f"> : <[4, 8], f16>
  %1 = smelt.weight "encoder.weight" <"weights.bin", 128, 64, "0f"> : !smelt.tensor<[4, 8], f16>
  // CHECK: smelt.dims [batch, 12*seq, floordiv(seq + 1, 2)] : !smelt.tensor<[3], i64>
  %2 = smelt.dims [batch, seq*12, floordiv(1 + seq, 2)] : !smelt.tensor<[3], i64>
  // CHECK: smelt.iota : <[seq], i64>
  %3 = smelt.iota : !smelt.tensor<[seq], i64>
  return
}

// CHECK-LABEL: func.func @views
func.func @views(%x: !smelt.tensor<[batch, seq, 768], f16>) {
  // CHECK: smelt.reshape %{{.*}} : <[batch, seq, 768], f16> -> <[batch, seq, 12, 64], f16>
  %0 = smelt.reshape %x : !smelt.tensor<[batch, seq, 768], f16> -> !smelt.tensor<[batch, seq, 12, 64], f16>
  // CHECK: smelt.transpose %{{.*}} [0, 2, 1, 3] : <[batch, seq, 12, 64], f16> -> <[batch, 12, seq, 64], f16>
  %1 = smelt.transpose %0 [0, 2, 1, 3] : !smelt.tensor<[batch, seq, 12, 64], f16> -> !smelt.tensor<[batch, 12, seq, 64], f16>
  // CHECK: smelt.slice %{{.*}} starts [#smelt.dim<0>, #smelt.dim<seq - 1>, #smelt.dim<0>] steps [1, -1, 2] : <[batch, seq, 768], f16> -> <[batch, seq, 384], f16>
  %2 = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<seq - 1>, #smelt.dim<0>] steps [1, -1, 2] : !smelt.tensor<[batch, seq, 768], f16> -> !smelt.tensor<[batch, seq, 384], f16>
  // CHECK: smelt.expand %{{.*}} : <[batch, seq, 768], f16> -> <[3, batch, seq, 768], f16>
  %3 = smelt.expand %x : !smelt.tensor<[batch, seq, 768], f16> -> !smelt.tensor<[3, batch, seq, 768], f16>
  // CHECK: smelt.windows %{{.*}} axis 1 stride 2 dilation 3 : <[batch, seq, 768], f16> -> <[batch, floordiv(seq - 7, 2) + 1, 3, 768], f16>
  %5 = smelt.windows %x axis 1 stride 2 dilation 3 : !smelt.tensor<[batch, seq, 768], f16> -> !smelt.tensor<[batch, floordiv(seq - 7, 2) + 1, 3, 768], f16>
  // CHECK: smelt.concat %{{.*}}, %{{.*}} axis 1 : !smelt.tensor<[batch, seq, 768], f16>, !smelt.tensor<[batch, seq, 768], f16> -> <[batch, 2*seq, 768], f16>
  %4 = smelt.concat %x, %x axis 1 : !smelt.tensor<[batch, seq, 768], f16>, !smelt.tensor<[batch, seq, 768], f16> -> !smelt.tensor<[batch, seq*2, 768], f16>
  return
}

// CHECK-LABEL: func.func @contractions
func.func @contractions(%q: !smelt.tensor<[batch, 12, seq, 64], f16>, %k: !smelt.tensor<[batch, 4, seq, 64], f16>,
                        %m: !smelt.tensor<[batch, 1, 1, seq], f16>, %i: !smelt.tensor<[batch, 3, 224, 224], f16>,
                        %f: !smelt.tensor<[768, 3, 16, 16], f16>, %b: !smelt.tensor<[768], f16>) {
  // CHECK: smelt.matmul %{{.*}}, %{{.*}} : <[batch, 12, seq, 64], f16>, <[64, 32], f16> -> <[batch, 12, seq, 32], f16>
  %w = smelt.weight "w" <"weights.bin", 0, 4096, ""> : !smelt.tensor<[64, 32], f16>
  %0 = smelt.matmul %q, %w : !smelt.tensor<[batch, 12, seq, 64], f16>, !smelt.tensor<[64, 32], f16> -> !smelt.tensor<[batch, 12, seq, 32], f16>
  // The sums of 16-bit products may be left as they are.
  // CHECK: smelt.matmul %{{.*}}, %{{.*}} : <[batch, 12, seq, 64], f16>, <[64, 32], f16> -> <[batch, 12, seq, 32], f32>
  %sums = smelt.matmul %q, %w : !smelt.tensor<[batch, 12, seq, 64], f16>, !smelt.tensor<[64, 32], f16> -> !smelt.tensor<[batch, 12, seq, 32], f32>
  // CHECK: smelt.attention %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} : !smelt.tensor<[batch, 1, 1, seq], f16> {causal, scale = 1.250000e-01 : f32} : <[batch, 12, seq, 64], f16>, <[batch, 4, seq, 64], f16>, <[batch, 4, seq, 64], f16> -> <[batch, 12, seq, 64], f16>
  %1 = smelt.attention %q, %k, %k bias %m : !smelt.tensor<[batch, 1, 1, seq], f16> {scale = 0.125 : f32, causal} : !smelt.tensor<[batch, 12, seq, 64], f16>, !smelt.tensor<[batch, 4, seq, 64], f16>, !smelt.tensor<[batch, 4, seq, 64], f16> -> !smelt.tensor<[batch, 12, seq, 64], f16>
  // CHECK: smelt.conv %{{.*}}, %{{.*}} bias %{{.*}} : !smelt.tensor<[768], f16> {dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 16, 16>} : <[batch, 3, 224, 224], f16>, <[768, 3, 16, 16], f16> -> <[batch, 768, 14, 14], f16>
  %2 = smelt.conv %i, %f bias %b : !smelt.tensor<[768], f16> {strides = array<i64: 16, 16>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : !smelt.tensor<[batch, 3, 224, 224], f16>, !smelt.tensor<[768, 3, 16, 16], f16> -> !smelt.tensor<[batch, 768, 14, 14], f16>
  return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: !smelt.tensor<[batch, seq, 768], f16>, %s: !smelt.tensor<[768], f16>) {
  // CHECK: smelt.reduce mean %{{.*}} axes [1, 2] : <[batch, seq, 768], f16> -> <[batch, 1, 1], f16>
  %0 = smelt.reduce mean %x axes [1, 2] : !smelt.tensor<[batch, seq, 768], f16> -> !smelt.tensor<[batch, 1, 1], f16>
  // CHECK: smelt.softmax %{{.*}} axis 2 : <[batch, seq, 768], f16>
  %1 = smelt.softmax %x axis 2 : !smelt.tensor<[batch, seq, 768], f16>
  // CHECK: smelt.layer_norm %{{.*}} scale %{{.*}} : !smelt.tensor<[768], f16> bias %{{.*}} : !smelt.tensor<[768], f16> axis 2 {epsilon = 9.99999974E-6 : f32} : <[batch, seq, 768], f16> -> <[batch, seq, 768], f16>
  %2 = smelt.layer_norm %x scale %s : !smelt.tensor<[768], f16> bias %s : !smelt.tensor<[768], f16> axis 2 {epsilon = 1.0e-5 : f32} : !smelt.tensor<[batch, seq, 768], f16> -> !smelt.tensor<[batch, seq, 768], f16>
  // CHECK: smelt.rms_norm %{{.*}} scale %{{.*}} : !smelt.tensor<[768], f16> axis 2 {epsilon = 9.99999974E-6 : f32} : <[batch, seq, 768], f16> -> <[batch, seq, 768], f16>
  %3 = smelt.rms_norm %x scale %s : !smelt.tensor<[768], f16> axis 2 {epsilon = 1.0e-5 : f32} : !smelt.tensor<[batch, seq, 768], f16> -> !smelt.tensor<[batch, seq, 768], f16>
  // CHECK: smelt.cumsum %{{.*}} axis 1 exclusive reverse : <[batch, seq, 768], f16>
  %4 = smelt.cumsum %x axis 1 exclusive reverse : !smelt.tensor<[batch, seq, 768], f16>
  // CHECK: smelt.cumprod %{{.*}} axis 2 : <[batch, seq, 768], f16>
  %5 = smelt.cumprod %x axis 2 : !smelt.tensor<[batch, seq, 768], f16>
  return
}

// CHECK-LABEL: func.func @moments
func.func @moments(%x: !smelt.tensor<[batch, seq, 768], f16>) {
  // CHECK: smelt.row_moments %{{.*}} : <[batch, seq, 768], f16> -> <[batch, seq, 24, 2], f32>
  %0 = smelt.row_moments %x : !smelt.tensor<[batch, seq, 768], f16> -> !smelt.tensor<[batch, seq, 24, 2], f32>
  // CHECK: smelt.moments_mean %{{.*}} : <[batch, seq, 24, 2], f32> -> <[batch, seq, 1], f32>
  %1 = smelt.moments_mean %0 : !smelt.tensor<[batch, seq, 24, 2], f32> -> !smelt.tensor<[batch, seq, 1], f32>
  // CHECK: smelt.moments_rstd %{{.*}} {epsilon = 9.99999974E-6 : f32} : <[batch, seq, 24, 2], f32> -> <[batch, seq, 1], f32>
  %2 = smelt.moments_rstd %0 {epsilon = 1.0e-5 : f32} : !smelt.tensor<[batch, seq, 24, 2], f32> -> !smelt.tensor<[batch, seq, 1], f32>
  // CHECK: smelt.moments_rrms %{{.*}} {epsilon = 9.99999974E-6 : f32} : <[batch, seq, 24, 2], f32> -> <[batch, seq, 1], f32>
  %3 = smelt.moments_rrms %0 {epsilon = 1.0e-5 : f32} : !smelt.tensor<[batch, seq, 24, 2], f32> -> !smelt.tensor<[batch, seq, 1], f32>
  return
}

// CHECK-LABEL: func.func @gathers
func.func @gathers(%t: !smelt.tensor<[30522, 768], f16>, %i: !smelt.tensor<[batch, seq], i64>) {
  // CHECK: smelt.gather %{{.*}}, %{{.*}} axis 0 : <[30522, 768], f16>, <[batch, seq], i64> -> <[batch, seq, 768], f16>
  %0 = smelt.gather %t, %i axis 0 : !smelt.tensor<[30522, 768], f16>, !smelt.tensor<[batch, seq], i64> -> !smelt.tensor<[batch, seq, 768], f16>
  // CHECK: smelt.gather_elements %{{.*}}, %{{.*}} axis 1 : <[30522, 768], f16>, <[batch, seq], i64> -> <[batch, seq], f16>
  %1 = smelt.gather_elements %t, %i axis 1 : !smelt.tensor<[30522, 768], f16>, !smelt.tensor<[batch, seq], i64> -> !smelt.tensor<[batch, seq], f16>
  %p = smelt.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64> : !smelt.tensor<[2, 2], i64>
  // CHECK: smelt.gather_nd %{{.*}}, %{{.*}} batch_dims 0 : <[30522, 768], f16>, <[2, 2], i64> -> <[2], f16>
  %2 = smelt.gather_nd %t, %p batch_dims 0 : !smelt.tensor<[30522, 768], f16>, !smelt.tensor<[2, 2], i64> -> !smelt.tensor<[2], f16>
  return
}

// CHECK-LABEL: func.func @fusions
func.func @fusions(%x: !smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f32> {
  // CHECK: smelt.fusion pointwise(%{{.*}}) : (!smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f32> {
  // CHECK: ^bb0(%[[A:.*]]: !smelt.tensor<[n], f32>):
  // CHECK: smelt.neg %[[A]] : <[n], f32>
  // CHECK: smelt.yield %{{.*}} : !smelt.tensor<[n], f32>
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f32> {
  ^bb0(%a: !smelt.tensor<[n], f32>):
    %1 = smelt.neg %a : !smelt.tensor<[n], f32>
    smelt.yield %1 : !smelt.tensor<[n], f32>
  }
  return %0 : !smelt.tensor<[n], f32>
}

// CHECK-LABEL: func.func @bits
func.func @bits(%x: !smelt.tensor<[n], i32>, %y: !smelt.tensor<[], i32>, %f: !smelt.tensor<[n], f32>) {
  // CHECK: smelt.bit_not %{{.*}} : <[n], i32>
  %0 = smelt.bit_not %x : <[n], i32>
  // CHECK: smelt.shift_right %{{.*}}, %{{.*}} : <[n], i32>, <[], i32> -> <[n], i32>
  %1 = smelt.shift_right %x, %y : <[n], i32>, <[], i32> -> <[n], i32>
  // CHECK: smelt.bitcast %{{.*}} : <[n], f32> -> <[n], i32>
  %2 = smelt.bitcast %f : <[n], f32> -> <[n], i32>
  // CHECK: smelt.asinh %{{.*}} : <[n], f32>
  %3 = smelt.asinh %f : <[n], f32>
  return
}

// CHECK-LABEL: func.func @scatters
func.func @scatters(%x: !smelt.tensor<[n, 4], f32>, %i: !smelt.tensor<[k, 4], i64>, %t: !smelt.tensor<[k, 1], i32>, %u: !smelt.tensor<[k, 4], f32>) {
  // CHECK: smelt.scatter_elements %{{.*}}, %{{.*}}, %{{.*}} axis 0 by sum : <[n, 4], f32>, <[k, 4], i64>, <[k, 4], f32> -> <[n, 4], f32>
  %0 = smelt.scatter_elements %x, %i, %u axis 0 by sum : <[n, 4], f32>, <[k, 4], i64>, <[k, 4], f32> -> <[n, 4], f32>
  // CHECK: smelt.scatter_nd %{{.*}}, %{{.*}}, %{{.*}} : <[n, 4], f32>, <[k, 1], i32>, <[k, 4], f32> -> <[n, 4], f32>
  %1 = smelt.scatter_nd %x, %t, %u : <[n, 4], f32>, <[k, 1], i32>, <[k, 4], f32> -> <[n, 4], f32>
  return
}
