// RUN: smelt-opt %s --smelt-simplify-canonical --smelt-raise-attention --smelt-simplify-canonical | FileCheck %s

// CHECK: module attributes {smelt.remarks = [
// CHECK-SAME: #smelt.remark<taken "attention" of "Output" by "", "scale, bias [1, 12, 49, 49]">
// CHECK-SAME: #smelt.remark<refused "attention" of "Shared" by "each window has its own heads", "[3, 49, 32]">
// CHECK-SAME: #smelt.remark<refused "attention" of "Split" by "windows are split before the softmax and merged behind it", "axis 4 of [b, 4, 3, 49, 49]">

// Swin: a bias of positions for all windows, and a mask of each of the four windows of an image.
// CHECK-LABEL: func @swin
func.func @swin(%q: !smelt.tensor<[4*b, 3, 49, 32], f16>, %k: !smelt.tensor<[4*b, 3, 32, 49], f16>, %v: !smelt.tensor<[4*b, 3, 49, 32], f16>, %positions: !smelt.tensor<[3, 49, 49], f16>, %mask: !smelt.tensor<[4, 49, 49], f16>) -> !smelt.tensor<[4*b, 3, 49, 32], f16> {
  %scores = smelt.matmul %q, %k : <[4*b, 3, 49, 32], f16>, <[4*b, 3, 32, 49], f16> -> <[4*b, 3, 49, 49], f16>
  %placed = smelt.add %scores, %positions : <[4*b, 3, 49, 49], f16>, <[3, 49, 49], f16> -> <[4*b, 3, 49, 49], f16>
  %split = smelt.reshape %placed : <[4*b, 3, 49, 49], f16> -> <[b, 4, 3, 49, 49], f16>
  %wide = smelt.reshape %mask : <[4, 49, 49], f16> -> <[1, 4, 1, 49, 49], f16>
  %masked = smelt.add %split, %wide : <[b, 4, 3, 49, 49], f16>, <[1, 4, 1, 49, 49], f16> -> <[b, 4, 3, 49, 49], f16>
  %merged = smelt.reshape %masked : <[b, 4, 3, 49, 49], f16> -> <[4*b, 3, 49, 49], f16>
  %p = smelt.softmax %merged axis 3 : <[4*b, 3, 49, 49], f16>
  %y = smelt.matmul %p, %v : <[4*b, 3, 49, 49], f16>, <[4*b, 3, 49, 32], f16> -> <[4*b, 3, 49, 32], f16> loc("Output")
  // CHECK-DAG: %[[Q:.*]] = smelt.reshape %arg0 : <[4*b, 3, 49, 32], f16> -> <[b, 12, 49, 32], f16>
  // CHECK-DAG: %[[V:.*]] = smelt.reshape %arg2 : <[4*b, 3, 49, 32], f16> -> <[b, 12, 49, 32], f16>
  // CHECK: %[[SUM:.*]] = smelt.add {{.*}} -> <[1, 4, 3, 49, 49], f16>
  // CHECK: %[[BIAS:.*]] = smelt.reshape %[[SUM]] : <[1, 4, 3, 49, 49], f16> -> <[1, 12, 49, 49], f16>
  // CHECK: %[[A:.*]] = smelt.attention %[[Q]], %{{.*}}, %[[V]] bias %[[BIAS]]
  // CHECK: smelt.reshape %[[A]] : <[b, 12, 49, 32], f16> -> <[4*b, 3, 49, 32], f16>
  return %y : !smelt.tensor<[4*b, 3, 49, 32], f16>
}

// A padding mask of every window, and nothing that repeats.
// CHECK-LABEL: func @own_masks
func.func @own_masks(%q: !smelt.tensor<[4*b, 3, 49, 32], f16>, %k: !smelt.tensor<[4*b, 3, 32, 49], f16>, %v: !smelt.tensor<[4*b, 3, 49, 32], f16>, %padding: !smelt.tensor<[4*b, 1, 1, 49], f16>, %mask: !smelt.tensor<[1, 4, 1, 1, 49], f16>) -> !smelt.tensor<[4*b, 3, 49, 32], f16> {
  %scores = smelt.matmul %q, %k : <[4*b, 3, 49, 32], f16>, <[4*b, 3, 32, 49], f16> -> <[4*b, 3, 49, 49], f16>
  %padded = smelt.add %scores, %padding : <[4*b, 3, 49, 49], f16>, <[4*b, 1, 1, 49], f16> -> <[4*b, 3, 49, 49], f16>
  %split = smelt.reshape %padded : <[4*b, 3, 49, 49], f16> -> <[b, 4, 3, 49, 49], f16>
  %masked = smelt.add %split, %mask : <[b, 4, 3, 49, 49], f16>, <[1, 4, 1, 1, 49], f16> -> <[b, 4, 3, 49, 49], f16>
  %merged = smelt.reshape %masked : <[b, 4, 3, 49, 49], f16> -> <[4*b, 3, 49, 49], f16>
  %p = smelt.softmax %merged axis 3 : <[4*b, 3, 49, 49], f16>
  %y = smelt.matmul %p, %v : <[4*b, 3, 49, 49], f16>, <[4*b, 3, 49, 32], f16> -> <[4*b, 3, 49, 32], f16> loc("Padded")
  // CHECK: smelt.attention %{{.*}} bias %{{.*}} : !smelt.tensor<[b, 12, 1, 49], f16>
  return %y : !smelt.tensor<[4*b, 3, 49, 32], f16>
}

