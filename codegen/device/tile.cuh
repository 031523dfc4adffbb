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

/// The bits of an element of one byte or two.
template <class T> __device__ __forceinline__ uint32_t bitsOf(T x) {
  if constexpr (kIsFloat8<T>)
    return x.code;
  else if constexpr (sizeof(T) == 1)
    return static_cast<uint8_t>(x);
  else
    return x.bits;
}

/// Packs as many short elements as fill 32 bits, from (row, column) on along the row, that only
/// single-element loads may reach; those outside become zero, and those without address (Padded).
template <class T, bool Padded = false, class Source>
__device__ __forceinline__ uint32_t gatherWord(const Source &source, int row, int column,
                                               bool rowValid, int columns) {
  uint32_t word = 0;
#pragma unroll
  for (int i = 0; i < int(4 / sizeof(T)); ++i) {
    bool valid = rowValid && column + i < columns;
    uint32_t bits = 0;
    if constexpr (Padded) {
      const T *from = valid ? source(row, column + i) : nullptr;
      bits = from != nullptr ? bitsOf<T>(*from) : uint32_t(0);
    } else {
      bits = valid ? bitsOf<T>(*source(row, column + i)) : uint32_t(0);
    }
    word |= bits << (8 * sizeof(T) * i);
  }
  return word;
}

/// The same for 16 bytes.
template <class T, bool Padded, class Source>
__device__ __forceinline__ void gatherChunk(const Source &source, int row, int column,
                                            bool rowValid, int columns, uint32_t (&words)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    words[i] =
        gatherWord<T, Padded>(source, row, column + i * int(4 / sizeof(T)), rowValid, columns);
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

/// copyTile through registers, element by element. Chunks of 16-bit elements are on their way all
/// together; those of bytes, which take twice the registers, one after the other.
template <class Tile, int Threads, bool Padded, class Source>
__device__ __forceinline__ void gatherTile(uint32_t target, const Source &source, int row0,
                                           int column0, int rows, int columns) {
  using T = typename Tile::Element;
  using Walk = TileWalk<Tile, Threads>;
  constexpr int kTogether = sizeof(T) == 1 ? 1 : Walk::kCount;
#pragma unroll 1
  for (int first = 0; first < Walk::kCount; first += kTogether) {
    uint32_t gathered[kTogether][4];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      int row = row0 + Walk::row(first + i);
      bool rowValid = row < rows && Walk::exists(first + i);
      gatherChunk<T, Padded>(source, row, column0 + Walk::chunk(first + i) * Tile::kChunkElements,
                             rowValid, columns, gathered[i]);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i)
      if (Walk::exists(first + i))
        ptx::storeShared(target + Walk::offset(first + i), gathered[i][0], gathered[i][1],
                         gathered[i][2], gathered[i][3]);
  }
}

/// copyTile by cp.async, in pieces of 4 to 16 bytes.
template <class Tile, Along K, int VectorWidth, int Threads, bool Linear, bool Contiguous,
          bool Padded, class Source>
__device__ __forceinline__ void copyPieces(uint32_t target, const Source &source, int row0,
                                           int column0, int rows, int columns) {
  using T = typename Tile::Element;
  using Walk = TileWalk<Tile, Threads>;
  constexpr int kPieceBytes = VectorWidth * sizeof(T) > 16 ? 16 : VectorWidth * sizeof(T);
  constexpr int kPieceElements = kPieceBytes / sizeof(T);
  constexpr bool kStepRows = Linear && Walk::kColumnwise;
  static_assert(Contiguous || VectorWidth == 1, "the elements of a vector are neighbours");
  static_assert(!(Padded && Linear), "what has no address is asked for");
  const T *first = nullptr;
  int64_t rowStep = 0, pieceStep = kPieceElements;
  if constexpr (kStepRows) {
    first = source(row0 + Walk::row(0), column0 + Walk::chunk(0) * Tile::kChunkElements);
    rowStep = source(Walk::kRowStep, 0) - source(0, 0);
    if constexpr (!Contiguous)
      pieceStep = source(0, kPieceElements) - source(0, 0);
  }
#pragma unroll
  for (int i = 0; i < Walk::kCount; ++i) {
    if (!Walk::exists(i))
      break;
    int row = row0 + Walk::row(i);
    int column = column0 + Walk::chunk(i) * Tile::kChunkElements;
    bool rowValid = row < rows;
    if constexpr (K == Along::kColumns && !kStepRows)
      row = min(row, rows - 1);
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
      if constexpr (Padded)
        valid = valid && from != nullptr;
      ptx::copyAsync<kPieceBytes>(address + piece * kPieceBytes, from, valid);
    }
  }
}

