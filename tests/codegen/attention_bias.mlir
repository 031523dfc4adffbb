// RUN: emit-cuda %s | FileCheck %s

// A bias of every score by a fourth map; a softcap leaves no registers for it.
// CHECK: // attention AttentionTmaConfig<128, 2, 2, 2, 1>
// CHECK: TensorMap mapBias
func.func @biased(%q: !smelt.tensor<[b, 16, 512, 128], f16>, %k: !smelt.tensor<[b, 16, 512, 128], f16>, %v: !smelt.tensor<[b, 16, 512, 128], f16>, %bias: !smelt.tensor<[1, 16, 512, 512], f16>) -> !smelt.tensor<[b, 16, 512, 128], f16> {
  %0 = smelt.fusion attention(%q, %k, %v, %bias) : (!smelt.tensor<[b, 16, 512, 128], f16>, !smelt.tensor<[b, 16, 512, 128], f16>, !smelt.tensor<[b, 16, 512, 128], f16>, !smelt.tensor<[1, 16, 512, 512], f16>) -> !smelt.tensor<[b, 16, 512, 128], f16> {
  ^bb0(%x: !smelt.tensor<[b, 16, 512, 128], f16>, %y: !smelt.tensor<[b, 16, 512, 128], f16>, %z: !smelt.tensor<[b, 16, 512, 128], f16>, %w: !smelt.tensor<[1, 16, 512, 512], f16>):
    %1 = smelt.attention %x, %y, %z bias %w : !smelt.tensor<[1, 16, 512, 512], f16> {scale = 1.25e-01 : f32} : <[b, 16, 512, 128], f16>, <[b, 16, 512, 128], f16>, <[b, 16, 512, 128], f16> -> <[b, 16, 512, 128], f16>
    smelt.yield %1 : !smelt.tensor<[b, 16, 512, 128], f16>
  }
  return %0 : !smelt.tensor<[b, 16, 512, 128], f16>
}

// CHECK: // attention AttentionTmaConfig<64, 2, 2, 2, 0>
// CHECK-NOT: mapBias
// CHECK: kSoftcap = 5
func.func @capped(%q: !smelt.tensor<[b, 16, 512, 128], f16>, %k: !smelt.tensor<[b, 16, 512, 128], f16>, %v: !smelt.tensor<[b, 16, 512, 128], f16>, %bias: !smelt.tensor<[1, 16, 512, 512], f16>) -> !smelt.tensor<[b, 16, 512, 128], f16> {
  %0 = smelt.fusion attention(%q, %k, %v, %bias) : (!smelt.tensor<[b, 16, 512, 128], f16>, !smelt.tensor<[b, 16, 512, 128], f16>, !smelt.tensor<[b, 16, 512, 128], f16>, !smelt.tensor<[1, 16, 512, 512], f16>) -> !smelt.tensor<[b, 16, 512, 128], f16> {
  ^bb0(%x: !smelt.tensor<[b, 16, 512, 128], f16>, %y: !smelt.tensor<[b, 16, 512, 128], f16>, %z: !smelt.tensor<[b, 16, 512, 128], f16>, %w: !smelt.tensor<[1, 16, 512, 512], f16>):
    %1 = smelt.attention %x, %y, %z bias %w : !smelt.tensor<[1, 16, 512, 512], f16> {scale = 1.25e-01 : f32, softcap = 5.0 : f32} : <[b, 16, 512, 128], f16>, <[b, 16, 512, 128], f16>, <[b, 16, 512, 128], f16> -> <[b, 16, 512, 128], f16>
    smelt.yield %1 : !smelt.tensor<[b, 16, 512, 128], f16>
  }
  return %0 : !smelt.tensor<[b, 16, 512, 128], f16>
}
