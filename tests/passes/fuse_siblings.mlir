// RUN: smelt-opt %s --smelt-fuse-siblings | FileCheck %s
// RUN: smelt-opt %s --smelt-fuse | FileCheck %s --check-prefix=FUSED

// CHECK: module attributes {smelt.remarks = [
// CHECK-SAME: #smelt.remark<taken "siblings" of "Q" by "", "one tree with K: saves 1 launch and {{[0-9.]+}} KB ({{[0-9.]+}} us at typical sizes)">
// CHECK-SAME: #smelt.remark<taken "siblings" of "K" by "", "one tree with Q: saves 1 launch
// CHECK-SAME: #smelt.remark<refused "siblings" of "ReturnedQ" by "attention alone reads both results", "it computes the same as ReturnedK, apart">
// CHECK-SAME: #smelt.remark<refused "siblings" of "InnerQ" by "nothing but the tree reads what it computes within", "it computes the same as InnerK, apart">
// CHECK-SAME: #smelt.remark<refused "siblings" of "UnalignedQ" by "rows of the parts are as regular as those of the results", "it computes the same as UnalignedK, apart">
// CHECK-SAME: #smelt.remark<refused "siblings" of "IrregularQ" by "rows of the parts are as regular as those of the results", "it computes the same as IrregularK, apart">

// Rotary embeddings of six heads of queries and two of keys, in front of the values: one formula for eight heads.
// CHECK-LABEL: @rotary
// CHECK: %[[ALL:.*]] = smelt.slice %arg0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] {{.*}} -> <[b, s, 64], f16>
// CHECK: %[[HEADS:.*]] = smelt.reshape %[[ALL]] : <[b, s, 64], f16> -> <[b, s, 8, 8], f16>
// CHECK: smelt.mul %[[HEADS]], {{.*}} -> <[b, s, 8, 8], f16>
// CHECK: smelt.slice %[[HEADS]] starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<4>] {{.*}} -> <[b, s, 8, 4], f16>
// CHECK: smelt.concat {{.*}} axis 3 {{.*}} -> <[b, 8, s, 8], f16>
// CHECK: %[[R:.*]] = smelt.add {{.*}} -> <[b, 8, s, 8], f16>
// CHECK: %[[Q:.*]] = smelt.slice %[[R]] starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] {{.*}} -> <[b, 6, s, 8], f16>
// CHECK: %[[K:.*]] = smelt.slice %[[R]] starts [#smelt.dim<0>, #smelt.dim<6>, #smelt.dim<0>, #smelt.dim<0>] {{.*}} -> <[b, 2, s, 8], f16>
// CHECK-NOT: smelt.add
// CHECK: smelt.attention %[[Q]], %[[K]], %{{.*}}
// The attention's kernel takes the slices in: nothing is copied.
// FUSED-LABEL: @rotary
// FUSED: %[[R:.*]] = smelt.fusion pointwise({{.*}} -> !smelt.tensor<[b, 8, s, 8], f16>
// FUSED: smelt.fusion attention(%[[R]], %arg0)
// FUSED-COUNT-3: smelt.slice
// FUSED: smelt.attention
// FUSED-NOT: smelt.fusion
// FUSED: return
func.func @rotary(%y: !smelt.tensor<[b, s, 80], f16>, %cos: !smelt.tensor<[1, s, 8], f16>, %sin: !smelt.tensor<[s, 8], f16>) -> !smelt.tensor<[b, 6, s, 8], f16> {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[b, s, 80], f16> -> <[b, s, 48], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<48>] steps [1, 1, 1] : <[b, s, 80], f16> -> <[b, s, 16], f16>
  %v = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<64>] steps [1, 1, 1] : <[b, s, 80], f16> -> <[b, s, 16], f16>
  %c = smelt.reshape %cos : <[1, s, 8], f16> -> <[s, 1, 8], f16>
  %q0 = smelt.reshape %q : <[b, s, 48], f16> -> <[b, s, 6, 8], f16>
  %q1 = smelt.mul %q0, %c : <[b, s, 6, 8], f16>, <[s, 1, 8], f16> -> <[b, s, 6, 8], f16>
  %q2 = smelt.transpose %q1 [0, 2, 1, 3] : <[b, s, 6, 8], f16> -> <[b, 6, s, 8], f16>
  %q3 = smelt.slice %q0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 6, 8], f16> -> <[b, s, 6, 4], f16>
  %q4 = smelt.transpose %q3 [0, 2, 1, 3] : <[b, s, 6, 4], f16> -> <[b, 6, s, 4], f16>
  %q5 = smelt.slice %q0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<4>] steps [1, 1, 1, 1] : <[b, s, 6, 8], f16> -> <[b, s, 6, 4], f16>
  %q6 = smelt.neg %q5 : <[b, s, 6, 4], f16>
  %q7 = smelt.transpose %q6 [0, 2, 1, 3] : <[b, s, 6, 4], f16> -> <[b, 6, s, 4], f16>
  %q8 = smelt.concat %q7, %q4 axis 3 : !smelt.tensor<[b, 6, s, 4], f16>, !smelt.tensor<[b, 6, s, 4], f16> -> <[b, 6, s, 8], f16>
  %q9 = smelt.mul %q8, %sin : <[b, 6, s, 8], f16>, <[s, 8], f16> -> <[b, 6, s, 8], f16>
  %qr = smelt.add %q2, %q9 : <[b, 6, s, 8], f16>, <[b, 6, s, 8], f16> -> <[b, 6, s, 8], f16> loc("Q")
  %k0 = smelt.reshape %k : <[b, s, 16], f16> -> <[b, s, 2, 8], f16>
  %k1 = smelt.mul %k0, %c : <[b, s, 2, 8], f16>, <[s, 1, 8], f16> -> <[b, s, 2, 8], f16>
  %k2 = smelt.transpose %k1 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %k3 = smelt.slice %k0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[b, s, 2, 8], f16> -> <[b, s, 2, 4], f16>
  %k4 = smelt.transpose %k3 [0, 2, 1, 3] : <[b, s, 2, 4], f16> -> <[b, 2, s, 4], f16>
  %k5 = smelt.slice %k0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<4>] steps [1, 1, 1, 1] : <[b, s, 2, 8], f16> -> <[b, s, 2, 4], f16>
  %k6 = smelt.neg %k5 : <[b, s, 2, 4], f16>
  %k7 = smelt.transpose %k6 [0, 2, 1, 3] : <[b, s, 2, 4], f16> -> <[b, 2, s, 4], f16>
  %k8 = smelt.concat %k7, %k4 axis 3 : !smelt.tensor<[b, 2, s, 4], f16>, !smelt.tensor<[b, 2, s, 4], f16> -> <[b, 2, s, 8], f16>
  %k9 = smelt.mul %k8, %sin : <[b, 2, s, 8], f16>, <[s, 8], f16> -> <[b, 2, s, 8], f16>
  %kr = smelt.add %k2, %k9 : <[b, 2, s, 8], f16>, <[b, 2, s, 8], f16> -> <[b, 2, s, 8], f16> loc("K")
  %v0 = smelt.reshape %v : <[b, s, 16], f16> -> <[b, s, 2, 8], f16>
  %vr = smelt.transpose %v0 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %a = smelt.attention %qr, %kr, %vr {scale = 1.250000e-01 : f32} : <[b, 6, s, 8], f16>, <[b, 2, s, 8], f16>, <[b, 2, s, 8], f16> -> <[b, 6, s, 8], f16>
  return %a : !smelt.tensor<[b, 6, s, 8], f16>
}

