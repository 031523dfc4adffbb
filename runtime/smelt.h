/* Smelt's runtime: runs a compiled model (a plan) on an NVIDIA GPU as one CUDA graph.
 *
 *   smelt_engine   a plan loaded onto a device; or a model on the CPU, which the compiler's library
 *                  makes (smelt_compile_to_cpu_engine, which says what differs there). Immutable but
 *                  for the values of its weights: any thread may use it at any time.
 *   smelt_context  shapes, bindings and workspace of one run at a time. Cheap. Not for two threads
 *                  at once, which is noticed and refused with SMELT_USAGE.
 *
 * Order of use: create an engine, create a context, set the shapes of inputs that the model leaves
 * open, bind memory to every input and output, prepare once, enqueue as often as you like.
 *
 * The library needs no CUDA library at link time: it opens the driver when the first engine is
 * created, and says so when there is none. It never prints, never throws, and never ends the
 * process.
 *
 * Every function that can fail returns a smelt_code and describes the failure in `error`, which may
 * be NULL. Option structs begin with their size, so that they may grow without breaking callers:
 * initialise them with their _INIT macros. This header is C89 and C++.
 */
#ifndef SMELT_H
#define SMELT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SMELT_API __attribute__((visibility("default")))
#else
#define SMELT_API
#endif

/* Of this header; smelt_version() tells that of the library. */
#define SMELT_VERSION_MAJOR 0
#define SMELT_VERSION_MINOR 1
#define SMELT_VERSION_PATCH 0

/* 64-bit signed integer; Smelt runs where long has 64 bits. */
typedef long smelt_int64;
typedef char smelt_long_must_have_64_bits[sizeof(long) == 8 ? 1 : -1];

/* Equal to the exit codes of the command line. */
typedef enum smelt_code {
  SMELT_OK = 0,
  SMELT_RUN_FAILED = 1,    /* the device or the driver refused or broke a run */
  SMELT_USAGE = 2,         /* a wrong name, type, shape, pointer or order of calls */
  SMELT_INVALID_MODEL = 3, /* of the compiler: the model is unsupported or wrong */
  SMELT_RESOURCES = 5,     /* out of memory */
  SMELT_ENVIRONMENT = 6,   /* no driver, an unfit driver, or no code in the plan for this device */
  SMELT_BAD_PLAN = 7,      /* the plan is damaged, or of another version of Smelt */
  SMELT_INTERNAL = 70      /* a defect of Smelt */
} smelt_code;

/* Filled in when a call fails, as far as struct_size reaches. `file` and `line` are places in Smelt's
 * sources, for bug reports. */
typedef struct smelt_error {
  size_t struct_size;
  int line;
  char file[64];
  char message[1024]; /* ends with a NUL, cut where it is too long */
} smelt_error;
#define SMELT_ERROR_INIT {sizeof(smelt_error), 0, "", ""}

/* "0.1.0" */
SMELT_API const char *smelt_version(void);

/* "SMELT_BAD_PLAN"; "unknown code" for any other number. */
SMELT_API const char *smelt_code_name(smelt_code code);

/* ---- Tensors ------------------------------------------------------------------------------- */

typedef int smelt_element_type;
enum {
  SMELT_F32 = 0,
  SMELT_F16 = 1,
  SMELT_BF16 = 2,
  SMELT_F64 = 3,
  SMELT_I64 = 4,
  SMELT_I32 = 5,
  SMELT_I16 = 6,
  SMELT_I8 = 7,
  SMELT_U8 = 8,
  SMELT_BOOL = 9, /* one byte, 0 or 1 */
  SMELT_U16 = 10,
  SMELT_U32 = 11,
  SMELT_U64 = 12,
  /* Storage of quantised values, one a byte. Those of fewer than 8 bits have their code in the low
   * bits of the byte; the others are 0. */
  SMELT_F8E4M3FN = 13,
  SMELT_F8E4M3FNUZ = 14,
  SMELT_F8E5M2 = 15,
  SMELT_F8E5M2FNUZ = 16,
  SMELT_F4E2M1 = 17,
  SMELT_F8E8M0 = 18,
  SMELT_I4 = 19,
  SMELT_U4 = 20,
  SMELT_I2 = 21,
  SMELT_U2 = 22
};

