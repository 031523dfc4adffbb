// RUN: smelt-opt %s --smelt-fuse-gemm --cse | FileCheck %s

// WeightLayout::kMajor: rows of 30522 halves begin at no multiple of 16 bytes, columns of 768 do: the weight is stored
// turned round, once for all products that read it.
// CHECK-LABEL: @vocabulary
// CHECK: %[[W:.*]] = smelt.weight "w"
// CHECK-NEXT: %[[STORED:.*]] = smelt.transpose %[[W]] [1, 0] : <[768, 30522], f16> -> <[30522, 768], f16>
// CHECK: smelt.fusion gemm(%[[STORED]], %arg0)
// CHECK-NEXT: ^bb0(%[[IN:.*]]: !smelt.tensor<[30522, 768], f16>
// CHECK-NEXT: %[[BACK:.*]] = smelt.transpose %[[IN]] [1, 0]
// CHECK-NEXT: smelt.matmul %{{.*}}, %[[BACK]]
// CHECK: smelt.fusion gemm(%[[STORED]], %arg1)
// CHECK: return
func.func @vocabulary(%x: !smelt.tensor<[s, 768], f16>, %y: !smelt.tensor<[s, 768], f16>)
    -> (!smelt.tensor<[s, 30522], f16>, !smelt.tensor<[s, 30522], f16>) {
  %w = smelt.weight "w" <"w.bin", 0, 46881792, ""> : <[768, 30522], f16>
  %0 = smelt.matmul %x, %w : <[s, 768], f16>, <[768, 30522], f16> -> <[s, 30522], f16>
  %1 = smelt.matmul %y, %w : <[s, 768], f16>, <[768, 30522], f16> -> <[s, 30522], f16>
  return %0, %1 : !smelt.tensor<[s, 30522], f16>, !smelt.tensor<[s, 30522], f16>
}

// Weights that vectors are loaded of as they lie, along N, along K or behind a slice; the one float of 4 bytes needs no
// multiple of eight.
// CHECK-LABEL: @as_given
// CHECK-NOT: smelt.transpose %{{.*}} -> <[20, 64], f32>
// CHECK: smelt.fusion
func.func @as_given(%x: !smelt.tensor<[s, 64], f32>, %y: !smelt.tensor<[s, 768], f16>)
    -> (!smelt.tensor<[s, 20], f32>, !smelt.tensor<[s, 30522], f16>, !smelt.tensor<[s, 1], f16>) {
  %n = smelt.weight "n" <"w.bin", 0, 5120, ""> : <[64, 20], f32>
  %0 = smelt.matmul %x, %n : <[s, 64], f32>, <[64, 20], f32> -> <[s, 20], f32>
  // CHECK-NOT: smelt.transpose {{.*}} -> <[30522, 768], f16>
  %k = smelt.weight "k" <"w.bin", 0, 46881792, ""> : <[30522, 768], f16>
  %t = smelt.transpose %k [1, 0] : <[30522, 768], f16> -> <[768, 30522], f16>
  %1 = smelt.matmul %y, %t : <[s, 768], f16>, <[768, 30522], f16> -> <[s, 30522], f16>
  // CHECK-NOT: smelt.transpose {{.*}} -> <[1, 768], f16>
  %c = smelt.weight "c" <"w.bin", 0, 1536, ""> : <[768, 1], f16>
  %2 = smelt.matmul %y, %c : <[s, 768], f16>, <[768, 1], f16> -> <[s, 1], f16>
  return %0, %1, %2 : !smelt.tensor<[s, 20], f32>, !smelt.tensor<[s, 30522], f16>, !smelt.tensor<[s, 1], f16>
}

// What K does not allow either stays, and so does what is no weight.
// CHECK-LABEL: @neither
// CHECK-NOT: smelt.transpose
// CHECK: return
func.func @neither(%x: !smelt.tensor<[s, 77], f16>, %y: !smelt.tensor<[77, 33], f16>) -> (!smelt.tensor<[s, 33], f16>, !smelt.tensor<[s, 33], f16>) {
  %w = smelt.weight "w" <"w.bin", 0, 5082, ""> : <[77, 33], f16>
  %0 = smelt.matmul %x, %w : <[s, 77], f16>, <[77, 33], f16> -> <[s, 33], f16>
  %1 = smelt.matmul %x, %y : <[s, 77], f16>, <[77, 33], f16> -> <[s, 33], f16>
  return %0, %1 : !smelt.tensor<[s, 33], f16>, !smelt.tensor<[s, 33], f16>
}

