// RUN: smelt-opt %s --smelt-fuse-rotary | FileCheck %s
// RUN: smelt-opt %s --smelt-fuse | FileCheck %s --check-prefix=FUSED

// CHECK: module attributes {smelt.remarks = [
// CHECK-SAME: #smelt.remark<taken "rotary" of "QK" by "", "turned by the kernel of {{[^:]*}}: saves 1 launch and {{[0-9.]+}} KB ({{[0-9.]+}} us at typical sizes)">
// CHECK-SAME: #smelt.remark<taken "rotary" of "All" by ""
// CHECK-SAME: #smelt.remark<taken "rotary" of "CachedQ" by "", "turned by the kernel of {{[^:]*}}: saves 1 launch
// CHECK-SAME: #smelt.remark<taken "rotary" of "CachedK" by ""
// CHECK-SAME: #smelt.remark<taken "rotary" of "OneBatch" by ""
// CHECK-SAME: #smelt.remark<taken "rotary" of "OneToken" by ""
// CHECK-SAME: #smelt.remark<refused "rotary" of "SmallHeads" by "heads are of multiples of 16 elements", "it is computed of heads of an unnamed op">
// CHECK-SAME: #smelt.remark<refused "rotary" of "TablesOfHeads" by "halves of heads change places, and tables are repeated along the heads"
// CHECK-SAME: #smelt.remark<refused "rotary" of "AnglesOfTheProduct" by "angles do not depend on the product", "it is computed of heads of an unnamed op">
// CHECK-SAME: #smelt.remark<refused "rotary" of "ReadBeside" by "nothing else reads the heads that are turned"
// CHECK-NOT: "rotary"