/* Bytes of one element; 0 for an unknown type. */
SMELT_API size_t smelt_element_bytes(smelt_element_type type);

/* "float16", "int8", "float8e4m3fn", ...; "unknown type" for any other number. */
SMELT_API const char *smelt_element_type_name(smelt_element_type type);

/* An input or output of a model. Pointers live as long as the plan or engine that was asked. */
typedef struct smelt_tensor_info {
  size_t struct_size;
  const char *name;
  smelt_element_type element_type;
  size_t rank;
  const smelt_int64 *extents; /* rank many; -1 where the extent depends on the input's shape */
  /* An output that takes over the memory of an input, such as a cache that grows: the input's
   * index; -1: none. See smelt_binding. */
  smelt_int64 alias;
  /* Of such an output, and of that input, where it grows: along this axis its memory may be laid
   * out for more than there is; -1: no axis. */
  smelt_int64 capacity_axis;
  const char *const *extent_texts; /* rank many: "128", "batch", "2*length" */
} smelt_tensor_info;
#define SMELT_TENSOR_INFO_INIT {sizeof(smelt_tensor_info), 0, SMELT_F32, 0, 0, -1, -1, 0}

/* ---- Plan ---------------------------------------------------------------------------------- */

/* A plan that is read and verified, to be asked what it takes and gives. Needs no device. */
typedef struct smelt_plan smelt_plan;

SMELT_API smelt_code smelt_plan_open(const char *path, smelt_plan **plan, smelt_error *error);
/* The same for a plan in memory, which may be freed afterwards. */
SMELT_API smelt_code smelt_plan_open_from_memory(const void *data, size_t bytes, smelt_plan **plan,
                                                 smelt_error *error);
/* NULL is ignored. */
SMELT_API void smelt_plan_close(smelt_plan *plan);

SMELT_API const char *smelt_plan_model_name(const smelt_plan *plan);
SMELT_API size_t smelt_plan_input_count(const smelt_plan *plan);
SMELT_API size_t smelt_plan_output_count(const smelt_plan *plan);
SMELT_API smelt_code smelt_plan_input(const smelt_plan *plan, size_t index, smelt_tensor_info *info,
                                      smelt_error *error);
SMELT_API smelt_code smelt_plan_output(const smelt_plan *plan, size_t index,
                                       smelt_tensor_info *info, smelt_error *error);

/* A size of inputs that the plan leaves open, by the name that extent_texts have for it, and the limits
 * that guards set it. */
typedef struct smelt_dimension_info {
  size_t struct_size;
  const char *name;  /* "batch"; lives as long as the plan */
  smelt_int64 least; /* 0 where there is no limit */
  smelt_int64 most;  /* -1: no limit */
} smelt_dimension_info;
#define SMELT_DIMENSION_INFO_INIT {sizeof(smelt_dimension_info), 0, 0, -1}

/* What must hold of the sizes of inputs: limits that the plan was compiled with, and what its kernels
 * need. smelt_context_prepare refuses shapes of which it does not, with SMELT_USAGE and the message.
 * Texts live as long as the plan. */
typedef struct smelt_guard_info {
  size_t struct_size;
  const char *text; /* "batch <= 512", "2*length = rows" */
  const char *message;
} smelt_guard_info;
#define SMELT_GUARD_INFO_INIT {sizeof(smelt_guard_info), 0, 0}

/* In the order in which inputs have them. */
SMELT_API size_t smelt_plan_dimension_count(const smelt_plan *plan);
SMELT_API smelt_code smelt_plan_dimension(const smelt_plan *plan, size_t index,
                                          smelt_dimension_info *info, smelt_error *error);
SMELT_API size_t smelt_plan_guard_count(const smelt_plan *plan);
SMELT_API smelt_code smelt_plan_guard(const smelt_plan *plan, size_t index, smelt_guard_info *info,
                                      smelt_error *error);

/* Of all weights. An engine takes that much device memory for them, rounded up to 256 bytes for each,
 * but for what it shares; what runs take besides depends on their shapes: see
 * smelt_context_workspace_bytes. */
