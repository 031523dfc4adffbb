// Tiles of a matrix in shared memory: layout, asynchronous copies into them, tensor-core fragments
// out of them.
//
// Problem: cp.async writes and ldmatrix reads 16-byte chunks. In a plain row-major tile the eight
// chunks that one ldmatrix phase reads lie a row apart, in the same banks, and are served one after
// the other. Method: a row keeps its place but its chunks are permuted by an XOR with the row
// number, such that any eight consecutive rows hold chunk c in eight different bank groups. No
// padding, so stages stay powers of two. Assumes: tile rows are multiples of 16 bytes, tile bases
// are 16-byte aligned.
#pragma once

#include "device/ptx.cuh"

namespace smelt {

/// Rows x Columns elements of T. `PairRows` selects the permutation for tiles of 32-bit elements
/// that are read four rows at a time by ordinary loads instead of ldmatrix.
template <class T, int Rows, int Columns, bool PairRows = false> struct SharedTile {
  using Element = T;
  static constexpr int kRows = Rows;
  static constexpr int kColumns = Columns;
  static constexpr int kChunkElements = 16 / sizeof(T);
  static constexpr int kChunks = Columns / kChunkElements; // chunks of a row
  static constexpr int kRowBytes = Columns * sizeof(T);
  static constexpr int kBytes = Rows * kRowBytes;
  static_assert(Columns % kChunkElements == 0, "a tile row is a whole number of 16-byte chunks");
  static_assert(!PairRows || kChunks % 8 == 0, "tiles read by plain loads have rows of 128 bytes");

  /// What the chunk index is XORed with in `row`.
  __device__ __forceinline__ static int permutation(int row) {
    if constexpr (PairRows)
      return (row & 3) * 2;
    else if constexpr (kChunks % 8 == 0)
      return row & 7;
    else if constexpr (kChunks % 4 == 0)
      return (row >> 1) & 3;
    else if constexpr (kChunks % 2 == 0)
      return (row >> 2) & 1;
    else
      return 0;
  }

  /// Byte offset of 16-byte chunk `chunk` of `row`.
  __device__ __forceinline__ static uint32_t offset(int row, int chunk) {
    return row * kRowBytes + ((chunk ^ permutation(row)) * 16);
  }
};

/// A tile whose rows are cut into panels of `PanelColumns`, one behind the other, each laid out as
/// a SharedTile: the form in which wgmma takes an operand that is contiguous along N.
template <class T, int Rows, int Columns, int PanelColumns> struct PanelTile {
  using Element = T;
  using Panel = SharedTile<T, Rows, PanelColumns>;
  static constexpr int kRows = Rows;
  static constexpr int kColumns = Columns;
  static constexpr int kChunkElements = 16 / sizeof(T);
  static constexpr int kChunks = Columns / kChunkElements;
  static constexpr int kRowBytes = Panel::kRowBytes; // of a panel
  static constexpr int kBytes = Rows * Columns * sizeof(T);
  static_assert(Columns % PanelColumns == 0, "panels tile the columns");

  __device__ __forceinline__ static uint32_t offset(int row, int chunk) {
    return chunk / Panel::kChunks * Panel::kBytes + Panel::offset(row, chunk % Panel::kChunks);
  }
};

/// Packs eight 16-bit elements that only single-element loads may reach; those outside become zero.
template <class Source>
__device__ __forceinline__ void gatherChunk(const Source &source, int row, int column,
                                            bool rowValid, int columns, uint32_t (&words)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32_t low = rowValid && column + 2 * i < columns ? source(row, column + 2 * i)->bits : 0;
    uint32_t high =
        rowValid && column + 2 * i + 1 < columns ? source(row, column + 2 * i + 1)->bits : 0;
    words[i] = low | high << 16;
  }
}

