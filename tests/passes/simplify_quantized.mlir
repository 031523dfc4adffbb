// RUN: smelt-opt %s --smelt-simplify-quantized | FileCheck %s

// One scale for each tensor: their product scales the sums.
// CHECK-LABEL: func @per_tensor(
func.func @per_tensor(%a: !smelt.tensor<[m, 77], i8>, %b: !smelt.tensor<[77, 5], i8>) -> !smelt.tensor<[m, 5], f32> {
  // CHECK: %[[SUMS:.*]] = smelt.matmul %arg0, %arg1 : <[m, 77], i8>, <[77, 5], i8> -> <[m, 5], i32>
  // CHECK-NEXT: %[[PRODUCT:.*]] = smelt.cast %[[SUMS]]
  // CHECK-NEXT: %[[SCALE:.*]] = smelt.constant dense<9.375000e-03>
  // CHECK-NEXT: %[[Y:.*]] = smelt.mul %[[PRODUCT]], %[[SCALE]]
  // CHECK-NEXT: return %[[Y]]
  %sa = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %sb = smelt.constant dense<0.3> : tensor<f32> : <[], f32>
  %0 = smelt.cast %a : <[m, 77], i8> -> <[m, 77], f32>
  %1 = smelt.mul %0, %sa : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %2 = smelt.cast %b : <[77, 5], i8> -> <[77, 5], f32>
  %3 = smelt.mul %2, %sb : <[77, 5], f32>, <[], f32> -> <[77, 5], f32>
  %4 = smelt.matmul %1, %3 : <[m, 77], f32>, <[77, 5], f32> -> <[m, 5], f32>
  return %4 : !smelt.tensor<[m, 5], f32>
}

// A scale for each column of a weight, and a zero point of the activation, which takes the weight's sums off.
// CHECK-LABEL: func @per_channel(
func.func @per_channel(%a: !smelt.tensor<[b, 3, 77], ui8>) -> !smelt.tensor<[b, 3, 5], f32> {
  // CHECK: %[[SUMS:.*]] = smelt.matmul %arg0, %[[W:.*]] : <[b, 3, 77], ui8>, <[77, 5], i8> -> <[b, 3, 5], i32>
  // CHECK-NEXT: %[[ZERO:.*]] = smelt.cast %{{.*}} : <[], f32> -> <[], i32>
  // CHECK-NEXT: %[[WIDE:.*]] = smelt.cast %[[W]]
  // CHECK-NEXT: %[[TIMES:.*]] = smelt.mul %[[WIDE]], %[[ZERO]]
  // CHECK-NEXT: %[[COLUMNS:.*]] = smelt.reduce  sum %[[TIMES]] axes [0]
  // CHECK-NEXT: smelt.sub %[[SUMS]], %[[COLUMNS]]
  // CHECK-NEXT: smelt.cast
  // CHECK-NEXT: %[[SCALE:.*]] = smelt.mul {{.*}} -> <[5], f32>
  // CHECK-NEXT: %[[Y:.*]] = smelt.mul %{{.*}}, %[[SCALE]]
  // CHECK-NEXT: return %[[Y]]
  %w = smelt.weight "w" <"w.bin", 0, 385, ""> : <[77, 5], i8>
  %sw = smelt.weight "sw" <"w.bin", 400, 20, ""> : <[5], f32>
  %sa = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %za = smelt.constant dense<7.0> : tensor<f32> : <[], f32>
  %0 = smelt.cast %a : <[b, 3, 77], ui8> -> <[b, 3, 77], f32>
  %1 = smelt.sub %0, %za : <[b, 3, 77], f32>, <[], f32> -> <[b, 3, 77], f32>
  %2 = smelt.mul %1, %sa : <[b, 3, 77], f32>, <[], f32> -> <[b, 3, 77], f32>
  %3 = smelt.cast %w : <[77, 5], i8> -> <[77, 5], f32>
  %4 = smelt.mul %3, %sw : <[77, 5], f32>, <[5], f32> -> <[77, 5], f32>
  %5 = smelt.matmul %2, %4 : <[b, 3, 77], f32>, <[77, 5], f32> -> <[b, 3, 5], f32>
  return %5 : !smelt.tensor<[b, 3, 5], f32>
}

