// RUN: smelt-opt %s --smelt-simplify-channels-last | FileCheck %s

// Padding, stride, dilation, bias: the image's channels move to its end, and back behind the product.
// CHECK-LABEL: func @windows
func.func @windows(%x: !smelt.tensor<[n, 8, 9, 11], f32>, %f: !smelt.tensor<[5, 8, 3, 2], f32>, %b: !smelt.tensor<[5], f32>) -> !smelt.tensor<[n, 5, 5, 11], f32> {
  // CHECK: %[[IMAGE:.*]] = smelt.transpose %arg0 [0, 2, 3, 1]
  // CHECK: %[[TALL:.*]] = smelt.concat %{{.*}}, %[[IMAGE]], %{{.*}} axis 1 {{.*}} -> <[n, 11, 11, 8], f32>
  // CHECK: %[[WIDE:.*]] = smelt.concat %[[TALL]], %{{.*}} axis 2 {{.*}} -> <[n, 11, 13, 8], f32>
  // CHECK: %[[ROWS:.*]] = smelt.windows %[[WIDE]] axis 1 stride 2 dilation 1 : {{.*}} -> <[n, 5, 3, 13, 8], f32>
  // CHECK: %[[BOTH:.*]] = smelt.windows %[[ROWS]] axis 3 stride 1 dilation 2 : {{.*}} -> <[n, 5, 3, 11, 2, 8], f32>
  // CHECK: %[[FILTER:.*]] = smelt.transpose %arg1 [2, 3, 1, 0]
  // CHECK: %[[B:.*]] = smelt.reshape %[[FILTER]] : {{.*}} -> <[48, 5], f32>
  // CHECK: %[[ORDERED:.*]] = smelt.transpose %[[BOTH]] [0, 1, 3, 2, 4, 5]
  // CHECK: %[[A:.*]] = smelt.reshape %[[ORDERED]] : {{.*}} -> <[n, 5, 11, 48], f32>
  // CHECK: %[[SUMS:.*]] = smelt.matmul %[[A]], %[[B]]
  // CHECK: %[[BIASED:.*]] = smelt.add %[[SUMS]], %arg2
  // CHECK: smelt.transpose %[[BIASED]] [0, 3, 1, 2]
  %0 = smelt.conv %x, %f bias %b : !smelt.tensor<[5], f32> {strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 1, 2>, dilations = array<i64: 1, 2>, groups = 1 : i64} : <[n, 8, 9, 11], f32>, <[5, 8, 3, 2], f32> -> <[n, 5, 5, 11], f32>
  return %0 : !smelt.tensor<[n, 5, 5, 11], f32>
}

