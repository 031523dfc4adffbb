// RUN: emit-cuda %s | FileCheck %s

// Leading axes fold into the rows; bias, activation and residual are the epilogue, eight columns at a time. What is
// the same in all rows is fetched apart from the rest.
// CHECK: // gemm+add+gelu+add
// CHECK: static constexpr int kAVector = 8, kBVector = 8, kEpilogueWidth = 8;
// CHECK: static constexpr bool kBTransposed = false, kBConstant = true;
// CHECK: static constexpr bool kALinear = true, kBLinear = true, kAPadded = false;
// CHECK: int m() const { return size_b * size_s; }
// CHECK: return in0 + k + m * 768;
// CHECK: return in1 + k * 3072 + n;
// CHECK: columns.[[BIAS:v[0-9]+]] = loadVector<W, Cache::kConstant>(in2 + n);
// CHECK: inputs.[[RESIDUAL:v[0-9]+]] = loadVector<W>(in3 + m * 3072 + n);
// CHECK: void prefetch(int batch, int m, int n) const {
// CHECK-NEXT: prefetchToL2(in3 + m * 3072 + n);
// CHECK-NEXT: }
// CHECK: float [[SUM:v[0-9]+]] = acc[i] + [[BIAS]][i]; // Add_1
// CHECK: float [[ACTIVE:v[0-9]+]] = approx::gelu([[SUM]]); // Gelu_2
// CHECK: = [[ACTIVE]] + [[RESIDUAL]][i]; // Add_3
// CHECK: store<W>(out0 + m * 3072 + n,
func.func @epilogue(%x: !smelt.tensor<[b, s, 768], f16>, %r: !smelt.tensor<[b, s, 3072], f16>) -> !smelt.tensor<[b, s, 3072], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 4718592, ""> : <[768, 3072], f16>
  %c = smelt.weight "c" <"w.bin", 0, 6144, ""> : <[3072], f16>
  %0 = smelt.fusion gemm(%x, %w, %c, %r) : (!smelt.tensor<[b, s, 768], f16>, !smelt.tensor<[768, 3072], f16>, !smelt.tensor<[3072], f16>, !smelt.tensor<[b, s, 3072], f16>) -> !smelt.tensor<[b, s, 3072], f16> {
  ^bb0(%a: !smelt.tensor<[b, s, 768], f16>, %m: !smelt.tensor<[768, 3072], f16>, %d: !smelt.tensor<[3072], f16>, %e: !smelt.tensor<[b, s, 3072], f16>):
    %1 = smelt.matmul %a, %m : <[b, s, 768], f16>, <[768, 3072], f16> -> <[b, s, 3072], f16> loc("MatMul_0")
    %2 = smelt.add %1, %d : <[b, s, 3072], f16>, <[3072], f16> -> <[b, s, 3072], f16> loc("Add_1")
    %3 = smelt.gelu %2 : <[b, s, 3072], f16> loc("Gelu_2")
    %4 = smelt.add %3, %e : <[b, s, 3072], f16>, <[b, s, 3072], f16> -> <[b, s, 3072], f16> loc("Add_3")
    smelt.yield %4 : !smelt.tensor<[b, s, 3072], f16>
  }
  return %0 : !smelt.tensor<[b, s, 3072], f16>
}

// Tied embeddings: the right operand is [n][k], and only single columns of the result are aligned;
// rows of 770 elements have no map.
// CHECK: kEpilogueWidth = 1;
// CHECK: static constexpr bool kBTransposed = true, kBConstant = true;
// CHECK: return in1 + k + n * 770;
func.func @tied(%x: !smelt.tensor<[s, 770], f16>) -> !smelt.tensor<[s, 50257], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 77395780, ""> : <[50257, 770], f16>
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[s, 770], f16>, !smelt.tensor<[50257, 770], f16>) -> !smelt.tensor<[s, 50257], f16> {
  ^bb0(%a: !smelt.tensor<[s, 770], f16>, %m: !smelt.tensor<[50257, 770], f16>):
    %t = smelt.transpose %m [1, 0] : <[50257, 770], f16> -> <[770, 50257], f16>
    %1 = smelt.matmul %a, %t : <[s, 770], f16>, <[770, 50257], f16> -> <[s, 50257], f16>
    smelt.yield %1 : !smelt.tensor<[s, 50257], f16>
  }
  return %0 : !smelt.tensor<[s, 50257], f16>
}

// The rows of a slice or of a transposed operand are no constant distance apart where one batch ends: each address is
// asked for. Within a batch they are.
// CHECK: // gemm
// CHECK: static constexpr bool kALinear = false, kBLinear = true, kAPadded = false;
// CHECK: const int m0 = m / 196;
func.func @without_class_token(%x: !smelt.tensor<[b, 197, 64], f16>) -> !smelt.tensor<[b, 196, 128], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 16384, ""> : <[64, 128], f16>
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[b, 197, 64], f16>, !smelt.tensor<[64, 128], f16>) -> !smelt.tensor<[b, 196, 128], f16> {
  ^bb0(%a: !smelt.tensor<[b, 197, 64], f16>, %m: !smelt.tensor<[64, 128], f16>):
    %s = smelt.slice %a starts [#smelt.dim<0>, #smelt.dim<1>, #smelt.dim<0>] steps [1, 1, 1] : <[b, 197, 64], f16> -> <[b, 196, 64], f16>
    %1 = smelt.matmul %s, %m : <[b, 196, 64], f16>, <[64, 128], f16> -> <[b, 196, 128], f16>
    smelt.yield %1 : !smelt.tensor<[b, 196, 128], f16>
  }
  return %0 : !smelt.tensor<[b, 196, 128], f16>
}

// CHECK: // gemm
// CHECK: static constexpr bool kALinear = false, kBLinear = true, kAPadded = false;
func.func @heads_first(%x: !smelt.tensor<[b, 12, s, 64], f16>) -> !smelt.tensor<[b, s, 12, 128], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 16384, ""> : <[64, 128], f16>
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[b, 12, s, 64], f16>, !smelt.tensor<[64, 128], f16>) -> !smelt.tensor<[b, s, 12, 128], f16> {
  ^bb0(%a: !smelt.tensor<[b, 12, s, 64], f16>, %m: !smelt.tensor<[64, 128], f16>):
    %t = smelt.transpose %a [0, 2, 1, 3] : <[b, 12, s, 64], f16> -> <[b, s, 12, 64], f16>
    %1 = smelt.matmul %t, %m : <[b, s, 12, 64], f16>, <[64, 128], f16> -> <[b, s, 12, 128], f16>
    smelt.yield %1 : !smelt.tensor<[b, s, 12, 128], f16>
  }
  return %0 : !smelt.tensor<[b, s, 12, 128], f16>
}