SMELT_API size_t smelt_plan_weight_bytes(const smelt_plan *plan);

/* ---- Log ----------------------------------------------------------------------------------- */

typedef int smelt_severity;
enum {
  SMELT_LOG_VERBOSE = 0, /* what a call did that may take long: graphs built, memory allocated */
  SMELT_LOG_INFO = 1,    /* what was loaded, shared and updated */
  SMELT_LOG_WARNING = 2, /* something works, but slower than it could */
  SMELT_LOG_ERROR = 3    /* a call fails; the same message as in its smelt_error */
};

/* Who hears what an engine or a context does. There is no other log, and no global one. */
typedef struct smelt_logger {
  size_t struct_size;
  void *user;
  /* Called on the thread that calls the library, by several threads at once where several use the
   * engine. Must not call back into that engine or context. The message lives as long as the call. */
  void (*write)(void *user, smelt_severity severity, const char *message);
  smelt_severity least; /* what is milder is not written */
} smelt_logger;
#define SMELT_LOGGER_INIT {sizeof(smelt_logger), 0, 0, SMELT_LOG_INFO}

/* ---- Engine -------------------------------------------------------------------------------- */

typedef struct smelt_engine smelt_engine;

/* Where device memory comes from. Must be callable from any thread that uses the engine or its
 * contexts. `allocate` returns device memory aligned to 256 bytes, or NULL when there is none. */
typedef struct smelt_allocator {
  size_t struct_size;
  void *user;
  void *(*allocate)(void *user, size_t bytes);
  void (*release)(void *user, void *memory, size_t bytes);
} smelt_allocator;
#define SMELT_ALLOCATOR_INIT {sizeof(smelt_allocator), 0, 0, 0}

/* How far smelt_engine_create is. */
typedef struct smelt_load_progress {
  size_t struct_size;
  /* "read" (bytes of the plan that are verified), "kernels" (modules of machine code that are loaded;
   * those of PTX are translated), "weights" (bytes that are uploaded), in this order. Lives as long as
   * the process. */
  const char *phase;
  size_t done;
  size_t total;
} smelt_load_progress;

typedef struct smelt_engine_options {
  size_t struct_size;
  int device;                       /* CUDA ordinal; its primary context is used */
  const smelt_allocator *allocator; /* NULL: the driver. Copied; its functions must stay callable */
  /* A CUcontext of the application's instead, such as the one that cuCtxGetCurrent gives; `device` is
   * ignored then. Every call makes it current on its thread and the former one again at the end. It
   * stays the application's: Smelt neither retains nor destroys it, and it must outlive the engine,
   * its contexts and memory. Streams and device memory that are handed in belong to it. NULL: the
   * device's primary context, which Smelt retains. */
  void *cuda_context;
  const smelt_logger *logger; /* NULL: nobody. Copied; its function must stay callable */
  /* An engine in the same CUDA context, whose weights this one uses where they are the same: plans of
   * one model, such as one for the prompt and one for the tokens after it, then have them on the
   * device once. Any number of engines may share. Weights are the same that have the same bytes (by
   * the hash that the plan holds; plans of format 3.4 and older hold none) and the same name, or bytes
   * that no other weight has. Shared memory comes from the allocator of the engine that uploaded it,
   * and is released with the last engine that uses a part of it, in whatever order they end. NULL:
   * none is shared. */
  const smelt_engine *share_weights_with;
  /* Called while the engine is created, on the calling thread; not after that. Not 0 stops: creating
   * fails with SMELT_RESOURCES and leaves nothing behind. NULL: nobody. */
  int (*on_progress)(void *user, const smelt_load_progress *progress);
  void *progress_user;
} smelt_engine_options;
#define SMELT_ENGINE_OPTIONS_INIT {sizeof(smelt_engine_options), 0, 0, 0, 0, 0, 0, 0}

/* Reads and verifies the plan file, loads its kernels, uploads its weights. `options` may be
 * NULL. */
SMELT_API smelt_code smelt_engine_create(const char *path, const smelt_engine_options *options,
                                         smelt_engine **engine, smelt_error *error);