// The keys come first, of one batch and an odd number of rows, and views follow before the attention.
// CHECK-LABEL: @keys_first
// CHECK: %[[R:.*]] = smelt.relu {{.*}} <[5, 77, 8], f32>
// CHECK: %[[K:.*]] = smelt.slice %[[R]] starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] {{.*}} -> <[1, 77, 8], f32>
// CHECK: %[[Q:.*]] = smelt.slice %[[R]] starts [#smelt.dim<1>, #smelt.dim<0>, #smelt.dim<0>] {{.*}} -> <[4, 77, 8], f32>
// CHECK-NOT: smelt.relu
// CHECK: return
func.func @keys_first(%y: !smelt.tensor<[77, 40], f32>, %values: !smelt.tensor<[1, 1, 77, 8], f32>) -> !smelt.tensor<[1, 4, 77, 8], f32> {
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[77, 40], f32> -> <[77, 8], f32>
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<8>] steps [1, 1] : <[77, 40], f32> -> <[77, 32], f32>
  %q0 = smelt.reshape %q : <[77, 32], f32> -> <[77, 4, 8], f32>
  %q1 = smelt.transpose %q0 [1, 0, 2] : <[77, 4, 8], f32> -> <[4, 77, 8], f32>
  %q2 = smelt.relu %q1 : <[4, 77, 8], f32>
  %q3 = smelt.reshape %q2 : <[4, 77, 8], f32> -> <[1, 4, 77, 8], f32>
  %k0 = smelt.reshape %k : <[77, 8], f32> -> <[77, 1, 8], f32>
  %k1 = smelt.transpose %k0 [1, 0, 2] : <[77, 1, 8], f32> -> <[1, 77, 8], f32>
  %k2 = smelt.relu %k1 : <[1, 77, 8], f32>
  %k3 = smelt.reshape %k2 : <[1, 77, 8], f32> -> <[1, 1, 77, 8], f32>
  %a = smelt.attention %q3, %k3, %values {scale = 1.250000e-01 : f32} : <[1, 4, 77, 8], f32>, <[1, 1, 77, 8], f32>, <[1, 1, 77, 8], f32> -> <[1, 4, 77, 8], f32>
  return %a : !smelt.tensor<[1, 4, 77, 8], f32>
}