// CHECK: // gemm
// CHECK: static constexpr bool kALinear = true, kBLinear = true, kAPadded = false;
func.func @each_batch_its_product(%x: !smelt.tensor<[b, 197, 64], f16>, %y: !smelt.tensor<[b, 64, 128], f16>) -> !smelt.tensor<[b, 196, 128], f16> {
  %0 = smelt.fusion gemm(%x, %y) : (!smelt.tensor<[b, 197, 64], f16>, !smelt.tensor<[b, 64, 128], f16>) -> !smelt.tensor<[b, 196, 128], f16> {
  ^bb0(%a: !smelt.tensor<[b, 197, 64], f16>, %m: !smelt.tensor<[b, 64, 128], f16>):
    %s = smelt.slice %a starts [#smelt.dim<0>, #smelt.dim<1>, #smelt.dim<0>] steps [1, 1, 1] : <[b, 197, 64], f16> -> <[b, 196, 64], f16>
    %1 = smelt.matmul %s, %m : <[b, 196, 64], f16>, <[b, 64, 128], f16> -> <[b, 196, 128], f16>
    smelt.yield %1 : !smelt.tensor<[b, 196, 128], f16>
  }
  return %0 : !smelt.tensor<[b, 196, 128], f16>
}

// The tail of a product stores the moments of its rows; the next product normalises by them: W' is already scaled,
// u are its column sums, v the bias. Moments are fetched before the main loop and combined once a row.
// CHECK: // gemm+add+row_moments
// CHECK: static constexpr int kRowMoments = 0;
// CHECK: float [[STORED:r[0-9]+]][W];
// CHECK: [[ROUNDED:r[0-9]+]][i] = rounded<half>(
// CHECK: store<W>(out0 + m * 768 + n,
// CHECK: storeMoments<W, WholeWarps>(out1 + m * 48 + (n / 32) * 2, [[ROUNDED]]);
// CHECK: // gemm+moments_mean+mul+sub+moments_rstd+mul+add
// CHECK: static constexpr int kRowMoments = 1;
// CHECK: if constexpr (I == 0)
// CHECK-NEXT: return 24;
// CHECK: if constexpr (I == 0)
// CHECK-NEXT: return in0 + m * 48;
// CHECK: float rowScale(RowMoments row)
// CHECK-NEXT: if constexpr (I == 0)
// CHECK-NEXT: return row.variance == 0 ? 0.0f : rsqrt(row.variance + 9.99999996e-13f);
// CHECK: float [[MEAN:v[0-9]+]] = rows[0].mean;
// CHECK: float [[RSTD:v[0-9]+]] = rows[0].scale;
// CHECK: = [[MEAN]] * v{{[0-9]+}}[i];
// CHECK: = acc[i] - v
// CHECK: * [[RSTD]];
func.func @normalised(%x: !smelt.tensor<[b, s, 768], f16>, %r: !smelt.tensor<[b, s, 768], f16>) -> !smelt.tensor<[b, s, 3072], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 1179648, ""> : <[768, 768], f16>
  %q = smelt.weight "q" <"w.bin", 0, 4718592, ""> : <[768, 3072], f16>
  %u = smelt.weight "u" <"w.bin", 0, 12288, ""> : <[3072], f32>
  %v = smelt.weight "v" <"w.bin", 0, 12288, ""> : <[3072], f32>
  %y, %m = smelt.fusion gemm(%x, %w, %r) : (!smelt.tensor<[b, s, 768], f16>, !smelt.tensor<[768, 768], f16>, !smelt.tensor<[b, s, 768], f16>) -> (!smelt.tensor<[b, s, 768], f16>, !smelt.tensor<[b, s, 24, 2], f32>) {
  ^bb0(%a: !smelt.tensor<[b, s, 768], f16>, %b: !smelt.tensor<[768, 768], f16>, %c: !smelt.tensor<[b, s, 768], f16>):
    %1 = smelt.matmul %a, %b : <[b, s, 768], f16>, <[768, 768], f16> -> <[b, s, 768], f16>
    %2 = smelt.add %1, %c : <[b, s, 768], f16>, <[b, s, 768], f16> -> <[b, s, 768], f16>
    %3 = smelt.row_moments %2 : <[b, s, 768], f16> -> <[b, s, 24, 2], f32>
    smelt.yield %2, %3 : !smelt.tensor<[b, s, 768], f16>, !smelt.tensor<[b, s, 24, 2], f32>
  }
  %z = smelt.fusion gemm(%m, %y, %q, %u, %v) : (!smelt.tensor<[b, s, 24, 2], f32>, !smelt.tensor<[b, s, 768], f16>, !smelt.tensor<[768, 3072], f16>, !smelt.tensor<[3072], f32>, !smelt.tensor<[3072], f32>) -> !smelt.tensor<[b, s, 3072], f16> {
  ^bb0(%g: !smelt.tensor<[b, s, 24, 2], f32>, %a: !smelt.tensor<[b, s, 768], f16>, %b: !smelt.tensor<[768, 3072], f16>, %c: !smelt.tensor<[3072], f32>, %d: !smelt.tensor<[3072], f32>):
    %1 = smelt.matmul %a, %b : <[b, s, 768], f16>, <[768, 3072], f16> -> <[b, s, 3072], f32>
    %2 = smelt.moments_mean %g : <[b, s, 24, 2], f32> -> <[b, s, 1], f32>
    %3 = smelt.mul %2, %c : <[b, s, 1], f32>, <[3072], f32> -> <[b, s, 3072], f32>
    %4 = smelt.sub %1, %3 : <[b, s, 3072], f32>, <[b, s, 3072], f32> -> <[b, s, 3072], f32>
    %5 = smelt.moments_rstd %g {epsilon = 1.0e-12 : f32} : <[b, s, 24, 2], f32> -> <[b, s, 1], f32>
    %6 = smelt.mul %4, %5 : <[b, s, 3072], f32>, <[b, s, 1], f32> -> <[b, s, 3072], f32>
    %7 = smelt.add %6, %d : <[b, s, 3072], f32>, <[3072], f32> -> <[b, s, 3072], f32>
    %8 = smelt.cast %7 : <[b, s, 3072], f32> -> <[b, s, 3072], f16>
    smelt.yield %8 : !smelt.tensor<[b, s, 3072], f16>
  }
  return %z : !smelt.tensor<[b, s, 3072], f16>
}

