// RUN: smelt-opt %s --smelt-fuse-columnwise | FileCheck %s

// A depthwise convolution: windows of a padded image times filters, with what follows. The image's own
// activation would be computed for each window.
// CHECK-LABEL: func @depthwise
func.func @depthwise(%x: !smelt.tensor<[n, 8, 8], f16>, %f: !smelt.tensor<[3, 8], f32>, %b: !smelt.tensor<[8], f16>) -> !smelt.tensor<[n, 8, 8], f16> {
  // CHECK: %[[X:.*]] = smelt.tanh
  // CHECK: smelt.fusion columnwise
  // CHECK: smelt.concat
  // CHECK: smelt.windows
  // CHECK: smelt.mul
  // CHECK: smelt.reduce  sum
  // CHECK: smelt.relu
  // CHECK-NEXT: smelt.yield
  // CHECK-NOT: smelt.fusion
  %0 = smelt.constant dense<0.0> : tensor<f16> : <[], f16>
  %1 = smelt.expand %0 : <[], f16> -> <[n, 1, 8], f16>
  %2 = smelt.tanh %x : <[n, 8, 8], f16>
  %3 = smelt.concat %1, %2, %1 axis 1 : !smelt.tensor<[n, 1, 8], f16>, !smelt.tensor<[n, 8, 8], f16>, !smelt.tensor<[n, 1, 8], f16> -> <[n, 10, 8], f16>
  %4 = smelt.windows %3 axis 1 stride 1 dilation 1 : <[n, 10, 8], f16> -> <[n, 8, 3, 8], f16>
  %5 = smelt.cast %4 : <[n, 8, 3, 8], f16> -> <[n, 8, 3, 8], f32>
  %6 = smelt.mul %5, %f : <[n, 8, 3, 8], f32>, <[3, 8], f32> -> <[n, 8, 3, 8], f32>
  %7 = smelt.reduce sum %6 axes [2] : <[n, 8, 3, 8], f32> -> <[n, 8, 1, 8], f32>
  %8 = smelt.reshape %7 : <[n, 8, 1, 8], f32> -> <[n, 8, 8], f32>
  %9 = smelt.cast %8 : <[n, 8, 8], f32> -> <[n, 8, 8], f16>
  %10 = smelt.add %9, %b : <[n, 8, 8], f16>, <[8], f16> -> <[n, 8, 8], f16>
  %11 = smelt.relu %10 : <[n, 8, 8], f16>
  return %11 : !smelt.tensor<[n, 8, 8], f16>
}

// A mean over pixels computes each of them once; rows are rowwise.
// CHECK-LABEL: func @mean
func.func @mean(%x: !smelt.tensor<[n, 49, 8], f16>) -> (!smelt.tensor<[n, 1, 8], f16>, !smelt.tensor<[n, 49, 1], f16>) {
  // CHECK: smelt.fusion columnwise
  // CHECK: smelt.tanh
  // CHECK: smelt.reduce  mean
  // CHECK: smelt.yield
  // CHECK-NOT: smelt.fusion
  %0 = smelt.tanh %x : <[n, 49, 8], f16>
  %1 = smelt.reduce mean %0 axes [1] : <[n, 49, 8], f16> -> <[n, 1, 8], f16>
  %2 = smelt.reduce sum %x axes [2] : <[n, 49, 8], f16> -> <[n, 49, 1], f16>
  return %1, %2 : !smelt.tensor<[n, 1, 8], f16>, !smelt.tensor<[n, 49, 1], f16>
}

