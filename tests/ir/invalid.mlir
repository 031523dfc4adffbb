// Every verifier's message, beside a least wrong program.
// RUN: smelt-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{dimension must not be negative, got -1}}
func.func @negative_dimension(%x: !smelt.tensor<[n, -1], f32>)

// -----

// expected-error@+1 {{element type must be an integer or a float, got 'index'}}
func.func @element_type(%x: !smelt.tensor<[n], index>)

// -----

// expected-error@+1 {{unknown dimension function 'gcd'}}
func.func @dimension_function(%x: !smelt.tensor<[gcd(n, 2)], f32>)

// -----

func.func @logical(%x: !smelt.tensor<[n], i32>) {
  // expected-error@+2 {{operands must be bool, got 'i32'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "smelt.and"(%x, %x) : (!smelt.tensor<[n], i32>, !smelt.tensor<[n], i32>) -> !smelt.tensor<[n], i32>
  return
}

// -----

func.func @bits(%x: !smelt.tensor<[n], f32>) {
  // expected-error@+2 {{operands must be integers, got 'f32'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "smelt.bit_and"(%x, %x) : (!smelt.tensor<[n], f32>, !smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f32>
  return
}

// -----

func.func @bitcast_of_another_width(%x: !smelt.tensor<[n], f32>) {
  // expected-error@+1 {{cannot read the bits of 'f32' as 'ui16'}}
  %0 = smelt.bitcast %x : !smelt.tensor<[n], f32> -> !smelt.tensor<[n], ui16>
  return
}

// -----

func.func @element_types_differ(%x: !smelt.tensor<[n], f32>, %y: !smelt.tensor<[n], f16>) {
  // expected-error@+2 {{operands have different element types, 'f32' and 'f16'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.add %x, %y : !smelt.tensor<[n], f32>, !smelt.tensor<[n], f16> -> !smelt.tensor<[n], f32>
  return
}

// -----

func.func @broadcast(%x: !smelt.tensor<[n, 3], f32>, %y: !smelt.tensor<[4], f32>) {
  // expected-error@+2 {{shapes [n, 3] and [4] do not broadcast}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.add %x, %y : !smelt.tensor<[n, 3], f32>, !smelt.tensor<[4], f32> -> !smelt.tensor<[n, 3], f32>
  return
}

// -----

func.func @select_condition(%x: !smelt.tensor<[n], f32>) {
  // expected-error@+2 {{the condition must be bool, got 'f32'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.select %x, %x, %x : !smelt.tensor<[n], f32>, !smelt.tensor<[n], f32>, !smelt.tensor<[n], f32> -> !smelt.tensor<[n], f32>
  return
}

// -----

func.func @cast_shape(%x: !smelt.tensor<[n], f32>) {
  // expected-error@+1 {{must keep the shape}}
  %0 = smelt.cast %x : !smelt.tensor<[n], f32> -> !smelt.tensor<[m], f16>
  return
}

// -----

func.func @constant_type() {
  // expected-error@+1 {{value of type 'tensor<2xi64>' does not fit the result '!smelt.tensor<[3], i64>'}}
  %0 = smelt.constant dense<[1, 2]> : tensor<2xi64> : !smelt.tensor<[3], i64>
  return
}

// -----

func.func @weight_shape() {
  // expected-error@+1 {{must have a static shape}}
  %0 = smelt.weight "w" <"weights.bin", 0, 4, ""> : !smelt.tensor<[n], f32>
  return
}

// -----

func.func @dims_count() {
  // expected-error@+1 {{needs an integer result of rank 0 or 1 with 2 elements}}
  %0 = smelt.dims [n, 2] : !smelt.tensor<[3], i64>
  return
}

// -----

func.func @iota_rank() {
  // expected-error@+1 {{must have rank 1}}
  %0 = smelt.iota : !smelt.tensor<[2, 2], i64>
  return
}

// -----

func.func @reshape_count(%x: !smelt.tensor<[2, 3], f32>) {
  // expected-error@+1 {{cannot turn 6 elements of [2, 3] into 8 of [8]}}
  %0 = smelt.reshape %x : !smelt.tensor<[2, 3], f32> -> !smelt.tensor<[8], f32>
  return
}

// -----

func.func @reshape_element(%x: !smelt.tensor<[2, 3], f32>) {
  // expected-error@+1 {{must keep the element type}}
  %0 = smelt.reshape %x : !smelt.tensor<[2, 3], f32> -> !smelt.tensor<[6], f16>
  return
}

