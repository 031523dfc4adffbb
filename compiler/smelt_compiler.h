/* Smelt's compiler: turns an ONNX model into a plan, which smelt.h runs, or into an engine of smelt.h on
 * the CPU. In process, with no GPU.
 *
 * Order of use: create a compilation, set the shapes and limits that the plan is to have, compile to
 * a file or to memory. A compilation is not for two threads at once; two compilations are.
 *
 * NVRTC, which compiles the kernels, is opened at run time. While it compiles on the calling thread
 * it may replace the program's handlers of SIGINT and SIGTERM: block these on that thread where the
 * program has handlers. The library catches no signal itself, never prints and never throws.
 *
 * Every function that can fail returns a smelt_code and describes the failure in `error`, which may
 * be NULL: SMELT_USAGE, SMELT_INVALID_MODEL, SMELT_RESOURCES (memory, disk, or stopped by
 * on_progress), SMELT_ENVIRONMENT (no NVRTC), SMELT_RUN_FAILED or SMELT_INTERNAL. Option structs begin with their
 * size: initialise them with their _INIT macros. This header is C89 and C++.
 */
#ifndef SMELT_COMPILER_H
#define SMELT_COMPILER_H

#include <smelt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is wrong with a model, or may be. Pointers live as long as the call. */
typedef struct smelt_compile_diagnostic {
  size_t struct_size;
  int is_error;        /* 0 for a warning */
  const char *place;   /* names of ONNX nodes, "input 'x'", "tensor 'w'", or the model's file */
  const char *message; /* and a line for each note */
} smelt_compile_diagnostic;

/* A step that is done. Phases in order: import, simplify, raise, narrow (where the precision asks for
 * it), fuse, lower, kernels, weights, whose steps are bytes; run, whose steps are the ops of
 * a run on the CPU. */
typedef struct smelt_compile_progress {
  size_t struct_size;
  const char *phase;
  size_t done; /* of `total` steps of the phase */
  size_t total;
} smelt_compile_progress;

/* What float32 values are computed in. Other types stay, and so do those of inputs and outputs. */
typedef enum smelt_precision {
  SMELT_PRECISION_FP32 = 0, /* as the model says */
  SMELT_PRECISION_TF32 = 1, /* products at ten bits of mantissa */
  SMELT_PRECISION_FP16 =
      2, /* 16 bits for all but what needs more: sums, positions, large numbers */
  SMELT_PRECISION_BF16 = 3
} smelt_precision;

typedef struct smelt_compile_options {
  size_t struct_size;
  const char *const *architectures; /* ends with a NULL; NULL: sm_90a alone; compute_80: PTX */
  const char *cache_directory;      /* of compiled kernels; NULL: no cache */
  const char *nvrtc_path;           /* file or folder; NULL: search */
  unsigned long seed;               /* of random weights */
  int random_weights;               /* not 0: draw weights whose file is missing */
  smelt_precision precision;
  void *user; /* handed to the callbacks */
  /* Both may be called from any thread, by one at a time. */
  void (*on_diagnostic)(void *user, const smelt_compile_diagnostic *diagnostic);
  int (*on_progress)(void *user, const smelt_compile_progress *progress); /* not 0: stop */
  int refit; /* not 0: weights stay as they are in the model, for smelt_engine_update_weight */
} smelt_compile_options;
#define SMELT_COMPILE_OPTIONS_INIT                                                                 \
  {sizeof(smelt_compile_options), 0, 0, 0, 0, 0, SMELT_PRECISION_FP32, 0, 0, 0, 0}

typedef struct smelt_compilation smelt_compilation;

/* Of the ONNX file `model`, which is read when it is compiled. `options` may be NULL; its strings are
 * copied. */
SMELT_API smelt_code smelt_compile_create(const char *model, const smelt_compile_options *options,
                                          smelt_compilation **compilation, smelt_error *error);
/* NULL is ignored. */
SMELT_API void smelt_compile_destroy(smelt_compilation *compilation);