// Bytes are widened for each window that reads them.
// CHECK-LABEL: func @of_bytes
func.func @of_bytes(%x: !smelt.tensor<[n, 10, 8], ui8>, %f: !smelt.tensor<[3, 8], f32>) -> !smelt.tensor<[n, 8, 1, 8], f32> {
  // CHECK: smelt.fusion columnwise(
  // CHECK: smelt.cast
  // CHECK: smelt.add
  // CHECK: smelt.mul
  // CHECK: smelt.windows
  // CHECK: smelt.reduce  sum
  // CHECK: smelt.yield
  // CHECK-NOT: smelt.fusion
  %zero = smelt.constant dense<-7.0> : tensor<f32> : <[], f32>
  %scale = smelt.constant dense<0.3> : tensor<f32> : <[], f32>
  %0 = smelt.cast %x : <[n, 10, 8], ui8> -> <[n, 10, 8], f32>
  %1 = smelt.add %0, %zero : <[n, 10, 8], f32>, <[], f32> -> <[n, 10, 8], f32>
  %2 = smelt.mul %1, %scale : <[n, 10, 8], f32>, <[], f32> -> <[n, 10, 8], f32>
  %3 = smelt.windows %2 axis 1 stride 1 dilation 1 : <[n, 10, 8], f32> -> <[n, 8, 3, 8], f32>
  %4 = smelt.mul %3, %f : <[n, 8, 3, 8], f32>, <[3, 8], f32> -> <[n, 8, 3, 8], f32>
  %5 = smelt.reduce sum %4 axes [2] : <[n, 8, 3, 8], f32> -> <[n, 8, 1, 8], f32>
  return %5 : !smelt.tensor<[n, 8, 1, 8], f32>
}

// Moments of the rows at which the kernel ends are its second result.
// CHECK-LABEL: func @moments
func.func @moments(%x: !smelt.tensor<[n, 49, 64], f16>) -> (!smelt.tensor<[n, 64], f16>, !smelt.tensor<[n, 2, 2], f32>) {
  // CHECK: %[[X:.*]]:2 = smelt.fusion columnwise(%arg0) : {{.*}} -> (!smelt.tensor<[n, 64], f16>, !smelt.tensor<[n, 2, 2], f32>)
  // CHECK: smelt.reduce  mean
  // CHECK: %[[RELU:.*]] = smelt.relu
  // CHECK-NEXT: %[[MOMENTS:.*]] = smelt.row_moments %[[RELU]]
  // CHECK-NEXT: smelt.yield %[[RELU]], %[[MOMENTS]]
  // CHECK: return %[[X]]#0, %[[X]]#1
  %0 = smelt.reduce mean %x axes [1] : <[n, 49, 64], f16> -> <[n, 1, 64], f16>
  %1 = smelt.reshape %0 : <[n, 1, 64], f16> -> <[n, 64], f16>
  %2 = smelt.relu %1 : <[n, 64], f16>
  %3 = smelt.row_moments %2 : <[n, 64], f16> -> <[n, 2, 2], f32>
  return %2, %3 : !smelt.tensor<[n, 64], f16>, !smelt.tensor<[n, 2, 2], f32>
}

// The reshape at which rows with moments end is computed by their kernel alone, whoever reads it first.
// CHECK-LABEL: func @end
func.func @end(%x: !smelt.tensor<[n, 49, 64], f16>, %y: !smelt.tensor<[n, 9, 64], f16>) -> (!smelt.tensor<[n, 64], f16>, !smelt.tensor<[n, 2, 2], f32>) {
  // CHECK: %[[X:.*]]:2 = smelt.fusion columnwise(%arg0)
  // CHECK: smelt.row_moments
  // CHECK: smelt.fusion columnwise(%arg1, %[[X]]#0)
  // CHECK: smelt.reduce
  // CHECK: smelt.add
  %0 = smelt.reduce mean %y axes [1] : <[n, 9, 64], f16> -> <[n, 1, 64], f16>
  %1 = smelt.reshape %0 : <[n, 1, 64], f16> -> <[n, 64], f16>
  %2 = smelt.reduce max %x axes [1] : <[n, 49, 64], f16> -> <[n, 1, 64], f16>
  %3 = smelt.reshape %2 : <[n, 1, 64], f16> -> <[n, 64], f16>
  %4 = smelt.row_moments %3 : <[n, 64], f16> -> <[n, 2, 2], f32>
  %5 = smelt.add %1, %3 : <[n, 64], f16>, <[n, 64], f16> -> <[n, 64], f16>
  return %5, %4 : !smelt.tensor<[n, 64], f16>, !smelt.tensor<[n, 2, 2], f32>
}
