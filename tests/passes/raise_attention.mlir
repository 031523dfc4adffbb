// RUN: smelt-opt %s --smelt-simplify-canonical --smelt-raise-attention --smelt-simplify-canonical | FileCheck %s

// Each raise leaves a remark; each refusal says which check failed.
// CHECK: module attributes {smelt.remarks = [
// CHECK-SAME: #smelt.remark<taken "attention" of "Output" by "", "scale, bias [b, 1, 1, s], masked rows are zero">
// CHECK-SAME: #smelt.remark<refused "attention" of "Large" by "a kernel template takes its heads", "sizes 320 and 320 of f16, where at most 256 of f16, bf16 or f32 is taken">
// CHECK-SAME: #smelt.remark<refused "attention" of "Read" by "its result is read once, by a product with values", "3 ops read it">
// CHECK-SAME: #smelt.remark<refused "attention" of "Filled" by "a mask's fill lies below every score", "-10000 in place of scores, where at most -30000 is sure">
// CHECK-SAME: #smelt.remark<refused "attention" of "Added" by "nothing is added to masked scores", "a sum after masks of -6.55E+04">
// CHECK-SAME: #smelt.remark<refused "attention" of "Summed" by "scores are masked once", "a sum that masks, then a select">
// CHECK-SAME: #smelt.remark<refused "attention" of "Fills" by "masks of one attention have one fill", "-3.00E+04 and -1.00E+09">
// CHECK-SAME: #smelt.remark<refused "attention" of "Scaled" by "a scaled mask still masks", "a factor of 4.00 after masks of -1.00E+09">
// CHECK-SAME: #smelt.remark<refused "attention" of "Gated" by "its input is a product with scale, cap and mask", "it comes from smelt.add">

// torch: the root of the scale on both sides, an additive mask, a guard for rows without a visible key.
// CHECK-LABEL: func @torch
func.func @torch(%q: !smelt.tensor<[b, 4, s, 8], f16>, %k: !smelt.tensor<[b, 4, s, 8], f16>, %v: !smelt.tensor<[b, 4, s, 8], f16>, %mask: !smelt.tensor<[b, s], i1>) -> !smelt.tensor<[b, 4, s, 8], f16> {
  %root = smelt.constant dense<0.5> : tensor<f16> : <[], f16>
  %zero = smelt.constant dense<0.0> : tensor<f16> : <[], f16>
  %inf = smelt.constant dense<0xFC00> : tensor<f16> : <[], f16>
  %kt = smelt.transpose %k [0, 1, 3, 2] : <[b, 4, s, 8], f16> -> <[b, 4, 8, s], f16>
  %qs = smelt.mul %q, %root : <[b, 4, s, 8], f16>, <[], f16> -> <[b, 4, s, 8], f16>
  %ks = smelt.mul %kt, %root : <[b, 4, 8, s], f16>, <[], f16> -> <[b, 4, 8, s], f16>
  %scores = smelt.matmul %qs, %ks : <[b, 4, s, 8], f16>, <[b, 4, 8, s], f16> -> <[b, 4, s, s], f16>
  %rows = smelt.reshape %mask : <[b, s], i1> -> <[b, 1, 1, s], i1>
  %wide = smelt.expand %rows : <[b, 1, 1, s], i1> -> <[b, 1, s, s], i1>
  %bias = smelt.select %wide, %zero, %inf : <[b, 1, s, s], i1>, <[], f16>, <[], f16> -> <[b, 1, s, s], f16>
  %masked = smelt.add %scores, %bias : <[b, 4, s, s], f16>, <[b, 1, s, s], f16> -> <[b, 4, s, s], f16>
  %p = smelt.softmax %masked axis 3 : <[b, 4, s, s], f16>
  %nan = smelt.is_nan %p : <[b, 4, s, s], f16> -> <[b, 4, s, s], i1>
  %guarded = smelt.select %nan, %zero, %p : <[b, 4, s, s], i1>, <[], f16>, <[b, 4, s, s], f16> -> <[b, 4, s, s], f16>
  %y = smelt.matmul %guarded, %v : <[b, 4, s, s], f16>, <[b, 4, s, 8], f16> -> <[b, 4, s, 8], f16> loc("Output")
  // CHECK: %[[BIAS:.*]] = smelt.reshape %{{.*}} : <[b, s], f16> -> <[b, 1, 1, s], f16>
  // CHECK-NEXT: smelt.attention %arg0, %arg1, %arg2 bias %[[BIAS]] : {{.*}} {scale = 2.500000e-01 : f32, zero_masked_rows}
  // CHECK-NEXT: return
  return %y : !smelt.tensor<[b, 4, s, 8], f16>
}

// DistilBERT: Q divided before the product, a fill of the lowest half in place of masked scores. Rows that are masked
// everywhere average over all keys, so that the fill must swallow the score.
// CHECK-LABEL: func @select_mask
func.func @select_mask(%q: !smelt.tensor<[b, 4, s, 8], f16>, %kt: !smelt.tensor<[b, 4, 8, s], f16>, %v: !smelt.tensor<[b, 4, s, 8], f16>, %mask: !smelt.tensor<[b, s], i64>) -> !smelt.tensor<[b, 4, s, 8], f16> {
  %divisor = smelt.constant dense<2.828125> : tensor<f16> : <[], f16>
  %zero = smelt.constant dense<0> : tensor<i64> : <[], i64>
  %fill = smelt.constant dense<-65504.0> : tensor<f16> : <[], f16>
  %qs = smelt.div %q, %divisor : <[b, 4, s, 8], f16>, <[], f16> -> <[b, 4, s, 8], f16>
  %scores = smelt.matmul %qs, %kt : <[b, 4, s, 8], f16>, <[b, 4, 8, s], f16> -> <[b, 4, s, s], f16>
  %hidden = smelt.equal %mask, %zero : <[b, s], i64>, <[], i64> -> <[b, s], i1>
  %rows = smelt.reshape %hidden : <[b, s], i1> -> <[b, 1, 1, s], i1>
  %wide = smelt.expand %rows : <[b, 1, 1, s], i1> -> <[b, 4, s, s], i1>
  %masked = smelt.select %wide, %fill, %scores : <[b, 4, s, s], i1>, <[], f16>, <[b, 4, s, s], f16> -> <[b, 4, s, s], f16>
  %p = smelt.softmax %masked axis 3 : <[b, 4, s, s], f16>
  %y = smelt.matmul %p, %v : <[b, 4, s, s], f16>, <[b, 4, s, 8], f16> -> <[b, 4, s, 8], f16>
  // CHECK: smelt.constant dense<-9.99999968E+37> : tensor<f32>
  // CHECK: smelt.attention %arg0, %{{.*}}, %arg2 bias %{{.*}} : !smelt.tensor<[b, 1, 1, s], f32> {scale = {{[0-9.]*}} : f32}
  return %y : !smelt.tensor<[b, 4, s, 8], f16>
}