/* The same for a plan in memory, which may be freed afterwards. */
SMELT_API smelt_code smelt_engine_create_from_memory(const void *plan, size_t bytes,
                                                     const smelt_engine_options *options,
                                                     smelt_engine **engine, smelt_error *error);

/* Contexts keep what they need of the engine. The device's primary context, with its streams and
 * memory, ends with the last engine and context there, unless the application holds it too, as the
 * CUDA runtime does. NULL is ignored. */
SMELT_API void smelt_engine_destroy(smelt_engine *engine);

SMELT_API const char *smelt_engine_model_name(const smelt_engine *engine);
SMELT_API const char *smelt_engine_device_name(const smelt_engine *engine);
SMELT_API size_t smelt_engine_input_count(const smelt_engine *engine);
SMELT_API size_t smelt_engine_output_count(const smelt_engine *engine);
SMELT_API smelt_code smelt_engine_input(const smelt_engine *engine, size_t index,
                                        smelt_tensor_info *info, smelt_error *error);
SMELT_API smelt_code smelt_engine_output(const smelt_engine *engine, size_t index,
                                         smelt_tensor_info *info, smelt_error *error);

/* Device memory of the engine's allocator for what runs read and write, aligned to 256 bytes; at
 * least one byte. It outlives the engine, and must be released by smelt_memory_release. */
typedef struct smelt_memory smelt_memory;
SMELT_API smelt_code smelt_memory_allocate(const smelt_engine *engine, size_t bytes,
                                           smelt_memory **memory, smelt_error *error);
SMELT_API void *smelt_memory_address(const smelt_memory *memory);
/* No run may use the memory any more. NULL is ignored. */
SMELT_API void smelt_memory_release(smelt_memory *memory);

/* ---- Context ------------------------------------------------------------------------------- */

typedef struct smelt_context smelt_context;

typedef struct smelt_context_options {
  size_t struct_size;
  size_t cached_shapes;       /* how many shapes' graphs to keep, at least 1 */
  const smelt_logger *logger; /* NULL: the engine's. Copied */
} smelt_context_options;
#define SMELT_CONTEXT_OPTIONS_INIT {sizeof(smelt_context_options), 16, 0}

/* `options` may be NULL. */
SMELT_API smelt_code smelt_context_create(const smelt_engine *engine,
                                          const smelt_context_options *options,
                                          smelt_context **context, smelt_error *error);

/* Waits for a run in flight. NULL is ignored. */
SMELT_API void smelt_context_destroy(smelt_context *context);

/* Not needed for inputs whose extents are all fixed. */
SMELT_API smelt_code smelt_context_set_input_shape(smelt_context *context, const char *name,
                                                   const smelt_int64 *extents, size_t rank,
                                                   smelt_error *error);

/* Known as soon as the shapes of all inputs are. `capacity` is the room in `extents`; when it is
 * less than the rank, nothing is written there and SMELT_USAGE returned, with *rank set. */
SMELT_API smelt_code smelt_context_output_shape(smelt_context *context, const char *name,
                                                smelt_int64 *extents, size_t capacity, size_t *rank,
                                                smelt_error *error);

typedef int smelt_location;
enum {
  SMELT_DEVICE = 0, /* read and written in place; aligned to 16 bytes */
  SMELT_HOST = 1    /* copied to and from the device around each run */
};

/* Memory of the caller for a row-major tensor; must last as long as runs use it.
 *
 * Device memory that a run writes must not overlap any other that it uses; an overlap is refused
 * with SMELT_USAGE. The exception is an output that takes over an input (smelt_tensor_info.alias):
 *   - bound to the same device address, it is updated in place;
 *   - bound elsewhere, the input is copied there first and stays as it is.
 * To let a cache grow in place, bind both to memory that is laid out for the most that it will
 * hold, and say so in `capacity`: with extents [batch, heads, length, size] and a capacity_axis of
 * 2, element (b, h, t, i) lies at ((b * heads + h) * capacity + t) * size + i. All outputs of a
 * model that grow together need the same capacity. */