// Of three siblings two become one, and those one with the third, which is all of the tensor; each
// repeats one value a head, by an expand or by itself.
// CHECK-LABEL: @three
// CHECK-NOT: smelt.slice
// CHECK: %[[HEADS:.*]] = smelt.reshape %arg0 : <[b, s, 48], f16> -> <[b, s, 6, 8], f16>
// CHECK: %[[E:.*]] = smelt.expand %arg1 : <[1, 8], f16> -> <[6, 8], f16>
// CHECK: %[[M:.*]] = smelt.mul %[[HEADS]], %[[E]]
// CHECK: %[[T:.*]] = smelt.transpose %[[M]] [0, 2, 1, 3] : <[b, s, 6, 8], f16> -> <[b, 6, s, 8], f16>
// CHECK: %[[R:.*]] = smelt.max %[[T]], %arg2
// CHECK-COUNT-4: smelt.slice
// CHECK-NOT: smelt.mul
// CHECK: return
func.func @three(%y: !smelt.tensor<[b, s, 48], f16>, %scale: !smelt.tensor<[1, 8], f16>, %least: !smelt.tensor<[], f16>) -> !smelt.tensor<[b, 2, s, 8], f16> {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[b, s, 48], f16> -> <[b, s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<16>] steps [1, 1, 1] : <[b, s, 48], f16> -> <[b, s, 16], f16>
  %v = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<32>] steps [1, 1, 1] : <[b, s, 48], f16> -> <[b, s, 16], f16>
  %e = smelt.expand %scale : <[1, 8], f16> -> <[2, 8], f16>
  %q0 = smelt.reshape %q : <[b, s, 16], f16> -> <[b, s, 2, 8], f16>
  %q1 = smelt.mul %q0, %e : <[b, s, 2, 8], f16>, <[2, 8], f16> -> <[b, s, 2, 8], f16>
  %q2 = smelt.transpose %q1 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %q3 = smelt.max %q2, %least : <[b, 2, s, 8], f16>, <[], f16> -> <[b, 2, s, 8], f16>
  %k0 = smelt.reshape %k : <[b, s, 16], f16> -> <[b, s, 2, 8], f16>
  %k1 = smelt.mul %k0, %e : <[b, s, 2, 8], f16>, <[2, 8], f16> -> <[b, s, 2, 8], f16>
  %k2 = smelt.transpose %k1 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %k3 = smelt.max %k2, %least : <[b, 2, s, 8], f16>, <[], f16> -> <[b, 2, s, 8], f16>
  %v0 = smelt.reshape %v : <[b, s, 16], f16> -> <[b, s, 2, 8], f16>
  %v1 = smelt.mul %v0, %e : <[b, s, 2, 8], f16>, <[2, 8], f16> -> <[b, s, 2, 8], f16>
  %v2 = smelt.transpose %v1 [0, 2, 1, 3] : <[b, s, 2, 8], f16> -> <[b, 2, s, 8], f16>
  %v3 = smelt.max %v2, %least : <[b, 2, s, 8], f16>, <[], f16> -> <[b, 2, s, 8], f16>
  %a = smelt.attention %q3, %k3, %v3 {scale = 1.250000e-01 : f32} : <[b, 2, s, 8], f16>, <[b, 2, s, 8], f16>, <[b, 2, s, 8], f16> -> <[b, 2, s, 8], f16>
  return %a : !smelt.tensor<[b, 2, s, 8], f16>
}

