// RUN: smelt-opt %s --smelt-fuse-squeeze-excite | FileCheck %s

// From the mean to the scaling: one kernel. What is made of weights alone stays outside, for the compiler to compute.
// CHECK-LABEL: @scaled
// CHECK: %[[WEIGHTS:.*]] = smelt.transpose %e
// CHECK: %[[SCALED:.*]] = smelt.fusion squeeze_excite(%arg0, %s, %sb, %[[WEIGHTS]])
// CHECK: smelt.reduce mean
// CHECK-NEXT: smelt.reshape
// CHECK-NEXT: smelt.matmul
// CHECK-NEXT: smelt.add
// CHECK-NEXT: smelt.silu
// CHECK-NEXT: smelt.matmul
// CHECK-NEXT: smelt.sigmoid
// CHECK-NEXT: smelt.reshape
// CHECK-NEXT: smelt.mul
// CHECK-NEXT: smelt.yield
// CHECK: return %[[SCALED]]
func.func @scaled(%x: !smelt.tensor<[b, h, w, 96], f16>) -> !smelt.tensor<[b, h, w, 96], f16> {
  %s = smelt.weight "s" <"w.bin", 0, 768, ""> : <[96, 4], f16>
  %sb = smelt.weight "sb" <"w.bin", 768, 8, ""> : <[4], f16>
  %e = smelt.weight "e" <"w.bin", 776, 768, ""> : <[96, 4], f16>
  %0 = smelt.reduce mean %x axes [1, 2] : <[b, h, w, 96], f16> -> <[b, 1, 1, 96], f16>
  %1 = smelt.reshape %0 : <[b, 1, 1, 96], f16> -> <[b, 1, 96], f16>
  %2 = smelt.matmul %1, %s : <[b, 1, 96], f16>, <[96, 4], f16> -> <[b, 1, 4], f16>
  %3 = smelt.add %2, %sb : <[b, 1, 4], f16>, <[4], f16> -> <[b, 1, 4], f16>
  %4 = smelt.silu %3 : <[b, 1, 4], f16>
  %5 = smelt.transpose %e [1, 0] : <[96, 4], f16> -> <[4, 96], f16>
  %6 = smelt.matmul %4, %5 : <[b, 1, 4], f16>, <[4, 96], f16> -> <[b, 1, 96], f16>
  %7 = smelt.sigmoid %6 : <[b, 1, 96], f16>
  %8 = smelt.reshape %7 : <[b, 1, 96], f16> -> <[b, 1, 1, 96], f16>
  %9 = smelt.mul %8, %x : <[b, 1, 1, 96], f16>, <[b, h, w, 96], f16> -> <[b, h, w, 96], f16>
  return %9 : !smelt.tensor<[b, h, w, 96], f16>
}

// Of one image, elementwise ops have lost the axis of images.
// CHECK-LABEL: @one_image
// CHECK: %[[SCALED:.*]] = smelt.fusion squeeze_excite(%arg0, %s, %e)
// CHECK: smelt.mul {{.*}} : <[1, 1, 1, 96], f16>, <[1, 14, 14, 96], f16>
// CHECK-NEXT: smelt.yield
// CHECK: %[[IMAGE:.*]] = smelt.reshape %[[SCALED]] {{.*}} -> <[14, 14, 96], f16>
// CHECK: return %[[IMAGE]]
func.func @one_image(%x: !smelt.tensor<[1, 14, 14, 96], f16>) -> !smelt.tensor<[14, 14, 96], f16> {
  %s = smelt.weight "s" <"w.bin", 0, 768, ""> : <[96, 4], f16>
  %e = smelt.weight "e" <"w.bin", 768, 768, ""> : <[4, 96], f16>
  %0 = smelt.reduce mean %x axes [1, 2] : <[1, 14, 14, 96], f16> -> <[1, 1, 1, 96], f16>
  %1 = smelt.reshape %0 : <[1, 1, 1, 96], f16> -> <[1, 96], f16>
  %2 = smelt.matmul %1, %s : <[1, 96], f16>, <[96, 4], f16> -> <[1, 4], f16>
  %3 = smelt.silu %2 : <[1, 4], f16>
  %4 = smelt.matmul %3, %e : <[1, 4], f16>, <[4, 96], f16> -> <[1, 96], f16>
  %5 = smelt.sigmoid %4 : <[1, 96], f16>
  %6 = smelt.reshape %5 : <[1, 96], f16> -> <[96], f16>
  %7 = smelt.reshape %x : <[1, 14, 14, 96], f16> -> <[14, 14, 96], f16>
  %8 = smelt.mul %6, %7 : <[96], f16>, <[14, 14, 96], f16> -> <[14, 14, 96], f16>
  return %8 : !smelt.tensor<[14, 14, 96], f16>
}

