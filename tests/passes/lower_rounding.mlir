// RUN: smelt-opt %s --smelt-lower-rounding | FileCheck %s

// Behind a product what is rounded and widened again stays a float, and what is divided is clipped before.
// CHECK-LABEL: func @rounded(
func.func @rounded(%x: !smelt.tensor<[m, 77], f32>) -> !smelt.tensor<[m, 77], f32> {
  // CHECK: %[[C:.*]] = smelt.constant dense<0.699999988>
  // CHECK-NEXT: %[[LOW:.*]] = smelt.constant dense<-8.960000e+01>
  // CHECK-NEXT: %[[ABOVE:.*]] = smelt.max %{{.*}}, %[[LOW]]
  // CHECK-NEXT: %[[HIGH:.*]] = smelt.constant dense<8.890000e+01>
  // CHECK-NEXT: %[[CLIPPED:.*]] = smelt.min %[[ABOVE]], %[[HIGH]]
  // CHECK-NEXT: %[[QUOTIENT:.*]] = smelt.div %[[CLIPPED]], %[[C]]
  // CHECK-NEXT: %[[ROUNDED:.*]] = smelt.round %[[QUOTIENT]]
  // CHECK-NEXT: smelt.mul %[[ROUNDED]], %[[C]]
  // CHECK-NEXT: smelt.yield
  %r = smelt.fusion pointwise(%x) : (!smelt.tensor<[m, 77], f32>) -> !smelt.tensor<[m, 77], f32> {
  ^bb0(%arg: !smelt.tensor<[m, 77], f32>):
    %c = smelt.constant dense<0.7> : tensor<f32> : <[], f32>
    %low = smelt.constant dense<-128.0> : tensor<f32> : <[], f32>
    %high = smelt.constant dense<127.0> : tensor<f32> : <[], f32>
    %0 = smelt.div %arg, %c : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %1 = smelt.max %0, %low : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %2 = smelt.min %1, %high : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %3 = smelt.round %2 : <[m, 77], f32>
    %4 = smelt.cast %3 : <[m, 77], f32> -> <[m, 77], i8>
    %5 = smelt.cast %4 : <[m, 77], i8> -> <[m, 77], f32>
    %6 = smelt.mul %5, %c : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    smelt.yield %6 : !smelt.tensor<[m, 77], f32>
  }
  return %r : !smelt.tensor<[m, 77], f32>
}

// A zero point is added and taken off.
// CHECK-LABEL: func @moved(
func.func @moved(%x: !smelt.tensor<[1, 77], f32>) -> !smelt.tensor<[1, 77], f32> {
  // CHECK: %[[ROUNDED:.*]] = smelt.round
  // CHECK-NEXT: smelt.yield %[[ROUNDED]]
  %r = smelt.fusion pointwise(%x) : (!smelt.tensor<[1, 77], f32>) -> !smelt.tensor<[1, 77], f32> {
  ^bb0(%arg: !smelt.tensor<[1, 77], f32>):
    %high = smelt.constant dense<248.0> : tensor<f32> : <[], f32>
    %zero = smelt.constant dense<7.0> : tensor<f32> : <[], f32>
    %back = smelt.constant dense<-7.0> : tensor<f32> : <[], f32>
    %0 = smelt.relu %arg : <[1, 77], f32>
    %1 = smelt.min %0, %high : <[1, 77], f32>, <[], f32> -> <[1, 77], f32>
    %2 = smelt.round %1 : <[1, 77], f32>
    %3 = smelt.add %2, %zero : <[1, 77], f32>, <[], f32> -> <[1, 77], f32>
    %4 = smelt.cast %3 : <[1, 77], f32> -> <[1, 77], ui8>
    %5 = smelt.cast %4 : <[1, 77], ui8> -> <[1, 77], f32>
    %6 = smelt.add %5, %back : <[1, 77], f32>, <[], f32> -> <[1, 77], f32>
    smelt.yield %6 : !smelt.tensor<[1, 77], f32>
  }
  return %r : !smelt.tensor<[1, 77], f32>
}