// A first layer: the four pixels of its strides become the channels of one, a tap of zeros before its seven makes the padding
// whole strides, and its windows are one pixel apart.
// CHECK-LABEL: func @first_layer
func.func @first_layer(%x: !smelt.tensor<[n, 3, 224, 224], f16>, %f: !smelt.tensor<[64, 3, 7, 7], f16>) -> !smelt.tensor<[n, 64, 112, 112], f16> {
  // CHECK: smelt.concat {{.*}} axis 3 : {{.*}} -> <[n, 224, 224, 4], f16>
  // CHECK: smelt.concat %{{.*}}, %{{.*}} axis 2 : !smelt.tensor<[64, 4, 1, 7], f16>, !smelt.tensor<[64, 4, 7, 7], f16>
  // CHECK: smelt.transpose %{{.*}} [0, 1, 3, 2, 4, 5] : {{.*}} -> <[n, 112, 112, 2, 2, 4], f16>
  // CHECK: smelt.transpose %{{.*}} [0, 3, 5, 1, 2, 4] : {{.*}} -> <[64, 2, 2, 4, 4, 4], f16>
  // CHECK: smelt.concat {{.*}} axis 1 : {{.*}} -> <[n, 115, 112, 16], f16>
  // CHECK: smelt.windows {{.*}} axis 1 stride 1 dilation 1 : <[n, 115, 115, 16], f16> -> <[n, 112, 4, 115, 16], f16>
  // CHECK: smelt.matmul %{{.*}}, %{{.*}} : <[n, 112, 112, 256], f16>, <[256, 64], f16>
  %0 = smelt.conv %x, %f {strides = array<i64: 2, 2>, pads = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 3, 224, 224], f16>, <[64, 3, 7, 7], f16> -> <[n, 64, 112, 112], f16>
  return %0 : !smelt.tensor<[n, 64, 112, 112], f16>
}
// Not where the image is no whole strides, where its size is open, or where channels are many.
// CHECK-LABEL: func @no_whole_strides
func.func @no_whole_strides(%x: !smelt.tensor<[n, 3, 225, 224], f16>, %y: !smelt.tensor<[n, 4, h, 224], f16>, %z: !smelt.tensor<[n, 8, 224, 224], f16>, %f: !smelt.tensor<[64, 3, 3, 3], f16>, %g: !smelt.tensor<[64, 4, 3, 3], f16>, %k: !smelt.tensor<[64, 8, 3, 3], f16>) -> (!smelt.tensor<[n, 64, 112, 111], f16>, !smelt.tensor<[n, 64, floordiv(h - 3, 2) + 1, 111], f16>, !smelt.tensor<[n, 64, 111, 111], f16>) {
  // CHECK-COUNT-6: smelt.windows {{.*}} stride 2
  %0 = smelt.conv %x, %f {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 3, 225, 224], f16>, <[64, 3, 3, 3], f16> -> <[n, 64, 112, 111], f16>
  %1 = smelt.conv %y, %g {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 4, h, 224], f16>, <[64, 4, 3, 3], f16> -> <[n, 64, floordiv(h - 3, 2) + 1, 111], f16>
  %2 = smelt.conv %z, %k {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 8, 224, 224], f16>, <[64, 8, 3, 3], f16> -> <[n, 64, 111, 111], f16>
  return %0, %1, %2 : !smelt.tensor<[n, 64, 112, 111], f16>, !smelt.tensor<[n, 64, floordiv(h - 3, 2) + 1, 111], f16>, !smelt.tensor<[n, 64, 111, 111], f16>
}

// A line and a volume, of unknown sizes. Three channels become four.
// CHECK-LABEL: func @line
func.func @line(%x: !smelt.tensor<[n, 4, s], f16>, %f: !smelt.tensor<[8, 4, 3], f16>) -> !smelt.tensor<[n, 8, floordiv(s - 1, 2) + 1], f16> {
  // CHECK: smelt.windows %{{.*}} axis 1 stride 2 dilation 1 : <[n, s + 2, 4], f16> -> <[n, floordiv(s - 1, 2) + 1, 3, 4], f16>
  // CHECK-NOT: smelt.conv
  %0 = smelt.conv %x, %f {strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, groups = 1 : i64} : <[n, 4, s], f16>, <[8, 4, 3], f16> -> <[n, 8, floordiv(s - 1, 2) + 1], f16>
  return %0 : !smelt.tensor<[n, 8, floordiv(s - 1, 2) + 1], f16>
}
// CHECK-LABEL: func @volume
func.func @volume(%x: !smelt.tensor<[2, 3, 4, h, 6], f32>, %f: !smelt.tensor<[8, 3, 3, 3, 3], f32>) -> !smelt.tensor<[2, 8, 4, h, 6], f32> {
  // CHECK: smelt.transpose %{{.*}} [0, 1, 3, 5, 2, 4, 6, 7] : {{.*}} -> <[2, 4, h, 6, 3, 3, 3, 4], f32>
  // CHECK: smelt.matmul %{{.*}}, %{{.*}} : <[2, 4, h, 6, 108], f32>, <[108, 8], f32>
  %0 = smelt.conv %x, %f {strides = array<i64: 1, 1, 1>, pads = array<i64: 1, 1, 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1>, groups = 1 : i64} : <[2, 3, 4, h, 6], f32>, <[8, 3, 3, 3, 3], f32> -> <[2, 8, 4, h, 6], f32>
  return %0 : !smelt.tensor<[2, 8, 4, h, 6], f32>
}

