// The PTX instructions that multiply matrices, and that load fragments of them, on the host. As instructions.h.
//
// Within a warp, lane l holds rows l / 4 and l / 4 + 8 and of each eight columns two, from l % 4 * 2 on. Operands hold
// as many neighbours in k as fit into 32 bits.
#pragma once

#include "tests/emulator/instructions.h"

namespace smelt::emulator {

/// The elements of one 32-bit register, lowest first, as numbers to multiply.
struct F16 {
  static constexpr int kCount = 2;
  using Sum = float;
  static float at(uint32_t word, int i) { return halfToFloat(uint16_t(word >> 16 * i)); }
};
struct Bf16 {
  static constexpr int kCount = 2;
  using Sum = float;
  static float at(uint32_t word, int i) { return bfloatToFloat(uint16_t(word >> 16 * i)); }
};
/// Of which the hardware ignores the low bits.
struct Tf32 {
  static constexpr int kCount = 1;
  using Sum = float;
  static float at(uint32_t word, int) { return std::bit_cast<float>(word & ~0x1fffu); }
};
struct S8 {
  static constexpr int kCount = 4;
  using Sum = int;
  static int at(uint32_t word, int i) { return int8_t(word >> 8 * i); }
};
struct U8 {
  static constexpr int kCount = 4;
  using Sum = int;
  static int at(uint32_t word, int i) { return uint8_t(word >> 8 * i); }
};

struct E4M3 {
  static constexpr int kCount = 4;
  using Sum = float;
  static float at(uint32_t word, int i) { return e4m3ToFloat(uint8_t(word >> 8 * i)); }
};
struct E5M2 {
  static constexpr int kCount = 4;
  using Sum = float;
  static float at(uint32_t word, int i) { return halfToFloat(uint16_t((word >> 8 * i) << 8)); }
};

inline float sum(float a, float b) { return a + b; }
inline int sum(int a, int b) { return int(unsigned(a) + unsigned(b)); } // wraps around

template <class A, class B, class Sum> Sum dot(uint32_t a, uint32_t b, Sum total) {
  for (int i = 0; i < A::kCount; ++i)
    total = sum(total, Sum(A::at(a, i) * B::at(b, i)));
  return total;
}

template <class T> inline constexpr bool kIsFloat8 = false;
template <> inline constexpr bool kIsFloat8<E4M3> = true;
template <> inline constexpr bool kIsFloat8<E5M2> = true;

/// Sums as a warpgroup's of floats of 8 bits: all that is added at once is aligned to the largest of it, and what is below 2^-13 of
/// that one's power of two is cut off. Error norms of K = 768 to 3072 with sums of 128 products, of 256 and of 384 come out as an
/// H200's (2.4e-4 for 2.3e-4, 2.9e-4 for 2.6e-4, 3.4e-4 for 2.9e-4).
template <size_t Count> float alignedSum(const std::array<float, Count> &terms) {
  constexpr int kKept = 13;
  float largest = 0, plain = 0;
  for (float term : terms)
    largest = std::max(largest, std::abs(term)), plain += term;
  if (!(largest > 0) || !std::isfinite(plain))
    return plain;
  double unit = std::ldexp(1.0, std::ilogb(largest) - kKept);
  int64_t units = 0;
  for (float term : terms)
    units += int64_t(double(term) / unit);
  return float(double(units) * unit);
}

struct Row {
  uint32_t words[4];
};

inline void loadMatrices(const Group<unsigned, 4> &results, uint32_t address, bool transposed) {
  auto row = read<Row>(machine->shared(address, 16, 16));
  auto rows = machine->exchange(0xffffffffu, row);
  unsigned lane = self().lane(), first = lane / 4, second = lane % 4 * 2;
  for (unsigned i = 0; i < 4; ++i) {
    auto element = [&](unsigned r, unsigned c) {
      return rows[8 * i + r].words[c / 2] >> 16 * (c % 2) & 0xffff;
    };
    *results[i] = transposed ? element(second, first) | element(second + 1, first) << 16
                             : element(first, second) | element(first, second + 1) << 16;
  }
}
inline void ldmatrix_sync_aligned_m8n8_x4_shared_b16(const Group<unsigned, 4> &results,
                                                     uint32_t address) {
  loadMatrices(results, address, false);
}
inline void ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(const Group<unsigned, 4> &results,
                                                           uint32_t address) {
  loadMatrices(results, address, true);
}

struct Fragments {
  uint32_t a[4], b[2];
};

template <class A, class B, class Sum>
void multiplyFragments(const Group<Sum, 4> &d, const Group<unsigned, 4> &a,
                       const Group<unsigned, 2> &b, const Group<Sum, 4> &c) {
  auto added = valuesOf<Sum>(c);
  Fragments own = {{*a[0], *a[1], *a[2], *a[3]}, {*b[0], *b[1]}};
  auto all = machine->exchange(0xffffffffu, own);
  unsigned lane = self().lane();
  for (unsigned i = 0; i < 4; ++i) {
    unsigned lower = i / 2, column = lane % 4 * 2 + i % 2;
    Sum total = added[i];
    for (unsigned part = 0; part < 2; ++part) // of k
      for (unsigned t = 0; t < 4; ++t)
        total = dot<A, B>(all[lane / 4 * 4 + t].a[lower + 2 * part], all[column * 4 + t].b[part],
                          total);
    *d[i] = total;
  }
}

#define SMELT_MMA(types, A, B)                                                                     \
  template <int M, int N, int K>                                                                   \
  void mma_sync_aligned_row_col_##types(const Group<A::Sum, 4> &d, const Group<unsigned, 4> &a,    \
                                        const Group<unsigned, 2> &b, const Group<A::Sum, 4> &c) {  \
    static_assert(M == 16 && N == 8 && K == 8 * A::kCount);                                        \
    multiplyFragments<A, B, A::Sum>(d, a, b, c);                                                   \
  }
