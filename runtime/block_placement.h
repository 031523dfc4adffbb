// Blocks of kernels that start before the one before has ended, spread over all multiprocessors.
//
// Problem: with programmatic launch a kernel's blocks are placed while those of the kernel before still hold
// most of the shared memory. The hardware puts a block where most further ones fit: two or three on each of
// the few multiprocessors that are free, while those that become free a microsecond later get none. Of 96
// blocks behind 96 others that fill a multiprocessor each, 72 lie in pairs on 36 of 132, and take twice as long.
// Method: ask for more shared memory than a kernel needs, so much that no multiprocessor takes more than its
// share. For each number of blocks that a multiprocessor may hold, one size comes into question, the least for it.
// The one that spreads the blocks best is taken, and among those the one that lets most of them start early, beside
// the blocks of the kernel before: what is asked for beyond need keeps them out.
//
// Assumes: the policy of placement that Gilman, Ogden, Guo and Walls found ("Demystifying the Placement Policies of
// the NVIDIA GPU Thread Block Scheduler for Concurrent Kernels", 2020): where there is most room; of equals, so the
// times say, where none of the kernel's blocks lies yet. Shared memory decides how many blocks fit: kernels for
// which registers or threads do are light, and stay as they are. No result depends on any of it.
// Gain, on one H200, plans for a shape: bert_base 1x128 0.266 ms to 0.248, gpt2 1x128 0.289 to 0.272, vit_b16 of one
// image 0.322 to 0.316, resnet50 of one image 0.189 to 0.185; of many rows, where blocks fill the GPU, nothing.
// (All kernels by themselves on their multiprocessors: BERT and GPT-2 the same, ResNet-50 11 % slower than before.)
#pragma once

#include "runtime/device.h"
#include "runtime/schedule.h"

namespace smelt::runtime {

/// Kernels with less shared memory (bytes) are left as they are.
inline constexpr uint32_t kLeastPlacedBytes = 8 * 1024;

/// Blocks of a kernel and the dynamic shared memory of each, in bytes.
struct KernelBlocks {
  uint64_t count = 0;
  uint32_t sharedBytes = 0;
};

/// How a kernel's blocks come to lie when they are placed beside those of another.
struct BlockPlacement {
  uint64_t most = 0; ///< on one multiprocessor
  uint64_t late = 0; ///< blocks that start only when others have ended
};
BlockPlacement placeBlocks(const Multiprocessors &device, KernelBlocks before, KernelBlocks blocks);

/// Shared memory to ask for, at least what the blocks need, where they start beside those of `before`.
uint32_t spreadingBytes(const Multiprocessors &device, KernelBlocks before, KernelBlocks blocks);

/// The most that spreadingBytes() asks for beyond need.
uint32_t mostSpreadingBytes(const Multiprocessors &device);

/// Sets the shared memory of those of the schedule's kernels that start before the launch before has ended, on a
/// device on which they do.
void spreadBlocks(const Multiprocessors &device, const LaunchTable &table, Schedule &schedule);

} // namespace smelt::runtime
