// Tests of the service without a GPU: what it does with a model's outputs, and where the device runs
// out of memory or fails. The fake driver computes nothing; the outputs are recorded ones.
//
//   service_test model.plan TEST

#include "service.h"

#include <smelt_fake_driver.h>

#include <cstring>
#include <functional>
#include <iostream>

namespace {

constexpr smelt_int64 kExtent = 4;
constexpr int kOutOfMemory = 2, kLaunchFailed = 719; // of CUresult

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool condition, const std::string &what) {
  if (!condition)
    throw Failed(what);
}

void check(smelt_code code, const smelt_error &error) { require(code == SMELT_OK, error.message); }

void reset(std::size_t memoryBytes) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_fake_driver_options options = SMELT_FAKE_DRIVER_OPTIONS_INIT;
  options.memory_bytes = memoryBytes;
  check(smelt_fake_driver_reset(&options, &error), error);
}

void failCall(const char *function, std::size_t n, int result) {
  smelt_error error = SMELT_ERROR_INIT;
  check(smelt_fake_driver_fail_call(function, n, result, &error), error);
}

void requireNothingLeft() {
  smelt_error error = SMELT_ERROR_INIT;
  check(smelt_fake_driver_check_released(&error), error);
}

/// Records bytes of a pattern for every output, as large as the service's answers.
Answer record(const std::string &plan) {
  Answer recorded = Service(plan, kExtent).answer();
  for (auto &[name, bytes] : recorded) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<unsigned char>(7 * i + name.size());
    smelt_error error = SMELT_ERROR_INIT;
    check(smelt_fake_driver_replay(plan.c_str(), name.c_str(), bytes.data(), bytes.size(), &error),
          error);
  }
  return recorded;
}

void recordedOutput(const std::string &plan) {
  Answer recorded = record(plan);
  Service service(plan, kExtent);
  require(service.answer() == recorded, "the answer is not what was recorded");
  require(smelt_fake_driver_call_count("cuGraphLaunch") == 2, "a run is not one launch");
}

void outOfMemory(const std::string &plan) {
  reset(1024); // bytes
  try {
    Service service(plan, kExtent);
    service.answer();
    throw Failed("a device of 1 KiB was enough");
  } catch (const smelt::Error &error) {
    require(error.code() == SMELT_RESOURCES, std::string("not out of memory: ") + error.what());
  }
  requireNothingLeft();
}

void failingSeventhLaunch(const std::string &plan) {
  Answer recorded = record(plan);
  {
    Service service(plan, kExtent);
    failCall("cuGraphLaunch", 7, kLaunchFailed);
    for (int request = 1; request <= 10; ++request) {
      require(service.answer() == recorded, "a wrong answer");
      require(service.restarts() == (request < 7 ? 0 : 1), "not restarted by the 7th request");
    }
  }
  require(smelt_fake_driver_has_failed() == 1, "the failure was not reached");
  requireNothingLeft();
}

/// Each driver call of a service's life fails once: it ends with an error or goes on, and leaves
/// nothing behind.
void everyCallFailsOnce(const std::string &plan) {
  std::size_t n = 0;
  do {
    failCall(nullptr, ++n, kOutOfMemory);
    try {
      Service service(plan, kExtent);
      service.answer();
    } catch (const smelt::Error &error) {
      require(error.code() == SMELT_RESOURCES, error.what());
    }
    requireNothingLeft();
  } while (smelt_fake_driver_has_failed() == 1);
  require(n > 20, "hardly any call was made to fail");
}

} // namespace

int main(int argumentCount, char **arguments) {
  const std::map<std::string, std::function<void(const std::string &)>> tests = {
      {"recorded_output", recordedOutput},
      {"out_of_memory", outOfMemory},
      {"failing_seventh_launch", failingSeventhLaunch},
      {"every_call_fails_once", everyCallFailsOnce}};
  if (argumentCount != 3 || tests.count(arguments[2]) == 0) {
    std::cerr << "usage: service_test model.plan TEST\n";
    return SMELT_USAGE;
  }
  try {
    tests.at(arguments[2])(arguments[1]);
  } catch (const std::exception &failure) {
    std::cerr << arguments[2] << ": " << failure.what() << "\n";
    return 1;
  }
  return 0;
}
