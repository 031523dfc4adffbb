// RUN: smelt-opt %s --smelt-fuse-gemm | FileCheck %s

// Of totals over what is stored (@counted and the two after it):
// CHECK: module attributes {smelt.remarks = [
// CHECK-SAME: #smelt.remark<taken "gemm total" of "Taken" by "", "counted by the kernel that stores Product">
// CHECK-SAME: #smelt.remark<refused "gemm total" of "Dense" by "what it counts is hardly ever true: threads would queue up", "it counts what the kernel of Stored stores">

// Bias, activation and residual are the epilogue.
// CHECK-LABEL: @epilogue
// CHECK: smelt.fusion gemm(%{{.*}}, %arg0, %{{.*}}, %arg1)
// CHECK: smelt.matmul
// CHECK-NEXT: smelt.add
// CHECK-NEXT: smelt.gelu
// CHECK-NEXT: smelt.add
// CHECK-NEXT: smelt.yield
func.func @epilogue(%x: !smelt.tensor<[b, s, 64], f16>, %r: !smelt.tensor<[b, s, 32], f16>) -> !smelt.tensor<[b, s, 32], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 4096, ""> : <[64, 32], f16>
  %b = smelt.weight "b" <"w.bin", 4096, 64, ""> : <[32], f16>
  %0 = smelt.matmul %x, %w : <[b, s, 64], f16>, <[64, 32], f16> -> <[b, s, 32], f16>
  %1 = smelt.add %0, %b : <[b, s, 32], f16>, <[32], f16> -> <[b, s, 32], f16>
  %2 = smelt.gelu %1 : <[b, s, 32], f16>
  %3 = smelt.add %2, %r : <[b, s, 32], f16>, <[b, s, 32], f16> -> <[b, s, 32], f16>
  return %3 : !smelt.tensor<[b, s, 32], f16>
}

// A diamond that joins again is taken whole; one that does not is left out.
// CHECK-LABEL: @diamonds
// CHECK: smelt.fusion gemm
// CHECK: smelt.sigmoid
// CHECK: smelt.mul
// CHECK: smelt.fusion gemm
// CHECK-NEXT: ^bb0
// CHECK-NEXT: smelt.matmul
// CHECK-NEXT: smelt.yield
// CHECK: smelt.tanh
// CHECK: smelt.exp
func.func @diamonds(%x: !smelt.tensor<[b, 64], f32>, %w: !smelt.tensor<[64, 32], f32>)
    -> (!smelt.tensor<[b, 32], f32>, !smelt.tensor<[b, 32], f32>, !smelt.tensor<[b, 32], f32>) {
  %0 = smelt.matmul %x, %w : <[b, 64], f32>, <[64, 32], f32> -> <[b, 32], f32>
  %1 = smelt.sigmoid %0 : <[b, 32], f32>
  %2 = smelt.mul %0, %1 : <[b, 32], f32>, <[b, 32], f32> -> <[b, 32], f32>
  %3 = smelt.matmul %x, %w : <[b, 64], f32>, <[64, 32], f32> -> <[b, 32], f32>
  %4 = smelt.tanh %3 : <[b, 32], f32>
  %5 = smelt.exp %3 : <[b, 32], f32>
  return %2, %4, %5 : !smelt.tensor<[b, 32], f32>, !smelt.tensor<[b, 32], f32>, !smelt.tensor<[b, 32], f32>
}

// The transposed weight is a view of the stored one; a broadcast to a larger shape is no epilogue.
// CHECK-LABEL: @views
// CHECK: %[[Y:.*]] = smelt.fusion gemm
// CHECK: smelt.transpose
// CHECK: smelt.matmul
// CHECK-NEXT: smelt.yield
// CHECK: smelt.add %[[Y]]
func.func @views(%x: !smelt.tensor<[1, 64], f32>, %y: !smelt.tensor<[b, 32], f32>) -> !smelt.tensor<[b, 32], f32> {
  %w = smelt.weight "w" <"w.bin", 0, 8192, ""> : <[32, 64], f32>
  %t = smelt.transpose %w [1, 0] : <[32, 64], f32> -> <[64, 32], f32>
  %0 = smelt.matmul %x, %t : <[1, 64], f32>, <[64, 32], f32> -> <[1, 32], f32>
  %1 = smelt.add %0, %y : <[1, 32], f32>, <[b, 32], f32> -> <[b, 32], f32>
  return %1 : !smelt.tensor<[b, 32], f32>
}