// The activation's scales are one for each row, the weight's one for each row of what is transposed.
// CHECK-LABEL: func @transposed(
func.func @transposed(%a: !smelt.tensor<[4, m, 77], i8>, %sa: !smelt.tensor<[4, m, 1], f32>) -> !smelt.tensor<[4*m, 5], f32> {
  // CHECK-DAG: %[[ROWS:.*]] = smelt.reshape %arg1 : <[4, m, 1], f32> -> <[4*m, 1], f32>
  // CHECK-DAG: %[[A:.*]] = smelt.reshape %arg0 : <[4, m, 77], i8> -> <[4*m, 77], i8>
  // CHECK-DAG: %[[COLUMNS:.*]] = smelt.transpose %{{.*}} [1, 0] : <[5, 1], f32> -> <[1, 5], f32>
  // CHECK-DAG: %[[W:.*]] = smelt.transpose %{{.*}} [1, 0] : <[5, 77], i8> -> <[77, 5], i8>
  // CHECK: smelt.matmul %[[A]], %[[W]]
  // CHECK-NEXT: %[[PRODUCT:.*]] = smelt.cast
  // CHECK-NEXT: %[[HALF:.*]] = smelt.mul %[[PRODUCT]], %[[ROWS]]
  // CHECK-NEXT: %[[Y:.*]] = smelt.mul %[[HALF]], %[[COLUMNS]]
  // CHECK-NEXT: return %[[Y]]
  %w = smelt.weight "w" <"w.bin", 0, 385, ""> : <[5, 77], i8>
  %sw = smelt.weight "sw" <"w.bin", 400, 20, ""> : <[5, 1], f32>
  %0 = smelt.cast %a : <[4, m, 77], i8> -> <[4, m, 77], f32>
  %1 = smelt.mul %0, %sa : <[4, m, 77], f32>, <[4, m, 1], f32> -> <[4, m, 77], f32>
  %2 = smelt.reshape %1 : <[4, m, 77], f32> -> <[4*m, 77], f32>
  %3 = smelt.cast %w : <[5, 77], i8> -> <[5, 77], f32>
  %4 = smelt.mul %3, %sw : <[5, 77], f32>, <[5, 1], f32> -> <[5, 77], f32>
  %5 = smelt.transpose %4 [1, 0] : <[5, 77], f32> -> <[77, 5], f32>
  %6 = smelt.matmul %2, %5 : <[4*m, 77], f32>, <[77, 5], f32> -> <[4*m, 5], f32>
  return %6 : !smelt.tensor<[4*m, 5], f32>
}

// Windows of an image and the zeros around it: of bytes without a zero point they are 0.
// CHECK-LABEL: func @padded(
func.func @padded(%x: !smelt.tensor<[n, 6, 3], i8>) -> !smelt.tensor<[n, 6, 5], f32> {
  // CHECK: %[[ZERO:.*]] = smelt.constant dense<0> : tensor<i8>
  // CHECK: smelt.concat %{{.*}}, %arg0, %{{.*}} axis 1
  // CHECK-NEXT: smelt.windows
  // CHECK-NEXT: smelt.reshape
  // CHECK-NEXT: smelt.matmul {{.*}} : <[n, 6, 9], i8>, <[9, 5], i8> -> <[n, 6, 5], i32>
  // CHECK-NOT: smelt.reduce
  // CHECK: return
  %w = smelt.weight "w" <"w.bin", 0, 45, ""> : <[9, 5], i8>
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %0 = smelt.cast %x : <[n, 6, 3], i8> -> <[n, 6, 3], f32>
  %1 = smelt.mul %0, %s : <[n, 6, 3], f32>, <[], f32> -> <[n, 6, 3], f32>
  %2 = smelt.expand %zero : <[], f32> -> <[n, 1, 3], f32>
  %3 = smelt.concat %2, %1, %2 axis 1 : !smelt.tensor<[n, 1, 3], f32>, !smelt.tensor<[n, 6, 3], f32>, !smelt.tensor<[n, 1, 3], f32> -> <[n, 8, 3], f32>
  %4 = smelt.windows %3 axis 1 stride 1 dilation 1 : <[n, 8, 3], f32> -> <[n, 6, 3, 3], f32>
  %5 = smelt.reshape %4 : <[n, 6, 3, 3], f32> -> <[n, 6, 9], f32>
  %6 = smelt.cast %w : <[9, 5], i8> -> <[9, 5], f32>
  %7 = smelt.mul %6, %s : <[9, 5], f32>, <[], f32> -> <[9, 5], f32>
  %8 = smelt.matmul %5, %7 : <[n, 6, 9], f32>, <[9, 5], f32> -> <[n, 6, 5], f32>
  return %8 : !smelt.tensor<[n, 6, 5], f32>
}