// A head lies between the parts.
// CHECK-LABEL: @gap
// CHECK-COUNT-2: smelt.exp
func.func @gap(%y: !smelt.tensor<[s, 40], f16>, %v: !smelt.tensor<[1, 1, s, 8], f16>) -> !smelt.tensor<[1, 2, s, 8], f16> {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s, 40], f16> -> <[s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<24>] steps [1, 1] : <[s, 40], f16> -> <[s, 8], f16>
  %q0 = smelt.reshape %q : <[s, 16], f16> -> <[s, 2, 8], f16>
  %q1 = smelt.transpose %q0 [1, 0, 2] : <[s, 2, 8], f16> -> <[2, s, 8], f16>
  %q2 = smelt.relu %q1 : <[2, s, 8], f16>
  %q3 = smelt.exp %q2 : <[2, s, 8], f16>
  %qr = smelt.reshape %q3 : <[2, s, 8], f16> -> <[1, 2, s, 8], f16>
  %k0 = smelt.reshape %k : <[s, 8], f16> -> <[s, 1, 8], f16>
  %k1 = smelt.transpose %k0 [1, 0, 2] : <[s, 1, 8], f16> -> <[1, s, 8], f16>
  %k2 = smelt.relu %k1 : <[1, s, 8], f16>
  %k3 = smelt.exp %k2 : <[1, s, 8], f16>
  %kr = smelt.reshape %k3 : <[1, s, 8], f16> -> <[1, 1, s, 8], f16>
  %a = smelt.attention %qr, %kr, %v {scale = 1.250000e-01 : f32} : <[1, 2, s, 8], f16>, <[1, 1, s, 8], f16>, <[1, 1, s, 8], f16> -> <[1, 2, s, 8], f16>
  return %a : !smelt.tensor<[1, 2, s, 8], f16>
}

// The keys begin with a head of the queries.
// CHECK-LABEL: @overlap
// CHECK-COUNT-2: smelt.exp
func.func @overlap(%y: !smelt.tensor<[s, 40], f16>, %v: !smelt.tensor<[1, 1, s, 8], f16>) -> !smelt.tensor<[1, 2, s, 8], f16> {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s, 40], f16> -> <[s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<8>] steps [1, 1] : <[s, 40], f16> -> <[s, 8], f16>
  %q0 = smelt.reshape %q : <[s, 16], f16> -> <[s, 2, 8], f16>
  %q1 = smelt.transpose %q0 [1, 0, 2] : <[s, 2, 8], f16> -> <[2, s, 8], f16>
  %q2 = smelt.relu %q1 : <[2, s, 8], f16>
  %q3 = smelt.exp %q2 : <[2, s, 8], f16>
  %qr = smelt.reshape %q3 : <[2, s, 8], f16> -> <[1, 2, s, 8], f16>
  %k0 = smelt.reshape %k : <[s, 8], f16> -> <[s, 1, 8], f16>
  %k1 = smelt.transpose %k0 [1, 0, 2] : <[s, 1, 8], f16> -> <[1, s, 8], f16>
  %k2 = smelt.relu %k1 : <[1, s, 8], f16>
  %k3 = smelt.exp %k2 : <[1, s, 8], f16>
  %kr = smelt.reshape %k3 : <[1, s, 8], f16> -> <[1, 1, s, 8], f16>
  %a = smelt.attention %qr, %kr, %v {scale = 1.250000e-01 : f32} : <[1, 2, s, 8], f16>, <[1, 1, s, 8], f16>, <[1, 1, s, 8], f16> -> <[1, 2, s, 8], f16>
  return %a : !smelt.tensor<[1, 2, s, 8], f16>
}

// Trees of other ops.
// CHECK-LABEL: @other_ops
// CHECK-COUNT-2: smelt.exp
func.func @other_ops(%y: !smelt.tensor<[s, 40], f16>, %v: !smelt.tensor<[1, 1, s, 8], f16>) -> !smelt.tensor<[1, 2, s, 8], f16> {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s, 40], f16> -> <[s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<16>] steps [1, 1] : <[s, 40], f16> -> <[s, 8], f16>
  %q0 = smelt.reshape %q : <[s, 16], f16> -> <[s, 2, 8], f16>
  %q1 = smelt.transpose %q0 [1, 0, 2] : <[s, 2, 8], f16> -> <[2, s, 8], f16>
  %q2 = smelt.relu %q1 : <[2, s, 8], f16>
  %q3 = smelt.exp %q2 : <[2, s, 8], f16>
  %qr = smelt.reshape %q3 : <[2, s, 8], f16> -> <[1, 2, s, 8], f16>
  %k0 = smelt.reshape %k : <[s, 8], f16> -> <[s, 1, 8], f16>
  %k1 = smelt.transpose %k0 [1, 0, 2] : <[s, 1, 8], f16> -> <[1, s, 8], f16>
  %k2 = smelt.neg %k1 : <[1, s, 8], f16>
  %k3 = smelt.exp %k2 : <[1, s, 8], f16>
  %kr = smelt.reshape %k3 : <[1, s, 8], f16> -> <[1, 1, s, 8], f16>
  %a = smelt.attention %qr, %kr, %v {scale = 1.250000e-01 : f32} : <[1, 2, s, 8], f16>, <[1, 1, s, 8], f16>, <[1, 1, s, 8], f16> -> <[1, 2, s, 8], f16>
  return %a : !smelt.tensor<[1, 2, s, 8], f16>
}