// Three heads of queries and one of keys in front of the values, with a bias; both halves of the angles are the same. The
// columns of lower and of upper halves are two products; the values' heads pass by.
// CHECK-LABEL: @projection
// CHECK: %[[WL:.*]] = smelt.slice {{.*}} starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] {{.*}} : <[24, 5, 2, 8], f16> -> <[24, 5, 1, 8], f16>
// CHECK: %[[L:.*]] = smelt.matmul %arg0, %{{.*}} : <[b, s, 24], f16>, <[24, 40], f16>
// CHECK: %[[U:.*]] = smelt.matmul %arg0, %{{.*}} : <[b, s, 24], f16>, <[24, 40], f16>
// CHECK: %[[COS:.*]] = smelt.slice {{.*}} : <[1, s, 1, 16], f16> -> <[1, s, 1, 8], f16>
// CHECK: smelt.mul %{{.*}}, %[[COS]]
// CHECK: smelt.mul %{{.*}}, %[[COS]]
// CHECK-COUNT-2: smelt.select {{.*}} -> <[b, s, 5, 8], f16>
// CHECK: smelt.concat {{.*}} axis 3 : {{.*}} -> <[b, s, 5, 2, 8], f16>
// CHECK: smelt.reshape {{.*}} -> <[b, s, 80], f16>
// CHECK-NOT: smelt.matmul
// CHECK: return
// One kernel stores all that attention reads; its weights are turned round.
// FUSED-LABEL: @projection
// FUSED: smelt.transpose {{.*}} : <[24, 80], f16> -> <[80, 24], f16>
// FUSED: smelt.fusion gemm(%{{.*}}, %arg0,
// FUSED-COUNT-2: smelt.matmul
// FUSED: smelt.concat
// FUSED-NEXT: smelt.yield
// FUSED: smelt.fusion attention
// FUSED-NOT: smelt.fusion
// FUSED: return
func.func @projection(%x: !smelt.tensor<[b, s, 24], f16>, %angles: !smelt.tensor<[s, 8], f16>) -> !smelt.tensor<[b, 3, s, 16], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 3840, ""> : <[24, 80], f16>
  %bias = smelt.weight "bias" <"w.bin", 3840, 160, ""> : <[80], f16>
  %y0 = smelt.matmul %x, %w : <[b, s, 24], f16>, <[24, 80], f16> -> <[b, s, 80], f16>
  %y = smelt.add %y0, %bias : <[b, s, 80], f16>, <[80], f16> -> <[b, s, 80], f16>
  %pairs = smelt.concat %angles, %angles axis 1 : !smelt.tensor<[s, 8], f16>, !smelt.tensor<[s, 8], f16> -> <[s, 16], f16>
  %cos0 = smelt.cos %pairs : <[s, 16], f16>
  %sin = smelt.sin %pairs : <[s, 16], f16>
  %cos = smelt.reshape %cos0 : <[s, 16], f16> -> <[s, 1, 16], f16>
  %qk = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[b, s, 80], f16> -> <[b, s, 64], f16>
  %h = smelt.reshape %qk : <[b, s, 64], f16> -> <[b, s, 4, 16], f16>
  %q1 = smelt.mul %h, %cos : <[b, s, 4, 16], f16>, <[s, 1, 16], f16> -> <[b, s, 4, 16], f16>
  %q2 = smelt.transpose %q1 [0, 2, 1, 3] : <[b, s, 4, 16], f16> -> <[b, 4, s, 16], f16>
  %q3 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 4, 16], f16> -> <[b, s, 4, 8], f16>
  %q4 = smelt.transpose %q3 [0, 2, 1, 3] : <[b, s, 4, 8], f16> -> <[b, 4, s, 8], f16>
  %q5 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<8>] steps [1, 1, 1, 1] : <[b, s, 4, 16], f16> -> <[b, s, 4, 8], f16>
  %q6 = smelt.neg %q5 : <[b, s, 4, 8], f16>
  %q7 = smelt.transpose %q6 [0, 2, 1, 3] : <[b, s, 4, 8], f16> -> <[b, 4, s, 8], f16>
  %q8 = smelt.concat %q7, %q4 axis 3 : !smelt.tensor<[b, 4, s, 8], f16>, !smelt.tensor<[b, 4, s, 8], f16> -> <[b, 4, s, 16], f16>
  %q9 = smelt.mul %q8, %sin : <[b, 4, s, 16], f16>, <[s, 16], f16> -> <[b, 4, s, 16], f16>
  %qr = smelt.add %q2, %q9 : <[b, 4, s, 16], f16>, <[b, 4, s, 16], f16> -> <[b, 4, s, 16], f16> loc("QK")
  %v = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<64>] steps [1, 1, 1] : <[b, s, 80], f16> -> <[b, s, 16], f16>
  %vh = smelt.reshape %v : <[b, s, 16], f16> -> <[b, s, 1, 16], f16>
  %vt = smelt.transpose %vh [0, 2, 1, 3] : <[b, s, 1, 16], f16> -> <[b, 1, s, 16], f16>
  %qq = smelt.slice %qr starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, 4, s, 16], f16> -> <[b, 3, s, 16], f16>
  %kk = smelt.slice %qr starts [#smelt.dim<0>, #smelt.dim<3>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, 4, s, 16], f16> -> <[b, 1, s, 16], f16>
  %a = smelt.attention %qq, %kk, %vt {scale = 2.500000e-01 : f32} : <[b, 3, s, 16], f16>, <[b, 1, s, 16], f16>, <[b, 1, s, 16], f16> -> <[b, 3, s, 16], f16>
  return %a : !smelt.tensor<[b, 3, s, 16], f16>
}

// All heads, by the formula of ONNX's RotaryEmbedding, with angles for each half alone: nothing is selected.
// CHECK-LABEL: @joined
// CHECK-COUNT-2: smelt.matmul
// CHECK-NOT: smelt.select
// CHECK: smelt.concat {{.*}} axis 3 : {{.*}} -> <[b, s, 2, 2, 16], f32>
// CHECK-NOT: smelt.matmul
// CHECK: return
// FUSED-LABEL: @joined
// FUSED: smelt.fusion gemm
// FUSED-NOT: smelt.fusion
// FUSED: return
func.func @joined(%x: !smelt.tensor<[b, s, 24], f32>, %c: !smelt.tensor<[b, s, 1, 16], f32>, %n: !smelt.tensor<[b, s, 1, 16], f32>) -> !smelt.tensor<[b, s, 64], f32> {
  %w = smelt.weight "w" <"w.bin", 0, 6144, ""> : <[24, 64], f32>
  %y = smelt.matmul %x, %w : <[b, s, 24], f32>, <[24, 64], f32> -> <[b, s, 64], f32>
  %h = smelt.reshape %y : <[b, s, 64], f32> -> <[b, s, 2, 32], f32>
  %l = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 2, 32], f32> -> <[b, s, 2, 16], f32>
  %u = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<16>] steps [1, 1, 1, 1] : <[b, s, 2, 32], f32> -> <[b, s, 2, 16], f32>
  %cl = smelt.mul %c, %l : <[b, s, 1, 16], f32>, <[b, s, 2, 16], f32> -> <[b, s, 2, 16], f32>
  %nu = smelt.mul %n, %u : <[b, s, 1, 16], f32>, <[b, s, 2, 16], f32> -> <[b, s, 2, 16], f32>
  %lower = smelt.sub %cl, %nu : <[b, s, 2, 16], f32>, <[b, s, 2, 16], f32> -> <[b, s, 2, 16], f32>
  %nl = smelt.mul %n, %l : <[b, s, 1, 16], f32>, <[b, s, 2, 16], f32> -> <[b, s, 2, 16], f32>
  %cu = smelt.mul %c, %u : <[b, s, 1, 16], f32>, <[b, s, 2, 16], f32> -> <[b, s, 2, 16], f32>
  %upper = smelt.add %nl, %cu : <[b, s, 2, 16], f32>, <[b, s, 2, 16], f32> -> <[b, s, 2, 16], f32>
  %r = smelt.concat %lower, %upper axis 3 : !smelt.tensor<[b, s, 2, 16], f32>, !smelt.tensor<[b, s, 2, 16], f32> -> <[b, s, 2, 32], f32> loc("All")
  %o = smelt.reshape %r : <[b, s, 2, 32], f32> -> <[b, s, 64], f32>
  return %o : !smelt.tensor<[b, s, 64], f32>
}