// Filters of one pixel read the image itself; between two of them, and beside a residual, a gate and a mean, no transpose is left.
// CHECK-LABEL: func @bottleneck
func.func @bottleneck(%x: !smelt.tensor<[n, 16, 8, 8], f16>, %f: !smelt.tensor<[32, 16, 1, 1], f16>, %g: !smelt.tensor<[16, 32, 1, 1], f16>, %s: !smelt.tensor<[n, 32, 1, 1], f16>) -> !smelt.tensor<[n, 32], f16> {
  // CHECK: %[[IMAGE:.*]] = smelt.transpose %arg0 [0, 2, 3, 1]
  // CHECK: smelt.matmul %[[IMAGE]], %{{.*}} : <[n, 8, 8, 16], f16>, <[16, 32], f16>
  // CHECK: %[[WIDE:.*]] = smelt.relu
  // CHECK: %[[GATE:.*]] = smelt.reshape %arg3 : {{.*}} -> <[n, 1, 1, 32], f16>
  // CHECK: %[[GATED:.*]] = smelt.mul %[[WIDE]], %[[GATE]]
  // CHECK: %[[NARROW:.*]] = smelt.matmul %[[GATED]], %{{.*}} : <[n, 8, 8, 32], f16>, <[32, 16], f16>
  // CHECK: %[[AGAIN:.*]] = smelt.matmul %[[NARROW]], %{{.*}} : <[n, 8, 8, 16], f16>, <[16, 32], f16>
  // CHECK: %[[SUM:.*]] = smelt.add %[[AGAIN]], %[[GATED]]
  // CHECK: %[[MEAN:.*]] = smelt.reduce  mean %[[SUM]] axes [1, 2]
  // CHECK-NEXT: %[[FLAT:.*]] = smelt.reshape %[[MEAN]] : {{.*}} -> <[n, 32], f16>
  // CHECK-NEXT: return %[[FLAT]]
  %0 = smelt.conv %x, %f {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 16, 8, 8], f16>, <[32, 16, 1, 1], f16> -> <[n, 32, 8, 8], f16>
  %1 = smelt.relu %0 : <[n, 32, 8, 8], f16>
  %2 = smelt.mul %1, %s : <[n, 32, 8, 8], f16>, <[n, 32, 1, 1], f16> -> <[n, 32, 8, 8], f16>
  %3 = smelt.conv %2, %g {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 32, 8, 8], f16>, <[16, 32, 1, 1], f16> -> <[n, 16, 8, 8], f16>
  %4 = smelt.conv %3, %f {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 16, 8, 8], f16>, <[32, 16, 1, 1], f16> -> <[n, 32, 8, 8], f16>
  %5 = smelt.add %4, %2 : <[n, 32, 8, 8], f16>, <[n, 32, 8, 8], f16> -> <[n, 32, 8, 8], f16>
  %6 = smelt.reduce mean %5 axes [2, 3] : <[n, 32, 8, 8], f16> -> <[n, 32, 1, 1], f16>
  %7 = smelt.reshape %6 : <[n, 32, 1, 1], f16> -> <[n, 32], f16>
  return %7 : !smelt.tensor<[n, 32], f16>
}

