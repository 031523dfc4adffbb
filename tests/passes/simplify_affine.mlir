// RUN: smelt-opt %s --smelt-simplify-affine --smelt-simplify-canonical --smelt-simplify-affine --smelt-simplify-canonical | FileCheck %s

// Sizes that a view needs and that nothing proves become guards, with the node's name.
// CHECK: smelt.guards = [#smelt.guard<<s72> less_equal <s43>, "GatherND_31 reads s72 elements of an axis that has s43">

// The padding mask of torch.export: GatherND with the coordinates (batch, key), a test that always holds.
// CHECK-LABEL: func @padding_mask
func.func @padding_mask(%mask: !smelt.tensor<[s43, s53], i64>) -> !smelt.tensor<[s72, 1, s53, s53], i1> {
  %true = smelt.constant dense<true> : tensor<i1> : <[], i1>
  %zero = smelt.constant dense<0> : tensor<i64> : <[], i64>
  %bool = smelt.cast %mask : <[s43, s53], i64> -> <[s43, s53], i1>
  %batches = smelt.iota : <[s72], i64>
  %keys = smelt.iota : <[s53], i64>
  %b = smelt.reshape %batches : <[s72], i64> -> <[s72, 1, 1, 1], i64>
  %q = smelt.reshape %keys : <[s53], i64> -> <[1, 1, s53, 1], i64>
  %k = smelt.reshape %keys : <[s53], i64> -> <[1, 1, 1, s53], i64>
  %ge = smelt.less_equal %zero, %q : <[], i64>, <[1, 1, s53, 1], i64> -> <[1, 1, s53, 1], i1>
  %and = smelt.and %true, %ge : <[], i1>, <[1, 1, s53, 1], i1> -> <[1, 1, s53, 1], i1>
  %be = smelt.expand %b : <[s72, 1, 1, 1], i64> -> <[s72, 1, 1, s53], i64>
  %bu = smelt.reshape %be : <[s72, 1, 1, s53], i64> -> <[s72, 1, 1, s53, 1], i64>
  %ke = smelt.expand %k : <[1, 1, 1, s53], i64> -> <[s72, 1, 1, s53], i64>
  %ku = smelt.reshape %ke : <[s72, 1, 1, s53], i64> -> <[s72, 1, 1, s53, 1], i64>
  %index = smelt.concat %bu, %ku axis 4 : !smelt.tensor<[s72, 1, 1, s53, 1], i64>, !smelt.tensor<[s72, 1, 1, s53, 1], i64> -> <[s72, 1, 1, s53, 2], i64>
  %read = smelt.gather_nd %bool, %index batch_dims 0 : <[s43, s53], i1>, <[s72, 1, 1, s53, 2], i64> -> <[s72, 1, 1, s53], i1> loc("GatherND_31")
  %both = smelt.and %and, %read : <[1, 1, s53, 1], i1>, <[s72, 1, 1, s53], i1> -> <[s72, 1, s53, s53], i1>
  // CHECK-NEXT: %[[SLICE:.*]] = smelt.slice %arg0 starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[s43, s53], i64> -> <[s72, s53], i64>
  // CHECK-NEXT: %[[CAST:.*]] = smelt.cast %[[SLICE]] : <[s72, s53], i64> -> <[s72, s53], i1>
  // CHECK-NEXT: %[[MASK:.*]] = smelt.reshape %[[CAST]] : <[s72, s53], i1> -> <[s72, 1, 1, s53], i1>
  // CHECK-NEXT: smelt.expand %[[MASK]]
  // CHECK-NEXT: return
  return %both : !smelt.tensor<[s72, 1, s53, s53], i1>
}

