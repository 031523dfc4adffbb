// device/tile.cuh on the host, thread by thread. Every element of a copied tile is the matrix's
// element of its place, or zero outside the matrix, wherever the matrix's elements lie; nothing is
// read that is not the matrix's. Fragments of bytes are what the tensor cores take.
#include "device/tile.cuh"
#include "tests/kernels/variants.h"

#include <gtest/gtest.h>

#include <array>

namespace smelt {
namespace {

using kernel_tests::elementsOf;
using kernel_tests::Layout;
using kernel_tests::Strides;
using kernel_tests::stridesOf;

float valueOf(float x) { return x; }
float valueOf(half x) { return float(x.bits); }
float valueOf(int8_t x) { return float(x); }
float valueOf(uint8_t x) { return float(x); }
void assign(float &x, int value) { x = float(value); }
void assign(half &x, int value) { x.bits = uint16_t(value); }
void assign(int8_t &x, int value) { x = int8_t(value % 255 + 1); }
void assign(uint8_t &x, int value) { x = uint8_t(value % 255 + 1); }

/// A matrix of rows x columns with a number of its own, not 0, in each of its places in memory;
/// bytes repeat.
template <class T> struct Matrix {
  Strides strides;
  int rows, columns;
  std::vector<T> memory;

  Matrix(Layout layout, int rows, int columns)
      : strides(stridesOf(layout, rows, columns)), rows(rows), columns(columns),
        memory(size_t(elementsOf(layout, rows, columns, 1))) {
    for (size_t i = 0; i < memory.size(); ++i)
      assign(memory[i], int(i % 60000) + 1);
  }
  const T *at(int row, int column) const {
    return memory.data() + strides.start + row * strides.row + column * strides.column;
  }
};

/// Copies the tile at (row0, column0) and compares it. `VectorWidth` as a kernel would be told.
/// `Padded`: vectors on some diagonals have no address.
template <class T, int Rows, int Columns, int Threads, Along K, int VectorWidth, bool Linear,
          bool Contiguous, bool Padded = false>
void expectCopies(const Matrix<T> &matrix, int row0, int column0) {
  using Tile = SharedTile<T, Rows, Columns>;
  hostDevice.shared.assign(Tile::kBytes, 0xa5);
  hostDevice.readable = reinterpret_cast<const unsigned char *>(matrix.memory.data());
  hostDevice.readableBytes = matrix.memory.size() * sizeof(T);
  hostDevice.readsOutside = hostDevice.misaligned = 0;
  auto exists = [](int row, int column) {
    return !Padded || (row + column / VectorWidth) % 3 != 0;
  };
  auto source = [&](int row, int column) {
    return exists(row, column) ? matrix.at(row, column) : nullptr;
  };
  for (int thread = 0; thread < Threads; ++thread) {
    threadIdx.x = thread;
    copyTile<Tile, K, VectorWidth, Threads, Linear, Contiguous, Padded>(
        0, source, row0, column0, matrix.rows, matrix.columns);
  }
  EXPECT_EQ(hostDevice.readsOutside, 0);
  EXPECT_EQ(hostDevice.misaligned, 0);
  for (int row = 0; row < Rows; ++row)
    for (int column = 0; column < Columns; ++column) {
      T found;
      uint32_t chunk = Tile::offset(row, column / Tile::kChunkElements);
      std::memcpy(&found,
                  hostDevice.shared.data() + chunk + column % Tile::kChunkElements * sizeof(T),
                  sizeof(T));
      bool isInside = row0 + row < matrix.rows && column0 + column < matrix.columns &&
                      exists(row0 + row, column0 + column);
      float expected = isInside ? valueOf(*matrix.at(row0 + row, column0 + column)) : 0.0f;
      ASSERT_EQ(valueOf(found), expected) << "row " << row << ", column " << column;
    }
}

template <class T, int VectorWidth, bool Contiguous>
void expectCopies(const Matrix<T> &matrix, int row0, int column0) {
  // Threads that stay in a column of chunks, and threads that do not.
  expectCopies<T, 64, 32, 64, Along::kColumns, VectorWidth, true, Contiguous>(matrix, row0,
                                                                              column0);
  expectCopies<T, 64, 32, 64, Along::kRows, VectorWidth, true, Contiguous>(matrix, row0, column0);
  expectCopies<T, 64, 32, 64, Along::kColumns, VectorWidth, false, Contiguous>(matrix, row0,
                                                                               column0);
  expectCopies<T, 64, 32, 64, Along::kRows, VectorWidth, false, Contiguous>(matrix, row0, column0);
  expectCopies<T, 48, 96, 128, Along::kColumns, VectorWidth, true, Contiguous>(matrix, row0,
                                                                               column0);
  expectCopies<T, 64, 32, 64, Along::kColumns, VectorWidth, false, Contiguous, true>(matrix, row0,
                                                                                     column0);
}

/// The same for the transpose of a part of a matrix of bytes, Columns of its rows by Rows of its
/// columns.
template <class T, int Rows, int Columns, int Threads, int VectorWidth>
void expectTransposedCopies(const Matrix<T> &matrix, int row0, int column0) {
  using Tile = SharedTile<T, Rows, Columns>;
  hostDevice.shared.assign(Tile::kBytes, 0xa5);
  constexpr int kRead = VectorWidth % 4 == 0 ? 4 : 1; // elements at a time
  int outside = 0, misaligned = 0;
  auto source = [&](int row, int column) {
    const T *from = matrix.at(row, column);
    outside += row >= matrix.rows || column + kRead > matrix.columns;
    misaligned += reinterpret_cast<uintptr_t>(from) % kRead != 0;
    return from;
  };
  for (int thread = 0; thread < Threads; ++thread) {
    threadIdx.x = thread;
    copyTileTransposed<Tile, VectorWidth, Threads>(0, source, row0, column0, matrix.rows,
                                                   matrix.columns);
  }
  EXPECT_EQ(outside, 0);
  EXPECT_EQ(misaligned, 0);
  for (int n = 0; n < Rows; ++n)
    for (int k = 0; k < Columns; ++k) {
      T found = T(hostDevice.shared[Tile::offset(n, k / 16) + k % 16]);
      bool isInside = row0 + k < matrix.rows && column0 + n < matrix.columns;
      float expected = isInside ? valueOf(*matrix.at(row0 + k, column0 + n)) : 0.0f;
      ASSERT_EQ(valueOf(found), expected) << "k " << k << ", n " << n;
    }
}

constexpr int kEdges[] = {1, 2, 77, 197, 513};

template <class T> void expectCopiesOfEveryLayout() {
  for (Layout layout : {Layout::kUnit, Layout::kOffset, Layout::kStrided, Layout::kZeroColumns,
                        Layout::kZeroRows, Layout::kTransposed})
    for (int rows : kEdges)
      for (int columns : kEdges) {
        SCOPED_TRACE(std::string(kernel_tests::layoutName(layout)) + " " + std::to_string(rows) +
                     " x " + std::to_string(columns));
        Matrix<T> matrix(layout, rows, columns);
        int lastRow = (rows - 1) / 32 * 32, lastColumn = (columns - 1) / 32 * 32;
        for (int row0 : {0, lastRow})
          for (int column0 : {0, lastColumn}) {
            expectCopies<T, 1, false>(matrix, row0, column0);
            if (stridesOf(layout, rows, columns).column == 1)
              expectCopies<T, 1, true>(matrix, row0, column0);
          }
      }
}

TEST(CopyTile, FloatsOfEveryLayout) { expectCopiesOfEveryLayout<float>(); }
TEST(CopyTile, HalvesOfEveryLayout) { expectCopiesOfEveryLayout<half>(); }
TEST(CopyTile, BytesOfEveryLayout) { expectCopiesOfEveryLayout<int8_t>(); }

TEST(CopyTile, Vectors) {
  for (int rows : kEdges)
    for (int columns : {8, 24, 200}) {
      expectCopies<float, 2, true>(Matrix<float>(Layout::kUnit, rows, columns), 0, 0);
      expectCopies<float, 4, true>(Matrix<float>(Layout::kUnit, rows, columns), 0, 0);
      expectCopies<half, 2, true>(Matrix<half>(Layout::kUnit, rows, columns), 0, 0);
      expectCopies<half, 8, true>(Matrix<half>(Layout::kZeroRows, rows, columns), 0, 0);
      expectCopies<uint8_t, 2, true>(Matrix<uint8_t>(Layout::kUnit, rows, columns), 0, 0);
      expectCopies<uint8_t, 8, true>(Matrix<uint8_t>(Layout::kUnit, rows, columns), 0, 0);
      expectCopies<int8_t, 16, true>(Matrix<int8_t>(Layout::kUnit, rows, 2 * columns), 0, 0);
    }
}

TEST(CopyTileTransposed, EveryLayout) {
  for (Layout layout : {Layout::kUnit, Layout::kOffset, Layout::kStrided, Layout::kZeroColumns,
                        Layout::kZeroRows, Layout::kTransposed})
    for (int rows : kEdges)
      for (int columns : kEdges) {
        SCOPED_TRACE(std::string(kernel_tests::layoutName(layout)) + " " + std::to_string(rows) +
                     " x " + std::to_string(columns));
        Matrix<int8_t> matrix(layout, rows, columns);
        for (int row0 : {0, (rows - 1) / 64 * 64})
          for (int column0 : {0, (columns - 1) / 32 * 32}) {
            expectTransposedCopies<int8_t, 64, 128, 128, 1>(matrix, row0, column0);
            expectTransposedCopies<int8_t, 48, 64, 128, 1>(matrix, row0, column0);
          }
      }
}

TEST(CopyTileTransposed, Vectors) {
  for (int rows : kEdges)
    for (int columns : {16, 48, 208}) {
      Matrix<uint8_t> matrix(Layout::kUnit, rows, columns);
      for (int column0 : {0, (columns - 1) / 32 * 32}) {
        expectTransposedCopies<uint8_t, 32, 256, 128, 16>(matrix, 0, column0);
        expectTransposedCopies<uint8_t, 128, 128, 256, 4>(matrix, 0, column0);
        expectTransposedCopies<uint8_t, 48, 64, 128, 2>(matrix, 0, column0);
      }
    }
}

/// What lane `lane` of a warp holds after both passes of a load (see the host's loadMatrix).
template <class Load> std::array<uint32_t, 4> fragmentOf(int lane, const Load &load) {
  uint32_t r[4];
  for (int other = 0; other < 32; ++other) {
    threadIdx.x = other;
    load(r);
  }
  threadIdx.x = lane;
  load(r);
  return {r[0], r[1], r[2], r[3]};
}

/// Bytes `first` to `first` + 3 of row `row`.
uint32_t wordOf(const Matrix<int8_t> &matrix, int row, int first) {
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i)
    word |= uint32_t(uint8_t(*matrix.at(row, first + i))) << 8 * i;
  return word;
}

// The layout of mma.m16n8k32 in the PTX ISA: a lane holds four neighbours along K of rows lane / 4
// and that plus 8, at K lane % 4 * 4 and that plus 16.
TEST(Fragments, OfBytes) {
  using Tile = SharedTile<int8_t, 32, 64>;
  Matrix<int8_t> matrix(Layout::kUnit, 32, 64);
  hostDevice.shared.assign(Tile::kBytes, 0);
  for (int row = 0; row < 32; ++row)
    for (int chunk = 0; chunk < 4; ++chunk)
      std::memcpy(hostDevice.shared.data() + Tile::offset(row, chunk), matrix.at(row, chunk * 16),
                  16);
  for (int row0 : {0, 16})
    for (int k0 : {0, 32})
      for (int lane = 0; lane < 32; ++lane) {
        int row = row0 + lane / 4, k = k0 + lane % 4 * 4;
        std::array<uint32_t, 4> a =
            fragmentOf(lane, [&](uint32_t (&r)[4]) { loadFragmentA<Tile>(0, row0, k0 / 16, r); });
        std::array<uint32_t, 4> wantedA{wordOf(matrix, row, k), wordOf(matrix, row + 8, k),
                                        wordOf(matrix, row, k + 16),
                                        wordOf(matrix, row + 8, k + 16)};
        EXPECT_EQ(a, wantedA) << "lane " << lane;
        std::array<uint32_t, 4> b = fragmentOf(
            lane, [&](uint32_t (&r)[4]) { loadFragmentBTransposed<Tile>(0, row0, k0 / 16, r); });
        std::array<uint32_t, 4> wantedB{wordOf(matrix, row, k), wordOf(matrix, row, k + 16),
                                        wordOf(matrix, row + 8, k),
                                        wordOf(matrix, row + 8, k + 16)};
        EXPECT_EQ(b, wantedB) << "lane " << lane;
      }
}

} // namespace
} // namespace smelt