SMELT_MMA(f32_f16_f16_f32, F16, F16)
SMELT_MMA(f32_bf16_bf16_f32, Bf16, Bf16)
SMELT_MMA(f32_tf32_tf32_f32, Tf32, Tf32)
SMELT_MMA(s32_s8_s8_s32, S8, S8)
SMELT_MMA(s32_s8_u8_s32, S8, U8)
SMELT_MMA(s32_u8_s8_s32, U8, S8)
SMELT_MMA(s32_u8_u8_s32, U8, U8)
#undef SMELT_MMA

// --- Of warpgroups: they happen when they are waited for ---

inline void wgmma_fence_sync_aligned() {}
inline void fence_proxy_async_shared__cta() {}
inline void wgmma_commit_group_sync_aligned() { self().multiplications.emplace_back(); }
inline void wgmma_wait_group_sync_aligned(int pending) {
  auto &groups = self().multiplications; // the last one is none yet
  while (groups.size() > size_t(pending) + 1) {
    for (auto &multiply : groups.front())
      multiply();
    groups.pop_front();
  }
  machine->exchange(0xffffffffu, 0); // who goes on knows that all lanes of the warp are done
}
inline void setmaxnreg_dec_sync_aligned_u32(int) {}
inline void setmaxnreg_inc_sync_aligned_u32(int) {}

constexpr int kStepWords = 8; // of k, of a row or a column

/// A matrix in shared memory, as a descriptor has it.
class DescribedMatrix {
public:
  explicit DescribedMatrix(uint64_t bits)
      : base(self().block->rank << kRankShift | unsigned((bits & 0x3fff) * 16)),
        panelBytes(unsigned(bits >> 16 & 0x3fff) * 16),
        groupBytes(unsigned(bits >> 32 & 0x3fff) * 16), permutation(unsigned(bits >> 62)) {}

  /// Row `row` of A, or column of B, contiguous along k.
  std::array<uint32_t, kStepWords> alongK(unsigned row) const {
    std::array<uint32_t, kStepWords> words;
    uint32_t place = base + row / 8 * groupBytes + row % 8 * rowBytes();
    for (unsigned half = 0; half < 2; ++half)
      std::memcpy(&words[4 * half], machine->shared(swizzled(place + 16 * half), 16, 16), 16);
    return words;
  }
  /// Column `column` of B, contiguous along n, of 16-bit elements.
  std::array<uint32_t, kStepWords> acrossK(unsigned column) const {
    unsigned perRow = rowBytes() / 2;
    std::array<uint32_t, kStepWords> words = {};
    for (unsigned k = 0; k < 2 * kStepWords; ++k) {
      uint32_t place = base + column / perRow * panelBytes + k / 8 * groupBytes +
                       k % 8 * rowBytes() + column % perRow * 2;
      words[k / 2] |= uint32_t(readShared<uint16_t>(swizzled(place))) << 16 * (k % 2);
    }
    return words;
  }

private:
  unsigned rowBytes() const { return 256u >> permutation; }
  uint32_t swizzled(uint32_t place) const {
    return place ^ (place >> 3 & ((rowBytes() - 1) & 0x70u));
  }
  uint32_t base, panelBytes, groupBytes;
  unsigned permutation; // 1, 2, 3: rows of 128, 64, 32 bytes
};

/// What a thread has of A: its two rows.
using RowsOfA = std::array<std::array<uint32_t, kStepWords>, 2>;

inline RowsOfA rowsOf(uint64_t described) {
  unsigned row = self().number / kWarpThreads % 4 * 16 + self().lane() / 4;
  DescribedMatrix matrix(described);
  return {matrix.alongK(row), matrix.alongK(row + 8)};
}

/// From the registers of the four lanes that share these rows.
inline RowsOfA rowsOf(const std::array<Row, kWarpThreads> &lanes) {
  RowsOfA rows;
  for (unsigned t = 0; t < 4; ++t)
    for (unsigned i = 0; i < 4; ++i)
      rows[i % 2][i / 2 * 4 + t] = lanes[self().lane() / 4 * 4 + t].words[i];
  return rows;
}