// The main loop reads tensors: a matrix of equal elements stays outside, one that the epilogue adds does not.
// CHECK-LABEL: @uniform
// CHECK: %[[MATRIX:.*]] = smelt.constant
// CHECK: smelt.fusion gemm(%[[MATRIX]], %arg0)
// CHECK: smelt.matmul
// CHECK: smelt.constant dense<3.000000e+00>
// CHECK: return
func.func @uniform(%x: !smelt.tensor<[s, 4], f32>) -> !smelt.tensor<[s, 8], f32> {
  %w = smelt.constant dense<2.0> : tensor<8x4xf32> : <[8, 4], f32>
  %c = smelt.constant dense<3.0> : tensor<f32> : <[], f32>
  %t = smelt.transpose %w [1, 0] : <[8, 4], f32> -> <[4, 8], f32>
  %0 = smelt.matmul %x, %t : <[s, 4], f32>, <[4, 8], f32> -> <[s, 8], f32>
  %1 = smelt.add %0, %c : <[s, 8], f32>, <[], f32> -> <[s, 8], f32>
  return %1 : !smelt.tensor<[s, 8], f32>
}

// Gate and up projection are one kernel; their weights one tensor, in which groups of eight columns take turns.
// CHECK-LABEL: @swiglu
// CHECK-DAG: %[[A:.*]] = smelt.reshape %{{.*}} : <[64, 48], f16> -> <[64, 6, 1, 8], f16>
// CHECK-DAG: %[[B:.*]] = smelt.reshape %{{.*}} : <[64, 48], f16> -> <[64, 6, 1, 8], f16>
// CHECK: %[[W:.*]] = smelt.concat %[[A]], %[[B]] axis 2
// CHECK: %[[ROWS:.*]] = smelt.reshape %[[W]] : <[64, 6, 2, 8], f16> -> <[64, 96], f16>
// CHECK: %[[STORED:.*]] = smelt.transpose %[[ROWS]] [1, 0]
// CHECK: smelt.fusion gemm(%[[STORED]], %arg0)
// CHECK: smelt.slice {{.*}} starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>]
// CHECK: smelt.matmul
// CHECK: smelt.silu
// CHECK: smelt.slice {{.*}} starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<1>, #smelt.dim<0>]
// CHECK: smelt.matmul
// CHECK: smelt.mul
// CHECK-NEXT: smelt.yield
// CHECK-NOT: smelt.fusion
func.func @swiglu(%x: !smelt.tensor<[b, s, 64], f16>) -> !smelt.tensor<[b, s, 48], f16> {
  %w1 = smelt.weight "w1" <"w.bin", 0, 6144, ""> : <[64, 48], f16>
  %0 = smelt.matmul %x, %w1 : <[b, s, 64], f16>, <[64, 48], f16> -> <[b, s, 48], f16>
  %1 = smelt.silu %0 : <[b, s, 48], f16>
  %w2 = smelt.weight "w2" <"w.bin", 0, 6144, ""> : <[64, 48], f16>
  %2 = smelt.matmul %x, %w2 : <[b, s, 64], f16>, <[64, 48], f16> -> <[b, s, 48], f16>
  %3 = smelt.mul %1, %2 : <[b, s, 48], f16>, <[b, s, 48], f16> -> <[b, s, 48], f16>
  return %3 : !smelt.tensor<[b, s, 48], f16>
}

