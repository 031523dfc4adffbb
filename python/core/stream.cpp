#include "python/core/stream.h"

#include <string>

namespace nb = nanobind;

namespace smelt::python {

std::optional<std::uintptr_t> streamOf(nb::handle stream) {
  if (stream.is_none())
    return std::nullopt;
  nb::object handle = nb::borrow(stream);
  if (!PyLong_Check(handle.ptr()))
    handle = nb::getattr(stream, "cuda_stream", stream);
  if (!PyLong_Check(handle.ptr())) {
    std::string type = nb::cast<std::string>(stream.type().attr("__name__"));
    std::string message =
        "stream is of type " + type + ": give an integer, or an object with cuda_stream";
    throw nb::type_error(message.c_str());
  }
  std::size_t number = PyLong_AsSize_t(handle.ptr());
  if (PyErr_Occurred())
    throw nb::python_error();
  return number;
}

} // namespace smelt::python