// GPT-2: a mask of positions alone is the causal flag.
// CHECK-LABEL: func @causal
func.func @causal(%q: !smelt.tensor<[b, 4, s, 8], f32>, %kt: !smelt.tensor<[b, 4, 8, s], f32>, %v: !smelt.tensor<[b, 4, s, 8], f32>) -> !smelt.tensor<[b, 4, s, 8], f32> {
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %fill = smelt.constant dense<-3.40282347E+38> : tensor<f32> : <[], f32>
  %iota = smelt.iota : <[s], i64>
  %i = smelt.reshape %iota : <[s], i64> -> <[s, 1], i64>
  %visible = smelt.less_equal %iota, %i : <[s], i64>, <[s, 1], i64> -> <[s, s], i1>
  %bias = smelt.select %visible, %zero, %fill : <[s, s], i1>, <[], f32>, <[], f32> -> <[s, s], f32>
  %scores = smelt.matmul %q, %kt : <[b, 4, s, 8], f32>, <[b, 4, 8, s], f32> -> <[b, 4, s, s], f32>
  %masked = smelt.add %scores, %bias : <[b, 4, s, s], f32>, <[s, s], f32> -> <[b, 4, s, s], f32>
  %p = smelt.softmax %masked axis 3 : <[b, 4, s, s], f32>
  %y = smelt.matmul %p, %v : <[b, 4, s, s], f32>, <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  // CHECK-NEXT: %[[K:.*]] = smelt.transpose %arg1 [0, 1, 3, 2]
  // CHECK-NEXT: smelt.attention %arg0, %[[K]], %arg2 {causal, scale = 1.000000e+00 : f32}
  return %y : !smelt.tensor<[b, 4, s, 8], f32>
}

// One batch, whose axis is gone from the scores and from the mask of four axes.
// CHECK-LABEL: func @causal_one_batch
func.func @causal_one_batch(%q: !smelt.tensor<[4, 16, 8], f32>, %kt: !smelt.tensor<[4, 8, 16], f32>, %v: !smelt.tensor<[4, 16, 8], f32>) -> !smelt.tensor<[4, 16, 8], f32> {
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %fill = smelt.constant dense<-3.40282347E+38> : tensor<f32> : <[], f32>
  %iota = smelt.iota : <[16], i64>
  %i = smelt.reshape %iota : <[16], i64> -> <[1, 1, 16, 1], i64>
  %visible = smelt.less_equal %iota, %i : <[16], i64>, <[1, 1, 16, 1], i64> -> <[1, 1, 16, 16], i1>
  %mask = smelt.select %visible, %zero, %fill : <[1, 1, 16, 16], i1>, <[], f32>, <[], f32> -> <[1, 1, 16, 16], f32>
  %bias = smelt.reshape %mask : <[1, 1, 16, 16], f32> -> <[1, 16, 16], f32>
  %scores = smelt.matmul %q, %kt : <[4, 16, 8], f32>, <[4, 8, 16], f32> -> <[4, 16, 16], f32>
  %masked = smelt.add %scores, %bias : <[4, 16, 16], f32>, <[1, 16, 16], f32> -> <[4, 16, 16], f32>
  %p = smelt.softmax %masked axis 2 : <[4, 16, 16], f32>
  %y = smelt.matmul %p, %v : <[4, 16, 16], f32>, <[4, 16, 8], f32> -> <[4, 16, 8], f32>
  // CHECK: smelt.attention %{{.*}}, %{{.*}}, %{{[0-9]+}} {causal, scale = 1.000000e+00 : f32}
  return %y : !smelt.tensor<[4, 16, 8], f32>
}

// One head of one batch.
// CHECK-LABEL: func @one_head_one_batch
func.func @one_head_one_batch(%q: !smelt.tensor<[1, 1, 7, 16], f32>, %k: !smelt.tensor<[1, 1, 10, 16], f32>, %v: !smelt.tensor<[1, 1, 10, 16], f32>) -> !smelt.tensor<[1, 1, 7, 16], f32> {
  %kt = smelt.transpose %k [0, 1, 3, 2] : <[1, 1, 10, 16], f32> -> <[1, 1, 16, 10], f32>
  %scores = smelt.matmul %q, %kt : <[1, 1, 7, 16], f32>, <[1, 1, 16, 10], f32> -> <[1, 1, 7, 10], f32>
  %p = smelt.softmax %scores axis 3 : <[1, 1, 7, 10], f32>
  %y = smelt.matmul %p, %v : <[1, 1, 7, 10], f32>, <[1, 1, 10, 16], f32> -> <[1, 1, 7, 16], f32>
  // CHECK-NEXT: smelt.attention %arg0, %arg1, %arg2
  // CHECK-NEXT: return
  return %y : !smelt.tensor<[1, 1, 7, 16], f32>
}

// The same mask added to the scores of merged batches and heads, whose number is open.
// CHECK-LABEL: func @masked_merged
func.func @masked_merged(%q: !smelt.tensor<[n, 16, 8], f32>, %kt: !smelt.tensor<[n, 8, 16], f32>, %v: !smelt.tensor<[n, 16, 8], f32>, %mask: !smelt.tensor<[1, 1, 16, 16], f32>) -> !smelt.tensor<[n, 16, 8], f32> {
  %bias = smelt.reshape %mask : <[1, 1, 16, 16], f32> -> <[1, 16, 16], f32>
  %scores = smelt.matmul %q, %kt : <[n, 16, 8], f32>, <[n, 8, 16], f32> -> <[n, 16, 16], f32>
  %masked = smelt.add %scores, %bias : <[n, 16, 16], f32>, <[1, 16, 16], f32> -> <[n, 16, 16], f32>
  %p = smelt.softmax %masked axis 2 : <[n, 16, 16], f32>
  %y = smelt.matmul %p, %v : <[n, 16, 16], f32>, <[n, 16, 8], f32> -> <[n, 16, 8], f32>
  // CHECK: smelt.attention {{.*}} bias %arg3
  return %y : !smelt.tensor<[n, 16, 8], f32>
}

