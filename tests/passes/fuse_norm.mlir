// RUN: smelt-opt %s --smelt-fuse-norm --smelt-fuse-gemm --smelt-fuse-columnwise --smelt-fuse-rowwise --smelt-fuse-pointwise --smelt-lower | FileCheck %s

// One layer with the norm after the sum: the sum's kernel stores row moments too; both readers, a product and a
// residual, compute the norm from them.
// CHECK-LABEL: @post_norm
// CHECK: %[[X:.*]]:2 = smelt.fusion gemm(%{{.*}}, %arg0, %arg1) : {{.*}} -> (!smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[b, s, 2, 2], f32>)
// CHECK: smelt.matmul
// CHECK-NEXT: %[[SUM:.*]] = smelt.add
// CHECK-NEXT: %[[MOMENTS:.*]] = smelt.row_moments %[[SUM]]
// CHECK-NEXT: smelt.yield %[[SUM]], %[[MOMENTS]]
// Weight expressions: the scaled and centered weight, its column sums once it is rounded, the shift.
// CHECK: %[[SCALEDW:.*]] = smelt.mul {{.*}} -> <[64, 256], f32>
// CHECK: %[[MEANS:.*]] = smelt.reduce mean %[[SCALEDW]] axes [0]
// CHECK: %[[CENTEREDW:.*]] = smelt.sub %[[SCALEDW]], %[[MEANS]]
// CHECK: %[[FOLDED:.*]] = smelt.cast %[[CENTEREDW]] : <[64, 256], f32> -> <[64, 256], f16>
// CHECK: %[[STORED:.*]] = smelt.transpose %[[FOLDED]] [1, 0]
// CHECK: %[[WIDE:.*]] = smelt.cast %[[FOLDED]]
// CHECK: %[[U:.*]] = smelt.reduce sum %[[WIDE]] axes [0]
// CHECK: %[[BETA:.*]] = smelt.matmul {{.*}} : <[1, 64], f32>, <[64, 256], f32> -> <[1, 256], f32>
// CHECK: %[[V:.*]] = smelt.add %[[BETA]]
// CHECK: smelt.fusion gemm(%[[STORED]], %[[X]]#0, %[[X]]#1, %[[U]], %[[V]])
// CHECK-NEXT: ^bb0(%[[TURNED:[a-z0-9]+]]: {{.*}}, %[[X1:[a-z0-9]+]]: {{.*}}, %[[M1:[a-z0-9]+]]: {{.*}}, %[[U1:[a-z0-9]+]]: {{.*}}, %[[V1:[a-z0-9]+]]:
// CHECK-NEXT: %[[W1:.*]] = smelt.transpose %[[TURNED]] [1, 0]
// CHECK-NEXT: %[[SUMS:.*]] = smelt.matmul %[[X1]], %[[W1]] : <[b, s, 64], f16>, <[64, 256], f16> -> <[b, s, 256], f32>
// CHECK-NEXT: %[[MEAN:.*]] = smelt.moments_mean %[[M1]]
// CHECK-NEXT: %[[OFFSET:.*]] = smelt.mul %[[MEAN]], %[[U1]]
// CHECK-NEXT: %[[CENTERED:.*]] = smelt.sub %[[SUMS]], %[[OFFSET]]
// CHECK-NEXT: %[[RSTD:.*]] = smelt.moments_rstd %[[M1]] {epsilon = 2.500000e-01 : f32}
// CHECK-NEXT: %[[SCALED:.*]] = smelt.mul %[[CENTERED]], %[[RSTD]]
// CHECK-NEXT: %[[SHIFTED:.*]] = smelt.add %[[SCALED]], %[[V1]]
// CHECK-NEXT: %[[ROUNDED:.*]] = smelt.cast %[[SHIFTED]]
// CHECK-NEXT: %[[GELU:.*]] = smelt.gelu %[[ROUNDED]]
// CHECK-NEXT: smelt.yield %[[GELU]]
// The residual.
// CHECK: smelt.fusion gemm({{.*}}, %[[X]]#0, %[[X]]#1,
// CHECK: %[[P:.*]] = smelt.matmul %arg3, %{{.*}}
// CHECK-NEXT: %[[X2:.*]] = smelt.cast %arg4 : <[b, s, 64], f16>
// CHECK-NEXT: %[[MEAN2:.*]] = smelt.moments_mean %arg5
// CHECK-NEXT: %[[D:.*]] = smelt.sub %[[X2]], %[[MEAN2]]
// CHECK-NEXT: %[[RSTD2:.*]] = smelt.moments_rstd %arg5
// CHECK-NEXT: %[[N:.*]] = smelt.mul %[[D]], %[[RSTD2]]
// CHECK-NEXT: %[[GAMMA:.*]] = smelt.cast %arg6 : <[64], f16>
// CHECK-NEXT: %[[S:.*]] = smelt.mul %[[N]], %[[GAMMA]]
// CHECK-NEXT: %[[BETA2:.*]] = smelt.cast %arg7 : <[64], f16>
// CHECK-NEXT: %[[B:.*]] = smelt.add %[[S]], %[[BETA2]]
// CHECK-NEXT: %[[Y:.*]] = smelt.cast %[[B]]
// CHECK-NEXT: %[[R:.*]] = smelt.add %[[P]], %[[Y]]
// CHECK-NEXT: smelt.yield %[[R]]
// CHECK-NOT: layer_norm
func.func @post_norm(%a: !smelt.tensor<[b, s, 64], f16>, %r: !smelt.tensor<[b, s, 64], f16>)
    -> (!smelt.tensor<[b, s, 256], f16>, !smelt.tensor<[b, s, 64], f16>) {
  %wa = smelt.weight "wa" <"w.bin", 0, 8192, ""> : <[64, 64], f16>
  %gamma = smelt.weight "gamma" <"w.bin", 8192, 128, ""> : <[64], f16>
  %beta = smelt.weight "beta" <"w.bin", 8320, 128, ""> : <[64], f16>
  %w1 = smelt.weight "w1" <"w.bin", 8448, 32768, ""> : <[64, 256], f16>
  %b1 = smelt.weight "b1" <"w.bin", 41216, 512, ""> : <[256], f16>
  %w2 = smelt.weight "w2" <"w.bin", 41728, 32768, ""> : <[256, 64], f16>
  %0 = smelt.matmul %a, %wa : <[b, s, 64], f16>, <[64, 64], f16> -> <[b, s, 64], f16>
  %x = smelt.add %0, %r : <[b, s, 64], f16>, <[b, s, 64], f16> -> <[b, s, 64], f16>
  %y = smelt.layer_norm %x scale %gamma : !smelt.tensor<[64], f16> bias %beta : !smelt.tensor<[64], f16> axis 2 {epsilon = 0.25 : f32} : <[b, s, 64], f16> -> <[b, s, 64], f16>
  %1 = smelt.matmul %y, %w1 : <[b, s, 64], f16>, <[64, 256], f16> -> <[b, s, 256], f16>
  %2 = smelt.add %1, %b1 : <[b, s, 256], f16>, <[256], f16> -> <[b, s, 256], f16>
  %3 = smelt.gelu %2 : <[b, s, 256], f16>
  %4 = smelt.matmul %3, %w2 : <[b, s, 256], f16>, <[256, 64], f16> -> <[b, s, 64], f16>
  %5 = smelt.add %4, %y : <[b, s, 64], f16>, <[b, s, 64], f16> -> <[b, s, 64], f16>
  return %3, %5 : !smelt.tensor<[b, s, 256], f16>, !smelt.tensor<[b, s, 64], f16>
}

