/* Runs a plan on host memory, in C89: every input is filled with ones, every output's first values
 * are printed.
 *
 *   host_pointers model.plan [extent]     extent (8 by default) stands for dimensions left open
 */
#include <smelt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 8

/* Ends the program with the failure's code when a call failed. */
static void check(smelt_code code, const smelt_error *error) {
  if (code == SMELT_OK)
    return;
  fprintf(stderr, "host_pointers: %s\n", error->message);
  exit((int)code);
}

static size_t count_of(const smelt_int64 *extents, size_t rank) {
  size_t count = 1, i;
  for (i = 0; i < rank; ++i)
    count *= (size_t)extents[i];
  return count;
}

static void *allocate(size_t bytes) {
  void *memory = calloc(bytes > 0 ? bytes : 1, 1);
  if (memory == NULL) {
    fprintf(stderr, "host_pointers: out of memory\n");
    exit(SMELT_RESOURCES);
  }
  return memory;
}

static void fill_with_ones(void *data, smelt_element_type type, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i)
    switch (type) {
    case SMELT_F32:
      ((float *)data)[i] = 1.0f;
      break;
    case SMELT_F16:
      ((unsigned short *)data)[i] = 0x3C00;
      break;
    case SMELT_I64:
      ((smelt_int64 *)data)[i] = 1;
      break;
    case SMELT_I32:
      ((int *)data)[i] = 1;
      break;
    default: /* other types stay zero */
      break;
    }
}

/* Sets the shape of an input, gives it memory and returns that. */
static void *bind_input(const smelt_engine *engine, smelt_context *context, size_t index,
                        smelt_int64 extent) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_tensor_info info = SMELT_TENSOR_INFO_INIT;
  smelt_binding binding = SMELT_BINDING_INIT;
  smelt_int64 shape[MAX_RANK];
  size_t axis, count;
  check(smelt_engine_input(engine, index, &info, &error), &error);
  if (info.rank > MAX_RANK) {
    fprintf(stderr, "host_pointers: input %s has too many dimensions\n", info.name);
    exit(SMELT_USAGE);
  }
  for (axis = 0; axis < info.rank; ++axis)
    shape[axis] = info.extents[axis] >= 0 ? info.extents[axis] : extent;
  check(smelt_context_set_input_shape(context, info.name, shape, info.rank, &error), &error);
  count = count_of(shape, info.rank);
  binding.element_type = info.element_type;
  binding.location = SMELT_HOST;
  binding.bytes = count * smelt_element_bytes(info.element_type);
  binding.data = allocate(binding.bytes);
  fill_with_ones(binding.data, info.element_type, count);
  check(smelt_context_bind_input(context, info.name, &binding, &error), &error);
  return binding.data;
}

/* Gives an output memory, as large as its shape tells, and returns that. */
static void *bind_output(const smelt_engine *engine, smelt_context *context, size_t index) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_tensor_info info = SMELT_TENSOR_INFO_INIT;
  smelt_binding binding = SMELT_BINDING_INIT;
  smelt_int64 shape[MAX_RANK];
  size_t rank = 0;
  check(smelt_engine_output(engine, index, &info, &error), &error);
  check(smelt_context_output_shape(context, info.name, shape, MAX_RANK, &rank, &error), &error);
  binding.element_type = info.element_type;
  binding.location = SMELT_HOST;
  binding.bytes = count_of(shape, rank) * smelt_element_bytes(info.element_type);
  binding.data = allocate(binding.bytes);
  check(smelt_context_bind_output(context, info.name, &binding, &error), &error);
  return binding.data;
}

static void print_output(const smelt_engine *engine, smelt_context *context, size_t index,
                         const void *data) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_tensor_info info = SMELT_TENSOR_INFO_INIT;
  smelt_int64 shape[MAX_RANK];
  size_t rank = 0, i;
  check(smelt_engine_output(engine, index, &info, &error), &error);
  check(smelt_context_output_shape(context, info.name, shape, MAX_RANK, &rank, &error), &error);
  printf("%s [", info.name);
  for (i = 0; i < rank; ++i)
    printf("%s%ld", i > 0 ? ", " : "", (long)shape[i]);
  printf("]");
  if (info.element_type == SMELT_F32)
    for (i = 0; i < 4 && i < count_of(shape, rank); ++i)
      printf(" %g", (double)((const float *)data)[i]);
  printf("\n");
}

int main(int argument_count, char **arguments) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_engine *engine = NULL;
  smelt_context *context = NULL;
  void **inputs, **outputs;
  size_t input_count, output_count, i;
  if (argument_count < 2) {
    fprintf(stderr, "usage: host_pointers model.plan [extent]\n");
    return SMELT_USAGE;
  }
  check(smelt_engine_create(arguments[1], NULL, &engine, &error), &error);
  check(smelt_context_create(engine, NULL, &context, &error), &error);

  input_count = smelt_engine_input_count(engine);
  output_count = smelt_engine_output_count(engine);
  inputs = (void **)allocate(input_count * sizeof(void *));
  outputs = (void **)allocate(output_count * sizeof(void *));
  for (i = 0; i < input_count; ++i)
    inputs[i] = bind_input(engine, context, i, argument_count > 2 ? atol(arguments[2]) : 8);
  for (i = 0; i < output_count; ++i)
    outputs[i] = bind_output(engine, context, i);

  check(smelt_context_run(context, NULL, &error), &error);
  printf("%s on %s\n", smelt_engine_model_name(engine), smelt_engine_device_name(engine));
  for (i = 0; i < output_count; ++i)
    print_output(engine, context, i, outputs[i]);

  smelt_context_destroy(context);
  smelt_engine_destroy(engine);
  for (i = 0; i < input_count; ++i)
    free(inputs[i]);
  for (i = 0; i < output_count; ++i)
    free(outputs[i]);
  free(inputs);
  free(outputs);
  return 0;
}
