// RUN: smelt-opt %s --smelt-simplify-canonical --smelt-raise-norm | FileCheck %s

// One remark for each norm, with the node that it ends in.
// CHECK: smelt.remarks = [#smelt.remark<taken "layer_norm" of "Add_9" by "", "from its formula">, #smelt.remark<taken "layer_norm"

// CHECK-LABEL: func @layer_norm
func.func @layer_norm(%x: !smelt.tensor<[b, s, 16], f32>) -> !smelt.tensor<[b, s, 16], f32> {
  %scale = smelt.weight "scale" <"w.bin", 0, 64, ""> : <[16], f32>
  %bias = smelt.weight "bias" <"w.bin", 64, 64, ""> : <[16], f32>
  %two = smelt.constant dense<2.0> : tensor<f32> : <[], f32>
  %epsilon = smelt.constant dense<1.0e-5> : tensor<f32> : <[], f32>
  %mean = smelt.reduce mean %x axes [2] : <[b, s, 16], f32> -> <[b, s, 1], f32>
  // The difference stands twice, as some exporters write it.
  %d = smelt.sub %x, %mean : <[b, s, 16], f32>, <[b, s, 1], f32> -> <[b, s, 16], f32>
  %d2 = smelt.sub %x, %mean : <[b, s, 16], f32>, <[b, s, 1], f32> -> <[b, s, 16], f32>
  %square = smelt.pow %d2, %two : <[b, s, 16], f32>, <[], f32> -> <[b, s, 16], f32>
  %variance = smelt.reduce mean %square axes [2] : <[b, s, 16], f32> -> <[b, s, 1], f32>
  %shifted = smelt.add %variance, %epsilon : <[b, s, 1], f32>, <[], f32> -> <[b, s, 1], f32>
  %root = smelt.sqrt %shifted : <[b, s, 1], f32>
  %n = smelt.div %d, %root : <[b, s, 16], f32>, <[b, s, 1], f32> -> <[b, s, 16], f32>
  %m = smelt.mul %n, %scale : <[b, s, 16], f32>, <[16], f32> -> <[b, s, 16], f32>
  %y = smelt.add %bias, %m : <[16], f32>, <[b, s, 16], f32> -> <[b, s, 16], f32> loc("Add_9")
  // CHECK: %[[S:.*]] = smelt.weight "scale"
  // CHECK: %[[B:.*]] = smelt.weight "bias"
  // CHECK-NEXT: smelt.layer_norm %arg0 scale %[[S]] : !smelt.tensor<[16], f32> bias %[[B]] : !smelt.tensor<[16], f32> axis 2 {epsilon = 9.99999974E-6 : f32}
  // CHECK-NEXT: return
  return %y : !smelt.tensor<[b, s, 16], f32>
}

// Casts to fp32 before the power and back after the quotient; a sum with a factor for the mean.
// CHECK-LABEL: func @layer_norm_casts
func.func @layer_norm_casts(%x: !smelt.tensor<[b, s, 16], f16>) -> !smelt.tensor<[b, s, 16], f16> {
  %scale = smelt.weight "scale" <"w.bin", 0, 32, ""> : <[16], f16>
  %bias = smelt.weight "bias" <"w.bin", 32, 32, ""> : <[16], f16>
  %sixteenth = smelt.constant dense<0.0625> : tensor<f32> : <[], f32>
  %epsilon = smelt.constant dense<1.0e-5> : tensor<f32> : <[], f32>
  %wide = smelt.cast %x : <[b, s, 16], f16> -> <[b, s, 16], f32>
  %sum = smelt.reduce sum %wide axes [2] : <[b, s, 16], f32> -> <[b, s, 1], f32>
  %mean = smelt.mul %sum, %sixteenth : <[b, s, 1], f32>, <[], f32> -> <[b, s, 1], f32>
  %d = smelt.sub %wide, %mean : <[b, s, 16], f32>, <[b, s, 1], f32> -> <[b, s, 16], f32>
  %square = smelt.mul %d, %d : <[b, s, 16], f32>, <[b, s, 16], f32> -> <[b, s, 16], f32>
  %variance = smelt.reduce mean %square axes [2] : <[b, s, 16], f32> -> <[b, s, 1], f32>
  %shifted = smelt.add %variance, %epsilon : <[b, s, 1], f32>, <[], f32> -> <[b, s, 1], f32>
  %root = smelt.sqrt %shifted : <[b, s, 1], f32>
  %n = smelt.div %d, %root : <[b, s, 16], f32>, <[b, s, 1], f32> -> <[b, s, 16], f32>
  %narrow = smelt.cast %n : <[b, s, 16], f32> -> <[b, s, 16], f16>
  %m = smelt.mul %narrow, %scale : <[b, s, 16], f16>, <[16], f16> -> <[b, s, 16], f16>
  %y = smelt.add %m, %bias : <[b, s, 16], f16>, <[16], f16> -> <[b, s, 16], f16>
  // CHECK: smelt.layer_norm %arg0 scale %{{.*}} : !smelt.tensor<[16], f16> bias %{{.*}} : !smelt.tensor<[16], f16> axis 2
  // CHECK-NEXT: return
  return %y : !smelt.tensor<[b, s, 16], f16>
}

