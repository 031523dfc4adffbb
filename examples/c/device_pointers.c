/* Runs a plan on device memory and the caller's own stream, with the caller's allocator, in C and
 * the CUDA driver API. Every input is zero; only what an application does around Smelt is shown.
 *
 *   device_pointers model.plan [extent]     extent (8 by default) stands for dimensions left open
 */
#include <cuda.h>
#include <smelt.h>

#include <stdio.h>
#include <stdlib.h>

#define MAX_RANK 8
#define RUNS 10

static void check(smelt_code code, const smelt_error *error) {
  if (code == SMELT_OK)
    return;
  fprintf(stderr, "device_pointers: %s\n", error->message);
  exit((int)code);
}

static void check_cuda(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS)
    return;
  fprintf(stderr, "device_pointers: %s failed with CUDA error %d\n", what, (int)result);
  exit(SMELT_RUN_FAILED);
}

/* Smelt's weights and workspace come from here, so an application can count or pool them. */
static void *allocate(void *user, size_t bytes) {
  CUdeviceptr memory = 0;
  if (cuMemAlloc(&memory, bytes) != CUDA_SUCCESS)
    return NULL;
  *(size_t *)user += bytes;
  return (void *)memory;
}

static void release(void *user, void *memory, size_t bytes) {
  cuMemFree((CUdeviceptr)memory);
  *(size_t *)user -= bytes;
}

/* Device memory of zeros for a tensor of this shape. */
static smelt_binding make_binding(smelt_element_type type, const smelt_int64 *shape, size_t rank) {
  smelt_binding binding = SMELT_BINDING_INIT;
  CUdeviceptr memory = 0;
  size_t axis;
  binding.element_type = type;
  binding.location = SMELT_DEVICE;
  binding.bytes = smelt_element_bytes(type);
  for (axis = 0; axis < rank; ++axis)
    binding.bytes *= (size_t)shape[axis];
  if (binding.bytes > 0) {
    check_cuda(cuMemAlloc(&memory, binding.bytes), "cuMemAlloc");
    check_cuda(cuMemsetD8(memory, 0, binding.bytes), "cuMemsetD8");
  }
  binding.data = (void *)memory;
  return binding;
}

static void bind_all(const smelt_engine *engine, smelt_context *context, smelt_int64 extent) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_tensor_info info = SMELT_TENSOR_INFO_INIT;
  smelt_binding binding;
  smelt_int64 shape[MAX_RANK];
  size_t i, axis, rank = 0;
  for (i = 0; i < smelt_engine_input_count(engine); ++i) {
    check(smelt_engine_input(engine, i, &info, &error), &error);
    for (axis = 0; axis < info.rank && axis < MAX_RANK; ++axis)
      shape[axis] = info.extents[axis] >= 0 ? info.extents[axis] : extent;
    check(smelt_context_set_input_shape(context, info.name, shape, info.rank, &error), &error);
    binding = make_binding(info.element_type, shape, info.rank);
    check(smelt_context_bind_input(context, info.name, &binding, &error), &error);
  }
  for (i = 0; i < smelt_engine_output_count(engine); ++i) {
    check(smelt_engine_output(engine, i, &info, &error), &error);
    check(smelt_context_output_shape(context, info.name, shape, MAX_RANK, &rank, &error), &error);
    binding = make_binding(info.element_type, shape, rank);
    check(smelt_context_bind_output(context, info.name, &binding, &error), &error);
  }
}

int main(int argument_count, char **arguments) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_allocator allocator = SMELT_ALLOCATOR_INIT;
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  smelt_engine *engine = NULL;
  smelt_context *context = NULL;
  CUdevice device = 0;
  CUcontext current = NULL;
  CUstream stream = NULL;
  size_t held = 0;
  int run;
  if (argument_count < 2) {
    fprintf(stderr, "usage: device_pointers model.plan [extent]\n");
    return SMELT_USAGE;
  }
  /* Smelt uses the device's primary context, as the CUDA runtime does. */
  check_cuda(cuInit(0), "cuInit");
  check_cuda(cuDeviceGet(&device, 0), "cuDeviceGet");
  check_cuda(cuDevicePrimaryCtxRetain(&current, device), "cuDevicePrimaryCtxRetain");
  check_cuda(cuCtxSetCurrent(current), "cuCtxSetCurrent");
  check_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");

  allocator.user = &held;
  allocator.allocate = allocate;
  allocator.release = release;
  options.allocator = &allocator;
  check(smelt_engine_create(arguments[1], &options, &engine, &error), &error);
  check(smelt_context_create(engine, NULL, &context, &error), &error);
  bind_all(engine, context, argument_count > 2 ? atol(arguments[2]) : 8);
  check(smelt_context_prepare(context, &error), &error);

  /* Each enqueue is one graph launch in the stream's order; nothing waits until the application
   * does. */
  for (run = 0; run < RUNS; ++run)
    check(smelt_context_enqueue(context, stream, &error), &error);
  check_cuda(cuStreamSynchronize(stream), "cuStreamSynchronize");
  printf("%s ran %d times; Smelt holds %lu bytes of device memory\n",
         smelt_engine_model_name(engine), RUNS, (unsigned long)held);

  smelt_context_destroy(context);
  smelt_engine_destroy(engine);
  check_cuda(cuStreamDestroy(stream), "cuStreamDestroy");
  check_cuda(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
  return 0;
}
