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

// One query of each of 32 heads, which share 8 heads of keys: four rows of a block, whose keys as many blocks
// share as the sizes ask for. Of a cache that nothing else reads, rows are found in 64 bits.
// CHECK: // for 12 or more parts of 512 keys
// CHECK: // attention AttentionDecodeConfig<16, 128, 4, 3, 0>
// CHECK: kHeadsOfKeys = 4;
// CHECK: float *parts;
// CHECK: const Element *q(int b, int h, int i) const { return in0 + b * 2048 + h * 64; }
// CHECK: const Element *k(int b, int h, int j) const { return in1 + int64_t(b) * size_t * 512 +
// CHECK-SAME: int64_t(j) * 64
// CHECK: const Element *v(int b, int h, int j) const { return in2 + int64_t(b) * size_t * 512 +
// CHECK: __launch_bounds__(smelt::Config::kThreads, 1) attention_{{.*}}, float *parts) {
// CHECK: smelt::attentionDecode<smelt::Config>(smelt::Problem{{{.*}}, parts}, shared);
// CHECK: // attention rows of parts
// CHECK: __launch_bounds__(smelt::Config::kCombineThreads, 1) attention_{{.*}}, float *parts, int partsOfKeys) {
// CHECK-NEXT: smelt::attentionCombine<smelt::Config>(smelt::Problem{{{.*}}, parts}, partsOfKeys);
// CHECK: // for 0 to 16 heads of keys
// CHECK: // attention AttentionDecodeConfig<16, 128, 4, 3, 8>
// CHECK-NOT: parts
// CHECK: // for 17 to 66 heads of keys
// CHECK: // attention AttentionDecodeConfig<16, 128, 4, 3, 2>
// CHECK: // for 67 or more heads of keys
// CHECK: // attention AttentionDecodeConfig<16, 128, 4, 3, 1>
// CHECK-NOT: AttentionConfig
func.func @decode(%q: !smelt.tensor<[b, 32, 1, 64], f16>, %k: !smelt.tensor<[b, 8, t, 64], f16>, %v: !smelt.tensor<[b, 8, t, 64], f16>) -> !smelt.tensor<[b, 32, 1, 64], f16> {
  %0 = smelt.fusion attention(%q, %k, %v) : (!smelt.tensor<[b, 32, 1, 64], f16>, !smelt.tensor<[b, 8, t, 64], f16>, !smelt.tensor<[b, 8, t, 64], f16>) -> !smelt.tensor<[b, 32, 1, 64], f16> {
  ^bb0(%x: !smelt.tensor<[b, 32, 1, 64], f16>, %y: !smelt.tensor<[b, 8, t, 64], f16>, %z: !smelt.tensor<[b, 8, t, 64], f16>):
    %a = smelt.attention %x, %y, %z {scale = 0.125 : f32} : <[b, 32, 1, 64], f16>, <[b, 8, t, 64], f16>, <[b, 8, t, 64], f16> -> <[b, 32, 1, 64], f16>
    smelt.yield %a : !smelt.tensor<[b, 32, 1, 64], f16>
  }
  return %0 : !smelt.tensor<[b, 32, 1, 64], f16>
}