typedef struct smelt_binding {
  size_t struct_size;
  smelt_element_type element_type;
  smelt_location location;
  void *data;
  size_t bytes;         /* at least those of the tensor, with its capacity */
  smelt_int64 capacity; /* extent along capacity_axis that the memory is laid out for; 0: dense */
} smelt_binding;
#define SMELT_BINDING_INIT {sizeof(smelt_binding), SMELT_F32, SMELT_DEVICE, 0, 0, 0}

/* May be called between runs to move to other memory. Only where host memory is bound for the first
 * time, or after shapes or capacities changed, smelt_context_prepare must follow. Inputs are only
 * read, but for those that an output takes over in place. */
SMELT_API smelt_code smelt_context_bind_input(smelt_context *context, const char *name,
                                              const smelt_binding *binding, smelt_error *error);
SMELT_API smelt_code smelt_context_bind_output(smelt_context *context, const char *name,
                                               const smelt_binding *binding, smelt_error *error);

/* A tensor as DLPack describes it, by which libraries hand each other tensors where they lie: of
 * DLPack's own header, version 1. A plain DLTensor is handed in inside one of these without a
 * deleter. */
struct DLManagedTensorVersioned;

/* Binds a tensor of another library where it lies, and takes an input's shape from it. It must be
 * row-major; where a model lets it grow in place, it may be a slice of memory that has more room
 * along capacity_axis. It lies on the engine's device, aligned to 16 bytes with its byte_offset, or in
 * host memory, which is copied around each run. Elements of fewer than 8 bits each have a byte of
 * their own (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED). What is bound to an output must not be
 * read-only, and has the output's shape.
 *
 * A run reads and writes it in the order of its stream: what fills the tensor elsewhere, and what
 * reads an output there, must be ordered with it by the caller.
 *
 * Takes the tensor over, also where the call fails: its deleter is called exactly once, before the
 * call returns if it fails, else by a later call of this context (at the latest by
 * smelt_context_destroy) when something else is bound in its place and the runs that may use it are
 * over. What was bound while a run was captured is kept as long as the context. The deleter must not
 * call back into the context. */
SMELT_API smelt_code smelt_context_bind_input_dlpack(smelt_context *context, const char *name,
                                                     struct DLManagedTensorVersioned *tensor,
                                                     smelt_error *error);
SMELT_API smelt_code smelt_context_bind_output_dlpack(smelt_context *context, const char *name,
                                                      struct DLManagedTensorVersioned *tensor,
                                                      smelt_error *error);

/* Gives out an output: allocates device memory of the engine's allocator for its current shape, binds
 * it, and describes it by DLPack. Runs write there, in the order of their streams, until something
 * else is bound. Whoever gets the tensor calls its deleter once, on any thread; the memory lasts
 * until then, whatever ends before, and as long as the context has it bound. */
SMELT_API smelt_code smelt_context_allocate_output_dlpack(smelt_context *context, const char *name,
                                                          struct DLManagedTensorVersioned **tensor,
                                                          smelt_error *error);

/* Device memory that the current shapes and bindings take besides weights, bound memory, and what is
 * kept for each shape (values such as position masks, which the engine's allocator provides). */
SMELT_API smelt_code smelt_context_workspace_bytes(smelt_context *context, size_t *bytes,
                                                   smelt_error *error);

/* Uses the caller's device memory, aligned to 256 bytes, instead of the context's own; NULL gives
 * it back. smelt_context_prepare must follow. */
SMELT_API smelt_code smelt_context_set_workspace(smelt_context *context, void *memory, size_t bytes,
                                                 smelt_error *error);

/* Makes the current shapes and bindings ready to run: allocates and builds what is missing, and
 * computes what depends on the shapes alone. May wait for the former run. Does nothing when
 * everything is ready. */
SMELT_API smelt_code smelt_context_prepare(smelt_context *context, smelt_error *error);

/* Runs the model on `stream` (a CUstream or cudaStream_t; NULL is the default stream): one graph
 * launch, with copies around it for host memory. Allocates nothing, waits for nothing. Results are
 * there when the stream gets there; at most one run of a context may be in flight on different
 * streams.
 *
 * While `stream` is capturing, the run becomes a child graph of the capture. It uses the context's
 * workspace, so the context must outlive the captured graph and prepare no larger shapes
 * meanwhile. */