// The other order, biases, an activation of the second, a residual behind; the left operand through a view.
// CHECK-LABEL: @geglu
// CHECK: smelt.fusion gemm
// CHECK-COUNT-1: smelt.transpose
// CHECK-COUNT-2: smelt.matmul
// CHECK: smelt.mul
// CHECK: smelt.yield
// CHECK-NOT: smelt.fusion
func.func @geglu(%x: !smelt.tensor<[s, b, 64], f16>, %r: !smelt.tensor<[b, s, 48], f16>) -> !smelt.tensor<[b, s, 48], f16> {
  %w1 = smelt.weight "w1" <"w.bin", 0, 6144, ""> : <[64, 48], f16>
  %w2 = smelt.weight "w2" <"w.bin", 0, 6144, ""> : <[64, 48], f16>
  %b1 = smelt.weight "b1" <"w.bin", 0, 96, ""> : <[48], f16>
  %b2 = smelt.weight "b2" <"w.bin", 0, 96, ""> : <[48], f16>
  %t = smelt.transpose %x [1, 0, 2] : <[s, b, 64], f16> -> <[b, s, 64], f16>
  %0 = smelt.matmul %t, %w1 : <[b, s, 64], f16>, <[64, 48], f16> -> <[b, s, 48], f16>
  %1 = smelt.add %0, %b1 : <[b, s, 48], f16>, <[48], f16> -> <[b, s, 48], f16>
  %2 = smelt.matmul %t, %w2 : <[b, s, 64], f16>, <[64, 48], f16> -> <[b, s, 48], f16>
  %3 = smelt.add %b2, %2 : <[48], f16>, <[b, s, 48], f16> -> <[b, s, 48], f16>
  %4 = smelt.gelu %3 : <[b, s, 48], f16>
  %5 = smelt.mul %4, %1 : <[b, s, 48], f16>, <[b, s, 48], f16> -> <[b, s, 48], f16>
  %6 = smelt.add %r, %5 : <[b, s, 48], f16>, <[b, s, 48], f16> -> <[b, s, 48], f16>
  return %6 : !smelt.tensor<[b, s, 48], f16>
}

// No pair: other left operands, columns that are no multiple of eight, a result that is read elsewhere too.
// CHECK-LABEL: @no_pairs
// CHECK-COUNT-6: smelt.fusion gemm
// CHECK-NOT: smelt.fusion gemm
func.func @no_pairs(%x: !smelt.tensor<[b, 64], f16>, %y: !smelt.tensor<[b, 64], f16>)
    -> (!smelt.tensor<[b, 48], f16>, !smelt.tensor<[b, 20], f16>, !smelt.tensor<[b, 48], f16>, !smelt.tensor<[b, 48], f16>) {
  %w1 = smelt.weight "w1" <"w.bin", 0, 6144, ""> : <[64, 48], f16>
  %w2 = smelt.weight "w2" <"w.bin", 0, 6144, ""> : <[64, 48], f16>
  %w3 = smelt.weight "w3" <"w.bin", 0, 2560, ""> : <[64, 20], f16>
  %w4 = smelt.weight "w4" <"w.bin", 0, 2560, ""> : <[64, 20], f16>
  %0 = smelt.matmul %x, %w1 : <[b, 64], f16>, <[64, 48], f16> -> <[b, 48], f16>
  %1 = smelt.matmul %y, %w2 : <[b, 64], f16>, <[64, 48], f16> -> <[b, 48], f16>
  %2 = smelt.mul %0, %1 : <[b, 48], f16>, <[b, 48], f16> -> <[b, 48], f16>
  %3 = smelt.matmul %x, %w3 : <[b, 64], f16>, <[64, 20], f16> -> <[b, 20], f16>
  %4 = smelt.matmul %x, %w4 : <[b, 64], f16>, <[64, 20], f16> -> <[b, 20], f16>
  %5 = smelt.mul %3, %4 : <[b, 20], f16>, <[b, 20], f16> -> <[b, 20], f16>
  %6 = smelt.matmul %y, %w1 : <[b, 64], f16>, <[64, 48], f16> -> <[b, 48], f16>
  %7 = smelt.tanh %6 : <[b, 48], f16>
  %8 = smelt.matmul %y, %w1 : <[b, 64], f16>, <[64, 48], f16> -> <[b, 48], f16>
  %9 = smelt.mul %7, %8 : <[b, 48], f16>, <[b, 48], f16> -> <[b, 48], f16>
  return %2, %5, %9, %7 : !smelt.tensor<[b, 48], f16>, !smelt.tensor<[b, 20], f16>, !smelt.tensor<[b, 48], f16>, !smelt.tensor<[b, 48], f16>
}

