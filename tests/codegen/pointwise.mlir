// RUN: emit-cuda %s | FileCheck %s

// All tensors are walked in the same order: lanes run along the element number, whatever the sizes.
// CHECK: // pointwise+add+gelu in vectors of 8
// CHECK-NEXT: grid [ceildiv(floordiv(b*s, 8) + 7, 128), 1, 1]
// CHECK: load<W>(in0 + e, [[A:v[0-9]+]]);
// CHECK: load<W>(in1 + e, [[B:v[0-9]+]]);
// CHECK: float [[C:v[0-9]+]] = [[A]][i] + [[B]][i]; // /layer/Add
// CHECK: approx::gelu([[C]]); // /layer/Gelu
// CHECK: store<W>(out0 + e,
func.func @flat(%x: !smelt.tensor<[b, s], f16>, %y: !smelt.tensor<[b, s], f16>) -> !smelt.tensor<[b, s], f16> {
  %0 = smelt.fusion pointwise(%x, %y) : (!smelt.tensor<[b, s], f16>, !smelt.tensor<[b, s], f16>) -> !smelt.tensor<[b, s], f16> {
  ^bb0(%a: !smelt.tensor<[b, s], f16>, %c: !smelt.tensor<[b, s], f16>):
    %1 = smelt.add %a, %c : <[b, s], f16>, <[b, s], f16> -> <[b, s], f16> loc("/layer/Add")
    %2 = smelt.gelu %1 : <[b, s], f16> loc("/layer/Gelu")
    smelt.yield %2 : !smelt.tensor<[b, s], f16>
  }
  return %0 : !smelt.tensor<[b, s], f16>
}

// A head split and its transposition are address arithmetic; vectors stay within a head.
// CHECK: // pointwise
// CHECK: kWidth = 8
// CHECK: kHasTail = false
// CHECK: const int e2 =
// CHECK: load<W>(in0 + e2 * size_b * 768 + e3 + (e / (size_s * 64)) * 64,
// CHECK: store<W>(out0 + e,
func.func @transpose(%x: !smelt.tensor<[s, b, 768], f16>) -> !smelt.tensor<[b, 12, s, 64], f16> {
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[s, b, 768], f16>) -> !smelt.tensor<[b, 12, s, 64], f16> {
  ^bb0(%a: !smelt.tensor<[s, b, 768], f16>):
    %1 = smelt.reshape %a : <[s, b, 768], f16> -> <[s, b, 12, 64], f16>
    %2 = smelt.transpose %1 [1, 2, 0, 3] : <[s, b, 12, 64], f16> -> <[b, 12, s, 64], f16>
    smelt.yield %2 : !smelt.tensor<[b, 12, s, 64], f16>
  }
  return %0 : !smelt.tensor<[b, 12, s, 64], f16>
}

// An attention mask: 0 where a token counts, the most negative number where it is padding. Casts round.
// CHECK: // pointwise+sub+mul in vectors of 8
// CHECK: convert<float>(convert<half>(
// CHECK: * (-65504.0f)
func.func @mask(%m: !smelt.tensor<[b, s], i64>) -> !smelt.tensor<[b, 1, 1, s], f16> {
  %0 = smelt.fusion pointwise(%m) : (!smelt.tensor<[b, s], i64>) -> !smelt.tensor<[b, 1, 1, s], f16> {
  ^bb0(%a: !smelt.tensor<[b, s], i64>):
    %one = smelt.constant dense<1.0> : tensor<f16> : !smelt.tensor<[], f16>
    %low = smelt.constant dense<-6.550400e+04> : tensor<f16> : !smelt.tensor<[], f16>
    %1 = smelt.reshape %a : <[b, s], i64> -> <[b, 1, 1, s], i64>
    %2 = smelt.cast %1 : <[b, 1, 1, s], i64> -> <[b, 1, 1, s], f16>
    %3 = smelt.sub %one, %2 : <[], f16>, <[b, 1, 1, s], f16> -> <[b, 1, 1, s], f16>
    %4 = smelt.mul %3, %low : <[b, 1, 1, s], f16>, <[], f16> -> <[b, 1, 1, s], f16>
    smelt.yield %4 : !smelt.tensor<[b, 1, 1, s], f16>
  }
  return %0 : !smelt.tensor<[b, 1, 1, s], f16>
}