// Keys that go into a cache are turned apart from the queries, by tables whose halves differ; between them lies a head that
// is not turned.
// CHECK-LABEL: @cached
// CHECK-COUNT-2: smelt.matmul
// CHECK-COUNT-4: smelt.select {{.*}} -> <[b, s, 4, 8], f16>
// CHECK-NOT: smelt.matmul
// CHECK: return
// FUSED-LABEL: @cached
// FUSED: smelt.fusion gemm
// FUSED-COUNT-2: smelt.matmul
// FUSED: smelt.yield
// FUSED-NOT: smelt.matmul
// FUSED: return
func.func @cached(%x: !smelt.tensor<[b, s, 24], f16>, %cos: !smelt.tensor<[s, 1, 16], f16>, %sin: !smelt.tensor<[s, 16], f16>, %past: !smelt.tensor<[b, 1, p, 16], f16>, %values: !smelt.tensor<[b, 1, p + s, 16], f16>) -> (!smelt.tensor<[b, 2, s, 16], f16>, !smelt.tensor<[b, 1, p + s, 16], f16>, !smelt.tensor<[b, s, 16], f16>) {
  %w = smelt.weight "w" <"w.bin", 0, 3072, ""> : <[24, 64], f16>
  %y = smelt.matmul %x, %w : <[b, s, 24], f16>, <[24, 64], f16> -> <[b, s, 64], f16>
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[b, s, 64], f16> -> <[b, s, 32], f16>
  %qh = smelt.reshape %q : <[b, s, 32], f16> -> <[b, s, 2, 16], f16>
  %q1 = smelt.mul %qh, %cos : <[b, s, 2, 16], f16>, <[s, 1, 16], f16> -> <[b, s, 2, 16], f16>
  %q2 = smelt.transpose %q1 [0, 2, 1, 3] : <[b, s, 2, 16], f16> -> <[b, 2, s, 16], f16>
  %q3 = smelt.slice %qh starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q4 = smelt.transpose %q3 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q5 = smelt.slice %qh starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<8>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q6 = smelt.neg %q5 : <[b, s, 2, 8], f16>
  %q7 = smelt.transpose %q6 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q8 = smelt.concat %q7, %q4 axis 3 : !smelt.tensor<[b, 2, s, 8], f16>, !smelt.tensor<[b, 2, s, 8], f16> -> <[b, 2, s, 16], f16>
  %q9 = smelt.mul %q8, %sin : <[b, 2, s, 16], f16>, <[s, 16], f16> -> <[b, 2, s, 16], f16>
  %qr = smelt.add %q2, %q9 : <[b, 2, s, 16], f16>, <[b, 2, s, 16], f16> -> <[b, 2, s, 16], f16> loc("CachedQ")
  %between = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<32>] steps [1, 1, 1] : <[b, s, 64], f16> -> <[b, s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<48>] steps [1, 1, 1] : <[b, s, 64], f16> -> <[b, s, 16], f16>
  %kh = smelt.reshape %k : <[b, s, 16], f16> -> <[b, s, 1, 16], f16>
  %k1 = smelt.mul %kh, %cos : <[b, s, 1, 16], f16>, <[s, 1, 16], f16> -> <[b, s, 1, 16], f16>
  %k2 = smelt.transpose %k1 [0, 2, 1, 3] : <[b, s, 1, 16], f16> -> <[b, 1, s, 16], f16>
  %k3 = smelt.slice %kh starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 1, 16], f16> -> <[b, s, 1, 8], f16>
  %k4 = smelt.transpose %k3 [0, 2, 1, 3] : <[b, s, 1, 8], f16> -> <[b, 1, s, 8], f16>
  %k5 = smelt.slice %kh starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<8>] steps [1, 1, 1, 1] : <[b, s, 1, 16], f16> -> <[b, s, 1, 8], f16>
  %k6 = smelt.neg %k5 : <[b, s, 1, 8], f16>
  %k7 = smelt.transpose %k6 [0, 2, 1, 3] : <[b, s, 1, 8], f16> -> <[b, 1, s, 8], f16>
  %k8 = smelt.concat %k7, %k4 axis 3 : !smelt.tensor<[b, 1, s, 8], f16>, !smelt.tensor<[b, 1, s, 8], f16> -> <[b, 1, s, 16], f16>
  %k9 = smelt.mul %k8, %sin : <[b, 1, s, 16], f16>, <[s, 16], f16> -> <[b, 1, s, 16], f16>
  %kr = smelt.add %k2, %k9 : <[b, 1, s, 16], f16>, <[b, 1, s, 16], f16> -> <[b, 1, s, 16], f16> loc("CachedK")
  %keys = smelt.concat %past, %kr axis 2 : !smelt.tensor<[b, 1, p, 16], f16>, !smelt.tensor<[b, 1, s, 16], f16> -> <[b, 1, p + s, 16], f16>
  %a = smelt.attention %qr, %keys, %values {scale = 2.500000e-01 : f32} : <[b, 2, s, 16], f16>, <[b, 1, p + s, 16], f16>, <[b, 1, p + s, 16], f16> -> <[b, 2, s, 16], f16>
  return %a, %keys, %between : !smelt.tensor<[b, 2, s, 16], f16>, !smelt.tensor<[b, 1, p + s, 16], f16>, !smelt.tensor<[b, s, 16], f16>
}