// The weight of a product of bytes is stored along K, when compiling; what scales its sums is the epilogue.
// CHECK-LABEL: @bytes
// CHECK: %[[STORED:.*]] = smelt.transpose %{{.*}} [1, 0] : <[64, 32], i8> -> <[32, 64], i8>
// CHECK-NEXT: smelt.fusion gemm(%[[STORED]], %arg0, %arg1)
// CHECK: smelt.transpose %{{.*}} [1, 0] : <[32, 64], i8> -> <[64, 32], i8>
// CHECK-NEXT: smelt.matmul {{.*}} : <[b, s, 64], ui8>, <[64, 32], i8> -> <[b, s, 32], i32>
// CHECK-NEXT: smelt.cast
// CHECK-NEXT: smelt.mul
// CHECK-NEXT: smelt.yield
func.func @bytes(%x: !smelt.tensor<[b, s, 64], ui8>, %scale: !smelt.tensor<[], f32>) -> !smelt.tensor<[b, s, 32], f32> {
  %w = smelt.weight "w" <"w.bin", 0, 2048, ""> : <[64, 32], i8>
  %0 = smelt.matmul %x, %w : <[b, s, 64], ui8>, <[64, 32], i8> -> <[b, s, 32], i32>
  %1 = smelt.cast %0 : <[b, s, 32], i32> -> <[b, s, 32], f32>
  %2 = smelt.mul %1, %scale : <[b, s, 32], f32>, <[], f32> -> <[b, s, 32], f32>
  return %2 : !smelt.tensor<[b, s, 32], f32>
}

// Zero points and scales that are known at run time are no kernels of their own, nor are their products.
// CHECK-LABEL: @dequantized
// CHECK-NOT: smelt.cast
// CHECK-NOT: smelt.mul
// CHECK: smelt.fusion gemm
// CHECK-NOT: smelt.fusion
func.func @dequantized(%x: !smelt.tensor<[b, 64], ui8>, %zero: !smelt.tensor<[1, 1], ui8>, %rows: !smelt.tensor<[b, 1], i32>, %zw: !smelt.tensor<[1, 32], i8>, %sx: !smelt.tensor<[], f32>, %sw: !smelt.tensor<[32], f32>)
    -> !smelt.tensor<[b, 32], f32> {
  %w = smelt.weight "w" <"w.bin", 0, 2048, ""> : <[64, 32], i8>
  %sums = smelt.weight "sums" <"w.bin", 0, 128, ""> : <[1, 32], i32>
  %z1 = smelt.cast %zero : <[1, 1], ui8> -> <[1, 1], i32>
  %z = smelt.reshape %z1 : <[1, 1], i32> -> <[], i32>
  %c = smelt.mul %z, %sums : <[], i32>, <[1, 32], i32> -> <[1, 32], i32>
  %y = smelt.cast %zw : <[1, 32], i8> -> <[1, 32], i32>
  %d = smelt.mul %rows, %y : <[b, 1], i32>, <[1, 32], i32> -> <[b, 32], i32>
  %s = smelt.mul %sx, %sw : <[], f32>, <[32], f32> -> <[32], f32>
  %0 = smelt.matmul %x, %w : <[b, 64], ui8>, <[64, 32], i8> -> <[b, 32], i32>
  %1 = smelt.sub %0, %c : <[b, 32], i32>, <[1, 32], i32> -> <[b, 32], i32>
  %4 = smelt.sub %1, %d : <[b, 32], i32>, <[b, 32], i32> -> <[b, 32], i32>
  %2 = smelt.cast %4 : <[b, 32], i32> -> <[b, 32], f32>
  %3 = smelt.mul %2, %s : <[b, 32], f32>, <[32], f32> -> <[b, 32], f32>
  return %3 : !smelt.tensor<[b, 32], f32>
}

// A weight that lies so is read as it is; two products of bytes are no pair.
// CHECK-LABEL: @bytes_along_k
// CHECK-NOT: smelt.transpose
// CHECK: smelt.fusion gemm(%{{.*}}, %arg0) : (!smelt.tensor<[32, 64], i8>, !smelt.tensor<[b, 64], i8>)
// CHECK: smelt.transpose
// CHECK: smelt.fusion gemm
func.func @bytes_along_k(%x: !smelt.tensor<[b, 64], i8>) -> !smelt.tensor<[b, 32], i32> {
  %w = smelt.weight "w" <"w.bin", 0, 2048, ""> : <[32, 64], i8>
  %v = smelt.weight "v" <"w.bin", 0, 2048, ""> : <[32, 64], i8>
  %t = smelt.transpose %w [1, 0] : <[32, 64], i8> -> <[64, 32], i8>
  %u = smelt.transpose %v [1, 0] : <[32, 64], i8> -> <[64, 32], i8>
  %0 = smelt.matmul %x, %t : <[b, 64], i8>, <[64, 32], i8> -> <[b, 32], i32>
  %1 = smelt.matmul %x, %u : <[b, 64], i8>, <[64, 32], i8> -> <[b, 32], i32>
  %2 = smelt.mul %0, %1 : <[b, 32], i32>, <[b, 32], i32> -> <[b, 32], i32>
  return %2 : !smelt.tensor<[b, 32], i32>
}