// With one they are the zero point.
// CHECK-LABEL: func @padded_by_zero_point(
func.func @padded_by_zero_point(%x: !smelt.tensor<[n, 6, 3], ui8>) -> !smelt.tensor<[n, 6, 5], f32> {
  // CHECK: %[[ZERO:.*]] = smelt.constant dense<201> : tensor<ui8>
  // CHECK-NEXT: %[[BEFORE:.*]] = smelt.expand %[[ZERO]]
  // CHECK-NEXT: %[[AFTER:.*]] = smelt.expand %[[ZERO]]
  // CHECK-NEXT: smelt.concat %[[BEFORE]], %arg0, %[[AFTER]] axis 1
  // CHECK: smelt.matmul {{.*}} : <[n, 6, 9], ui8>, <[9, 5], i8> -> <[n, 6, 5], i32>
  // CHECK: smelt.reduce  sum %{{.*}} axes [0] : <[9, 5], i32> -> <[1, 5], i32>
  // CHECK: return
  %w = smelt.weight "w" <"w.bin", 0, 45, ""> : <[9, 5], i8>
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %z = smelt.constant dense<201.0> : tensor<f32> : <[], f32>
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %c = smelt.cast %x : <[n, 6, 3], ui8> -> <[n, 6, 3], f32>
  %0 = smelt.sub %c, %z : <[n, 6, 3], f32>, <[], f32> -> <[n, 6, 3], f32>
  %1 = smelt.mul %0, %s : <[n, 6, 3], f32>, <[], f32> -> <[n, 6, 3], f32>
  %2 = smelt.expand %zero : <[], f32> -> <[n, 1, 3], f32>
  %3 = smelt.concat %2, %1, %2 axis 1 : !smelt.tensor<[n, 1, 3], f32>, !smelt.tensor<[n, 6, 3], f32>, !smelt.tensor<[n, 1, 3], f32> -> <[n, 8, 3], f32>
  %4 = smelt.windows %3 axis 1 stride 1 dilation 1 : <[n, 8, 3], f32> -> <[n, 6, 3, 3], f32>
  %5 = smelt.reshape %4 : <[n, 6, 3, 3], f32> -> <[n, 6, 9], f32>
  %6 = smelt.cast %w : <[9, 5], i8> -> <[9, 5], f32>
  %7 = smelt.mul %6, %s : <[9, 5], f32>, <[], f32> -> <[9, 5], f32>
  %8 = smelt.matmul %5, %7 : <[n, 6, 9], f32>, <[9, 5], f32> -> <[n, 6, 5], f32>
  return %8 : !smelt.tensor<[n, 6, 5], f32>
}

// What is rounded to bytes whose zero point is the lowest, or the middle, is rounded to bytes of the other sign.
// CHECK-LABEL: func @sign_shift(
func.func @sign_shift(%x: !smelt.tensor<[m, 77], f32>, %y: !smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>) {
  // CHECK: %[[X:.*]] = smelt.round %arg0
  // CHECK-NEXT: %[[UNSIGNED:.*]] = smelt.cast %[[X]] : <[m, 77], f32> -> <[m, 77], ui8>
  // CHECK-NEXT: smelt.matmul %[[UNSIGNED]], {{.*}} : <[m, 77], ui8>, <[77, 5], i8> -> <[m, 5], i32>
  // CHECK: %[[Y:.*]] = smelt.round %arg1
  // CHECK-NEXT: %[[SIGNED:.*]] = smelt.cast %[[Y]] : <[m, 77], f32> -> <[m, 77], i8>
  // CHECK-NEXT: smelt.matmul %[[SIGNED]], {{.*}} : <[m, 77], i8>, <[77, 5], i8> -> <[m, 5], i32>
  // CHECK-NOT: smelt.reduce
  // CHECK: return
  %w = smelt.weight "w" <"w.bin", 0, 385, ""> : <[77, 5], i8>
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %low = smelt.constant dense<-128.0> : tensor<f32> : <[], f32>
  %middle = smelt.constant dense<128.0> : tensor<f32> : <[], f32>
  %c = smelt.cast %w : <[77, 5], i8> -> <[77, 5], f32>
  %r = smelt.mul %c, %s : <[77, 5], f32>, <[], f32> -> <[77, 5], f32>
  %0 = smelt.round %x : <[m, 77], f32>
  %1 = smelt.add %0, %low : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %2 = smelt.cast %1 : <[m, 77], f32> -> <[m, 77], i8>
  %3 = smelt.cast %2 : <[m, 77], i8> -> <[m, 77], f32>
  %4 = smelt.sub %3, %low : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %5 = smelt.mul %4, %s : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %6 = smelt.matmul %5, %r : <[m, 77], f32>, <[77, 5], f32> -> <[m, 5], f32>
  %7 = smelt.round %y : <[m, 77], f32>
  %8 = smelt.add %7, %middle : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %9 = smelt.cast %8 : <[m, 77], f32> -> <[m, 77], ui8>
  %10 = smelt.cast %9 : <[m, 77], ui8> -> <[m, 77], f32>
  %11 = smelt.sub %10, %middle : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %12 = smelt.mul %11, %s : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %13 = smelt.matmul %12, %r : <[m, 77], f32>, <[77, 5], f32> -> <[m, 5], f32>
  return %6, %13 : !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>
}