// Keys from a cache: query i stands at i + t - s. The padding mask is what is left of the mask.
// CHECK-LABEL: func @causal_and_padding
func.func @causal_and_padding(%q: !smelt.tensor<[b, 4, s, 8], f32>, %kt: !smelt.tensor<[b, 4, 8, t], f32>, %v: !smelt.tensor<[b, 4, t, 8], f32>, %mask: !smelt.tensor<[b, 1, 1, t], i1>) -> !smelt.tensor<[b, 4, s, 8], f32> {
  %inf = smelt.constant dense<0xFF800000> : tensor<f32> : <[], f32>
  %past = smelt.dims [t - s] : !smelt.tensor<[], i64>
  %is = smelt.iota : <[s], i64>
  %js = smelt.iota : <[t], i64>
  %shifted = smelt.add %is, %past : <[s], i64>, <[], i64> -> <[s], i64>
  %i = smelt.reshape %shifted : <[s], i64> -> <[s, 1], i64>
  %hidden = smelt.less %i, %js : <[s, 1], i64>, <[t], i64> -> <[s, t], i1>
  %visible = smelt.not %hidden : <[s, t], i1>
  %both = smelt.and %visible, %mask : <[s, t], i1>, <[b, 1, 1, t], i1> -> <[b, 1, s, t], i1>
  %scores = smelt.matmul %q, %kt : <[b, 4, s, 8], f32>, <[b, 4, 8, t], f32> -> <[b, 4, s, t], f32>
  %masked = smelt.select %both, %scores, %inf : <[b, 1, s, t], i1>, <[b, 4, s, t], f32>, <[], f32> -> <[b, 4, s, t], f32>
  %p = smelt.softmax %masked axis 3 : <[b, 4, s, t], f32>
  %y = smelt.matmul %p, %v : <[b, 4, s, t], f32>, <[b, 4, t, 8], f32> -> <[b, 4, s, 8], f32>
  // CHECK: %[[BIAS:.*]] = smelt.select %arg3
  // CHECK: smelt.attention %arg0, %{{.*}}, %arg2 bias %[[BIAS]] : !smelt.tensor<[b, 1, 1, t], f32> {causal, scale = 1.000000e+00 : f32}
  return %y : !smelt.tensor<[b, 4, s, 8], f32>
}

// Gemma: a soft cap between scale and mask, keys and values repeated for their groups.
// CHECK-LABEL: func @grouped_and_capped
func.func @grouped_and_capped(%q: !smelt.tensor<[b, 4, s, 8], f32>, %k: !smelt.tensor<[b, 2, s, 8], f32>, %v: !smelt.tensor<[b, 2, s, 8], f32>, %bias: !smelt.tensor<[b, 1, s, s], f32>) -> !smelt.tensor<[b, 4, s, 8], f32> {
  %scale = smelt.constant dense<0.25> : tensor<f32> : <[], f32>
  %cap = smelt.constant dense<50.0> : tensor<f32> : <[], f32>
  %k0 = smelt.reshape %k : <[b, 2, s, 8], f32> -> <[b, 2, 1, s, 8], f32>
  %k1 = smelt.expand %k0 : <[b, 2, 1, s, 8], f32> -> <[b, 2, 2, s, 8], f32>
  %k2 = smelt.reshape %k1 : <[b, 2, 2, s, 8], f32> -> <[b, 4, s, 8], f32>
  %v0 = smelt.reshape %v : <[b, 2, s, 8], f32> -> <[b, 2, 1, s, 8], f32>
  %v1 = smelt.expand %v0 : <[b, 2, 1, s, 8], f32> -> <[b, 2, 2, s, 8], f32>
  %v2 = smelt.reshape %v1 : <[b, 2, 2, s, 8], f32> -> <[b, 4, s, 8], f32>
  %kt = smelt.transpose %k2 [0, 1, 3, 2] : <[b, 4, s, 8], f32> -> <[b, 4, 8, s], f32>
  %scores = smelt.matmul %q, %kt : <[b, 4, s, 8], f32>, <[b, 4, 8, s], f32> -> <[b, 4, s, s], f32>
  %scaled = smelt.mul %scores, %scale : <[b, 4, s, s], f32>, <[], f32> -> <[b, 4, s, s], f32>
  %small = smelt.div %scaled, %cap : <[b, 4, s, s], f32>, <[], f32> -> <[b, 4, s, s], f32>
  %tanh = smelt.tanh %small : <[b, 4, s, s], f32>
  %capped = smelt.mul %tanh, %cap : <[b, 4, s, s], f32>, <[], f32> -> <[b, 4, s, s], f32>
  %masked = smelt.add %bias, %capped : <[b, 1, s, s], f32>, <[b, 4, s, s], f32> -> <[b, 4, s, s], f32>
  %p = smelt.softmax %masked axis 3 : <[b, 4, s, s], f32>
  %y = smelt.matmul %p, %v2 : <[b, 4, s, s], f32>, <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  // CHECK-NEXT: smelt.attention %arg0, %arg1, %arg2 bias %arg3 : !smelt.tensor<[b, 1, s, s], f32> {scale = 2.500000e-01 : f32, softcap = 5.000000e+01 : f32}
  // CHECK-NEXT: return
  return %y : !smelt.tensor<[b, 4, s, 8], f32>
}

// One head in three axes; softmax in fp32 between casts.
// CHECK-LABEL: func @one_head
func.func @one_head(%q: !smelt.tensor<[b, s, 8], f16>, %k: !smelt.tensor<[b, s, 8], f16>, %v: !smelt.tensor<[b, s, 8], f16>) -> !smelt.tensor<[b, s, 8], f16> {
  %scale = smelt.constant dense<0.25> : tensor<f16> : <[], f16>
  %kt = smelt.transpose %k [0, 2, 1] : <[b, s, 8], f16> -> <[b, 8, s], f16>
  %scores = smelt.matmul %q, %kt : <[b, s, 8], f16>, <[b, 8, s], f16> -> <[b, s, s], f16>
  %scaled = smelt.mul %scores, %scale : <[b, s, s], f16>, <[], f16> -> <[b, s, s], f16>
  %wide = smelt.cast %scaled : <[b, s, s], f16> -> <[b, s, s], f32>
  %p = smelt.softmax %wide axis 2 : <[b, s, s], f32>
  %narrow = smelt.cast %p : <[b, s, s], f32> -> <[b, s, s], f16>
  %y = smelt.matmul %narrow, %v : <[b, s, s], f16>, <[b, s, 8], f16> -> <[b, s, 8], f16>
  // CHECK: %[[Y:.*]] = smelt.attention %{{.*}} {scale = 2.500000e-01 : f32} : <[b, 1, s, 8], f16>
  // CHECK-NEXT: smelt.reshape %[[Y]]
  return %y : !smelt.tensor<[b, s, 8], f16>
}