// A causal mask from positions; an embedding; the class token in front of patches.
// CHECK: // pointwise+less_equal+select in vectors of 1
// CHECK: int64_t(e1) <= int64_t(e0)
// CHECK: ? 0.0f : (-infinity())
// CHECK: // pointwise+gather in vectors of 4
// CHECK: int64_t [[ID:v[0-9]+]] = in0[e / 64];
// CHECK: int [[ROW:g[0-9]+]] = clampIndex([[ID]], 1000);
// CHECK: load<W, Cache::kConstant>(in1 + e2 + [[ROW]] * 64,
// CHECK: // pointwise+concat in vectors of 4
// CHECK: bool [[FIRST:v[0-9]+]] = e1 < 1;
// CHECK: loadIf<W, Cache::kConstant>([[FIRST]], in0 + e2,
// CHECK: loadIf<W>(![[FIRST]], in1 + e0 * 12544 + e1 * 64 + e2 - 64,
func.func @sources(%ids: !smelt.tensor<[b, s], i64>, %p: !smelt.tensor<[b, 196, 64], f32>) -> (!smelt.tensor<[s, s], f32>, !smelt.tensor<[b, s, 64], f32>, !smelt.tensor<[b, 197, 64], f32>) {
  %table = smelt.weight "words" <"w.bin", 0, 128000, ""> : <[1000, 64], f32>
  %class = smelt.weight "class" <"w.bin", 0, 256, ""> : <[1, 1, 64], f32>
  %0 = smelt.fusion pointwise() : () -> !smelt.tensor<[s, s], f32> {
    %zero = smelt.constant dense<0.0> : tensor<f32> : !smelt.tensor<[], f32>
    %inf = smelt.constant dense<0xFF800000> : tensor<f32> : !smelt.tensor<[], f32>
    %j = smelt.iota : !smelt.tensor<[s], i64>
    %i = smelt.reshape %j : <[s], i64> -> <[s, 1], i64>
    %1 = smelt.less_equal %j, %i : <[s], i64>, <[s, 1], i64> -> <[s, s], i1>
    %2 = smelt.select %1, %zero, %inf : <[s, s], i1>, <[], f32>, <[], f32> -> <[s, s], f32>
    smelt.yield %2 : !smelt.tensor<[s, s], f32>
  }
  %4 = smelt.fusion pointwise(%ids, %table) : (!smelt.tensor<[b, s], i64>, !smelt.tensor<[1000, 64], f32>) -> !smelt.tensor<[b, s, 64], f32> {
  ^bb0(%a: !smelt.tensor<[b, s], i64>, %t: !smelt.tensor<[1000, 64], f32>):
    %1 = smelt.gather %t, %a axis 0 : <[1000, 64], f32>, <[b, s], i64> -> <[b, s, 64], f32>
    smelt.yield %1 : !smelt.tensor<[b, s, 64], f32>
  }
  %5 = smelt.fusion pointwise(%class, %p) : (!smelt.tensor<[1, 1, 64], f32>, !smelt.tensor<[b, 196, 64], f32>) -> !smelt.tensor<[b, 197, 64], f32> {
  ^bb0(%c: !smelt.tensor<[1, 1, 64], f32>, %x: !smelt.tensor<[b, 196, 64], f32>):
    %1 = smelt.expand %c : <[1, 1, 64], f32> -> <[b, 1, 64], f32>
    %2 = smelt.concat %1, %x axis 1 : !smelt.tensor<[b, 1, 64], f32>, !smelt.tensor<[b, 196, 64], f32> -> !smelt.tensor<[b, 197, 64], f32>
    smelt.yield %2 : !smelt.tensor<[b, 197, 64], f32>
  }
  return %0, %4, %5 : !smelt.tensor<[s, s], f32>, !smelt.tensor<[b, s, 64], f32>, !smelt.tensor<[b, 197, 64], f32>
}

