#include "runtime/fake_driver_exports.h"

#include <cstring>

namespace smelt::runtime {
namespace {

/// A plain function for each entry of the table. What the fake throws is a call that makes no sense.
template <typename Function> struct Exported;
template <typename... Arguments> struct Exported<CUresult(Arguments...)> {
  template <std::function<CUresult(Arguments...)> DriverApi::*entry>
  static CUresult call(Arguments... arguments) {
    try {
      return (*exportedDriver().*entry)(arguments...);
    } catch (const std::bad_alloc &) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (const std::exception &) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
  }
};

} // namespace
} // namespace smelt::runtime

extern "C" __attribute__((visibility("default"))) CUresult
cuGetProcAddress_v2(const char *symbol, void **function, int requested, cuuint64_t,
                    CUdriverProcAddressQueryResult *found) {
  using smelt::runtime::DriverApi;
  *function = nullptr;
#define SMELT_DRIVER_FUNCTION(name, version)                                                       \
  if (std::strcmp(symbol, #name) == 0 && requested == version)                                     \
    *function = reinterpret_cast<void *>(                                                          \
        &smelt::runtime::Exported<std::remove_pointer_t<PFN_##name##_v##version>>::template call<  \
            &DriverApi::name>);
#include "runtime/driver_api.inc"
#undef SMELT_DRIVER_FUNCTION
  *found = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}