// So many scores are only compared at smaller sizes: what the windows split, in the mask and in every operand, shrinks alike.
// CHECK-LABEL: func @many_images
func.func @many_images(%q: !smelt.tensor<[4096, 3, 49, 32], f16>, %k: !smelt.tensor<[4096, 3, 32, 49], f16>, %v: !smelt.tensor<[4096, 3, 49, 32], f16>, %mask: !smelt.tensor<[64, 49, 49], f16>) -> !smelt.tensor<[4096, 3, 49, 32], f16> {
  %scores = smelt.matmul %q, %k : <[4096, 3, 49, 32], f16>, <[4096, 3, 32, 49], f16> -> <[4096, 3, 49, 49], f16>
  %split = smelt.reshape %scores : <[4096, 3, 49, 49], f16> -> <[64, 64, 3, 49, 49], f16>
  %wide = smelt.reshape %mask : <[64, 49, 49], f16> -> <[1, 64, 1, 49, 49], f16>
  %masked = smelt.add %split, %wide : <[64, 64, 3, 49, 49], f16>, <[1, 64, 1, 49, 49], f16> -> <[64, 64, 3, 49, 49], f16>
  %merged = smelt.reshape %masked : <[64, 64, 3, 49, 49], f16> -> <[4096, 3, 49, 49], f16>
  %p = smelt.softmax %merged axis 3 : <[4096, 3, 49, 49], f16>
  %y = smelt.matmul %p, %v : <[4096, 3, 49, 49], f16>, <[4096, 3, 49, 32], f16> -> <[4096, 3, 49, 32], f16> loc("Many")
  // CHECK: smelt.attention %{{.*}} bias %{{.*}} : !smelt.tensor<[1, 192, 49, 49], f16>
  return %y : !smelt.tensor<[4096, 3, 49, 32], f16>
}

// Values that all windows share have no heads of their own for each.
// CHECK-LABEL: func @shared_values
func.func @shared_values(%q: !smelt.tensor<[4*b, 3, 49, 32], f16>, %k: !smelt.tensor<[4*b, 3, 32, 49], f16>, %v: !smelt.tensor<[3, 49, 32], f16>, %mask: !smelt.tensor<[1, 4, 1, 49, 49], f16>) -> !smelt.tensor<[4*b, 3, 49, 32], f16> {
  %scores = smelt.matmul %q, %k : <[4*b, 3, 49, 32], f16>, <[4*b, 3, 32, 49], f16> -> <[4*b, 3, 49, 49], f16>
  %split = smelt.reshape %scores : <[4*b, 3, 49, 49], f16> -> <[b, 4, 3, 49, 49], f16>
  %masked = smelt.add %split, %mask : <[b, 4, 3, 49, 49], f16>, <[1, 4, 1, 49, 49], f16> -> <[b, 4, 3, 49, 49], f16>
  %p = smelt.softmax %masked axis 4 : <[b, 4, 3, 49, 49], f16> loc("Shared")
  %merged = smelt.reshape %p : <[b, 4, 3, 49, 49], f16> -> <[4*b, 3, 49, 49], f16>
  %y = smelt.matmul %merged, %v : <[4*b, 3, 49, 49], f16>, <[3, 49, 32], f16> -> <[4*b, 3, 49, 32], f16>
  // CHECK-NOT: smelt.attention
  // CHECK: return
  return %y : !smelt.tensor<[4*b, 3, 49, 32], f16>
}

// Scores that were computed under five axes are not merged ones.
// CHECK-LABEL: func @never_merged
func.func @never_merged(%q: !smelt.tensor<[b, 4, 3, 49, 32], f16>, %k: !smelt.tensor<[b, 4, 3, 32, 49], f16>, %v: !smelt.tensor<[4*b, 3, 49, 32], f16>) -> !smelt.tensor<[4*b, 3, 49, 32], f16> {
  %scores = smelt.matmul %q, %k : <[b, 4, 3, 49, 32], f16>, <[b, 4, 3, 32, 49], f16> -> <[b, 4, 3, 49, 49], f16>
  %p = smelt.softmax %scores axis 4 : <[b, 4, 3, 49, 49], f16> loc("Split")
  %merged = smelt.reshape %p : <[b, 4, 3, 49, 49], f16> -> <[4*b, 3, 49, 49], f16>
  %y = smelt.matmul %merged, %v : <[4*b, 3, 49, 49], f16>, <[4*b, 3, 49, 32], f16> -> <[4*b, 3, 49, 32], f16>
  // CHECK-NOT: smelt.attention
  // CHECK: return
  return %y : !smelt.tensor<[4*b, 3, 49, 32], f16>
}