// T5 and Llama: no mean, a reciprocal, the scale on the left.
// CHECK-LABEL: func @rms_norm
func.func @rms_norm(%x: !smelt.tensor<[b, s, 16], f16>) -> !smelt.tensor<[b, s, 16], f16> {
  %scale = smelt.weight "scale" <"w.bin", 0, 32, ""> : <[16], f16>
  %two = smelt.constant dense<2.0> : tensor<f32> : <[], f32>
  %epsilon = smelt.constant dense<1.0e-6> : tensor<f32> : <[], f32>
  %wide = smelt.cast %x : <[b, s, 16], f16> -> <[b, s, 16], f32>
  %square = smelt.pow %wide, %two : <[b, s, 16], f32>, <[], f32> -> <[b, s, 16], f32>
  %mean = smelt.reduce mean %square axes [2] : <[b, s, 16], f32> -> <[b, s, 1], f32>
  %shifted = smelt.add %mean, %epsilon : <[b, s, 1], f32>, <[], f32> -> <[b, s, 1], f32>
  %root = smelt.sqrt %shifted : <[b, s, 1], f32>
  %inverse = smelt.reciprocal %root : <[b, s, 1], f32>
  %n = smelt.mul %wide, %inverse : <[b, s, 16], f32>, <[b, s, 1], f32> -> <[b, s, 16], f32>
  %narrow = smelt.cast %n : <[b, s, 16], f32> -> <[b, s, 16], f16>
  %y = smelt.mul %scale, %narrow : <[16], f16>, <[b, s, 16], f16> -> <[b, s, 16], f16>
  // CHECK: smelt.rms_norm %arg0 scale %{{.*}} : !smelt.tensor<[16], f16> axis 2
  // CHECK-NEXT: return
  return %y : !smelt.tensor<[b, s, 16], f16>
}

// No epsilon, as where it is too small for the type; scale and bias are inputs of the model.
// CHECK-LABEL: func @no_epsilon
func.func @no_epsilon(%x: !smelt.tensor<[b, 16], f16>, %scale: !smelt.tensor<[16], f16>, %bias: !smelt.tensor<[1, 16], f16>) -> !smelt.tensor<[b, 16], f16> {
  %mean = smelt.reduce mean %x axes [1] : <[b, 16], f16> -> <[b, 1], f16>
  %d = smelt.sub %x, %mean : <[b, 16], f16>, <[b, 1], f16> -> <[b, 16], f16>
  %square = smelt.mul %d, %d : <[b, 16], f16>, <[b, 16], f16> -> <[b, 16], f16>
  %variance = smelt.reduce mean %square axes [1] : <[b, 16], f16> -> <[b, 1], f16>
  %root = smelt.sqrt %variance : <[b, 1], f16>
  %n = smelt.div %d, %root : <[b, 16], f16>, <[b, 1], f16> -> <[b, 16], f16>
  %m = smelt.mul %n, %scale : <[b, 16], f16>, <[16], f16> -> <[b, 16], f16>
  %y = smelt.add %m, %bias : <[b, 16], f16>, <[1, 16], f16> -> <[b, 16], f16>
  // CHECK: smelt.layer_norm %arg0 scale %arg1 : {{.*}} bias %{{.*}} axis 1 {epsilon = 0.000000e+00 : f32}
  // CHECK-NEXT: return
  return %y : !smelt.tensor<[b, 16], f16>
}

