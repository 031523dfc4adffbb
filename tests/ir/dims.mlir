// Dimensions are polynomials in one canonical form: two spellings of a size are one type.
// RUN: smelt-opt %s | FileCheck %s

// CHECK: func.func @canonical(%arg0: !smelt.tensor<[batch*seq, 2*seq, -seq + 512], f32>)
func.func @canonical(%x: !smelt.tensor<[seq*batch, seq + seq, 512 - seq], f32>) -> !smelt.tensor<[batch*seq, 2*seq, -seq + 512], f32> {
  return %x : !smelt.tensor<[seq*batch, seq*2, 512 - seq], f32>
}

// CHECK: func.func @calls(%arg0: !smelt.tensor<[seq, seq + 1, floordiv(seq, 2), ceildiv(seq, 2), mod(seq, 7), min(batch, seq), max(1, seq)], f32>)
func.func @calls(%x: !smelt.tensor<[floordiv(seq*4 + 3, 4), floordiv(seq*2 + 2, 2), floordiv(seq, 2), ceildiv(seq, 2), mod(seq, 7), min(seq, batch), max(seq, 1)], f32>) {
  return
}
