// RUN: smelt-opt %s --smelt-fuse-horizontal --canonicalize | FileCheck %s

// CHECK: module attributes {smelt.remarks = [
// CHECK-SAME: #smelt.remark<taken "horizontal" of "Q" by "", "one of 3 products side by side: saves 2 launches and {{[0-9.]+}} KB ({{[0-9.]+}} us at typical sizes)">
// CHECK-SAME: #smelt.remark<refused "horizontal" of "Gelu" by "nothing but a bias follows"
// CHECK-SAME: #smelt.remark<refused "horizontal" of "Returned" by "saves time"

// Three projections of one input become one product over a concatenated weight; the one without a bias takes zeros.
// CHECK-LABEL: @qkv
// CHECK-DAG: %[[W:.*]] = smelt.concat %{{.*}}, %{{.*}}, %{{.*}} axis 1
// CHECK-DAG: %[[B:.*]] = smelt.concat %{{.*}}, %{{.*}}, %{{.*}} axis 0
// CHECK-DAG: %[[Y:.*]] = smelt.matmul %arg0, %[[W]] : <[b, s, 64], f16>, <[64, 160], f16> -> <[b, s, 160], f16>
// CHECK: %[[Z:.*]] = smelt.add %[[Y]], %[[B]]
// CHECK: smelt.slice %[[Z]] starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] {{.*}} -> <[b, s, 64], f16>
// CHECK: smelt.slice %[[Z]] starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<64>] {{.*}} -> <[b, s, 32], f16>
// CHECK: smelt.slice %[[Z]] starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<96>] {{.*}} -> <[b, s, 64], f16>
// CHECK-NOT: smelt.matmul
func.func @qkv(%x: !smelt.tensor<[b, s, 64], f16>)
    -> (!smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[b, s, 32], f16>, !smelt.tensor<[b, s, 64], f16>) {
  %wq = smelt.weight "wq" <"w.bin", 0, 8192, ""> : <[64, 64], f16>
  %wk = smelt.weight "wk" <"w.bin", 8192, 4096, ""> : <[64, 32], f16>
  %bq = smelt.weight "bq" <"w.bin", 20480, 128, ""> : <[64], f16>
  %bv = smelt.weight "bv" <"w.bin", 20608, 128, ""> : <[64], f16>
  %0 = smelt.matmul %x, %wq : <[b, s, 64], f16>, <[64, 64], f16> -> <[b, s, 64], f16> loc("Q")
  %q = smelt.add %0, %bq : <[b, s, 64], f16>, <[64], f16> -> <[b, s, 64], f16>
  %k = smelt.matmul %x, %wk : <[b, s, 64], f16>, <[64, 32], f16> -> <[b, s, 32], f16>
  %wv = smelt.weight "wv" <"w.bin", 12288, 8192, ""> : <[64, 64], f16>
  %1 = smelt.matmul %x, %wv : <[b, s, 64], f16>, <[64, 64], f16> -> <[b, s, 64], f16>
  %v = smelt.add %bv, %1 : <[64], f16>, <[b, s, 64], f16> -> <[b, s, 64], f16>
  %a = smelt.softmax %q axis 2 : <[b, s, 64], f16>
  %c = smelt.softmax %k axis 2 : <[b, s, 32], f16>
  %d = smelt.softmax %v axis 2 : <[b, s, 64], f16>
  return %a, %c, %d : !smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[b, s, 32], f16>, !smelt.tensor<[b, s, 64], f16>
}

// Products of different inputs, and a product of two activations, stay apart.
// CHECK-LABEL: @apart
// CHECK-COUNT-3: smelt.matmul
// CHECK-NOT: smelt.concat
func.func @apart(%x: !smelt.tensor<[b, 64], f16>, %y: !smelt.tensor<[b, 64], f16>, %z: !smelt.tensor<[64, 64], f16>)
    -> (!smelt.tensor<[b, 64], f16>, !smelt.tensor<[b, 64], f16>, !smelt.tensor<[b, 64], f16>) {
  %w = smelt.weight "w" <"w.bin", 0, 8192, ""> : <[64, 64], f16>
  %0 = smelt.matmul %x, %w : <[b, 64], f16>, <[64, 64], f16> -> <[b, 64], f16>
  %1 = smelt.matmul %y, %w : <[b, 64], f16>, <[64, 64], f16> -> <[b, 64], f16>
  %2 = smelt.matmul %x, %z : <[b, 64], f16>, <[64, 64], f16> -> <[b, 64], f16>
  return %0, %1, %2 : !smelt.tensor<[b, 64], f16>, !smelt.tensor<[b, 64], f16>, !smelt.tensor<[b, 64], f16>
}