// -----

func.func @expand(%x: !smelt.tensor<[2, 3], f32>) {
  // expected-error@+1 {{cannot expand [2, 3] to [4, 3]}}
  %0 = smelt.expand %x : !smelt.tensor<[2, 3], f32> -> !smelt.tensor<[4, 3], f32>
  return
}

// -----

func.func @transpose(%x: !smelt.tensor<[2, 3], f32>) {
  // expected-error@+2 {{permutation does not name every axis of [2, 3] once}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.transpose %x [0, 0] : !smelt.tensor<[2, 3], f32> -> !smelt.tensor<[2, 2], f32>
  return
}

// -----

func.func @transpose_rank(%x: !smelt.tensor<[2, 3], f32>) {
  // expected-error@+2 {{permutation has 1 axes, the input 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.transpose %x [0] : !smelt.tensor<[2, 3], f32> -> !smelt.tensor<[2], f32>
  return
}

// -----

func.func @slice(%x: !smelt.tensor<[5], f32>) {
  // expected-error@+1 {{leaves axis 0 of [5]}}
  %0 = smelt.slice %x starts [#smelt.dim<2>] steps [2] : !smelt.tensor<[5], f32> -> !smelt.tensor<[3], f32>
  return
}

// -----

func.func @slice_axes(%x: !smelt.tensor<[5, 2], f32>) {
  // expected-error@+1 {{must keep rank and element type and give a start and a step for each axis}}
  %0 = smelt.slice %x starts [#smelt.dim<2>] steps [1] : !smelt.tensor<[5, 2], f32> -> !smelt.tensor<[3, 2], f32>
  return
}

// -----

func.func @concat(%x: !smelt.tensor<[2, 3], f32>, %y: !smelt.tensor<[2, 4], f32>) {
  // expected-error@+2 {{inputs differ outside the axis: '!smelt.tensor<[2, 3], f32>' and '!smelt.tensor<[2, 4], f32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.concat %x, %y axis 0 : !smelt.tensor<[2, 3], f32>, !smelt.tensor<[2, 4], f32> -> !smelt.tensor<[4, 3], f32>
  return
}

// -----

func.func @concat_axis(%x: !smelt.tensor<[2, 3], f32>) {
  // expected-error@+2 {{axis 2 is outside rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.concat %x axis 2 : !smelt.tensor<[2, 3], f32> -> !smelt.tensor<[2, 3], f32>
  return
}

// -----

func.func @concat_overflow(%x: !smelt.tensor<[9223372036854775807], f32>) {
  // expected-error@+2 {{the sizes along the axis overflow}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.concat %x, %x axis 0 : !smelt.tensor<[9223372036854775807], f32>, !smelt.tensor<[9223372036854775807], f32> -> !smelt.tensor<[4], f32>
  return
}

// -----

func.func @matmul(%x: !smelt.tensor<[n, 3], f32>, %y: !smelt.tensor<[4, m], f32>) {
  // expected-error@+2 {{cannot multiply [n, 3] by [4, m]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.matmul %x, %y : !smelt.tensor<[n, 3], f32>, !smelt.tensor<[4, m], f32> -> !smelt.tensor<[n, m], f32>
  return
}

// -----

func.func @matmul_narrower(%x: !smelt.tensor<[n, 3], f32>, %y: !smelt.tensor<[3, m], f32>) {
  // expected-error@+2 {{inferred type(s) '!smelt.tensor<[n, m], f32>' are incompatible with return type(s) of operation '!smelt.tensor<[n, m], f16>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.matmul %x, %y : !smelt.tensor<[n, 3], f32>, !smelt.tensor<[3, m], f32> -> !smelt.tensor<[n, m], f16>
  return
}

// -----

func.func @matmul_wider(%x: !smelt.tensor<[n, 3], f16>, %y: !smelt.tensor<[3, m], f16>) {
  // expected-error@+2 {{inferred type(s) '!smelt.tensor<[n, m], f16>' are incompatible with return type(s) of operation '!smelt.tensor<[n, 5], f32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.matmul %x, %y : !smelt.tensor<[n, 3], f16>, !smelt.tensor<[3, m], f16> -> !smelt.tensor<[n, 5], f32>
  return
}

// -----

func.func @matmul_of_bytes(%x: !smelt.tensor<[n, 3], i8>, %y: !smelt.tensor<[3, m], ui8>) {
  // expected-error@+2 {{inferred type(s) '!smelt.tensor<[n, m], i32>' are incompatible with return type(s) of operation '!smelt.tensor<[n, m], i8>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.matmul %x, %y : !smelt.tensor<[n, 3], i8>, !smelt.tensor<[3, m], ui8> -> !smelt.tensor<[n, m], i8>
  return
}

// -----

func.func @matmul_of_floats8(%x: !smelt.tensor<[n, 3], f8E4M3FN>, %y: !smelt.tensor<[3, m], f8E5M2>) {
  // expected-error@+2 {{inferred type(s) '!smelt.tensor<[n, m], f32>' are incompatible with return type(s) of operation '!smelt.tensor<[n, m], f16>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.matmul %x, %y : !smelt.tensor<[n, 3], f8E4M3FN>, !smelt.tensor<[3, m], f8E5M2> -> !smelt.tensor<[n, m], f16>
  return
}

// -----

func.func @matmul_of_other_floats8(%x: !smelt.tensor<[n, 3], f8E4M3FN>, %y: !smelt.tensor<[3, m], f8E4M3FNUZ>) {
  // expected-error@+2 {{operands have different element types, 'f8E4M3FN' and 'f8E4M3FNUZ'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.matmul %x, %y : !smelt.tensor<[n, 3], f8E4M3FN>, !smelt.tensor<[3, m], f8E4M3FNUZ> -> !smelt.tensor<[n, m], f32>
  return
}

// -----

func.func @matmul_of_unlike(%x: !smelt.tensor<[n, 3], i8>, %y: !smelt.tensor<[3, m], i32>) {
  // expected-error@+2 {{operands have different element types, 'i8' and 'i32'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.matmul %x, %y : !smelt.tensor<[n, 3], i8>, !smelt.tensor<[3, m], i32> -> !smelt.tensor<[n, m], i32>
  return
}

// -----

func.func @attention_bias(%q: !smelt.tensor<[b, 2, 3, 8], f32>, %kv: !smelt.tensor<[b, 2, 5, 8], f32>, %bias: !smelt.tensor<[1, 1, 3, 8], f32>) {
  // expected-error@+2 {{'!smelt.tensor<[1, 1, 3, 8], f32>' does not broadcast to the scores}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.attention %q, %kv, %kv bias %bias : !smelt.tensor<[1, 1, 3, 8], f32> {scale = 1.0 : f32} : <[b, 2, 3, 8], f32>, <[b, 2, 5, 8], f32>, <[b, 2, 5, 8], f32> -> <[b, 2, 3, 8], f32>
  return
}

// -----

func.func @row_moments_columns(%x: !smelt.tensor<[n, 48], f16>) {
  // expected-error@+2 {{the last axis of '!smelt.tensor<[n, 48], f16>' is no constant multiple of 32}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.row_moments %x : !smelt.tensor<[n, 48], f16> -> !smelt.tensor<[n, 1, 2], f32>
  return
}

// -----

func.func @row_moments_symbol(%x: !smelt.tensor<[n, m], f16>) {
  // expected-error@+2 {{the last axis of '!smelt.tensor<[n, m], f16>' is no constant multiple of 32}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.row_moments %x : !smelt.tensor<[n, m], f16> -> !smelt.tensor<[n, 1, 2], f32>
  return
}

// -----

func.func @row_moments_integers(%x: !smelt.tensor<[n, 32], i64>) {
  // expected-error@+2 {{is not defined for element type 'i64'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.row_moments %x : !smelt.tensor<[n, 32], i64> -> !smelt.tensor<[n, 1, 2], f32>
  return
}

// -----

func.func @moments(%x: !smelt.tensor<[n, 32], f32>) {
  // expected-error@+2 {{'!smelt.tensor<[n, 32], f32>' does not hold moments, [..., groups, 2] in f32}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.moments_mean %x : !smelt.tensor<[n, 32], f32> -> !smelt.tensor<[1], f32>
  return
}

// -----

func.func @conv(%x: !smelt.tensor<[n, 3, 8], f32>, %f: !smelt.tensor<[4, 2, 3], f32>) {
  // expected-error@+2 {{1 groups do not fit input '!smelt.tensor<[n, 3, 8], f32>' and filter '!smelt.tensor<[4, 2, 3], f32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.conv %x, %f {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64} : !smelt.tensor<[n, 3, 8], f32>, !smelt.tensor<[4, 2, 3], f32> -> !smelt.tensor<[n, 4, 6], f32>
  return
}

// -----

func.func @conv_stride(%x: !smelt.tensor<[n, 3, 8], f32>, %f: !smelt.tensor<[4, 3, 3], f32>) {
  // expected-error@+2 {{strides and dilations must be positive}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.conv %x, %f {strides = array<i64: 0>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64} : !smelt.tensor<[n, 3, 8], f32>, !smelt.tensor<[4, 3, 3], f32> -> !smelt.tensor<[n, 4, 6], f32>
  return
}

// -----

func.func @attention_heads(%q: !smelt.tensor<[n, 5, s, 8], f32>, %k: !smelt.tensor<[n, 2, s, 8], f32>) {
  // expected-error@+2 {{heads must be constant, and query heads a multiple of key heads}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.attention %q, %k, %k {scale = 1.0 : f32} : !smelt.tensor<[n, 5, s, 8], f32>, !smelt.tensor<[n, 2, s, 8], f32>, !smelt.tensor<[n, 2, s, 8], f32> -> !smelt.tensor<[n, 5, s, 8], f32>
  return
}

// -----

func.func @reduce_axis(%x: !smelt.tensor<[n, 3], f32>) {
  // expected-error@+2 {{axis -1 is outside rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.reduce sum %x axes [-1] : !smelt.tensor<[n, 3], f32> -> !smelt.tensor<[n, 1], f32>
  return
}

// -----

func.func @softmax_axis(%x: !smelt.tensor<[n, 3], f32>) {
  // expected-error@+1 {{axis 2 is outside rank 2}}
  %0 = smelt.softmax %x axis 2 : !smelt.tensor<[n, 3], f32>
  return
}

// -----

func.func @layer_norm_axis(%x: !smelt.tensor<[n, 3], f32>) {
  // expected-error@+2 {{axis 2 is outside rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.layer_norm %x axis 2 {epsilon = 1.0e-5 : f32} : !smelt.tensor<[n, 3], f32> -> !smelt.tensor<[n, 3], f32>
  return
}

// -----

func.func @gather_indices(%x: !smelt.tensor<[n, 3], f32>) {
  // expected-error@+2 {{indices must be integers, got 'f32'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.gather %x, %x axis 0 : !smelt.tensor<[n, 3], f32>, !smelt.tensor<[n, 3], f32> -> !smelt.tensor<[n, 3, 3], f32>
  return
}

// -----

func.func @gather_elements_rank(%x: !smelt.tensor<[n, 3], f32>, %i: !smelt.tensor<[n], i64>) {
  // expected-error@+2 {{data has rank 2, indices 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.gather_elements %x, %i axis 0 : !smelt.tensor<[n, 3], f32>, !smelt.tensor<[n], i64> -> !smelt.tensor<[n], f32>
  return
}

// -----

func.func @gather_nd(%x: !smelt.tensor<[n, 3], f32>, %i: !smelt.tensor<[n, 3], i64>) {
  // expected-error@+2 {{with 0 batch dims do not fit data '!smelt.tensor<[n, 3], f32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.gather_nd %x, %i batch_dims 0 : !smelt.tensor<[n, 3], f32>, !smelt.tensor<[n, 3], i64> -> !smelt.tensor<[n], f32>
  return
}

// -----

func.func @fusion_arguments(%x: !smelt.tensor<[n], f32>) {
  // expected-error@+1 {{region arguments must have the types of the inputs}}
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f16> {
  ^bb0(%a: !smelt.tensor<[n], f16>):
    smelt.yield %a : !smelt.tensor<[n], f16>
  }
  return
}

// -----

func.func @fusion_yield(%x: !smelt.tensor<[n], f32>) {
  // expected-error@+1 {{must end in a smelt.yield of the results}}
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f16> {
  ^bb0(%a: !smelt.tensor<[n], f32>):
    smelt.yield %a : !smelt.tensor<[n], f32>
  }
  return
}

// -----

func.func @top_k_shape(%x: !smelt.tensor<[n, 9], f32>) {
  // expected-error@+1 {{values must be '!smelt.tensor<[n, 3], f32>' up to the size of axis 1}}
  %v, %p = smelt.top_k %x axis 1 : <[n, 9], f32> -> <[m, 3], f32>, <[m, 3], i64>
  return
}

// -----

func.func @top_k_positions(%x: !smelt.tensor<[n, 9], f32>) {
  // expected-error@+1 {{positions must be i64 and of the values' shape}}
  %v, %p = smelt.top_k %x axis 1 : <[n, 9], f32> -> <[n, 3], f32>, <[n, 3], i32>
  return
}

// -----

func.func @top_k_count(%x: !smelt.tensor<[n, 9], f32>) {
  // expected-error@+1 {{asks for 10 of 9 elements}}
  %v, %p = smelt.top_k %x axis 1 : <[n, 9], f32> -> <[n, 10], f32>, <[n, 10], i64>
  return
}

// -----

// The fused form: what the template of each kind takes.

func.func @shapes(%x: !smelt.tensor<[n], f32>, %y: !smelt.tensor<[m], f32>) {
  // expected-error @below {{pointwise results must have one shape, got [n] and [m]}}
  %0:2 = smelt.fusion pointwise(%x, %y) : (!smelt.tensor<[n], f32>, !smelt.tensor<[m], f32>) -> (!smelt.tensor<[n], f32>, !smelt.tensor<[m], f32>) {
  ^bb0(%a: !smelt.tensor<[n], f32>, %b: !smelt.tensor<[m], f32>):
    %1 = smelt.exp %a : <[n], f32>
    %2 = smelt.exp %b : <[m], f32>
    smelt.yield %1, %2 : !smelt.tensor<[n], f32>, !smelt.tensor<[m], f32>
  }
  return
}

// -----

func.func @anchor(%x: !smelt.tensor<[n, 4], f32>) {
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[n, 4], f32>) -> !smelt.tensor<[n, 4], f32> {
  ^bb0(%a: !smelt.tensor<[n, 4], f32>):
    // expected-error @below {{is not part of a fusion pointwise}}
    %1 = smelt.softmax %a axis 1 : <[n, 4], f32>
    smelt.yield %1 : !smelt.tensor<[n, 4], f32>
  }
  return
}

// -----

func.func @table(%x: !smelt.tensor<[2], f32>) {
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[2], f32>) -> !smelt.tensor<[2], f32> {
  ^bb0(%a: !smelt.tensor<[2], f32>):
    // expected-error @below {{has many elements: a kernel reads such a constant from memory}}
    %1 = smelt.constant dense<[1.0, 2.0]> : tensor<2xf32> : <[2], f32>
    %2 = smelt.add %a, %1 : <[2], f32>, <[2], f32> -> <[2], f32>
    smelt.yield %2 : !smelt.tensor<[2], f32>
  }
  return
}

