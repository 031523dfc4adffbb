// RUN: smelt-opt %s --smelt-fuse-attention | FileCheck %s

// Views of the packed projection and the merge of heads go inside; the mask's computation stays outside.
// CHECK-LABEL: @packed
// CHECK: %[[MASK:.*]] = smelt.cast %arg1
// CHECK: smelt.fusion attention(%arg0, %[[MASK]])
// CHECK-COUNT-3: smelt.slice
// CHECK: smelt.attention
// CHECK: smelt.transpose
// CHECK: smelt.reshape {{.*}} -> <[b, s, 64], f16>
// CHECK: smelt.yield
// CHECK: return
func.func @packed(%qkv: !smelt.tensor<[b, s, 192], f16>, %mask: !smelt.tensor<[b, 1, 1, s], f32>) -> !smelt.tensor<[b, s, 64], f16> {
  %m = smelt.cast %mask : <[b, 1, 1, s], f32> -> <[b, 1, 1, s], f16>
  %0 = smelt.slice %qkv starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[b, s, 192], f16> -> <[b, s, 64], f16>
  %1 = smelt.slice %qkv starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<64>] steps [1, 1, 1] : <[b, s, 192], f16> -> <[b, s, 64], f16>
  %2 = smelt.slice %qkv starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<128>] steps [1, 1, 1] : <[b, s, 192], f16> -> <[b, s, 64], f16>
  %3 = smelt.reshape %0 : <[b, s, 64], f16> -> <[b, s, 2, 32], f16>
  %4 = smelt.reshape %1 : <[b, s, 64], f16> -> <[b, s, 2, 32], f16>
  %5 = smelt.reshape %2 : <[b, s, 64], f16> -> <[b, s, 2, 32], f16>
  %q = smelt.transpose %3 [0, 2, 1, 3] : <[b, s, 2, 32], f16> -> <[b, 2, s, 32], f16>
  %k = smelt.transpose %4 [0, 2, 1, 3] : <[b, s, 2, 32], f16> -> <[b, 2, s, 32], f16>
  %v = smelt.transpose %5 [0, 2, 1, 3] : <[b, s, 2, 32], f16> -> <[b, 2, s, 32], f16>
  %a = smelt.attention %q, %k, %v bias %m : !smelt.tensor<[b, 1, 1, s], f16> {scale = 1.250000e-01 : f32} : <[b, 2, s, 32], f16>, <[b, 2, s, 32], f16>, <[b, 2, s, 32], f16> -> <[b, 2, s, 32], f16>
  %t = smelt.transpose %a [0, 2, 1, 3] : <[b, 2, s, 32], f16> -> <[b, s, 2, 32], f16>
  %r = smelt.reshape %t : <[b, s, 2, 32], f16> -> <[b, s, 64], f16>
  return %r : !smelt.tensor<[b, s, 64], f16>
}

// Keys whose rows lie in two swapped axes are no constant distance apart: a kernel of its own brings them in order.
// Rows that merge two axes in their order need none.
// CHECK-LABEL: @swapped
// CHECK: %[[KEYS:.*]] = smelt.transpose %arg1 [0, 3, 2, 1, 4]
// CHECK-NEXT: smelt.fusion attention(%[[KEYS]], %arg2, %arg0)
// CHECK: smelt.transpose {{.*}} [0, 3, 1, 2, 4]
// CHECK: return
func.func @swapped(%q: !smelt.tensor<[b, 2, s, 32], f16>, %keys: !smelt.tensor<[b, 7, 7, 2, 32], f16>, %values: !smelt.tensor<[b, 7, 7, 2, 32], f16>) -> !smelt.tensor<[b, 2, s, 32], f16> {
  %0 = smelt.transpose %keys [0, 3, 2, 1, 4] : <[b, 7, 7, 2, 32], f16> -> <[b, 2, 7, 7, 32], f16>
  %k = smelt.reshape %0 : <[b, 2, 7, 7, 32], f16> -> <[b, 2, 49, 32], f16>
  %1 = smelt.transpose %values [0, 3, 1, 2, 4] : <[b, 7, 7, 2, 32], f16> -> <[b, 2, 7, 7, 32], f16>
  %v = smelt.reshape %1 : <[b, 2, 7, 7, 32], f16> -> <[b, 2, 49, 32], f16>
  %a = smelt.attention %q, %k, %v {scale = 1.250000e-01 : f32} : <[b, 2, s, 32], f16>, <[b, 2, 49, 32], f16>, <[b, 2, 49, 32], f16> -> <[b, 2, s, 32], f16>
  return %a : !smelt.tensor<[b, 2, s, 32], f16>
}