// Bytes that another reads as they are keep their sign.
// CHECK-LABEL: func @bytes_read_twice(
func.func @bytes_read_twice(%x: !smelt.tensor<[m, 77], f32>) -> (!smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 77], i8>) {
  // CHECK: %[[BYTES:.*]] = smelt.cast %{{.*}} : <[m, 77], f32> -> <[m, 77], i8>
  // CHECK-NEXT: smelt.matmul %[[BYTES]], {{.*}} : <[m, 77], i8>, <[77, 5], i8> -> <[m, 5], i32>
  // CHECK: smelt.reduce
  // CHECK: return %{{.*}}, %[[BYTES]]
  %w = smelt.weight "w" <"w.bin", 0, 385, ""> : <[77, 5], i8>
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %low = smelt.constant dense<-128.0> : tensor<f32> : <[], f32>
  %c = smelt.cast %w : <[77, 5], i8> -> <[77, 5], f32>
  %r = smelt.mul %c, %s : <[77, 5], f32>, <[], f32> -> <[77, 5], f32>
  %0 = smelt.round %x : <[m, 77], f32>
  %1 = smelt.add %0, %low : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %2 = smelt.cast %1 : <[m, 77], f32> -> <[m, 77], i8>
  %3 = smelt.cast %2 : <[m, 77], i8> -> <[m, 77], f32>
  %4 = smelt.sub %3, %low : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %5 = smelt.mul %4, %s : <[m, 77], f32>, <[], f32> -> <[m, 77], f32>
  %6 = smelt.matmul %5, %r : <[m, 77], f32>, <[77, 5], f32> -> <[m, 5], f32>
  return %6, %2 : !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 77], i8>
}

// Of two activations with zero points both sums are taken off, and what both take off is added once: K za zb.
// CHECK-LABEL: func @activations(
func.func @activations(%a: !smelt.tensor<[b, m, k], ui8>, %za: !smelt.tensor<[], ui8>, %b: !smelt.tensor<[b, k, 5], i8>, %sa: !smelt.tensor<[], f32>) -> !smelt.tensor<[b, m, 5], f32> {
  // CHECK: %[[SUMS:.*]] = smelt.matmul %arg0, %arg2 : <[b, m, k], ui8>, <[b, k, 5], i8> -> <[b, m, 5], i32>
  // CHECK: %[[COLUMNS:.*]] = smelt.reduce  sum %{{.*}} axes [1] : <[b, k, 5], i32> -> <[b, 1, 5], i32>
  // CHECK-NEXT: %[[PART:.*]] = smelt.sub %[[SUMS]], %[[COLUMNS]]
  // CHECK: %[[ROWS:.*]] = smelt.reduce  sum %{{.*}} axes [2] : <[b, m, k], i32> -> <[b, m, 1], i32>
  // CHECK-NEXT: %[[REST:.*]] = smelt.sub %[[PART]], %[[ROWS]]
  // CHECK: %[[DEPTH:.*]] = smelt.dims [k]
  // CHECK-NEXT: %[[BOTH:.*]] = smelt.mul %{{.*}}, %[[DEPTH]]
  // CHECK-NEXT: smelt.add %[[REST]], %[[BOTH]]
  // CHECK: return
  %zb = smelt.constant dense<-3.0> : tensor<f32> : <[], f32>
  %sb = smelt.constant dense<0.5> : tensor<f32> : <[], f32>
  %0 = smelt.cast %a : <[b, m, k], ui8> -> <[b, m, k], f32>
  %1 = smelt.cast %za : <[], ui8> -> <[], f32>
  %2 = smelt.sub %0, %1 : <[b, m, k], f32>, <[], f32> -> <[b, m, k], f32>
  %3 = smelt.mul %2, %sa : <[b, m, k], f32>, <[], f32> -> <[b, m, k], f32>
  %4 = smelt.cast %b : <[b, k, 5], i8> -> <[b, k, 5], f32>
  %5 = smelt.sub %4, %zb : <[b, k, 5], f32>, <[], f32> -> <[b, k, 5], f32>
  %6 = smelt.mul %5, %sb : <[b, k, 5], f32>, <[], f32> -> <[b, k, 5], f32>
  %7 = smelt.matmul %3, %6 : <[b, m, k], f32>, <[b, k, 5], f32> -> <[b, m, 5], f32>
  return %7 : !smelt.tensor<[b, m, 5], f32>
}