// -----

func.func @leading(%x: !smelt.tensor<[n, 4], f32>) {
  %0 = smelt.fusion rowwise(%x) : (!smelt.tensor<[n, 4], f32>) -> !smelt.tensor<[1, 4], f32> {
  ^bb0(%a: !smelt.tensor<[n, 4], f32>):
    // expected-error @below {{must reduce the trailing axes that all reductions of its fusion reduce}}
    %1 = smelt.reduce sum %a axes [0] : <[n, 4], f32> -> <[1, 4], f32>
    smelt.yield %1 : !smelt.tensor<[1, 4], f32>
  }
  return
}

// -----

func.func @no_reduction(%x: !smelt.tensor<[n, 4], f32>) {
  // expected-error @below {{rowwise must hold a reduction}}
  %0 = smelt.fusion rowwise(%x) : (!smelt.tensor<[n, 4], f32>) -> !smelt.tensor<[n, 4], f32> {
  ^bb0(%a: !smelt.tensor<[n, 4], f32>):
    %1 = smelt.exp %a : <[n, 4], f32>
    smelt.yield %1 : !smelt.tensor<[n, 4], f32>
  }
  return
}

// -----

func.func @part_of_a_row(%x: !smelt.tensor<[n, 4], f32>) {
  // expected-error @below {{a rowwise result must have the elements of [n, 4] or one a row, got [n, 2]}}
  %0 = smelt.fusion rowwise(%x) : (!smelt.tensor<[n, 4], f32>) -> !smelt.tensor<[n, 2], f32> {
  ^bb0(%a: !smelt.tensor<[n, 4], f32>):
    %1 = smelt.softmax %a axis 1 : <[n, 4], f32>
    %2 = smelt.slice %1 starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[n, 4], f32> -> <[n, 2], f32>
    smelt.yield %2 : !smelt.tensor<[n, 2], f32>
  }
  return
}