// Queries are scaled by another number.
// CHECK-LABEL: @other_constants
// CHECK-COUNT-2: smelt.mul
func.func @other_constants(%y: !smelt.tensor<[s, 40], f16>, %v: !smelt.tensor<[1, 1, s, 8], f16>) -> !smelt.tensor<[1, 2, s, 8], f16> {
  %two = smelt.constant dense<2.0> : tensor<f16> : <[], f16>
  %three = smelt.constant dense<3.0> : tensor<f16> : <[], f16>
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s, 40], f16> -> <[s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<16>] steps [1, 1] : <[s, 40], f16> -> <[s, 8], f16>
  %q0 = smelt.reshape %q : <[s, 16], f16> -> <[s, 2, 8], f16>
  %q1 = smelt.transpose %q0 [1, 0, 2] : <[s, 2, 8], f16> -> <[2, s, 8], f16>
  %q2 = smelt.mul %q1, %two : <[2, s, 8], f16>, <[], f16> -> <[2, s, 8], f16>
  %qr = smelt.reshape %q2 : <[2, s, 8], f16> -> <[1, 2, s, 8], f16>
  %k0 = smelt.reshape %k : <[s, 8], f16> -> <[s, 1, 8], f16>
  %k1 = smelt.transpose %k0 [1, 0, 2] : <[s, 1, 8], f16> -> <[1, s, 8], f16>
  %k2 = smelt.mul %k1, %three : <[1, s, 8], f16>, <[], f16> -> <[1, s, 8], f16>
  %kr = smelt.reshape %k2 : <[1, s, 8], f16> -> <[1, 1, s, 8], f16>
  %a = smelt.attention %qr, %kr, %v {scale = 1.250000e-01 : f32} : <[1, 2, s, 8], f16>, <[1, 1, s, 8], f16>, <[1, 1, s, 8], f16> -> <[1, 2, s, 8], f16>
  return %a : !smelt.tensor<[1, 2, s, 8], f16>
}

// What is not repeated along the heads is no part of one tensor.
// CHECK-LABEL: @other_tensors
// CHECK-COUNT-2: smelt.mul
func.func @other_tensors(%y: !smelt.tensor<[s, 40], f16>, %v: !smelt.tensor<[1, 1, s, 8], f16>, %g: !smelt.tensor<[2, 1, 8], f16>, %h: !smelt.tensor<[1, 1, 8], f16>) -> !smelt.tensor<[1, 2, s, 8], f16> {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s, 40], f16> -> <[s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<16>] steps [1, 1] : <[s, 40], f16> -> <[s, 8], f16>
  %q0 = smelt.reshape %q : <[s, 16], f16> -> <[s, 2, 8], f16>
  %q1 = smelt.transpose %q0 [1, 0, 2] : <[s, 2, 8], f16> -> <[2, s, 8], f16>
  %q2 = smelt.mul %q1, %g : <[2, s, 8], f16>, <[2, 1, 8], f16> -> <[2, s, 8], f16>
  %qr = smelt.reshape %q2 : <[2, s, 8], f16> -> <[1, 2, s, 8], f16>
  %k0 = smelt.reshape %k : <[s, 8], f16> -> <[s, 1, 8], f16>
  %k1 = smelt.transpose %k0 [1, 0, 2] : <[s, 1, 8], f16> -> <[1, s, 8], f16>
  %k2 = smelt.mul %k1, %h : <[1, s, 8], f16>, <[1, 1, 8], f16> -> <[1, s, 8], f16>
  %kr = smelt.reshape %k2 : <[1, s, 8], f16> -> <[1, 1, s, 8], f16>
  %a = smelt.attention %qr, %kr, %v {scale = 1.250000e-01 : f32} : <[1, 2, s, 8], f16>, <[1, 1, s, 8], f16>, <[1, 1, s, 8], f16> -> <[1, 2, s, 8], f16>
  return %a : !smelt.tensor<[1, 2, s, 8], f16>
}