// A product of one column has no lanes, but its accumulators are counted all the same.
// CHECK: // gemm+neg
// CHECK: kEpilogueWidth = 1;
// CHECK: for (int i = 0; i < W; ++i) {
// CHECK-NEXT: float [[NEGATIVE:v[0-9]+]] = -acc[i];
// CHECK-NEXT: out0[m] = convert<half>([[NEGATIVE]]);
// CHECK-NEXT: }
func.func @one_column(%x: !smelt.tensor<[s, 64], f16>) -> !smelt.tensor<[s, 1], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 128, ""> : <[64, 1], f16>
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[s, 64], f16>, !smelt.tensor<[64, 1], f16>) -> !smelt.tensor<[s, 1], f16> {
  ^bb0(%a: !smelt.tensor<[s, 64], f16>, %m: !smelt.tensor<[64, 1], f16>):
    %1 = smelt.matmul %a, %m : <[s, 64], f16>, <[64, 1], f16> -> <[s, 1], f16>
    %2 = smelt.neg %1 : <[s, 1], f16>
    smelt.yield %2 : !smelt.tensor<[s, 1], f16>
  }
  return %0 : !smelt.tensor<[s, 1], f16>
}

// Many rows: operands whose rows start at multiples of 16 bytes arrive by tensor maps; blocks take
// tiles in turn. The right one is [k][n]: boxes of 64 x 64.
// CHECK: // gemm+add wgmma, tma blockM 128, blockN 128, stages 5
// CHECK-NEXT: // grid [min(132, 96*b), 1, 1], block [384]
// CHECK: #include "kernels/gemm/gemm_tma.cuh"
// CHECK-NOT: const ElementA *a(
// Sums become results where they lie: pairs of columns are computed, vectors of eight stored.
// CHECK: static constexpr bool kInFragments = true;
// CHECK-NEXT: static constexpr int kInputPeriod = 0, kResultBytes = 2;
// CHECK-NEXT: template <int W> struct Results {
// CHECK-NEXT: Vector<half, W> r0;
// CHECK: Results<W> results(
// CHECK: results.r0 = pack<half, W>(r0);
// CHECK-NEXT: return results;
// CHECK: void put(int batch, int m, int n, const Results<W> &results) const {
// CHECK-NEXT: storeVector<W>(out0 + m * 3072 + n, results.r0);
// CHECK-NEXT: }
// CHECK: int size_b, int reversed, const __grid_constant__ smelt::TensorMap mapA, const __grid_constant__ smelt::TensorMap mapB)
// CHECK: smelt::gemmTma<smelt::Config>(smelt::Problem{in0, in1, in2, out0, size_b, reversed}, mapA, mapB, shared);
func.func @large(%x: !smelt.tensor<[b, 512, 768], f16>, %w: !smelt.tensor<[768, 3072], f16>, %bias: !smelt.tensor<[3072], f16>) -> !smelt.tensor<[b, 512, 3072], f16> {
  %0 = smelt.fusion gemm(%x, %w, %bias) : (!smelt.tensor<[b, 512, 768], f16>, !smelt.tensor<[768, 3072], f16>, !smelt.tensor<[3072], f16>) -> !smelt.tensor<[b, 512, 3072], f16> {
  ^bb0(%a: !smelt.tensor<[b, 512, 768], f16>, %c: !smelt.tensor<[768, 3072], f16>, %d: !smelt.tensor<[3072], f16>):
    %1 = smelt.matmul %a, %c : <[b, 512, 768], f16>, <[768, 3072], f16> -> <[b, 512, 3072], f16>
    %2 = smelt.add %1, %d : <[b, 512, 3072], f16>, <[3072], f16> -> <[b, 512, 3072], f16>
    smelt.yield %2 : !smelt.tensor<[b, 512, 3072], f16>
  }
  return %0 : !smelt.tensor<[b, 512, 3072], f16>
}

// Few rows: a block has one tile; of a long K four blocks of a cluster take a part each.
// CHECK: // gemm+add wgmma, tma blockM 64, blockN 64, stages 12, pingPong 0, clusterK 1, oneTile 1
// CHECK-NEXT: // grid [72, 1, 1], block [256], cluster [1, 1], shared
// CHECK: #include "kernels/gemm/gemm_tma_tile.cuh"
// CHECK: kInFragments = false;
// CHECK: smelt::gemmTmaTile<smelt::Config>(smelt::Problem{in0, in1, in2, out0}, mapA, mapB, shared);
func.func @few_rows(%x: !smelt.tensor<[128, 768], f16>, %w: !smelt.tensor<[768, 2304], f16>, %bias: !smelt.tensor<[2304], f16>) -> !smelt.tensor<[128, 2304], f16> {
  %0 = smelt.fusion gemm(%x, %w, %bias) : (!smelt.tensor<[128, 768], f16>, !smelt.tensor<[768, 2304], f16>, !smelt.tensor<[2304], f16>) -> !smelt.tensor<[128, 2304], f16> {
  ^bb0(%a: !smelt.tensor<[128, 768], f16>, %c: !smelt.tensor<[768, 2304], f16>, %d: !smelt.tensor<[2304], f16>):
    %1 = smelt.matmul %a, %c : <[128, 768], f16>, <[768, 2304], f16> -> <[128, 2304], f16>
    %2 = smelt.add %1, %d : <[128, 2304], f16>, <[2304], f16> -> <[128, 2304], f16>
    smelt.yield %2 : !smelt.tensor<[128, 2304], f16>
  }
  return %0 : !smelt.tensor<[128, 2304], f16>
}

// CHECK: // gemm wgmma, tma blockM 64, blockN 64, stages 12, pingPong 0, clusterK 4, oneTile 1
// CHECK-NEXT: // grid [24, 4, 1], block [256], cluster [1, 4], shared
func.func @few_rows_of_long_depth(%x: !smelt.tensor<[128, 3072], f16>, %w: !smelt.tensor<[3072, 768], f16>) -> !smelt.tensor<[128, 768], f16> {
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[128, 3072], f16>, !smelt.tensor<[3072, 768], f16>) -> !smelt.tensor<[128, 768], f16> {
  ^bb0(%a: !smelt.tensor<[128, 3072], f16>, %c: !smelt.tensor<[3072, 768], f16>):
    %1 = smelt.matmul %a, %c : <[128, 3072], f16>, <[3072, 768], f16> -> <[128, 768], f16>
    smelt.yield %1 : !smelt.tensor<[128, 768], f16>
  }
  return %0 : !smelt.tensor<[128, 768], f16>
}