// -----

func.func @double(%x: !smelt.tensor<[n, 4], f64>, %w: !smelt.tensor<[4, 4], f64>) {
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[n, 4], f64>, !smelt.tensor<[4, 4], f64>) -> !smelt.tensor<[n, 4], f64> {
  ^bb0(%a: !smelt.tensor<[n, 4], f64>, %b: !smelt.tensor<[4, 4], f64>):
    // expected-error @below {{has an element type that no GEMM template takes}}
    %1 = smelt.matmul %a, %b : <[n, 4], f64>, <[4, 4], f64> -> <[n, 4], f64>
    smelt.yield %1 : !smelt.tensor<[n, 4], f64>
  }
  return
}

// -----

func.func @computed(%x: !smelt.tensor<[n, 4], f32>, %w: !smelt.tensor<[4, 4], f32>) {
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[n, 4], f32>, !smelt.tensor<[4, 4], f32>) -> !smelt.tensor<[n, 4], f32> {
  ^bb0(%a: !smelt.tensor<[n, 4], f32>, %b: !smelt.tensor<[4, 4], f32>):
    %1 = smelt.exp %a : <[n, 4], f32>
    // expected-error @below {{must read an input of its fusion through views}}
    %2 = smelt.matmul %1, %b : <[n, 4], f32>, <[4, 4], f32> -> <[n, 4], f32>
    smelt.yield %2 : !smelt.tensor<[n, 4], f32>
  }
  return
}

