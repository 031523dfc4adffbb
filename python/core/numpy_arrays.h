// NumPy's arrays, in and out, without its C API.
#pragma once

#include "python/core/tensor.h"

#include <optional>

namespace smelt::python {

class NumpyArrays {
public:
  NumpyArrays();

  /// An array's own memory by the buffer protocol. Nothing where `value` is no array, or none that can be used
  /// as it is: strided, read-only where it is to be written, of a type of another package's.
  std::optional<TensorView> view(nanobind::handle value, bool isWritten) const;

  /// An array of values that nobody set. UsageError where NumPy has no such type.
  nanobind::object empty(smelt_element_type type, const Shape &shape) const;

private:
  nanobind::object arrayType, makeEmpty, typeOf;
};

} // namespace smelt::python
