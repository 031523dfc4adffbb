#include "runtime/smelt_fake_driver.h"

#include "runtime/api_boundary.h"
#include "runtime/fake_driver_exports.h"
#include "runtime/fake_process_driver.h"

using smelt::Status;
using smelt::StatusCode;
using smelt::api::guarded;
using smelt::api::readOptions;
using smelt::api::required;
using smelt::runtime::FakeDevice;
using smelt::runtime::FakeProcessDriver;

namespace {

/// The device of the process, as a driver has it for all programs; it is replaced under the lock.
struct Process {
  std::mutex mutex;
  std::shared_ptr<FakeProcessDriver> driver = std::make_shared<FakeProcessDriver>(FakeDevice());
};

Process &process() {
  static Process process;
  return process;
}

std::shared_ptr<FakeProcessDriver> current() {
  std::lock_guard lock(process().mutex);
  return process().driver;
}

/// Of a function that can be made to fail: those that only explain a failure cannot.
bool isFunction(std::string_view name) {
#define SMELT_DRIVER_FUNCTION(function, version)                                                   \
  if (name == #function)                                                                           \
    return name != "cuGetErrorName" && name != "cuGetErrorString";
#include "runtime/driver_api.inc"
#undef SMELT_DRIVER_FUNCTION
  return false;
}

Status checkReleased(FakeProcessDriver &driver) {
  constexpr size_t kNamed = 5;
  std::vector<std::string> leaks = driver.fake().leaks();
  if (leaks.empty())
    return {};
  std::string text = "the device still holds ";
  for (size_t i = 0; i < std::min(leaks.size(), kNamed); ++i)
    text += (i > 0 ? ", " : "") + leaks[i];
  if (leaks.size() > kNamed)
    text += smelt::joinText(" and ", leaks.size() - kNamed, " more");
  return Status(StatusCode::kUsage, text + "; destroy every engine and context first");
}

} // namespace

smelt::runtime::Driver smelt::runtime::exportedDriver() { return current()->driver(); }

smelt_code smelt_fake_driver_reset(const smelt_fake_driver_options *given, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_ASSIGN_OR_RETURN(
        smelt_fake_driver_options options,
        readOptions(given, smelt_fake_driver_options(SMELT_FAKE_DRIVER_OPTIONS_INIT), "options"));
    if (options.memory_bytes == 0 || options.compute_capability < 10)
      return Status(StatusCode::kUsage,
                    "a device has memory, and a compute capability such as 90, for 9.0");
    std::lock_guard lock(process().mutex);
    SMELT_RETURN_IF_ERROR(checkReleased(*process().driver));
    process().driver = std::make_shared<FakeProcessDriver>(
        FakeDevice{options.compute_capability, options.memory_bytes});
    return {};
  });
}

smelt_code smelt_fake_driver_check_released(smelt_error *error) {
  return guarded(error, [&] { return checkReleased(*current()); });
}

smelt_code smelt_fake_driver_fail_call(const char *function, size_t n, int result,
                                       smelt_error *error) {
  return guarded(error, [&]() -> Status {
    if (function != nullptr && !isFunction(function))
      return Status(StatusCode::kUsage,
                    smelt::joinText("the runtime calls no driver function '", function,
                                    "' that could fail; write for example cuMemAlloc"));
    if (n == 0 || result == 0)
      return Status(StatusCode::kUsage,
                    "calls are counted from 1, and what fails is not 0 (CUDA_SUCCESS)");
    current()->fake().failCall(function ? function : "", n - 1, static_cast<CUresult>(result));
    return {};
  });
}

int smelt_fake_driver_has_failed(void) { return current()->fake().hasFailed() ? 1 : 0; }

size_t smelt_fake_driver_call_count(const char *function) {
  std::shared_ptr<FakeProcessDriver> driver = current();
  return function ? driver->fake().countOf(function) : driver->fake().calls().size();
}

smelt_code smelt_fake_driver_replay(const char *plan, const char *output, const void *data,
                                    size_t bytes, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(plan, "plan", output, "output", data, "data"));
    return current()->withRecordings([&](auto &recordings) -> Status {
      SMELT_RETURN_IF_ERROR(recordings.usePlan(plan));
      return recordings.record(output, {static_cast<const std::byte *>(data), bytes});
    });
  });
}

smelt_code smelt_fake_driver_replay_folder(const char *plan, const char *folder,
                                           smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(plan, "plan", folder, "folder"));
    return current()->withRecordings([&](auto &recordings) -> Status {
      SMELT_RETURN_IF_ERROR(recordings.usePlan(plan));
      return recordings.recordFolder(folder);
    });
  });
}
