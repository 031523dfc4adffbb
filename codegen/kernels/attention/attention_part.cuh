// Columns of an attention's row over a part of its keys, and how parts become the row.
//
// Problem: warps of a block, blocks of a cluster or of a grid share the keys of a row. Each sums up
// relative to the largest score that it has seen, so that sums of different parts do not add. Method: what
// a part has summed up weighs e^(its maximum - the maximum of all); the row's sum of probabilities, summed
// up the same way, divides in the end. A part that has seen nothing but -infinity has a maximum of
// -infinity and sums of 0, and weighs nothing. Assumes: sums and statistics of a part lie together in
// shared memory, floats, the sums of a row aligned to 16 bytes where there is a multiple of four of them.
#pragma once

#include "device/math.cuh"
#include "device/tile.cuh"
#include "kernels/attention/attention_block.cuh"

namespace smelt {

/// What a score's finite distance is measured from.
__device__ __forceinline__ float finiteReference(float maximum) {
  return maximum == -infinity() ? 0.0f : maximum;
}

template <int Columns> struct AttentionPart {
  float maximum = -infinity(), total = 0.0f; ///< the largest score, the probabilities' sum
  float sums[Columns] = {};                  ///< of probabilities times values

  /// Adds what other keys came to; scores times exponentScale are powers of two.
  __device__ __forceinline__ void add(const AttentionPart &other, float exponentScale) {
    float largest = ::fmaxf(maximum, other.maximum), reference = finiteReference(largest);
    float weight = ptx::exp2Approx((maximum - reference) * exponentScale);
    float otherWeight = ptx::exp2Approx((other.maximum - reference) * exponentScale);
    maximum = largest;
    total = ::fmaf(otherWeight, other.total, weight * total);
#pragma unroll
    for (int c = 0; c < Columns; ++c)
      sums[c] = ::fmaf(otherWeight, other.sums[c], weight * sums[c]);
  }

  /// Turns the sums of all keys into the row's columns.
  template <class Problem> __device__ __forceinline__ void normalize(const Problem &problem) {
    float scale = normalization(problem, total);
#pragma unroll
    for (int c = 0; c < Columns; ++c)
      sums[c] *= scale;
  }
};

/// All `Parts` in shared memory, of which statistics(part), the maximum and the total, and sums(part) are
/// the addresses.
template <int Parts, int Columns, class Statistics, class Sums>
__device__ __forceinline__ AttentionPart<Columns>
mergeParts(float exponentScale, const Statistics &statistics, const Sums &sums) {
  AttentionPart<Columns> merged;
#pragma unroll
  for (int part = 0; part < Parts; ++part)
    merged.maximum = ::fmaxf(merged.maximum, ptx::loadShared(statistics(part)));
  float reference = finiteReference(merged.maximum);
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    float maximum, total, values[Columns];
    ptx::loadShared(statistics(part), maximum, total);
    loadSharedRow(sums(part), values);
    float weight = ptx::exp2Approx((maximum - reference) * exponentScale);
    merged.total = ::fmaf(weight, total, merged.total);
#pragma unroll
    for (int c = 0; c < Columns; ++c)
      merged.sums[c] = ::fmaf(weight, values[c], merged.sums[c]);
  }
  return merged;
}

} // namespace smelt
