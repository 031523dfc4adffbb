// What the tilings without wgmma cost: a model of their times, fitted to timings of an H200 (programmatic launches, cold weights) of
// about 150 products; of 16-bit operands to 42 of up to 256 rows (n and k 384 to 3072), measured later:
//
//   time = waves * (start + steps * step + finish) , for a block that passes `steps` = K / blockK /
//   clusterK; a step takes as long as the slower of its operands' way to shared memory and its
//   arithmetic, plus the cost of the barrier
//
// One block alone takes in so much a microsecond, the blocks of one multiprocessor together more, those of all of
// them less each (MmaCosts), and memory no more than 4,000 KB. Blocks that fit a multiprocessor side by side share its rates; those
// that fit nowhere wait for the next wave. A cluster pays for the exchange of its sums. Only the order of
// the configurations matters: measured and modelled best agree within 10 % on the fitted set.
#pragma once

#include "codegen/kernels/gemm/gemm_choice.h"

namespace smelt::codegen {

/// Shares of the peak that the main loops reach: mma.sync of 16 bits and of bytes where wgmma exists, and where
/// not, tf32, FFMA, and tf32 where floats are split, each product into three.
inline constexpr double kMmaBesideWgmma = 0.41, kMmaOfBytesBesideWgmma = 0.5, kMma = 0.8,
                        kMmaTf32 = 0.4, kSimt = 0.75, kMmaSplit = 0.5 / 3;

/// What `choice` takes for `rows` rows of a product of operands of `elementBytes`, in microseconds; `flopsPerClock` are those that its
/// main loop reaches in one multiprocessor.
double mmaMicroseconds(const GemmChoice &choice, const GemmShape &shape, GemmPrecision precision,
                       const Target &target, int64_t rows, int elementBytes, double flopsPerClock);

/// What copies of windows take a block to address, where another template (`hasTensorMaps`) has the hardware do it, in microseconds.
double microsecondsOfAddresses(const GemmChoice &choice, const GemmShape &shape,
                               bool hasTensorMaps);

} // namespace smelt::codegen