// A weight whose zero point is the middle is shifted when compiling; one row and one column.
// CHECK-LABEL: func @shifted_weight(
func.func @shifted_weight(%a: !smelt.tensor<[1, 77], i8>) -> !smelt.tensor<[1, 1], f32> {
  // CHECK: %[[WIDE:.*]] = smelt.cast %{{.*}} : <[77, 1], ui8> -> <[77, 1], i32>
  // CHECK: %[[MOVED:.*]] = smelt.add %[[WIDE]], %{{.*}}
  // CHECK-NEXT: %[[W:.*]] = smelt.cast %[[MOVED]] : <[77, 1], i32> -> <[77, 1], i8>
  // CHECK-NEXT: smelt.matmul %arg0, %[[W]] : <[1, 77], i8>, <[77, 1], i8> -> <[1, 1], i32>
  // CHECK-NOT: smelt.reduce
  // CHECK: return
  %w = smelt.weight "w" <"w.bin", 0, 77, ""> : <[77, 1], ui8>
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %z = smelt.constant dense<128.0> : tensor<f32> : <[], f32>
  %0 = smelt.cast %a : <[1, 77], i8> -> <[1, 77], f32>
  %1 = smelt.mul %0, %s : <[1, 77], f32>, <[], f32> -> <[1, 77], f32>
  %2 = smelt.cast %w : <[77, 1], ui8> -> <[77, 1], f32>
  %3 = smelt.sub %2, %z : <[77, 1], f32>, <[], f32> -> <[77, 1], f32>
  %4 = smelt.mul %3, %s : <[77, 1], f32>, <[], f32> -> <[77, 1], f32>
  %5 = smelt.matmul %1, %4 : <[1, 77], f32>, <[77, 1], f32> -> <[1, 1], f32>
  return %5 : !smelt.tensor<[1, 1], f32>
}

// Scales or zero points that vary along K cannot leave the sum.
// CHECK-LABEL: func @along_k(
func.func @along_k(%a: !smelt.tensor<[m, 6], i8>, %b: !smelt.tensor<[6, 5], i8>, %v: !smelt.tensor<[6], i8>) -> (!smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>) {
  // CHECK-COUNT-2: smelt.matmul {{.*}} -> <[m, 5], f32>
  // CHECK: return
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %along = smelt.weight "along" <"w.bin", 0, 24, ""> : <[6, 1], f32>
  %0 = smelt.cast %a : <[m, 6], i8> -> <[m, 6], f32>
  %1 = smelt.mul %0, %s : <[m, 6], f32>, <[], f32> -> <[m, 6], f32>
  %2 = smelt.cast %b : <[6, 5], i8> -> <[6, 5], f32>
  %3 = smelt.mul %2, %along : <[6, 5], f32>, <[6, 1], f32> -> <[6, 5], f32>
  %4 = smelt.matmul %1, %3 : <[m, 6], f32>, <[6, 5], f32> -> <[m, 5], f32>
  %5 = smelt.cast %v : <[6], i8> -> <[6], f32>
  %6 = smelt.sub %0, %5 : <[m, 6], f32>, <[6], f32> -> <[m, 6], f32>
  %7 = smelt.mul %6, %s : <[m, 6], f32>, <[], f32> -> <[m, 6], f32>
  %8 = smelt.mul %2, %s : <[6, 5], f32>, <[], f32> -> <[6, 5], f32>
  %9 = smelt.matmul %7, %8 : <[m, 6], f32>, <[6, 5], f32> -> <[m, 5], f32>
  return %4, %9 : !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>
}

// Blocks of three rows share a scale.
// CHECK-LABEL: func @blocks(
func.func @blocks(%a: !smelt.tensor<[m, 6], i8>) -> !smelt.tensor<[m, 5], f32> {
  // CHECK: smelt.matmul {{.*}} -> <[m, 5], f32>
  // CHECK-NEXT: return
  %w = smelt.weight "w" <"w.bin", 0, 30, ""> : <[6, 5], i8>
  %sw = smelt.weight "sw" <"w.bin", 32, 40, ""> : <[2, 1, 5], f32>
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %0 = smelt.cast %a : <[m, 6], i8> -> <[m, 6], f32>
  %1 = smelt.mul %0, %s : <[m, 6], f32>, <[], f32> -> <[m, 6], f32>
  %2 = smelt.expand %sw : <[2, 1, 5], f32> -> <[2, 3, 5], f32>
  %3 = smelt.reshape %2 : <[2, 3, 5], f32> -> <[6, 5], f32>
  %4 = smelt.cast %w : <[6, 5], i8> -> <[6, 5], f32>
  %5 = smelt.mul %4, %3 : <[6, 5], f32>, <[6, 5], f32> -> <[6, 5], f32>
  %6 = smelt.matmul %1, %5 : <[m, 6], f32>, <[6, 5], f32> -> <[m, 5], f32>
  return %6 : !smelt.tensor<[m, 5], f32>
}