template <class A, class B, class Sum>
Sum sumOfStep(const std::array<uint32_t, kStepWords> &row,
              const std::array<uint32_t, kStepWords> &column, Sum total) {
  if constexpr (kIsFloat8<A>) {
    std::array<float, kStepWords * A::kCount + 1> terms;
    for (int i = 0; i < kStepWords * A::kCount; ++i)
      terms[i] =
          A::at(row[i / A::kCount], i % A::kCount) * B::at(column[i / A::kCount], i % A::kCount);
    terms.back() = total;
    return alignedSum(terms);
  } else {
    for (int word = 0; word < kStepWords; ++word)
      total = dot<A, B>(row[word], column[word], total);
    return total;
  }
}

template <class A, class B, class Sum, size_t Count>
void multiplyRows(const std::array<Sum *, Count> &d, const RowsOfA &a, uint64_t describedB,
                  bool accumulates, bool transposesB) {
  DescribedMatrix matrix(describedB);
  for (unsigned j = 0; j < Count / 4; ++j)
    for (unsigned c = 0; c < 2; ++c) {
      unsigned n = 8 * j + self().lane() % 4 * 2 + c;
      auto column = transposesB ? matrix.acrossK(n) : matrix.alongK(n);
      for (unsigned h = 0; h < 2; ++h) {
        Sum &result = *d[4 * j + 2 * h + c], total = accumulates ? result : Sum(0);
        result = sumOfStep<A, B>(a[h], column, total);
      }
    }
}

template <class A, class B, class Sum, size_t Count>
void multiplyLater(const Group<Sum, Count> &d, uint64_t a, uint64_t b, bool accumulates,
                   bool transposesB) {
  self().multiplications.back().push_back(
      [=] { multiplyRows<A, B>(d, rowsOf(a), b, accumulates, transposesB); });
}
template <class A, class B, class Sum, size_t Count>
void multiplyLater(const Group<Sum, Count> &d, const Group<unsigned, 4> &a, uint64_t b,
                   bool accumulates, bool transposesB) {
  Row own = {*a[0], *a[1], *a[2], *a[3]};
  RowsOfA rows = rowsOf(machine->exchange(0xffffffffu, own));
  self().multiplications.back().push_back(
      [=] { multiplyRows<A, B>(d, rows, b, accumulates, transposesB); });
}

#define SMELT_WGMMA(types, T)                                                                      \
  template <int M, int N, int K>                                                                   \
  void wgmma_mma_async_sync_aligned_##types(const Group<float, N / 2> &d, uint64_t a, uint64_t b,  \
                                            bool accumulates, int, int, int transposesA,           \
                                            int transposesB) {                                     \
    static_assert(M == 64 && K == 16);                                                             \
    if (transposesA)                                                                               \
      machine->fail("transposes A, which the emulator does not");                                  \
    multiplyLater<T, T>(d, a, b, accumulates, transposesB != 0);                                   \
  }                                                                                                \
  template <int M, int N, int K>                                                                   \
  void wgmma_mma_async_sync_aligned_##types(const Group<float, N / 2> &d,                          \
                                            const Group<unsigned, 4> &a, uint64_t b,               \
                                            bool accumulates, int, int, int transposesB) {         \
    static_assert(M == 64 && K == 16);                                                             \
    multiplyLater<T, T>(d, a, b, accumulates, transposesB != 0);                                   \
  }
SMELT_WGMMA(f32_f16_f16, F16)
SMELT_WGMMA(f32_bf16_bf16, Bf16)
#undef SMELT_WGMMA

/// Of bytes; floats have factors of the operands, too, which are 1.
#define SMELT_WGMMA_BYTES(types, A, B)                                                             \
  template <int M, int N, int K, class... Factors>                                                 \
  void wgmma_mma_async_sync_aligned_##types(const Group<A::Sum, N / 2> &d, uint64_t a, uint64_t b, \
                                            bool accumulates, Factors...) {                        \
    static_assert(M == 64 && K == 32);                                                             \
    multiplyLater<A, B>(d, a, b, accumulates, false);                                              \
  }
SMELT_WGMMA_BYTES(s32_s8_s8, S8, S8)
SMELT_WGMMA_BYTES(s32_s8_u8, S8, U8)
SMELT_WGMMA_BYTES(s32_u8_s8, U8, S8)
SMELT_WGMMA_BYTES(s32_u8_u8, U8, U8)
SMELT_WGMMA_BYTES(f32_e4m3_e4m3, E4M3, E4M3)
SMELT_WGMMA_BYTES(f32_e4m3_e5m2, E4M3, E5M2)
SMELT_WGMMA_BYTES(f32_e5m2_e4m3, E5M2, E4M3)
SMELT_WGMMA_BYTES(f32_e5m2_e5m2, E5M2, E5M2)
#undef SMELT_WGMMA_BYTES

} // namespace smelt::emulator
