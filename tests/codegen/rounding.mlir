// RUN: emit-cuda %s | FileCheck %s

// What is only rounded is divided by a product and its correction; clipped, without the case of infinity. What is rounded to
// bytes is added to a large number, with the zero point, and cut off.
// CHECK: // pointwise+max+min+div+round+add+div
// CHECK: divideFiniteByNumber({{v[0-9]+}}, 0.699999988f, 1.42857146f); // Clipped
// CHECK-NEXT: roundToInteger<int8_t>({{v[0-9]+}}, -7); // Bytes
// CHECK: [[QUOTIENT:v[0-9]+]] = divideByNumber({{.*}}, 0.300000012f, 3.33333325f); // Unbounded
// CHECK-NEXT: roundEven([[QUOTIENT]]);
func.func @quantized(%x: !smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], i8>, !smelt.tensor<[m, 77], f32>) {
  %r:2 = smelt.fusion pointwise(%x) : (!smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], i8>, !smelt.tensor<[m, 77], f32>) {
  ^bb0(%a: !smelt.tensor<[m, 77], f32>):
    %c = smelt.constant dense<0.7> : tensor<f32> : <[], f32>
    %d = smelt.constant dense<0.3> : tensor<f32> : <[], f32>
    %low = smelt.constant dense<-84.7> : tensor<f32> : <[], f32>
    %high = smelt.constant dense<93.8> : tensor<f32> : <[], f32>
    %zero = smelt.constant dense<-7.0> : tensor<f32> : <[], f32>
    %0 = smelt.max %a, %low : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %1 = smelt.min %0, %high : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %2 = smelt.div %1, %c : <[m, 77], f32>, <[], f32> -> <[m, 77], f32> loc("Clipped")
    %3 = smelt.round %2 : <[m, 77], f32>
    %4 = smelt.add %3, %zero : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %5 = smelt.cast %4 : <[m, 77], f32> -> <[m, 77], i8> loc("Bytes")
    %6 = smelt.div %a, %d : <[m, 77], f32>, <[], f32> -> <[m, 77], f32> loc("Unbounded")
    %7 = smelt.round %6 : <[m, 77], f32> loc("Unbounded")
    smelt.yield %5, %7 : !smelt.tensor<[m, 77], i8>, !smelt.tensor<[m, 77], f32>
  }
  return %r#0, %r#1 : !smelt.tensor<[m, 77], i8>, !smelt.tensor<[m, 77], f32>
}

// A quotient that stays a fraction, and one by a number far from 1, are divided.
// CHECK: // pointwise+div+div+round
// CHECK: / 0.699999988f; // Fraction
// CHECK: / 9.99999968e-20f; // Tiny
func.func @divided(%x: !smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>) {
  %r:2 = smelt.fusion pointwise(%x) : (!smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>) {
  ^bb0(%a: !smelt.tensor<[m, 77], f32>):
    %c = smelt.constant dense<0.7> : tensor<f32> : <[], f32>
    %tiny = smelt.constant dense<1.0e-19> : tensor<f32> : <[], f32>
    %0 = smelt.div %a, %c : <[m, 77], f32>, <[], f32> -> <[m, 77], f32> loc("Fraction")
    %1 = smelt.div %a, %tiny : <[m, 77], f32>, <[], f32> -> <[m, 77], f32> loc("Tiny")
    %2 = smelt.round %1 : <[m, 77], f32>
    smelt.yield %0, %2 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>
  }
  return %r#0, %r#1 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>
}

// What is clipped to numbers whose quotients may be infinite is not known to be finite.
// CHECK: // pointwise+min+max+div+round
// CHECK: divideByNumber(
func.func @huge(%x: !smelt.tensor<[m, 77], f32>) -> !smelt.tensor<[m, 77], f32> {
  %r = smelt.fusion pointwise(%x) : (!smelt.tensor<[m, 77], f32>) -> !smelt.tensor<[m, 77], f32> {
  ^bb0(%a: !smelt.tensor<[m, 77], f32>):
    %c = smelt.constant dense<0.7> : tensor<f32> : <[], f32>
    %high = smelt.constant dense<3.0e+38> : tensor<f32> : <[], f32>
    %low = smelt.constant dense<-3.0e+38> : tensor<f32> : <[], f32>
    %0 = smelt.min %a, %high : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %1 = smelt.max %0, %low : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %2 = smelt.div %1, %c : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %3 = smelt.round %2 : <[m, 77], f32>
    smelt.yield %3 : !smelt.tensor<[m, 77], f32>
  }
  return %r : !smelt.tensor<[m, 77], f32>
}

