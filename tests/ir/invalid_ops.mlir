// Messages of the verifiers of windows, bits and scatters; those of the others are in invalid.mlir.
// RUN: smelt-opt %s -split-input-file -verify-diagnostics

func.func @windows(%x: !smelt.tensor<[2, 9], f32>) {
  // expected-error@+1 {{leaves axis 1 of [2, 9]}}
  %0 = smelt.windows %x axis 1 stride 2 dilation 2 : !smelt.tensor<[2, 9], f32> -> !smelt.tensor<[2, 4, 3], f32>
  return
}

// -----

func.func @windows_rank(%x: !smelt.tensor<[2, 9], f32>) {
  // expected-error@+1 {{must keep the element type and add an axis behind one of the input's}}
  %0 = smelt.windows %x axis 2 stride 1 dilation 1 : !smelt.tensor<[2, 9], f32> -> !smelt.tensor<[2, 9, 1], f32>
  return
}

// -----

func.func @windows_others(%x: !smelt.tensor<[2, 9], f32>) {
  // expected-error@+1 {{changes other axes than 1 of [2, 9]}}
  %0 = smelt.windows %x axis 1 stride 1 dilation 1 : !smelt.tensor<[2, 9], f32> -> !smelt.tensor<[3, 7, 3], f32>
  return
}

// -----

func.func @windows_stride(%x: !smelt.tensor<[9], f32>) {
  // expected-error@+1 {{needs a stride and a dilation of at least 1}}
  %0 = smelt.windows %x axis 0 stride 0 dilation 1 : !smelt.tensor<[9], f32> -> !smelt.tensor<[9, 1], f32>
  return
}

// -----

func.func @bits_of_floats(%x: !smelt.tensor<[n], f32>) {
  // expected-error@+2 {{operands must be integers, got 'f32'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.bit_and %x, %x : <[n], f32>, <[n], f32> -> <[n], f32>
  return
}

// -----

func.func @bitcast(%x: !smelt.tensor<[n], f32>) {
  // expected-error@+1 {{cannot read the bits of 'f32' as 'i16'}}
  %0 = smelt.bitcast %x : <[n], f32> -> <[n], i16>
  return
}

// -----

func.func @scatter_type(%x: !smelt.tensor<[n], f32>, %i: !smelt.tensor<[k], i64>) {
  // expected-error@+2 {{data are 'f32', updates 'i64'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.scatter_elements %x, %i, %i axis 0 : <[n], f32>, <[k], i64>, <[k], i64> -> <[n], f32>
  return
}

// -----

func.func @scatter_mean(%x: !smelt.tensor<[n], f32>, %i: !smelt.tensor<[k], i64>, %u: !smelt.tensor<[k], f32>) {
  // expected-error@+2 {{updates cannot be combined by their mean}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.scatter_elements %x, %i, %u axis 0 by mean : <[n], f32>, <[k], i64>, <[k], f32> -> <[n], f32>
  return
}

// -----

func.func @scatter_nd(%x: !smelt.tensor<[n, 4], f32>, %i: !smelt.tensor<[k, 1], i64>, %u: !smelt.tensor<[k], f32>) {
  // expected-error@+2 {{are not of shape [k, 4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = smelt.scatter_nd %x, %i, %u : <[n, 4], f32>, <[k, 1], i64>, <[k], f32> -> <[n, 4], f32>
  return
}