// Of one batch, whose axis views drop and add on the way.
// CHECK-LABEL: @one_batch
// CHECK-COUNT-2: smelt.matmul
// CHECK: smelt.select {{.*}} -> <[1, 77, 3, 16], f16>
// CHECK-NOT: smelt.matmul
// CHECK: return
// FUSED-LABEL: @one_batch
// FUSED: smelt.fusion gemm
// FUSED: smelt.fusion attention
// FUSED-NOT: smelt.fusion
// FUSED: return
func.func @one_batch(%x: !smelt.tensor<[1, 77, 24], f16>, %cos: !smelt.tensor<[77, 1, 32], f16>, %sin: !smelt.tensor<[77, 32], f16>) -> !smelt.tensor<[1, 1, 77, 32], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 4608, ""> : <[24, 96], f16>
  %y = smelt.matmul %x, %w : <[1, 77, 24], f16>, <[24, 96], f16> -> <[1, 77, 96], f16>
  %qk = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[1, 77, 96], f16> -> <[1, 77, 64], f16>
  %h = smelt.reshape %qk : <[1, 77, 64], f16> -> <[77, 2, 32], f16>
  %c = smelt.mul %h, %cos : <[77, 2, 32], f16>, <[77, 1, 32], f16> -> <[77, 2, 32], f16>
  %ct = smelt.transpose %c [1, 0, 2] : <[77, 2, 32], f16> -> <[2, 77, 32], f16>
  %u = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<16>] steps [1, 1, 1] : <[77, 2, 32], f16> -> <[77, 2, 16], f16>
  %un = smelt.neg %u : <[77, 2, 16], f16>
  %ut = smelt.transpose %un [1, 0, 2] : <[77, 2, 16], f16> -> <[2, 77, 16], f16>
  %u4 = smelt.reshape %ut : <[2, 77, 16], f16> -> <[1, 2, 77, 16], f16>
  %l = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[77, 2, 32], f16> -> <[77, 2, 16], f16>
  %lt = smelt.transpose %l [1, 0, 2] : <[77, 2, 16], f16> -> <[2, 77, 16], f16>
  %l4 = smelt.reshape %lt : <[2, 77, 16], f16> -> <[1, 2, 77, 16], f16>
  %j = smelt.concat %u4, %l4 axis 3 : !smelt.tensor<[1, 2, 77, 16], f16>, !smelt.tensor<[1, 2, 77, 16], f16> -> <[1, 2, 77, 32], f16>
  %j3 = smelt.reshape %j : <[1, 2, 77, 32], f16> -> <[2, 77, 32], f16>
  %s = smelt.mul %j3, %sin : <[2, 77, 32], f16>, <[77, 32], f16> -> <[2, 77, 32], f16>
  %r = smelt.add %ct, %s : <[2, 77, 32], f16>, <[2, 77, 32], f16> -> <[2, 77, 32], f16> loc("OneBatch")
  %r4 = smelt.reshape %r : <[2, 77, 32], f16> -> <[1, 2, 77, 32], f16>
  %qq = smelt.slice %r4 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[1, 2, 77, 32], f16> -> <[1, 1, 77, 32], f16>
  %kk = smelt.slice %r4 starts [#smelt.dim<0>, #smelt.dim<1>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[1, 2, 77, 32], f16> -> <[1, 1, 77, 32], f16>
  %v = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<64>] steps [1, 1, 1] : <[1, 77, 96], f16> -> <[1, 77, 32], f16>
  %vr = smelt.reshape %v : <[1, 77, 32], f16> -> <[1, 1, 77, 32], f16>
  %a = smelt.attention %qq, %kk, %vr {scale = 1.250000e-01 : f32} : <[1, 1, 77, 32], f16>, <[1, 1, 77, 32], f16>, <[1, 1, 77, 32], f16> -> <[1, 1, 77, 32], f16>
  return %a : !smelt.tensor<[1, 1, 77, 32], f16>
}