// What reads the gates, too, keeps the scaling out; a sum is as good as a mean.
// CHECK-LABEL: @gates
// CHECK: %[[GATES:.*]] = smelt.fusion squeeze_excite(%arg0, %s, %e)
// CHECK: smelt.yield %{{.*}} : !smelt.tensor<[b, 1, 1, 96], f32>
// CHECK: %[[SCALED:.*]] = smelt.mul %arg0, %[[GATES]]
// CHECK: return %[[SCALED]], %[[GATES]]
func.func @gates(%x: !smelt.tensor<[b, 7, 7, 96], f32>) -> (!smelt.tensor<[b, 7, 7, 96], f32>, !smelt.tensor<[b, 1, 1, 96], f32>) {
  %s = smelt.weight "s" <"w.bin", 0, 1536, ""> : <[96, 4], f32>
  %e = smelt.weight "e" <"w.bin", 1536, 1536, ""> : <[4, 96], f32>
  %0 = smelt.reduce sum %x axes [1, 2] : <[b, 7, 7, 96], f32> -> <[b, 1, 1, 96], f32>
  %1 = smelt.matmul %0, %s : <[b, 1, 1, 96], f32>, <[96, 4], f32> -> <[b, 1, 1, 4], f32>
  %2 = smelt.relu %1 : <[b, 1, 1, 4], f32>
  %3 = smelt.matmul %2, %e : <[b, 1, 1, 4], f32>, <[4, 96], f32> -> <[b, 1, 1, 96], f32>
  %4 = smelt.sigmoid %3 : <[b, 1, 1, 96], f32>
  %5 = smelt.mul %x, %4 : <[b, 7, 7, 96], f32>, <[b, 1, 1, 96], f32> -> <[b, 7, 7, 96], f32>
  return %5, %4 : !smelt.tensor<[b, 7, 7, 96], f32>, !smelt.tensor<[b, 1, 1, 96], f32>
}