// A result of the function is a tensor: of a wider one it would be copied.
// CHECK-LABEL: @returned
// CHECK-COUNT-2: smelt.relu
func.func @returned(%y: !smelt.tensor<[s, 40], f16>, %v: !smelt.tensor<[1, 1, s, 8], f16>) -> (!smelt.tensor<[1, 2, s, 8], f16>, !smelt.tensor<[1, 1, s, 8], f16>) {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s, 40], f16> -> <[s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<16>] steps [1, 1] : <[s, 40], f16> -> <[s, 8], f16>
  %q0 = smelt.reshape %q : <[s, 16], f16> -> <[s, 2, 8], f16>
  %q1 = smelt.transpose %q0 [1, 0, 2] : <[s, 2, 8], f16> -> <[2, s, 8], f16>
  %q2 = smelt.relu %q1 : <[2, s, 8], f16> loc("ReturnedQ")
  %qr = smelt.reshape %q2 : <[2, s, 8], f16> -> <[1, 2, s, 8], f16>
  %k0 = smelt.reshape %k : <[s, 8], f16> -> <[s, 1, 8], f16>
  %k1 = smelt.transpose %k0 [1, 0, 2] : <[s, 1, 8], f16> -> <[1, s, 8], f16>
  %k2 = smelt.relu %k1 : <[1, s, 8], f16> loc("ReturnedK")
  %kr = smelt.reshape %k2 : <[1, s, 8], f16> -> <[1, 1, s, 8], f16>
  %a = smelt.attention %qr, %kr, %v {scale = 1.250000e-01 : f32} : <[1, 2, s, 8], f16>, <[1, 1, s, 8], f16>, <[1, 1, s, 8], f16> -> <[1, 2, s, 8], f16>
  return %a, %kr : !smelt.tensor<[1, 2, s, 8], f16>, !smelt.tensor<[1, 1, s, 8], f16>
}

// Another kernel reads the keys, too.
// CHECK-LABEL: @other_reader
// CHECK-COUNT-2: smelt.relu
func.func @other_reader(%y: !smelt.tensor<[s, 40], f16>, %v: !smelt.tensor<[1, 1, s, 8], f16>) -> (!smelt.tensor<[1, 2, s, 8], f16>, !smelt.tensor<[1, s, 8], f16>) {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s, 40], f16> -> <[s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<16>] steps [1, 1] : <[s, 40], f16> -> <[s, 8], f16>
  %q0 = smelt.reshape %q : <[s, 16], f16> -> <[s, 2, 8], f16>
  %q1 = smelt.transpose %q0 [1, 0, 2] : <[s, 2, 8], f16> -> <[2, s, 8], f16>
  %q2 = smelt.relu %q1 : <[2, s, 8], f16>
  %qr = smelt.reshape %q2 : <[2, s, 8], f16> -> <[1, 2, s, 8], f16>
  %k0 = smelt.reshape %k : <[s, 8], f16> -> <[s, 1, 8], f16>
  %k1 = smelt.transpose %k0 [1, 0, 2] : <[s, 1, 8], f16> -> <[1, s, 8], f16>
  %k2 = smelt.relu %k1 : <[1, s, 8], f16>
  %kr = smelt.reshape %k2 : <[1, s, 8], f16> -> <[1, 1, s, 8], f16>
  %a = smelt.attention %qr, %kr, %v {scale = 1.250000e-01 : f32} : <[1, 2, s, 8], f16>, <[1, 1, s, 8], f16>, <[1, 1, s, 8], f16> -> <[1, 2, s, 8], f16>
  %p = smelt.softmax %k2 axis 2 : <[1, s, 8], f16>
  return %a, %p : !smelt.tensor<[1, 2, s, 8], f16>, !smelt.tensor<[1, s, 8], f16>
}

