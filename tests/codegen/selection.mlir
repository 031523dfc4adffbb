// RUN: emit-cuda %s | FileCheck %s
// RUN: emit-cuda %s sm_80 --compile | FileCheck %s --check-prefix=COMPILED
// COMPILED-COUNT-3: // compiled, 0 bytes of registers spilled

// Elements are computed as they are read, kept in registers, and compared in float; both results are written.
// CHECK: // selection+sigmoid+top_k 32 threads a row
// CHECK-NEXT: // grid [min(65536, n), 1, 1], block [32]
// CHECK: using Value = float;
// CHECK: static constexpr int kHeld = 3;
// CHECK: static constexpr bool kSmallest = false;
// CHECK: int count() const { return 5; }
// CHECK: element = v{{[0-9]+}};
// CHECK: const int e = row * count() + rank;
// CHECK-NEXT: out0[e] = convert<half>(value);
// CHECK-NEXT: out1[e] = convert<int64_t>(int64_t(position));
func.func @scores(%x: !smelt.tensor<[77, n], f16>) -> (!smelt.tensor<[n, 5], f16>, !smelt.tensor<[n, 5], i64>) {
  %0:2 = smelt.fusion selection(%x) : (!smelt.tensor<[77, n], f16>) -> (!smelt.tensor<[n, 5], f16>, !smelt.tensor<[n, 5], i64>) {
  ^bb0(%a: !smelt.tensor<[77, n], f16>):
    %1 = smelt.transpose %a [1, 0] : <[77, n], f16> -> <[n, 77], f16>
    %2 = smelt.sigmoid %1 : <[n, 77], f16>
    %v, %p = smelt.top_k %2 axis 1 : <[n, 77], f16> -> <[n, 5], f16>, <[n, 5], i64>
    smelt.yield %v, %p : !smelt.tensor<[n, 5], f16>, !smelt.tensor<[n, 5], i64>
  }
  return %0#0, %0#1 : !smelt.tensor<[n, 5], f16>, !smelt.tensor<[n, 5], i64>
}

// Rows of unknown length, and those too long for registers, are read again in each round.
// CHECK: // selection+top_k 256 threads a row
// CHECK: using Value = int64_t;
// CHECK: static constexpr int kHeld = 0;
// CHECK: static constexpr bool kSmallest = true;
// CHECK: out0[e] = convert<int64_t>(int64_t(position));
func.func @positions(%x: !smelt.tensor<[b, n], i64>) -> !smelt.tensor<[b, k], i64> {
  %0 = smelt.fusion selection(%x) : (!smelt.tensor<[b, n], i64>) -> !smelt.tensor<[b, k], i64> {
  ^bb0(%a: !smelt.tensor<[b, n], i64>):
    %v, %p = smelt.top_k %a axis 1 smallest : <[b, n], i64> -> <[b, k], i64>, <[b, k], i64>
    smelt.yield %p : !smelt.tensor<[b, k], i64>
  }
  return %0 : !smelt.tensor<[b, k], i64>
}

// A row and its parts: the coordinate of a concatenation is computed from the column.
// CHECK: // selection+concat+top_k 256 threads a row
func.func @joined(%x: !smelt.tensor<[b, 513], f64>, %y: !smelt.tensor<[b, 600], f64>) -> !smelt.tensor<[b, 8], f64> {
  %0 = smelt.fusion selection(%x, %y) : (!smelt.tensor<[b, 513], f64>, !smelt.tensor<[b, 600], f64>) -> !smelt.tensor<[b, 8], f64> {
  ^bb0(%a: !smelt.tensor<[b, 513], f64>, %c: !smelt.tensor<[b, 600], f64>):
    %1 = smelt.concat %a, %c axis 1 : !smelt.tensor<[b, 513], f64>, !smelt.tensor<[b, 600], f64> -> <[b, 1113], f64>
    %v, %p = smelt.top_k %1 axis 1 : <[b, 1113], f64> -> <[b, 8], f64>, <[b, 8], i64>
    smelt.yield %v : !smelt.tensor<[b, 8], f64>
  }
  return %0 : !smelt.tensor<[b, 8], f64>
}