/// Which chunks of a tile each of `Threads` threads copies. Where the threads fill whole rows, a
/// thread stays in one column and steps down by a fixed number of rows, so that most of its address
/// arithmetic is shared.
template <class Tile, int Threads> struct TileWalk {
  static constexpr int kTotal = Tile::kRows * Tile::kChunks;
  static constexpr int kCount = ceilDiv(kTotal, Threads);
  static constexpr bool kColumnwise = Threads % Tile::kChunks == 0;

  __device__ __forceinline__ static int row(int i) {
    if constexpr (kColumnwise)
      return threadIdx.x / Tile::kChunks + i * (Threads / Tile::kChunks);
    else
      return (threadIdx.x + i * Threads) / Tile::kChunks;
  }
  __device__ __forceinline__ static int chunk(int i) {
    if constexpr (kColumnwise)
      return threadIdx.x % Tile::kChunks;
    else
      return (threadIdx.x + i * Threads) % Tile::kChunks;
  }
  /// Rows between two chunks of a columnwise thread.
  static constexpr int kRowStep = Threads / Tile::kChunks;
  /// Byte offset in the tile. Permutations repeat every eight rows.
  __device__ __forceinline__ static uint32_t offset(int i) {
    if constexpr (kColumnwise && kRowStep % 8 == 0)
      return Tile::offset(row(0), chunk(0)) + i * kRowStep * Tile::kRowBytes;
    else
      return Tile::offset(row(i), chunk(i));
  }
  __device__ __forceinline__ static bool exists(int i) {
    return kTotal % Threads == 0 || threadIdx.x + i * Threads < kTotal;
  }
};

/// The direction of a tile in which a main loop moves through the matrix.
enum class Along { kRows, kColumns };

/// Copies the tile whose first element is (row0, column0) of a rows x columns matrix to shared
/// memory at `target`; elements outside the matrix become zero. `source(row, column)` is the
/// address of `VectorWidth` consecutive elements of a row; VectorWidth divides `columns`.
///   - Contiguous: all elements of a row are neighbours in memory. Otherwise (VectorWidth is then 1)
///     they lie any distance apart, a transposed operand's for example, or all at one place.
///   - Linear: addresses are a linear function of row and column, so that one of them gives the
///     others; they may be computed outside the matrix.
///   - Otherwise every address is asked for, outside the matrix only along K (clamping there would
///     cost every step of a main loop), and not used there.
/// Asynchronous (the caller commits the group), except that single 16-bit elements pass through
/// registers.
template <class Tile, Along K, int VectorWidth, int Threads, bool Linear, bool Contiguous,
          class Source>
__device__ __forceinline__ void copyTile(uint32_t target, const Source &source, int row0,
                                         int column0, int rows, int columns) {
  using T = typename Tile::Element;
  using Walk = TileWalk<Tile, Threads>;
  constexpr int kPieceBytes = VectorWidth * sizeof(T) > 16 ? 16 : VectorWidth * sizeof(T);
  constexpr int kPieceElements = kPieceBytes / sizeof(T);
  constexpr bool kGather = kPieceBytes < 4;
  constexpr bool kStepRows = Linear && Walk::kColumnwise && !kGather;
  static_assert(Contiguous || VectorWidth == 1, "the elements of a vector are neighbours");
  const T *first = nullptr;
  int64_t rowStep = 0, pieceStep = kPieceElements;
  if constexpr (kStepRows) {
    first = source(row0 + Walk::row(0), column0 + Walk::chunk(0) * Tile::kChunkElements);
    rowStep = source(Walk::kRowStep, 0) - source(0, 0);
    if constexpr (!Contiguous)
      pieceStep = source(0, kPieceElements) - source(0, 0);
  }
  uint32_t gathered[kGather ? Walk::kCount : 1][4];
#pragma unroll
  for (int i = 0; i < Walk::kCount; ++i) {
    if (!Walk::exists(i))
      break;
    int row = row0 + Walk::row(i);
    int column = column0 + Walk::chunk(i) * Tile::kChunkElements;
    bool rowValid = row < rows;
    if constexpr (K == Along::kColumns && !kStepRows)
      row = min(row, rows - 1);
    if constexpr (kGather) {
      gatherChunk(source, row, column, rowValid, columns, gathered[i]);
    } else {
      uint32_t address = target + Walk::offset(i);
#pragma unroll
      for (int piece = 0; piece < 16 / kPieceBytes; ++piece) {
        int start = column + piece * kPieceElements;
        bool valid = rowValid && start < columns;
        const T *from = nullptr;
        if constexpr (kStepRows)
          from = first + i * rowStep + piece * pieceStep;
        else if constexpr (K == Along::kRows)
          from = source(row, min(start, columns - kPieceElements));
        else
          from = source(row, start);
        ptx::copyAsync<kPieceBytes>(address + piece * kPieceBytes, from, valid);
      }
    }
  }
  if constexpr (kGather) {
#pragma unroll
    for (int i = 0; i < Walk::kCount; ++i) {
      if (!Walk::exists(i))
        break;
      ptx::storeShared(target + Walk::offset(i), gathered[i][0], gathered[i][1], gathered[i][2],
                       gathered[i][3]);
    }
  }
}