// Somebody reads what a tree computes on its way.
// CHECK-LABEL: @inner_reader
// CHECK-COUNT-2: smelt.exp
func.func @inner_reader(%y: !smelt.tensor<[s, 40], f16>, %v: !smelt.tensor<[1, 1, s, 8], f16>) -> (!smelt.tensor<[1, 2, s, 8], f16>, !smelt.tensor<[s, 1, 8], f16>) {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s, 40], f16> -> <[s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<16>] steps [1, 1] : <[s, 40], f16> -> <[s, 8], f16>
  %q0 = smelt.reshape %q : <[s, 16], f16> -> <[s, 2, 8], f16>
  %q1 = smelt.transpose %q0 [1, 0, 2] : <[s, 2, 8], f16> -> <[2, s, 8], f16>
  %q2 = smelt.relu %q1 : <[2, s, 8], f16>
  %q3 = smelt.exp %q2 : <[2, s, 8], f16> loc("InnerQ")
  %qr = smelt.reshape %q3 : <[2, s, 8], f16> -> <[1, 2, s, 8], f16>
  %k0 = smelt.reshape %k : <[s, 8], f16> -> <[s, 1, 8], f16>
  %k1 = smelt.transpose %k0 [1, 0, 2] : <[s, 1, 8], f16> -> <[1, s, 8], f16>
  %k2 = smelt.relu %k1 : <[1, s, 8], f16>
  %k3 = smelt.exp %k2 : <[1, s, 8], f16> loc("InnerK")
  %kr = smelt.reshape %k3 : <[1, s, 8], f16> -> <[1, 1, s, 8], f16>
  %inner = smelt.transpose %k2 [1, 0, 2] : <[1, s, 8], f16> -> <[s, 1, 8], f16>
  %a = smelt.attention %qr, %kr, %v {scale = 1.250000e-01 : f32} : <[1, 2, s, 8], f16>, <[1, 1, s, 8], f16>, <[1, 1, s, 8], f16> -> <[1, 2, s, 8], f16>
  return %a, %inner : !smelt.tensor<[1, 2, s, 8], f16>, !smelt.tensor<[s, 1, 8], f16>
}

// Parts of rows of twelve would begin at other bytes than rows of eight.
// CHECK-LABEL: @unaligned
// CHECK-COUNT-2: smelt.relu
func.func @unaligned(%y: !smelt.tensor<[s, 12], f16>, %v: !smelt.tensor<[1, 1, s, 4], f16>) -> !smelt.tensor<[1, 2, s, 4], f16> {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s, 12], f16> -> <[s, 8], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<8>] steps [1, 1] : <[s, 12], f16> -> <[s, 4], f16>
  %q0 = smelt.relu %q : <[s, 8], f16> loc("UnalignedQ")
  %k0 = smelt.relu %k : <[s, 4], f16> loc("UnalignedK")
  %q1 = smelt.reshape %q0 : <[s, 8], f16> -> <[s, 2, 4], f16>
  %k1 = smelt.reshape %k0 : <[s, 4], f16> -> <[s, 1, 4], f16>
  %q2 = smelt.transpose %q1 [1, 0, 2] : <[s, 2, 4], f16> -> <[2, s, 4], f16>
  %k2 = smelt.transpose %k1 [1, 0, 2] : <[s, 1, 4], f16> -> <[1, s, 4], f16>
  %qr = smelt.reshape %q2 : <[2, s, 4], f16> -> <[1, 2, s, 4], f16>
  %kr = smelt.reshape %k2 : <[1, s, 4], f16> -> <[1, 1, s, 4], f16>
  %a = smelt.attention %qr, %kr, %v {scale = 1.250000e-01 : f32} : <[1, 2, s, 4], f16>, <[1, 1, s, 4], f16>, <[1, 1, s, 4], f16> -> <[1, 2, s, 4], f16>
  return %a : !smelt.tensor<[1, 2, s, 4], f16>
}

// The attention finds its heads in parts of rows.
// CHECK-LABEL: @parts_of_rows
// CHECK: %[[R:.*]] = smelt.relu %{{.*}} : <[s, 24], f16>
// CHECK: smelt.slice %[[R]] starts [#smelt.dim<0>, #smelt.dim<16>] {{.*}} -> <[s, 8], f16>
// CHECK-NOT: smelt.relu
func.func @parts_of_rows(%y: !smelt.tensor<[s, 40], f16>, %v: !smelt.tensor<[1, 1, s, 8], f16>) -> !smelt.tensor<[1, 2, s, 8], f16> {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s, 40], f16> -> <[s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<16>] steps [1, 1] : <[s, 40], f16> -> <[s, 8], f16>
  %q0 = smelt.relu %q : <[s, 16], f16>
  %k0 = smelt.relu %k : <[s, 8], f16>
  %q1 = smelt.reshape %q0 : <[s, 16], f16> -> <[s, 2, 8], f16>
  %k1 = smelt.reshape %k0 : <[s, 8], f16> -> <[s, 1, 8], f16>
  %q2 = smelt.transpose %q1 [1, 0, 2] : <[s, 2, 8], f16> -> <[2, s, 8], f16>
  %k2 = smelt.transpose %k1 [1, 0, 2] : <[s, 1, 8], f16> -> <[1, s, 8], f16>
  %qr = smelt.reshape %q2 : <[2, s, 8], f16> -> <[1, 2, s, 8], f16>
  %kr = smelt.reshape %k2 : <[1, s, 8], f16> -> <[1, 1, s, 8], f16>
  %a = smelt.attention %qr, %kr, %v {scale = 1.250000e-01 : f32} : <[1, 2, s, 8], f16>, <[1, 1, s, 8], f16>, <[1, 1, s, 8], f16> -> <[1, 2, s, 8], f16>
  return %a : !smelt.tensor<[1, 2, s, 8], f16>
}

