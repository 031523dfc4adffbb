// The machine and its instructions against their definitions: what threads exchange, when copies and multiplications
// happen, how matrices lie in shared memory, and that what is wrong in a kernel is reported.
#include "tests/emulator/machine.h"
#include "tests/emulator/matrices.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace smelt::emulator {
namespace {

/// A kernel whose parameter is what its threads do.
void kernel(Machine &on, void *const *parameters) {
  machine = &on;
  (*static_cast<std::function<void()> *>(parameters[0]))();
}

/// Runs `work` as the kernel, by blocks of so many threads.
void runThreads(unsigned threads, std::function<void()> work, unsigned sharedBytes = 4096,
                Index3 grid = {1, 1, 1}, Index3 cluster = {1, 1, 1}) {
  run({"kernel", kernel, grid, {threads, 1, 1}, cluster, sharedBytes, {&work}});
}

uint32_t sharedAddress(unsigned place) {
  return uint32_t(__cvta_generic_to_shared(dynamicShared() + place));
}

TEST(Machine, AllThreadsOfAllBlocksRun) {
  std::vector<int> runs(576);
  runThreads(96, [&] { ++runs[(blockIdx.x + 2 * blockIdx.y) * blockDim.x + threadIdx.x]; }, 0,
             {2, 3, 1});
  EXPECT_EQ(runs, std::vector<int>(runs.size(), 1));
}

TEST(Machine, LanesExchange) {
  std::vector<int> sums(64), first(64);
  runThreads(64, [&] {
    int value = int(threadIdx.x), sum = value;
    for (int step = 1; step < 8; step *= 2)
      sum += __shfl_xor_sync(0xffu << threadIdx.x % 32 / 8 * 8, sum, step);
    sums[threadIdx.x] = sum;
    first[threadIdx.x] = __shfl_sync(0xffffffffu, value, 3, 16);
  });
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(sums[i], 8 * (i / 8 * 8) + 28);
    EXPECT_EQ(first[i], i / 16 * 16 + 3);
  }
}

TEST(Machine, SharedMemoryHoldsWhatIsWrittenBeforeABarrier) {
  std::vector<int> seen(128);
  runThreads(128, [&] {
    auto *shared = reinterpret_cast<int *>(dynamicShared());
    shared[threadIdx.x] = int(threadIdx.x);
    __syncthreads();
    seen[threadIdx.x] = shared[127 - threadIdx.x];
  });
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(seen[i], 127 - i);
}

TEST(Machine, ThreadsThatHaveEndedAreNotWaitedFor) {
  int after = 0;
  runThreads(64, [&] {
    if (threadIdx.x >= 32)
      return;
    __syncthreads();
    ++after;
  });
  EXPECT_EQ(after, 32);
}

TEST(Machine, NamedBarriersCountArrivals) {
  int value = 0, seen = 0;
  runThreads(64, [&] {
    if (threadIdx.x < 32) {
      value = 7;
      bar_arrive(1, 64);
    } else {
      bar_sync(1, 64);
      seen += value;
    }
  });
  EXPECT_EQ(seen, 32 * 7);
}

TEST(Machine, BlocksOfAClusterReachEachOther) {
  std::vector<float> seen(4);
  runThreads(32,
             [&] {
               unsigned rank = blockIdx.y % 4, target = 0;
               mapa_shared__cluster_u32(target, sharedAddress(16), (rank + 1) % 4);
               barrier_cluster_arrive_release_aligned();
               barrier_cluster_wait_acquire_aligned();
               if (threadIdx.x == 0)
                 st_shared__cluster_b32(target, float(rank));
               barrier_cluster_arrive_release_aligned();
               barrier_cluster_wait_acquire_aligned();
               float value = 0;
               ld_shared_f32(value, sharedAddress(16));
               seen[rank] = value;
             },
             64, {1, 4, 1}, {1, 4, 1});
  EXPECT_EQ(seen, (std::vector<float>{3, 0, 1, 2}));
}

