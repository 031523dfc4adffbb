// DLPack's exchange of tensors by C functions (version 1.3), as far as a consumer needs it: a type of tensors
// names a table of them, so that neither a method nor a capsule of Python's is made for each tensor.
#pragma once

#include "runtime/dlpack.h"

#include <nanobind/nanobind.h>

namespace smelt::dlpack {

/// The start of a table of any version, and the next older one.
struct ExchangeHeader {
  DLPackVersion version;
  const ExchangeHeader *previous;
};

/// Functions return 0, or -1 with an exception of Python's set. None of them orders streams.
struct ExchangeTable {
  ExchangeHeader header;
  int (*allocate)(DLTensor *prototype, DLManagedTensorVersioned **made, void *user,
                  void (*setError)(void *user, const char *kind, const char *message));
  int (*toManaged)(void *object, DLManagedTensorVersioned **made);
  int (*toObject)(DLManagedTensorVersioned *tensor, void **object);
  int (*toTensor)(void *object, DLTensor *described); ///< may be null
  int (*currentStream)(std::int32_t deviceType, std::int32_t device, void **stream);
};

/// The table of the first version that this one describes; null where a type has none.
const ExchangeTable *exchangeTableOf(nanobind::handle type);

} // namespace smelt::dlpack