// -----

func.func @beside(%x: !smelt.tensor<[n, 4], f32>, %w: !smelt.tensor<[4, 4], f32>) {
  // expected-error @below {{a gemm result must follow from the product}}
  %0:2 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[n, 4], f32>, !smelt.tensor<[4, 4], f32>) -> (!smelt.tensor<[n, 4], f32>, !smelt.tensor<[n, 4], f32>) {
  ^bb0(%a: !smelt.tensor<[n, 4], f32>, %b: !smelt.tensor<[4, 4], f32>):
    %1 = smelt.exp %a : <[n, 4], f32>
    %2 = smelt.matmul %a, %b : <[n, 4], f32>, <[4, 4], f32> -> <[n, 4], f32>
    smelt.yield %2, %1 : !smelt.tensor<[n, 4], f32>, !smelt.tensor<[n, 4], f32>
  }
  return
}

// -----

func.func @total_of_rows(%x: !smelt.tensor<[n, 4], f32>, %w: !smelt.tensor<[4, 4], f32>) {
  %0:2 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[n, 4], f32>, !smelt.tensor<[4, 4], f32>) -> (!smelt.tensor<[n, 4], f32>, !smelt.tensor<[n, 1], i64>) {
  ^bb0(%a: !smelt.tensor<[n, 4], f32>, %b: !smelt.tensor<[4, 4], f32>):
    %1 = smelt.matmul %a, %b : <[n, 4], f32>, <[4, 4], f32> -> <[n, 4], f32>
    %2 = smelt.is_inf %1 : <[n, 4], f32> -> <[n, 4], i1>
    %3 = smelt.cast %2 : <[n, 4], i1> -> <[n, 4], i64>
    // expected-error @below {{in a gemm must count elements of a whole tensor, and be a result}}
    %4 = smelt.reduce sum %3 axes [1] : <[n, 4], i64> -> <[n, 1], i64>
    smelt.yield %1, %4 : !smelt.tensor<[n, 4], f32>, !smelt.tensor<[n, 1], i64>
  }
  return
}