/// Copies the tile whose first element is (row0, column0) of a rows x columns matrix to shared
/// memory at `target`; elements outside the matrix become zero. `source(row, column)` is the
/// address of `VectorWidth` consecutive elements of a row; VectorWidth divides `columns`.
///   - Contiguous: all elements of a row are neighbours in memory. Otherwise (VectorWidth is then 1)
///     they lie any distance apart, a transposed operand's for example, or all at one place.
///   - Linear: addresses are a linear function of row and column, so that one of them gives the
///     others; they may be computed outside the matrix.
///   - Otherwise every address is asked for, outside the matrix only along K (clamping there would
///     cost every step of a main loop), and not used there.
///   - Padded: some vectors inside the matrix have no address, null, and are zeros.
/// Asynchronous (the caller commits the group), except that pieces of less than four bytes pass
/// through registers, element by element.
template <class Tile, Along K, int VectorWidth, int Threads, bool Linear, bool Contiguous,
          bool Padded = false, class Source>
__device__ __forceinline__ void copyTile(uint32_t target, const Source &source, int row0,
                                         int column0, int rows, int columns) {
  if constexpr (VectorWidth * sizeof(typename Tile::Element) < 4)
    gatherTile<Tile, Threads, Padded>(target, source, row0, column0, rows, columns);
  else
    copyPieces<Tile, K, VectorWidth, Threads, Linear, Contiguous, Padded>(target, source, row0,
                                                                          column0, rows, columns);
}

/// Words w[i] of bytes b0 to b3 become words of bytes i of w[0] to w[3].
__device__ __forceinline__ void transposeBytes(uint32_t (&w)[4]) {
  uint32_t low01 = __byte_perm(w[0], w[1], 0x5140), high01 = __byte_perm(w[0], w[1], 0x7362);
  uint32_t low23 = __byte_perm(w[2], w[3], 0x5140), high23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low01, low23, 0x5410);
  w[1] = __byte_perm(low01, low23, 0x7632);
  w[2] = __byte_perm(high01, high23, 0x5410);
  w[3] = __byte_perm(high01, high23, 0x7632);
}

/// The same as copyTile for a tile that holds the transpose of its part of a matrix of bytes, along
/// whose rows the main loop moves: row r of the tile is column `column0` + r of the matrix. Through
/// registers, four bytes by four at a time; whole words are read where VectorWidth allows.
template <class Tile, int VectorWidth, int Threads, class Source>
__device__ __forceinline__ void copyTileTransposed(uint32_t target, const Source &source, int row0,
                                                   int column0, int rows, int columns) {
  using T = typename Tile::Element;
  static_assert(sizeof(T) == 1, "four elements are a word");
  constexpr int kColumnQuads = Tile::kRows / 4; // of the matrix
  constexpr int kTotal = kColumnQuads * (Tile::kColumns / 4);
  constexpr int kCount = ceilDiv(kTotal, Threads);
  constexpr bool kReadsWords = VectorWidth % 4 == 0;
  constexpr int kUnrolled = kReadsWords ? 4 : 1; // single elements take registers enough
  static_assert(Tile::kRows % 4 == 0, "a tile is whole squares of four by four");
  // A warp reads 32 neighbours of each of 16 rows, and writes 16 bytes of each of 32 tile rows.
  auto rowOf = [](int square) { return (square / (4 * kColumnQuads) * 4 + square % 4) * 4; };
  auto columnOf = [](int square) { return square / 4 % kColumnQuads * 4; };
#pragma unroll kUnrolled
  for (int i = 0; i < kCount; ++i) {
    int square = threadIdx.x + i * Threads;
    if (kTotal % Threads != 0 && square >= kTotal)
      break;
    int column = column0 + columnOf(square), k = rowOf(square);
    uint32_t words[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int row = row0 + k + j;
      if constexpr (kReadsWords)
        words[j] = row < rows && column < columns
                       ? *reinterpret_cast<const uint32_t *>(source(row, column))
                       : 0;
      else
        words[j] = gatherWord<T>(source, row, column, row < rows, columns);
    }
    transposeBytes(words);
#pragma unroll
    for (int n = 0; n < 4; ++n)
      ptx::storeShared(target + Tile::offset(columnOf(square) + n, k / Tile::kChunkElements) +
                           k % Tile::kChunkElements,
                       words[n]);
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

/// Count consecutive floats, or 32-bit integers, of shared memory, 16 bytes at a time where Count is
/// a multiple of four (the address is then a multiple of 16).
template <int Count, class T>
__device__ __forceinline__ void loadSharedRow(uint32_t address, T (&values)[Count]) {
  if constexpr (Count % 4 == 0) {
#pragma unroll
    for (int i = 0; i < Count; i += 4) {
      T quarter[4];
      ptx::loadShared(address + 4 * i, quarter);
#pragma unroll
      for (int k = 0; k < 4; ++k)
        values[i + k] = quarter[k];
    }
  } else {
#pragma unroll
    for (int i = 0; i < Count; ++i)
      ptx::loadShared(address + 4 * i, values[i]);
  }
}

/// Rows at a constant distance from each other in global memory.
template <class Element> struct LinearRows {
  const Element *first;
  int64_t distance;
  __device__ __forceinline__ const Element *row(int i) const { return first + i * distance; }
};

} // namespace smelt