// A mean that another op reads; one that is not linear before the product; the largest pixel; the mean of rows alone; weights
// that an op computes; so many images that reading the weights for each costs more than the kernels.
// CHECK-LABEL: @others
// CHECK-NOT: squeeze_excite
// CHECK: return
func.func @others(%x: !smelt.tensor<[b, 7, 7, 96], f16>, %v: !smelt.tensor<[96, 4], f16>, %many: !smelt.tensor<[4096, 1, 2, 256], f16>) -> (!smelt.tensor<[b, 1, 1, 96], f16>, !smelt.tensor<[b, 1, 1, 96], f16>, !smelt.tensor<[b, 1, 1, 96], f16>, !smelt.tensor<[b, 1, 1, 96], f16>, !smelt.tensor<[b, 1, 7, 96], f16>, !smelt.tensor<[b, 1, 1, 96], f16>, !smelt.tensor<[4096, 1, 1, 256], f16>) {
  %s = smelt.weight "s" <"w.bin", 0, 768, ""> : <[96, 4], f16>
  %e = smelt.weight "e" <"w.bin", 768, 768, ""> : <[4, 96], f16>
  %0 = smelt.reduce mean %x axes [1, 2] : <[b, 7, 7, 96], f16> -> <[b, 1, 1, 96], f16>
  %1 = smelt.matmul %0, %s : <[b, 1, 1, 96], f16>, <[96, 4], f16> -> <[b, 1, 1, 4], f16>
  %2 = smelt.matmul %1, %e : <[b, 1, 1, 4], f16>, <[4, 96], f16> -> <[b, 1, 1, 96], f16>
  %3 = smelt.reduce mean %x axes [1, 2] : <[b, 7, 7, 96], f16> -> <[b, 1, 1, 96], f16>
  %4 = smelt.relu %3 : <[b, 1, 1, 96], f16>
  %5 = smelt.matmul %4, %s : <[b, 1, 1, 96], f16>, <[96, 4], f16> -> <[b, 1, 1, 4], f16>
  %6 = smelt.matmul %5, %e : <[b, 1, 1, 4], f16>, <[4, 96], f16> -> <[b, 1, 1, 96], f16>
  %7 = smelt.reduce max %x axes [1, 2] : <[b, 7, 7, 96], f16> -> <[b, 1, 1, 96], f16>
  %8 = smelt.matmul %7, %s : <[b, 1, 1, 96], f16>, <[96, 4], f16> -> <[b, 1, 1, 4], f16>
  %9 = smelt.matmul %8, %e : <[b, 1, 1, 4], f16>, <[4, 96], f16> -> <[b, 1, 1, 96], f16>
  %10 = smelt.reduce mean %x axes [1] : <[b, 7, 7, 96], f16> -> <[b, 1, 7, 96], f16>
  %11 = smelt.matmul %10, %s : <[b, 1, 7, 96], f16>, <[96, 4], f16> -> <[b, 1, 7, 4], f16>
  %12 = smelt.matmul %11, %e : <[b, 1, 7, 4], f16>, <[4, 96], f16> -> <[b, 1, 7, 96], f16>
  %13 = smelt.reduce mean %x axes [1, 2] : <[b, 7, 7, 96], f16> -> <[b, 1, 1, 96], f16>
  %14 = smelt.matmul %13, %v : <[b, 1, 1, 96], f16>, <[96, 4], f16> -> <[b, 1, 1, 4], f16>
  %15 = smelt.matmul %14, %e : <[b, 1, 1, 4], f16>, <[4, 96], f16> -> <[b, 1, 1, 96], f16>
  %wide = smelt.weight "wide" <"w.bin", 2048, 65536, ""> : <[256, 128], f16>
  %back = smelt.weight "back" <"w.bin", 67584, 65536, ""> : <[128, 256], f16>
  %16 = smelt.reduce mean %many axes [1, 2] : <[4096, 1, 2, 256], f16> -> <[4096, 1, 1, 256], f16>
  %17 = smelt.matmul %16, %wide : <[4096, 1, 1, 256], f16>, <[256, 128], f16> -> <[4096, 1, 1, 128], f16>
  %18 = smelt.matmul %17, %back : <[4096, 1, 1, 128], f16>, <[128, 256], f16> -> <[4096, 1, 1, 256], f16>
  return %0, %2, %6, %9, %12, %15, %18 : !smelt.tensor<[b, 1, 1, 96], f16>, !smelt.tensor<[b, 1, 1, 96], f16>, !smelt.tensor<[b, 1, 1, 96], f16>, !smelt.tensor<[b, 1, 1, 96], f16>, !smelt.tensor<[b, 1, 7, 96], f16>, !smelt.tensor<[b, 1, 1, 96], f16>, !smelt.tensor<[4096, 1, 1, 256], f16>
}

// Weights that are all the same: a kernel would hold the number, and the template reads weights.
// CHECK-LABEL: @literal
// CHECK-NOT: squeeze_excite
// CHECK: return
func.func @literal(%x: !smelt.tensor<[b, h, w, 1], f32>) -> !smelt.tensor<[b, 1, 1, 1], f32> {
  %s = smelt.constant dense<-0.83> : tensor<1x1xf32> : <[1, 1], f32>
  %e = smelt.weight "e" <"w.bin", 0, 4, ""> : <[1, 1], f32>
  %0 = smelt.reduce mean %x axes [1, 2] : <[b, h, w, 1], f32> -> <[b, 1, 1, 1], f32>
  %1 = smelt.matmul %0, %s : <[b, 1, 1, 1], f32>, <[1, 1], f32> -> <[b, 1, 1, 1], f32>
  %2 = smelt.matmul %1, %e : <[b, 1, 1, 1], f32>, <[1, 1], f32> -> <[b, 1, 1, 1], f32>
  return %2 : !smelt.tensor<[b, 1, 1, 1], f32>
}
