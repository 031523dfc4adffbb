// RUN: smelt-opt %s --smelt-fuse-horizontal --canonicalize | FileCheck %s

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
  %wv = smelt.weight "wv" <"w.bin", 12288, 8192, ""> : <[64, 64], f16>
  %bq = smelt.weight "bq" <"w.bin", 20480, 128, ""> : <[64], f16>
  %bv = smelt.weight "bv" <"w.bin", 20608, 128, ""> : <[64], f16>
  %0 = smelt.matmul %x, %wq : <[b, s, 64], f16>, <[64, 64], f16> -> <[b, s, 64], f16>
  %q = smelt.add %0, %bq : <[b, s, 64], f16>, <[64], f16> -> <[b, s, 64], f16>
  %k = smelt.matmul %x, %wk : <[b, s, 64], f16>, <[64, 32], f16> -> <[b, s, 32], f16>
  %1 = smelt.matmul %x, %wv : <[b, s, 64], f16>, <[64, 64], f16> -> <[b, s, 64], f16>
  %v = smelt.add %bv, %1 : <[64], f16>, <[b, s, 64], f16> -> <[b, s, 64], f16>
  return %q, %k, %v : !smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[b, s, 32], f16>, !smelt.tensor<[b, s, 64], f16>
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
