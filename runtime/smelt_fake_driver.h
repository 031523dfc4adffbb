/* A CUDA driver without a GPU, for the tests of applications that use smelt.h.
 *
 * It is a shared library that calls itself libcuda.so.1. A program that links it (CMake:
 * smelt::fake_driver, pkg-config: smelt_fake_driver) has it loaded already when the runtime opens
 * the driver of that name, so that the runtime is the one that is shipped. A program that does not
 * link it opens it where LD_LIBRARY_PATH names its folder, lib/smelt/fake_driver.
 *
 * It does what a driver does but compute: it checks every call (handles, addresses and sizes of
 * device memory, parameters, the current context), keeps device memory in host memory, copies,
 * refuses to hand out more memory than the device has, fails where it is told to, and counts.
 *
 * It does not compute: kernels leave their results as they find them, so that outputs hold no
 * sensible values unless they were recorded (smelt_fake_driver_replay). It does not measure: work is
 * done when the call returns, and times mean nothing. It is one device. It has the driver functions
 * that the runtime calls, found by cuGetProcAddress, and no others: programs that call CUDA
 * themselves need theirs from elsewhere. Device memory starts out as bytes of 0xA5.
 *
 * Functions may be called from any thread. Those that can fail return a smelt_code and describe the
 * failure in `error`, which may be NULL. This header is C89 and C++.
 */
#ifndef SMELT_FAKE_DRIVER_H
#define SMELT_FAKE_DRIVER_H

#include <smelt.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smelt_fake_driver_options {
  size_t struct_size;
  size_t memory_bytes;    /* of the device, at least 1 */
  int compute_capability; /* ten times major plus minor */
} smelt_fake_driver_options;
#define SMELT_FAKE_DRIVER_OPTIONS_INIT {sizeof(smelt_fake_driver_options), (size_t)16 << 30, 90}

/* A new device, as the process begins with one: nothing was called, fails or was recorded. `options`
 * may be NULL. SMELT_USAGE, and the old device stays, where smelt_fake_driver_check_released fails. */
SMELT_API smelt_code smelt_fake_driver_reset(const smelt_fake_driver_options *options,
                                             smelt_error *error);

/* SMELT_USAGE, naming some of it, where the device holds memory, modules, streams, events, graphs or
 * its context: an engine or a smelt_context lives, or something was never released. */
SMELT_API smelt_code smelt_fake_driver_check_released(smelt_error *error);

/* The n-th call from now on of `function` (of any, where it is NULL), counted from 1, returns
 * `result`, a CUresult: 2 is out of memory, 700 an illegal address, 719 a launch that failed. Then
 * calls succeed again, whatever a real device would do. Replaces the failure asked for before.
 * Functions that release something release it all the same. SMELT_USAGE for the name of none of the
 * functions that the runtime calls ("cuMemAlloc", "cuGraphLaunch", ...), and for n or result 0. */
SMELT_API smelt_code smelt_fake_driver_fail_call(const char *function, size_t n, int result,
                                                 smelt_error *error);

/* 1 where the call to fail was reached, else 0. */
SMELT_API int smelt_fake_driver_has_failed(void);

/* How many calls of `function`, or of any where it is NULL, there were. */
SMELT_API size_t smelt_fake_driver_call_count(const char *function);

/* From now on runs hand out these bytes, which are copied, as the output of this name of the plan
 * file: where the application bound the outputs to host memory, in the order of the plan, row-major.
 * Outputs on the device are left alone. A run for which the output has another size fails, and says
 * so. Recordings are those of one plan: naming another plan forgets them. A plan whose outputs are
 * not all recorded hands out the others as the device has them. */
SMELT_API smelt_code smelt_fake_driver_replay(const char *plan, const char *output,
                                              const void *data, size_t bytes, smelt_error *error);

/* The same for every output, from the file NAME.npy in the folder, as `smelt run --output-dir`
 * writes them: a '/' or control character in a name is '_'. SMELT_USAGE where a file is missing, is
 * none, or has elements of another size than the output. */
SMELT_API smelt_code smelt_fake_driver_replay_folder(const char *plan, const char *folder,
                                                     smelt_error *error);

#ifdef __cplusplus
}
#endif

#endif