/// Fragment of 16 rows x 32 bytes, as operand A of one mma, or as operand B of two where the tile
/// holds B transposed ([n][k]; `r` is then {b0, b1} of columns 0-7 and {b0, b1} of columns 8-15).
template <class Tile>
__device__ __forceinline__ void loadFragmentA(uint32_t tile, int row, int chunk, uint32_t (&r)[4]) {
  int lane = threadIdx.x % 32;
  ptx::loadMatrix(tile + Tile::offset(row + lane % 16, chunk + lane / 16), r);
}

template <class Tile>
__device__ __forceinline__ void loadFragmentBTransposed(uint32_t tile, int row, int chunk,
                                                        uint32_t (&r)[4]) {
  int lane = threadIdx.x % 32;
  ptx::loadMatrix(tile + Tile::offset(row + lane % 8 + lane / 16 * 8, chunk + lane / 8 % 2), r);
}

/// Operand B of two mma (k 16 x n 16) from a tile of 16-bit elements that holds B as [k][n].
template <class Tile>
__device__ __forceinline__ void loadFragmentB(uint32_t tile, int row, int chunk, uint32_t (&r)[4]) {
  int lane = threadIdx.x % 32;
  ptx::loadMatrixTransposed(
      tile + Tile::offset(row + lane % 8 + lane / 8 % 2 * 8, chunk + lane / 16), r);
}

/// Operand B of two tf32 mma (k 8 x n 16) from a `PairRows` tile of floats that holds B as [k][n].
template <class Tile>
__device__ __forceinline__ void loadFragmentBFloat(uint32_t tile, int row, int column,
                                                   uint32_t (&r)[4]) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int k = row + lane % 4 + i % 2 * 4;
    int n = column + lane / 4 + i / 2 * 8;
    r[i] = __float_as_uint(ptx::loadShared(tile + Tile::offset(k, n / 4) + n % 4 * 4));
  }
}

/// Count consecutive floats of shared memory, 16 bytes at a time where Count is a multiple of four
/// (the address is then a multiple of 16).
template <int Count>
__device__ __forceinline__ void loadSharedRow(uint32_t address, float (&values)[Count]) {
  if constexpr (Count % 4 == 0) {
#pragma unroll
    for (int i = 0; i < Count; i += 4) {
      float quarter[4];
      ptx::loadShared(address + 4 * i, quarter);
#pragma unroll
      for (int k = 0; k < 4; ++k)
        values[i + k] = quarter[k];
    }
  } else {
#pragma unroll
    for (int i = 0; i < Count; ++i)
      values[i] = ptx::loadShared(address + 4 * i);
  }
}

/// Rows at a constant distance from each other in global memory.
template <class Element> struct LinearRows {
  const Element *first;
  int64_t distance;
  __device__ __forceinline__ const Element *row(int i) const { return first + i * distance; }
};

} // namespace smelt