// An image that is turned and then gets an axis is written too.
// CHECK-LABEL: func @turned
func.func @turned(%x: !smelt.tensor<[4, 8], f16>) -> !smelt.tensor<[1, 8, 16], f16> {
  // CHECK: smelt.concat
  // CHECK-NEXT: smelt.fusion gemm
  %w = smelt.weight "w" <"w.bin", 0, 384, ""> : <[12, 16], f16>
  %0 = smelt.constant dense<0.0> : tensor<f16> : <[], f16>
  %1 = smelt.expand %0 : <[], f16> -> <[1, 1, 4], f16>
  %2 = smelt.transpose %x [1, 0] : <[4, 8], f16> -> <[8, 4], f16>
  %3 = smelt.reshape %2 : <[8, 4], f16> -> <[1, 8, 4], f16>
  %4 = smelt.concat %1, %3, %1 axis 1 : !smelt.tensor<[1, 1, 4], f16>, !smelt.tensor<[1, 8, 4], f16>, !smelt.tensor<[1, 1, 4], f16> -> <[1, 10, 4], f16>
  %5 = smelt.windows %4 axis 1 stride 1 dilation 1 : <[1, 10, 4], f16> -> <[1, 8, 3, 4], f16>
  %6 = smelt.reshape %5 : <[1, 8, 3, 4], f16> -> <[1, 8, 12], f16>
  %7 = smelt.matmul %6, %w : <[1, 8, 12], f16>, <[12, 16], f16> -> <[1, 8, 16], f16>
  return %7 : !smelt.tensor<[1, 8, 16], f16>
}

// The zeros around an image belong to the convolution that reads its windows; those of an image that is turned while they
// are written, or of odd channels, are written.
// CHECK-LABEL: func @padding
func.func @padding(%x: !smelt.tensor<[n, 8, 4], f16>, %y: !smelt.tensor<[n, 3, 8], f16>) -> (!smelt.tensor<[n, 8, 16], f16>, !smelt.tensor<[n, 8, 16], f16>) {
  // CHECK: smelt.fusion gemm
  // CHECK: smelt.concat {{.*}} -> <[n, 10, 4], f16>
  // CHECK-NEXT: smelt.windows
  // CHECK: smelt.matmul
  // CHECK: smelt.concat {{.*}} -> <[n, 10, 3], f16>
  // CHECK-NEXT: smelt.fusion gemm
  // CHECK-NOT: smelt.concat
  // CHECK: smelt.matmul
  %w = smelt.weight "w" <"w.bin", 0, 384, ""> : <[12, 16], f16>
  %v = smelt.weight "v" <"w.bin", 0, 288, ""> : <[9, 16], f16>
  %0 = smelt.constant dense<0.0> : tensor<f16> : <[], f16>
  %1 = smelt.expand %0 : <[], f16> -> <[n, 1, 4], f16>
  %2 = smelt.concat %1, %x, %1 axis 1 : !smelt.tensor<[n, 1, 4], f16>, !smelt.tensor<[n, 8, 4], f16>, !smelt.tensor<[n, 1, 4], f16> -> <[n, 10, 4], f16>
  %3 = smelt.windows %2 axis 1 stride 1 dilation 1 : <[n, 10, 4], f16> -> <[n, 8, 3, 4], f16>
  %4 = smelt.reshape %3 : <[n, 8, 3, 4], f16> -> <[n, 8, 12], f16>
  %5 = smelt.matmul %4, %w : <[n, 8, 12], f16>, <[12, 16], f16> -> <[n, 8, 16], f16>
  %6 = smelt.transpose %y [0, 2, 1] : <[n, 3, 8], f16> -> <[n, 8, 3], f16>
  %7 = smelt.expand %0 : <[], f16> -> <[n, 1, 3], f16>
  %8 = smelt.concat %7, %6, %7 axis 1 : !smelt.tensor<[n, 1, 3], f16>, !smelt.tensor<[n, 8, 3], f16>, !smelt.tensor<[n, 1, 3], f16> -> <[n, 10, 3], f16>
  %9 = smelt.windows %8 axis 1 stride 1 dilation 1 : <[n, 10, 3], f16> -> <[n, 8, 3, 3], f16>
  %10 = smelt.reshape %9 : <[n, 8, 3, 3], f16> -> <[n, 8, 9], f16>
  %11 = smelt.matmul %10, %v : <[n, 8, 9], f16>, <[9, 16], f16> -> <[n, 8, 16], f16>
  return %5, %11 : !smelt.tensor<[n, 8, 16], f16>, !smelt.tensor<[n, 8, 16], f16>
}