// Products of floats of 16 bits, of shorts, and of so many bytes that their sum may not fit into 32 bits.
// CHECK-LABEL: func @other_types(
func.func @other_types(%a: !smelt.tensor<[m, 6], i8>, %b: !smelt.tensor<[6, 5], i8>, %c: !smelt.tensor<[m, 6], i16>) -> (!smelt.tensor<[m, 5], f16>, !smelt.tensor<[m, 5], f32>) {
  // CHECK: smelt.matmul {{.*}} -> <[m, 5], f16>
  // CHECK: smelt.matmul {{.*}} -> <[m, 5], f32>
  // CHECK-NEXT: return
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %h = smelt.constant dense<0.03125> : tensor<f16> : <[], f16>
  %0 = smelt.cast %a : <[m, 6], i8> -> <[m, 6], f16>
  %1 = smelt.mul %0, %h : <[m, 6], f16>, <[], f16> -> <[m, 6], f16>
  %2 = smelt.cast %b : <[6, 5], i8> -> <[6, 5], f16>
  %3 = smelt.mul %2, %h : <[6, 5], f16>, <[], f16> -> <[6, 5], f16>
  %4 = smelt.matmul %1, %3 : <[m, 6], f16>, <[6, 5], f16> -> <[m, 5], f16>
  %5 = smelt.cast %c : <[m, 6], i16> -> <[m, 6], f32>
  %6 = smelt.mul %5, %s : <[m, 6], f32>, <[], f32> -> <[m, 6], f32>
  %7 = smelt.cast %b : <[6, 5], i8> -> <[6, 5], f32>
  %8 = smelt.mul %7, %s : <[6, 5], f32>, <[], f32> -> <[6, 5], f32>
  %9 = smelt.matmul %6, %8 : <[m, 6], f32>, <[6, 5], f32> -> <[m, 5], f32>
  return %4, %9 : !smelt.tensor<[m, 5], f16>, !smelt.tensor<[m, 5], f32>
}

// CHECK-LABEL: func @too_deep(
func.func @too_deep(%a: !smelt.tensor<[1, 33026], i8>, %b: !smelt.tensor<[33026, 1], i8>) -> !smelt.tensor<[1, 1], f32> {
  // CHECK: smelt.matmul {{.*}} -> <[1, 1], f32>
  // CHECK-NEXT: return
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %0 = smelt.cast %a : <[1, 33026], i8> -> <[1, 33026], f32>
  %1 = smelt.mul %0, %s : <[1, 33026], f32>, <[], f32> -> <[1, 33026], f32>
  %2 = smelt.cast %b : <[33026, 1], i8> -> <[33026, 1], f32>
  %3 = smelt.mul %2, %s : <[33026, 1], f32>, <[], f32> -> <[33026, 1], f32>
  %4 = smelt.matmul %1, %3 : <[1, 33026], f32>, <[33026, 1], f32> -> <[1, 1], f32>
  return %4 : !smelt.tensor<[1, 1], f32>
}

// What is taken off is no zero point where it is no byte: an image about its mean.
// CHECK-LABEL: func @fraction(
func.func @fraction(%a: !smelt.tensor<[m, 6], ui8>, %b: !smelt.tensor<[6, 5], i8>, %mean: !smelt.tensor<[], f32>) -> (!smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>) {
  // CHECK-COUNT-3: smelt.matmul {{.*}} -> <[m, 5], f32>
  // CHECK-NEXT: return
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %half = smelt.constant dense<127.5> : tensor<f32> : <[], f32>
  %large = smelt.constant dense<1.0e+9> : tensor<f32> : <[], f32>
  %0 = smelt.cast %a : <[m, 6], ui8> -> <[m, 6], f32>
  %1 = smelt.cast %b : <[6, 5], i8> -> <[6, 5], f32>
  %2 = smelt.mul %1, %s : <[6, 5], f32>, <[], f32> -> <[6, 5], f32>
  %3 = smelt.sub %0, %half : <[m, 6], f32>, <[], f32> -> <[m, 6], f32>
  %4 = smelt.mul %3, %s : <[m, 6], f32>, <[], f32> -> <[m, 6], f32>
  %5 = smelt.matmul %4, %2 : <[m, 6], f32>, <[6, 5], f32> -> <[m, 5], f32>
  %6 = smelt.sub %0, %mean : <[m, 6], f32>, <[], f32> -> <[m, 6], f32>
  %7 = smelt.mul %6, %s : <[m, 6], f32>, <[], f32> -> <[m, 6], f32>
  %8 = smelt.matmul %7, %2 : <[m, 6], f32>, <[6, 5], f32> -> <[m, 5], f32>
  %9 = smelt.sub %0, %large : <[m, 6], f32>, <[], f32> -> <[m, 6], f32>
  %10 = smelt.mul %9, %s : <[m, 6], f32>, <[], f32> -> <[m, 6], f32>
  %11 = smelt.matmul %10, %2 : <[m, 6], f32>, <[6, 5], f32> -> <[m, 5], f32>
  return %5, %8, %11 : !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>
}