/* Compiles the input for these extents; -1 leaves one as the model has it. */
SMELT_API smelt_code smelt_compile_set_shape(smelt_compilation *compilation, const char *input,
                                             const smelt_int64 *extents, size_t rank,
                                             smelt_error *error);

/* Limits that the plan checks; -1 sets none, and either array may be NULL. */
SMELT_API smelt_code smelt_compile_set_limits(smelt_compilation *compilation, const char *input,
                                              const smelt_int64 *smallest,
                                              const smelt_int64 *largest, size_t rank,
                                              smelt_error *error);

/* Writes the plan to `path`, whole or not at all. The same model and options give the same bytes. */
SMELT_API smelt_code smelt_compile_to_file(smelt_compilation *compilation, const char *path,
                                           smelt_error *error);

/* A plan in memory, for smelt_engine_create_from_memory. */
typedef struct smelt_compiled_plan smelt_compiled_plan;
SMELT_API smelt_code smelt_compile_to_memory(smelt_compilation *compilation,
                                             smelt_compiled_plan **plan, smelt_error *error);
SMELT_API const void *smelt_compiled_plan_data(const smelt_compiled_plan *plan);
SMELT_API size_t smelt_compiled_plan_bytes(const smelt_compiled_plan *plan);
/* NULL is ignored. */
SMELT_API void smelt_compiled_plan_destroy(smelt_compiled_plan *plan);

/* What becomes of every ONNX node, and why, as the JSON of `smelt explain --json` (smelt.explain/1).
 * Fuses the model, and compiles no kernel. The text lives until the next call, or the compilation's
 * end. */
SMELT_API smelt_code smelt_compile_explain(smelt_compilation *compilation, const char **json,
                                           smelt_error *error);

/* ---- The CPU ------------------------------------------------------------------------------- */

/* An engine that runs the model itself on the CPU, in Smelt's interpreter, where there is no GPU: slower
 * by far, on all cores; the logger hears so as a warning, and smelt_engine_device_name says "cpu, 2
 * threads". Takes no NVRTC and no driver. Shapes, limits, precision and refit are the compilation's, which
 * may be destroyed afterwards; its callbacks must stay callable as long as the engine and its contexts.
 *
 * All of smelt.h that takes an engine takes this one, and fails where it would on a GPU. What differs:
 *   - SMELT_DEVICE stands for the host's memory too: that of smelt_memory_allocate, or any other that is
 *     aligned as a device's must be. What a GPU holds cannot be read. By DLPack, tensors come from and go
 *     to the CPU.
 *   - smelt_context_enqueue and smelt_context_run have run the model when they return; a stream that is
 *     not NULL is refused with SMELT_USAGE. Runs of several contexts take turns.
 *   - on_progress hears of runs, on the thread that runs, as the phase "run", and stops one:
 *     SMELT_RESOURCES. It must neither run a context of the engine nor update a weight. on_diagnostic
 *     does not hear of runs.
 *   - smelt_context_workspace_bytes is 0: the interpreter takes memory as it goes. A workspace of the
 *     caller's is checked, and not used.
 *   - smelt_context_profile fails with SMELT_USAGE: it is of kernels.
 *   - smelt_engine_update_weight waits for a run, and has copied the values when it returns. It also takes
 *     weights of which a plan would have computed something; at SMELT_PRECISION_FP16 and
 *     SMELT_PRECISION_BF16 it takes none.
 *   - Of `options`, which may be NULL, only the logger and on_progress may be set: SMELT_USAGE. The
 *     latter hears nothing: loading is the compilation's work, whose on_progress does.
 *
 * Needs the runtime, of the same version, in the program: SMELT_USAGE where it is not. */
SMELT_API smelt_code smelt_compile_to_cpu_engine(smelt_compilation *compilation,
                                                 const smelt_engine_options *options,
                                                 smelt_engine **engine, smelt_error *error);

#ifdef __cplusplus
}
#endif

#endif