// Rows of two axes, between which the parts lie, would be no constant distance apart.
// CHECK-LABEL: @irregular
// CHECK-COUNT-2: smelt.relu
func.func @irregular(%y: !smelt.tensor<[t, 3, u, 8], f16>) -> !smelt.tensor<[1, 1, t*u, 8], f16> {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[t, 3, u, 8], f16> -> <[t, 1, u, 8], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<1>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[t, 3, u, 8], f16> -> <[t, 1, u, 8], f16>
  %v = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<2>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[t, 3, u, 8], f16> -> <[t, 1, u, 8], f16>
  %q0 = smelt.relu %q : <[t, 1, u, 8], f16> loc("IrregularQ")
  %k0 = smelt.relu %k : <[t, 1, u, 8], f16> loc("IrregularK")
  %qr = smelt.reshape %q0 : <[t, 1, u, 8], f16> -> <[1, 1, t*u, 8], f16>
  %kr = smelt.reshape %k0 : <[t, 1, u, 8], f16> -> <[1, 1, t*u, 8], f16>
  %vr = smelt.reshape %v : <[t, 1, u, 8], f16> -> <[1, 1, t*u, 8], f16>
  %a = smelt.attention %qr, %kr, %vr {scale = 1.250000e-01 : f32} : <[1, 1, t*u, 8], f16>, <[1, 1, t*u, 8], f16>, <[1, 1, t*u, 8], f16> -> <[1, 1, t*u, 8], f16>
  return %a : !smelt.tensor<[1, 1, t*u, 8], f16>
}

// Keys that go into a cache are written there.
// CHECK-LABEL: @cached
// CHECK-COUNT-2: smelt.relu
func.func @cached(%y: !smelt.tensor<[s, 40], f16>, %past: !smelt.tensor<[1, 1, p, 8], f16>, %v: !smelt.tensor<[1, 1, p + s, 8], f16>) -> (!smelt.tensor<[1, 2, s, 8], f16>, !smelt.tensor<[1, 1, p + s, 8], f16>) {
  %q = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s, 40], f16> -> <[s, 16], f16>
  %k = smelt.slice %y starts [#smelt.dim<0>, #smelt.dim<16>] steps [1, 1] : <[s, 40], f16> -> <[s, 8], f16>
  %q0 = smelt.reshape %q : <[s, 16], f16> -> <[s, 2, 8], f16>
  %q1 = smelt.transpose %q0 [1, 0, 2] : <[s, 2, 8], f16> -> <[2, s, 8], f16>
  %q2 = smelt.relu %q1 : <[2, s, 8], f16>
  %qr = smelt.reshape %q2 : <[2, s, 8], f16> -> <[1, 2, s, 8], f16>
  %k0 = smelt.reshape %k : <[s, 8], f16> -> <[s, 1, 8], f16>
  %k1 = smelt.transpose %k0 [1, 0, 2] : <[s, 1, 8], f16> -> <[1, s, 8], f16>
  %k2 = smelt.relu %k1 : <[1, s, 8], f16>
  %kr = smelt.reshape %k2 : <[1, s, 8], f16> -> <[1, 1, s, 8], f16>
  %keys = smelt.concat %past, %kr axis 2 : !smelt.tensor<[1, 1, p, 8], f16>, !smelt.tensor<[1, 1, s, 8], f16> -> <[1, 1, p + s, 8], f16>
  %a = smelt.attention %qr, %keys, %v {scale = 1.250000e-01 : f32} : <[1, 2, s, 8], f16>, <[1, 1, p + s, 8], f16>, <[1, 1, p + s, 8], f16> -> <[1, 2, s, 8], f16>
  return %a, %keys : !smelt.tensor<[1, 2, s, 8], f16>, !smelt.tensor<[1, 1, p + s, 8], f16>
}