TEST(Machine, CopiesHappenWhenAskedForOrWhenWaitedFor) {
  std::vector<int> source(256, 7), before, after;
  runThreads(
      1,
      [&] {
        auto *shared = reinterpret_cast<int *>(dynamicShared());
        for (unsigned i = 0; i < 256; ++i)
          cp_async_ca_shared_global(sharedAddress(4 * i), &source[i], 4, i < 128 ? 4 : 0);
        cp_async_commit_group();
        before.assign(shared, shared + 256);
        cp_async_wait_group(0);
        after.assign(shared, shared + 256);
      },
      1024);
  for (int i : {0, 128}) {
    auto happened = std::count(before.begin() + i, before.begin() + i + 128, i == 0 ? 7 : 0);
    EXPECT_TRUE(happened > 30 && happened < 98) << happened;
    EXPECT_EQ(std::count(before.begin() + i, before.begin() + i + 128, -1), 128 - happened);
    EXPECT_EQ(std::count(after.begin() + i, after.begin() + i + 128, i == 0 ? 7 : 0), 128);
  }
}

// --- What is wrong in a kernel ---

using MachineDeathTest = testing::Test;

TEST(MachineDeathTest, AWaitThatNothingEnds) {
  EXPECT_DEATH(runThreads(64,
                          [] {
                            if (threadIdx.x != 5)
                              __syncwarp();
                          }),
               "kernel: block .0, 0, 0., thread .* waits for ever, for lanes of its warp");
  EXPECT_DEATH(runThreads(64, [] { bar_sync(1, 128); }), "waits for ever, for a barrier");
}

TEST(MachineDeathTest, SharedMemoryThatIsNotThere) {
  EXPECT_DEATH(runThreads(
                   1, [] { st_shared_b32(sharedAddress(64), 1.0f); }, 64),
               "reaches beyond its shared memory");
  EXPECT_DEATH(runThreads(1, [] { st_shared_b32(sharedAddress(2), 1.0f); }, 64), "is not aligned");
}

TEST(MachineDeathTest, MultiplicationsThatNobodyWaitsFor) {
  EXPECT_DEATH(runThreads(128,
                          [] {
                            static float d[8];
                            auto sums = group(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
                            wgmma_mma_async_sync_aligned_f32_f16_f16<64, 16, 16>(sums, 0, 0, false,
                                                                                 1, 1, 0, 0);
                            wgmma_commit_group_sync_aligned();
                          }),
               "ends before its multiplications");
}

// --- Matrices ---

float valueOf(int row, int column) { return float((row * 31 + column * 17) % 23 - 11); }

/// A box of a matrix of 16-bit floats, 64 columns wide, copied to shared memory as bulk copies do it.
void copyTile(const std::vector<uint16_t> &matrix, int rows, uint32_t target, uint32_t barrier) {
  HostTensorMap map = {};
  map.address = reinterpret_cast<uint64_t>(matrix.data());
  map.rank = 2, map.sizes[0] = 64, map.sizes[1] = uint64_t(rows), map.strides[0] = 128;
  map.box = 64 | uint64_t(rows) << 12;
  map.kind = 2 | 3 << 8;
  int column = 0, row = 0;
  if (threadIdx.x == 0) {
    mbarrier_init_shared__cta_b64(barrier, 1);
    mbarrier_arrive_expect_tx_shared__cta_b64(ignored, barrier, uint32_t(rows) * 128);
    cp_async_bulk_tensor_2d_shared__cluster_global_tile_mbarrier__complete_tx__bytes(
        target, &map, group(column, row), barrier);
  }
  __syncthreads();
  bool ended = false;
  mbarrier_try_wait_parity_shared__cta_b64(ended, barrier, 0);
  __syncthreads();
}

std::vector<uint16_t> matrixOf(int rows, int salt) {
  std::vector<uint16_t> bits(size_t(rows) * 64);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < 64; ++column)
      bits[size_t(row) * 64 + column] = toHalfBits(valueOf(row + salt, column));
  return bits;
}