// What the epilogue rounds is stored as bytes, which the next kernel widens; bytes that it adds are widened in it.
// CHECK-LABEL: @rounded_to_bytes
// CHECK: %[[BYTES:.*]] = smelt.fusion gemm(
// CHECK: smelt.matmul
// CHECK: smelt.round
// CHECK-NEXT: %[[STORED:.*]] = smelt.cast {{.*}} -> <[m, 5], i8>
// CHECK-NEXT: smelt.yield %[[STORED]]
// CHECK: smelt.cast %[[BYTES]] : <[m, 5], i8> -> <[m, 5], f32>
// CHECK: smelt.tanh
// CHECK: smelt.exp
func.func @rounded_to_bytes(%x: !smelt.tensor<[m, 77], i8>, %r: !smelt.tensor<[m, 5], ui8>) -> (!smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>) {
  %w = smelt.weight "w" <"w.bin", 0, 385, ""> : <[77, 5], i8>
  %scales = smelt.weight "scales" <"w.bin", 400, 20, ""> : <[5], f32>
  %s = smelt.constant dense<0.3> : tensor<f32> : <[], f32>
  %z = smelt.constant dense<-7.0> : tensor<f32> : <[], f32>
  %low = smelt.constant dense<-128.0> : tensor<f32> : <[], f32>
  %high = smelt.constant dense<127.0> : tensor<f32> : <[], f32>
  %0 = smelt.matmul %x, %w : <[m, 77], i8>, <[77, 5], i8> -> <[m, 5], i32>
  %1 = smelt.cast %0 : <[m, 5], i32> -> <[m, 5], f32>
  %2 = smelt.mul %1, %scales : <[m, 5], f32>, <[5], f32> -> <[m, 5], f32>
  %3 = smelt.cast %r : <[m, 5], ui8> -> <[m, 5], f32>
  %4 = smelt.add %3, %z : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  %5 = smelt.mul %4, %s : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  %6 = smelt.add %2, %5 : <[m, 5], f32>, <[m, 5], f32> -> <[m, 5], f32>
  %7 = smelt.max %6, %low : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  %8 = smelt.min %7, %high : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  %9 = smelt.round %8 : <[m, 5], f32>
  %10 = smelt.cast %9 : <[m, 5], f32> -> <[m, 5], i8>
  %11 = smelt.cast %10 : <[m, 5], i8> -> <[m, 5], f32>
  %12 = smelt.mul %11, %s : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  %13 = smelt.tanh %12 : <[m, 5], f32>
  %14 = smelt.exp %12 : <[m, 5], f32>
  return %13, %14 : !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>
}

// What counts the infinities of all that is stored is a result of the kernel; who clips by the count stays outside.
// CHECK-LABEL: @counted
// CHECK: %[[OUT:.*]]:2 = smelt.fusion gemm(
// CHECK: smelt.matmul
// CHECK-NEXT: %[[STORED:.*]] = smelt.add
// CHECK-NEXT: smelt.is_inf %[[STORED]]
// CHECK-NEXT: smelt.cast
// CHECK-NEXT: %[[TOTAL:.*]] = smelt.reduce sum
// CHECK-NEXT: smelt.yield %[[STORED]], %[[TOTAL]]
// CHECK: smelt.less {{.*}}, %[[OUT]]#1
// CHECK: smelt.min %[[OUT]]#0
func.func @counted(%x: !smelt.tensor<[b, s, 64], f16>, %r: !smelt.tensor<[b, s, 32], f16>) -> !smelt.tensor<[b, s, 32], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 4096, ""> : <[64, 32], f16>
  %none = smelt.constant dense<0> : tensor<i64> : <[], i64>
  %some = smelt.constant dense<64504.0> : tensor<f16> : <[], f16>
  %all = smelt.constant dense<65504.0> : tensor<f16> : <[], f16>
  %0 = smelt.matmul %x, %w : <[b, s, 64], f16>, <[64, 32], f16> -> <[b, s, 32], f16> loc("Product")
  %1 = smelt.add %0, %r : <[b, s, 32], f16>, <[b, s, 32], f16> -> <[b, s, 32], f16>
  %2 = smelt.is_inf %1 : <[b, s, 32], f16> -> <[b, s, 32], i1>
  %3 = smelt.cast %2 : <[b, s, 32], i1> -> <[b, s, 32], i64>
  %4 = smelt.reduce sum %3 axes [0, 1, 2] : <[b, s, 32], i64> -> <[1, 1, 1], i64> loc("Taken")
  %5 = smelt.less %none, %4 : <[], i64>, <[1, 1, 1], i64> -> <[1, 1, 1], i1>
  %6 = smelt.select %5, %some, %all : <[1, 1, 1], i1>, <[], f16>, <[], f16> -> <[1, 1, 1], f16>
  %7 = smelt.min %1, %6 : <[b, s, 32], f16>, <[1, 1, 1], f16> -> <[b, s, 32], f16>
  return %7 : !smelt.tensor<[b, s, 32], f16>
}

