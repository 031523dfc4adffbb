// What callers give as tensors.
#pragma once

#include "python/core/numpy_arrays.h"

namespace smelt::python {

/// The road by which another library's tensor comes depends on what its type offers: a table of C functions
/// (dlpack_exchange.h), or else its methods __dlpack__ and __dlpack_device__, which take 30 us with PyTorch.
class TensorReader {
public:
  TensorReader();

  /// A tensor on a device is ready on `stream`, or made so by who gives it. `role` and `name` are for messages:
  /// input 'x'. What is written must be contiguous and writable; a strided array that is read is copied.
  TensorView read(nanobind::handle value, std::uintptr_t stream, const char *role,
                  nanobind::handle name, bool isWritten) const;

  const NumpyArrays &arrays() const { return numpy; }

private:
  NumpyArrays numpy;
  nanobind::object readAnyway;
};

} // namespace smelt::python