// Of one token, whose transpositions are reshapes of the columns: two of them give the heads axes of size 1 at other places.
// CHECK-LABEL: @one_token
// CHECK-COUNT-2: smelt.matmul %arg0, {{.*}} -> <[1, 1, 32], f16>
// CHECK: smelt.reshape {{.*}} -> <[1, 1, 4, 8], f16>
// CHECK-NOT: smelt.matmul
// CHECK: return
func.func @one_token(%x: !smelt.tensor<[1, 1, 24], f16>, %cos: !smelt.tensor<[16], f16>, %sin: !smelt.tensor<[16], f16>) -> !smelt.tensor<[1, 4, 1, 16], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 3072, ""> : <[24, 64], f16>
  %y = smelt.matmul %x, %w : <[1, 1, 24], f16>, <[24, 64], f16> -> <[1, 1, 64], f16>
  %h = smelt.reshape %y : <[1, 1, 64], f16> -> <[1, 4, 1, 16], f16>
  %g = smelt.reshape %y : <[1, 1, 64], f16> -> <[4, 1, 16], f16>
  %c = smelt.mul %g, %cos : <[4, 1, 16], f16>, <[16], f16> -> <[4, 1, 16], f16>
  %l = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[1, 4, 1, 16], f16> -> <[1, 4, 1, 8], f16>
  %u = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<8>] steps [1, 1, 1, 1] : <[1, 4, 1, 16], f16> -> <[1, 4, 1, 8], f16>
  %n = smelt.neg %u : <[1, 4, 1, 8], f16>
  %j = smelt.concat %n, %l axis 3 : !smelt.tensor<[1, 4, 1, 8], f16>, !smelt.tensor<[1, 4, 1, 8], f16> -> <[1, 4, 1, 16], f16>
  %j3 = smelt.reshape %j : <[1, 4, 1, 16], f16> -> <[4, 1, 16], f16>
  %s = smelt.mul %j3, %sin : <[4, 1, 16], f16>, <[16], f16> -> <[4, 1, 16], f16>
  %r = smelt.add %c, %s : <[4, 1, 16], f16>, <[4, 1, 16], f16> -> <[4, 1, 16], f16> loc("OneToken")
  %r4 = smelt.reshape %r : <[4, 1, 16], f16> -> <[1, 4, 1, 16], f16>
  return %r4 : !smelt.tensor<[1, 4, 1, 16], f16>
}