SMELT_API smelt_code smelt_context_enqueue(smelt_context *context, void *stream,
                                           smelt_error *error);

/* Prepares, enqueues and waits for the results; SMELT_USAGE while `stream` is capturing. */
SMELT_API smelt_code smelt_context_run(smelt_context *context, void *stream, smelt_error *error);

/* Waits until the run that was enqueued last is done. */
SMELT_API smelt_code smelt_context_wait(smelt_context *context, smelt_error *error);

/* What one launch of the graph takes by itself. Pointers live as long as the call. */
typedef struct smelt_launch_time {
  size_t struct_size;
  const char *name; /* what it computes */
  double microseconds;
  smelt_int64 bytes; /* of device memory that it cannot avoid to move */
  smelt_int64 flops;
  const char *const *onnx_nodes;
  size_t onnx_node_count;
  const char *
      number; /* "3": of the plan's kernels, as every command shows them; "3.2" where there are several launches */
} smelt_launch_time;

/* Times every launch of the current shapes, in order, on a stream of its own: the median of
 * `repetitions` times. Needs a prepared context, waits for its former run, and leaves outputs that
 * are bound to device memory as the launches make them. */
SMELT_API smelt_code smelt_context_profile(smelt_context *context, size_t repetitions,
                                           void (*on_launch)(void *user,
                                                             const smelt_launch_time *launch),
                                           void *user, smelt_error *error);

/* ---- Weights ------------------------------------------------------------------------------- */

/* An initializer of the ONNX model. Pointers live as long as the plan or engine that was asked. */
typedef struct smelt_weight_info {
  size_t struct_size;
  const char *name;
  smelt_element_type element_type;
  size_t rank;
  const smelt_int64 *extents; /* rank many */
  const char *refusal;        /* why it cannot be updated; NULL: it can */
  int is_copied; /* not 0: an update is copies alone; 0: the host lays it out anew or converts it first */
  const char
      *placement; /* where its elements are: "all of 'w'", "a part of 'concat_7', as float16" */
} smelt_weight_info;
#define SMELT_WEIGHT_INFO_INIT {sizeof(smelt_weight_info), 0, SMELT_F32, 0, 0, 0, 0, 0}

/* All initializers that the model has, in the order of its file. */
SMELT_API size_t smelt_plan_weight_count(const smelt_plan *plan);
SMELT_API smelt_code smelt_plan_weight(const smelt_plan *plan, size_t index,
                                       smelt_weight_info *info, smelt_error *error);
SMELT_API size_t smelt_engine_weight_count(const smelt_engine *engine);
SMELT_API smelt_code smelt_engine_weight(const smelt_engine *engine, size_t index,
                                         smelt_weight_info *info, smelt_error *error);

/* Gives the initializer `name` new values: `values` is all of it, row-major, of its type, in host or
 * device memory. SMELT_USAGE, which says why, where its values went into what is computed of it when
 * compiling; a plan compiled with `refit` has few of those.
 *
 * The update is ordered with the work on `stream`: runs enqueued there before see the old values,
 * those after it the new ones. It must be ordered with runs on other streams by the caller, by events
 * or by waiting, and no other update of the same weight may be under way. Where it is copies alone
 * (smelt_weight_info.is_copied), it waits for nothing, and the memory must last until the stream gets
 * there; else it waits for the stream. Contexts need not be prepared again, and run as fast as before.
 * Runs that were captured see new values too, but keep what they had computed of weights and shapes
 * alone: capture them again. A capturing stream is refused with SMELT_USAGE.
 *
 * Engines that share weights (smelt_engine_options.share_weights_with) share their updates. Where they
 * hold a weight in different forms they do not share it: update it in each of them; that twice the
 * same is written does no harm. */
SMELT_API smelt_code smelt_engine_update_weight(smelt_engine *engine, const char *name,
                                                const smelt_binding *values, void *stream,
                                                smelt_error *error);

#ifdef __cplusplus
}
#endif

#endif
