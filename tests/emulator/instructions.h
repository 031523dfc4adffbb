// The PTX instructions that device code uses, on the host: a function for each, named as the instruction with _ for dots
// and colons, its shape (m64n128k16) among the template's arguments, with the operands in the order of the text. Operands
// in braces come as a group. Sources: the PTX ISA, 8.7; for how matrices lie in shared memory, its sections on wgmma's
// descriptors and on the swizzles of bulk copies.
#pragma once

#include "tests/emulator/language.h"
#include "tests/emulator/tensor_map.h"

namespace smelt::emulator {

inline constexpr int ignored = 0;

/// Where the operands are that stand in braces, all of one type. Temporaries live as long as the call that it is for.
template <class T, size_t Count> using Group = std::array<T *, Count>;

template <class First, class... Rest> auto group(First &&first, Rest &&...rest) {
  using T = std::remove_cvref_t<First>;
  return Group<T, 1 + sizeof...(Rest)>{const_cast<T *>(&first), const_cast<T *>(&rest)...};
}

/// Copies of the operands, as To.
template <class To, class T, size_t Count>
std::array<To, Count> valuesOf(const Group<T, Count> &group) {
  std::array<To, Count> values;
  for (size_t i = 0; i < Count; ++i)
    values[i] = To(*group[i]);
  return values;
}

template <class T> T read(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <class T> T readShared(uint32_t address) {
  return read<T>(machine->shared(address, sizeof(T), sizeof(T)));
}
template <class T> void writeShared(uint32_t address, T value) {
  std::memcpy(machine->shared(address, sizeof(T), sizeof(T)), &value, sizeof(T));
}

// --- Conversions, selection, arithmetic ---

inline float halfToFloat(uint16_t bits) { return float(std::bit_cast<_Float16>(bits)); }
template <class T> uint16_t toHalfBits(T x) { return std::bit_cast<uint16_t>(_Float16(x)); }
inline float bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
inline uint16_t toBfloatBits(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  return x != x ? 0x7fff : uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Sign, four bits of exponent and three of mantissa; all ones are NaN.
inline float e4m3ToFloat(uint8_t code) {
  static const std::array<float, 256> kValues = [] {
    std::array<float, 256> values;
    for (int i = 0; i < 256; ++i) {
      int exponent = i >> 3 & 15, mantissa = i & 7;
      float magnitude = exponent == 0 ? std::ldexp(float(mantissa), -9)
                                      : std::ldexp(float(8 + mantissa), exponent - 10);
      magnitude = (i & 127) == 127 ? NAN : magnitude;
      values[i] = i < 128 ? magnitude : -magnitude;
    }
    return values;
  }();
  return kValues[code];
}

inline void cvt_rn_f16x2_e4m3x2(unsigned &result, uint16_t pair) {
  result = unsigned(toHalfBits(e4m3ToFloat(uint8_t(pair >> 8)))) << 16 |
           toHalfBits(e4m3ToFloat(uint8_t(pair)));
}
inline void mul_f16x2(unsigned &result, unsigned a, unsigned b) {
  auto half = [&](int shift) {
    return unsigned(
        toHalfBits(halfToFloat(uint16_t(a >> shift)) * halfToFloat(uint16_t(b >> shift))));
  };
  result = half(16) << 16 | half(0);
}
inline void cvt_rni_s32_f32(int &result, float x) {
  constexpr float kBeyond = 2147483648.0f;
  result = x != x          ? 0
           : x >= kBeyond  ? std::numeric_limits<int>::max()
           : x <= -kBeyond ? std::numeric_limits<int>::min()
                           : int(std::nearbyint(x));
}
inline unsigned packBytes(int least, int most, int second, int first, unsigned upper) {
  return unsigned(std::clamp(first, least, most) & 0xff) |
         unsigned(std::clamp(second, least, most) & 0xff) << 8 | upper << 16;
}
inline void cvt_pack_sat_s8_s32_b32(unsigned &result, int second, int first, unsigned upper) {
  result = packBytes(-128, 127, second, first, upper);
}
inline void cvt_pack_sat_u8_s32_b32(unsigned &result, int second, int first, unsigned upper) {
  result = packBytes(0, 255, second, first, upper);
}
inline void cvt_f32_f16(float &result, uint16_t x) { result = halfToFloat(x); }
template <class R> void cvt_rn_f16_f32(R &result, float x) { result = toHalfBits(x); }
template <class R> void cvt_rn_f16_f64(R &result, double x) { result = toHalfBits(x); }
template <class R> void cvt_rn_bf16_f32(R &result, float x) { result = toBfloatBits(x); }
inline void cvt_rn_f16x2_f32(unsigned &result, float high, float low) {
  result = unsigned(toHalfBits(high)) << 16 | toHalfBits(low);
}
inline void cvt_rn_bf16x2_f32(unsigned &result, float high, float low) {
  result = unsigned(toBfloatBits(high)) << 16 | toBfloatBits(low);
}
/// Ties go away from zero: half a unit of what stays is added to the magnitude.
inline void cvt_rna_tf32_f32(unsigned &result, unsigned bits) {
  bool isFinite = (bits & 0x7f800000u) != 0x7f800000u;
  result = isFinite ? (bits + 0x1000u) & ~0x1fffu : bits;
}
inline void ex2_approx_ftz_f32(float &result, float x) { result = ::exp2f(x); }
inline void rcp_approx_ftz_f32(float &result, float x) { result = 1.0f / x; }
inline void max_NaN_f32(float &result, float a, float b) { result = a > b || a != a ? a : b; }
inline void min_NaN_f32(float &result, float a, float b) { result = a < b || a != a ? a : b; }
inline void setp_ne_s32(bool &result, int a, int b) { result = a != b; }
inline void setp_ne_u32(bool &result, unsigned a, unsigned b) { result = a != b; }
inline void setp_eq_u32(bool &result, unsigned a, unsigned b) { result = a == b; }
inline void selp_s32(int &result, int a, int b, bool first) { result = first ? a : b; }
inline void selp_u32(unsigned &result, unsigned a, unsigned b, bool first) {
  result = first ? a : b;
}

// --- Memory ---

inline void prefetch_global_L2(const void *) {}
inline void prefetch_tensormap(const void *) {}
template <class R> void ld_global_nc_u8(R &result, const void *from) {
  result = read<uint8_t>(from);
}
template <class R> void ld_global_nc_u16(R &result, const void *from) {
  result = read<uint16_t>(from);
}
template <class R> void ld_global_nc_u32(R &result, const void *from) {
  result = read<uint32_t>(from);
}
template <size_t Count> void loadGlobal(const Group<unsigned, Count> &results, const void *from) {
  if (reinterpret_cast<uintptr_t>(from) % (4 * Count) != 0)
    machine->fail("loads a vector from an address that is not aligned");
  for (size_t i = 0; i < Count; ++i)
    *results[i] = read<uint32_t>(static_cast<const char *>(from) + 4 * i);
}
inline void ld_global_nc_v2_u32(const Group<unsigned, 2> &results, const void *from) {
  loadGlobal(results, from);
}
inline void ld_global_nc_v4_u32(const Group<unsigned, 4> &results, const void *from) {
  loadGlobal(results, from);
}

/// Words of 4 bytes.
template <class T, size_t Count> void storeWords(uint32_t address, const Group<T, Count> &words) {
  std::byte *target = machine->shared(address, 4 * Count, 4 * Count);
  for (size_t i = 0; i < Count; ++i)
    std::memcpy(target + 4 * i, words[i], 4);
}
template <class T, size_t Count> void loadWords(const Group<T, Count> &words, uint32_t address) {
  const std::byte *source = machine->shared(address, 4 * Count, 4 * Count);
  for (size_t i = 0; i < Count; ++i)
    std::memcpy(words[i], source + 4 * i, 4);
}
template <class T> void st_shared_b32(uint32_t address, T word) { writeShared(address, word); }
template <class T> void st_shared_v2_b32(uint32_t address, const T &words) {
  storeWords(address, words);
}
template <class T> void st_shared_v4_u32(uint32_t address, const T &words) {
  storeWords(address, words);
}
template <class T> void st_shared__cluster_b32(uint32_t address, T word) {
  writeShared(address, word);
}
template <class T> void st_shared__cluster_v2_b32(uint32_t address, const T &words) {
  storeWords(address, words);
}
template <class T> void ld_shared_b32(T &word, uint32_t address) { word = readShared<T>(address); }
template <class T> void ld_shared_f32(T &word, uint32_t address) { word = readShared<T>(address); }
template <class T> void ld_shared_v4_b32(const T &words, uint32_t address) {
  loadWords(words, address);
}
template <class T> void ld_shared_v2_f32(const T &words, uint32_t address) {
  loadWords(words, address);
}
template <class T> void ld_shared_v2_s32(const T &words, uint32_t address) {
  loadWords(words, address);
}

// --- Asynchronous copies ---

inline void perform(const SharedCopy &copy) {
  std::byte *target = machine->shared(copy.target, copy.bytes, copy.bytes);
  if (copy.source == nullptr) {
    std::memset(target, 0, copy.bytes);
    return;
  }
  if (reinterpret_cast<uintptr_t>(copy.source) % copy.bytes != 0)
    machine->fail("copies from an address that is not aligned");
  std::memcpy(target, copy.source, copy.bytes);
}
inline void copyAsync(uint32_t target, const void *source, unsigned bytes, int readBytes) {
  SharedCopy copy = {target, readBytes > 0 ? source : nullptr, bytes};
  if (machine->happensAtOnce())
    perform(copy);
  else
    self().copies.back().push_back(copy);
}
inline void cp_async_cg_shared_global_L2__128B(uint32_t target, const void *source, int bytes,
                                               int readBytes) {
  copyAsync(target, source, unsigned(bytes), readBytes);
}
inline void cp_async_ca_shared_global(uint32_t target, const void *source, int bytes,
                                      int readBytes) {
  copyAsync(target, source, unsigned(bytes), readBytes);
}
inline void cp_async_commit_group() { self().copies.emplace_back(); }
inline void cp_async_wait_group(int pending) {
  auto &groups = self().copies; // the last one is none yet
  while (groups.size() > size_t(pending) + 1) {
    for (const SharedCopy &copy : groups.front())
      perform(copy);
    groups.pop_front();
  }
}

// --- Barriers, clusters ---

inline void bar_sync(int id, int threads) {
  machine->meet(self().block->barriers[id], threads, true);
}
inline void bar_arrive(int id, int threads) {
  machine->meet(self().block->barriers[id], threads, false);
}
inline void griddepcontrol_wait() {}
inline void griddepcontrol_launch_dependents() {}
inline void barrier_cluster_arrive_release_aligned() {
  Cluster &cluster = *self().block->cluster;
  self().clusterPhase = cluster.barrier.phase;
  machine->meet(cluster.barrier, int(cluster.blocks->size() * self().block->threadCount), false);
}
inline void barrier_cluster_wait_acquire_aligned() {
  Barrier &barrier = self().block->cluster->barrier;
  machine->waitUntil([&] { return barrier.phase != self().clusterPhase; }, "the cluster's barrier");
}
inline void mapa_shared__cluster_u32(unsigned &result, unsigned address, unsigned rank) {
  result = (address & ((1u << kRankShift) - 1)) | rank << kRankShift;
}

/// A barrier in shared memory that counts arrivals and bytes.
struct Mbarrier {
  uint32_t phase : 1, expected : 15, pending : 16;
  int32_t bytes;
};

template <class Change> void changeMbarrier(uint32_t address, Change change) {
  auto barrier = readShared<Mbarrier>(address);
  change(barrier);
  if (barrier.pending == 0 && barrier.bytes == 0) {
    barrier.phase ^= 1;
    barrier.pending = barrier.expected;
    ++machine->progress;
  }
  writeShared(address, barrier);
}
inline void mbarrier_init_shared__cta_b64(uint32_t address, uint32_t arrivals) {
  writeShared(address, Mbarrier{0, arrivals & 0x7fff, arrivals, 0});
}
inline void fence_mbarrier_init_release_cluster() {}
inline void mbarrier_arrive_shared__cta_b64(int, uint32_t address) {
  changeMbarrier(address, [](Mbarrier &barrier) { --barrier.pending; });
}
inline void mbarrier_arrive_expect_tx_shared__cta_b64(int, uint32_t address, uint32_t bytes) {
  changeMbarrier(address, [&](Mbarrier &barrier) {
    --barrier.pending;
    barrier.bytes += int32_t(bytes);
  });
}

/// Copies that count on this barrier happen now if they have not.
inline void performBulkCopies(uint32_t barrier) {
  auto &copies = self().block->cluster->bulkCopies;
  for (size_t i = 0; i < copies.size();)
    if (copies[i].barrier == barrier) {
      auto perform = std::move(copies[i].perform);
      copies.erase(copies.begin() + std::ptrdiff_t(i));
      perform();
      ++machine->progress;
    } else {
      ++i;
    }
}

inline void mbarrier_try_wait_parity_shared__cta_b64(bool &ended, uint32_t address,
                                                     uint32_t parity) {
  auto hasEnded = [&] { return readShared<Mbarrier>(address).phase != parity; };
  if (!hasEnded())
    performBulkCopies(address);
  machine->waitUntil([&] { return hasEnded() || (performBulkCopies(address), hasEnded()); },
                     "a barrier in shared memory");
  ended = true;
}

// --- Bulk copies of tensors ---

/// Puts the element of the tensor at these coordinates, zero outside of it, to shared memory.
template <size_t Rank>
void copyElement(const HostTensorMap &map, const std::array<int64_t, Rank> &coordinates,
                 uint32_t target) {
  unsigned bytes = map.elementBytes();
  const char *source = reinterpret_cast<const char *>(map.address) + coordinates[0] * bytes;
  bool isInside = true;
  for (size_t axis = 0; axis < Rank; ++axis) {
    isInside &= coordinates[axis] >= 0 && coordinates[axis] < int64_t(map.sizes[axis]);
    source += axis > 0 ? coordinates[axis] * int64_t(map.strides[axis - 1]) : 0;
  }
  std::byte *place = machine->shared(map.swizzled(target), bytes, bytes);
  if (isInside)
    std::memcpy(place, source, bytes);
  else
    std::memset(place, 0, bytes);
}

inline void completeBytes(uint32_t barrier, unsigned bytes) {
  changeMbarrier(barrier, [&](Mbarrier &of) { of.bytes -= int32_t(bytes); });
}

template <size_t Rank>
void copyBox(uint32_t target, const HostTensorMap &map, const std::array<int64_t, Rank> &origin,
             uint32_t barrier) {
  std::array<unsigned, Rank> box;
  unsigned count = 1;
  for (size_t axis = 0; axis < Rank; ++axis)
    count *= box[axis] = map.box >> 12 * axis & 0xfff;
  for (unsigned i = 0; i < count; ++i) {
    std::array<int64_t, Rank> coordinates;
    unsigned rest = i;
    for (size_t axis = 0; axis < Rank; rest /= box[axis++])
      coordinates[axis] = origin[axis] + rest % box[axis];
    copyElement(map, coordinates, target + i * map.elementBytes());
  }
  completeBytes(barrier, count * map.elementBytes());
}

/// A copy that counts on `barrier`.
template <class Work> void startBulkCopy(uint32_t barrier, Work work) {
  if (machine->happensAtOnce())
    work();
  else
    self().block->cluster->bulkCopies.push_back({barrier, work});
}

template <class Map, size_t Rank>
void startBox(uint32_t target, const Map *given, const Group<int, Rank> &coordinates,
              uint32_t barrier) {
  auto origin = valuesOf<int64_t>(coordinates);
  auto map = read<HostTensorMap>(given);
  if (map.rank != Rank)
    machine->fail("copies a box of another rank than its tensor has");
  startBulkCopy(barrier, [=] { copyBox(target, map, origin, barrier); });
}

/// Tensor maps and their coordinates stand together in brackets.
template <class Map>
void cp_async_bulk_tensor_2d_shared__cluster_global_tile_mbarrier__complete_tx__bytes(
    uint32_t target, const Map *map, const Group<int, 2> &coordinates, uint32_t barrier) {
  startBox(target, map, coordinates, barrier);
}
template <class Map>
void cp_async_bulk_tensor_4d_shared__cluster_global_tile_mbarrier__complete_tx__bytes(
    uint32_t target, const Map *map, const Group<int, 4> &coordinates, uint32_t barrier) {
  startBox(target, map, coordinates, barrier);
}

/// Pixels across, down and image by image within the corners, and of each what lies `offsets` from it.
inline void copyPixels(uint32_t target, const HostTensorMap &map, std::array<int64_t, 4> at,
                       std::array<int64_t, 2> offsets, uint32_t barrier) {
  unsigned channels = uint32_t(map.windowStep), pixels = map.windowStep >> 32;
  auto corner = [](uint64_t corners, int axis) { return int64_t(int16_t(corners >> 16 * axis)); };
  for (unsigned pixel = 0; pixel < pixels; ++pixel) {
    for (unsigned channel = 0; channel < channels; ++channel)
      copyElement<4>(map, {at[0] + channel, at[1] + offsets[0], at[2] + offsets[1], at[3]},
                     target + (pixel * channels + channel) * map.elementBytes());
    for (int axis = 0; axis < 2; ++axis) {
      at[axis + 1] += int64_t(map.steps >> 8 * (axis + 1) & 0xff);
      if (at[axis + 1] < int64_t(map.sizes[axis + 1]) + corner(map.upper, axis))
        break;
      at[axis + 1] = corner(map.lower, axis);
      at[3] += axis == 1;
    }
  }
  completeBytes(barrier, pixels * channels * map.elementBytes());
}

template <class Map>
void cp_async_bulk_tensor_4d_shared__cluster_global_im2col_mbarrier__complete_tx__bytes(
    uint32_t target, const Map *given, const Group<int, 4> &coordinates, uint32_t barrier,
    const Group<unsigned short, 2> &offsets) {
  auto at = valuesOf<int64_t>(coordinates);
  auto beside = valuesOf<int64_t>(offsets);
  auto map = read<HostTensorMap>(given);
  startBulkCopy(barrier, [=] { copyPixels(target, map, at, beside, barrier); });
}

} // namespace smelt::emulator