uint64_t describe128(uint32_t address) {
  return uint64_t((address & 0x3ffff) / 16) | uint64_t(1024 / 16) << 32 | uint64_t(1) << 62;
}

/// 64 x 16 sums over a K of 64: A has K along its rows, and B too, or B has the columns along its rows.
void checkProduct(bool transposesB) {
  auto a = matrixOf(64, 0), b = matrixOf(64, 5);
  std::vector<float> result(1024);
  runThreads(
      128,
      [&] {
        uint32_t tileA = sharedAddress(0), tileB = sharedAddress(8192),
                 barrier = sharedAddress(16384);
        copyTile(a, 64, tileA, barrier);
        copyTile(b, 64, tileB, barrier + 8);
        float d[8] = {};
        auto sums = group(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
        for (uint32_t k = 0; k < 4; ++k)
          wgmma_mma_async_sync_aligned_f32_f16_f16<64, 16, 16>(
              sums, describe128(tileA + 32 * k), describe128(tileB + (transposesB ? 2048 : 32) * k),
              k > 0, 1, 1, 0, transposesB);
        wgmma_commit_group_sync_aligned();
        wgmma_wait_group_sync_aligned(0);
        for (unsigned i = 0; i < 8; ++i) {
          unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8,
                   column = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
          result[row * 16 + column] = d[i];
        }
      },
      16384 + 16);
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 16; ++column) {
      float expected = 0;
      for (int k = 0; k < 64; ++k)
        expected +=
            valueOf(row, k) * (transposesB ? valueOf(k + 5, column) : valueOf(column + 5, k));
      ASSERT_EQ(result[size_t(row) * 16 + column], expected) << row << " " << column;
    }
}

TEST(Matrices, AWarpgroupMultipliesRowsAlongK) { checkProduct(false); }
TEST(Matrices, AWarpgroupMultipliesColumnsAcrossK) { checkProduct(true); }

TEST(Matrices, AWarpMultipliesWhatItLoads) {
  std::vector<float> result(128);
  runThreads(32, [&] {
    auto *shared = reinterpret_cast<uint16_t *>(dynamicShared());
    unsigned lane = threadIdx.x;
    for (unsigned i = lane; i < 16 * 16; i += 32) {
      shared[i] = toHalfBits(valueOf(int(i / 16), int(i % 16)));           // A, row by row
      shared[256 + i] = toHalfBits(valueOf(int(i / 16) + 3, int(i % 16))); // B, its rows along n
    }
    __syncwarp();
    unsigned a[4], b[4];
    auto place = [&](unsigned row, unsigned column) { return (row * 16 + column) * 2; };
    ldmatrix_sync_aligned_m8n8_x4_shared_b16(group(a[0], a[1], a[2], a[3]),
                                             sharedAddress(place(lane % 16, lane / 16 * 8)));
    ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(
        group(b[0], b[1], b[2], b[3]), sharedAddress(512 + place(lane % 16, lane / 16 * 8)));
    float d[4] = {};
    auto sums = group(d[0], d[1], d[2], d[3]);
    mma_sync_aligned_row_col_f32_f16_f16_f32<16, 8, 16>(sums, group(a[0], a[1], a[2], a[3]),
                                                        group(b[0], b[1]), sums);
    for (unsigned i = 0; i < 4; ++i)
      result[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
  });
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      float expected = 0;
      for (int k = 0; k < 16; ++k)
        expected += valueOf(row, k) * valueOf(k + 3, column);
      ASSERT_EQ(result[size_t(row) * 8 + column], expected) << row << " " << column;
    }
}