// -----

func.func @total_of_an_operand(%x: !smelt.tensor<[n, 4], f32>, %w: !smelt.tensor<[4, 4], f32>) {
  // expected-error @below {{a gemm result must follow from the product}}
  %0:2 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[n, 4], f32>, !smelt.tensor<[4, 4], f32>) -> (!smelt.tensor<[n, 4], f32>, !smelt.tensor<[1, 1], i64>) {
  ^bb0(%a: !smelt.tensor<[n, 4], f32>, %b: !smelt.tensor<[4, 4], f32>):
    %1 = smelt.matmul %a, %b : <[n, 4], f32>, <[4, 4], f32> -> <[n, 4], f32>
    %2 = smelt.is_inf %a : <[n, 4], f32> -> <[n, 4], i1>
    %3 = smelt.cast %2 : <[n, 4], i1> -> <[n, 4], i64>
    %4 = smelt.reduce sum %3 axes [0, 1] : <[n, 4], i64> -> <[1, 1], i64>
    smelt.yield %1, %4 : !smelt.tensor<[n, 4], f32>, !smelt.tensor<[1, 1], i64>
  }
  return
}

// -----

func.func @pair(%x: !smelt.tensor<[n, 4], f32>, %v: !smelt.tensor<[4, 8], f32>, %w: !smelt.tensor<[4, 8], f32>) {
  // expected-error @below {{the columns of two products must take turns in one input}}
  %0 = smelt.fusion gemm(%x, %v, %w) : (!smelt.tensor<[n, 4], f32>, !smelt.tensor<[4, 8], f32>, !smelt.tensor<[4, 8], f32>) -> !smelt.tensor<[n, 8], f32> {
  ^bb0(%a: !smelt.tensor<[n, 4], f32>, %b: !smelt.tensor<[4, 8], f32>, %c: !smelt.tensor<[4, 8], f32>):
    %1 = smelt.matmul %a, %b : <[n, 4], f32>, <[4, 8], f32> -> <[n, 8], f32>
    %2 = smelt.matmul %a, %c : <[n, 4], f32>, <[4, 8], f32> -> <[n, 8], f32>
    %3 = smelt.mul %1, %2 : <[n, 8], f32>, <[n, 8], f32> -> <[n, 8], f32>
    smelt.yield %3 : !smelt.tensor<[n, 8], f32>
  }
  return
}