// One head in four axes, with a mask as large as the scores, causal and padding.
// CHECK-LABEL: func @one_head_masked
func.func @one_head_masked(%q: !smelt.tensor<[b, s, 8], f32>, %k: !smelt.tensor<[b, s, 8], f32>, %v: !smelt.tensor<[b, s, 8], f32>, %padding: !smelt.tensor<[b, s], i1>) -> !smelt.tensor<[b, s, 8], f32> {
  %inf = smelt.constant dense<0xFF800000> : tensor<f32> : <[], f32>
  %q4 = smelt.reshape %q : <[b, s, 8], f32> -> <[b, 1, s, 8], f32>
  %k4 = smelt.reshape %k : <[b, s, 8], f32> -> <[b, 1, s, 8], f32>
  %v4 = smelt.reshape %v : <[b, s, 8], f32> -> <[b, 1, s, 8], f32>
  %kt = smelt.transpose %k4 [0, 1, 3, 2] : <[b, 1, s, 8], f32> -> <[b, 1, 8, s], f32>
  %scores = smelt.matmul %q4, %kt : <[b, 1, s, 8], f32>, <[b, 1, 8, s], f32> -> <[b, 1, s, s], f32>
  %j = smelt.iota : <[s], i64>
  %i = smelt.reshape %j : <[s], i64> -> <[s, 1], i64>
  %causal = smelt.less_equal %j, %i : <[s], i64>, <[s, 1], i64> -> <[s, s], i1>
  %rows = smelt.reshape %padding : <[b, s], i1> -> <[b, 1, 1, s], i1>
  %both = smelt.and %causal, %rows : <[s, s], i1>, <[b, 1, 1, s], i1> -> <[b, 1, s, s], i1>
  %masked = smelt.select %both, %scores, %inf : <[b, 1, s, s], i1>, <[b, 1, s, s], f32>, <[], f32> -> <[b, 1, s, s], f32>
  %p = smelt.softmax %masked axis 3 : <[b, 1, s, s], f32>
  %y = smelt.matmul %p, %v4 : <[b, 1, s, s], f32>, <[b, 1, s, 8], f32> -> <[b, 1, s, 8], f32>
  %flat = smelt.reshape %y : <[b, 1, s, 8], f32> -> <[b, s, 8], f32>
  // CHECK: %[[BIAS:.*]] = smelt.reshape %{{.*}} : <[b, s], f32> -> <[b, 1, 1, s], f32>
  // CHECK: smelt.attention {{.*}} bias %[[BIAS]] : {{.*}} {causal
  return %flat : !smelt.tensor<[b, s, 8], f32>
}

