// kernels/gemm/gemm_fragment_epilogue.cuh on the host, the 32 threads of a warp side by side. Every sum, where wgmma leaves it, comes to
// its place in the results with what belongs there of its row and its column, bit by bit; nothing outside of them is read or stored.
#include "kernels/gemm/gemm_fragment_epilogue.cuh"

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace smelt {
namespace {

/// Two results of 16 bits, or 8, out of the sums of each product, a vector of columns, the moments of rows and, with `Reads`, a table
/// [rows, columns], whose columns repeat themselves after `Period`: numbers that tell whence they are.
template <int Moments, int Products = 1, bool Reads = false, int Period = 0, class T = uint16_t>
struct NumberedProblem {
  using Sum = float;
  using Result = T;
  static constexpr int kProducts = Products, kRowMoments = Moments, kInputPeriod = Period,
                       kResultBytes = sizeof(T);
  int rows, width; // of the results
  std::vector<uint16_t> bias, table;
  std::vector<T> results0, results1;
  std::vector<int> writes;
  mutable std::atomic<int> outside = 0, reads = 0;

  NumberedProblem(int rows, int width, std::minstd_rand &random)
      : rows(rows), width(width), bias(width) {
    size_t count = size_t(rows) * width;
    results0.resize(count), results1.resize(count), writes.resize(count);
    for (uint16_t &value : bias)
      value = uint16_t(random());
    for (size_t i = 0; i < count; ++i)
      table.push_back(Period > 0 && int(i) % width >= Period ? table[i - Period]
                                                             : uint16_t(random()));
  }

  int m() const { return rows; }
  int n() const { return width * Products; }
  /// Whether so many columns lie inside, aligned as vectors must be; counted where not.
  bool isInside(int row, int column, int count) const {
    bool inside =
        row >= 0 && row < rows && column >= 0 && column % count == 0 && column + count <= width;
    outside += !inside;
    return inside;
  }
  size_t at(int row, int column) const { return size_t(row) * width + column; }

  template <int W> struct Columns {
    Vector<uint16_t, W> bias;
  };
  template <int W> Columns<W> columns(int column) const {
    Columns<W> found = {};
    if (isInside(0, column, W))
      std::memcpy(&found.bias, &bias[column], 2 * W);
    return found;
  }
  struct Nothing {};
  template <int W> struct Table {
    Vector<uint16_t, W> values;
  };
  template <int W> using Inputs = std::conditional_t<Reads, Table<W>, Nothing>;
  uint32_t read(size_t place) const { return Reads ? table[place] : 0; }
  template <int W> Inputs<W> inputs(int, int row, int column) const {
    Inputs<W> found = {};
    ++reads;
    if constexpr (Reads)
      if (isInside(row, column, W))
        std::memcpy(&found.values, &table[at(row, column)], 2 * W);
    return found;
  }
  static uint32_t number(float sum, float other, uint32_t bias, uint32_t table,
                         const RowStatistics &row) {
    return uint32_t(sum) * 7 + uint32_t(other) * 11 + bias * 3 + table * 13 +
           uint32_t(row.mean) * 17 + uint32_t(row.scale) * 19;
  }
  template <int W> struct Results {
    Vector<T, W> first, second;
  };
  template <int W>
  Results<W> results(int, int row, int column, const Sum (&sums)[Products * W],
                     const Columns<W> &of, const Inputs<W> &inputs,
                     const RowStatistics (&moments)[1]) const {
    isInside(row, column, W);
    Results<W> found;
    for (int i = 0; i < W; ++i) {
      uint32_t read = 0;
      if constexpr (Reads)
        read = inputs.values[i];
      uint32_t value = number(sums[i], Products > 1 ? sums[(Products - 1) * W + i] : 0, of.bias[i],
                              read, Moments ? moments[0] : RowStatistics{0, 0});
      found.first[i] = T(value);
      found.second[i] = T(value >> 3);
    }
    return found;
  }
  template <int W> void put(int, int row, int column, const Results<W> &found) const {
    if (!isInside(row, column, W))
      return;
    auto &self = const_cast<NumberedProblem &>(*this);
    std::memcpy(&self.results0[at(row, column)], &found.first, sizeof(T) * W);
    std::memcpy(&self.results1[at(row, column)], &found.second, sizeof(T) * W);
    for (int i = 0; i < W; ++i)
      ++self.writes[at(row, column) + i];
  }
};

/// One warpgroup's tile, of `Chains` times 64 rows by BlockN columns of sums, at (row0, column0) of the results. Returns
/// how often a thread asked for inputs.
template <class Problem, int BlockN, int Chains>
int expectResults(int rows, int width, int row0, int column0) {
  constexpr int kTileRows = 64 * Chains, kProducts = Problem::kProducts,
                kStored = BlockN / kProducts;
  std::minstd_rand random(unsigned(rows * 131 + width));
  Problem problem(rows, width, random);
  std::vector<float> sums(kTileRows * BlockN);
  for (float &sum : sums)
    sum = float(random() % 4096);
  std::vector<RowStatistics> moments(kTileRows, RowStatistics{0, 0});
  if (Problem::kRowMoments > 0)
    for (RowStatistics &row : moments)
      row = {float(random() % 100), float(random() % 100)};
  hostWarp.shared.resize(kTileRows * sizeof(RowStatistics));
  std::memcpy(hostWarp.shared.data(), moments.data(), hostWarp.shared.size());
  auto run = [&](int warp, int lane) {
    threadIdx.x = warp * 32 + lane;
    using Epilogue = FragmentEpilogue<Problem, BlockN, Chains>;
    typename Epilogue::Sums own; // as wgmma leaves them
    for (int chain = 0; chain < Chains; ++chain)
      for (int i = 0; i < BlockN / 2; ++i)
        own[chain][i] = sums[(chain * 64 + warp * 16 + lane / 4 + 8 * (i / 2 % 2)) * BlockN +
                             i / 4 * 8 + lane % 4 * 2 + i % 2];
    uint32_t ownMoments = uint32_t(warp * 16 * Problem::kRowMoments * sizeof(RowStatistics));
    Epilogue epilogue{problem, ownMoments, row0 + warp * 16, column0};
    epilogue.run(own, epilogue.begin());
  };
  for (int warp = 0; warp < 4; ++warp) {
    std::vector<std::thread> threads;
    for (int lane = 0; lane < 32; ++lane)
      threads.emplace_back(run, warp, lane);
    for (std::thread &thread : threads)
      thread.join();
  }
  EXPECT_EQ(problem.outside, 0);
  // Columns of the products take turns by eights.
  auto sumAt = [&](int row, int column, int product) {
    return sums[size_t(row) * BlockN + (column / 8 * kProducts + product) * 8 + column % 8];
  };
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < width; ++column) {
      int tileRow = row - row0, tileColumn = column - column0;
      bool isOfTile =
          tileRow >= 0 && tileRow < kTileRows && tileColumn >= 0 && tileColumn < kStored;
      size_t at = problem.at(row, column);
      EXPECT_EQ(problem.writes[at], isOfTile) << row << ", " << column;
      if (!isOfTile)
        continue;
      uint32_t value = problem.number(sumAt(tileRow, tileColumn, 0),
                                      kProducts > 1 ? sumAt(tileRow, tileColumn, kProducts - 1) : 0,
                                      problem.bias[column], problem.read(at), moments[tileRow]);
      using Result = typename Problem::Result;
      EXPECT_EQ(problem.results0[at], Result(value)) << row << ", " << column;
      EXPECT_EQ(problem.results1[at], Result(value >> 3)) << row << ", " << column;
    }
  return problem.reads / 128;
}

/// Of one product that reads nothing of each element.
template <int Moments, int BlockN, int Chains>
void expectResults(int rows, int width, int row0, int column0) {
  expectResults<NumberedProblem<Moments>, BlockN, Chains>(rows, width, row0, column0);
}

TEST(FragmentEpilogue, WholeTiles) {
  expectResults<0, 64, 1>(64, 64, 0, 0);
  expectResults<0, 128, 2>(256, 256, 128, 128);
  expectResults<0, 256, 1>(128, 768, 64, 256);
}

TEST(FragmentEpilogue, TilesThatReachOut) {
  expectResults<0, 64, 1>(1, 8, 0, 0);
  expectResults<0, 128, 1>(77, 136, 64, 0);
  expectResults<0, 96, 1>(61, 200, 0, 96);
  expectResults<0, 192, 1>(197, 520, 192, 384);
}

TEST(FragmentEpilogue, MomentsOfRows) {
  expectResults<1, 128, 2>(200, 264, 64, 128);
  expectResults<1, 192, 1>(50, 200, 0, 0);
}

template <int BlockN, int Chains> void expectBytes(int rows, int width, int row0, int column0) {
  expectResults<NumberedProblem<0, 1, false, 0, uint8_t>, BlockN, Chains>(rows, width, row0,
                                                                          column0);
  expectResults<NumberedProblem<1, 1, false, 0, uint8_t>, BlockN, Chains>(rows, width, row0,
                                                                          column0);
}

TEST(FragmentEpilogue, Bytes) {
  expectBytes<64, 1>(64, 64, 0, 0);
  expectBytes<128, 2>(200, 264, 64, 128);
  expectBytes<96, 1>(61, 200, 0, 96);
  expectBytes<192, 1>(197, 520, 192, 384);
  expectBytes<64, 1>(1, 8, 0, 0);
}

/// Two products, without a table, with one, and with one that repeats itself, for tiles of whole periods and of others.
template <int BlockN, int Chains> void expectPairs(int rows, int width, int row0, int column0) {
  expectResults<NumberedProblem<0, 2>, BlockN, Chains>(rows, width, row0, column0);
  expectResults<NumberedProblem<1, 2, true>, BlockN, Chains>(rows, width, row0, column0);
  expectResults<NumberedProblem<1, 2, true, 16>, BlockN, Chains>(rows, width, row0, column0);
  expectResults<NumberedProblem<0, 2, true, 32>, BlockN, Chains>(rows, width, row0, column0);
  expectResults<NumberedProblem<0, 2, true, 48>, BlockN, Chains>(rows, width, row0, column0);
  expectResults<NumberedProblem<1, 2, true, 64>, BlockN, Chains>(rows, width, row0, column0);
}

TEST(FragmentEpilogue, PairsOfProducts) {
  expectPairs<64, 1>(64, 32, 0, 0);
  expectPairs<128, 2>(200, 136, 64, 64);
  expectPairs<256, 1>(77, 512, 0, 128);
  expectPairs<96, 1>(61, 192, 0, 48);
  expectPairs<160, 2>(197, 248, 64, 80);
  expectPairs<64, 1>(1, 8, 0, 0);
}

TEST(FragmentEpilogue, ReadsWhatRepeatsItselfOnce) {
  // Of two rows, two vectors a panel of 16 columns; the last panels ask ahead for themselves once more.
  EXPECT_EQ((expectResults<NumberedProblem<0, 2, true>, 256, 1>(64, 128, 0, 0)), 4 * (8 + 1));
  EXPECT_EQ((expectResults<NumberedProblem<0, 2, true, 32>, 256, 1>(64, 128, 0, 0)), 4 * (2 + 1));
  EXPECT_EQ((expectResults<NumberedProblem<0, 2, true, 32>, 96, 1>(64, 96, 0, 48)), 4 * (2 + 1));
}

} // namespace
} // namespace smelt
