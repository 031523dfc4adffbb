/* A steady clock, to be preloaded, that goes on by FAKE_CLOCK_MS milliseconds each time that somebody looks at it, and not
 * otherwise: what works until some time has passed takes as many turns on every machine. At the end the seconds that
 * passed are written to the file FAKE_CLOCK_END, where that is given. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static atomic_llong looks;

static long long milliseconds(void) {
  const char *step = getenv("FAKE_CLOCK_MS");
  return atomic_load(&looks) * (step ? atoll(step) : 1);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *now) {
  if (clock != CLOCK_MONOTONIC)
    return (int)syscall(SYS_clock_gettime, clock, now);
  atomic_fetch_add(&looks, 1);
  now->tv_sec = milliseconds() / 1000;
  now->tv_nsec = milliseconds() % 1000 * 1000000;
  return 0;
}

__attribute__((destructor)) static void finish(void) {
  const char *name = getenv("FAKE_CLOCK_END");
  FILE *file = name ? fopen(name, "w") : NULL;
  if (file) {
    fprintf(file, "%.3f\n", (double)milliseconds() / 1e3);
    fclose(file);
  }
}