// What is only rounded behind a division by a scale has its factors divided: of the sum and of the bias.
// CHECK-LABEL: func @divided(
func.func @divided(%sums: !smelt.tensor<[m, 5], f32>) -> !smelt.tensor<[m, 5], f32> {
  // CHECK: %[[FACTOR:.*]] = smelt.div %[[W:.*]], %[[C:.*]] : <[5], f32>, <[], f32>
  // CHECK-NEXT: %[[PRODUCT:.*]] = smelt.mul %arg0, %[[FACTOR]]
  // CHECK-NEXT: %[[BIAS:.*]] = smelt.div %{{.*}}, %[[C]] : <[5], f32>, <[], f32>
  // CHECK-NEXT: %[[SUM:.*]] = smelt.add %[[PRODUCT]], %[[BIAS]]
  // CHECK-NEXT: %[[RELU:.*]] = smelt.relu %[[SUM]]
  // CHECK-NEXT: %[[CLIP:.*]] = smelt.max %[[RELU]]
  // CHECK-NEXT: smelt.round %[[CLIP]]
  // CHECK-NEXT: return
  %w = smelt.weight "w" <"w.bin", 0, 20, ""> : <[5], f32>
  %b = smelt.weight "b" <"w.bin", 32, 20, ""> : <[5], f32>
  %c = smelt.constant dense<0.7> : tensor<f32> : <[], f32>
  %low = smelt.constant dense<-128.0> : tensor<f32> : <[], f32>
  %0 = smelt.mul %sums, %w : <[m, 5], f32>, <[5], f32> -> <[m, 5], f32>
  %1 = smelt.add %0, %b : <[m, 5], f32>, <[5], f32> -> <[m, 5], f32>
  %2 = smelt.relu %1 : <[m, 5], f32>
  %3 = smelt.div %2, %c : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  %4 = smelt.max %3, %low : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  %5 = smelt.round %4 : <[m, 5], f32>
  return %5 : !smelt.tensor<[m, 5], f32>
}

// A divisor below 0 turns a relu; what another reads, has no weight or is read as a fraction is divided as it is.
// CHECK-LABEL: func @not_divided(
func.func @not_divided(%x: !smelt.tensor<[m, 5], f32>, %y: !smelt.tensor<[m, 5], f32>) -> (!smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>) {
  // CHECK-COUNT-4: smelt.div {{.*}} : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  // CHECK-NEXT: return
  %w = smelt.weight "w" <"w.bin", 0, 20, ""> : <[5], f32>
  %c = smelt.constant dense<0.7> : tensor<f32> : <[], f32>
  %d = smelt.constant dense<-0.7> : tensor<f32> : <[], f32>
  %0 = smelt.mul %x, %w : <[m, 5], f32>, <[5], f32> -> <[m, 5], f32>
  %1 = smelt.relu %0 : <[m, 5], f32>
  %2 = smelt.div %1, %d : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  %3 = smelt.round %2 : <[m, 5], f32>
  %4 = smelt.mul %y, %w : <[m, 5], f32>, <[5], f32> -> <[m, 5], f32>
  %5 = smelt.div %4, %c : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  %6 = smelt.round %5 : <[m, 5], f32>
  %7 = smelt.mul %x, %y : <[m, 5], f32>, <[m, 5], f32> -> <[m, 5], f32>
  %8 = smelt.div %7, %c : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  %9 = smelt.round %8 : <[m, 5], f32>
  %10 = smelt.add %x, %w : <[m, 5], f32>, <[5], f32> -> <[m, 5], f32>
  %11 = smelt.mul %10, %w : <[m, 5], f32>, <[5], f32> -> <[m, 5], f32>
  %12 = smelt.div %11, %c : <[m, 5], f32>, <[], f32> -> <[m, 5], f32>
  return %3, %4, %6, %9, %12 : !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>, !smelt.tensor<[m, 5], f32>
}

