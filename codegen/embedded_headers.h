// The device headers (codegen/device, codegen/kernels) as text, embedded at build time under the
// names that generated CUDA text includes them by: "device/types.cuh", "kernels/gemm/gemm.cuh".
#pragma once

#include <span>
#include <string_view>

namespace smelt::codegen {

struct EmbeddedHeader {
  std::string_view name;
  const char *text; ///< ends in a zero byte
};

/// All headers, ordered by name.
std::span<const EmbeddedHeader> embeddedHeaders();

/// Hexadecimal BLAKE3 over all names and texts: part of every cache key.
std::string_view embeddedHeadersHash();

} // namespace smelt::codegen