// Results whose moments are stored, long epilogues and results of 32 bits take the way through shared memory.
// CHECK: // gemm+row_moments wgmma, tma
// CHECK: kInFragments = false;
// CHECK: store<W>(out0 + m * 768 + n, r0);
func.func @large_with_moments(%x: !smelt.tensor<[8, 512, 768], f16>, %w: !smelt.tensor<[768, 768], f16>) -> (!smelt.tensor<[8, 512, 768], f16>, !smelt.tensor<[8, 512, 24, 2], f32>) {
  %0:2 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[8, 512, 768], f16>, !smelt.tensor<[768, 768], f16>) -> (!smelt.tensor<[8, 512, 768], f16>, !smelt.tensor<[8, 512, 24, 2], f32>) {
  ^bb0(%a: !smelt.tensor<[8, 512, 768], f16>, %c: !smelt.tensor<[768, 768], f16>):
    %1 = smelt.matmul %a, %c : <[8, 512, 768], f16>, <[768, 768], f16> -> <[8, 512, 768], f16>
    %2 = smelt.row_moments %1 : <[8, 512, 768], f16> -> <[8, 512, 24, 2], f32>
    smelt.yield %1, %2 : !smelt.tensor<[8, 512, 768], f16>, !smelt.tensor<[8, 512, 24, 2], f32>
  }
  return %0#0, %0#1 : !smelt.tensor<[8, 512, 768], f16>, !smelt.tensor<[8, 512, 24, 2], f32>
}

// CHECK: // gemm+gelu wgmma, tma
// CHECK: kInFragments = false;
func.func @large_with_gelu(%x: !smelt.tensor<[8, 512, 768], f16>, %w: !smelt.tensor<[768, 3072], f16>) -> !smelt.tensor<[8, 512, 3072], f16> {
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[8, 512, 768], f16>, !smelt.tensor<[768, 3072], f16>) -> !smelt.tensor<[8, 512, 3072], f16> {
  ^bb0(%a: !smelt.tensor<[8, 512, 768], f16>, %c: !smelt.tensor<[768, 3072], f16>):
    %1 = smelt.matmul %a, %c : <[8, 512, 768], f16>, <[768, 3072], f16> -> <[8, 512, 3072], f16>
    %2 = smelt.gelu %1 : <[8, 512, 3072], f16>
    smelt.yield %2 : !smelt.tensor<[8, 512, 3072], f16>
  }
  return %0 : !smelt.tensor<[8, 512, 3072], f16>
}

// CHECK: // gemm wgmma, tma
// CHECK: kInFragments = false;
// CHECK: store<W>(out0 + m * 3072 + n, r0);
func.func @large_floats(%x: !smelt.tensor<[8, 512, 768], f16>, %w: !smelt.tensor<[768, 3072], f16>) -> !smelt.tensor<[8, 512, 3072], f32> {
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[8, 512, 768], f16>, !smelt.tensor<[768, 3072], f16>) -> !smelt.tensor<[8, 512, 3072], f32> {
  ^bb0(%a: !smelt.tensor<[8, 512, 768], f16>, %c: !smelt.tensor<[768, 3072], f16>):
    %1 = smelt.matmul %a, %c : <[8, 512, 768], f16>, <[768, 3072], f16> -> <[8, 512, 3072], f32>
    smelt.yield %1 : !smelt.tensor<[8, 512, 3072], f32>
  }
  return %0 : !smelt.tensor<[8, 512, 3072], f32>
}

// Rows of 770 elements do not: the copies of gemm_wgmma take them.
// CHECK: // gemm mma
// CHECK-NOT: gemm_tma
// CHECK: // for {{[0-9]+}} or more rows
// CHECK-NEXT: // gemm wgmma
// CHECK: gemm_wgmma.cuh
func.func @unaligned(%x: !smelt.tensor<[m, 770], f16>, %w: !smelt.tensor<[770, 3072], f16>) -> !smelt.tensor<[m, 3072], f16> {
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[m, 770], f16>, !smelt.tensor<[770, 3072], f16>) -> !smelt.tensor<[m, 3072], f16> {
  ^bb0(%a: !smelt.tensor<[m, 770], f16>, %c: !smelt.tensor<[770, 3072], f16>):
    %1 = smelt.matmul %a, %c : <[m, 770], f16>, <[770, 3072], f16> -> <[m, 3072], f16>
    smelt.yield %1 : !smelt.tensor<[m, 3072], f16>
  }
  return %0 : !smelt.tensor<[m, 3072], f16>
}

// Two products of one left operand: B is one matrix whose columns take turns, eight of each; the epilogue reads the sums
// of both for a column of the result.
// CHECK: // gemm+silu+mul
// CHECK: static constexpr int kAVector = 8, kBVector = 8, kEpilogueWidth = 8;
// CHECK: static constexpr bool kBTransposed = false, kBConstant = true;
// CHECK: static constexpr bool kALinear = true, kBLinear = true, kAPadded = false;
// CHECK: static constexpr int kProducts = 2;
// CHECK: __device__ int n() const { return 96; }
// CHECK: return in1 + k * 96 + n;
// CHECK: [[SILU:v[0-9]+]] = approx::silu(acc[i]);
// CHECK: = [[SILU]] * acc[W + i];
// CHECK: store<W>(out0 + m * 48 + n,
func.func @gated(%x: !smelt.tensor<[b, s, 64], f16>) -> !smelt.tensor<[b, s, 48], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 12288, ""> : <[64, 6, 2, 8], f16>
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[64, 6, 2, 8], f16>) -> !smelt.tensor<[b, s, 48], f16> {
  ^bb0(%a: !smelt.tensor<[b, s, 64], f16>, %m: !smelt.tensor<[64, 6, 2, 8], f16>):
    %1 = smelt.slice %m starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[64, 6, 2, 8], f16> -> <[64, 6, 1, 8], f16>
    %g = smelt.reshape %1 : <[64, 6, 1, 8], f16> -> <[64, 48], f16>
    %2 = smelt.slice %m starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<1>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[64, 6, 2, 8], f16> -> <[64, 6, 1, 8], f16>
    %u = smelt.reshape %2 : <[64, 6, 1, 8], f16> -> <[64, 48], f16>
    %3 = smelt.matmul %a, %g : <[b, s, 64], f16>, <[64, 48], f16> -> <[b, s, 48], f16>
    %4 = smelt.silu %3 : <[b, s, 48], f16>
    %5 = smelt.matmul %a, %u : <[b, s, 64], f16>, <[64, 48], f16> -> <[b, s, 48], f16>
    %6 = smelt.mul %4, %5 : <[b, s, 48], f16>, <[b, s, 48], f16> -> <[b, s, 48], f16>
    smelt.yield %6 : !smelt.tensor<[b, s, 48], f16>
  }
  return %0 : !smelt.tensor<[b, s, 48], f16>
}