// Columns that begin elsewhere: a slice of a turned weight is laid out anew, and no view of it is drawn in.
// CHECK-LABEL: @misaligned_slice
// CHECK: %[[T:.*]] = smelt.transpose
// CHECK: %[[S:.*]] = smelt.slice
// CHECK: %[[STORED:.*]] = smelt.transpose %{{.*}} [1, 0] : <[64, 24], f16> -> <[24, 64], f16>
// CHECK: smelt.fusion gemm(%[[STORED]], %arg0)
// CHECK-NOT: smelt.slice
// CHECK: return
func.func @misaligned_slice(%x: !smelt.tensor<[s, 64], f16>) -> !smelt.tensor<[s, 24], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 4096, ""> : <[32, 68], f16>
  %t = smelt.transpose %w [1, 0] : <[32, 68], f16> -> <[68, 32], f16>
  %p = smelt.slice %t starts [#smelt.dim<1>, #smelt.dim<3>] steps [1, 1] : <[68, 32], f16> -> <[64, 24], f16>
  %0 = smelt.matmul %x, %p : <[s, 64], f16>, <[64, 24], f16> -> <[s, 24], f16>
  return %0 : !smelt.tensor<[s, 24], f16>
}

// 16-bit weights of up to 8 Mi elements are turned round, too, for speed; larger ones and floats lie as given.
// CHECK-LABEL: @for_speed
// CHECK: %[[SMALL:.*]] = smelt.transpose %{{.*}} [1, 0] : <[768, 3072], f16> -> <[3072, 768], f16>
// CHECK: smelt.fusion gemm(%[[SMALL]], %arg0)
// CHECK-NOT: smelt.transpose {{.*}} : <[768, 3072], f32>
// CHECK-NOT: smelt.transpose {{.*}} : <[768, 16384], f16>
// CHECK: return
func.func @for_speed(%x: !smelt.tensor<[s, 768], f16>, %y: !smelt.tensor<[s, 768], f32>)
    -> (!smelt.tensor<[s, 3072], f16>, !smelt.tensor<[s, 3072], f32>, !smelt.tensor<[s, 16384], f16>) {
  %small = smelt.weight "small" <"w.bin", 0, 4718592, ""> : <[768, 3072], f16>
  %0 = smelt.matmul %x, %small : <[s, 768], f16>, <[768, 3072], f16> -> <[s, 3072], f16>
  %float = smelt.weight "float" <"w.bin", 0, 9437184, ""> : <[768, 3072], f32>
  %1 = smelt.matmul %y, %float : <[s, 768], f32>, <[768, 3072], f32> -> <[s, 3072], f32>
  %large = smelt.weight "large" <"w.bin", 0, 25165824, ""> : <[768, 16384], f16>
  %2 = smelt.matmul %x, %large : <[s, 768], f16>, <[768, 16384], f16> -> <[s, 16384], f16>
  return %0, %1, %2 : !smelt.tensor<[s, 3072], f16>, !smelt.tensor<[s, 3072], f32>, !smelt.tensor<[s, 16384], f16>
}

// WeightLayout::interleavedKMajor: of two products columns take turns, and lie along K; of such that no whole vectors lie along
// K they lie as they are (WeightLayout::interleaved).
// CHECK-LABEL: @pairs
// CHECK: %[[BOTH:.*]] = smelt.concat {{.*}} axis 2 : {{.*}} -> <[64, 2, 2, 8], f16>
// CHECK-NEXT: %[[MATRIX:.*]] = smelt.reshape %[[BOTH]] : <[64, 2, 2, 8], f16> -> <[64, 32], f16>
// CHECK-NEXT: %[[STORED:.*]] = smelt.transpose %[[MATRIX]] [1, 0] : <[64, 32], f16> -> <[32, 64], f16>
// CHECK: smelt.fusion gemm(%[[STORED]], %arg0)
// CHECK: %[[ODD:.*]] = smelt.concat {{.*}} axis 2 : {{.*}} -> <[77, 2, 2, 8], f16>
// CHECK-NOT: smelt.transpose
// CHECK: smelt.fusion gemm(%[[ODD]], %arg1)
// CHECK: return
func.func @pairs(%x: !smelt.tensor<[s, 64], f16>, %y: !smelt.tensor<[s, 77], f16>) -> (!smelt.tensor<[s, 16], f16>, !smelt.tensor<[s, 16], f16>) {
  %a = smelt.weight "a" <"w.bin", 0, 2048, ""> : <[64, 16], f16>
  %b = smelt.weight "b" <"w.bin", 2048, 2048, ""> : <[64, 16], f16>
  %0 = smelt.matmul %x, %a : <[s, 64], f16>, <[64, 16], f16> -> <[s, 16], f16>
  %1 = smelt.matmul %x, %b : <[s, 64], f16>, <[64, 16], f16> -> <[s, 16], f16>
  %2 = smelt.mul %0, %1 : <[s, 16], f16>, <[s, 16], f16> -> <[s, 16], f16>
  %c = smelt.weight "c" <"w.bin", 4096, 2464, ""> : <[77, 16], f16>
  %d = smelt.weight "d" <"w.bin", 6560, 2464, ""> : <[77, 16], f16>
  %3 = smelt.matmul %y, %c : <[s, 77], f16>, <[77, 16], f16> -> <[s, 16], f16>
  %4 = smelt.matmul %y, %d : <[s, 77], f16>, <[77, 16], f16> -> <[s, 16], f16>
  %5 = smelt.mul %3, %4 : <[s, 16], f16>, <[s, 16], f16> -> <[s, 16], f16>
  return %2, %5 : !smelt.tensor<[s, 16], f16>, !smelt.tensor<[s, 16], f16>
}
