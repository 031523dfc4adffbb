// RUN: emit-cuda %s sm_90a | FileCheck %s
// RUN: emit-cuda %s sm_80 | FileCheck %s --check-prefix=STEPS
// RUN: emit-cuda %s sm_90a --compile | FileCheck %s --check-prefix=COMPILED
// RUN: emit-cuda %s sm_80 --compile | FileCheck %s --check-prefix=COMPILED

// COMPILED-COUNT-3: // compiled, 0 bytes of registers spilled

// A cluster an image. Weights are read along the axis in whose direction they lie.
// CHECK: // squeeze_excite+reduce+add+silu+sigmoid+mul 8 blocks an image
// CHECK-NEXT: // grid [8*n, 1, 1], block [512]
// CHECK: kTiling{240, 16, 8, 2}
// CHECK: kScales = true, kWeightsConstant = true;
// CHECK: int pixels() const { return size_h * 14; }
// CHECK: load<W>(in0 + image * size_h * 3360 + channel + pixel * 240
// CHECK: sums[i] += float(
// CHECK: (sum / float(pixels()))
// CHECK: approx::silu(
// CHECK: approx::sigmoid(
// CHECK: gates[i] *
// CHECK: store<W>(out0 +
// CHECK: struct SqueezeWeights {
// CHECK-NEXT: kWidth = 8;
// CHECK-NEXT: kAlongHidden = false;
// CHECK: load<W, Cache::kConstant>(in1 + channel + hidden * 240
// CHECK: struct ExciteWeights {
// CHECK-NEXT: kWidth = 8;
// CHECK-NEXT: kAlongHidden = true;
// CHECK: load<W, Cache::kConstant>(in3 + channel * 16 + hidden
// CHECK: smelt::squeezeExcite(smelt::Problem{in0, in1, in2, in3, out0, size_h}, shared);

// Without clusters: two kernels, and what blocks add to the hidden values between them.
// STEPS: // squeeze_excite+reduce+add+silu+sigmoid+mul 8 blocks an image, to its hidden values
// STEPS: smelt::squeezeParts(smelt::Problem{in0, in1, in2, in3, out0, size_h}, parts, shared);
// STEPS: // squeeze_excite+reduce+add+silu+sigmoid+mul 8 blocks an image, from its hidden values
// STEPS: smelt::exciteParts(smelt::Problem{in0, in1, in2, in3, out0, size_h}, parts, shared);
func.func @scaled(%x: !smelt.tensor<[n, h, 14, 240], f16>) -> !smelt.tensor<[n, h, 14, 240], f16> {
  %s = smelt.weight "s" <"w.bin", 0, 7680, ""> : <[16, 240], f16>
  %sb = smelt.weight "sb" <"w.bin", 7680, 32, ""> : <[16], f16>
  %e = smelt.weight "e" <"w.bin", 7712, 7680, ""> : <[240, 16], f16>
  %0 = smelt.fusion squeeze_excite(%x, %s, %sb, %e) : (!smelt.tensor<[n, h, 14, 240], f16>, !smelt.tensor<[16, 240], f16>, !smelt.tensor<[16], f16>, !smelt.tensor<[240, 16], f16>) -> !smelt.tensor<[n, h, 14, 240], f16> {
  ^bb0(%a: !smelt.tensor<[n, h, 14, 240], f16>, %ws: !smelt.tensor<[16, 240], f16>, %b: !smelt.tensor<[16], f16>, %we: !smelt.tensor<[240, 16], f16>):
    %1 = smelt.reduce mean %a axes [1, 2] : <[n, h, 14, 240], f16> -> <[n, 1, 1, 240], f16>
    %2 = smelt.transpose %ws [1, 0] : <[16, 240], f16> -> <[240, 16], f16>
    %3 = smelt.matmul %1, %2 : <[n, 1, 1, 240], f16>, <[240, 16], f16> -> <[n, 1, 1, 16], f16>
    %4 = smelt.add %3, %b : <[n, 1, 1, 16], f16>, <[16], f16> -> <[n, 1, 1, 16], f16>
    %5 = smelt.silu %4 : <[n, 1, 1, 16], f16>
    %6 = smelt.transpose %we [1, 0] : <[240, 16], f16> -> <[16, 240], f16>
    %7 = smelt.matmul %5, %6 : <[n, 1, 1, 16], f16>, <[16, 240], f16> -> <[n, 1, 1, 240], f16>
    %8 = smelt.sigmoid %7 : <[n, 1, 1, 240], f16>
    %9 = smelt.mul %8, %a : <[n, 1, 1, 240], f16>, <[n, h, 14, 240], f16> -> <[n, h, 14, 240], f16>
    smelt.yield %9 : !smelt.tensor<[n, h, 14, 240], f16>
  }
  return %0 : !smelt.tensor<[n, h, 14, 240], f16>
}

