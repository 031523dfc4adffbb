#include "runtime/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace smelt {

struct ChecksumStream::State {
  XXH3_state_t hash;
};

static plan::Checksum toChecksum(XXH128_hash_t hash) { return {hash.low64, hash.high64}; }

plan::Checksum checksumOf(std::span<const std::byte> bytes) {
  return toChecksum(XXH3_128bits(bytes.data(), bytes.size()));
}

ChecksumStream::ChecksumStream() : state(std::make_unique<State>()) {
  XXH3_INITSTATE(&state->hash);
  XXH3_128bits_reset(&state->hash);
}

ChecksumStream::~ChecksumStream() = default;
ChecksumStream::ChecksumStream(ChecksumStream &&) noexcept = default;
ChecksumStream &ChecksumStream::operator=(ChecksumStream &&) noexcept = default;

void ChecksumStream::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state->hash, bytes.data(), bytes.size());
}

plan::Checksum ChecksumStream::result() const {
  return toChecksum(XXH3_128bits_digest(&state->hash));
}

} // namespace smelt
