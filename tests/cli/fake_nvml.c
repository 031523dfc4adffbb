/* NVIDIA's management library as `smelt bench` asks it, for a GPU that is shared, too hot, and whose clocks fall. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

static unsigned asked_for_clock; /* of the multiprocessors, so many times */

EXPORT int nvmlInit_v2(void) { return 0; }
EXPORT int nvmlShutdown(void) { return 0; }

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
  *device = (void *)bus;
  return bus[0] == '0' ? 0 : 6; /* not found */
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz) {
  *mhz = which == 1 ? (asked_for_clock++ ? 1400 : 1980) : 3201;
  return device ? 0 : 2;
}

EXPORT int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *mhz) {
  *mhz = 1980;
  return device && which == 1 ? 0 : 2;
}

EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) {
  *celsius = 87;
  return device && sensor == 0 ? 0 : 2;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) {
  *reasons = 0x20 | 0x1; /* heat; and idle, which is no slowdown */
  return device ? 0 : 2;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *infos) {
  *count = 3;
  return device && infos == NULL ? 7 : 2; /* more than the room given */
}