// Bytes, with a sign on the right alone: 32-bit sums, scaled by the epilogue.
// CHECK: // gemm+mul+add
// CHECK: using ElementA = uint8_t;
// CHECK-NEXT: using ElementB = int8_t;
// CHECK-NEXT: using Sum = int;
// CHECK: static constexpr int kAVector = 16, kBVector = 16, kEpilogueWidth = 8;
// CHECK: static constexpr bool kBTransposed = true, kBConstant = true;
// CHECK: const ElementA *a(
// CHECK: const ElementB *b(
// CHECK: return in1 + k + n * 768;
// CHECK: const Sum (&acc)[kProducts * W]
// CHECK: float [[SUM:v[0-9]+]] = convert<float>(acc[i]);
// CHECK: float [[SCALED:v[0-9]+]] = [[SUM]] * v{{[0-9]+}};
// CHECK: = [[SCALED]] + v{{[0-9]+}}[i];
// CHECK: store<W>(out0 + m * 3072 + n,
func.func @bytes(%x: !smelt.tensor<[b, s, 768], ui8>, %scale: !smelt.tensor<[], f32>) -> !smelt.tensor<[b, s, 3072], f32> {
  %w = smelt.weight "w" <"w.bin", 0, 2359296, ""> : <[3072, 768], i8>
  %c = smelt.weight "c" <"w.bin", 0, 12288, ""> : <[3072], f32>
  %0 = smelt.fusion gemm(%x, %w, %scale, %c) : (!smelt.tensor<[b, s, 768], ui8>, !smelt.tensor<[3072, 768], i8>, !smelt.tensor<[], f32>, !smelt.tensor<[3072], f32>) -> !smelt.tensor<[b, s, 3072], f32> {
  ^bb0(%a: !smelt.tensor<[b, s, 768], ui8>, %m: !smelt.tensor<[3072, 768], i8>, %d: !smelt.tensor<[], f32>, %e: !smelt.tensor<[3072], f32>):
    %t = smelt.transpose %m [1, 0] : <[3072, 768], i8> -> <[768, 3072], i8>
    %1 = smelt.matmul %a, %t : <[b, s, 768], ui8>, <[768, 3072], i8> -> <[b, s, 3072], i32>
    %2 = smelt.cast %1 : <[b, s, 3072], i32> -> <[b, s, 3072], f32>
    %3 = smelt.mul %2, %d : <[b, s, 3072], f32>, <[], f32> -> <[b, s, 3072], f32>
    %4 = smelt.add %3, %e : <[b, s, 3072], f32>, <[3072], f32> -> <[b, s, 3072], f32>
    smelt.yield %4 : !smelt.tensor<[b, s, 3072], f32>
  }
  return %0 : !smelt.tensor<[b, s, 3072], f32>
}

// Floats of 8 bits: the sums are floats, their numbers what the epilogue has, and the rows of both operands bytes.
// CHECK: // gemm
// CHECK: using ElementA = f8e4m3fn;
// CHECK-NEXT: using ElementB = f8e5m2;
// CHECK-NEXT: using Sum = float;
// CHECK: static constexpr int kAVector = 16, kBVector = 16, kEpilogueWidth = 8;
// CHECK: static constexpr bool kBTransposed = true, kBConstant = true;
// CHECK: static constexpr int kStepsOfPart = 2;
// CHECK: half *out0;
// CHECK: convert<half>(acc[i])
func.func @floats8(%x: !smelt.tensor<[b, s, 768], f8E4M3FN>) -> !smelt.tensor<[b, s, 3072], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 2359296, ""> : <[3072, 768], f8E5M2>
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[b, s, 768], f8E4M3FN>, !smelt.tensor<[3072, 768], f8E5M2>) -> !smelt.tensor<[b, s, 3072], f16> {
  ^bb0(%a: !smelt.tensor<[b, s, 768], f8E4M3FN>, %m: !smelt.tensor<[3072, 768], f8E5M2>):
    %t = smelt.transpose %m [1, 0] : <[3072, 768], f8E5M2> -> <[768, 3072], f8E5M2>
    %1 = smelt.matmul %a, %t : <[b, s, 768], f8E4M3FN>, <[768, 3072], f8E5M2> -> <[b, s, 3072], f32>
    %2 = smelt.cast %1 : <[b, s, 3072], f32> -> <[b, s, 3072], f16>
    smelt.yield %2 : !smelt.tensor<[b, s, 3072], f16>
  }
  return %0 : !smelt.tensor<[b, s, 3072], f16>
}

// A result of more than 16 bits, beside one of 16: the sums of each step are added in float.
// CHECK: // gemm
// CHECK: using ElementA = f8e4m3fn;
// CHECK: static constexpr int kStepsOfPart = 1;
// CHECK: float *out0;
func.func @floats8_to_floats(%x: !smelt.tensor<[b, s, 768], f8E4M3FN>) -> (!smelt.tensor<[b, s, 3072], f32>, !smelt.tensor<[b, s, 3072], f16>) {
  %w = smelt.weight "w" <"w.bin", 0, 2359296, ""> : <[3072, 768], f8E4M3FN>
  %0:2 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[b, s, 768], f8E4M3FN>, !smelt.tensor<[3072, 768], f8E4M3FN>) -> (!smelt.tensor<[b, s, 3072], f32>, !smelt.tensor<[b, s, 3072], f16>) {
  ^bb0(%a: !smelt.tensor<[b, s, 768], f8E4M3FN>, %m: !smelt.tensor<[3072, 768], f8E4M3FN>):
    %t = smelt.transpose %m [1, 0] : <[3072, 768], f8E4M3FN> -> <[768, 3072], f8E4M3FN>
    %1 = smelt.matmul %a, %t : <[b, s, 768], f8E4M3FN>, <[768, 3072], f8E4M3FN> -> <[b, s, 3072], f32>
    %2 = smelt.cast %1 : <[b, s, 3072], f32> -> <[b, s, 3072], f16>
    smelt.yield %1, %2 : !smelt.tensor<[b, s, 3072], f32>, !smelt.tensor<[b, s, 3072], f16>
  }
  return %0#0, %0#1 : !smelt.tensor<[b, s, 3072], f32>, !smelt.tensor<[b, s, 3072], f16>
}

