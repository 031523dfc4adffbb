// The plan file: what the compiler writes and the runtime reads. This header is all that the two
// share.
//
//   offset 0    PlanHeader    64 bytes, checksums itself and the section table
//   offset 64   SectionEntry  one for each section, 48 bytes each
//   then        the sections, in the table's order, each at its alignment, gaps filled with zeros
//
// All integers are little-endian. There are exactly four sections, in this order: metadata (a
// FlatBuffer, plan_format.fbs), code (cubins and PTX), sources (CUDA text and IR) and weights; the last three hold bytes
// to which the metadata's ranges point. Weights begin on a page so that they can be mapped.
//
// Every byte of the file is covered: the header by its own checksum, the table by the header's
// table checksum, each section by its entry's checksum, and the gaps must be zero.
#pragma once

#include "runtime/plan_format_generated.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace smelt::plan {

static_assert(std::endian::native == std::endian::little, "plans are read in place");

/// A reference to a dim, tensor or symbol that is not there.
inline constexpr uint32_t kNone = 0xFFFFFFFFu;

/// A plan of another major version cannot be read; one with a newer minor version cannot either,
/// one with an older minor version can.
inline constexpr uint16_t kFormatMajor = 3;
inline constexpr uint16_t kFormatMinor = 7;

/// The first byte is not ASCII and a line break follows, so that text tools and text-mode
/// transfers are noticed.
inline constexpr std::array<unsigned char, 8> kMagic = {0x93, 'S', 'M', 'E', 'L', 'T', '\r', '\n'};

inline constexpr uint64_t kPageBytes = 4096;  ///< alignment of the weights section
inline constexpr uint64_t kSectionBytes = 64; ///< alignment of every other section
inline constexpr uint64_t kWeightBytes =
    256; ///< alignment of a weight within its section, and of arena slots

/// Values that a dim's program may hold at once.
inline constexpr size_t kMaxDimStack = 64;

enum class SectionType : uint32_t { kMetadata = 1, kCode = 2, kSources = 3, kWeights = 4 };
inline constexpr uint32_t kSectionCount = 4;

/// XXH3-128 with seed 0.
struct Checksum {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Checksum &) const = default;
};

struct PlanHeader {
  std::array<unsigned char, 8> magic;
  uint16_t formatMajor;
  uint16_t formatMinor;
  uint32_t sectionCount;
  uint64_t fileBytes;
  uint64_t reserved;       ///< zero
  Checksum tableChecksum;  ///< of the section table
  Checksum headerChecksum; ///< of the 48 bytes before it
};
static_assert(sizeof(PlanHeader) == 64 && offsetof(PlanHeader, headerChecksum) == 48);

struct SectionEntry {
  SectionType type;
  uint32_t reserved;  ///< zero
  uint64_t offset;    ///< from the start of the file
  uint64_t size;      ///< bytes
  uint64_t alignment; ///< bytes, a power of two
  Checksum checksum;  ///< of the section's bytes
};
static_assert(sizeof(SectionEntry) == 48);

/// Loops of one WeightPart.
inline constexpr size_t kMaxCopyLoops = 8;

/// Elements of an initializer become elements of a weight: as they are, or a float32 rounded to 16
/// bits.
constexpr bool isConvertible(ElementType from, ElementType to) {
  return from == to ||
         (from == ElementType::f32 && (to == ElementType::f16 || to == ElementType::bf16));
}

/// How people number launch `launch` of the `launches` of a variant of step `step`: "3", or "3.1", "3.2" where there
/// are several. Steps count on from those that run once.
inline std::string launchNumber(size_t step, size_t launch, size_t launches) {
  std::string number = std::to_string(step);
  return launches > 1 ? number + "." + std::to_string(launch + 1) : number;
}

/// Bytes of one element in memory. boolean is one byte, 0 or 1; types of fewer than 8 bits are one
/// byte with their code in its low bits and 0 in the others.
constexpr uint32_t elementBytes(ElementType type) {
  switch (type) {
  case ElementType::f64:
  case ElementType::i64:
  case ElementType::u64:
    return 8;
  case ElementType::f32:
  case ElementType::i32:
  case ElementType::u32:
    return 4;
  case ElementType::f16:
  case ElementType::bf16:
  case ElementType::i16:
  case ElementType::u16:
    return 2;
  case ElementType::i8:
  case ElementType::u8:
  case ElementType::boolean:
  case ElementType::f8e4m3fn:
  case ElementType::f8e4m3fnuz:
  case ElementType::f8e5m2:
  case ElementType::f8e5m2fnuz:
  case ElementType::f4e2m1:
  case ElementType::f8e8m0:
  case ElementType::i4:
  case ElementType::u4:
  case ElementType::i2:
  case ElementType::u2:
    return 1;
  }
  return 0;
}

} // namespace smelt::plan