// Halves of four elements: eight columns of each product take turns.
// CHECK-LABEL: @small_heads
// CHECK-COUNT-1: smelt.matmul
// CHECK-NOT: smelt.matmul
// CHECK: return
func.func @small_heads(%x: !smelt.tensor<[b, s, 24], f16>, %cos: !smelt.tensor<[s, 1, 8], f16>, %sin: !smelt.tensor<[s, 8], f16>) -> !smelt.tensor<[b, 2, s, 8], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 768, ""> : <[24, 16], f16>
  %y = smelt.matmul %x, %w : <[b, s, 24], f16>, <[24, 16], f16> -> <[b, s, 16], f16>
  %h = smelt.reshape %y : <[b, s, 16], f16> -> <[b, s, 2, 8], f16>
  %q1 = smelt.mul %h, %cos : <[b, s, 2, 8], f16>, <[s, 1, 8], f16> -> <[b, s, 2, 8], f16>
  %q2 = smelt.transpose %q1 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q3 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 2, 8], f16> -> <[b, s, 2, 4], f16>
  %q4 = smelt.transpose %q3 [0, 2, 1, 3] : <[b, s, 2, 4], f16> -> <[b, 2, s, 4], f16>
  %q5 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<4>] steps [1, 1, 1, 1] : <[b, s, 2, 8], f16> -> <[b, s, 2, 4], f16>
  %q6 = smelt.neg %q5 : <[b, s, 2, 4], f16>
  %q7 = smelt.transpose %q6 [0, 2, 1, 3] : <[b, s, 2, 4], f16> -> <[b, 2, s, 4], f16>
  %q8 = smelt.concat %q7, %q4 axis 3 : !smelt.tensor<[b, 2, s, 4], f16>, !smelt.tensor<[b, 2, s, 4], f16> -> <[b, 2, s, 8], f16>
  %q9 = smelt.mul %q8, %sin : <[b, 2, s, 8], f16>, <[s, 8], f16> -> <[b, 2, s, 8], f16>
  %qr = smelt.add %q2, %q9 : <[b, 2, s, 8], f16>, <[b, 2, s, 8], f16> -> <[b, 2, s, 8], f16> loc("SmallHeads")
  return %qr : !smelt.tensor<[b, 2, s, 8], f16>
}

// Each head has angles of its own.
// CHECK-LABEL: @tables_of_heads
// CHECK-COUNT-1: smelt.matmul
// CHECK-NOT: smelt.matmul
// CHECK: return
func.func @tables_of_heads(%x: !smelt.tensor<[b, s, 24], f16>, %cos: !smelt.tensor<[s, 2, 16], f16>, %sin: !smelt.tensor<[2, s, 16], f16>) -> !smelt.tensor<[b, 2, s, 16], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 1536, ""> : <[24, 32], f16>
  %y = smelt.matmul %x, %w : <[b, s, 24], f16>, <[24, 32], f16> -> <[b, s, 32], f16>
  %h = smelt.reshape %y : <[b, s, 32], f16> -> <[b, s, 2, 16], f16>
  %q1 = smelt.mul %h, %cos : <[b, s, 2, 16], f16>, <[s, 2, 16], f16> -> <[b, s, 2, 16], f16>
  %q2 = smelt.transpose %q1 [0, 2, 1, 3] : <[b, s, 2, 16], f16> -> <[b, 2, s, 16], f16>
  %q3 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q4 = smelt.transpose %q3 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q5 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<8>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q6 = smelt.neg %q5 : <[b, s, 2, 8], f16>
  %q7 = smelt.transpose %q6 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q8 = smelt.concat %q7, %q4 axis 3 : !smelt.tensor<[b, 2, s, 8], f16>, !smelt.tensor<[b, 2, s, 8], f16> -> <[b, 2, s, 16], f16>
  %q9 = smelt.mul %q8, %sin : <[b, 2, s, 16], f16>, <[2, s, 16], f16> -> <[b, 2, s, 16], f16>
  %qr = smelt.add %q2, %q9 : <[b, 2, s, 16], f16>, <[b, 2, s, 16], f16> -> <[b, 2, s, 16], f16> loc("TablesOfHeads")
  return %qr : !smelt.tensor<[b, 2, s, 16], f16>
}

