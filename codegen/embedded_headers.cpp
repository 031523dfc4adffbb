#include "codegen/embedded_headers.h"

#include "codegen/cache.h"

#include "llvm/ADT/SmallVector.h"

namespace smelt::codegen {

std::string_view embeddedHeadersHash() {
  static const std::string hash = [] {
    llvm::SmallVector<llvm::StringRef> parts;
    for (const EmbeddedHeader &header : embeddedHeaders()) {
      parts.push_back(header.name);
      parts.push_back(header.text);
    }
    return KernelCache::key(parts);
  }();
  return hash;
}

} // namespace smelt::codegen