// Bytes are widened, and whole floats cut off, without a conversion. An activation that is rounded to few multiples of a scale
// that is large beside the error of its short form has that one.
// CHECK: // pointwise+gelu
// CHECK: convert<float>({{.*}}); // Widen
// CHECK: = gelu({{.*}}); // Fine
// CHECK: = gelu({{.*}}); // Many
// CHECK: approx::gelu({{.*}}); // Coarse
// CHECK: roundSmall({{.*}}); // Small
// CHECK-NEXT: minimum(
// CHECK-NEXT: wholeInteger<uint8_t>({{.*}}); // Whole
func.func @widened(%x: !smelt.tensor<[m, 77], i8>, %y: !smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], ui8>) {
  %r:3 = smelt.fusion pointwise(%x, %y) : (!smelt.tensor<[m, 77], i8>, !smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], ui8>) {
  ^bb0(%a: !smelt.tensor<[m, 77], i8>, %b: !smelt.tensor<[m, 77], f32>):
    %c = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
    %fine = smelt.constant dense<1.0e-4> : tensor<f32> : <[], f32>
    %high = smelt.constant dense<255.0> : tensor<f32> : <[], f32>
    %scaled = smelt.constant dense<7.96875> : tensor<f32> : <[], f32>
    %0 = smelt.cast %a : <[m, 77], i8> -> <[m, 77], f32> loc("Widen")
    %1 = smelt.gelu %b : <[m, 77], f32> loc("Coarse")
    %2 = smelt.relu %1 : <[m, 77], f32>
    %3 = smelt.min %2, %scaled : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %4 = smelt.div %3, %c : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %5 = smelt.round %4 : <[m, 77], f32> loc("Small")
    %6 = smelt.min %5, %high : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %7 = smelt.cast %6 : <[m, 77], f32> -> <[m, 77], ui8> loc("Whole")
    %8 = smelt.gelu %b : <[m, 77], f32> loc("Fine")
    %9 = smelt.div %8, %fine : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %10 = smelt.round %9 : <[m, 77], f32>
    %11 = smelt.gelu %b : <[m, 77], f32> loc("Many")
    %12 = smelt.div %11, %c : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %13 = smelt.round %12 : <[m, 77], f32>
    %14 = smelt.add %10, %13 : <[m, 77], f32>, <[m, 77], f32> -> <[m, 77], f32>
    smelt.yield %0, %14, %7 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], ui8>
  }
  return %r#0, %r#1, %r#2 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], ui8>
}

