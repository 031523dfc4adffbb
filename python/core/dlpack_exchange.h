// DLPack's exchange of tensors by C functions (version 1.3), as far as a consumer needs it: a type of tensors
// names a table of them, so that neither a method nor a capsule of Python's is made for each tensor.
#pragma once

#include <cstdint>
#include <nanobind/ndarray.h>

namespace smelt::python::dlpack {

using Tensor = nanobind::dlpack::dltensor;

struct Version {
  std::uint32_t major, minor;
};

/// A tensor and what keeps its memory.
struct ManagedTensor {
  Version version;
  void *context;
  void (*deleter)(ManagedTensor *self); ///< null: nothing to release
  std::uint64_t flags;
  Tensor tensor;
};
constexpr std::uint64_t kReadOnly = 1;

/// The start of a table of any version, and the next older one.
struct ExchangeHeader {
  Version version;
  const ExchangeHeader *previous;
};

/// Functions return 0, or -1 with an exception of Python's set. None of them orders streams.
struct ExchangeTable {
  ExchangeHeader header;
  int (*allocate)(Tensor *prototype, ManagedTensor **made, void *user,
                  void (*setError)(void *user, const char *kind, const char *message));
  int (*toManaged)(void *object, ManagedTensor **made);
  int (*toObject)(ManagedTensor *tensor, void **object);
  int (*toTensor)(void *object, Tensor *described); ///< may be null
  int (*currentStream)(std::int32_t deviceType, std::int32_t device, void **stream);
};

/// The table of the first version that this one describes; null where a type has none.
const ExchangeTable *exchangeTableOf(nanobind::handle type);

} // namespace smelt::python::dlpack
