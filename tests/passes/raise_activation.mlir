// RUN: smelt-opt %s --smelt-simplify-canonical --smelt-raise-activation | FileCheck %s

// CHECK: smelt.remarks = [#smelt.remark<taken "gelu" of "{{.*}}" by "", "erf form">

// CHECK-LABEL: func @erf_half_last
func.func @erf_half_last(%x: !smelt.tensor<[b, 8], f16>) -> !smelt.tensor<[b, 8], f16> {
  %root = smelt.constant dense<1.4140625> : tensor<f16> : <[], f16>
  %one = smelt.constant dense<1.0> : tensor<f16> : <[], f16>
  %half = smelt.constant dense<0.5> : tensor<f16> : <[], f16>
  %0 = smelt.div %x, %root : <[b, 8], f16>, <[], f16> -> <[b, 8], f16>
  %1 = smelt.erf %0 : <[b, 8], f16>
  %2 = smelt.add %1, %one : <[b, 8], f16>, <[], f16> -> <[b, 8], f16>
  %3 = smelt.mul %x, %2 : <[b, 8], f16>, <[b, 8], f16> -> <[b, 8], f16>
  %4 = smelt.mul %3, %half : <[b, 8], f16>, <[], f16> -> <[b, 8], f16>
  // CHECK-NEXT: %[[Y:.*]] = smelt.gelu %arg0
  // CHECK-NEXT: return %[[Y]]
  return %4 : !smelt.tensor<[b, 8], f16>
}

// x is a sum itself; the half stands with x; sqrt(1/2) is a factor.
// CHECK-LABEL: func @erf_half_first
func.func @erf_half_first(%a: !smelt.tensor<[b, 8], f32>, %bias: !smelt.tensor<[8], f32>) -> !smelt.tensor<[b, 8], f32> {
  %root = smelt.constant dense<0.707106769> : tensor<f32> : <[], f32>
  %one = smelt.constant dense<1.0> : tensor<f32> : <[], f32>
  %half = smelt.constant dense<0.5> : tensor<f32> : <[], f32>
  %x = smelt.add %a, %bias : <[b, 8], f32>, <[8], f32> -> <[b, 8], f32>
  %0 = smelt.mul %x, %root : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  %1 = smelt.erf %0 : <[b, 8], f32>
  %2 = smelt.add %one, %1 : <[], f32>, <[b, 8], f32> -> <[b, 8], f32>
  %3 = smelt.mul %half, %x : <[], f32>, <[b, 8], f32> -> <[b, 8], f32>
  %4 = smelt.mul %3, %2 : <[b, 8], f32>, <[b, 8], f32> -> <[b, 8], f32>
  // CHECK-NEXT: %[[X:.*]] = smelt.add %arg0, %arg1
  // CHECK-NEXT: %[[Y:.*]] = smelt.gelu %[[X]]
  // CHECK-NEXT: return %[[Y]]
  return %4 : !smelt.tensor<[b, 8], f32>
}

// The half distributed over the sum.
// CHECK-LABEL: func @erf_distributed
func.func @erf_distributed(%x: !smelt.tensor<[b, 8], f32>) -> !smelt.tensor<[b, 8], f32> {
  %root = smelt.constant dense<1.4142> : tensor<f32> : <[], f32>
  %half = smelt.constant dense<0.5> : tensor<f32> : <[], f32>
  %0 = smelt.div %x, %root : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  %1 = smelt.erf %0 : <[b, 8], f32>
  %2 = smelt.mul %1, %half : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  %3 = smelt.add %2, %half : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  %4 = smelt.mul %3, %x : <[b, 8], f32>, <[b, 8], f32> -> <[b, 8], f32>
  // CHECK-NEXT: smelt.gelu %arg0
  // CHECK-NEXT: return
  return %4 : !smelt.tensor<[b, 8], f32>
}

// GPT-2 in fp16: a power, constants rounded to 0.04471 and 0.79785.
// CHECK-LABEL: func @tanh_power
func.func @tanh_power(%x: !smelt.tensor<[b, 8], f16>) -> !smelt.tensor<[b, 8], f16> {
  %half = smelt.constant dense<0.5> : tensor<f16> : <[], f16>
  %three = smelt.constant dense<3.0> : tensor<f32> : <[], f32>
  %cubic = smelt.constant dense<0.044708251953125> : tensor<f16> : <[], f16>
  %scale = smelt.constant dense<0.7978515625> : tensor<f16> : <[], f16>
  %one = smelt.constant dense<1.0> : tensor<f16> : <[], f16>
  %0 = smelt.mul %x, %half : <[b, 8], f16>, <[], f16> -> <[b, 8], f16>
  %1 = smelt.pow %x, %three : <[b, 8], f16>, <[], f32> -> <[b, 8], f16>
  %2 = smelt.mul %1, %cubic : <[b, 8], f16>, <[], f16> -> <[b, 8], f16>
  %3 = smelt.add %x, %2 : <[b, 8], f16>, <[b, 8], f16> -> <[b, 8], f16>
  %4 = smelt.mul %3, %scale : <[b, 8], f16>, <[], f16> -> <[b, 8], f16>
  %5 = smelt.tanh %4 : <[b, 8], f16>
  %6 = smelt.add %5, %one : <[b, 8], f16>, <[], f16> -> <[b, 8], f16>
  %7 = smelt.mul %0, %6 : <[b, 8], f16>, <[b, 8], f16> -> <[b, 8], f16>
  // CHECK-NEXT: smelt.gelu %arg0 tanh
  // CHECK-NEXT: return
  return %7 : !smelt.tensor<[b, 8], f16>
}