// Angles that a part of the product gives would have to be there before it.
// CHECK-LABEL: @angles_of_the_product
// CHECK-COUNT-1: smelt.matmul
// CHECK-NOT: smelt.matmul
// CHECK: return
func.func @angles_of_the_product(%x: !smelt.tensor<[b, s, 24], f16>) -> !smelt.tensor<[b, 2, s, 16], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 2304, ""> : <[24, 48], f16>
  %y = smelt.matmul %x, %w : <[b, s, 24], f16>, <[24, 48], f16> -> <[b, s, 48], f16>
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[b, s, 48], f16> -> <[b, s, 32], f16>
  %angles = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<32>] steps [1, 1, 1] : <[b, s, 48], f16> -> <[b, s, 16], f16>
  %cos0 = smelt.cos %angles : <[b, s, 16], f16>
  %cos = smelt.reshape %cos0 : <[b, s, 16], f16> -> <[b, s, 1, 16], f16>
  %sin0 = smelt.sin %angles : <[b, s, 16], f16>
  %sin = smelt.reshape %sin0 : <[b, s, 16], f16> -> <[b, 1, s, 16], f16>
  %h = smelt.reshape %q : <[b, s, 32], f16> -> <[b, s, 2, 16], f16>
  %q1 = smelt.mul %h, %cos : <[b, s, 2, 16], f16>, <[b, s, 1, 16], f16> -> <[b, s, 2, 16], f16>
  %q2 = smelt.transpose %q1 [0, 2, 1, 3] : <[b, s, 2, 16], f16> -> <[b, 2, s, 16], f16>
  %q3 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q4 = smelt.transpose %q3 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q5 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<8>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q6 = smelt.neg %q5 : <[b, s, 2, 8], f16>
  %q7 = smelt.transpose %q6 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q8 = smelt.concat %q7, %q4 axis 3 : !smelt.tensor<[b, 2, s, 8], f16>, !smelt.tensor<[b, 2, s, 8], f16> -> <[b, 2, s, 16], f16>
  %q9 = smelt.mul %q8, %sin : <[b, 2, s, 16], f16>, <[b, 1, s, 16], f16> -> <[b, 2, s, 16], f16>
  %qr = smelt.add %q2, %q9 : <[b, 2, s, 16], f16>, <[b, 2, s, 16], f16> -> <[b, 2, s, 16], f16> loc("AnglesOfTheProduct")
  return %qr : !smelt.tensor<[b, 2, s, 16], f16>
}

// Somebody reads the heads as they were, too.
// CHECK-LABEL: @read_before
// CHECK-COUNT-1: smelt.matmul
// CHECK-NOT: smelt.matmul
// CHECK: return
func.func @read_before(%x: !smelt.tensor<[b, s, 24], f16>, %cos: !smelt.tensor<[s, 1, 16], f16>, %sin: !smelt.tensor<[s, 16], f16>) -> (!smelt.tensor<[b, 2, s, 16], f16>, !smelt.tensor<[b, s, 2, 16], f16>) {
  %w = smelt.weight "w" <"w.bin", 0, 1536, ""> : <[24, 32], f16>
  %y = smelt.matmul %x, %w : <[b, s, 24], f16>, <[24, 32], f16> -> <[b, s, 32], f16>
  %h = smelt.reshape %y : <[b, s, 32], f16> -> <[b, s, 2, 16], f16>
  %q1 = smelt.mul %h, %cos : <[b, s, 2, 16], f16>, <[s, 1, 16], f16> -> <[b, s, 2, 16], f16>
  %q2 = smelt.transpose %q1 [0, 2, 1, 3] : <[b, s, 2, 16], f16> -> <[b, 2, s, 16], f16>
  %q3 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q4 = smelt.transpose %q3 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q5 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<8>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q6 = smelt.neg %q5 : <[b, s, 2, 8], f16>
  %q7 = smelt.transpose %q6 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q8 = smelt.concat %q7, %q4 axis 3 : !smelt.tensor<[b, 2, s, 8], f16>, !smelt.tensor<[b, 2, s, 8], f16> -> <[b, 2, s, 16], f16>
  %q9 = smelt.mul %q8, %sin : <[b, 2, s, 16], f16>, <[s, 16], f16> -> <[b, 2, s, 16], f16>
  %qr = smelt.add %q2, %q9 : <[b, 2, s, 16], f16>, <[b, 2, s, 16], f16> -> <[b, 2, s, 16], f16> loc("ReadBefore")
  %e = smelt.exp %h : <[b, s, 2, 16], f16>
  return %qr, %e : !smelt.tensor<[b, 2, s, 16], f16>, !smelt.tensor<[b, s, 2, 16], f16>
}