// -----

func.func @narrow_pair(%x: !smelt.tensor<[n, 4], f32>, %w: !smelt.tensor<[4, 2, 6], f32>) {
  // expected-error @below {{two products must have one left operand, and right ones of one type, a matrix of a multiple of 8 columns}}
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[n, 4], f32>, !smelt.tensor<[4, 2, 6], f32>) -> !smelt.tensor<[n, 6], f32> {
  ^bb0(%a: !smelt.tensor<[n, 4], f32>, %w0: !smelt.tensor<[4, 2, 6], f32>):
    %s = smelt.slice %w0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[4, 2, 6], f32> -> <[4, 1, 6], f32>
    %b = smelt.reshape %s : <[4, 1, 6], f32> -> <[4, 6], f32>
    %1 = smelt.matmul %a, %b : <[n, 4], f32>, <[4, 6], f32> -> <[n, 6], f32>
    %2 = smelt.matmul %a, %b : <[n, 4], f32>, <[4, 6], f32> -> <[n, 6], f32>
    %3 = smelt.mul %1, %2 : <[n, 6], f32>, <[n, 6], f32> -> <[n, 6], f32>
    smelt.yield %3 : !smelt.tensor<[n, 6], f32>
  }
  return
}

// -----

func.func @scattered(%x: !smelt.tensor<[b, 2, 64, s], f16>) {
  %0 = smelt.fusion attention(%x) : (!smelt.tensor<[b, 2, 64, s], f16>) -> !smelt.tensor<[b, 2, s, 64], f16> {
  ^bb0(%a: !smelt.tensor<[b, 2, 64, s], f16>):
    %q = smelt.transpose %a [0, 1, 3, 2] : <[b, 2, 64, s], f16> -> <[b, 2, s, 64], f16>
    // expected-error @below {{must find the elements of a row side by side, and rows a constant distance apart, in '!smelt.tensor<[b, 2, 64, s], f16>'}}
    %1 = smelt.attention %q, %q, %q {scale = 0.125 : f32} : <[b, 2, s, 64], f16>, <[b, 2, s, 64], f16>, <[b, 2, s, 64], f16> -> <[b, 2, s, 64], f16>
    smelt.yield %1 : !smelt.tensor<[b, 2, s, 64], f16>
  }
  return
}

// -----

func.func @large_heads(%x: !smelt.tensor<[b, 2, s, 512], f16>) {
  %0 = smelt.fusion attention(%x) : (!smelt.tensor<[b, 2, s, 512], f16>) -> !smelt.tensor<[b, 2, s, 512], f16> {
  ^bb0(%a: !smelt.tensor<[b, 2, s, 512], f16>):
    // expected-error @below {{has heads that no template takes}}
    %1 = smelt.attention %a, %a, %a {scale = 0.125 : f32} : <[b, 2, s, 512], f16>, <[b, 2, s, 512], f16>, <[b, 2, s, 512], f16> -> <[b, 2, s, 512], f16>
    smelt.yield %1 : !smelt.tensor<[b, 2, s, 512], f16>
  }
  return
}