// x * (c + d * x * x) inside the tanh.
// CHECK-LABEL: func @tanh_factored
func.func @tanh_factored(%x: !smelt.tensor<[b, 8], f32>) -> !smelt.tensor<[b, 8], f32> {
  %half = smelt.constant dense<0.5> : tensor<f32> : <[], f32>
  %c = smelt.constant dense<0.797884583> : tensor<f32> : <[], f32>
  %d = smelt.constant dense<0.0356774069> : tensor<f32> : <[], f32>
  %one = smelt.constant dense<1.0> : tensor<f32> : <[], f32>
  %0 = smelt.mul %x, %d : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  %1 = smelt.mul %0, %x : <[b, 8], f32>, <[b, 8], f32> -> <[b, 8], f32>
  %2 = smelt.add %1, %c : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  %3 = smelt.mul %2, %x : <[b, 8], f32>, <[b, 8], f32> -> <[b, 8], f32>
  %4 = smelt.tanh %3 : <[b, 8], f32>
  %5 = smelt.add %4, %one : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  %6 = smelt.mul %5, %half : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  %7 = smelt.mul %x, %6 : <[b, 8], f32>, <[b, 8], f32> -> <[b, 8], f32>
  // CHECK-NEXT: smelt.gelu %arg0 tanh
  return %7 : !smelt.tensor<[b, 8], f32>
}

// CHECK-LABEL: func @silu_from_exp
func.func @silu_from_exp(%x: !smelt.tensor<[b, 8], f32>) -> !smelt.tensor<[b, 8], f32> {
  %one = smelt.constant dense<1.0> : tensor<f32> : <[], f32>
  %0 = smelt.neg %x : <[b, 8], f32>
  %1 = smelt.exp %0 : <[b, 8], f32>
  %2 = smelt.add %1, %one : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  %3 = smelt.div %x, %2 : <[b, 8], f32>, <[b, 8], f32> -> <[b, 8], f32>
  // CHECK-NEXT: smelt.silu %arg0
  return %3 : !smelt.tensor<[b, 8], f32>
}

// CHECK-LABEL: func @softplus_and_relu
func.func @softplus_and_relu(%x: !smelt.tensor<[b, 8], f32>) -> !smelt.tensor<[b, 8], f32> {
  %one = smelt.constant dense<1.0> : tensor<f32> : <[], f32>
  %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
  %0 = smelt.exp %x : <[b, 8], f32>
  %1 = smelt.add %0, %one : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  %2 = smelt.log %1 : <[b, 8], f32>
  %3 = smelt.max %2, %zero : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  // CHECK-NEXT: %[[S:.*]] = smelt.softplus %arg0
  // CHECK-NEXT: smelt.relu %[[S]]
  return %3 : !smelt.tensor<[b, 8], f32>
}

// QuickGELU is no SiLU; a tanh on its own is no GELU; an erf of 0.8 x is none either.
// CHECK-LABEL: func @other_functions
func.func @other_functions(%x: !smelt.tensor<[b, 8], f32>) -> (!smelt.tensor<[b, 8], f32>, !smelt.tensor<[b, 8], f32>, !smelt.tensor<[b, 8], f32>) {
  %quick = smelt.constant dense<1.702> : tensor<f32> : <[], f32>
  %other = smelt.constant dense<0.8> : tensor<f32> : <[], f32>
  %half = smelt.constant dense<0.5> : tensor<f32> : <[], f32>
  %one = smelt.constant dense<1.0> : tensor<f32> : <[], f32>
  %0 = smelt.mul %x, %quick : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  // CHECK: smelt.sigmoid
  %1 = smelt.sigmoid %0 : <[b, 8], f32>
  %2 = smelt.mul %x, %1 : <[b, 8], f32>, <[b, 8], f32> -> <[b, 8], f32>
  // CHECK: smelt.tanh
  %3 = smelt.tanh %x : <[b, 8], f32>
  %4 = smelt.mul %x, %other : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  // CHECK: smelt.erf
  %5 = smelt.erf %4 : <[b, 8], f32>
  %6 = smelt.add %5, %one : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  %7 = smelt.mul %x, %6 : <[b, 8], f32>, <[b, 8], f32> -> <[b, 8], f32>
  %8 = smelt.mul %7, %half : <[b, 8], f32>, <[], f32> -> <[b, 8], f32>
  // CHECK-NOT: smelt.gelu
  // CHECK-NOT: smelt.silu
  // CHECK: return
  return %2, %3, %8 : !smelt.tensor<[b, 8], f32>, !smelt.tensor<[b, 8], f32>, !smelt.tensor<[b, 8], f32>
}