// Bytes of bytes, quantised without a zero point: finished where the sums lie, and rounded in pairs.
// CHECK: // gemm+mul+max+min+round
// CHECK: static constexpr bool kInFragments = true;
// CHECK-NEXT: static constexpr int kInputPeriod = 0, kResultBytes = 1;
// CHECK-NEXT: template <int W> struct Results {
// CHECK-NEXT: PackedBytes<W> r0;
// CHECK: float r0[W];
// CHECK-NOT: maximum
// CHECK: results.r0 = packRounded<int8_t, W>(r0);
// CHECK: storePacked<W>(out0 + {{.*}}, results.r0);
func.func @requantised(%x: !smelt.tensor<[4096, 768], i8>) -> !smelt.tensor<[4096, 3072], i8> {
  %w = smelt.weight "w" <"w.bin", 0, 2359296, ""> : <[3072, 768], i8>
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[4096, 768], i8>, !smelt.tensor<[3072, 768], i8>) -> !smelt.tensor<[4096, 3072], i8> {
  ^bb0(%a: !smelt.tensor<[4096, 768], i8>, %m: !smelt.tensor<[3072, 768], i8>):
    %scale = smelt.constant dense<0.001> : tensor<f32> : <[], f32>
    %low = smelt.constant dense<-128.0> : tensor<f32> : <[], f32>
    %high = smelt.constant dense<127.0> : tensor<f32> : <[], f32>
    %t = smelt.transpose %m [1, 0] : <[3072, 768], i8> -> <[768, 3072], i8>
    %1 = smelt.matmul %a, %t : <[4096, 768], i8>, <[768, 3072], i8> -> <[4096, 3072], i32>
    %2 = smelt.cast %1 : <[4096, 3072], i32> -> <[4096, 3072], f32>
    %3 = smelt.mul %2, %scale : <[4096, 3072], f32>, <[], f32> -> <[4096, 3072], f32>
    %4 = smelt.max %3, %low : <[4096, 3072], f32>, <[], f32> -> <[4096, 3072], f32>
    %5 = smelt.min %4, %high : <[4096, 3072], f32>, <[], f32> -> <[4096, 3072], f32>
    %6 = smelt.round %5 : <[4096, 3072], f32>
    %7 = smelt.cast %6 : <[4096, 3072], f32> -> <[4096, 3072], i8>
    smelt.yield %7 : !smelt.tensor<[4096, 3072], i8>
  }
  return %0 : !smelt.tensor<[4096, 3072], i8>
}

// Attention of bytes: neither factor is constant, the right one [k][n] or [n][k] by batch.
// CHECK: // gemm
// CHECK: using ElementA = int8_t;
// CHECK-NEXT: using ElementB = uint8_t;
// CHECK: static constexpr bool kBTransposed = false, kBConstant = false;
// CHECK: store<W>(out0 + batch * size_s * 64 + m * 64 + n,
func.func @batched_bytes(%p: !smelt.tensor<[b, s, 128], i8>, %v: !smelt.tensor<[b, 128, 64], ui8>) -> !smelt.tensor<[b, s, 64], i32> {
  %0 = smelt.fusion gemm(%p, %v) : (!smelt.tensor<[b, s, 128], i8>, !smelt.tensor<[b, 128, 64], ui8>) -> !smelt.tensor<[b, s, 64], i32> {
  ^bb0(%a: !smelt.tensor<[b, s, 128], i8>, %c: !smelt.tensor<[b, 128, 64], ui8>):
    %1 = smelt.matmul %a, %c : <[b, s, 128], i8>, <[b, 128, 64], ui8> -> <[b, s, 64], i32>
    smelt.yield %1 : !smelt.tensor<[b, s, 64], i32>
  }
  return %0 : !smelt.tensor<[b, s, 64], i32>
}

// A convolution: the windows of an image whose channels are last. Zeros around it have no address; a vector of channels has
// one pixel. Of 40 channels the hardware finds no windows.
// CHECK: // gemm+concat+concat {{mma|wgmma block}}
// CHECK: kAVector = 8,
// CHECK: kALinear = false, kBLinear = true, kAPadded = true;
// CHECK: a(int batch, int m, int k) const {
// CHECK: const int m1 = (m / 28) % 28;
// CHECK-NEXT: const int m2 = m % 28;
// CHECK-NEXT: return unsigned(m2 + (k / 40) % 3 - 1) < unsigned(28) && unsigned(m1 + (k / 40) / 3 - 1) < unsigned(28) ? in0 + {{.*}} : nullptr;
func.func @gathered_convolution(%x: !smelt.tensor<[n, 28, 28, 40], f16>) -> !smelt.tensor<[n, 28, 28, 128], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 92160, ""> : <[360, 128], f16>
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[n, 28, 28, 40], f16>, !smelt.tensor<[360, 128], f16>) -> !smelt.tensor<[n, 28, 28, 128], f16> {
  ^bb0(%a: !smelt.tensor<[n, 28, 28, 40], f16>, %b: !smelt.tensor<[360, 128], f16>):
    %zero = smelt.constant dense<0.0> : tensor<f16> : <[], f16>
    %above = smelt.expand %zero : <[], f16> -> <[n, 1, 28, 40], f16>
    %1 = smelt.concat %above, %a, %above axis 1 : !smelt.tensor<[n, 1, 28, 40], f16>, !smelt.tensor<[n, 28, 28, 40], f16>, !smelt.tensor<[n, 1, 28, 40], f16> -> <[n, 30, 28, 40], f16>
    %beside = smelt.expand %zero : <[], f16> -> <[n, 30, 1, 40], f16>
    %2 = smelt.concat %beside, %1, %beside axis 2 : !smelt.tensor<[n, 30, 1, 40], f16>, !smelt.tensor<[n, 30, 28, 40], f16>, !smelt.tensor<[n, 30, 1, 40], f16> -> <[n, 30, 30, 40], f16>
    %3 = smelt.windows %2 axis 1 stride 1 dilation 1 : <[n, 30, 30, 40], f16> -> <[n, 28, 3, 30, 40], f16>
    %4 = smelt.windows %3 axis 3 stride 1 dilation 1 : <[n, 28, 3, 30, 40], f16> -> <[n, 28, 3, 28, 3, 40], f16>
    %5 = smelt.transpose %4 [0, 1, 3, 2, 4, 5] : <[n, 28, 3, 28, 3, 40], f16> -> <[n, 28, 28, 3, 3, 40], f16>
    %6 = smelt.reshape %5 : <[n, 28, 28, 3, 3, 40], f16> -> <[n, 28, 28, 360], f16>
    %7 = smelt.matmul %6, %b : <[n, 28, 28, 360], f16>, <[360, 128], f16> -> <[n, 28, 28, 128], f16>
    smelt.yield %7 : !smelt.tensor<[n, 28, 28, 128], f16>
  }
  return %0 : !smelt.tensor<[n, 28, 28, 128], f16>
}

