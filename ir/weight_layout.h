// How kernel templates want the constant operands of their fusions to lie in memory. Asked for by
// what a template can take, and provided by the pass that forms the fusion, which has the weight
// laid out anew (passes/fuse/lay_out_weights.h); the plan stores what the fusion reads.
//
// A template with a wish of its own, such as a convolution that wants its filters [K, R, S, C], adds
// a layout here, the question who asks for it, and the case in layOutWeights that makes it.
#pragma once

#include "ir/dialect.h"

namespace smelt {

enum class WeightLayout {
  asGiven,           ///< as the model has it
  kMajor,            ///< a matrix [K, N] as [N, K]
  interleaved,       ///< two matrices [K, N] as one, [K, N / 8, 2, 8] (kInterleavedColumns)
  interleavedKMajor, ///< the same turned round, [N / 8, 2, 8, K]
};

/// What the GEMM templates ask for the right operands of products that become one kernel.
///
/// Two that can share rows take turns. One is copied to shared memory by 16 bytes at a time, along K
/// or along N, where each row or column begins at a multiple of them; columns of 30522 halves do not,
/// and an odd number of halves even goes through registers one by one. Such a weight is turned
/// round, if K allows what N does not. Bytes are turned round wherever K allows words: no instruction
/// transposes them on the way from shared memory to the tensor cores.
///
/// 16-bit weights of up to 16 MB (of two products together) are turned round wherever K allows: tiles of 96 columns are one box of a
/// tensor map then, not three of 32 columns (11 % less time over 31 products, up to 21), mma.sync's tiles of
/// few rows take 11 % less, and others as long as before (54 products of 64 to 16384 rows on an H100). Larger
/// ones of few rows take 1 to 7 % longer so. Not where weights are exchanged later (`isRefit`, ir/refit.h):
/// updates of what was turned round pass through the host.
WeightLayout gemmWeightLayout(llvm::ArrayRef<MatmulOp> products, bool isRefit);

} // namespace smelt
