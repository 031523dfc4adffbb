// RUN: emit-cuda %s | FileCheck %s

// Query, key and value are slices of one packed product; heads merge again in the stores.
// CHECK: // for 0 to 131 blocks of 64 queries, at most 128 keys
// CHECK: // attention AttentionConfig<16, 128, 4, 2, 1>
// CHECK: kHeadSize = 64, kValueSize = 64, kVector = 8;
// CHECK: kCausal = false, kHasBias = true, kZeroMaskedRows = true;
// CHECK: const Element *q(int b, int h, int i) const { return in0 +
// CHECK-SAME: b * size_s * 2304
// CHECK: const Element *k(int b, int h, int j) const { return in0 +
// CHECK-SAME: + 768; }
// CHECK: const Element *v(int b, int h, int j) const { return in0 +
// CHECK-SAME: + 1536; }
// CHECK: half *out(int b, int h, int i) const { return out0 +
// CHECK-SAME: h * 64
// CHECK: float bias(int b, int h, int i, int j) const {
// CHECK: convert<float>(in1[b * size_s + j]);
func.func @packed(%qkv: !smelt.tensor<[b, s, 2304], f16>, %mask: !smelt.tensor<[b, 1, 1, s], f16>) -> !smelt.tensor<[b, s, 768], f16> {
  %0 = smelt.fusion attention(%qkv, %mask) : (!smelt.tensor<[b, s, 2304], f16>, !smelt.tensor<[b, 1, 1, s], f16>) -> !smelt.tensor<[b, s, 768], f16> {
  ^bb0(%x: !smelt.tensor<[b, s, 2304], f16>, %m: !smelt.tensor<[b, 1, 1, s], f16>):
    %q0 = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[b, s, 2304], f16> -> <[b, s, 768], f16>
    %k0 = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<768>] steps [1, 1, 1] : <[b, s, 2304], f16> -> <[b, s, 768], f16>
    %v0 = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<1536>] steps [1, 1, 1] : <[b, s, 2304], f16> -> <[b, s, 768], f16>
    %q1 = smelt.reshape %q0 : <[b, s, 768], f16> -> <[b, s, 12, 64], f16>
    %k1 = smelt.reshape %k0 : <[b, s, 768], f16> -> <[b, s, 12, 64], f16>
    %v1 = smelt.reshape %v0 : <[b, s, 768], f16> -> <[b, s, 12, 64], f16>
    %q = smelt.transpose %q1 [0, 2, 1, 3] : <[b, s, 12, 64], f16> -> <[b, 12, s, 64], f16>
    %k = smelt.transpose %k1 [0, 2, 1, 3] : <[b, s, 12, 64], f16> -> <[b, 12, s, 64], f16>
    %v = smelt.transpose %v1 [0, 2, 1, 3] : <[b, s, 12, 64], f16> -> <[b, 12, s, 64], f16>
    %a = smelt.attention %q, %k, %v bias %m : !smelt.tensor<[b, 1, 1, s], f16> {scale = 0.125 : f32, zero_masked_rows} : <[b, 12, s, 64], f16>, <[b, 12, s, 64], f16>, <[b, 12, s, 64], f16> -> <[b, 12, s, 64], f16>
    %t = smelt.transpose %a [0, 2, 1, 3] : <[b, 12, s, 64], f16> -> <[b, s, 12, 64], f16>
    %r = smelt.reshape %t : <[b, s, 12, 64], f16> -> <[b, s, 768], f16>
    smelt.yield %r : !smelt.tensor<[b, s, 768], f16>
  }
  return %0 : !smelt.tensor<[b, s, 768], f16>
}