// The norm before the products: the sum is read by the next sum as it is. RMS norm, fp32, no bias anywhere.
// CHECK-LABEL: @pre_norm
// CHECK: %[[X:.*]]:2 = smelt.fusion gemm
// CHECK: smelt.row_moments
// CHECK: smelt.yield
// CHECK-NOT: smelt.reduce
// CHECK: smelt.fusion gemm(%[[X]]#0, %{{.*}}, %[[X]]#1)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[SUMS:.*]] = smelt.matmul
// CHECK-NEXT: %[[RRMS:.*]] = smelt.moments_rrms
// CHECK-NEXT: %[[SCALED:.*]] = smelt.mul %[[SUMS]], %[[RRMS]]
// CHECK-NEXT: %[[SILU:.*]] = smelt.silu %[[SCALED]]
// CHECK-NEXT: smelt.yield %[[SILU]]
// CHECK: smelt.fusion gemm({{.*}}%[[X]]#0)
// CHECK-NOT: rms_norm
func.func @pre_norm(%a: !smelt.tensor<[n, 64], f32>, %r: !smelt.tensor<[n, 64], f32>)
    -> (!smelt.tensor<[n, 256], f32>, !smelt.tensor<[n, 64], f32>) {
  %wa = smelt.weight "wa" <"w.bin", 0, 16384, ""> : <[64, 64], f32>
  %gamma = smelt.weight "gamma" <"w.bin", 16384, 256, ""> : <[64], f32>
  %w1 = smelt.weight "w1" <"w.bin", 16640, 65536, ""> : <[64, 256], f32>
  %w2 = smelt.weight "w2" <"w.bin", 82176, 65536, ""> : <[256, 64], f32>
  %0 = smelt.matmul %a, %wa : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %x = smelt.add %0, %r : <[n, 64], f32>, <[n, 64], f32> -> <[n, 64], f32>
  %y = smelt.rms_norm %x scale %gamma : !smelt.tensor<[64], f32> axis 1 {epsilon = 0.25 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %1 = smelt.matmul %y, %w1 : <[n, 64], f32>, <[64, 256], f32> -> <[n, 256], f32>
  %2 = smelt.silu %1 : <[n, 256], f32>
  %3 = smelt.matmul %2, %w2 : <[n, 256], f32>, <[256, 64], f32> -> <[n, 64], f32>
  %4 = smelt.add %x, %3 : <[n, 64], f32>, <[n, 64], f32> -> <[n, 64], f32>
  return %2, %4 : !smelt.tensor<[n, 256], f32>, !smelt.tensor<[n, 64], f32>
}

// One norm after another, without scale; the first product's bias becomes the shift, the second has none. Two norms of
// one sum share its moments.
// CHECK-LABEL: @chain
// CHECK: smelt.row_moments
// CHECK-NOT: smelt.row_moments
// CHECK: smelt.fusion gemm
// CHECK: smelt.moments_mean
// CHECK: smelt.row_moments
// CHECK: smelt.fusion gemm
// CHECK: smelt.moments_rstd
// CHECK: smelt.fusion gemm
// CHECK: smelt.moments_rrms
// CHECK-NOT: norm %
func.func @chain(%a: !smelt.tensor<[n, 64], f32>)
    -> (!smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 64], f32>) {
  %wa = smelt.weight "wa" <"w.bin", 0, 16384, ""> : <[64, 64], f32>
  %wb = smelt.weight "wb" <"w.bin", 16384, 16384, ""> : <[64, 64], f32>
  %wc = smelt.weight "wc" <"w.bin", 32768, 16384, ""> : <[64, 64], f32>
  %wd = smelt.weight "wd" <"w.bin", 49152, 16384, ""> : <[64, 64], f32>
  %b = smelt.weight "b" <"w.bin", 65536, 256, ""> : <[1, 64], f32>
  %beta = smelt.weight "beta" <"w.bin", 65792, 256, ""> : <[64], f32>
  %0 = smelt.matmul %a, %wa : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %1 = smelt.layer_norm %0 axis 1 {epsilon = 0.0 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %2 = smelt.matmul %1, %wb : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %3 = smelt.add %b, %2 : <[1, 64], f32>, <[n, 64], f32> -> <[n, 64], f32>
  %4 = smelt.layer_norm %3 bias %beta : !smelt.tensor<[64], f32> axis 1 {epsilon = 0.25 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %5 = smelt.rms_norm %3 axis 1 {epsilon = 0.5 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %6 = smelt.matmul %4, %wc : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %7 = smelt.matmul %5, %wd : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  return %6, %7 : !smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 64], f32>
}

// Two layers with the same weights: products alone read them, so that scaled copies replace them.
// CHECK-LABEL: @shared
// CHECK-COUNT-2: smelt.row_moments
// CHECK-NOT: layer_norm
func.func @shared(%a: !smelt.tensor<[n, 64], f32>) -> !smelt.tensor<[n, 64], f32> {
  %w = smelt.weight "w" <"w.bin", 0, 16384, ""> : <[64, 64], f32>
  %gamma = smelt.weight "gamma" <"w.bin", 16384, 256, ""> : <[64], f32>
  %0 = smelt.matmul %a, %w : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %1 = smelt.layer_norm %0 scale %gamma : !smelt.tensor<[64], f32> axis 1 {epsilon = 0.0 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %2 = smelt.matmul %1, %w : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %3 = smelt.layer_norm %2 scale %gamma : !smelt.tensor<[64], f32> axis 1 {epsilon = 0.0 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %4 = smelt.matmul %3, %w : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  return %4 : !smelt.tensor<[n, 64], f32>
}

// Norms that stay kernels: of an input, of columns in no groups of 32, of rows that a reshape breaks, one that is a
// result, and one whose product reads an embedding's table.
// CHECK-LABEL: @kernels
// CHECK-NOT: row_moments
// CHECK-COUNT-5: smelt.layer_norm
// CHECK-NOT: row_moments
func.func @kernels(%a: !smelt.tensor<[n, 64], f32>, %ids: !smelt.tensor<[n], i64>)
    -> (!smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 64], f32>, !smelt.tensor<[2*n, 64], f32>, !smelt.tensor<[n, 64], f32>,
        !smelt.tensor<[n, 100], f32>, !smelt.tensor<[n, 64], f32>) {
  %w = smelt.weight "w" <"w.bin", 0, 16384, ""> : <[64, 64], f32>
  %w48 = smelt.weight "w48" <"w.bin", 16384, 12288, ""> : <[64, 48], f32>
  %v48 = smelt.weight "v48" <"w.bin", 28672, 12288, ""> : <[48, 64], f32>
  %w32 = smelt.weight "w32" <"w.bin", 40960, 8192, ""> : <[32, 64], f32>
  %table = smelt.weight "table" <"w.bin", 49152, 25600, ""> : <[100, 64], f32>
  %w1 = smelt.weight "w1" <"w.bin", 0, 16384, ""> : <[64, 64], f32>
  %w2 = smelt.weight "w2" <"w.bin", 0, 16384, ""> : <[64, 64], f32>
  %w3 = smelt.weight "w3" <"w.bin", 0, 16384, ""> : <[64, 64], f32>
  %0 = smelt.layer_norm %a axis 1 {epsilon = 0.0 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %1 = smelt.matmul %0, %w : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %2 = smelt.matmul %1, %w48 : <[n, 64], f32>, <[64, 48], f32> -> <[n, 48], f32>
  %3 = smelt.layer_norm %2 axis 1 {epsilon = 0.0 : f32} : <[n, 48], f32> -> <[n, 48], f32>
  %4 = smelt.matmul %3, %v48 : <[n, 48], f32>, <[48, 64], f32> -> <[n, 64], f32>
  %5 = smelt.matmul %4, %w1 : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %6 = smelt.reshape %5 : <[n, 64], f32> -> <[2*n, 32], f32>
  %7 = smelt.neg %6 : <[2*n, 32], f32>
  %8 = smelt.layer_norm %7 axis 1 {epsilon = 0.0 : f32} : <[2*n, 32], f32> -> <[2*n, 32], f32>
  %9 = smelt.matmul %8, %w32 : <[2*n, 32], f32>, <[32, 64], f32> -> <[2*n, 64], f32>
  %10 = smelt.matmul %a, %w2 : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %11 = smelt.layer_norm %10 axis 1 {epsilon = 0.0 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %12 = smelt.matmul %11, %w3 : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %13 = smelt.layer_norm %12 axis 1 {epsilon = 0.0 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %columns = smelt.transpose %table [1, 0] : <[100, 64], f32> -> <[64, 100], f32>
  %14 = smelt.matmul %13, %columns : <[n, 64], f32>, <[64, 100], f32> -> <[n, 100], f32>
  %15 = smelt.gather %table, %ids axis 0 : <[100, 64], f32>, <[n], i64> -> <[n, 64], f32>
  return %1, %4, %9, %11, %14, %15 : !smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 64], f32>, !smelt.tensor<[2*n, 64], f32>,
      !smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 100], f32>, !smelt.tensor<[n, 64], f32>
}

// A norm between a depthwise convolution and a product: the kernel of the convolution stores the moments of what it ends
// at. The product has no axis of size 1: the reshape goes before the norm, into the same kernel.
// CHECK-LABEL: @depthwise
// CHECK: %[[X:.*]]:2 = smelt.fusion columnwise(%{{.*}}) : {{.*}} -> (!smelt.tensor<[n, 8, 64], f16>, !smelt.tensor<[n, 8, 2, 2], f32>)
// CHECK: smelt.reduce  sum
// CHECK: %[[ROUNDED:.*]] = smelt.cast {{.*}} : <[1, n, 8, 64], f32> -> <[1, n, 8, 64], f16>
// CHECK-NEXT: %[[END:.*]] = smelt.reshape %[[ROUNDED]] : <[1, n, 8, 64], f16> -> <[n, 8, 64], f16>
// CHECK-NEXT: %[[MOMENTS:.*]] = smelt.row_moments %[[END]]
// CHECK-NEXT: smelt.yield %[[END]], %[[MOMENTS]]
// CHECK: smelt.fusion gemm({{.*}}%[[X]]#0, %[[X]]#1
// CHECK: smelt.moments_rstd
// CHECK-NOT: layer_norm
func.func @depthwise(%x: !smelt.tensor<[n, 10, 64], f16>) -> !smelt.tensor<[n, 8, 128], f16> {
  %f = smelt.weight "f" <"w.bin", 0, 768, ""> : <[3, 64], f32>
  %gamma = smelt.weight "gamma" <"w.bin", 768, 128, ""> : <[64], f16>
  %w = smelt.weight "w" <"w.bin", 896, 16384, ""> : <[64, 128], f16>
  %0 = smelt.windows %x axis 1 stride 1 dilation 1 : <[n, 10, 64], f16> -> <[n, 8, 3, 64], f16>
  %1 = smelt.cast %0 : <[n, 8, 3, 64], f16> -> <[n, 8, 3, 64], f32>
  %2 = smelt.mul %1, %f : <[n, 8, 3, 64], f32>, <[3, 64], f32> -> <[n, 8, 3, 64], f32>
  %3 = smelt.reduce sum %2 axes [2] : <[n, 8, 3, 64], f32> -> <[n, 8, 1, 64], f32>
  %4 = smelt.reshape %3 : <[n, 8, 1, 64], f32> -> <[1, n, 8, 64], f32>
  %5 = smelt.cast %4 : <[1, n, 8, 64], f32> -> <[1, n, 8, 64], f16>
  %6 = smelt.layer_norm %5 scale %gamma : !smelt.tensor<[64], f16> axis 3 {epsilon = 0.25 : f32} : <[1, n, 8, 64], f16> -> <[1, n, 8, 64], f16>
  %7 = smelt.reshape %6 : <[1, n, 8, 64], f16> -> <[n, 8, 64], f16>
  %8 = smelt.matmul %7, %w : <[n, 8, 64], f16>, <[64, 128], f16> -> <[n, 8, 128], f16>
  return %8 : !smelt.tensor<[n, 8, 128], f16>
}

// What reads the rows too, a residual connection, reads the first result; two norms share the moments.
// CHECK-LABEL: @depthwise_residual
// CHECK: %[[X:.*]]:2 = smelt.fusion columnwise
// CHECK: smelt.row_moments
// CHECK-NOT: smelt.row_moments
// CHECK: smelt.fusion gemm(%[[X]]#0, %{{.*}}, %[[X]]#1, %{{.*}})
// CHECK: smelt.moments_rstd
// CHECK: smelt.fusion gemm(%[[X]]#0, %{{.*}}, %[[X]]#1)
// CHECK: smelt.moments_rrms
// CHECK: smelt.add {{.*}} : <[n, 64], f32>, <[n, 64], f32>
// CHECK-NOT: norm %
func.func @depthwise_residual(%x: !smelt.tensor<[n, 5, 64], f32>) -> (!smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 64], f32>) {
  %w = smelt.weight "w" <"w.bin", 0, 16384, ""> : <[64, 64], f32>
  %v = smelt.weight "v" <"w.bin", 16384, 16384, ""> : <[64, 64], f32>
  %0 = smelt.reduce max %x axes [1] : <[n, 5, 64], f32> -> <[n, 1, 64], f32>
  %1 = smelt.reshape %0 : <[n, 1, 64], f32> -> <[n, 64], f32>
  %2 = smelt.layer_norm %1 axis 1 {epsilon = 0.0 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %3 = smelt.rms_norm %1 axis 1 {epsilon = 0.0 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %4 = smelt.matmul %2, %w : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %5 = smelt.matmul %3, %v : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %6 = smelt.add %5, %1 : <[n, 64], f32>, <[n, 64], f32> -> <[n, 64], f32>
  return %4, %6 : !smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 64], f32>
}

// Norms behind a reduction that stay kernels: of rows that a reshape breaks, of a sum of integers, of rows that are reduced
// whole (rowwise), and one that another reduction reads.
// CHECK-LABEL: @apart
// CHECK-NOT: row_moments
// CHECK-COUNT-4: smelt.layer_norm
// CHECK-NOT: row_moments
func.func @apart(%x: !smelt.tensor<[n, 5, 64], f32>, %i: !smelt.tensor<[n, 5, 64], i32>, %y: !smelt.tensor<[n, 64, 5], f32>)
    -> (!smelt.tensor<[2*n, 64], f32>, !smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 1, 64], f32>) {
  %w = smelt.weight "w" <"w.bin", 0, 16384, ""> : <[64, 64], f32>
  %v = smelt.weight "v" <"w.bin", 16384, 16384, ""> : <[64, 64], f32>
  %t = smelt.weight "t" <"w.bin", 32768, 16384, ""> : <[64, 64], f32>
  %w32 = smelt.weight "w32" <"w.bin", 49152, 8192, ""> : <[32, 64], f32>
  %0 = smelt.reduce max %x axes [1] : <[n, 5, 64], f32> -> <[n, 1, 64], f32>
  %1 = smelt.reshape %0 : <[n, 1, 64], f32> -> <[2*n, 32], f32>
  %2 = smelt.layer_norm %1 axis 1 {epsilon = 0.0 : f32} : <[2*n, 32], f32> -> <[2*n, 32], f32>
  %3 = smelt.matmul %2, %w32 : <[2*n, 32], f32>, <[32, 64], f32> -> <[2*n, 64], f32>
  %4 = smelt.reduce sum %i axes [1] : <[n, 5, 64], i32> -> <[n, 1, 64], i32>
  %5 = smelt.reshape %4 : <[n, 1, 64], i32> -> <[n, 64], i32>
  %6 = smelt.cast %5 : <[n, 64], i32> -> <[n, 64], f32>
  %7 = smelt.layer_norm %6 axis 1 {epsilon = 0.0 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %8 = smelt.matmul %7, %w : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %9 = smelt.reduce max %y axes [2] : <[n, 64, 5], f32> -> <[n, 64, 1], f32>
  %10 = smelt.reshape %9 : <[n, 64, 1], f32> -> <[n, 64], f32>
  %11 = smelt.layer_norm %10 axis 1 {epsilon = 0.0 : f32} : <[n, 64], f32> -> <[n, 64], f32>
  %12 = smelt.matmul %11, %v : <[n, 64], f32>, <[64, 64], f32> -> <[n, 64], f32>
  %13 = smelt.reduce min %x axes [1] : <[n, 5, 64], f32> -> <[n, 1, 64], f32>
  %14 = smelt.layer_norm %13 axis 2 {epsilon = 0.0 : f32} : <[n, 1, 64], f32> -> <[n, 1, 64], f32>
  %15 = smelt.matmul %14, %t : <[n, 1, 64], f32>, <[64, 64], f32> -> <[n, 1, 64], f32>
  %16 = smelt.add %15, %14 : <[n, 1, 64], f32>, <[n, 1, 64], f32> -> <[n, 1, 64], f32>
  %17 = smelt.reduce sum %14 axes [1] : <[n, 1, 64], f32> -> <[n, 1, 64], f32>
  %18 = smelt.add %16, %17 : <[n, 1, 64], f32>, <[n, 1, 64], f32> -> <[n, 1, 64], f32>
  return %3, %8, %12, %18 : !smelt.tensor<[2*n, 64], f32>, !smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 64], f32>, !smelt.tensor<[n, 1, 64], f32>
}