// One pixel of two, and branches that join along their channels.
// CHECK-LABEL: func @joined
func.func @joined(%x: !smelt.tensor<[n, 8, 7, 7], f16>, %f: !smelt.tensor<[8, 8, 1, 1], f16>) -> !smelt.tensor<[n, 16, 4, 4], f16> {
  // CHECK: smelt.slice %{{.*}} starts {{.*}} steps [1, 2, 1, 1]
  // CHECK: smelt.slice %{{.*}} starts {{.*}} steps [1, 1, 2, 1]
  // CHECK: %[[JOINED:.*]] = smelt.concat %{{.*}}, %{{.*}} axis 3 : {{.*}} -> <[n, 4, 4, 16], f16>
  // CHECK: smelt.transpose %[[JOINED]] [0, 3, 1, 2]
  // CHECK-NEXT: return
  %0 = smelt.conv %x, %f {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 8, 7, 7], f16>, <[8, 8, 1, 1], f16> -> <[n, 8, 4, 4], f16>
  %1 = smelt.relu %0 : <[n, 8, 4, 4], f16>
  %2 = smelt.concat %0, %1 axis 1 : !smelt.tensor<[n, 8, 4, 4], f16>, !smelt.tensor<[n, 8, 4, 4], f16> -> <[n, 16, 4, 4], f16>
  return %2 : !smelt.tensor<[n, 16, 4, 4], f16>
}

// A group each, and a channel each with two filters: products of batches; products that are summed up.
// CHECK-LABEL: func @groups
func.func @groups(%x: !smelt.tensor<[n, 8, 7, w], f32>, %f: !smelt.tensor<[6, 4, 3, 1], f32>, %g: !smelt.tensor<[16, 1, 3, 3], f32>, %b: !smelt.tensor<[16], f32>) -> (!smelt.tensor<[n, 6, 7, w], f32>, !smelt.tensor<[n, 16, 5, w - 2], f32>) {
  // CHECK: smelt.matmul %{{.*}}, %{{.*}} : <[2, 7*n*w, 12], f32>, <[2, 12, 3], f32>
  // CHECK: smelt.transpose %{{.*}} [1, 0, 2] : {{.*}} -> <[7*n*w, 2, 3], f32>
  // CHECK: smelt.mul %{{.*}}, %{{.*}} : <[n, 5, 3, w - 2, 3, 8, 1], f32>, <[1, 3, 1, 3, 8, 2], f32> -> <[n, 5, 3, w - 2, 3, 8, 2], f32>
  // CHECK: smelt.reduce  sum %{{.*}} axes [2, 4]
  // CHECK-NEXT: smelt.reshape %{{.*}} -> <[n, 5, w - 2, 16], f32>
  // CHECK-NEXT: smelt.add %{{.*}}, %arg3 : <[n, 5, w - 2, 16], f32>, <[16], f32>
  %0 = smelt.conv %x, %f {strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64} : <[n, 8, 7, w], f32>, <[6, 4, 3, 1], f32> -> <[n, 6, 7, w], f32>
  %1 = smelt.conv %x, %g bias %b : !smelt.tensor<[16], f32> {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 8 : i64} : <[n, 8, 7, w], f32>, <[16, 1, 3, 3], f32> -> <[n, 16, 5, w - 2], f32>
  return %0, %1 : !smelt.tensor<[n, 6, 7, w], f32>, !smelt.tensor<[n, 16, 5, w - 2], f32>
}

// Sums of a channel each are rounded once, with the bias.
// CHECK-LABEL: func @biased
func.func @biased(%x: !smelt.tensor<[n, 8, 7, 7], f16>, %f: !smelt.tensor<[8, 1, 3, 3], f16>, %b: !smelt.tensor<[8], f16>) -> !smelt.tensor<[n, 8, 5, 5], f16>
    attributes {test.not_interpreted = "the interpreter's doubles are rounded where a cast says so, and a convolution does not"} {
  // CHECK: %[[SUMS:.*]] = smelt.reshape %{{.*}} -> <[n, 5, 5, 8], f32>
  // CHECK: %[[BIAS:.*]] = smelt.cast %{{.*}} : <[8], f16> -> <[8], f32>
  // CHECK: %[[BIASED:.*]] = smelt.add %[[SUMS]], %[[BIAS]] : <[n, 5, 5, 8], f32>
  // CHECK: smelt.cast %[[BIASED]] : <[n, 5, 5, 8], f32> -> <[n, 5, 5, 8], f16>
  %0 = smelt.conv %x, %f bias %b : !smelt.tensor<[8], f16> {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 8 : i64} : <[n, 8, 7, 7], f16>, <[8, 1, 3, 3], f16> -> <[n, 8, 5, 5], f16>
  return %0 : !smelt.tensor<[n, 8, 5, 5], f16>
}

