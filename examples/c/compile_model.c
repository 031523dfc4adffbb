/* Compiles an ONNX model in process, in C89, and runs the plan on zeros without writing it anywhere;
 * where there is no GPU, the model runs on the CPU, by the same calls.
 *
 *   compile_model model.onnx [extent]     extent (1 by default) stands for dimensions left open
 */
#include <smelt_compiler.h>

#include <stdio.h>
#include <stdlib.h>

#define MAX_RANK 8

/* Ends the program with the failure's code when a call failed. */
static void check(smelt_code code, const smelt_error *error) {
  if (code == SMELT_OK)
    return;
  fprintf(stderr, "compile_model: %s\n", error->message);
  exit((int)code);
}

static void on_diagnostic(void *user, const smelt_compile_diagnostic *diagnostic) {
  (void)user;
  fprintf(stderr, "%s: %s: %s\n", diagnostic->is_error ? "error" : "warning", diagnostic->place,
          diagnostic->message);
}

static int on_progress(void *user, const smelt_compile_progress *progress) {
  ++*(int *)user;
  printf("%s: %lu of %lu\n", progress->phase, (unsigned long)progress->done,
         (unsigned long)progress->total);
  return 0;
}

/* Of zeros. */
static void *allocate(size_t bytes) {
  void *memory = calloc(bytes > 0 ? bytes : 1, 1);
  if (memory == NULL)
    exit(SMELT_RESOURCES);
  return memory;
}

static smelt_compiled_plan *compile(const char *model, smelt_compilation **compilation) {
  static const char *const architectures[] = {"sm_90a", NULL};
  smelt_error error = SMELT_ERROR_INIT;
  smelt_compile_options options = SMELT_COMPILE_OPTIONS_INIT;
  smelt_compiled_plan *plan = NULL;
  static int steps = 0; /* lasts as long as the compilation, whose callbacks get it */
  options.architectures = architectures;
  options.user = &steps;
  options.on_diagnostic = on_diagnostic;
  options.on_progress = on_progress;
  check(smelt_compile_create(model, &options, compilation, &error), &error);
  check(smelt_compile_to_memory(*compilation, &plan, &error), &error);
  printf("compiled in %d steps\n", steps);
  return plan;
}

static size_t bytes_of(smelt_element_type type, const smelt_int64 *shape, size_t rank) {
  size_t bytes = smelt_element_bytes(type), axis;
  for (axis = 0; axis < rank; ++axis)
    bytes *= (size_t)shape[axis];
  return bytes;
}

/* The shape of an input, in which `extent` stands for what is left open. */
static void fill_shape(const smelt_tensor_info *info, smelt_int64 extent, smelt_int64 *shape) {
  size_t axis;
  for (axis = 0; axis < info->rank && axis < MAX_RANK; ++axis)
    shape[axis] = info->extents[axis] >= 0 ? info->extents[axis] : extent;
}

static void print_shape(const char *name, const smelt_int64 *shape, size_t rank) {
  size_t axis;
  printf("%s [", name);
  for (axis = 0; axis < rank; ++axis)
    printf("%s%ld", axis > 0 ? ", " : "", (long)shape[axis]);
  printf("]\n");
}

/* Host memory of zeros for a tensor of this shape. */
static smelt_binding make_binding(smelt_element_type type, const smelt_int64 *shape, size_t rank) {
  smelt_binding binding = SMELT_BINDING_INIT;
  binding.element_type = type;
  binding.location = SMELT_HOST;
  binding.bytes = bytes_of(type, shape, rank);
  binding.data = allocate(binding.bytes);
  return binding;
}

static void bind_input(const smelt_engine *engine, smelt_context *context, size_t index,
                       smelt_int64 extent) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_tensor_info info = SMELT_TENSOR_INFO_INIT;
  smelt_binding binding;
  smelt_int64 shape[MAX_RANK];
  check(smelt_engine_input(engine, index, &info, &error), &error);
  fill_shape(&info, extent, shape);
  check(smelt_context_set_input_shape(context, info.name, shape, info.rank, &error), &error);
  binding = make_binding(info.element_type, shape, info.rank);
  check(smelt_context_bind_input(context, info.name, &binding, &error), &error);
}

static void bind_output(const smelt_engine *engine, smelt_context *context, size_t index) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_tensor_info info = SMELT_TENSOR_INFO_INIT;
  smelt_binding binding;
  smelt_int64 shape[MAX_RANK];
  size_t rank = 0;
  check(smelt_engine_output(engine, index, &info, &error), &error);
  check(smelt_context_output_shape(context, info.name, shape, MAX_RANK, &rank, &error), &error);
  binding = make_binding(info.element_type, shape, rank);
  check(smelt_context_bind_output(context, info.name, &binding, &error), &error);
  print_shape(info.name, shape, rank);
}

static void run(smelt_engine *engine, smelt_int64 extent) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_context *context = NULL;
  size_t i;
  check(smelt_context_create(engine, NULL, &context, &error), &error);
  for (i = 0; i < smelt_engine_input_count(engine); ++i)
    bind_input(engine, context, i, extent);
  for (i = 0; i < smelt_engine_output_count(engine); ++i)
    bind_output(engine, context, i);
  check(smelt_context_run(context, NULL, &error), &error);
  printf("ran on %s\n", smelt_engine_device_name(engine));
  smelt_context_destroy(context);
}

/* On the GPU; where there is none that the plan has code for, the model itself on the CPU. */
static smelt_engine *open_engine(smelt_compilation *compilation, const smelt_compiled_plan *plan) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_engine *engine = NULL;
  smelt_code code = smelt_engine_create_from_memory(
      smelt_compiled_plan_data(plan), smelt_compiled_plan_bytes(plan), NULL, &engine, &error);
  if (code == SMELT_ENVIRONMENT) {
    fprintf(stderr, "on the CPU, which is slower by far: %s\n", error.message);
    code = smelt_compile_to_cpu_engine(compilation, NULL, &engine, &error);
  }
  check(code, &error);
  return engine;
}

int main(int argument_count, char **arguments) {
  smelt_compilation *compilation = NULL;
  smelt_compiled_plan *plan;
  smelt_engine *engine;
  if (argument_count < 2) {
    fprintf(stderr, "usage: compile_model model.onnx [extent]\n");
    return SMELT_USAGE;
  }
  plan = compile(arguments[1], &compilation);
  engine = open_engine(compilation, plan);
  smelt_compiled_plan_destroy(plan);
  run(engine, argument_count > 2 ? atol(arguments[2]) : 1);
  smelt_engine_destroy(engine);
  smelt_compile_destroy(compilation);
  return 0; /* the tensors' memory goes with the process */
}