// Nothing but exact sums over everything, of what is hardly ever true: threads would queue up for others.
// CHECK-LABEL: @counted_by_others
// CHECK: %[[OUT:.*]] = smelt.fusion gemm(
// CHECK: smelt.is_inf %[[OUT]]
// CHECK: smelt.reduce sum {{.*}} axes [1]
// CHECK: smelt.is_nan %[[OUT]]
// CHECK: smelt.reduce sum {{.*}} -> <[1, 1], f32>
// CHECK: smelt.less {{.*}}, %[[OUT]]
// CHECK: smelt.reduce sum {{.*}} -> <[1, 1], i32>
func.func @counted_by_others(%x: !smelt.tensor<[s, 64], f32>) -> (!smelt.tensor<[s, 32], f32>, !smelt.tensor<[s, 1], i64>, !smelt.tensor<[1, 1], f32>, !smelt.tensor<[1, 1], i32>) {
  %w = smelt.weight "w" <"w.bin", 0, 8192, ""> : <[64, 32], f32>
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %0 = smelt.matmul %x, %w : <[s, 64], f32>, <[64, 32], f32> -> <[s, 32], f32> loc("Stored")
  %1 = smelt.is_inf %0 : <[s, 32], f32> -> <[s, 32], i1>
  %2 = smelt.cast %1 : <[s, 32], i1> -> <[s, 32], i64>
  %3 = smelt.reduce sum %2 axes [1] : <[s, 32], i64> -> <[s, 1], i64>
  %4 = smelt.is_nan %0 : <[s, 32], f32> -> <[s, 32], i1>
  %5 = smelt.cast %4 : <[s, 32], i1> -> <[s, 32], f32>
  %6 = smelt.reduce sum %5 axes [0, 1] : <[s, 32], f32> -> <[1, 1], f32>
  %7 = smelt.less %zero, %0 : <[], f32>, <[s, 32], f32> -> <[s, 32], i1>
  %8 = smelt.cast %7 : <[s, 32], i1> -> <[s, 32], i32>
  %9 = smelt.reduce sum %8 axes [0, 1] : <[s, 32], i32> -> <[1, 1], i32> loc("Dense")
  return %0, %3, %6, %9 : !smelt.tensor<[s, 32], f32>, !smelt.tensor<[s, 1], i64>, !smelt.tensor<[1, 1], f32>, !smelt.tensor<[1, 1], i32>
}

// What only counts read is not stored for their sake.
// CHECK-LABEL: @only_counted
// CHECK: smelt.fusion gemm({{.*}}) -> !smelt.tensor<[s, 32], i64>
// CHECK: smelt.reduce sum
func.func @only_counted(%x: !smelt.tensor<[s, 64], f32>) -> !smelt.tensor<[1, 1], i64> {
  %w = smelt.weight "w" <"w.bin", 0, 8192, ""> : <[64, 32], f32>
  %0 = smelt.matmul %x, %w : <[s, 64], f32>, <[64, 32], f32> -> <[s, 32], f32>
  %1 = smelt.is_inf %0 : <[s, 32], f32> -> <[s, 32], i1>
  %2 = smelt.cast %1 : <[s, 32], i1> -> <[s, 32], i64>
  %3 = smelt.reduce sum %2 axes [0, 1] : <[s, 32], i64> -> <[1, 1], i64>
  return %3 : !smelt.tensor<[1, 1], i64>
}