// The padding mask of TorchScript: a gather from the flattened mask at b*seq + s.
// CHECK-LABEL: func @flattened_mask
func.func @flattened_mask(%mask: !smelt.tensor<[batch, seq], i1>) -> !smelt.tensor<[batch, 1, 1, seq], i1> {
  %seq = smelt.dims [seq] : !smelt.tensor<[1], i64>
  %batches = smelt.iota : <[batch], i64>
  %keys = smelt.iota : <[seq], i64>
  %b = smelt.reshape %batches : <[batch], i64> -> <[batch, 1, 1, 1], i64>
  %k = smelt.reshape %keys : <[seq], i64> -> <[1, 1, 1, seq], i64>
  %row = smelt.mul %b, %seq : <[batch, 1, 1, 1], i64>, <[1], i64> -> <[batch, 1, 1, 1], i64>
  %index = smelt.add %k, %row : <[1, 1, 1, seq], i64>, <[batch, 1, 1, 1], i64> -> <[batch, 1, 1, seq], i64>
  %flat = smelt.reshape %mask : <[batch, seq], i1> -> <[batch*seq, 1], i1>
  %0 = smelt.gather %flat, %index axis 0 : <[batch*seq, 1], i1>, <[batch, 1, 1, seq], i64> -> <[batch, 1, 1, seq, 1], i1>
  %1 = smelt.reshape %0 : <[batch, 1, 1, seq, 1], i1> -> <[batch, 1, 1, seq], i1>
  // CHECK-NEXT: %[[MASK:.*]] = smelt.reshape %arg0 : <[batch, seq], i1> -> <[batch, 1, 1, seq], i1>
  // CHECK-NEXT: return %[[MASK]]
  return %1 : !smelt.tensor<[batch, 1, 1, seq], i1>
}

