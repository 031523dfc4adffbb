// copyTile of device/tile.cuh on the host, thread by thread: every element of the tile is the
// matrix's element of its place, or zero outside the matrix, wherever the matrix's elements lie;
// nothing is read that is not the matrix's.
#include "device/tile.cuh"
#include "tests/kernels/variants.h"

#include <gtest/gtest.h>

#include <random>

namespace smelt {
namespace {

using kernel_tests::elementsOf;
using kernel_tests::Layout;
using kernel_tests::Strides;
using kernel_tests::stridesOf;

float valueOf(float x) { return x; }
float valueOf(half x) { return float(x.bits); }
void assign(float &x, int value) { x = float(value); }
void assign(half &x, int value) { x.bits = uint16_t(value); }

/// A matrix of rows x columns with a number of its own, not 0, in each of its places in memory.
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
template <class T, int Rows, int Columns, int Threads, Along K, int VectorWidth, bool Linear,
          bool Contiguous>
void expectCopies(const Matrix<T> &matrix, int row0, int column0) {
  using Tile = SharedTile<T, Rows, Columns>;
  hostDevice.shared.assign(Tile::kBytes, 0xa5);
  hostDevice.readable = reinterpret_cast<const unsigned char *>(matrix.memory.data());
  hostDevice.readableBytes = matrix.memory.size() * sizeof(T);
  hostDevice.readsOutside = hostDevice.misaligned = 0;
  auto source = [&](int row, int column) { return matrix.at(row, column); };
  for (int thread = 0; thread < Threads; ++thread) {
    threadIdx.x = thread;
    copyTile<Tile, K, VectorWidth, Threads, Linear, Contiguous>(0, source, row0, column0,
                                                                matrix.rows, matrix.columns);
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
      bool isInside = row0 + row < matrix.rows && column0 + column < matrix.columns;
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

TEST(CopyTile, Vectors) {
  for (int rows : kEdges)
    for (int columns : {8, 24, 200}) {
      expectCopies<float, 2, true>(Matrix<float>(Layout::kUnit, rows, columns), 0, 0);
      expectCopies<float, 4, true>(Matrix<float>(Layout::kUnit, rows, columns), 0, 0);
      expectCopies<half, 2, true>(Matrix<half>(Layout::kUnit, rows, columns), 0, 0);
      expectCopies<half, 8, true>(Matrix<half>(Layout::kZeroRows, rows, columns), 0, 0);
    }
}

} // namespace
} // namespace smelt
