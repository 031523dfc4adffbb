// RUN: emit-cuda %s | FileCheck %s

// Many tensors are joined by kernels that each write a part of the result, where it lies.
// CHECK: // pointwise+concat in vectors of 8
// CHECK: half *out0; // [b, 48, 8]
// CHECK: bool [[FIRST:v[0-9]+]] = e1 < 3;
// CHECK: bool [[SECOND:v[0-9]+]] = e1 < 6;
// CHECK: bool [[LAST:v[0-9]+]] = e1 < 45;
// An input is read between the end of the one before it and its own.
// CHECK: loadIf<W>(![[FIRST]] && [[SECOND]], in1 +
// CHECK: loadIf<W>(![[LAST]], in15 +
// CHECK: store<W>(out0 + {{.*}} * 432
// CHECK: // pointwise+concat in vectors of 8
// CHECK: half *out0; // [b, 6, 8]
// CHECK-NOT: in2
// CHECK: store<W>(out0 + {{.*}} * 432
func.func @many(%x0: !smelt.tensor<[b, 3, 8], f16>, %x1: !smelt.tensor<[b, 3, 8], f16>, %x2: !smelt.tensor<[b, 3, 8], f16>, %x3: !smelt.tensor<[b, 3, 8], f16>, %x4: !smelt.tensor<[b, 3, 8], f16>, %x5: !smelt.tensor<[b, 3, 8], f16>, %x6: !smelt.tensor<[b, 3, 8], f16>, %x7: !smelt.tensor<[b, 3, 8], f16>, %x8: !smelt.tensor<[b, 3, 8], f16>, %x9: !smelt.tensor<[b, 3, 8], f16>, %x10: !smelt.tensor<[b, 3, 8], f16>, %x11: !smelt.tensor<[b, 3, 8], f16>, %x12: !smelt.tensor<[b, 3, 8], f16>, %x13: !smelt.tensor<[b, 3, 8], f16>, %x14: !smelt.tensor<[b, 3, 8], f16>, %x15: !smelt.tensor<[b, 3, 8], f16>, %x16: !smelt.tensor<[b, 3, 8], f16>, %x17: !smelt.tensor<[b, 3, 8], f16>) -> !smelt.tensor<[b, 54, 8], f16> {
  %0 = smelt.fusion pointwise(%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11, %x12, %x13, %x14, %x15, %x16, %x17) : (!smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>) -> !smelt.tensor<[b, 54, 8], f16> {
  ^bb0(%a0: !smelt.tensor<[b, 3, 8], f16>, %a1: !smelt.tensor<[b, 3, 8], f16>, %a2: !smelt.tensor<[b, 3, 8], f16>, %a3: !smelt.tensor<[b, 3, 8], f16>, %a4: !smelt.tensor<[b, 3, 8], f16>, %a5: !smelt.tensor<[b, 3, 8], f16>, %a6: !smelt.tensor<[b, 3, 8], f16>, %a7: !smelt.tensor<[b, 3, 8], f16>, %a8: !smelt.tensor<[b, 3, 8], f16>, %a9: !smelt.tensor<[b, 3, 8], f16>, %a10: !smelt.tensor<[b, 3, 8], f16>, %a11: !smelt.tensor<[b, 3, 8], f16>, %a12: !smelt.tensor<[b, 3, 8], f16>, %a13: !smelt.tensor<[b, 3, 8], f16>, %a14: !smelt.tensor<[b, 3, 8], f16>, %a15: !smelt.tensor<[b, 3, 8], f16>, %a16: !smelt.tensor<[b, 3, 8], f16>, %a17: !smelt.tensor<[b, 3, 8], f16>):
    %1 = smelt.concat %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %a13, %a14, %a15, %a16, %a17 axis 1 : !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16>, !smelt.tensor<[b, 3, 8], f16> -> <[b, 54, 8], f16>
    smelt.yield %1 : !smelt.tensor<[b, 54, 8], f16>
  }
  return %0 : !smelt.tensor<[b, 54, 8], f16>
}