// Of 64 it does: the kernel says where a row's window begins, and where a tap lies in it.
// CHECK: // gemm+concat+concat wgmma, tma {{.*}}, windows
// CHECK: WindowPlace windowAt(int m) const {
// CHECK: return {m2 - 1, m1 - 1, m0};
// CHECK: WindowOffset windowOffset(int k) const {
// CHECK: const int k0 = (k / 64) / 3;
// CHECK-NEXT: const int k1 = (k / 64) % 3;
// CHECK-NEXT: const int k2 = k % 64;
// CHECK-NEXT: return {k2, k1, k0};
// CHECK: gemmTma{{(Tile)?}}<smelt::Config, smelt::WindowRows<128>>(
func.func @convolution(%x: !smelt.tensor<[n, 28, 28, 64], f16>) -> !smelt.tensor<[n, 28, 28, 128], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 147456, ""> : <[576, 128], f16>
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[n, 28, 28, 64], f16>, !smelt.tensor<[576, 128], f16>) -> !smelt.tensor<[n, 28, 28, 128], f16> {
  ^bb0(%a: !smelt.tensor<[n, 28, 28, 64], f16>, %b: !smelt.tensor<[576, 128], f16>):
    %zero = smelt.constant dense<0.0> : tensor<f16> : <[], f16>
    %above = smelt.expand %zero : <[], f16> -> <[n, 1, 28, 64], f16>
    %1 = smelt.concat %above, %a, %above axis 1 : !smelt.tensor<[n, 1, 28, 64], f16>, !smelt.tensor<[n, 28, 28, 64], f16>, !smelt.tensor<[n, 1, 28, 64], f16> -> <[n, 30, 28, 64], f16>
    %beside = smelt.expand %zero : <[], f16> -> <[n, 30, 1, 64], f16>
    %2 = smelt.concat %beside, %1, %beside axis 2 : !smelt.tensor<[n, 30, 1, 64], f16>, !smelt.tensor<[n, 30, 28, 64], f16>, !smelt.tensor<[n, 30, 1, 64], f16> -> <[n, 30, 30, 64], f16>
    %3 = smelt.windows %2 axis 1 stride 1 dilation 1 : <[n, 30, 30, 64], f16> -> <[n, 28, 3, 30, 64], f16>
    %4 = smelt.windows %3 axis 3 stride 1 dilation 1 : <[n, 28, 3, 30, 64], f16> -> <[n, 28, 3, 28, 3, 64], f16>
    %5 = smelt.transpose %4 [0, 1, 3, 2, 4, 5] : <[n, 28, 3, 28, 3, 64], f16> -> <[n, 28, 28, 3, 3, 64], f16>
    %6 = smelt.reshape %5 : <[n, 28, 28, 3, 3, 64], f16> -> <[n, 28, 28, 576], f16>
    %7 = smelt.matmul %6, %b : <[n, 28, 28, 576], f16>, <[576, 128], f16> -> <[n, 28, 28, 128], f16>
    smelt.yield %7 : !smelt.tensor<[n, 28, 28, 128], f16>
  }
  return %0 : !smelt.tensor<[n, 28, 28, 128], f16>
}

// A total counts what is stored as it is rounded, by the thread that owns the vector.
// CHECK: // gemm+add+is_inf+reduce
// CHECK: half *out0; // [b, s, 64]
// CHECK: int64_t *out1; // [1, 1, 1]
// CHECK: struct Counts {
// CHECK-NEXT: int [[COUNT:count[0-9]+]] = 0;
// CHECK: void addCounts(const Counts &counts) const {
// CHECK-NEXT: addToTotal(out1, counts.[[COUNT]]);
// CHECK: const RowStatistics (&rows)[1], bool isOwner,
// CHECK-NEXT: Counts &counts) const {
// CHECK: float [[SUM:v[0-9]+]] = {{.*}}acc[i]
// CHECK: bool [[TEST:v[0-9]+]] = becomesInfinite<half>([[SUM]]); // IsInf_3
// CHECK: [[VECTOR:v[0-9]+]] += isOwner && [[TEST]];
// CHECK: store<W>(out0 + m * 64 + n,
// CHECK-NEXT: counts.[[COUNT]] += [[VECTOR]];
func.func @counted(%x: !smelt.tensor<[b, s, 64], f16>, %r: !smelt.tensor<[b, s, 64], f16>) -> (!smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[1, 1, 1], i64>) {
  %w = smelt.weight "w" <"w.bin", 0, 8192, ""> : <[64, 64], f16>
  %0:2 = smelt.fusion gemm(%x, %w, %r) : (!smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[64, 64], f16>, !smelt.tensor<[b, s, 64], f16>) -> (!smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[1, 1, 1], i64>) {
  ^bb0(%a: !smelt.tensor<[b, s, 64], f16>, %m: !smelt.tensor<[64, 64], f16>, %c: !smelt.tensor<[b, s, 64], f16>):
    %1 = smelt.matmul %a, %m : <[b, s, 64], f16>, <[64, 64], f16> -> <[b, s, 64], f16>
    %2 = smelt.add %1, %c : <[b, s, 64], f16>, <[b, s, 64], f16> -> <[b, s, 64], f16>
    %3 = smelt.is_inf %2 : <[b, s, 64], f16> -> <[b, s, 64], i1> loc("IsInf_3")
    %4 = smelt.cast %3 : <[b, s, 64], i1> -> <[b, s, 64], i64>
    %5 = smelt.reduce sum %4 axes [0, 1, 2] : <[b, s, 64], i64> -> <[1, 1, 1], i64>
    smelt.yield %2, %5 : !smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[1, 1, 1], i64>
  }
  return %0#0, %0#1 : !smelt.tensor<[b, s, 64], f16>, !smelt.tensor<[1, 1, 1], i64>
}

