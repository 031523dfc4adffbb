#include "python/core/errors.h"

#include <nanobind/nanobind.h>
#include <smelt.hpp>

namespace nb = nanobind;

namespace smelt::python {

void translateErrors() {
  nb::register_exception_translator([](const std::exception_ptr &thrown, void *) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error &error) {
      nb::object made = nb::module_::import_("smelt._errors")
                            .attr("error_of")(static_cast<int>(error.code()), error.what());
      PyErr_SetObject(made.type().ptr(), made.ptr());
    }
  });
}

void refuse(const std::string &message) {
  smelt_error error = SMELT_ERROR_INIT;
  message.copy(error.message, sizeof(error.message) - 1);
  throw Error(SMELT_USAGE, error);
}

} // namespace smelt::python