// Bytes cut off what is not clipped to them, and fractions.
// CHECK-LABEL: func @cut_off(
func.func @cut_off(%x: !smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>) {
  // CHECK-COUNT-4: smelt.cast
  // CHECK-NEXT: smelt.yield
  %r:2 = smelt.fusion pointwise(%x) : (!smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>) {
  ^bb0(%arg: !smelt.tensor<[m, 77], f32>):
    %low = smelt.constant dense<-128.0> : tensor<f32> : <[], f32>
    %high = smelt.constant dense<128.0> : tensor<f32> : <[], f32>
    %0 = smelt.max %arg, %low : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %1 = smelt.min %0, %high : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %2 = smelt.round %1 : <[m, 77], f32>
    %3 = smelt.cast %2 : <[m, 77], f32> -> <[m, 77], i8>
    %4 = smelt.cast %3 : <[m, 77], i8> -> <[m, 77], f32>
    %5 = smelt.relu %1 : <[m, 77], f32>
    %6 = smelt.cast %5 : <[m, 77], f32> -> <[m, 77], ui8>
    %7 = smelt.cast %6 : <[m, 77], ui8> -> <[m, 77], f32>
    smelt.yield %4, %7 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>
  }
  return %r#0, %r#1 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>
}

// What moves numbers far rounds them; fractions are rounded as they are moved.
// CHECK-LABEL: func @moved_far(
func.func @moved_far(%x: !smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>) {
  // CHECK-COUNT-4: smelt.add
  // CHECK-NEXT: smelt.yield
  %r:2 = smelt.fusion pointwise(%x) : (!smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>) {
  ^bb0(%arg: !smelt.tensor<[m, 77], f32>):
    %low = smelt.constant dense<-128.0> : tensor<f32> : <[], f32>
    %high = smelt.constant dense<127.0> : tensor<f32> : <[], f32>
    %far = smelt.constant dense<1.0e+9> : tensor<f32> : <[], f32>
    %far_back = smelt.constant dense<-1.0e+9> : tensor<f32> : <[], f32>
    %0 = smelt.max %arg, %low : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %1 = smelt.min %0, %high : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %2 = smelt.round %1 : <[m, 77], f32>
    %3 = smelt.add %2, %far : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %4 = smelt.add %3, %far_back : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %5 = smelt.add %1, %high : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %6 = smelt.add %5, %low : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    smelt.yield %4, %6 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>
  }
  return %r#0, %r#1 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>
}

// Between whole numbers, by a divisor that leaves no finite bound, by one below 0: the division comes first.
// CHECK-LABEL: func @clipped_behind(
func.func @clipped_behind(%x: !smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>) {
  // CHECK: %[[FIRST:.*]] = smelt.div
  // CHECK-NEXT: smelt.min %[[FIRST]]
  // CHECK: %[[SECOND:.*]] = smelt.div
  // CHECK-NEXT: smelt.min %[[SECOND]]
  // CHECK: %[[THIRD:.*]] = smelt.div
  // CHECK-NEXT: smelt.min %[[THIRD]]
  %r:3 = smelt.fusion pointwise(%x) : (!smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>) {
  ^bb0(%arg: !smelt.tensor<[m, 77], f32>):
    %c = smelt.constant dense<0.7> : tensor<f32> : <[], f32>
    %negative = smelt.constant dense<-0.7> : tensor<f32> : <[], f32>
    %large = smelt.constant dense<1.0e+38> : tensor<f32> : <[], f32>
    %half = smelt.constant dense<2.5> : tensor<f32> : <[], f32>
    %high = smelt.constant dense<127.0> : tensor<f32> : <[], f32>
    %0 = smelt.div %arg, %c : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %1 = smelt.min %0, %half : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %2 = smelt.round %1 : <[m, 77], f32>
    %3 = smelt.div %arg, %large : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %4 = smelt.min %3, %high : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %5 = smelt.round %4 : <[m, 77], f32>
    %6 = smelt.div %arg, %negative : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %7 = smelt.min %6, %high : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
    %8 = smelt.round %7 : <[m, 77], f32>
    smelt.yield %2, %5, %8 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>
  }
  return %r#0, %r#1, %r#2 : !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>, !smelt.tensor<[m, 77], f32>
}

// Between kernels bytes are stored.
// CHECK-LABEL: func @between(
func.func @between(%x: !smelt.tensor<[m, 77], f32>) -> !smelt.tensor<[m, 77], f32> {
  // CHECK-COUNT-2: smelt.cast
  // CHECK-NEXT: return
  %high = smelt.constant dense<127.0> : tensor<f32> : <[], f32>
  %0 = smelt.relu %x : <[m, 77], f32>
  %1 = smelt.min %0, %high : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %2 = smelt.round %1 : <[m, 77], f32>
  %3 = smelt.cast %2 : <[m, 77], f32> -> <[m, 77], i8>
  %4 = smelt.cast %3 : <[m, 77], i8> -> <[m, 77], f32>
  return %4 : !smelt.tensor<[m, 77], f32>
}