// GPT-2 looks for packed sequences where positions do not follow each other; here they always do.
// CHECK-LABEL: func @packed_sequences
func.func @packed_sequences() -> !smelt.tensor<[b, 1, s, s], i1> {
  %one = smelt.constant dense<1> : tensor<i64> : <[], i64>
  %iota = smelt.iota : <[s], i64>
  %row = smelt.reshape %iota : <[s], i64> -> <[1, s], i64>
  %positions = smelt.expand %row : <[1, s], i64> -> <[b, s], i64>
  %first = smelt.slice %positions starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[b, s], i64> -> <[b, 1], i64>
  %before = smelt.sub %first, %one : <[b, 1], i64>, <[], i64> -> <[b, 1], i64>
  %all = smelt.concat %before, %positions axis 1 : !smelt.tensor<[b, 1], i64>, !smelt.tensor<[b, s], i64> -> <[b, s + 1], i64>
  %left = smelt.slice %all starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[b, s + 1], i64> -> <[b, s], i64>
  %right = smelt.slice %all starts [#smelt.dim<0>, #smelt.dim<1>] steps [1, 1] : <[b, s + 1], i64> -> <[b, s], i64>
  %difference = smelt.sub %right, %left : <[b, s], i64>, <[b, s], i64> -> <[b, s], i64>
  %follows = smelt.equal %difference, %one : <[b, s], i64>, <[], i64> -> <[b, s], i1>
  %starts = smelt.not %follows : <[b, s], i1>
  %number = smelt.cast %starts : <[b, s], i1> -> <[b, s], i64>
  %sequence = smelt.cumsum %number axis 1 : <[b, s], i64>
  %bi = smelt.iota : <[b], i64>
  %bq = smelt.reshape %bi : <[b], i64> -> <[b, 1, 1, 1, 1], i64>
  %be = smelt.expand %bq : <[b, 1, 1, 1, 1], i64> -> <[b, 1, s, 1, 1], i64>
  %qr = smelt.reshape %iota : <[s], i64> -> <[1, 1, s, 1, 1], i64>
  %qe = smelt.expand %qr : <[1, 1, s, 1, 1], i64> -> <[b, 1, s, 1, 1], i64>
  %index = smelt.concat %be, %qe axis 4 : !smelt.tensor<[b, 1, s, 1, 1], i64>, !smelt.tensor<[b, 1, s, 1, 1], i64> -> <[b, 1, s, 1, 2], i64>
  %sq = smelt.gather_nd %sequence, %index batch_dims 0 : <[b, s], i64>, <[b, 1, s, 1, 2], i64> -> <[b, 1, s, 1], i64>
  %sk = smelt.transpose %sq [0, 1, 3, 2] : <[b, 1, s, 1], i64> -> <[b, 1, 1, s], i64>
  %same = smelt.equal %sq, %sk : <[b, 1, s, 1], i64>, <[b, 1, 1, s], i64> -> <[b, 1, s, s], i1>
  %i = smelt.reshape %iota : <[s], i64> -> <[1, 1, s, 1], i64>
  %j = smelt.reshape %iota : <[s], i64> -> <[1, 1, 1, s], i64>
  %causal = smelt.less_equal %j, %i : <[1, 1, 1, s], i64>, <[1, 1, s, 1], i64> -> <[1, 1, s, s], i1>
  %both = smelt.and %causal, %same : <[1, 1, s, s], i1>, <[b, 1, s, s], i1> -> <[b, 1, s, s], i1>
  // CHECK-NEXT: %[[IOTA:.*]] = smelt.iota
  // CHECK-NEXT: %[[I:.*]] = smelt.reshape %[[IOTA]]
  // CHECK-NEXT: %[[C:.*]] = smelt.less_equal %[[IOTA]], %[[I]]
  // CHECK-NEXT: smelt.expand
  // CHECK-NEXT: return
  return %both : !smelt.tensor<[b, 1, s, s], i1>
}

// Positions from a table of ids read a slice of the embedding; token types from a table of zeros its first row.
// CHECK-LABEL: func @embeddings
func.func @embeddings(%position: !smelt.tensor<[8, 32], f16>, %type: !smelt.tensor<[2, 32], f16>) -> (!smelt.tensor<[1, s, 32], f16>, !smelt.tensor<[b, s, 32], f16>) {
  %ids = smelt.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64> : <[1, 8], i64>
  %zeros = smelt.constant dense<0> : tensor<1x8xi64> : <[1, 8], i64>
  %some = smelt.slice %ids starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[1, 8], i64> -> <[1, s], i64>
  %0 = smelt.gather %position, %some axis 0 : <[8, 32], f16>, <[1, s], i64> -> <[1, s, 32], f16>
  %types = smelt.gather_elements %zeros, %some axis 1 : <[1, 8], i64>, <[1, s], i64> -> <[1, s], i64>
  %wide = smelt.expand %types : <[1, s], i64> -> <[b, s], i64>
  %1 = smelt.gather %type, %wide axis 0 : <[2, 32], f16>, <[b, s], i64> -> <[b, s, 32], f16>
  // CHECK-NEXT: %[[P:.*]] = smelt.slice %arg0 starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[8, 32], f16> -> <[s, 32], f16>
  // CHECK-NEXT: %[[PR:.*]] = smelt.reshape %[[P]] : <[s, 32], f16> -> <[1, s, 32], f16>
  // CHECK-NEXT: %[[T:.*]] = smelt.slice %arg1 starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[2, 32], f16> -> <[1, 32], f16>
  // CHECK: %[[TE:.*]] = smelt.expand
  // CHECK-NEXT: return %[[PR]], %[[TE]]
  return %0, %1 : !smelt.tensor<[1, s, 32], f16>, !smelt.tensor<[b, s, 32], f16>
}

// The last token, and every second one.
// CHECK-LABEL: func @from_the_end
func.func @from_the_end(%x: !smelt.tensor<[b, s, 32], f16>) -> !smelt.tensor<[b, 32], f16> {
  %last = smelt.constant dense<-1> : tensor<i64> : <[], i64>
  // CHECK-NEXT: smelt.slice %arg0 starts [#smelt.dim<0>, #smelt.dim<s - 1>, #smelt.dim<0>]
  // CHECK-NEXT: smelt.reshape
  // CHECK-NEXT: return
  %0 = smelt.gather %x, %last axis 1 : <[b, s, 32], f16>, <[], i64> -> <[b, 32], f16>
  return %0 : !smelt.tensor<[b, 32], f16>
}

// An index that may be negative here and positive there, one that runs along a diagonal, one that is data: they stay.
// CHECK-LABEL: func @no_views
func.func @no_views(%x: !smelt.tensor<[s, s], f16>, %ids: !smelt.tensor<[s], i64>) -> (!smelt.tensor<[s, s], f16>, !smelt.tensor<[s], f16>, !smelt.tensor<[s, s], f16>) {
  %two = smelt.constant dense<-2> : tensor<i64> : <[], i64>
  %iota = smelt.iota : <[s], i64>
  %mixed = smelt.add %iota, %two : <[s], i64>, <[], i64> -> <[s], i64>
  // CHECK: smelt.gather
  %0 = smelt.gather %x, %mixed axis 0 : <[s, s], f16>, <[s], i64> -> <[s, s], f16>
  %column = smelt.reshape %iota : <[s], i64> -> <[s, 1], i64>
  %pairs = smelt.concat %column, %column axis 1 : !smelt.tensor<[s, 1], i64>, !smelt.tensor<[s, 1], i64> -> <[s, 2], i64>
  // CHECK: smelt.gather_nd
  %1 = smelt.gather_nd %x, %pairs batch_dims 0 : <[s, s], f16>, <[s, 2], i64> -> <[s], f16>
  // CHECK: smelt.gather
  %2 = smelt.gather %x, %ids axis 0 : <[s, s], f16>, <[s], i64> -> <[s, s], f16>
  return %0, %1, %2 : !smelt.tensor<[s, s], f16>, !smelt.tensor<[s], f16>, !smelt.tensor<[s, s], f16>
}

// A stored causal mask, sliced to the sequence, is the comparison of positions; also as fills, also with a window's
// diagonal. A table with one element wrong is data.
// CHECK-LABEL: func @stored_masks
func.func @stored_masks(%x: !smelt.tensor<[b, s, s], f32>) -> (!smelt.tensor<[b, s, s], f32>, !smelt.tensor<[b, s, s], f32>, !smelt.tensor<[b, s, s], f32>) {
  %low = smelt.constant dense<-1.0e9> : tensor<f32> : <[], f32>
  %bytes = smelt.constant dense<[[[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]]> : tensor<1x4x4xui8> : <[1, 4, 4], ui8>
  %some = smelt.slice %bytes starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[1, 4, 4], ui8> -> <[1, s, s], ui8>
  %bool = smelt.cast %some : <[1, s, s], ui8> -> <[1, s, s], i1>
  // CHECK: %[[J:.*]] = smelt.iota : <[s], i64>
  // CHECK: %[[I:.*]] = smelt.reshape %[[J]] : <[s], i64> -> <[s, 1], i64>
  // CHECK: %[[V:.*]] = smelt.less_equal %[[J]], %[[I]]
  // CHECK: smelt.select %[[V]], %arg0
  %0 = smelt.select %bool, %x, %low : <[1, s, s], i1>, <[b, s, s], f32>, <[], f32> -> <[b, s, s], f32>
  %fills = smelt.constant dense<[[0.0, 0.0, -1.0e4, -1.0e4], [0.0, 0.0, 0.0, -1.0e4], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32> : <[4, 4], f32>
  %part = smelt.slice %fills starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[4, 4], f32> -> <[s, s], f32>
  // CHECK: %[[NEXT:.*]] = smelt.less_equal
  // CHECK: smelt.select %[[NEXT]]
  %1 = smelt.add %x, %part : <[b, s, s], f32>, <[s, s], f32> -> <[b, s, s], f32>
  // CHECK: smelt.slice %{{.*}} : <[4, 4], f32> -> <[s, s], f32>
  %wrong = smelt.constant dense<[[0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0, 2.0, 0.0, 0.0]]> : tensor<4x4xf32> : <[4, 4], f32>
  %data = smelt.slice %wrong starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[4, 4], f32> -> <[s, s], f32>
  %2 = smelt.add %x, %data : <[b, s, s], f32>, <[s, s], f32> -> <[b, s, s], f32>
  return %0, %1, %2 : !smelt.tensor<[b, s, s], f32>, !smelt.tensor<[b, s, s], f32>, !smelt.tensor<[b, s, s], f32>
}

// Integers that no double holds stay as they are.
// CHECK-LABEL: func @stored_integers
func.func @stored_integers(%x: !smelt.tensor<[s, s], i64>) -> !smelt.tensor<[s, s], i64> {
  // CHECK: smelt.constant dense<{{.*}}9223372036854775807
  // CHECK-NOT: smelt.less_equal
  %large = smelt.constant dense<[[0, 9223372036854775807], [0, 0]]> : tensor<2x2xi64> : <[2, 2], i64>
  %part = smelt.slice %large starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[2, 2], i64> -> <[s, s], i64>
  %0 = smelt.max %x, %part : <[s, s], i64>, <[s, s], i64> -> <[s, s], i64>
  return %0 : !smelt.tensor<[s, s], i64>
}