// Integers are selected by a helper: as minima, negated operands would be at the mercy of ptxas.
// CHECK: // pointwise+neg+less+select
// CHECK: [[NEGATIVE:v[0-9]+]] = int(-v0[i]);
// CHECK: [[LESS:v[0-9]+]] = [[NEGATIVE]] < v0[i];
// CHECK: = choose<int>([[LESS]], [[NEGATIVE]], v0[i]);
func.func @smaller_of_both_signs(%x: !smelt.tensor<[n], i32>) -> !smelt.tensor<[n], i32> {
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[n], i32>) -> !smelt.tensor<[n], i32> {
  ^bb0(%a: !smelt.tensor<[n], i32>):
    %1 = smelt.neg %a : <[n], i32>
    %2 = smelt.less %1, %a : <[n], i32>, <[n], i32> -> <[n], i1>
    %3 = smelt.select %2, %1, %a : <[n], i1>, <[n], i32>, <[n], i32> -> <[n], i32>
    smelt.yield %3 : !smelt.tensor<[n], i32>
  }
  return %0 : !smelt.tensor<[n], i32>
}

// Bytes that are read one by one fill a word where it lies in one row.
// CHECK: // pointwise+neg in vectors of 4
// CHECK: in0[{{.*}} + i
// CHECK: store<W>(out0 + e,
func.func @word_of_row(%x: !smelt.tensor<[b, 4, 6], i8>) -> !smelt.tensor<[b, 6, 4], i8> {
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[b, 4, 6], i8>) -> !smelt.tensor<[b, 6, 4], i8> {
  ^bb0(%a: !smelt.tensor<[b, 4, 6], i8>):
    %1 = smelt.transpose %a [0, 2, 1] : <[b, 4, 6], i8> -> <[b, 6, 4], i8>
    %2 = smelt.neg %1 : <[b, 6, 4], i8>
    smelt.yield %2 : !smelt.tensor<[b, 6, 4], i8>
  }
  return %0 : !smelt.tensor<[b, 6, 4], i8>
}

// Across rows of three they are stored one by one.
// CHECK: // pointwise+neg in vectors of 1
func.func @rows_of_three(%x: !smelt.tensor<[b, 3, 8], i8>) -> !smelt.tensor<[b, 8, 3], i8> {
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[b, 3, 8], i8>) -> !smelt.tensor<[b, 8, 3], i8> {
  ^bb0(%a: !smelt.tensor<[b, 3, 8], i8>):
    %1 = smelt.transpose %a [0, 2, 1] : <[b, 3, 8], i8> -> <[b, 8, 3], i8>
    %2 = smelt.neg %1 : <[b, 8, 3], i8>
    smelt.yield %2 : !smelt.tensor<[b, 8, 3], i8>
  }
  return %0 : !smelt.tensor<[b, 8, 3], i8>
}

// Where no width is whole vectors of all that is read, what is stored still is: channels that come to the end.
// CHECK: // pointwise in vectors of 8
// CHECK: store<W>(out0 + e,
func.func @channels_last(%x: !smelt.tensor<[n, 16, 50, 50], f16>) -> !smelt.tensor<[n, 50, 50, 16], f16> {
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[n, 16, 50, 50], f16>) -> !smelt.tensor<[n, 50, 50, 16], f16> {
  ^bb0(%a: !smelt.tensor<[n, 16, 50, 50], f16>):
    %1 = smelt.transpose %a [0, 2, 3, 1] : <[n, 16, 50, 50], f16> -> <[n, 50, 50, 16], f16>
    smelt.yield %1 : !smelt.tensor<[n, 50, 50, 16], f16>
  }
  return %0 : !smelt.tensor<[n, 50, 50, 16], f16>
}