// Halves of heads as two products, turned by tables [s, 64]: both sums of a pair of columns lie in one thread, tables are the
// same from head to head, and each half is stored where its head has it. What is compared of positions is known once a vector.
// CHECK: // gemm+mul+neg+mul+add+mul+mul+5more wgmma, tma
// CHECK: static constexpr int kProducts = 2;
// CHECK: half *out0; // [b, 512, 12, 2, 32]
// CHECK: template <int W> struct Inputs {
// CHECK-NEXT: Vector<half, W> [[COS:v[0-9]+]];
// CHECK-NEXT: Vector<half, W> [[SIN:v[0-9]+]];
// CHECK: inputs.[[COS]] = loadVector<W>(in2 + m1 * 64 + n % 32);
// CHECK: static constexpr bool kInFragments = true;
// CHECK-NEXT: static constexpr int kInputPeriod = 32, kResultBytes = 2;
// CHECK-NEXT: template <int W> struct Results {
// CHECK-NEXT: Vector<half, W> r0;
// CHECK-NEXT: Vector<half, W> r1;
// CHECK: bool [[TURNED:v[0-9]+]] = int(n / 32) < 10;
// CHECK: acc[i] * [[COS]][i];
// CHECK: -acc[W + i]
// CHECK: = [[TURNED]] ? {{v[0-9]+}} : acc[i];
// CHECK: = [[TURNED]] ? {{v[0-9]+}} : acc[W + i];
// CHECK: storeVector<W>(out0 + m * 768 + (n / 32) * 64 + n % 32, results.r0);
// CHECK-NEXT: storeVector<W>(out0 + m * 768 + (n / 32) * 64 + n % 32 + 32, results.r1);
func.func @rotary(%x: !smelt.tensor<[b, 512, 768], f16>, %w: !smelt.tensor<[768, 768], f16>, %cos: !smelt.tensor<[512, 64], f16>, %sin: !smelt.tensor<[512, 64], f16>) -> !smelt.tensor<[b, 512, 12, 2, 32], f16> {
  %0 = smelt.fusion gemm(%x, %w, %cos, %sin) : (!smelt.tensor<[b, 512, 768], f16>, !smelt.tensor<[768, 768], f16>, !smelt.tensor<[512, 64], f16>, !smelt.tensor<[512, 64], f16>) -> !smelt.tensor<[b, 512, 12, 2, 32], f16> {
  ^bb0(%a: !smelt.tensor<[b, 512, 768], f16>, %turned: !smelt.tensor<[768, 768], f16>, %p: !smelt.tensor<[512, 64], f16>, %q: !smelt.tensor<[512, 64], f16>):
    %back = smelt.transpose %turned [1, 0] : <[768, 768], f16> -> <[768, 768], f16>
    %both = smelt.reshape %back : <[768, 768], f16> -> <[768, 48, 2, 8], f16>
    %c = smelt.slice %p starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[512, 64], f16> -> <[512, 32], f16>
    %c4 = smelt.reshape %c : <[512, 32], f16> -> <[512, 1, 32], f16>
    %n = smelt.slice %q starts [#smelt.dim<0>, #smelt.dim<0>] steps [1, 1] : <[512, 64], f16> -> <[512, 32], f16>
    %n4 = smelt.reshape %n : <[512, 32], f16> -> <[512, 1, 32], f16>
    %l0 = smelt.slice %both starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[768, 48, 2, 8], f16> -> <[768, 48, 1, 8], f16>
    %l1 = smelt.reshape %l0 : <[768, 48, 1, 8], f16> -> <[768, 384], f16>
    %l2 = smelt.matmul %a, %l1 : <[b, 512, 768], f16>, <[768, 384], f16> -> <[b, 512, 384], f16>
    %l = smelt.reshape %l2 : <[b, 512, 384], f16> -> <[b, 512, 12, 32], f16>
    %u0 = smelt.slice %both starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<1>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[768, 48, 2, 8], f16> -> <[768, 48, 1, 8], f16>
    %u1 = smelt.reshape %u0 : <[768, 48, 1, 8], f16> -> <[768, 384], f16>
    %u2 = smelt.matmul %a, %u1 : <[b, 512, 768], f16>, <[768, 384], f16> -> <[b, 512, 384], f16>
    %u = smelt.reshape %u2 : <[b, 512, 384], f16> -> <[b, 512, 12, 32], f16>
    %lc = smelt.mul %l, %c4 : <[b, 512, 12, 32], f16>, <[512, 1, 32], f16> -> <[b, 512, 12, 32], f16>
    %un = smelt.neg %u : <[b, 512, 12, 32], f16>
    %us = smelt.mul %un, %n4 : <[b, 512, 12, 32], f16>, <[512, 1, 32], f16> -> <[b, 512, 12, 32], f16>
    %low = smelt.add %lc, %us : <[b, 512, 12, 32], f16>, <[b, 512, 12, 32], f16> -> <[b, 512, 12, 32], f16>
    %uc = smelt.mul %u, %c4 : <[b, 512, 12, 32], f16>, <[512, 1, 32], f16> -> <[b, 512, 12, 32], f16>
    %ls = smelt.mul %l, %n4 : <[b, 512, 12, 32], f16>, <[512, 1, 32], f16> -> <[b, 512, 12, 32], f16>
    %high = smelt.add %uc, %ls : <[b, 512, 12, 32], f16>, <[b, 512, 12, 32], f16> -> <[b, 512, 12, 32], f16>
    %i = smelt.iota : <[12], i32>
    %head = smelt.reshape %i : <[12], i32> -> <[12, 1], i32>
    %ten = smelt.constant dense<10> : tensor<i32> : <[], i32>
    %is = smelt.less %head, %ten : <[12, 1], i32>, <[], i32> -> <[12, 1], i1>
    %sl = smelt.select %is, %low, %l : <[12, 1], i1>, <[b, 512, 12, 32], f16>, <[b, 512, 12, 32], f16> -> <[b, 512, 12, 32], f16>
    %su = smelt.select %is, %high, %u : <[12, 1], i1>, <[b, 512, 12, 32], f16>, <[b, 512, 12, 32], f16> -> <[b, 512, 12, 32], f16>
    %s1 = smelt.reshape %sl : <[b, 512, 12, 32], f16> -> <[b, 512, 12, 1, 32], f16>
    %s2 = smelt.reshape %su : <[b, 512, 12, 32], f16> -> <[b, 512, 12, 1, 32], f16>
    %heads = smelt.concat %s1, %s2 axis 3 : !smelt.tensor<[b, 512, 12, 1, 32], f16>, !smelt.tensor<[b, 512, 12, 1, 32], f16> -> <[b, 512, 12, 2, 32], f16>
    smelt.yield %heads : !smelt.tensor<[b, 512, 12, 2, 32], f16>
  }
  return %0 : !smelt.tensor<[b, 512, 12, 2, 32], f16>
}

// A single row, that of a token which is decoded, is a matrix, and no window of an image whose addresses others would compute.
// CHECK: // gemm mma blockM 16,
// CHECK-NOT: windowAt
// CHECK: smelt::gemm<smelt::Config>
func.func @one_row(%x: !smelt.tensor<[1, 1, 2048], f16>) -> !smelt.tensor<[1, 1, 3072], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 12582912, ""> : <[2048, 3072], f16>
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[1, 1, 2048], f16>, !smelt.tensor<[2048, 3072], f16>) -> !smelt.tensor<[1, 1, 3072], f16> {
  ^bb0(%a: !smelt.tensor<[1, 1, 2048], f16>, %m: !smelt.tensor<[2048, 3072], f16>):
    %1 = smelt.matmul %a, %m : <[1, 1, 2048], f16>, <[2048, 3072], f16> -> <[1, 1, 3072], f16> loc("MatMul_0")
    smelt.yield %1 : !smelt.tensor<[1, 1, 3072], f16>
  }
  return %0 : !smelt.tensor<[1, 1, 3072], f16>
}