// The normalised value is read twice: the norm is formed, its scale stays outside.
// CHECK-LABEL: func @two_readers
func.func @two_readers(%x: !smelt.tensor<[b, 16], f32>) -> (!smelt.tensor<[b, 16], f32>, !smelt.tensor<[b, 16], f32>) {
  %scale = smelt.weight "scale" <"w.bin", 0, 64, ""> : <[16], f32>
  %epsilon = smelt.constant dense<1.0e-6> : tensor<f32> : <[], f32>
  %square = smelt.mul %x, %x : <[b, 16], f32>, <[b, 16], f32> -> <[b, 16], f32>
  %mean = smelt.reduce mean %square axes [1] : <[b, 16], f32> -> <[b, 1], f32>
  %shifted = smelt.add %mean, %epsilon : <[b, 1], f32>, <[], f32> -> <[b, 1], f32>
  %root = smelt.rsqrt %shifted : <[b, 1], f32>
  %n = smelt.mul %x, %root : <[b, 16], f32>, <[b, 1], f32> -> <[b, 16], f32>
  %y = smelt.mul %n, %scale : <[b, 16], f32>, <[16], f32> -> <[b, 16], f32>
  // CHECK: %[[N:.*]] = smelt.rms_norm %arg0 axis 1
  // CHECK: %[[Y:.*]] = smelt.mul %[[N]]
  // CHECK: return %[[N]], %[[Y]]
  return %n, %y : !smelt.tensor<[b, 16], f32>, !smelt.tensor<[b, 16], f32>
}

// A mean over another axis is no norm of trailing axes; x over the root of another tensor's mean is none either.
// CHECK-LABEL: func @no_norm
func.func @no_norm(%x: !smelt.tensor<[b, s, 16], f32>, %z: !smelt.tensor<[b, s, 16], f32>) -> (!smelt.tensor<[b, s, 16], f32>, !smelt.tensor<[b, s, 16], f32>) {
  %epsilon = smelt.constant dense<1.0e-6> : tensor<f32> : <[], f32>
  %square = smelt.mul %x, %x : <[b, s, 16], f32>, <[b, s, 16], f32> -> <[b, s, 16], f32>
  %mean = smelt.reduce mean %square axes [1] : <[b, s, 16], f32> -> <[b, 1, 16], f32>
  %shifted = smelt.add %mean, %epsilon : <[b, 1, 16], f32>, <[], f32> -> <[b, 1, 16], f32>
  %root = smelt.rsqrt %shifted : <[b, 1, 16], f32>
  %0 = smelt.mul %x, %root : <[b, s, 16], f32>, <[b, 1, 16], f32> -> <[b, s, 16], f32>
  %mean2 = smelt.reduce mean %square axes [2] : <[b, s, 16], f32> -> <[b, s, 1], f32>
  %shifted2 = smelt.add %mean2, %epsilon : <[b, s, 1], f32>, <[], f32> -> <[b, s, 1], f32>
  %root2 = smelt.rsqrt %shifted2 : <[b, s, 1], f32>
  %1 = smelt.mul %z, %root2 : <[b, s, 16], f32>, <[b, s, 1], f32> -> <[b, s, 16], f32>
  // CHECK-NOT: smelt.rms_norm
  // CHECK: return
  return %0, %1 : !smelt.tensor<[b, s, 16], f32>, !smelt.tensor<[b, s, 16], f32>
}