// Bytes without a zero point are rounded two at a time where they are packed into vectors, and saturate: what clips them to the
// range of a byte is left out, what clips them further, as a ReLU of signed ones does, and what is computed from them is not.
// CHECK: // pointwise+max+max+min+round
// CHECK: float [[SIGNED:r[0-9]+]][W];
// CHECK: float [[UNSIGNED:r[0-9]+]][W];
// CHECK: [[RELU:v[0-9]+]] = maximum([[X:v[0-9]+\[i\]]], 0.0f); // Relu
// CHECK-NEXT: [[SIGNED]][i] = [[RELU]];
// CHECK-NEXT: [[UNSIGNED]][i] = [[X]];
// CHECK-NEXT: maximum(
// CHECK-NEXT: minimum(
// CHECK-NEXT: roundToInteger<int8_t>({{.*}}, 3); // ZeroPoint
// CHECK: storeRounded<W>({{.*}}, [[SIGNED]]);
// CHECK: storeRounded<W>({{.*}}, [[UNSIGNED]]);
// CHECK: store<W>(
func.func @saturated(%x: !smelt.tensor<[m, 64], f32>) -> (!smelt.tensor<[m, 64], i8>, !smelt.tensor<[m, 64], ui8>, !smelt.tensor<[m, 64], i8>) {
  %r:3 = smelt.fusion pointwise(%x) : (!smelt.tensor<[m, 64], f32>) -> (!smelt.tensor<[m, 64], i8>, !smelt.tensor<[m, 64], ui8>, !smelt.tensor<[m, 64], i8>) {
  ^bb0(%a: !smelt.tensor<[m, 64], f32>):
    %low = smelt.constant dense<-128.0> : tensor<f32> : <[], f32>
    %high = smelt.constant dense<127.0> : tensor<f32> : <[], f32>
    %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
    %most = smelt.constant dense<255.0> : tensor<f32> : <[], f32>
    %lower = smelt.constant dense<-131.0> : tensor<f32> : <[], f32>
    %higher = smelt.constant dense<124.0> : tensor<f32> : <[], f32>
    %three = smelt.constant dense<3.0> : tensor<f32> : <[], f32>
    %0 = smelt.max %a, %zero : <[m, 64], f32>, <[], f32> -> <[m, 64], f32> loc("Relu")
    %1 = smelt.max %0, %low : <[m, 64], f32>, <[], f32> -> <[m, 64], f32>
    %2 = smelt.min %1, %high : <[m, 64], f32>, <[], f32> -> <[m, 64], f32>
    %3 = smelt.round %2 : <[m, 64], f32>
    %4 = smelt.cast %3 : <[m, 64], f32> -> <[m, 64], i8>
    %5 = smelt.max %a, %zero : <[m, 64], f32>, <[], f32> -> <[m, 64], f32>
    %6 = smelt.min %5, %most : <[m, 64], f32>, <[], f32> -> <[m, 64], f32>
    %7 = smelt.round %6 : <[m, 64], f32>
    %8 = smelt.cast %7 : <[m, 64], f32> -> <[m, 64], ui8>
    %9 = smelt.max %a, %lower : <[m, 64], f32>, <[], f32> -> <[m, 64], f32>
    %10 = smelt.min %9, %higher : <[m, 64], f32>, <[], f32> -> <[m, 64], f32>
    %11 = smelt.round %10 : <[m, 64], f32>
    %12 = smelt.add %11, %three : <[m, 64], f32>, <[], f32> -> <[m, 64], f32>
    %13 = smelt.cast %12 : <[m, 64], f32> -> <[m, 64], i8> loc("ZeroPoint")
    smelt.yield %4, %8, %13 : !smelt.tensor<[m, 64], i8>, !smelt.tensor<[m, 64], ui8>, !smelt.tensor<[m, 64], i8>
  }
  return %r#0, %r#1, %r#2 : !smelt.tensor<[m, 64], i8>, !smelt.tensor<[m, 64], ui8>, !smelt.tensor<[m, 64], i8>
}

// The same where a tensor ends amid a vector: storeRounded<1>.
// CHECK: // pointwise+max+min+round
// CHECK: bool kHasTail = true
// CHECK: storeRounded<W>(
func.func @tail(%x: !smelt.tensor<[m, 7], f32>) -> !smelt.tensor<[m, 7], i8> {
  %r = smelt.fusion pointwise(%x) : (!smelt.tensor<[m, 7], f32>) -> !smelt.tensor<[m, 7], i8> {
  ^bb0(%a: !smelt.tensor<[m, 7], f32>):
    %low = smelt.constant dense<-128.0> : tensor<f32> : <[], f32>
    %high = smelt.constant dense<127.0> : tensor<f32> : <[], f32>
    %0 = smelt.max %a, %low : <[m, 7], f32>, <[], f32> -> <[m, 7], f32>
    %1 = smelt.min %0, %high : <[m, 7], f32>, <[], f32> -> <[m, 7], f32>
    %2 = smelt.round %1 : <[m, 7], f32>
    %3 = smelt.cast %2 : <[m, 7], f32> -> <[m, 7], i8>
    smelt.yield %3 : !smelt.tensor<[m, 7], i8>
  }
  return %r : !smelt.tensor<[m, 7], i8>
}