// -----

func.func @columnwise_without_reduction(%x: !smelt.tensor<[n], f32>) {
  // expected-error @below {{columnwise must hold one reduction}}
  %0 = smelt.fusion columnwise(%x) : (!smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f32> {
  ^bb0(%a: !smelt.tensor<[n], f32>):
    %1 = smelt.relu %a : <[n], f32>
    smelt.yield %1 : !smelt.tensor<[n], f32>
  }
  return
}

// -----

func.func @columnwise_of_other_size(%x: !smelt.tensor<[4, n], f32>) {
  // expected-error @below {{a columnwise result must have the elements of [1, n], got [4, n]}}
  %0 = smelt.fusion columnwise(%x) : (!smelt.tensor<[4, n], f32>) -> !smelt.tensor<[4, n], f32> {
  ^bb0(%a: !smelt.tensor<[4, n], f32>):
    %1 = smelt.reduce sum %a axes [0] : <[4, n], f32> -> <[1, n], f32>
    %2 = smelt.sub %a, %1 : <[4, n], f32>, <[1, n], f32> -> <[4, n], f32>
    smelt.yield %2 : !smelt.tensor<[4, n], f32>
  }
  return
}

// -----

func.func @columnwise_of_other_rows(%x: !smelt.tensor<[4, n, 64], f32>) {
  // expected-error @below {{moments must be those of the rows of [1, n, 64], got [2*n, 32]}}
  %0 = smelt.fusion columnwise(%x) : (!smelt.tensor<[4, n, 64], f32>) -> !smelt.tensor<[2*n, 1, 2], f32> {
  ^bb0(%a: !smelt.tensor<[4, n, 64], f32>):
    %1 = smelt.reduce sum %a axes [0] : <[4, n, 64], f32> -> <[1, n, 64], f32>
    %2 = smelt.reshape %1 : <[1, n, 64], f32> -> <[2*n, 32], f32>
    %3 = smelt.row_moments %2 : <[2*n, 32], f32> -> <[2*n, 1, 2], f32>
    smelt.yield %3 : !smelt.tensor<[2*n, 1, 2], f32>
  }
  return
}

// -----

func.func @squeeze_excite_without_reduction(%x: !smelt.tensor<[n], f32>) {
  // expected-error @below {{squeeze_excite must hold one reduction}}
  %0 = smelt.fusion squeeze_excite(%x) : (!smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f32> {
  ^bb0(%a: !smelt.tensor<[n], f32>):
    %1 = smelt.relu %a : <[n], f32>
    smelt.yield %1 : !smelt.tensor<[n], f32>
  }
  return
}

// -----

func.func @squeeze_excite_without_products(%x: !smelt.tensor<[n, h, w, 8], f32>) {
  // expected-error @below {{must hold the mean of an image's pixels, two products with matrices, and end at the gates or the scaled image}}
  %0 = smelt.fusion squeeze_excite(%x) : (!smelt.tensor<[n, h, w, 8], f32>) -> !smelt.tensor<[n, 1, 1, 8], f32> {
  ^bb0(%a: !smelt.tensor<[n, h, w, 8], f32>):
    %1 = smelt.reduce mean %a axes [1, 2] : <[n, h, w, 8], f32> -> <[n, 1, 1, 8], f32>
    smelt.yield %1 : !smelt.tensor<[n, 1, 1, 8], f32>
  }
  return
}

// -----

func.func @two_ops(%x: !smelt.tensor<[n], f32>) {
  // expected-error @below {{generic must hold one op}}
  %0 = smelt.fusion generic(%x) : (!smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f32> {
  ^bb0(%a: !smelt.tensor<[n], f32>):
    %1 = smelt.cumsum %a axis 0 : <[n], f32>
    %2 = smelt.cumsum %1 axis 0 : <[n], f32>
    smelt.yield %2 : !smelt.tensor<[n], f32>
  }
  return
}

// -----

// expected-error @below {{smelt.guards must be an array of #smelt.guard}}
module attributes {smelt.guards = [{left = #smelt.dim<n>}]} {
}

// -----

// expected-error @below {{smelt.remarks must be an array of #smelt.remark}}
module attributes {smelt.remarks = "none"} {
}
