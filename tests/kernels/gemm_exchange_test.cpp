// kernels/gemm/gemm_exchange.cuh on the host. Every sum that a fragment writes is read for its column and its product, whatever
// the width; what a warp writes or reads at one time lies in banks of its own.
#include "kernels/gemm/gemm_exchange.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

namespace smelt {
namespace {

constexpr int kBanks = 32, kPanelRows = 16;

/// How often the busiest bank is asked for by lanes of which each wants `words` from its address on, in sums.
template <size_t Lanes> int busiestBank(const std::array<int, Lanes> &addresses, int words) {
  std::array<int, kBanks> times = {};
  for (int address : addresses)
    for (int word = 0; word < words; ++word)
      ++times[(address + word) % kBanks];
  return *std::max_element(times.begin(), times.end());
}

template <int Columns, int Width, int Products> struct Exchange {
  using Row = ExchangeRow<Columns, Width, Products>;
  static constexpr int kStored = Columns / Products;

  static void expectEverySumOnce() {
    std::set<int> places;
    hostDevice.shared.assign(4 * Row::kStride * 4, 0);
    for (int column = 0; column < Columns; ++column) {
      int place = Row::at(0, column);
      EXPECT_EQ(place, Row::ofGroup(column / 8) + Row::at(0, column % 8));
      EXPECT_EQ(Row::at(3, column), 3 * Row::kStride + place);
      ASSERT_LT(place, Row::kStride);
      EXPECT_TRUE(places.insert(place).second) << column;
      for (int row : {0, 3}) {
        int sum = row * Columns + column;
        std::memcpy(hostDevice.shared.data() + Row::at(row, column) * 4, &sum, 4);
      }
    }
    for (int row : {0, 3})
      for (int product = 0; product < Products; ++product)
        for (int column = 0; column < kStored; column += Width) {
          int sums[Width];
          Row::load(0, row, product, column, sums);
          for (int i = 0; i < Width; ++i)
            EXPECT_EQ(sums[i], row * Columns + ((column + i) / 8 * Products + product) * 8 +
                                   (column + i) % 8);
        }
  }

  /// Pairs of columns of eight rows, half a warp at a time.
  static void expectWritesApart() {
    for (int group = 0; group < Row::kGroups; ++group)
      for (int half = 0; half < 2; ++half) {
        std::array<int, 16> addresses;
        for (int i = 0; i < 16; ++i) {
          int lane = 16 * half + i;
          addresses[i] = Row::at(lane / 4, lane % 4 * 2) + Row::ofGroup(group);
        }
        EXPECT_EQ(busiestBank(addresses, 2), 1) << Columns << ", group " << group;
      }
  }

  /// Sixteen bytes a lane, a quarter of a warp at a time.
  static void expectReadsApart() {
    constexpr int kVectors = kStored / Width, kAtOnce = kVectors == 4 || kVectors % 8 == 0 ? 1 : 2;
    for (int first = 0; first + 8 <= kPanelRows * kVectors; first += 8) {
      std::array<int, 8> addresses;
      for (int i = 0; i < 8; ++i) {
        int row = rowOfVector<kVectors, kPanelRows>(first + i), group = (first + i) % kVectors;
        addresses[i] = row * Row::kStride + Row::ofGroup(group * Products);
      }
      EXPECT_LE(busiestBank(addresses, 4), kAtOnce) << Columns << ", vector " << first;
    }
  }
};

template <int Columns, int Products> void expectAllOf() {
  Exchange<Columns, 1, Products>::expectEverySumOnce();
  Exchange<Columns, 2, Products>::expectEverySumOnce();
  Exchange<Columns, 4, Products>::expectEverySumOnce();
  Exchange<Columns, 8, Products>::expectEverySumOnce();
  Exchange<Columns, 4, Products>::expectWritesApart();
  Exchange<Columns, 8, Products>::expectWritesApart();
  Exchange<Columns, 8, Products>::expectReadsApart();
}

template <int Columns> void expectAll() {
  expectAllOf<Columns, 1>();
  expectAllOf<Columns, 2>();
}

TEST(GemmExchange, SumsComeToTheirColumnsThroughBanksOfTheirOwn) {
  expectAll<32>();
  expectAll<64>();
  expectAll<96>();
  expectAll<128>();
  expectAll<160>();
  expectAll<192>();
  expectAll<256>();
}

/// Each row has its vectors, one after the other.
TEST(GemmExchange, EveryVectorHasARow) {
  std::array<int, kPanelRows> vectors = {};
  for (int vector = 0; vector < kPanelRows * 4; ++vector)
    ++vectors[rowOfVector<4, kPanelRows>(vector)];
  for (int count : vectors)
    EXPECT_EQ(count, 4);
  EXPECT_EQ((rowOfVector<4, 2>(4)), 1); // two rows alone cannot be two apart
  EXPECT_EQ((rowOfVector<8, kPanelRows>(9)), 1);
}

} // namespace
} // namespace smelt