// The largest of bytes is found among the bytes, and what surrounds an image is the lowest of them; not where a scale turns
// their order, or differs between them.
// CHECK-LABEL: func @largest(
func.func @largest(%x: !smelt.tensor<[n, 6, 3], ui8>, %y: !smelt.tensor<[n, 7, 3], i8>) -> (!smelt.tensor<[n, 6, 1, 3], f32>, !smelt.tensor<[n, 1, 3], f32>, !smelt.tensor<[n, 1, 3], f32>) {
  // CHECK: %[[LOWEST:.*]] = smelt.constant dense<0> : tensor<ui8>
  // CHECK: smelt.concat %{{.*}}, %arg0, %{{.*}} axis 1
  // CHECK-NEXT: %[[WINDOWS:.*]] = smelt.windows
  // CHECK-NEXT: %[[MOST:.*]] = smelt.reduce  max %[[WINDOWS]] axes [2] : <[n, 6, 3, 3], ui8> -> <[n, 6, 1, 3], ui8>
  // CHECK-NEXT: %[[WIDE:.*]] = smelt.cast %[[MOST]]
  // CHECK-NEXT: %[[CENTRED:.*]] = smelt.sub %[[WIDE]], %{{.*}}
  // CHECK-NEXT: smelt.mul %[[CENTRED]], %{{.*}}
  // CHECK-COUNT-2: smelt.reduce  max {{.*}} axes [1] : <[n, 7, 3], f32> -> <[n, 1, 3], f32>
  // CHECK: return
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %negative = smelt.constant dense<-0.03125> : tensor<f32> : <[], f32>
  %scales = smelt.constant dense<[[0.5], [1.0], [2.0], [0.5], [1.0], [2.0], [0.5]]> : tensor<7x1xf32> : <[7, 1], f32>
  %z = smelt.constant dense<201.0> : tensor<f32> : <[], f32>
  %lowest = smelt.constant dense<0xFF800000> : tensor<f32> : <[], f32>
  %c = smelt.cast %x : <[n, 6, 3], ui8> -> <[n, 6, 3], f32>
  %0 = smelt.sub %c, %z : <[n, 6, 3], f32>, <[], f32> -> <[n, 6, 3], f32>
  %1 = smelt.mul %0, %s : <[n, 6, 3], f32>, <[], f32> -> <[n, 6, 3], f32>
  %2 = smelt.expand %lowest : <[], f32> -> <[n, 1, 3], f32>
  %3 = smelt.concat %2, %1, %2 axis 1 : !smelt.tensor<[n, 1, 3], f32>, !smelt.tensor<[n, 6, 3], f32>, !smelt.tensor<[n, 1, 3], f32> -> <[n, 8, 3], f32>
  %4 = smelt.windows %3 axis 1 stride 1 dilation 1 : <[n, 8, 3], f32> -> <[n, 6, 3, 3], f32>
  %5 = smelt.reduce max %4 axes [2] : <[n, 6, 3, 3], f32> -> <[n, 6, 1, 3], f32>
  %6 = smelt.cast %y : <[n, 7, 3], i8> -> <[n, 7, 3], f32>
  %7 = smelt.mul %6, %negative : <[n, 7, 3], f32>, <[], f32> -> <[n, 7, 3], f32>
  %8 = smelt.reduce max %7 axes [1] : <[n, 7, 3], f32> -> <[n, 1, 3], f32>
  %9 = smelt.mul %6, %scales : <[n, 7, 3], f32>, <[7, 1], f32> -> <[n, 7, 3], f32>
  %10 = smelt.reduce max %9 axes [1] : <[n, 7, 3], f32> -> <[n, 1, 3], f32>
  return %5, %8, %10 : !smelt.tensor<[n, 6, 1, 3], f32>, !smelt.tensor<[n, 1, 3], f32>, !smelt.tensor<[n, 1, 3], f32>
}

// What is surrounded along another axis than that of the largest, or by more than a window, is infinite there, and so may be
// the largest of an axis of unknown size.
// CHECK-LABEL: func @largest_of_none(
func.func @largest_of_none(%x: !smelt.tensor<[n, 6, 3], ui8>) -> (!smelt.tensor<[n, 8, 1], f32>, !smelt.tensor<[n, 8, 1, 3], f32>, !smelt.tensor<[1, 6, 3], f32>) {
  // CHECK-COUNT-3: smelt.reduce  max {{.*}}, f32> -> <[{{.*}}, f32>
  // CHECK: return
  %s = smelt.constant dense<0.03125> : tensor<f32> : <[], f32>
  %lowest = smelt.constant dense<0xFF800000> : tensor<f32> : <[], f32>
  %0 = smelt.cast %x : <[n, 6, 3], ui8> -> <[n, 6, 3], f32>
  %1 = smelt.mul %0, %s : <[n, 6, 3], f32>, <[], f32> -> <[n, 6, 3], f32>
  %2 = smelt.expand %lowest : <[], f32> -> <[n, 1, 3], f32>
  %3 = smelt.concat %2, %1, %2 axis 1 : !smelt.tensor<[n, 1, 3], f32>, !smelt.tensor<[n, 6, 3], f32>, !smelt.tensor<[n, 1, 3], f32> -> <[n, 8, 3], f32>
  %4 = smelt.reduce max %3 axes [2] : <[n, 8, 3], f32> -> <[n, 8, 1], f32>
  %5 = smelt.windows %3 axis 1 stride 1 dilation 1 : <[n, 8, 3], f32> -> <[n, 8, 1, 3], f32>
  %6 = smelt.reduce max %5 axes [2] : <[n, 8, 1, 3], f32> -> <[n, 8, 1, 3], f32>
  %7 = smelt.reduce max %1 axes [0] : <[n, 6, 3], f32> -> <[1, 6, 3], f32>
  return %4, %6, %7 : !smelt.tensor<[n, 8, 1], f32>, !smelt.tensor<[n, 8, 1, 3], f32>, !smelt.tensor<[1, 6, 3], f32>
}