// As ONNX defines it: the mean of squares less the square of the mean, of rows that a reshape made of two axes.
// CHECK-LABEL: func @spread
func.func @spread(%x: !smelt.tensor<[b, 4, 8], f32>) -> !smelt.tensor<[b, 4, 8], f32> {
  %scale = smelt.weight "scale" <"w.bin", 0, 128, ""> : <[4, 8], f32>
  %epsilon = smelt.constant dense<1.0e-5> : tensor<f32> : <[], f32>
  %rows = smelt.reshape %x : <[b, 4, 8], f32> -> <[b, 32], f32>
  %mean = smelt.reduce mean %rows axes [1] : <[b, 32], f32> -> <[b, 1], f32>
  %square = smelt.mul %x, %x : <[b, 4, 8], f32>, <[b, 4, 8], f32> -> <[b, 4, 8], f32>
  %squares = smelt.reshape %square : <[b, 4, 8], f32> -> <[b, 32], f32>
  %second = smelt.reduce mean %squares axes [1] : <[b, 32], f32> -> <[b, 1], f32>
  %first = smelt.mul %mean, %mean : <[b, 1], f32>, <[b, 1], f32> -> <[b, 1], f32>
  %variance = smelt.sub %second, %first : <[b, 1], f32>, <[b, 1], f32> -> <[b, 1], f32>
  %shifted = smelt.add %variance, %epsilon : <[b, 1], f32>, <[], f32> -> <[b, 1], f32>
  %root = smelt.rsqrt %shifted : <[b, 1], f32>
  %wide = smelt.reshape %root : <[b, 1], f32> -> <[b, 1, 1], f32>
  %centre = smelt.reshape %mean : <[b, 1], f32> -> <[b, 1, 1], f32>
  %d = smelt.sub %x, %centre : <[b, 4, 8], f32>, <[b, 1, 1], f32> -> <[b, 4, 8], f32>
  %n = smelt.mul %d, %wide : <[b, 4, 8], f32>, <[b, 1, 1], f32> -> <[b, 4, 8], f32>
  %flat = smelt.reshape %n : <[b, 4, 8], f32> -> <[b, 32], f32>
  %factor = smelt.reshape %scale : <[4, 8], f32> -> <[1, 32], f32>
  %y = smelt.mul %flat, %factor : <[b, 32], f32>, <[1, 32], f32> -> <[b, 32], f32>
  %result = smelt.reshape %y : <[b, 32], f32> -> <[b, 4, 8], f32>
  // CHECK: smelt.layer_norm %arg0 scale %{{.*}} axis 1
  // CHECK-NOT: smelt.rsqrt
  // CHECK: return
  return %result : !smelt.tensor<[b, 4, 8], f32>
}

// The square of another tensor's mean makes no variance of it; nor does a mean over other rows.
// CHECK-LABEL: func @no_spread
func.func @no_spread(%x: !smelt.tensor<[b, 16], f32>, %z: !smelt.tensor<[b, 16], f32>) -> !smelt.tensor<[b, 16], f32> {
  %epsilon = smelt.constant dense<1.0e-5> : tensor<f32> : <[], f32>
  %mean = smelt.reduce mean %x axes [1] : <[b, 16], f32> -> <[b, 1], f32>
  %other = smelt.reduce mean %z axes [1] : <[b, 16], f32> -> <[b, 1], f32>
  %square = smelt.mul %x, %x : <[b, 16], f32>, <[b, 16], f32> -> <[b, 16], f32>
  %second = smelt.reduce mean %square axes [1] : <[b, 16], f32> -> <[b, 1], f32>
  %first = smelt.mul %other, %other : <[b, 1], f32>, <[b, 1], f32> -> <[b, 1], f32>
  %variance = smelt.sub %second, %first : <[b, 1], f32>, <[b, 1], f32> -> <[b, 1], f32>
  %shifted = smelt.add %variance, %epsilon : <[b, 1], f32>, <[], f32> -> <[b, 1], f32>
  %root = smelt.rsqrt %shifted : <[b, 1], f32>
  %d = smelt.sub %x, %mean : <[b, 16], f32>, <[b, 1], f32> -> <[b, 16], f32>
  %n = smelt.mul %d, %root : <[b, 16], f32>, <[b, 1], f32> -> <[b, 16], f32>
  // CHECK-NOT: smelt.layer_norm
  // CHECK: return
  return %n : !smelt.tensor<[b, 16], f32>
}