// The gates alone, in float; the number of channels has no vectors.
// CHECK: // squeeze_excite+reduce+relu+sigmoid 8 blocks an image
// CHECK: kTiling{77, 13, 1, 4}
// CHECK: kScales = false
// CHECK: void storeGate(
// CHECK: store<W>(out0 +
func.func @gates(%x: !smelt.tensor<[n, 5, 5, 77], f32>) -> !smelt.tensor<[n, 1, 1, 77], f32> {
  %s = smelt.weight "s" <"w.bin", 0, 4004, ""> : <[77, 13], f32>
  %e = smelt.weight "e" <"w.bin", 4004, 4004, ""> : <[13, 77], f32>
  %0 = smelt.fusion squeeze_excite(%x, %s, %e) : (!smelt.tensor<[n, 5, 5, 77], f32>, !smelt.tensor<[77, 13], f32>, !smelt.tensor<[13, 77], f32>) -> !smelt.tensor<[n, 1, 1, 77], f32> {
  ^bb0(%a: !smelt.tensor<[n, 5, 5, 77], f32>, %ws: !smelt.tensor<[77, 13], f32>, %we: !smelt.tensor<[13, 77], f32>):
    %1 = smelt.reduce sum %a axes [1, 2] : <[n, 5, 5, 77], f32> -> <[n, 1, 1, 77], f32>
    %2 = smelt.matmul %1, %ws : <[n, 1, 1, 77], f32>, <[77, 13], f32> -> <[n, 1, 1, 13], f32>
    %3 = smelt.relu %2 : <[n, 1, 1, 13], f32>
    %4 = smelt.matmul %3, %we : <[n, 1, 1, 13], f32>, <[13, 77], f32> -> <[n, 1, 1, 77], f32>
    %5 = smelt.sigmoid %4 : <[n, 1, 1, 77], f32>
    smelt.yield %5 : !smelt.tensor<[n, 1, 1, 77], f32>
  }
  return %0 : !smelt.tensor<[n, 1, 1, 77], f32>
}

// Sizes of a strided convolution's result are quotients.
// CHECK: // squeeze_excite+reduce+relu+sigmoid 8 blocks an image
// CHECK: int pixels() const { return (divideFloor(size_h - 1, 2)) * 5 + 5; }
func.func @strided(%x: !smelt.tensor<[n, floordiv(h + -1, 2) + 1, 5, 64], f16>) -> !smelt.tensor<[n, 1, 1, 64], f16> {
  %s = smelt.weight "s" <"w.bin", 0, 512, ""> : <[64, 4], f16>
  %e = smelt.weight "e" <"w.bin", 512, 512, ""> : <[4, 64], f16>
  %0 = smelt.fusion squeeze_excite(%x, %s, %e) : (!smelt.tensor<[n, floordiv(h + -1, 2) + 1, 5, 64], f16>, !smelt.tensor<[64, 4], f16>, !smelt.tensor<[4, 64], f16>) -> !smelt.tensor<[n, 1, 1, 64], f16> {
  ^bb0(%a: !smelt.tensor<[n, floordiv(h + -1, 2) + 1, 5, 64], f16>, %ws: !smelt.tensor<[64, 4], f16>, %we: !smelt.tensor<[4, 64], f16>):
    %1 = smelt.reduce mean %a axes [1, 2] : <[n, floordiv(h + -1, 2) + 1, 5, 64], f16> -> <[n, 1, 1, 64], f16>
    %2 = smelt.matmul %1, %ws : <[n, 1, 1, 64], f16>, <[64, 4], f16> -> <[n, 1, 1, 4], f16>
    %3 = smelt.relu %2 : <[n, 1, 1, 4], f16>
    %4 = smelt.matmul %3, %we : <[n, 1, 1, 4], f16>, <[4, 64], f16> -> <[n, 1, 1, 64], f16>
    %5 = smelt.sigmoid %4 : <[n, 1, 1, 64], f16>
    smelt.yield %5 : !smelt.tensor<[n, 1, 1, 64], f16>
  }
  return %0 : !smelt.tensor<[n, 1, 1, 64], f16>
}
