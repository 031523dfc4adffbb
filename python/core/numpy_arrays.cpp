#include "python/core/numpy_arrays.h"

#include <string_view>

namespace nb = nanobind;

namespace smelt::python {

namespace {

struct ReleaseBuffer {
  void operator()(Py_buffer *buffer) const {
    PyBuffer_Release(buffer);
    delete buffer;
  }
};

/// Of a format such as "f"; of the native byte order alone.
std::optional<smelt_element_type> elementTypeOf(const Py_buffer &buffer) {
  struct Kind {
    std::string_view letters;
    smelt_element_type ofSize[4]; ///< 1, 2, 4 and 8 bytes
  };
  constexpr smelt_element_type kNone = -1;
  constexpr Kind kKinds[] = {{"efd", {kNone, SMELT_F16, SMELT_F32, SMELT_F64}},
                             {"bhilq", {SMELT_I8, SMELT_I16, SMELT_I32, SMELT_I64}},
                             {"BHILQ", {SMELT_U8, SMELT_U16, SMELT_U32, SMELT_U64}},
                             {"?", {SMELT_BOOL, kNone, kNone, kNone}}};
  std::string_view format = buffer.format;
  for (const Kind &kind : kKinds)
    for (int log = 0; log < 4; ++log)
      if (format.size() == 1 && kind.letters.find(format[0]) != std::string_view::npos &&
          buffer.itemsize == 1 << log && kind.ofSize[log] != kNone)
        return kind.ofSize[log];
  return std::nullopt;
}

} // namespace

NumpyArrays::NumpyArrays() {
  nb::module_ numpy = nb::module_::import_("numpy");
  arrayType = numpy.attr("ndarray");
  makeEmpty = numpy.attr("empty");
  typeOf = nb::module_::import_("smelt._tensor").attr("numpy_type");
}

std::optional<TensorView> NumpyArrays::view(nb::handle value, bool isWritten) const {
  if (!value.type().is(arrayType)) // a class of arrays may mean something else by its memory
    return std::nullopt;
  auto buffer = std::make_unique<Py_buffer>();
  int flags = PyBUF_ND | PyBUF_FORMAT | (isWritten ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(value.ptr(), buffer.get(), flags) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  std::shared_ptr<Py_buffer> kept(buffer.release(), ReleaseBuffer());
  std::optional<smelt_element_type> type = elementTypeOf(*kept);
  if (!type)
    return std::nullopt;
  return TensorView{*type,
                    Shape(kept->shape, kept->shape + kept->ndim),
                    reinterpret_cast<std::uintptr_t>(kept->buf),
                    static_cast<std::size_t>(kept->len),
                    SMELT_HOST,
                    0,
                    kept};
}

nb::object NumpyArrays::empty(smelt_element_type type, const Shape &shape) const {
  nb::object extents = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    PyTuple_SetItem(extents.ptr(), static_cast<Py_ssize_t>(axis), PyLong_FromLong(shape[axis]));
  return makeEmpty(extents, typeOf(type));
}

} // namespace smelt::python