TEST(Matrices, WhatLiesOutsideOfATensorIsZero) {
  std::vector<uint16_t> matrix = matrixOf(3, 0);
  HostTensorMap map = {};
  map.address = reinterpret_cast<uint64_t>(matrix.data());
  map.rank = 2, map.sizes[0] = 64, map.sizes[1] = 3, map.strides[0] = 128;
  map.box = 8 | 4 << 12, map.kind = 2;
  std::vector<uint16_t> box(32);
  runThreads(
      1,
      [&] {
        uint32_t barrier = sharedAddress(128);
        int column = 60, row = 1;
        bool ended = false;
        mbarrier_init_shared__cta_b64(barrier, 1);
        mbarrier_arrive_expect_tx_shared__cta_b64(ignored, barrier, 64);
        cp_async_bulk_tensor_2d_shared__cluster_global_tile_mbarrier__complete_tx__bytes(
            sharedAddress(0), &map, group(column, row), barrier);
        mbarrier_try_wait_parity_shared__cta_b64(ended, barrier, 0);
        std::memcpy(box.data(), dynamicShared(), 64);
      },
      256);
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 8; ++column)
      EXPECT_EQ(halfToFloat(box[size_t(row) * 8 + column]),
                row < 2 && column < 4 ? valueOf(row + 1, column + 60) : 0.0f);
}

TEST(Language, FloatsAreCutOffAtTheEndsOfIntegers) {
  EXPECT_EQ(cast<int>(3e9f), 2147483647);
  EXPECT_EQ(cast<int>(-3e9), -2147483647 - 1);
  EXPECT_EQ(cast<int>(std::nanf("")), 0);
  EXPECT_EQ(cast<unsigned char>(-1.5f), 0);
  EXPECT_EQ(cast<long long>(1e30f), 9223372036854775807);
  EXPECT_EQ(cast<int>(-2.75f), -2);
}

TEST(Language, BytesAreRoundedToEvenAndSaturate) {
  auto packed = [](auto pack, float low, float high, unsigned upper) {
    int first, second;
    unsigned result;
    cvt_rni_s32_f32(first, low);
    cvt_rni_s32_f32(second, high);
    pack(result, second, first, upper);
    return result;
  };
  EXPECT_EQ(packed(cvt_pack_sat_s8_s32_b32, 2.5f, -3.5f, 0x1234abcd), 0xabcdfc02u);
  EXPECT_EQ(packed(cvt_pack_sat_s8_s32_b32, 127.5f, -1e30f, 0), 0x807fu);
  EXPECT_EQ(packed(cvt_pack_sat_s8_s32_b32, std::nanf(""), 1e30f, 0), 0x7f00u);
  EXPECT_EQ(packed(cvt_pack_sat_u8_s32_b32, -0.5f, 254.5f, 7), 0x7fe00u);
  EXPECT_EQ(packed(cvt_pack_sat_u8_s32_b32, -1e9f, 255.5f, 0), 0xff00u);
}

TEST(Matrices, SumsOfFloatsOf8BitsKeep14Bits) {
  EXPECT_EQ(alignedSum<3>({1, -0.5f, 0.25f}), 0.75f);
  EXPECT_EQ(alignedSum<2>({1, 0x1p-13f}), 1 + 0x1p-13f);
  EXPECT_EQ(alignedSum<2>({1.75f, 0x1.8p-13f}), 1.75f + 0x1p-13f); // cut off, not rounded
  EXPECT_EQ(alignedSum<2>({-1, -0x1.fp-14f}), -1);
  EXPECT_EQ(alignedSum<4>({0x1p-14f, 0x1p-14f, 0x1p-14f, 1}), 1); // each by itself
  EXPECT_EQ(alignedSum<3>({0, 0, 0}), 0);
  float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(alignedSum<2>({infinite, 1}), infinite);
  EXPECT_TRUE(std::isnan(alignedSum<2>({infinite, -infinite})));
}

} // namespace
} // namespace smelt::emulator