// timm: Q, K and V stacked in one projection, an axis of size 1 left of the stack.
// CHECK-LABEL: func @stacked
func.func @stacked(%qkv: !smelt.tensor<[b, 33, 96], f32>, %mask: !smelt.tensor<[4, 33, 33], f32>) -> !smelt.tensor<[b, 33, 32], f32> {
  %split = smelt.reshape %qkv : <[b, 33, 96], f32> -> <[b, 33, 3, 4, 8], f32>
  %stack = smelt.transpose %split [2, 0, 3, 1, 4] : <[b, 33, 3, 4, 8], f32> -> <[3, b, 4, 33, 8], f32>
  %q1 = smelt.slice %stack starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1, 1] : <[3, b, 4, 33, 8], f32> -> <[1, b, 4, 33, 8], f32>
  %k1 = smelt.slice %stack starts [#smelt.dim<1>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1, 1] : <[3, b, 4, 33, 8], f32> -> <[1, b, 4, 33, 8], f32>
  %v1 = smelt.slice %stack starts [#smelt.dim<2>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1, 1] : <[3, b, 4, 33, 8], f32> -> <[1, b, 4, 33, 8], f32>
  %q = smelt.reshape %q1 : <[1, b, 4, 33, 8], f32> -> <[b, 4, 33, 8], f32>
  %k = smelt.reshape %k1 : <[1, b, 4, 33, 8], f32> -> <[b, 4, 33, 8], f32>
  %v = smelt.reshape %v1 : <[1, b, 4, 33, 8], f32> -> <[b, 4, 33, 8], f32>
  %kt = smelt.transpose %k [0, 1, 3, 2] : <[b, 4, 33, 8], f32> -> <[b, 4, 8, 33], f32>
  %scores = smelt.matmul %q, %kt : <[b, 4, 33, 8], f32>, <[b, 4, 8, 33], f32> -> <[b, 4, 33, 33], f32>
  %masked = smelt.add %scores, %mask : <[b, 4, 33, 33], f32>, <[4, 33, 33], f32> -> <[b, 4, 33, 33], f32>
  %p = smelt.softmax %masked axis 3 : <[b, 4, 33, 33], f32>
  %y = smelt.matmul %p, %v : <[b, 4, 33, 33], f32>, <[b, 4, 33, 8], f32> -> <[b, 4, 33, 8], f32>
  %heads = smelt.transpose %y [0, 2, 1, 3] : <[b, 4, 33, 8], f32> -> <[b, 33, 4, 8], f32>
  %tokens = smelt.reshape %heads : <[b, 33, 4, 8], f32> -> <[b, 33, 32], f32>
  // CHECK: %[[BIAS:.*]] = smelt.reshape %arg1 : <[4, 33, 33], f32> -> <[1, 4, 33, 33], f32>
  // CHECK: smelt.attention {{.*}} bias %[[BIAS]]
  return %tokens : !smelt.tensor<[b, 33, 32], f32>
}

// Heads merged into the batch with a mask of three axes, and another through a view of four.
// CHECK-LABEL: func @merged_heads_masked
func.func @merged_heads_masked(%q: !smelt.tensor<[b, 1, s, 8], f32>, %kt: !smelt.tensor<[b, 1, 8, k], f32>, %v: !smelt.tensor<[b, 1, k, 8], f32>, %mask: !smelt.tensor<[b, s, k], f32>, %other: !smelt.tensor<[b, 1, 1, k], f32>) -> !smelt.tensor<[b, s, 8], f32> {
  %q3 = smelt.reshape %q : <[b, 1, s, 8], f32> -> <[b, s, 8], f32>
  %k3 = smelt.reshape %kt : <[b, 1, 8, k], f32> -> <[b, 8, k], f32>
  %v3 = smelt.reshape %v : <[b, 1, k, 8], f32> -> <[b, k, 8], f32>
  %scores = smelt.matmul %q3, %k3 : <[b, s, 8], f32>, <[b, 8, k], f32> -> <[b, s, k], f32>
  %0 = smelt.add %scores, %mask : <[b, s, k], f32>, <[b, s, k], f32> -> <[b, s, k], f32>
  %1 = smelt.reshape %0 : <[b, s, k], f32> -> <[b, 1, s, k], f32>
  %2 = smelt.add %1, %other : <[b, 1, s, k], f32>, <[b, 1, 1, k], f32> -> <[b, 1, s, k], f32>
  %3 = smelt.reshape %2 : <[b, 1, s, k], f32> -> <[b, s, k], f32>
  %p = smelt.softmax %3 axis 2 : <[b, s, k], f32>
  %y = smelt.matmul %p, %v3 : <[b, s, k], f32>, <[b, k, 8], f32> -> <[b, s, 8], f32>
  // CHECK: smelt.attention {{.*}} bias
  return %y : !smelt.tensor<[b, s, 8], f32>
}

// Llama in fp16 with fp32 scores and values: Q, K, V and the result are half, so attention is.
// CHECK-LABEL: func @wide_scores
func.func @wide_scores(%q: !smelt.tensor<[b, 4, s, 8], f16>, %kt: !smelt.tensor<[b, 4, 8, s], f16>, %v: !smelt.tensor<[b, s, 4, 8], f16>) -> !smelt.tensor<[b, 4, s, 8], f16> {
  %scale = smelt.constant dense<0.25> : tensor<f32> : <[], f32>
  %qw = smelt.cast %q : <[b, 4, s, 8], f16> -> <[b, 4, s, 8], f32>
  %kw = smelt.cast %kt : <[b, 4, 8, s], f16> -> <[b, 4, 8, s], f32>
  %vw = smelt.cast %v : <[b, s, 4, 8], f16> -> <[b, s, 4, 8], f32>
  %vt = smelt.transpose %vw [0, 2, 1, 3] : <[b, s, 4, 8], f32> -> <[b, 4, s, 8], f32>
  %qs = smelt.mul %qw, %scale : <[b, 4, s, 8], f32>, <[], f32> -> <[b, 4, s, 8], f32>
  %scores = smelt.matmul %qs, %kw : <[b, 4, s, 8], f32>, <[b, 4, 8, s], f32> -> <[b, 4, s, s], f32>
  %p = smelt.softmax %scores axis 3 : <[b, 4, s, s], f32>
  %wide = smelt.matmul %p, %vt : <[b, 4, s, s], f32>, <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  %y = smelt.cast %wide : <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f16>
  // CHECK-NOT: smelt.cast
  // CHECK: %[[Y:.*]] = smelt.attention %arg0, %{{.*}} {scale = 2.500000e-01 : f32} : <[b, 4, s, 8], f16>
  // CHECK-NEXT: return %[[Y]]
  return %y : !smelt.tensor<[b, 4, s, 8], f16>
}

// The model's own op, with a mask that lets everything pass.
// CHECK-LABEL: func @native
func.func @native(%q: !smelt.tensor<[b, 4, s, 8], f16>) -> !smelt.tensor<[b, 4, s, 8], f16> {
  %true = smelt.constant dense<true> : tensor<1x1x1x1xi1> : <[1, 1, 1, 1], i1>
  %zero = smelt.constant dense<0.0> : tensor<f16> : <[], f16>
  %inf = smelt.constant dense<0xFC00> : tensor<f16> : <[], f16>
  %wide = smelt.expand %true : <[1, 1, 1, 1], i1> -> <[b, 1, s, s], i1>
  %bias = smelt.select %wide, %zero, %inf : <[b, 1, s, s], i1>, <[], f16>, <[], f16> -> <[b, 1, s, s], f16>
  // CHECK-NEXT: smelt.attention %arg0, %arg0, %arg0 {scale = 1.250000e-01 : f32}
  %y = smelt.attention %q, %q, %q bias %bias : !smelt.tensor<[b, 1, s, s], f16> {scale = 0.125 : f32} : <[b, 4, s, 8], f16>, <[b, 4, s, 8], f16>, <[b, 4, s, 8], f16> -> <[b, 4, s, 8], f16>
  return %y : !smelt.tensor<[b, 4, s, 8], f16>
}

// No template takes heads of 320: products and softmax stay.
// CHECK-LABEL: func @large_heads
func.func @large_heads(%q: !smelt.tensor<[b, 2, s, 320], f16>, %kt: !smelt.tensor<[b, 2, 320, s], f16>, %v: !smelt.tensor<[b, 2, s, 320], f16>) -> !smelt.tensor<[b, 2, s, 320], f16> {
  %scores = smelt.matmul %q, %kt : <[b, 2, s, 320], f16>, <[b, 2, 320, s], f16> -> <[b, 2, s, s], f16>
  %p = smelt.softmax %scores axis 3 : <[b, 2, s, s], f16> loc("Large")
  %y = smelt.matmul %p, %v : <[b, 2, s, s], f16>, <[b, 2, s, 320], f16> -> <[b, 2, s, 320], f16>
  // CHECK-NEXT: smelt.matmul %arg0, %arg1
  // CHECK-NEXT: smelt.softmax
  // CHECK-NEXT: smelt.matmul
  // CHECK-NEXT: return
  return %y : !smelt.tensor<[b, 2, s, 320], f16>
}

// The model's own op with such heads becomes them: grouped heads, cap, bias, causal, zero rows.
// CHECK-LABEL: func @large_native
func.func @large_native(%q: !smelt.tensor<[b, 4, s, 320], f32>, %k: !smelt.tensor<[b, 2, t, 320], f32>, %v: !smelt.tensor<[b, 2, t, 320], f32>, %bias: !smelt.tensor<[b, 1, 1, t], f32>) -> !smelt.tensor<[b, 4, s, 320], f32> {
  // CHECK-NOT: smelt.attention
  // CHECK: smelt.matmul
  // CHECK: smelt.tanh
  // CHECK: smelt.softmax
  // CHECK: smelt.matmul
  // CHECK: return
  %y = smelt.attention %q, %k, %v bias %bias : !smelt.tensor<[b, 1, 1, t], f32> {scale = 0.125 : f32, softcap = 5.0 : f32, causal, zero_masked_rows} : <[b, 4, s, 320], f32>, <[b, 2, t, 320], f32>, <[b, 2, t, 320], f32> -> <[b, 4, s, 320], f32>
  return %y : !smelt.tensor<[b, 4, s, 320], f32>
}

// Probabilities that are a result too; a mask with a fill that scores reach; a product that is divided by a tensor.
// CHECK-LABEL: func @no_attention
func.func @no_attention(%q: !smelt.tensor<[b, 4, s, 8], f32>, %kt: !smelt.tensor<[b, 4, 8, s], f32>, %v: !smelt.tensor<[b, 4, s, 8], f32>, %mask: !smelt.tensor<[s, s], i1>) -> (!smelt.tensor<[b, 4, s, 8], f32>, !smelt.tensor<[b, 4, s, s], f32>, !smelt.tensor<[b, 4, s, 8], f32>, !smelt.tensor<[b, 4, s, 8], f32>) {
  // CHECK-NOT: smelt.attention
  %fill = smelt.constant dense<-1.0e4> : tensor<f32> : <[], f32>
  %scores = smelt.matmul %q, %kt : <[b, 4, s, 8], f32>, <[b, 4, 8, s], f32> -> <[b, 4, s, s], f32>
  %p = smelt.softmax %scores axis 3 : <[b, 4, s, s], f32> loc("Read")
  %0 = smelt.matmul %p, %v : <[b, 4, s, s], f32>, <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  %masked = smelt.select %mask, %scores, %fill : <[s, s], i1>, <[b, 4, s, s], f32>, <[], f32> -> <[b, 4, s, s], f32>
  %p1 = smelt.softmax %masked axis 3 : <[b, 4, s, s], f32> loc("Filled")
  %1 = smelt.matmul %p1, %v : <[b, 4, s, s], f32>, <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  %ratio = smelt.div %scores, %p : <[b, 4, s, s], f32>, <[b, 4, s, s], f32> -> <[b, 4, s, s], f32>
  %p2 = smelt.softmax %ratio axis 3 : <[b, 4, s, s], f32>
  %2 = smelt.matmul %p2, %v : <[b, 4, s, s], f32>, <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  return %0, %p, %1, %2 : !smelt.tensor<[b, 4, s, 8], f32>, !smelt.tensor<[b, 4, s, s], f32>, !smelt.tensor<[b, 4, s, 8], f32>, !smelt.tensor<[b, 4, s, 8], f32>
}

// GPT-2 with padding on the left: a query whose keys are all padding averages over these and over the keys after it,
// for both masks have one fill, which neither scores nor each other change.
// CHECK-LABEL: func @causal_then_padding
func.func @causal_then_padding(%q: !smelt.tensor<[b, 4, s, 8], f32>, %kt: !smelt.tensor<[b, 4, 8, s], f32>, %v: !smelt.tensor<[b, 4, s, 8], f32>, %padding: !smelt.tensor<[b, 1, 1, s], i1>) -> !smelt.tensor<[b, 4, s, 8], f32> {
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %lowest = smelt.constant dense<0xFF7FFFFF> : tensor<f32> : <[], f32>
  %iota = smelt.iota : <[s], i64>
  %i = smelt.reshape %iota : <[s], i64> -> <[s, 1], i64>
  %visible = smelt.less_equal %iota, %i : <[s], i64>, <[s, 1], i64> -> <[s, s], i1>
  %scores = smelt.matmul %q, %kt : <[b, 4, s, 8], f32>, <[b, 4, 8, s], f32> -> <[b, 4, s, s], f32>
  %causal = smelt.select %visible, %scores, %lowest : <[s, s], i1>, <[b, 4, s, s], f32>, <[], f32> -> <[b, 4, s, s], f32>
  %bias = smelt.select %padding, %lowest, %zero : <[b, 1, 1, s], i1>, <[], f32>, <[], f32> -> <[b, 1, 1, s], f32>
  %masked = smelt.add %causal, %bias : <[b, 4, s, s], f32>, <[b, 1, 1, s], f32> -> <[b, 4, s, s], f32>
  %p = smelt.softmax %masked axis 3 : <[b, 4, s, s], f32>
  %y = smelt.matmul %p, %v : <[b, 4, s, s], f32>, <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  // CHECK: smelt.attention {{.*}} bias %{{[0-9]+}} : !smelt.tensor<[b, 1, s, s], f32> {scale = 1.000000e+00 : f32}
  return %y : !smelt.tensor<[b, 4, s, 8], f32>
}

// BLOOM: a bias of distances stands before the mask, and a scale behind it.
// CHECK-LABEL: func @bias_then_mask
func.func @bias_then_mask(%q: !smelt.tensor<[b, 4, s, 8], f16>, %kt: !smelt.tensor<[b, 4, 8, s], f16>, %v: !smelt.tensor<[b, 4, s, 8], f16>, %slopes: !smelt.tensor<[4, 1, 1], f32>, %hidden: !smelt.tensor<[b, 1, s, s], i1>) -> !smelt.tensor<[b, 4, s, 8], f16> {
  %fill = smelt.constant dense<-65504.0> : tensor<f16> : <[], f16>
  %half = smelt.constant dense<0.5> : tensor<f16> : <[], f16>
  %distances = smelt.iota : <[s], i64>
  %lengths = smelt.cast %distances : <[s], i64> -> <[s], f32>
  %damped = smelt.tanh %slopes : <[4, 1, 1], f32>
  %norm = smelt.softmax %damped axis 0 : <[4, 1, 1], f32>
  %alibi = smelt.mul %norm, %lengths : <[4, 1, 1], f32>, <[s], f32> -> <[4, 1, s], f32>
  %bias = smelt.cast %alibi : <[4, 1, s], f32> -> <[4, 1, s], f16>
  %scores = smelt.matmul %q, %kt : <[b, 4, s, 8], f16>, <[b, 4, 8, s], f16> -> <[b, 4, s, s], f16>
  %biased = smelt.add %scores, %bias : <[b, 4, s, s], f16>, <[4, 1, s], f16> -> <[b, 4, s, s], f16>
  %masked = smelt.select %hidden, %fill, %biased : <[b, 1, s, s], i1>, <[], f16>, <[b, 4, s, s], f16> -> <[b, 4, s, s], f16>
  %scaled = smelt.mul %masked, %half : <[b, 4, s, s], f16>, <[], f16> -> <[b, 4, s, s], f16>
  %p = smelt.softmax %scaled axis 3 : <[b, 4, s, s], f16>
  %y = smelt.matmul %p, %v : <[b, 4, s, s], f16>, <[b, 4, s, 8], f16> -> <[b, 4, s, 8], f16>
  // CHECK: smelt.attention {{.*}} bias {{.*}} {scale = 5.000000e-01 : f32}
  return %y : !smelt.tensor<[b, 4, s, 8], f16>
}

// A query that sees no key averages over the keys that share its highest score. No bias says which those are where a
// sum follows a mask whose fill it changes, where a sum masked before, where fills differ, where a factor makes the
// fill infinite. Of sums that are no scores the reason is the sum.
// CHECK-LABEL: func @unequal_masks
func.func @unequal_masks(%q: !smelt.tensor<[b, 4, s, 8], f16>, %kt: !smelt.tensor<[b, 4, 8, s], f16>, %v: !smelt.tensor<[b, 4, s, 8], f16>, %mask: !smelt.tensor<[s, s], i1>, %padding: !smelt.tensor<[b, 1, 1, s], i1>) -> (!smelt.tensor<[b, 4, s, 8], f16>, !smelt.tensor<[b, 4, s, 8], f16>) {
  // CHECK-NOT: smelt.attention
  // CHECK: return
  %zero = smelt.constant dense<0.0> : tensor<f16> : <[], f16>
  %fill = smelt.constant dense<-65504.0> : tensor<f16> : <[], f16>
  %bias = smelt.select %padding, %fill, %zero : <[b, 1, 1, s], i1>, <[], f16>, <[], f16> -> <[b, 1, 1, s], f16>
  %s0 = smelt.matmul %q, %kt : <[b, 4, s, 8], f16>, <[b, 4, 8, s], f16> -> <[b, 4, s, s], f16>
  %m0 = smelt.select %mask, %s0, %fill : <[s, s], i1>, <[b, 4, s, s], f16>, <[], f16> -> <[b, 4, s, s], f16>
  %a0 = smelt.add %m0, %bias : <[b, 4, s, s], f16>, <[b, 1, 1, s], f16> -> <[b, 4, s, s], f16>
  %p0 = smelt.softmax %a0 axis 3 : <[b, 4, s, s], f16> loc("Added")
  %0 = smelt.matmul %p0, %v : <[b, 4, s, s], f16>, <[b, 4, s, 8], f16> -> <[b, 4, s, 8], f16>
  %a1 = smelt.add %s0, %bias : <[b, 4, s, s], f16>, <[b, 1, 1, s], f16> -> <[b, 4, s, s], f16>
  %m1 = smelt.select %mask, %a1, %fill : <[s, s], i1>, <[b, 4, s, s], f16>, <[], f16> -> <[b, 4, s, s], f16>
  %p1 = smelt.softmax %m1 axis 3 : <[b, 4, s, s], f16> loc("Summed")
  %1 = smelt.matmul %p1, %v : <[b, 4, s, s], f16>, <[b, 4, s, 8], f16> -> <[b, 4, s, 8], f16>
  return %0, %1 : !smelt.tensor<[b, 4, s, 8], f16>, !smelt.tensor<[b, 4, s, 8], f16>
}

// CHECK-LABEL: func @no_bias
func.func @no_bias(%q: !smelt.tensor<[b, 4, s, 8], f32>, %kt: !smelt.tensor<[b, 4, 8, s], f32>, %v: !smelt.tensor<[b, 4, s, 8], f32>, %mask: !smelt.tensor<[s, s], i1>, %padding: !smelt.tensor<[b, 1, 1, s], i1>) -> (!smelt.tensor<[b, 4, s, 8], f32>, !smelt.tensor<[b, 4, s, 8], f32>, !smelt.tensor<[b, 4, s, 8], f32>) {
  // CHECK-NOT: smelt.attention
  // CHECK: return
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %high = smelt.constant dense<-3.0e4> : tensor<f32> : <[], f32>
  %low = smelt.constant dense<-1.0e9> : tensor<f32> : <[], f32>
  %four = smelt.constant dense<4.0> : tensor<f32> : <[], f32>
  %s0 = smelt.matmul %q, %kt : <[b, 4, s, 8], f32>, <[b, 4, 8, s], f32> -> <[b, 4, s, s], f32>
  %m0 = smelt.select %mask, %s0, %high : <[s, s], i1>, <[b, 4, s, s], f32>, <[], f32> -> <[b, 4, s, s], f32>
  %n0 = smelt.select %padding, %low, %m0 : <[b, 1, 1, s], i1>, <[], f32>, <[b, 4, s, s], f32> -> <[b, 4, s, s], f32>
  %p0 = smelt.softmax %n0 axis 3 : <[b, 4, s, s], f32> loc("Fills")
  %0 = smelt.matmul %p0, %v : <[b, 4, s, s], f32>, <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  %m1 = smelt.select %mask, %s0, %low : <[s, s], i1>, <[b, 4, s, s], f32>, <[], f32> -> <[b, 4, s, s], f32>
  %n1 = smelt.mul %m1, %four : <[b, 4, s, s], f32>, <[], f32> -> <[b, 4, s, s], f32>
  %p1 = smelt.softmax %n1 axis 3 : <[b, 4, s, s], f32> loc("Scaled")
  %1 = smelt.matmul %p1, %v : <[b, 4, s, s], f32>, <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  %e2 = smelt.exp %s0 : <[b, 4, s, s], f32>
  %t2 = smelt.select %mask, %s0, %zero : <[s, s], i1>, <[b, 4, s, s], f32>, <[], f32> -> <[b, 4, s, s], f32>
  %u2 = smelt.exp %t2 : <[b, 4, s, s], f32>
  %m2 = smelt.select %mask, %u2, %zero : <[s, s], i1>, <[b, 4, s, s], f32>, <[], f32> -> <[b, 4, s, s], f32>
  %n2 = smelt.add %m2, %e2 : <[b, 4, s, s], f32>, <[b, 4, s, s], f32> -> <[b, 4, s, s], f32>
  %p2 = smelt.softmax %n2 axis 3 : <[b, 4, s, s], f32> loc("Gated")
  %2 = smelt.matmul %p2, %v : <[b, 4, s, s], f32>, <[b, 4, s, 8], f32> -> <[b, 4, s, 8], f32>
  return %0, %1, %2 : !smelt.tensor<[b, 4, s, 8], f32>, !smelt.tensor<[b, 4, s, 8], f32>, !smelt.tensor<[b, 4, s, 8], f32>
}

// As ONNX defines it: rows from which the bias hides every key are zeros.
// CHECK-LABEL: func @hidden_rows
func.func @hidden_rows(%q: !smelt.tensor<[2, 4, 5, 8], f32>, %k: !smelt.tensor<[2, 4, 6, 8], f32>, %v: !smelt.tensor<[2, 4, 6, 8], f32>, %mask: !smelt.tensor<[5, 6], i1>, %other: !smelt.tensor<[5, 6], f32>) -> !smelt.tensor<[2, 4, 5, 8], f32> {
  %root = smelt.constant dense<0.5> : tensor<f32> : <[], f32>
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %inf = smelt.constant dense<0xFF800000> : tensor<f32> : <[], f32>
  %kt = smelt.transpose %k [0, 1, 3, 2] : <[2, 4, 6, 8], f32> -> <[2, 4, 8, 6], f32>
  %qs = smelt.mul %q, %root : <[2, 4, 5, 8], f32>, <[], f32> -> <[2, 4, 5, 8], f32>
  %scores = smelt.matmul %qs, %kt : <[2, 4, 5, 8], f32>, <[2, 4, 8, 6], f32> -> <[2, 4, 5, 6], f32>
  %bias = smelt.select %mask, %zero, %inf : <[5, 6], i1>, <[], f32>, <[], f32> -> <[5, 6], f32>
  %masked = smelt.add %scores, %bias : <[2, 4, 5, 6], f32>, <[5, 6], f32> -> <[2, 4, 5, 6], f32>
  %p = smelt.softmax %masked axis 3 : <[2, 4, 5, 6], f32>
  %most = smelt.reduce max %bias axes [1] : <[5, 6], f32> -> <[5, 1], f32>
  %hidden = smelt.equal %most, %inf : <[5, 1], f32>, <[], f32> -> <[5, 1], i1>
  %guarded = smelt.select %hidden, %zero, %p : <[5, 1], i1>, <[], f32>, <[2, 4, 5, 6], f32> -> <[2, 4, 5, 6], f32>
  %y = smelt.matmul %guarded, %v : <[2, 4, 5, 6], f32>, <[2, 4, 6, 8], f32> -> <[2, 4, 5, 8], f32>
  // CHECK: smelt.attention %{{.*}} bias %{{.*}} {scale = 5.000000e-01 : f32, zero_masked_rows}
  // CHECK-NEXT: return
  return %y : !smelt.tensor<[2, 4, 5, 8], f32>
}

// Zeros hide nothing.
// CHECK-LABEL: func @no_hidden_rows
func.func @no_hidden_rows(%q: !smelt.tensor<[2, 4, 5, 8], f32>, %k: !smelt.tensor<[2, 4, 6, 8], f32>, %v: !smelt.tensor<[2, 4, 6, 8], f32>, %mask: !smelt.tensor<[5, 6], i1>, %other: !smelt.tensor<[5, 6], f32>) -> !smelt.tensor<[2, 4, 5, 8], f32> {
  %root = smelt.constant dense<0.5> : tensor<f32> : <[], f32>
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %inf = smelt.constant dense<0xFF800000> : tensor<f32> : <[], f32>
  %kt = smelt.transpose %k [0, 1, 3, 2] : <[2, 4, 6, 8], f32> -> <[2, 4, 8, 6], f32>
  %qs = smelt.mul %q, %root : <[2, 4, 5, 8], f32>, <[], f32> -> <[2, 4, 5, 8], f32>
  %scores = smelt.matmul %qs, %kt : <[2, 4, 5, 8], f32>, <[2, 4, 8, 6], f32> -> <[2, 4, 5, 6], f32>
  %bias = smelt.expand %zero : <[], f32> -> <[5, 6], f32>
  %masked = smelt.add %scores, %other : <[2, 4, 5, 6], f32>, <[5, 6], f32> -> <[2, 4, 5, 6], f32>
  %p = smelt.softmax %masked axis 3 : <[2, 4, 5, 6], f32>
  %most = smelt.reduce max %bias axes [1] : <[5, 6], f32> -> <[5, 1], f32>
  %hidden = smelt.equal %most, %inf : <[5, 1], f32>, <[], f32> -> <[5, 1], i1>
  %guarded = smelt.select %hidden, %zero, %p : <[5, 1], i1>, <[], f32>, <[2, 4, 5, 6], f32> -> <[2, 4, 5, 6], f32>
  %y = smelt.matmul %guarded, %v : <[2, 4, 5, 6], f32>, <[2, 4, 6, 8], f32> -> <[2, 4, 5, 8], f32>
  // CHECK: smelt.attention %{{.*}} {scale = 5.000000e-01 : f32} :
  // CHECK-NEXT: return
  return %y : !smelt.tensor<[2, 4, 5, 8], f32>
}

// A guard of rows that another tensor hides is none.
// CHECK-LABEL: func @rows_hidden_elsewhere
func.func @rows_hidden_elsewhere(%q: !smelt.tensor<[2, 4, 5, 8], f32>, %k: !smelt.tensor<[2, 4, 6, 8], f32>, %v: !smelt.tensor<[2, 4, 6, 8], f32>, %mask: !smelt.tensor<[5, 6], i1>, %other: !smelt.tensor<[5, 6], f32>) -> !smelt.tensor<[2, 4, 5, 8], f32> {
  %root = smelt.constant dense<0.5> : tensor<f32> : <[], f32>
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %inf = smelt.constant dense<0xFF800000> : tensor<f32> : <[], f32>
  %kt = smelt.transpose %k [0, 1, 3, 2] : <[2, 4, 6, 8], f32> -> <[2, 4, 8, 6], f32>
  %qs = smelt.mul %q, %root : <[2, 4, 5, 8], f32>, <[], f32> -> <[2, 4, 5, 8], f32>
  %scores = smelt.matmul %qs, %kt : <[2, 4, 5, 8], f32>, <[2, 4, 8, 6], f32> -> <[2, 4, 5, 6], f32>
  %bias = smelt.select %mask, %zero, %inf : <[5, 6], i1>, <[], f32>, <[], f32> -> <[5, 6], f32>
  %masked = smelt.add %scores, %other : <[2, 4, 5, 6], f32>, <[5, 6], f32> -> <[2, 4, 5, 6], f32>
  %p = smelt.softmax %masked axis 3 : <[2, 4, 5, 6], f32>
  %most = smelt.reduce max %bias axes [1] : <[5, 6], f32> -> <[5, 1], f32>
  %hidden = smelt.equal %most, %inf : <[5, 1], f32>, <[], f32> -> <[5, 1], i1>
  %guarded = smelt.select %hidden, %zero, %p : <[5, 1], i1>, <[], f32>, <[2, 4, 5, 6], f32> -> <[2, 4, 5, 6], f32>
  %y = smelt.matmul %guarded, %v : <[2, 4, 5, 6], f32>, <[2, 4, 6, 8], f32> -> <[2, 4, 5, 8], f32>
  // CHECK-NOT: smelt.attention
  // CHECK: return
  return %y : !smelt.tensor<[2, 4, 5, 8], f32>
}