// The windows of a pool slide over the image as it lies.
// CHECK-LABEL: func @pool
func.func @pool(%x: !smelt.tensor<[n, 8, 7, 7], f16>, %f: !smelt.tensor<[8, 8, 1, 1], f16>) -> !smelt.tensor<[n, 8, 3, 3], f16> {
  // CHECK: %[[Y:.*]] = smelt.matmul
  // CHECK: %[[ROWS:.*]] = smelt.windows %[[Y]] axis 1 {{.*}} -> <[n, 3, 3, 7, 8], f16>
  // CHECK: %[[BOTH:.*]] = smelt.windows %[[ROWS]] axis 3 {{.*}} -> <[n, 3, 3, 3, 3, 8], f16>
  // CHECK: %[[MOST:.*]] = smelt.reduce  max %[[BOTH]] axes [2, 4]
  // CHECK: %[[POOLED:.*]] = smelt.reshape %[[MOST]] : {{.*}} -> <[n, 3, 3, 8], f16>
  // CHECK: smelt.transpose %[[POOLED]] [0, 3, 1, 2]
  // CHECK-NEXT: return
  %0 = smelt.conv %x, %f {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 8, 7, 7], f16>, <[8, 8, 1, 1], f16> -> <[n, 8, 7, 7], f16>
  %1 = smelt.windows %0 axis 2 stride 2 dilation 1 : <[n, 8, 7, 7], f16> -> <[n, 8, 3, 3, 7], f16>
  %2 = smelt.windows %1 axis 4 stride 2 dilation 1 : <[n, 8, 3, 3, 7], f16> -> <[n, 8, 3, 3, 3, 3], f16>
  %3 = smelt.transpose %2 [0, 1, 2, 4, 3, 5] : <[n, 8, 3, 3, 3, 3], f16> -> <[n, 8, 3, 3, 3, 3], f16>
  %4 = smelt.reduce max %3 axes [4, 5] : <[n, 8, 3, 3, 3, 3], f16> -> <[n, 8, 3, 3, 1, 1], f16>
  %5 = smelt.reshape %4 : <[n, 8, 3, 3, 1, 1], f16> -> <[n, 8, 3, 3], f16>
  return %5 : !smelt.tensor<[n, 8, 3, 3], f16>
}

// Patches and what no template multiplies stay convolutions.
// CHECK-LABEL: func @others
func.func @others(%x: !smelt.tensor<[n, 4, 8, 8], f32>, %f: !smelt.tensor<[8, 4, 4, 4], f32>, %d: !smelt.tensor<[n, 4, 8, 8], f64>, %g: !smelt.tensor<[8, 4, 3, 3], f64>) -> (!smelt.tensor<[n, 8, 2, 2], f32>, !smelt.tensor<[n, 8, 6, 6], f64>) {
  // CHECK-COUNT-2: smelt.conv
  %0 = smelt.conv %x, %f {strides = array<i64: 4, 4>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 4, 8, 8], f32>, <[8, 4, 4, 4], f32> -> <[n, 8, 2, 2], f32>
  %1 = smelt.conv %d, %g {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : <[n, 4, 8, 8], f64>, <[8, 4, 3, 3], f64> -> <[n, 8, 6, 6], f64>
  return %0, %1 : !smelt.tensor<[n, 8, 2, 2], f32>, !smelt.tensor<[n, 8, 6, 6], f64>
}