// An activation is computed where its product is: that product stays alone, the other two are merged.
// CHECK-LABEL: @epilogue
// CHECK: smelt.matmul %arg0, %{{.*}} : <[b, 64], f16>, <[64, 32], f16>
// CHECK-NEXT: smelt.gelu
// CHECK: smelt.matmul %arg0, %{{.*}} : <[b, 64], f16>, <[64, 64], f16>
// CHECK-NOT: smelt.matmul
func.func @epilogue(%x: !smelt.tensor<[b, 64], f16>)
    -> (!smelt.tensor<[b, 32], f16>, !smelt.tensor<[b, 32], f16>, !smelt.tensor<[b, 32], f16>) {
  %w1 = smelt.weight "w1" <"w.bin", 0, 4096, ""> : <[64, 32], f16>
  %w2 = smelt.weight "w2" <"w.bin", 0, 4096, ""> : <[64, 32], f16>
  %w3 = smelt.weight "w3" <"w.bin", 0, 4096, ""> : <[64, 32], f16>
  %0 = smelt.matmul %x, %w1 : <[b, 64], f16>, <[64, 32], f16> -> <[b, 32], f16> loc("Gelu")
  %1 = smelt.gelu %0 : <[b, 32], f16>
  %2 = smelt.matmul %x, %w2 : <[b, 64], f16>, <[64, 32], f16> -> <[b, 32], f16>
  %3 = smelt.softmax %2 axis 1 : <[b, 32], f16>
  %4 = smelt.matmul %x, %w3 : <[b, 64], f16>, <[64, 32], f16> -> <[b, 32], f16>
  %5 = smelt.softmax %4 axis 1 : <[b, 32], f16>
  return %1, %3, %5 : !smelt.tensor<[b, 32], f16>, !smelt.tensor<[b, 32], f16>, !smelt.tensor<[b, 32], f16>
}

// Results of the model are tensors: slices of a wider product would be copied.
// CHECK-LABEL: @returned
// CHECK-COUNT-2: smelt.matmul
// CHECK-NOT: smelt.slice
func.func @returned(%x: !smelt.tensor<[b, 64], f16>) -> (!smelt.tensor<[b, 32], f16>, !smelt.tensor<[b, 8, 4], f16>) {
  %w1 = smelt.weight "w1" <"w.bin", 0, 4096, ""> : <[64, 32], f16>
  %w2 = smelt.weight "w2" <"w.bin", 0, 4096, ""> : <[64, 32], f16>
  %0 = smelt.matmul %x, %w1 : <[b, 64], f16>, <[64, 32], f16> -> <[b, 32], f16> loc("Returned")
  %1 = smelt.matmul %x, %w2 : <[b, 64], f16>, <[64, 32], f16> -> <[b, 32], f16>
  %2 = smelt.reshape %1 : <[b, 32], f16> -> <[b, 8, 4], f16>
  return %0, %2 : !smelt.tensor<[b, 32], f16>, !smelt.tensor<[b, 8, 4], f16>
}

// Gate and up projection meet in the epilogue of one kernel, which fuse-gemm forms.
// CHECK-LABEL: @gated
// CHECK-COUNT-2: smelt.matmul
// CHECK-NOT: smelt.slice
func.func @gated(%x: !smelt.tensor<[b, 64], f16>) -> !smelt.tensor<[b, 32], f16> {
  %w1 = smelt.weight "w1" <"w.bin", 0, 4096, ""> : <[64, 32], f16>
  %w2 = smelt.weight "w2" <"w.bin", 0, 4096, ""> : <[64, 32], f16>
  %0 = smelt.matmul %x, %w1 : <[b, 64], f16>, <[64, 32], f16> -> <[b, 32], f16>
  %1 = smelt.silu %0 : <[b, 32], f16>
  %2 = smelt.matmul %x, %w2 : <[b, 64], f16>, <[64, 32], f16> -> <[b, 32], f16>
  %3 = smelt.mul %1, %2 : <[b, 32], f16>, <[b, 32], f16> -> <[b, 32], f16>
  return %3 : !smelt.tensor<[b, 32], f16>
}