// Somebody reads columns of the product that are turned, as they were.
// CHECK-LABEL: @read_beside
// CHECK-COUNT-1: smelt.matmul
// CHECK-NOT: smelt.matmul
// CHECK: return
func.func @read_beside(%x: !smelt.tensor<[b, s, 24], f16>, %cos: !smelt.tensor<[s, 1, 16], f16>, %sin: !smelt.tensor<[s, 16], f16>) -> (!smelt.tensor<[b, 2, s, 16], f16>, !smelt.tensor<[b, s, 16], f16>) {
  %w = smelt.weight "w" <"w.bin", 0, 1536, ""> : <[24, 32], f16>
  %y = smelt.matmul %x, %w : <[b, s, 24], f16>, <[24, 32], f16> -> <[b, s, 32], f16>
  %h = smelt.reshape %y : <[b, s, 32], f16> -> <[b, s, 2, 16], f16>
  %q1 = smelt.mul %h, %cos : <[b, s, 2, 16], f16>, <[s, 1, 16], f16> -> <[b, s, 2, 16], f16>
  %q2 = smelt.transpose %q1 [0, 2, 1, 3] : <[b, s, 2, 16], f16> -> <[b, 2, s, 16], f16>
  %q3 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q4 = smelt.transpose %q3 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q5 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<8>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q6 = smelt.neg %q5 : <[b, s, 2, 8], f16>
  %q7 = smelt.transpose %q6 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q8 = smelt.concat %q7, %q4 axis 3 : !smelt.tensor<[b, 2, s, 8], f16>, !smelt.tensor<[b, 2, s, 8], f16> -> <[b, 2, s, 16], f16>
  %q9 = smelt.mul %q8, %sin : <[b, 2, s, 16], f16>, <[s, 16], f16> -> <[b, 2, s, 16], f16>
  %qr = smelt.add %q2, %q9 : <[b, 2, s, 16], f16>, <[b, 2, s, 16], f16> -> <[b, 2, s, 16], f16> loc("ReadBeside")
  %beside = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<8>] steps [1, 1, 1] : <[b, s, 32], f16> -> <[b, s, 16], f16>
  return %qr, %beside : !smelt.tensor<[b, 2, s, 16], f16>, !smelt.tensor<[b, s, 16], f16>
}

// The columns of what is no weight take no turns.
// CHECK-LABEL: @no_weight
// CHECK-COUNT-1: smelt.matmul
// CHECK-NOT: smelt.matmul
// CHECK: return
func.func @no_weight(%x: !smelt.tensor<[b, s, 24], f16>, %w: !smelt.tensor<[24, 32], f16>, %cos: !smelt.tensor<[s, 1, 16], f16>, %sin: !smelt.tensor<[s, 16], f16>) -> !smelt.tensor<[b, 2, s, 16], f16> {
  %y = smelt.matmul %x, %w : <[b, s, 24], f16>, <[24, 32], f16> -> <[b, s, 32], f16>
  %h = smelt.reshape %y : <[b, s, 32], f16> -> <[b, s, 2, 16], f16>
  %q1 = smelt.mul %h, %cos : <[b, s, 2, 16], f16>, <[s, 1, 16], f16> -> <[b, s, 2, 16], f16>
  %q2 = smelt.transpose %q1 [0, 2, 1, 3] : <[b, s, 2, 16], f16> -> <[b, 2, s, 16], f16>
  %q3 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q4 = smelt.transpose %q3 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q5 = smelt.slice %h starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<8>] steps [1, 1, 1, 1] : <[b, s, 2, 16], f16> -> <[b, s, 2, 8], f16>
  %q6 = smelt.neg %q5 : <[b, s, 2, 8], f16>
  %q7 = smelt.transpose %q6 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q8 = smelt.concat %q7, %q4 axis 3 : !smelt.tensor<[b, 2, s, 8], f16>, !smelt.tensor<[b, 2, s, 8], f16> -> <[b, 2, s, 16], f16>
  %q9 = smelt.mul %q8, %sin : <[b, 2, s, 16], f16>, <[s, 16], f16> -> <[b, 2, s, 16], f16>
  %qr = smelt.add %q2, %q9 : <[b, 2, s, 16], f16>, <[b, 2, s, 16], f16> -> <[b, 2, s, 16], f16> loc("NoWeight")
  return %qr : !smelt.tensor<[b, 2, s, 16], f16>
}
